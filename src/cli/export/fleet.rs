//! Exports many captures, several at a time: finds them, waits until there is room for one more, and collects the outcomes.
//!
//! A capture that is already exported costs a look at its file. A capture that fails does not stop the others.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::export_args::ExportArgs;
use super::room::{Room, Seat, locked};
use crate::cli::asked::stopped;
use crate::cli::progress::Progress;
use crate::cli::wildcards::{self, NoFile};
use crate::cli::{Failure, Unreadable, cannot_open, memory, open, output, report_problems};
use crate::export::lake::identity::{CaptureFile, CaptureIdentity};
use crate::export::lake::unreadable::{FileState, UnreadableCapture, UnreadableList};
use crate::export::lake::{About, Lake, LakeError, Outcome, Question, Telling, write_tables};
use crate::format::plural;
use crate::load::{Capture, DEMO_TRACE, Estimate, Input, Opened, Watch, load_planned};
use crate::model::{CutReason, Trace};
use crate::panics;
use crate::query::{By, Cancel};
use crate::stack_rules::StackRules;
use crate::tables::KeyedSet;

/// Bytes that writing a capture needs besides its trace.
const BESIDE: u64 = 256 << 20;
/// Maximum number of captures at a time.
const AT_A_TIME: usize = 8;

/// A capture to export; an archive can hold several.
struct Job {
    inputs: Vec<Input>,
    /// Why it cannot be exported, if that is known before any file is read.
    refusal: Option<String>,
    /// Bytes of its files.
    bytes: u64,
    /// The state of its files before they are read.
    files: Vec<FileState>,
}

impl Job {
    fn of(inputs: Vec<Input>) -> Self {
        let bytes = |input: &Input| match input {
            Input::File(path) => path.metadata().map_or(0, |file| file.len()),
            Input::Demo => DEMO_TRACE.len() as u64,
        };
        let files = inputs.iter().filter_map(Input::path).map(FileState::of).collect();
        Self { bytes: inputs.iter().map(bytes).sum(), refusal: None, files, inputs }
    }

    /// The job of a single file, or the refusal of a pattern without a file.
    fn of_one(found: Result<Input, NoFile>) -> Self {
        match found {
            Ok(input) => Self::of(vec![input]),
            Err(none) => Self { refusal: Some(none.why), ..Self::of(vec![none.pattern]) },
        }
    }

    /// The files as the user named them.
    fn name(&self) -> String {
        self.inputs.iter().map(Input::name).collect::<Vec<_>>().join(" + ")
    }
}

pub(super) fn run(args: &ExportArgs) -> Result<(), Failure> {
    args.asked.memory.watch(&args.asked.files.inputs());
    let found = wildcards::expanded(args.asked.files.inputs());
    let jobs: Vec<Job> = if args.tables.one_capture {
        // A pattern without a file stays in the list, as a file that cannot be read.
        vec![Job::of(found.into_iter().map(|found| found.unwrap_or_else(|none| none.pattern)).collect())]
    } else {
        found.into_iter().map(Job::of_one).collect()
    };
    let rules = args.asked.rules.read()?;
    let lake = Lake::open(&args.out).map_err(|error| match error {
        LakeError::Refused(..) => Failure::BadArguments(error.to_string()),
        _ => Failure::Failed(error.to_string()),
    })?;
    let known =
        if args.tables.keep_going { lake.unreadable().map_err(|error| lake_failure(args, &error))? } else { Default::default() };
    let what = if let [job] = jobs.as_slice() { format!("Exporting {}", job.name()) } else { "Exporting".to_owned() };
    let total = jobs.iter().map(|job| job.bytes).sum::<u64>().saturating_mul(2);
    let fleet = Fleet {
        args,
        is_alone: jobs.len() == 1,
        rules,
        lake,
        known,
        room: Room::new(args.asked.memory.budget()),
        met: Mutex::default(),
        progress: Mutex::new(Progress::new(what)),
        done: AtomicU64::new(0),
        total,
    };
    let outcomes = fleet.run(&jobs);
    let noted = fleet.note(&jobs, &outcomes);
    drop(fleet); // removes the progress line, and this export's part of the folder
    conclude(args, &jobs, outcomes).and(noted)
}

