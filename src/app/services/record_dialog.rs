//! The user's choice of what to record: which programs, which data, and how much of it. Pure state: the
//! dialog is `panels::attach`.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use eframe::egui;

use crate::app::base::background::Background;
use crate::app::state::settings::RecordOptions;
use crate::capture::providers::provider_of;
use crate::capture::volume::measure;
use crate::capture::{Aftermath, Allocator, CaptureError, Children, Measure, Program, Recorder, Request, StopWhen, Target};

/// How the user specifies the programs to record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Running programs.
    Running,
    /// A program started for the recording.
    Launch,
    /// All programs with this name that start later.
    ByName,
}

/// A stop condition as it is filled in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StopField {
    pub measure: Measure,
    pub value: String,
}

impl StopField {
    /// With an example value that suits the measure.
    pub fn new(measure: Measure) -> Self {
        Self { measure, value: measure.example().to_owned() }
    }

    /// The condition, or what is missing in it.
    pub fn condition(&self) -> Result<StopWhen, String> {
        self.measure.than(&self.value)
    }
}

/// The contents of the form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Form {
    pub way: Way,
    pub search: String,
    pub pids: Vec<u32>,
    pub command: String,
    /// Name of the child process whose heaps are wanted, if the program is a launcher (of a game, say).
    pub child: String,
    pub image: String,
    pub stops: Vec<StopField>,
    /// Providers whose events become marks, separated by commas.
    pub marks: String,
    /// The kinds of data and how much is kept; target and stop conditions follow from the other fields.
    pub what: Request,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            way: Way::Running,
            search: String::new(),
            pids: Vec::new(),
            command: String::new(),
            child: String::new(),
            image: String::new(),
            stops: Vec::new(),
            marks: String::new(),
            what: Request::new(Target::Pids(Vec::new())),
        }
    }
}

impl Form {
    /// With the last choice of data to record beside memory.
    pub fn with(beside: &RecordOptions) -> Self {
        let RecordOptions { frames, gpu, managed, samples, marks } = beside.clone();
        let form = Self::default();
        Self { marks, what: Request { frames, gpu, managed, samples, ..form.what.clone() }, ..form }
    }

    /// The chosen data to record beside memory.
    pub fn record_options(&self) -> RecordOptions {
        let Request { frames, gpu, managed, samples, .. } = self.what;
        RecordOptions { frames, gpu, managed, samples, marks: self.marks.clone() }
    }

    /// The providers of marks, one by one.
    pub fn mark_words(&self) -> impl Iterator<Item = &str> {
        self.marks.split(',').map(str::trim).filter(|word| !word.is_empty())
    }

    /// The request that the form makes, or why it is not possible.
    pub fn request(&self) -> Result<Request, CaptureError> {
        let target = match self.way {
            Way::Running => Target::Pids(self.pids.clone()),
            Way::Launch => Target::Launch(self.command.trim().to_owned()),
            Way::ByName => Target::Image(self.image.trim().to_owned()),
        };
        let what = self.what.clone();
        let child = self.child.trim();
        let with_heaps = (self.way == Way::Launch && !child.is_empty()).then(|| child.to_owned());
        let children = Children { are_recorded: self.way == Way::Launch, with_heaps };
        let stop_when = self.stops.iter().map(StopField::condition).collect::<Result<_, _>>();
        let stop_when = stop_when.map_err(CaptureError::BadRequest)?;
        let marks = self.mark_words().map(provider_of).collect::<Result<_, _>>().map_err(CaptureError::BadRequest)?;
        let request = Request { target, children, stop_when, marks, free_stacks: what.stacks && what.free_stacks, ..what };
        request.check().map(|()| request)
    }
}

/// The dialog for recording.
#[derive(Debug)]
pub struct RecordDialog {
    pub form: Form,
    /// The running programs as listed: the one in the foreground first, then by size.
    pub programs: Vec<Program>,
    /// Why they could not be listed.
    pub problem: Option<String>,
    listing: Background<Listing>,
    listed: Option<Instant>,
    measuring: Background<Measurement>,
    measured: Option<Measurement>,
}

