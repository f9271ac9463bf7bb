//! Recently opened traces: their files, when they were opened, how long they are, and a small picture
//! of the layer of a process with the largest peak. They are kept in a file of their own beside the
//! settings, `recent.toml`. Its size is limited and its contents are not trusted: damaged entries are
//! left out.
//!
//! No frame waits for files: they are written and looked for on threads of their own.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::SystemTime;

use eframe::egui;
use serde::{Deserialize, Serialize};

use crate::app::base::background::Background;
use crate::app::state::answers::Overview;
use crate::format;
use crate::load::Input;
use crate::model::Trace;
use crate::query::layer_label;
use crate::toml_file::text_of;
use crate::{archive, paths, utc};

/// Number of traces remembered.
const MOST: usize = 20;

/// Number of files remembered per trace.
const MOST_FILES: usize = 64;

/// Number of values in a picture.
const VALUES: usize = 160;

/// Maximum length in characters of the name of a picture's line.
const LONGEST: usize = 300;

/// Maximum size of the file in bytes; a longer one is not ours.
const LARGEST: u64 = 1 << 20;

/// A trace that was opened before.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RecentTrace {
    /// Its files, which are opened together.
    pub files: Vec<PathBuf>,
    /// When it was last opened, in seconds since 1970.
    opened: u64,
    /// A small picture of it, if it was open long enough to be drawn.
    pub picture: Option<Picture>,
}

/// A small picture of a trace.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Picture {
    /// Duration of the trace.
    pub seconds: f64,
    /// The process and layer whose line it shows. Earlier versions stored a process and one of its heaps.
    pub of: String,
    /// The largest outstanding size of the line.
    pub peak: u64,
    /// The outstanding size at regular intervals, in 255ths of the peak.
    pub values: Vec<u8>,
}

impl RecentTrace {
    /// The inputs for opening it.
    pub fn inputs(&self) -> Vec<Input> {
        self.files.iter().cloned().map(Input::File).collect()
    }

    /// The names of its files.
    pub fn name(&self) -> String {
        let name = |path: &PathBuf| {
            path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
        };
        let (first, rest) = self.files.split_at(self.files.len().min(if self.files.len() > 3 { 2 } else { 3 }));
        let more = (!rest.is_empty()).then(|| format!("{} more", rest.len()));
        first.iter().map(name).chain(more).collect::<Vec<_>>().join(" + ")
    }

    /// The folder of its first file.
    pub fn folder(&self) -> String {
        self.files.first().and_then(|path| path.parent()).map(|folder| folder.display().to_string()).unwrap_or_default()
    }

    /// When it was last opened, in words; `None` if unknown.
    pub fn opened(&self) -> Option<String> {
        (self.opened > 0).then(|| ago(self.opened, now()))
    }
}

impl Picture {
    /// Draws a complete trace from the lines of all its rows.
    pub fn of(trace: &Trace, lines: &Overview) -> Option<Self> {
        let ((process, layer), line) = lines.largest_layer()?;
        let mut of = format!("{}: {}", trace.process_name(process), layer_label(layer));
        if let Some((end, _)) = of.char_indices().nth(LONGEST) {
            of.truncate(end);
        }
        let seconds = trace.clock.seconds(trace.span.to) - trace.clock.seconds(trace.span.from);
        let mut values = vec![0u8; VALUES];
        let (from, length) = (trace.span.from.0, trace.span.len().max(1));
        let place = |t: i64| (t.saturating_sub(from).max(0) as f64 / length as f64 * VALUES as f64) as usize;
        let part = |value: u64| (value as f64 / line.peak.max(1) as f64 * 255.0).round() as u8;
        // Each value is the maximum of its stretch; a line holds its value until the next point.
        let mut points = line.points.iter().peekable();
        while let Some(&(t, value)) = points.next() {
            let until = points.peek().map_or(from.saturating_add(length), |next| next.0.0);
            let last = place(until).min(VALUES - 1);
            let stretch = &mut values[place(t.0).min(last)..=last];
            stretch.iter_mut().for_each(|known| *known = part(value).max(*known));
        }
        // The file format has only signed numbers.
        Some(Self { seconds, of, peak: line.peak.min(i64::MAX as u64), values })
    }
}