/// Reports the outcomes, and fails if a capture could not be exported or if none has what was named.
fn conclude(args: &ExportArgs, jobs: &[Job], outcomes: Vec<Result<Vec<Done>, Failure>>) -> Result<(), Failure> {
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for (job, outcome) in jobs.iter().zip(outcomes) {
        match outcome {
            Ok(outcome) => done.extend(outcome),
            Err(failure) => failures.push((job, failure)),
        }
    }
    let goes_on = |failure: &Failure| args.tables.keep_going && why_unreadable(failure).is_some();
    if jobs.len() == 1
        && let Some((_, failure)) = failures.pop_if(|(_, failure)| !goes_on(failure))
    {
        return Err(failure);
    }
    failures.iter().for_each(|(job, failure)| output::error(&failure.line_about(&job.name())));
    let written: Vec<u64> =
        done.iter().filter_map(|done| if let Done::Written(rows) = done { Some(*rows) } else { None }).collect();
    let mut text = plural(written.len() as u64, "capture") + " written";
    if !written.is_empty() {
        text += &format!(", {}", plural(written.iter().sum(), "allocation"));
    }
    let count = |of: fn(&Done) -> bool| done.iter().filter(|done| of(done)).count();
    match count(|done| matches!(done, Done::WasThere)) {
        0 => {}
        n => text += &format!("; {n} already there; --replace writes them again"),
    }
    let unreadable = failures.iter().filter(|(_, failure)| goes_on(failure)).count();
    match (unreadable, count(|done| matches!(done, Done::KnownUnreadable))) {
        (0, 0) => {}
        (0, known) => text += &format!("; {known} unreadable and unchanged, --retry-unreadable tries again"),
        (new, 0) => text += &format!("; {new} unreadable"),
        (new, known) => {
            text += &format!("; {} unreadable, {known} of them unchanged, --retry-unreadable tries again", new + known);
        }
    }
    output::answer(&(text + "\n"))?;
    if !written.is_empty() && written.iter().all(|&rows| rows == 0) {
        output::message(super::NOTHING);
    }
    // A capture that lacks what was named has its own line; the others count.
    let is_failure = |failure: &Failure| !matches!(failure, Failure::BadArguments(_)) && !goes_on(failure);
    let failed = failures.iter().filter(|(_, failure)| is_failure(failure)).count();
    let of = plural(jobs.len() as u64, "capture");
    match () {
        () if failed > 0 => Err(Failure::Failed(format!("{failed} of {of} could not be exported"))),
        () if done.is_empty() && unreadable == 0 => Err(Failure::BadArguments(format!("none of {of} has what the filters name"))),
        () => Ok(()),
    }
}

/// Why a capture cannot be read, if that is the failure.
fn why_unreadable(failure: &Failure) -> Option<(String, bool)> {
    match failure {
        Failure::Unreadable(Unreadable { sentence, until_changed }) => Some((sentence.clone(), *until_changed)),
        Failure::Investigation(_) => Some((failure.sentence(), true)),
        _ => None,
    }
}

/// The outcome of a capture.
enum Done {
    /// It was written, with so many allocations.
    Written(u64),
    /// It was there already.
    WasThere,
    /// It could not be read earlier, and its files have not changed.
    KnownUnreadable,
}

/// The state that all captures of the export share.
struct Fleet<'a> {
    args: &'a ExportArgs,
    /// Whether there is only one job.
    is_alone: bool,
    rules: Arc<StackRules>,
    lake: Lake,
    /// Captures that could not be read earlier, if the export goes on without them.
    known: UnreadableList,
    room: Room,
    /// Ids of the captures that this export has seen.
    met: Mutex<KeyedSet<String>>,
    progress: Mutex<Progress>,
    /// Progress, out of [`Fleet::total`]: a capture counts half when it is read, and half when it is written.
    done: AtomicU64,
    total: u64,
}