/// A request, and its measurement in lines of text or why there is none.
type Measurement = (Request, Result<Vec<String>, String>);

type Listing = Result<Vec<Program>, CaptureError>;

/// Interval between two refreshes of the list.
const REFRESH: Duration = Duration::from_secs(2);

impl RecordDialog {
    /// Opens with the values filled in last.
    pub fn new(form: Form) -> Self {
        let form = Form { search: String::new(), pids: Vec::new(), ..form };
        Self {
            form,
            programs: Vec::new(),
            problem: None,
            listing: Background::default(),
            listed: None,
            measuring: Background::default(),
            measured: None,
        }
    }

    /// Keeps the list of programs up to date.
    pub fn refresh(&mut self, ctx: &egui::Context, recorder: &Arc<dyn Recorder>) {
        self.listing.done().into_iter().for_each(|listing| self.take(listing));
        self.measured = self.measuring.done().pop().or(self.measured.take());
        if self.listing.is_at_work() {
            return;
        }
        if self.listed.is_none_or(|at| at.elapsed() >= REFRESH) {
            self.listed = Some(Instant::now());
            let recorder = Arc::clone(recorder);
            self.listing.start(ctx, move || recorder.programs());
        }
        ctx.request_repaint_after(REFRESH);
    }

    fn take(&mut self, listing: Listing) {
        match listing {
            Ok(mut programs) => {
                programs.retain(|program| program.pid != std::process::id());
                let is_first = self.programs.is_empty();
                programs.sort_by_key(|program| (!program.is_in_front, Reverse(program.private_bytes), program.pid));
                // A program that has ended can no longer be chosen.
                self.form.pids.retain(|pid| programs.iter().any(|program| program.pid == *pid));
                if let Some(front) = programs.first().filter(|program| is_first && program.is_in_front) {
                    self.form.pids = vec![front.pid];
                }
                (self.programs, self.problem) = (programs, None);
            }
            Err(reason) => self.problem = Some(reason.to_string()),
        }
    }

    /// Measures how much this request would write, with the user's allocators: a recording of a second in `folder`, which
    /// is removed again.
    pub fn measure(
        &mut self,
        ctx: &egui::Context,
        recorder: &Arc<dyn Recorder>,
        request: Request,
        allocators: Vec<Allocator>,
        folder: PathBuf,
    ) {
        let recorder = Arc::clone(recorder);
        self.measured = None;
        self.measuring.start(ctx, move || {
            let allocators = if request.trackers { allocators } else { Vec::new() };
            let whole = Request { allocators, ..request.clone() };
            let lines = match measure(&whole, &folder, |request, folder| recorder.start(request, folder)) {
                Ok((_, Aftermath::Failed(reason))) => Err(reason),
                Ok((volume, _)) => Ok(volume.lines(&whole)),
                Err(reason) => Err(reason.to_string()),
            };
            (request, lines)
        });
    }

    /// Whether a measurement is in progress, which must end before a recording starts.
    pub fn is_measuring(&self) -> bool {
        self.measuring.is_at_work()
    }

    /// The measurement of the request that the form makes now, in lines of text, or why there is none.
    pub fn measured(&self) -> Option<&Result<Vec<String>, String>> {
        let (of, lines) = self.measured.as_ref()?;
        self.form.request().is_ok_and(|request| request == *of).then_some(lines)
    }

    /// Whether the first list has not arrived yet.
    pub fn is_listing(&self) -> bool {
        self.programs.is_empty() && self.problem.is_none()
    }

    /// Indices of the programs that match the search.
    pub fn found(&self) -> Vec<usize> {
        let wanted = self.form.search.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let is_found = |program: &Program| has(&program.name) || has(&program.title) || program.pid.to_string() == wanted;
        (0..self.programs.len()).filter(|&i| is_found(&self.programs[i])).collect()
    }

