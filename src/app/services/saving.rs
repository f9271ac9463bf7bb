//! Files that the window writes for the user: tables, pictures, rules, the recorded trace. All are
//! saved in the same way: a worker checks the path; an existing file is replaced only after a question,
//! unless the system's dialog has asked already; and files that are being read are refused
//! ([`crate::paths`] has the rule).

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use eframe::egui;

use super::dialogs::{Purpose, TypedPath};
use crate::app::base::background::Background;
use crate::app::jobs::writing::{WriteWatch, Writing};
use crate::paths::{self, Existing, Refusal};

/// A path at which the user wants something saved.
#[derive(Clone, Debug)]
pub struct Place {
    pub purpose: Purpose,
    pub file: PathBuf,
    /// The typed path, if it was not chosen in a dialog of the system.
    pub typed: Option<TypedPath>,
    /// Whether the user has agreed to replace an existing file.
    pub existing: Existing,
}

impl Place {
    /// A path as the user named it; without an extension it gets that of its kind.
    pub fn new(purpose: Purpose, named: PathBuf, typed: Option<TypedPath>) -> Self {
        let mut file = named;
        let mut is_as_named = true;
        if let Some((_, kind)) = purpose.saved_as()
            && file.extension().is_none()
        {
            is_as_named = false;
            file.set_extension(kind);
        }
        // The system's dialog has asked about the file as it was named, and about no other.
        let is_asked = typed.is_none() && is_as_named;
        let existing = if is_asked { Existing::GivesWay } else { Existing::Stays };
        Self { purpose, file, typed, existing }
    }

    /// Its folder, as the user reads it.
    pub fn folder(&self) -> String {
        let file = std::path::absolute(&self.file).unwrap_or_else(|_| self.file.clone());
        file.parent().unwrap_or(Path::new("")).display().to_string()
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Checks whether the path is free.
    pub fn look(self) -> Done {
        let is_there_already = matches!(&self.purpose, Purpose::Save(from) if *from == self.file);
        match paths::check(&self.file, self.existing) {
            _ if is_there_already => Done::Free(self),
            Ok(()) => Done::Free(self),
            Err(Refusal::Exists) => Done::Taken(self),
            Err(refusal) => Done::Refused(self, refusal),
        }
    }
}

/// The result of an export.
pub enum Done {
    Copied(String),
    /// The file with this name was written.
    Saved(String),
    /// The user stopped the write; nothing was changed.
    Stopped,
    Failed(String),
    /// There is no file at this place, or it may be replaced.
    Free(Place),
    /// A file exists there.
    Taken(Place),
    /// Writing there is refused.
    Refused(Place, Refusal),
}

/// Exports in progress.
#[derive(Default)]
pub struct Exports {
    jobs: Background<Done>,
    /// Those that can take long and be stopped.
    writing: Vec<Writing>,
}

/// Longest wait for stopped writes when the window closes.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

impl Exports {
    pub fn start(&mut self, ctx: &egui::Context, work: impl FnOnce() -> Done + Send + 'static) {
        self.jobs.start(ctx, || {
            let work = std::panic::AssertUnwindSafe(work);
            std::panic::catch_unwind(work).unwrap_or_else(|_| Done::Failed("The export broke down".to_owned()))
        });
    }

    /// Starts to write a file, which is shown with its progress and can be stopped.
    pub fn start_long(
        &mut self,
        ctx: &egui::Context,
        name: String,
        work: impl FnOnce(&WriteWatch) -> io::Result<()> + Send + 'static,
    ) {
        let (writing, watch) = Writing::begin(name.clone());
        self.writing.push(writing);
        self.start(ctx, move || match work(&watch) {
            Ok(()) => Done::Saved(name),
            Err(_) if watch.is_stopped() => Done::Stopped,
            Err(reason) => Done::Failed(format!("{name} could not be written: {reason}.")),
        });
    }

    /// Takes the results of those that have finished.
    pub fn done(&mut self) -> Vec<Done> {
        self.writing.retain(Writing::is_at_work);
        self.jobs.done()
    }

    pub fn is_at_work(&self) -> bool {
        self.jobs.is_at_work()
    }

    /// Those that can take long and be stopped.
    pub fn writing(&self) -> &[Writing] {
        &self.writing
    }

    /// Stops all long writes, because the window closes: each removes its draft.
    pub fn finish(&self) {
        self.writing.iter().for_each(Writing::stop);
        let since = Instant::now();
        while self.writing.iter().any(Writing::is_at_work) && since.elapsed() < LONGEST_WAIT {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A text as a part of a file name: what systems forbid there becomes `_`.
pub fn as_file_name(text: &str) -> String {
    text.chars().map(|c| if c.is_alphanumeric() || " .-_".contains(c) { c } else { '_' }).collect()
}

/// Writes a file; if that fails, the old one stays complete.
pub fn save(file: &Path, existing: Existing, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    paths::write(file, existing, |draft| {
        let mut out = BufWriter::new(draft);
        write(&mut out)?;
        out.flush()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]
mod tests {
    use super::*;

    #[test]
    fn the_system_has_asked_only_about_the_file_that_was_named() {
        let place = |named: &str, typed: bool| {
            let typed = typed.then(|| TypedPath::new(Purpose::SaveRules));
            let place = Place::new(Purpose::SaveRules, named.into(), typed);
            (place.name(), place.existing)
        };
        assert_eq!(place("/a/rules.toml", false), ("rules.toml".to_owned(), Existing::GivesWay));
        assert_eq!(place("/a/rules", false), ("rules.toml".to_owned(), Existing::Stays), "another name");
        assert_eq!(place("/a/rules.toml", true), ("rules.toml".to_owned(), Existing::Stays));
    }

    #[test]
    fn what_cannot_be_written_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("table.csv");
        let written = |out: &mut dyn Write| out.write_all(b"1,2");
        save(&file, Existing::Stays, written).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1,2");
        assert!(save(&folder.path().join("none/table.csv"), Existing::Stays, written).is_err());
        assert!(save(&file, Existing::GivesWay, |_| Err(io::Error::other("no"))).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1,2");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
    }
}