impl Fleet<'_> {
    /// Exports all jobs; the outcomes are in the order of the jobs.
    fn run(&self, jobs: &[Job]) -> Vec<Result<Vec<Done>, Failure>> {
        let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(at) else { return };
                let outcome = panics::catch(|| self.export(job))
                    .unwrap_or_else(|caught| Err(Failure::Failed(format!("an internal error stopped the work ({caught})"))));
                locked(&results).push((at, outcome));
            }
        };
        let workers = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, AT_A_TIME);
        std::thread::scope(|scope| {
            (1..workers.min(jobs.len())).for_each(|_| _ = scope.spawn(work));
            work();
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// Exports the captures of a job: one, or several if it is an archive.
    fn export(&self, job: &Job) -> Result<Vec<Done>, Failure> {
        if let Some(reason) = &job.refusal {
            return Err(Failure::Failed(reason.clone()));
        }
        if !self.args.tables.retry_unreadable && self.known.reason(&job.files).is_some() {
            return Ok(vec![Done::KnownUnreadable]);
        }
        let mut share = Share { fleet: self, told: 0, bytes: job.bytes };
        let identity = CaptureIdentity::of(job.inputs.iter().map(file_of)).or_else(|error| unreadable(job, &error))?;
        if !self.is_wanted(&identity)? {
            share.reach(2 * job.bytes);
            return Ok(vec![Done::WasThere]);
        }
        let mut all = Capture::open_all(&job.inputs, &mut |_, _| true).map_err(cannot_open)?;
        let count = all.len();
        if count > 1 && self.args.tables.one_capture {
            return Err(Failure::SeveralCaptures(all.iter().map(Opened::describe).collect()));
        }
        let each = |(i, Opened { capture, .. }): (usize, Opened)| {
            let identity = if count == 1 { identity.clone() } else { identity.of_part(i + 1) };
            let mut share = Share { fleet: self, told: 0, bytes: job.bytes / count as u64 };
            if count > 1 && !self.is_wanted(&identity)? {
                share.reach(2 * share.bytes);
                return Ok(Done::WasThere);
            }
            self.export_capture(&identity, capture, share)
        };
        all.drain(..).enumerate().map(each).collect()
    }

    /// Whether to export a capture: this export has not seen it before, and the folder does not have it or it is to
    /// be replaced.
    fn is_wanted(&self, identity: &CaptureIdentity) -> Result<bool, Failure> {
        let is_there = self.lake.has(&identity.id).map_err(|error| self.failure(&error))?;
        Ok(locked(&self.met).insert(identity.id.clone()) && (!is_there || self.args.replace.replace))
    }

    fn export_capture(&self, identity: &CaptureIdentity, capture: Capture, mut share: Share<'_>) -> Result<Done, Failure> {
        let Self { args, lake, .. } = self;
        let bytes = share.bytes;
        let (trace, _seat) = self.load(&capture, &mut share)?;
        let about = self.about(identity.name.clone(), &capture);
        drop(capture);
        let loaded = args.asked.about(Arc::new(trace), Arc::clone(&self.rules))?;
        let names = loaded.names(&args.asked, &[By::FreedStack])?;
        let index = loaded.index()?;
        let mask = args.asked.filter().named_mask(&loaded.trace, &names, &Cancel::default()).map_err(stopped)?;
        report_problems(&loaded.trace.problems);
        let question = Question { index: &index, interval: loaded.interval, mask: &mask, names: &names, room: None };
        let (share, rows) = (Mutex::new(share), loaded.trace.rows.len().max(1) as u128);
        let tell = |done: u64| {
            let written = u128::from(bytes) * u128::from(done) / rows;
            locked(&share).reach(bytes + written as u64);
        };
        let telling = Telling::new(&tell);
        let write = |draft: &std::path::Path| write_tables(&question, &about, draft, &telling);
        match lake.add(&identity.id, args.replace.replace, write).map_err(|error| self.failure(&error))? {
            (Outcome::Written, rows) => Ok(Done::Written(rows)),
            (Outcome::WasThere, _) => Ok(Done::WasThere),
        }
    }

    /// Loads a capture as soon as there is room for it.
    fn load(&self, capture: &Capture, share: &mut Share<'_>) -> Result<(Trace, Seat<'_>), Failure> {
        let asked = &self.args.asked;
        let mut plan = memory::plan(capture, asked.memory, asked.choices.process.as_deref(), asked.choices.layer);
        asked.providers.add_to(&mut plan, capture)?;
        let load = |budget| {
            plan.budget = budget;
            load_planned(capture, &plan, share).map_err(stopped)
        };
        let was_too_little = |trace: &Trace| trace.cut.is_some_and(|cut| cut.reason == CutReason::Memory);
        self.room.within(self.need(capture), load, was_too_little)
    }

    /// The estimated need of a capture in bytes; a job that is alone may use the whole budget.
    fn need(&self, capture: &Capture) -> u64 {
        if self.is_alone {
            return u64::MAX;
        }
        let need = Estimate::of(capture, || true).map_or(u64::MAX, |estimate| estimate.total());
        need.saturating_add(need / 4).saturating_add(BESIDE)
    }

    fn failure(&self, error: &LakeError) -> Failure {
        lake_failure(self.args, error)
    }

    /// Notes in the folder which captures could not be read, if the export goes on without them, and which could.
    fn note(&self, jobs: &[Job], outcomes: &[Result<Vec<Done>, Failure>]) -> Result<(), Failure> {
        let (mut unreadable, mut readable) = (Vec::new(), Vec::new());
        for (job, outcome) in jobs.iter().zip(outcomes) {
            match outcome {
                Ok(done) if done.iter().any(|done| matches!(done, Done::KnownUnreadable)) => {}
                Ok(_) => readable.push(job.files.as_slice()),
                Err(failure) => unreadable.extend(why_unreadable(failure).map(|(reason, until_changed)| UnreadableCapture {
                    files: job.files.clone(),
                    reason,
                    until_changed,
                })),
            }
        }
        if self.args.tables.keep_going {
            return self.lake.note(&unreadable, &readable).map_err(|error| self.failure(&error));
        }
        // Nobody asked for the list, so it is only kept from being out of date.
        if let Err(error) = self.lake.note(&[], &readable) {
            output::message(&self.failure(&error).sentence());
        }
        Ok(())
    }

    fn about(&self, name: String, capture: &Capture) -> About {
        let tags = &self.args.tables.tags;
        let tag = |key: &str| tags.iter().find(|(other, _)| other == key).map(|(_, value)| value.clone());
        let header = capture.files.first().map(|file| &file.header);
        About {
            name,
            files: capture.files.iter().map(|file| file.name.clone()).collect(),
            bytes: capture.bytes(),
            machine: tag("machine").or_else(|| capture.machine_name()),
            os: header.map_or_else(String::new, |header| format!("{}.{}.{}", header.os.0, header.os.1, header.os.2)),
            processors: header.map_or(0, |header| header.processors),
            build: tag("build"),
            tags: tags.clone(),
        }
    }
}

fn lake_failure(args: &ExportArgs, error: &LakeError) -> Failure {
    Failure::Failed(format!("{}: {error}", args.out.display()))
}

/// A file as the identity of its capture takes it.
fn file_of(input: &Input) -> CaptureFile<'_> {
    match input {
        Input::File(path) => CaptureFile::OnDisk(path),
        Input::Demo => CaptureFile::Embedded { name: "demo", bytes: DEMO_TRACE },
    }
}

