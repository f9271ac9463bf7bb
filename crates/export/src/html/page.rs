//! The contents of a page, as texts and numbers.

use super::{FlameGraph, Lane};
use crate::query::Finding;

/// A report to be read in a browser.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// Names and values: the machine, the interval, the build.
    pub facts: Vec<(String, String)>,
    /// Reasons to doubt the numbers, as sentences without a full stop.
    pub doubts: Vec<String>,
    /// First and last second of the graph.
    pub span: (f64, f64),
    /// The interval of the tables, in seconds, if it is not all of the graph.
    pub selected: Option<(f64, f64)>,
    /// The user's notes, with their times in seconds.
    pub notes: Vec<(f64, String)>,
    /// The lines of the graph.
    pub lanes: Vec<Lane>,
    /// Number of lanes that are left out.
    pub lanes_left_out: usize,
    /// The findings, best first; `None` if they are not part of the page.
    pub findings: Option<Vec<Entry>>,
    /// Whether the findings are of the whole trace, whatever is selected.
    pub has_findings_of_all: bool,
    /// The flame graphs, in their order.
    pub flames: Vec<FlameGraph>,
    /// The tables, in their order.
    pub tables: Vec<Table>,
    /// The command that gives the same numbers; `None` if no single one does.
    pub command: Option<String>,
}

/// A command with these words, quoted for a POSIX shell.
pub fn command(words: impl IntoIterator<Item = String>) -> String {
    // A word with a zero byte, which no command line can hold, is left as it is.
    let quoted = |word: String| shlex::try_quote(&word).map(|quoted| quoted.into_owned()).unwrap_or(word);
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// A finding.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    /// The finding as a sentence.
    pub text: String,
    /// The call stack, innermost first, with source lines where they are known.
    pub frames: Vec<String>,
    /// Reasons to doubt it.
    pub doubts: Vec<String>,
}

impl From<&Finding> for Entry {
    fn from(finding: &Finding) -> Self {
        Self {
            text: format!("{}.", finding.text),
            frames: finding.frames_with_source().collect(),
            doubts: finding.doubts.iter().map(|doubt| format!("{doubt}.")).collect(),
        }
    }
}

/// A table.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// The sentence in place of lines if there are none.
    pub if_empty: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its lines.
    pub lines: Vec<Line>,
    /// Number of lines that are left out.
    pub left_out: u64,
}

/// A column of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// Whether it holds numbers, which stand at the right.
    pub is_number: bool,
}

/// A line of a table.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Line {
    /// Depth in a tree; 0 in a flat table.
    pub depth: u8,
    /// One cell for each column.
    pub cells: Vec<Cell>,
    /// Further lines below the first cell, such as the frames of a stack.
    pub notes: Vec<String>,
}

/// A cell of a table.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cell {
    /// Its text.
    pub text: String,
    /// Length of its bar, from 0 to 1, if it has one.
    pub share: Option<f64>,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, share: None }
    }
}
