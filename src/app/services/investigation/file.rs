//! The text of an investigation file: TOML, with a version. It can come from others, so its size, its lists and its texts
//! are bounded. Keys that this version does not know are left out and listed.

use std::io;

use serde::{Deserialize, Serialize};

use super::choices::{SOURCES, SavedCompare};
use crate::app::state::ids::ViewId;
use crate::format::{self, plain};
use crate::toml_file::{BadText, parse};

/// The version that is written. Files of later versions are read as far as they are understood.
pub const VERSION: u32 = 1;

/// Maximum size of the text in bytes.
pub const LARGEST: u64 = 1 << 20;

/// Maximum number of unknown keys that are listed.
const LISTED: usize = 5;

/// The contents of the file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Saved {
    pub version: u32,
    /// The version of the program that wrote it.
    pub written_by: String,
    pub trace: SavedTrace,
    /// The trace to compare with, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<SavedTrace>,
    pub view: SavedView,
    /// Each is read apart, so that one of an unknown kind does not spoil the others.
    pub filter: Vec<toml::Value>,
    pub note: Vec<SavedNote>,
    /// Lines of the graph that the user expanded, showed or hid, each read apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub line: Vec<toml::Value>,
    /// Where the trace to compare with is laid over the graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlay: Option<toml::Value>,
    /// The orders of tables, by the keys of their tabs, each read apart.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    pub sort: toml::Table,
    /// Searches, by the keys of their tabs, each read apart.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    pub search: toml::Table,
    /// The kinds of lines of views, by the keys of their tabs, each read apart.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    pub grouping: toml::Table,
    /// Chosen layers, by the keys of their tabs, each read apart.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    pub layer: toml::Table,
    /// The numbers that make boxes of flame graphs wide, by the keys of their tabs, each read apart.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    pub weight: toml::Table,
    /// Whether details stand beside tables, by the keys of their tabs, each read apart.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    pub details: toml::Table,
    /// The functions between their callers and callees, by the keys of their tabs, each read apart.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    pub middle: toml::Table,
    /// The kinds of activity that are not drawn on the graph, each read apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<toml::Value>,
    /// The sides of *Compare*.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare: Option<SavedCompare>,
    /// Lines of trees that the user opened or closed, each read apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node: Vec<toml::Value>,
    /// Selected rows, at most one of a tab, each read apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub selected: Vec<toml::Value>,
    /// Directions of flame graphs and the nodes that they are about, at most one of a tab, each read apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub focus: Vec<toml::Value>,
    /// The layout of the window, as the settings store it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<toml::Value>,
}

/// A trace by its files, and by facts from which another trace is told apart.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedTrace {
    /// Paths relative to the investigation file, with `/`; absolute only if there is no relative one.
    pub files: Vec<String>,
    /// Size of all files, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<i64>,
    /// When the trace starts, as a FILETIME; 0 if unknown.
    pub start_time: i64,
    /// Ticks a second.
    pub frequency: i64,
    /// Length in ticks; 0 if unknown.
    pub length: i64,
}

/// View, selection and other places in time, in seconds since the trace start.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedView {
    pub from_s: f64,
    pub to_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected_s: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor_s: Option<f64>,
    /// The active tab, by its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tab: Option<String>,
    pub marks_s: Vec<f64>,
    pub pins_s: Vec<f64>,
}

/// A note on the time axis.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedNote {
    pub at_s: f64,
    pub text: String,
}

impl Saved {
    /// Reads a text; also returns a sentence about what was ignored, if anything was.
    pub fn parse(text: &str) -> Result<(Self, Option<String>), BadText> {
        let all: toml::Table = parse(text)?;
        let saved: Self = parse(text)?;
        if saved.version == 0 {
            return Err(BadText { line: None, what: "it has no version, so it is not an investigation".to_owned() });
        }
        let mut unknown = Vec::new();
        if let Ok(known) = toml::Table::try_from(&saved) {
            collect_unknown(&all, &known, "", &mut unknown);
        }
        for (name, table) in saved.by_tab() {
            let is_tab = |key: &str| key == SOURCES || ViewId::ALL.iter().any(|view| view.key() == key);
            unknown.extend(table.keys().filter(|key| !is_tab(key)).map(|key| format!("{name}.{key}")));
        }
        Ok((saved.clone(), ignored(saved.version, &unknown)))
    }