    /// The name of the recording to come.
    pub fn name(&self) -> String {
        let of_pid = |pid: &u32| self.programs.iter().find(|program| program.pid == *pid);
        let name = match self.form.way {
            Way::Running => self.form.pids.iter().filter_map(of_pid).map(|program| program.name.as_str()).next(),
            Way::Launch => image_of(&self.form.command),
            Way::ByName => Some(self.form.image.trim()),
        };
        name.filter(|name| !name.is_empty()).unwrap_or("recording").to_owned()
    }
}

/// The file name of the program in a command line.
fn image_of(command: &str) -> Option<&str> {
    let command = command.trim();
    let path = match command.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => command.split_whitespace().next(),
    };
    path?.rsplit(['\\', '/']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(pid: u32, name: &str, bytes: u64) -> Program {
        Program { pid, name: name.to_owned(), private_bytes: Some(bytes), ..Program::default() }
    }

    #[test]
    fn the_program_in_front_comes_first_and_is_chosen_once() {
        let mut attach = RecordDialog::new(Form::default());
        let front = Program { is_in_front: true, ..program(7, "game.exe", 10) };
        attach.take(Ok(vec![program(5, "small.exe", 1), front.clone(), program(6, "large.exe", 900)]));
        let pids = |attach: &RecordDialog| attach.programs.iter().map(|p| p.pid).collect::<Vec<_>>();
        assert_eq!(pids(&attach), [7, 6, 5]);
        assert_eq!(attach.form.pids, [7]);
        attach.form.pids = vec![5, 6];
        attach.take(Ok(vec![front, program(6, "large.exe", 900)]));
        assert_eq!(attach.form.pids, [6], "5 has ended, and the choice stays the user's");
        attach.form.search = "GAME".to_owned();
        assert_eq!(attach.found(), [0]);
        attach.form.search = "6".to_owned();
        assert_eq!(attach.found(), [1]);
    }

    #[test]
    fn a_form_asks_for_what_it_says() {
        let mut form = Form { pids: vec![4660], ..Form::default() };
        form.what.free_stacks = true;
        let request = form.request().unwrap();
        assert_eq!(request.target, Target::Pids(vec![4660]));
        assert!(request.commit && request.heap && request.trackers && request.stacks && request.free_stacks);
        form.what.stacks = false;
        assert!(!form.request().unwrap().free_stacks, "without stacks there are none of frees");
        form.stops = vec![StopField::new(Measure::Private), StopField::new(Measure::Commit)];
        assert_eq!(form.request().unwrap().stop_when, [StopWhen::Private(8 << 30), StopWhen::CommitShare(90)]);
        form.stops[1].value = "90".to_owned();
        assert!(form.request().unwrap_err().to_string().contains("commit wants a percentage"));
        form.stops.clear();
        assert_eq!(form.request().unwrap().marks, []);
        form.marks = " Multi-Main, {231CF54B-22A0-49E4-A59A-47052A30FFEE} ,".to_owned();
        (form.what.frames, form.what.samples) = (true, true);
        let request = form.request().unwrap();
        let marks: Vec<String> = request.marks.iter().map(ToString::to_string).collect();
        assert_eq!(marks, ["231CF54B-22A0-49E4-A59A-47052A30FFED", "231CF54B-22A0-49E4-A59A-47052A30FFEE"]);
        assert!(request.frames && !request.managed && request.samples);
        assert_eq!(Form::with(&form.record_options()).what, Request { frames: true, samples: true, ..Form::default().what });
        form.marks = "My*".to_owned();
        assert!(form.request().unwrap_err().to_string().contains("is not a provider"));
        form.marks.clear();
        form.way = Way::Launch;
        assert!(form.request().is_err());
        form.command = r#""C:\My games\game.exe" -fast"#.to_owned();
        assert_eq!(form.request().unwrap().target, Target::Launch(form.command.clone()));
        assert_eq!(form.request().unwrap().children, Children { are_recorded: true, with_heaps: None });
        form.child = "real.exe ".to_owned();
        assert_eq!(form.request().unwrap().children.with_heaps.as_deref(), Some("real.exe"));
        form.child = "folder\\real.exe".to_owned();
        assert!(form.request().is_err());
        form.child.clear();
        assert_eq!(RecordDialog::new(form).name(), "game.exe");
    }
}