/// The error for a capture that cannot be read, worded as in all commands.
fn unreadable<T>(job: &Job, error: &io::Error) -> Result<T, Failure> {
    open(&job.inputs)?;
    // It can be opened now, so another try is of use.
    Err(Failure::Unreadable(Unreadable { sentence: format!("{}: {error}", job.name()), until_changed: false }))
}

/// A capture's share of the work, in bytes: its size twice, for reading and for writing.
struct Share<'a> {
    fleet: &'a Fleet<'a>,
    told: u64,
    bytes: u64,
}

impl Share<'_> {
    /// Notes that `done` bytes of the share are done.
    fn reach(&mut self, done: u64) {
        let more = done.min(2 * self.bytes).saturating_sub(self.told);
        self.told += more;
        let all = self.fleet.done.fetch_add(more, Ordering::Relaxed) + more;
        locked(&self.fleet.progress).at(all, self.fleet.total);
    }
}

impl Watch for Share<'_> {
    fn progress(&mut self, done: u64, total: u64) -> bool {
        let read = (u128::from(self.bytes) * u128::from(done)).checked_div(total.into()).unwrap_or(0);
        self.reach(read as u64);
        true
    }

    fn publish(&mut self, _trace: Trace) {}

    fn wants_trace(&self) -> bool {
        false
    }
}