/// The contents of the file, for writing.
#[derive(Serialize)]
struct Kept {
    trace: Vec<RecentTrace>,
}

/// The contents of the file, for reading.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Read {
    trace: Vec<toml::Value>,
}

/// All remembered traces, the latest first.
#[derive(Debug, Default)]
pub struct Recents {
    list: Vec<RecentTrace>,
    /// The file that stores them, if any.
    file: Option<PathBuf>,
    /// Files found to be missing at the last check.
    missing: BTreeSet<PathBuf>,
    looking: Background<BTreeSet<PathBuf>>,
    /// The thread that writes the file. Each waits for the one before, so that the last change is kept.
    writer: Option<JoinHandle<()>>,
}

impl Recents {
    /// Loads the list from its file, or else from the files that the settings of an earlier version listed.
    pub fn load(file: Option<PathBuf>, older: &[PathBuf]) -> Self {
        let list = match file.as_deref().map(read) {
            Some(Ok(list)) => list,
            Some(Err(reason)) if reason.kind() != io::ErrorKind::NotFound => {
                log::warn!("recent traces could not be read: {reason}");
                Vec::new()
            }
            _ => older.iter().map(|path| RecentTrace { files: vec![path.clone()], ..RecentTrace::default() }).collect(),
        };
        let is_moved = !older.is_empty();
        let mut recents = Self { list, file, ..Self::default() };
        recents.list.truncate(MOST);
        if is_moved {
            recents.save(); // the settings no longer store them
        }
        recents
    }

    /// All remembered traces, the latest first.
    pub fn list(&self) -> &[RecentTrace] {
        &self.list
    }

    /// Puts an opened trace at the front of the list. Inputs without a file are not remembered.
    pub fn remember(&mut self, inputs: &[Input]) {
        let files = files_of(inputs);
        if files.is_empty() {
            return;
        }
        let known = self.list.iter().position(|trace| trace.files == files).map(|at| self.list.remove(at));
        let picture = known.and_then(|trace| trace.picture);
        self.list.insert(0, RecentTrace { files, opened: now(), picture });
        self.list.truncate(MOST);
        self.save();
    }

    /// Stores the picture of a trace.
    pub fn draw(&mut self, inputs: &[Input], picture: Picture) {
        let files = files_of(inputs);
        let known = self.list.iter_mut().find(|trace| trace.files == files && trace.picture.as_ref() != Some(&picture));
        if let Some(trace) = known {
            trace.picture = Some(picture);
            self.save();
        }
    }

    /// Takes note that a file has moved.
    pub fn rename(&mut self, from: &Path, to: &Path) {
        let (from, to) = (absolute(from), absolute(to));
        self.list
            .iter_mut()
            .flat_map(|trace| &mut trace.files)
            .filter(|file| **file == from)
            .for_each(|file| file.clone_from(&to));
        self.save();
    }

    /// Removes one trace from the list.
    pub fn forget(&mut self, files: &[PathBuf]) {
        self.list.retain(|trace| trace.files != files);
        self.save();
    }

    /// Clears the list.
    pub fn clear(&mut self) {
        self.list.clear();
        self.save();
    }

    /// Whether one of its files no longer exists.
    pub fn is_missing(&self, trace: &RecentTrace) -> bool {
        trace.files.iter().any(|file| self.missing.contains(file))
    }

    /// Checks which files exist, in the background: a missing network share can take minutes to report an error.
    pub fn look(&mut self, ctx: &egui::Context) {
        if self.looking.is_at_work() || self.list.is_empty() {
            return;
        }
        let files: Vec<PathBuf> = self.list.iter().flat_map(|trace| trace.files.iter().cloned()).collect();
        self.looking.start(ctx, move || files.into_iter().filter(|file| !archive::file_of(file).exists()).collect());
    }

