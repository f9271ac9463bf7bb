//! Where the traces of an investigation are: paths relative to its file, and facts that tell another trace.
//!
//! The file can come from others. Only the files that it names are opened, by the loader, and only regular ones; a path to
//! another machine is refused, because opening it would reveal the user to its server.

use std::path::{Component, Path, PathBuf};

use super::file::SavedTrace;
use crate::format;
use crate::format::plain;
use crate::load::{DEMO_NAME, DEMO_TRACE, Input};
use crate::model::{Clock, Trace};
use crate::utc::rfc3339;
use crate::{archive, paths};

/// Maximum number of files of a trace.
const MOST_FILES: usize = 256;

impl SavedTrace {
    /// A trace as it is saved in a file in this folder.
    pub fn of(trace: &Trace, inputs: &[Input], folder: &Path) -> Result<Self, String> {
        let files = inputs.iter().map(|input| name_from(folder, input)).collect::<Result<_, _>>()?;
        let Clock { frequency, start_time } = trace.clock;
        let frequency = i64::try_from(frequency).unwrap_or(i64::MAX);
        Ok(Self { files, bytes: bytes_of(inputs), start_time, frequency, length: trace.span.len() })
    }

    /// The inputs that an investigation file names.
    pub fn inputs(&self, investigation: &Path) -> Result<Vec<Input>, String> {
        if self.files.is_empty() {
            return Err("it names no trace".to_owned());
        }
        if self.files.len() > MOST_FILES {
            return Err(format!("it names more than {MOST_FILES} files of its trace"));
        }
        self.files.iter().map(|name| input_of(investigation, name)).collect()
    }

    /// Whether a trace has the same start, clock and length, so that it is this one wherever its files are.
    pub fn is_of(&self, trace: &Trace) -> bool {
        self.starts_as(trace) && self.length > 0 && self.length == trace.span.len()
    }

    fn starts_as(&self, trace: &Trace) -> bool {
        let frequency = i64::try_from(trace.clock.frequency).unwrap_or(i64::MAX);
        (self.start_time, self.frequency) == (trace.clock.start_time, frequency)
    }

    /// A sentence if an open trace is another one than the saved one; `bytes` is the size of its files, if known.
    pub fn difference(&self, name: &str, trace: &Trace, bytes: Option<i64>) -> Option<String> {
        let has_other_size = self.bytes.zip(bytes).is_some_and(|(saved, now)| saved != now);
        let is_unknown = self.frequency == 0; // written by hand
        if (is_unknown || self.starts_as(trace)) && !has_other_size {
            return None;
        }
        let told = |start: i64, bytes: Option<i64>| {
            let start = rfc3339(start).map(|time| format!("recorded {time}"));
            let size = bytes.map(|bytes| format::bytes(bytes.max(0) as u64));
            let parts: Vec<String> = start.into_iter().chain(size).collect();
            if parts.is_empty() { "of unknown time".to_owned() } else { parts.join(", ") }
        };
        let (this, saved) = (told(trace.clock.start_time, bytes), told(self.start_time, self.bytes));
        Some(format!(
            "{name} ({this}) is not the trace that the investigation was saved with ({saved}): its intervals, filters and \
             notes may not fit."
        ))
    }
}

/// Size of the files together; `None` if one is not a file of its own.
pub fn bytes_of(inputs: &[Input]) -> Option<i64> {
    let size = |input: &Input| match input {
        Input::Demo => Some(DEMO_TRACE.len() as u64),
        Input::File(path) => path.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len()),
    };
    let all: Option<Vec<u64>> = inputs.iter().map(size).collect();
    i64::try_from(all?.into_iter().fold(0, u64::saturating_add)).ok()
}

/// The name of an input in a file in this folder.
fn name_from(folder: &Path, input: &Input) -> Result<String, String> {
    let Input::File(path) = input else { return Ok(DEMO_NAME.to_owned()) };
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (path, folder) = (absolute(path), absolute(folder));
    let relative = relative(&folder, &path);
    let text = relative.as_deref().unwrap_or(&path).to_str();
    let text = text.ok_or_else(|| format!("{} is not UTF-8 text, so it cannot be named", path.display()))?;
    Ok(if relative.is_some() && cfg!(windows) { text.replace('\\', "/") } else { text.to_owned() })
}