    /// The tables by the keys of tabs, with their names.
    fn by_tab(&self) -> [(&'static str, &toml::Table); 7] {
        [
            ("sort", &self.sort),
            ("search", &self.search),
            ("grouping", &self.grouping),
            ("layer", &self.layer),
            ("weight", &self.weight),
            ("details", &self.details),
            ("middle", &self.middle),
        ]
    }

    /// The text of the file, unless it is longer than what is read.
    pub fn text(&self) -> io::Result<String> {
        let text = toml::to_string(self).map_err(io::Error::other)?;
        if text.len() as u64 > LARGEST {
            return Err(io::Error::other(format!("it would be larger than {} KB; remove notes or filters", LARGEST >> 10)));
        }
        Ok(text)
    }
}

/// The keys of a table that reading it has lost, with the names of the tables around them.
fn collect_unknown(read: &toml::Table, known: &toml::Table, around: &str, unknown: &mut Vec<String>) {
    for (key, value) in read {
        match (value, known.get(key)) {
            (_, None) => unknown.push(format!("{around}{key}")),
            (toml::Value::Table(read), Some(toml::Value::Table(known))) => {
                collect_unknown(read, known, &format!("{around}{key}."), unknown);
            }
            _ => {}
        }
    }
}

fn ignored(version: u32, unknown: &[String]) -> Option<String> {
    let what = match unknown {
        [] if version > VERSION => "what this version does not know".to_owned(),
        [] => return None,
        known => {
            let names: Vec<String> = known.iter().take(LISTED).map(|key| plain(key).chars().take(60).collect()).collect();
            let more = known.len() - names.len();
            let more = if more > 0 { format!(" and {} more", format::count(more as u64)) } else { String::new() };
            format!("{}{more}", names.join(", "))
        }
    };
    let by = if version > VERSION { ", which a later version of highwater wrote" } else { "" };
    Some(format!("Ignored in the investigation{by}: {what}."))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn saved() -> Saved {
        let trace =
            SavedTrace { files: vec!["a.etl".to_owned()], bytes: Some(7), start_time: 1, frequency: 10_000_000, length: 9 };
        let view = SavedView { to_s: 2.5, selected_s: Some([1.0, 1.5]), marks_s: vec![0.1, 0.2], ..SavedView::default() };
        let note = vec![SavedNote { at_s: 1.25, text: "a \"leak\"\\ here".to_owned() }];
        Saved { version: VERSION, baseline: Some(trace.clone()), trace, view, note, ..Saved::default() }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = saved().text().unwrap();
        assert_eq!(Saved::parse(&text), Ok((saved(), None)));
    }

    #[test]
    fn nothing_is_written_that_is_too_long_to_be_read() {
        let note = SavedNote { at_s: 0.0, text: "\u{1f4dd}".repeat(1000) };
        let long = Saved { note: vec![note; 300], ..saved() };
        assert!(long.text().unwrap_err().to_string().contains("larger than 1024 KB"));
    }

    #[test]
    fn fields_of_later_versions_are_ignored_with_a_word() {
        let text =
            saved().text().unwrap().replace("version = 1", "version = 2\ncolour = \"red\"").replace("[view]", "[view]\nzoom = 3");
        let (read, ignored) = Saved::parse(&text).unwrap();
        assert_eq!(Saved { version: VERSION, ..read }, saved());
        let ignored = ignored.unwrap();
        assert!(ignored.contains("later version") && ignored.contains("colour") && ignored.contains("view.zoom"), "{ignored}");
    }

    #[test]
    fn a_text_that_is_no_investigation_is_a_clear_error() {
        for (text, what) in [
            ("", "no version"),
            ("a = 1", "no version"),
            ("version = 1\n[view]\nfrom_s = \"x\"", "line 3"),
            ("version = -1", "line 1"),
            ("version = 1\nnote = 7", "line 2"),
            ("version = 1\n[trace]\nfiles = \"a.etl\"", "line 3"),
            ("\0\u{1}", "line 1"),
        ] {
            let error = Saved::parse(text).unwrap_err().to_string();
            assert!(error.contains(what), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(at in any::<prop::sample::Index>(), with in "\\PC{0,6}", cut in 0usize..12) {
            let text = saved().text().unwrap();
            let at = (0..=at.index(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let end = (at + cut..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
            _ = Saved::parse(&format!("{}{with}{}", &text[..at], &text[end..]));
        }
    }
}