    /// Takes the result of the check.
    pub fn drain(&mut self) {
        if let Some(missing) = self.looking.done().pop() {
            self.missing = missing;
        }
    }

    /// Whether the list is being written or files are being checked.
    pub fn is_at_work(&self) -> bool {
        self.looking.is_at_work() || self.writer.as_ref().is_some_and(|writer| !writer.is_finished())
    }

    /// Waits until everything is written, at the end of the program.
    pub fn finish(&mut self) {
        if let Some(Err(_)) = self.writer.take().map(JoinHandle::join) {
            log::warn!("recent traces could not be written");
        }
    }

    fn save(&mut self) {
        let Some(file) = self.file.clone() else { return };
        let kept = Kept { trace: self.list.clone() };
        let before = self.writer.take();
        self.writer = Some(std::thread::spawn(move || {
            before.into_iter().for_each(|before| _ = before.join());
            let text = toml::to_string(&kept).map_err(io::Error::other);
            if let Err(reason) = text.and_then(|text| paths::keep(&file, &text, LARGEST)) {
                log::warn!("recent traces could not be written: {reason}");
            }
        }));
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The files among the inputs, as absolute paths.
fn files_of(inputs: &[Input]) -> Vec<PathBuf> {
    let file = |input: &Input| match input {
        Input::File(path) => Some(absolute(path)),
        Input::Demo => None,
    };
    inputs.iter().filter_map(file).take(MOST_FILES).collect()
}

fn read(file: &Path) -> io::Result<Vec<RecentTrace>> {
    let read: Read = toml::from_str(&text_of(file, LARGEST)?).map_err(io::Error::other)?;
    // An entry that cannot be read leaves the others intact.
    let mut trace: Vec<RecentTrace> = read.trace.into_iter().filter_map(|one| one.try_into().ok()).collect();
    trace.retain(|trace| !trace.files.is_empty());
    for one in &mut trace {
        one.files.truncate(MOST_FILES);
        one.picture = one.picture.take().filter(|picture| picture.seconds.is_finite());
        one.picture.iter_mut().for_each(|picture| picture.values.truncate(VALUES));
    }
    Ok(trace)
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// How long ago a moment was, in everyday words; after a month its date.
fn ago(then: u64, now: u64) -> String {
    /// Seconds from 1601 to 1970.
    const TO_1970: u64 = 11_644_473_600;
    let ago = |n: u64, unit: &str| format!("{} ago", format::plural(n, unit));
    match now.saturating_sub(then) {
        0..60 => "just now".to_owned(),
        s @ 60..3600 => format!("{} min ago", s / 60),
        s @ 3600..86_400 => ago(s / 3600, "hour"),
        s @ 86_400..2_678_400 => ago(s / 86_400, "day"),
        _ => {
            let ticks = then.saturating_add(TO_1970).saturating_mul(10_000_000);
            let date = i64::try_from(ticks).ok().and_then(utc::rfc3339);
            date.map_or_else(String::new, |date| date.split('T').next().unwrap_or_default().to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file(name: &str) -> Input {
        Input::File(Path::new("/traces").join(name))
    }

    #[test]
    fn sets_stay_together_and_the_latest_comes_first_and_once() {
        let mut recents = Recents::default();
        recents.remember(&[file("a.etl"), file("b.etl")]);
        recents.remember(&[file("a.etl")]);
        recents.remember(&[Input::Demo]);
        recents.remember(&[file("a.etl"), file("b.etl")]);
        let names: Vec<String> = recents.list().iter().map(RecentTrace::name).collect();
        assert_eq!(names, ["a.etl + b.etl", "a.etl"]);
        assert_eq!(recents.list()[0].inputs().len(), 2);
        for n in 0..50 {
            recents.remember(&[file(&n.to_string())]);
        }
        assert_eq!(recents.list().len(), MOST);
        let first = recents.list()[0].files.clone();
        recents.forget(&first);
        assert_eq!(recents.list()[0].name(), "48");
    }

    #[test]
    fn many_files_are_told_by_the_first() {
        let trace =
            |n: usize| RecentTrace { files: (0..n).map(|i| format!("/t/{i}.etl").into()).collect(), ..Default::default() };
        assert_eq!(trace(3).name(), "0.etl + 1.etl + 2.etl");
        assert_eq!(trace(5).name(), "0.etl + 1.etl + 3 more");
    }

    #[test]
    fn what_was_kept_is_there_again_with_its_picture() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below").join("recent.toml");
        let mut recents = Recents::load(Some(path.clone()), &["/old.etl".into()]);
        assert_eq!(recents.list()[0].name(), "old.etl", "from settings of an earlier version");
        recents.finish();
        let mut twice = Recents::load(Some(path.clone()), &["/older.etl".into()]);
        assert_eq!(twice.list()[0].name(), "old.etl", "once");
        twice.finish(); // two writers would overwrite each other's file
        recents.remember(&[file("a.etl")]);
        let picture = Picture { seconds: 2.5, of: "game.exe: heap".to_owned(), peak: 7, values: vec![0, 255, 3] };
        recents.draw(&[file("a.etl")], picture.clone());
        recents.draw(&[file("b.etl")], picture.clone());
        recents.finish();
        let again = Recents::load(Some(path.clone()), &[]);
        assert_eq!(again.list(), recents.list());
        assert_eq!(again.list()[0].picture, Some(picture));
        assert_eq!(again.list()[0].opened().unwrap(), "just now");

        recents.rename(Path::new("/traces/a.etl"), Path::new("/traces/c.etl"));
        recents.finish();
        assert_eq!(Recents::load(Some(path), &[]).list()[0].name(), "c.etl");
    }

    #[test]
    fn what_is_damaged_is_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recent.toml");
        let many = "[[trace]]\nfiles = [\"/a\"]\n".repeat(100);
        let odd = format!("[[trace]]\nfiles = [\"/a\"]\n[trace.picture]\nseconds = nan\nvalues = [{}]", "9,".repeat(5000));
        for (text, count) in [("files = 3", 0), ("[[trace]]\nfiles = []", 0), (&*many, MOST), (&*odd, 1), ("\u{0}", 0)] {
            fs::write(&path, text).unwrap();
            let recents = Recents::load(Some(path.clone()), &[]);
            assert_eq!(recents.list().len(), count, "{}", &text[..text.len().min(40)]);
            assert!(recents.list().iter().all(|trace| trace.picture.is_none()));
        }
    }

    #[test]
    fn files_that_went_are_missing() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("there.etl");
        fs::write(&there, "").unwrap();
        let mut recents = Recents::default();
        recents.remember(&[Input::File(there), file("gone.etl")]);
        recents.remember(&[Input::File(folder.path().join("there.etl"))]);
        recents.look(&egui::Context::default());
        while recents.is_at_work() {
            recents.drain();
        }
        let missing: Vec<bool> = recents.list().iter().map(|trace| recents.is_missing(trace)).collect();
        assert_eq!(missing, [false, true]);
    }

    #[test]
    fn times_are_told_as_people_do() {
        let now = 1_900_000_000;
        let told = [(0, "just now"), (61, "1 min ago"), (3600, "1 hour ago"), (90_000, "1 day ago"), (400_000, "4 days ago")];
        told.into_iter().for_each(|(seconds, words)| assert_eq!(ago(now - seconds, now), words));
        assert_eq!(ago(1_767_225_600, now), "2026-01-01");
        assert_eq!(ago(now + 5, now), "just now", "clocks are set back");
        assert_eq!(ago(u64::MAX, u64::MAX), "just now");
        assert_eq!(ago(1, u64::MAX), "1970-01-01");
    }
}
