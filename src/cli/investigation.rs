//! Saved investigations where a trace is expected. One with its trace inside is read like any archive; of one that is a text,
//! the traces that it names are told, with the command for them ([`super::compared`] for `diff`). None of them is opened.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::export::html::command;
use crate::format::is_plain;
use crate::load::{DEMO_NAME, is_investigation};
use crate::toml_file::{parse, text_of};

/// Maximum size of the text in bytes.
const LARGEST: u64 = 1 << 20;

/// Maximum number of traces that are told.
const MOST_TOLD: usize = 16;

/// A saved investigation that was named in place of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Named {
    /// Its name, as the user gave it.
    file: String,
    /// The files of its trace, seen from the current folder.
    traces: Vec<String>,
}

impl Named {
    /// The investigation in a file; `None` if it is none.
    pub(super) fn in_file(file: &str) -> Option<Self> {
        let path = Path::new(file);
        let saved = saved_in(path)?;
        let files = saved.get("trace").and_then(|trace| trace.get("files")?.as_array());
        let names = files.into_iter().flatten().filter_map(|name| name.as_str());
        let traces = names.filter_map(|name| seen_from(path, name)).take(MOST_TOLD).collect();
        Some(Self { file: file.to_owned(), traces })
    }

    /// The error in one line.
    pub(super) fn sentence(&self) -> String {
        let Self { file, traces } = self;
        if traces.is_empty() {
            return format!("{file}: this is a saved investigation, which names no trace; open an .etl file");
        }
        format!("{file}: this is a saved investigation of {} and holds no trace; name that trace instead", traces.join(" + "))
    }

    /// The error in one line, with the command for the trace, if these are the words of the command.
    pub(super) fn line(&self, words: &[OsString]) -> String {
        let sentence = self.sentence();
        match self.command(words) {
            Some(command) => format!("{sentence}: {command}"),
            None => sentence,
        }
    }

    /// The command with the trace in place of the investigation.
    fn command(&self, words: &[OsString]) -> Option<String> {
        let words: Vec<&str> = words.iter().skip(1).map(|word| OsStr::to_str(word)).collect::<Option<_>>()?;
        let is_it = |word: &&str| *word == self.file;
        if self.traces.is_empty() || !words.iter().any(is_it) {
            return None;
        }
        let named = |word: &str| if is_it(&word) { self.traces.clone() } else { vec![word.to_owned()] };
        Some(command(["highwater".to_owned()].into_iter().chain(words.into_iter().flat_map(named))))
    }
}

/// The keys of an investigation file that is a text; `None` if it is none.
pub(super) fn saved_in(file: &Path) -> Option<toml::Table> {
    if !is_investigation(file) {
        return None;
    }
    let saved: toml::Table = parse(&text_of(file, LARGEST).ok()?).ok()?;
    saved.get("version")?.as_integer()?;
    Some(saved)
}

/// A trace that an investigation file names, seen from the current folder. The file can come from others, and its names become
/// words of a command that users copy: none is taken for an option, and one that no shell can quote is left out.
pub(super) fn seen_from(investigation: &Path, name: &str) -> Option<String> {
    if name.is_empty() || !name.chars().all(is_plain) {
        return None;
    }
    let folder = investigation.parent().unwrap_or(Path::new(""));
    let seen = if name == DEMO_NAME { name.to_owned() } else { folder.join(name).display().to_string() };
    Some(if seen.starts_with('-') { format!("./{seen}") } else { seen })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &[&str]) -> Vec<OsString> {
        line.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_command_names_the_trace_in_place_of_the_investigation() {
        let named = Named { file: "why.highwater".to_owned(), traces: vec!["a b.etl".to_owned(), "c.etl".to_owned()] };
        let line = named.line(&words(&["x/highwater", "report", "why.highwater", "--top", "3"]));
        assert!(line.starts_with("why.highwater: this is a saved investigation of a b.etl + c.etl and holds no trace"), "{line}");
        assert!(line.ends_with(": highwater report 'a b.etl' c.etl --top 3"), "{line}");
        assert_eq!(named.line(&words(&["highwater", "diff", "why.highwater@1..2", "d.etl"])), named.sentence());
        let nothing = Named { traces: Vec::new(), ..named };
        assert!(nothing.line(&words(&["highwater", "info", "why.highwater"])).ends_with("open an .etl file"));
    }

    #[test]
    fn only_a_text_with_a_version_is_an_investigation() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("odd.highwater");
        let named = |text: &[u8]| {
            std::fs::write(&file, text).unwrap();
            Named::in_file(file.to_str().unwrap()).map(|named| named.traces)
        };
        assert_eq!(named(b"version = 1\n[trace]\nfiles = [\"demo:\"]\n"), Some(vec!["demo:".to_owned()]));
        let beside = folder.path().join("t.etl").display().to_string();
        assert_eq!(named(b"version = 9\n[trace]\nfiles = [\"t.etl\", 7, \"\"]\n"), Some(vec![beside]));
        assert_eq!(named(b"version = 1\ntrace = 7\n"), Some(Vec::new()));
        assert_eq!(named(b"version = 1\n[trace]\nfiles = [\"a\\u0000; ls\", \"b\\nc\"]\n"), Some(Vec::new()));
        let here = |name: &str| seen_from(Path::new("why.highwater"), name);
        assert_eq!(here("--symbols=srv*x").as_deref(), Some("./--symbols=srv*x"));
        assert_eq!((here("a.etl").as_deref(), here("-").as_deref()), (Some("a.etl"), Some("./-")));
        assert_eq!(named(b"version = \"one\""), None);
        assert_eq!(named(b"a = 1"), None);
        assert_eq!(named(b"\x00\xff"), None);
        assert_eq!(named(&vec![b'a'; 2 << 20]), None);
        let many = format!("version = 1\n[trace]\nfiles = [{}]\n", "\"a.etl\",".repeat(5000));
        assert_eq!(named(many.as_bytes()).map(|traces| traces.len()), Some(MOST_TOLD));
    }
}