/// The way from a folder to a file; `None` if they have no folder in common, as on two drives.
fn relative(folder: &Path, file: &Path) -> Option<PathBuf> {
    let (from, to): (Vec<_>, Vec<_>) = (folder.components().collect(), file.components().collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let has_normal = from[..common].iter().any(|part| matches!(part, Component::Normal(_)));
    let is_below = common == from.len();
    if common == 0 || (!has_normal && !is_below) {
        return None; // only the root: an absolute path is shorter
    }
    let up = from[common..].iter().map(|_| Component::ParentDir);
    Some(up.chain(to[common..].iter().copied()).collect())
}

/// The input of this name, seen from the investigation file.
fn input_of(investigation: &Path, name: &str) -> Result<Input, String> {
    if name == DEMO_NAME {
        return Ok(Input::Demo);
    }
    let told = plain(name);
    if name.is_empty() || name.contains('\0') {
        return Err("it names a trace without a name".to_owned());
    }
    let own_host = investigation.to_str().and_then(paths::share_host);
    if let Some(host) = paths::share_host(name)
        && !own_host.is_some_and(|own| own.eq_ignore_ascii_case(host))
    {
        return Err(format!(
            "its trace {told} is on another machine, to which a file must not make highwater connect; open the trace yourself, then the investigation again"
        ));
    }
    if cfg!(windows) && paths::is_device(name) {
        return Err(format!("its trace {told} is a device"));
    }
    let folder = investigation.parent().unwrap_or(Path::new(""));
    let path = tidy(&folder.join(name));
    let file = archive::file_of(&path);
    match file.metadata() {
        Ok(data) if data.is_file() || data.is_dir() => Ok(Input::File(path)),
        Ok(_) => Err(format!("its trace {told} is not a file")),
        Err(_) => Err(format!(
            "its trace {told} is not there ({}). Drop the trace and the investigation on the window together, or open the trace \
             first",
            plain(&path.display().to_string())
        )),
    }
}

/// A path without the steps down and up again that a relative name brings, so that the same file has the same name.
fn tidy(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for part in path.components() {
        let is_undone = part == Component::ParentDir && matches!(tidied.components().next_back(), Some(Component::Normal(_)));
        if is_undone {
            tidied.pop();
        } else if part != Component::CurDir {
            tidied.push(part);
        }
    }
    tidied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_named_from_the_folder_of_the_file_and_found_from_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for place in ["a", "a/deep", "b"] {
            std::fs::create_dir_all(root.join(place)).unwrap();
        }
        for (trace, investigation, name) in [
            ("a/t.etl", "a/i.highwater", "t.etl"),
            ("a/deep/t.etl", "a/i.highwater", "deep/t.etl"),
            ("a/t.etl", "b/i.highwater", "../a/t.etl"),
        ] {
            let (trace, investigation) = (root.join(trace), root.join(investigation));
            std::fs::write(&trace, "x").unwrap();
            let input = Input::File(trace.clone());
            assert_eq!(name_from(investigation.parent().unwrap(), &input), Ok(name.to_owned()));
            assert_eq!(input_of(&investigation, name), Ok(input), "{name}");
        }
        assert_eq!(name_from(root, &Input::Demo), Ok(DEMO_NAME.to_owned()));
        assert_eq!(input_of(root, DEMO_NAME), Ok(Input::Demo));
    }

    #[test]
    fn nothing_is_opened_on_other_machines_because_of_a_file() {
        let file = Path::new("/home/me/i.highwater");
        for name in [r"\\evil\share\t.etl", "//evil/share/t.etl", r"\\?\UNC\evil\share\t.etl"] {
            assert!(input_of(file, name).unwrap_err().contains("another machine"), "{name}");
        }
        for name in ["", "a\0b"] {
            assert!(input_of(file, name).unwrap_err().contains("without a name"));
        }
        let missing = input_of(file, "none/\u{1b}[2J.etl").unwrap_err();
        assert!(missing.contains("is not there") && !missing.contains('\u{1b}'), "{missing}");
        let many = SavedTrace { files: vec!["a".to_owned(); 1000], ..SavedTrace::default() };
        assert!(many.inputs(file).unwrap_err().contains("more than"));
        assert!(SavedTrace::default().inputs(file).unwrap_err().contains("no trace"));
    }
}
