//! Tables and sentences for people. They may change at any time; programs read the JSON. Numbers look as they do in
//! the window: [`crate::format`].

use std::fmt::Write;

use crate::format::{count, plain};
use crate::tables::KeyedSet;

/// `1 file`, `2 files`.
pub(super) fn plural(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A line about entries that are left out, such as `… and 3 more groups`; nothing if there are none.
pub(super) fn more(n: usize, rest: &str) -> String {
    if n == 0 { String::new() } else { format!("… and {n} more{rest}\n") }
}

/// Seconds to the microsecond, without needless zeros.
pub(super) fn seconds(s: f64) -> String {
    let text = format!("{s:.6}");
    let text = text.trim_end_matches('0');
    let text = text.strip_suffix('.').unwrap_or(text);
    format!("{} s", if text == "-0" { "0" } else { text })
}

/// Name and id of each line's process. The start of the process is added if another process with the same id is listed.
pub(super) fn process_names<'a>(lives: impl Iterator<Item = (Option<&'a str>, Option<u32>, Option<f64>)>) -> Vec<String> {
    let lives: Vec<_> = lives.collect();
    let starts: KeyedSet<(Option<u32>, Option<u64>)> =
        lives.iter().map(|(_, pid, start)| (*pid, start.map(f64::to_bits))).collect();
    let lives_of = |pid| starts.iter().filter(|(other, _)| *other == pid).count();
    let name = |&(name, pid, start): &(Option<&str>, Option<u32>, Option<f64>)| {
        let name = name.unwrap_or_default();
        let unnamed = pid.is_none_or(|pid| name == format!("Unknown ({pid})"));
        let start = match start {
            Some(at) if lives_of(pid) > 1 => format!(", from {}", seconds(at)),
            _ => String::new(),
        };
        match pid {
            Some(pid) if !unnamed => format!("{name} ({pid}{start})"),
            _ => format!("{name}{start}"),
        }
    };
    lives.iter().map(name).collect()
}

/// Alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A table whose columns are as wide as their widest cell. A line can have notes, which are printed below it,
/// indented and uncut. Cells and notes can contain names from traces, so both are made [`plain`].
pub(super) struct Table {
    columns: Vec<(String, Align)>,
    lines: Vec<(Vec<String>, Vec<String>)>,
}

/// The columns of a table, and the cells and notes of each line.
pub(super) type TableParts = (Vec<(String, Align)>, Vec<(Vec<String>, Vec<String>)>);

impl Table {
    pub(super) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        Self { columns: columns.into_iter().map(|(name, align)| (name.to_owned(), align)).collect(), lines: Vec::new() }
    }

    pub(super) fn line(&mut self, cells: Vec<String>, notes: Vec<String>) {
        let plain = |texts: Vec<String>| texts.iter().map(|text| plain(text)).collect();
        self.lines.push((plain(cells), plain(notes)));
    }

    /// The columns, and the cells and notes of each line.
    pub(super) fn parts(self) -> TableParts {
        (self.columns, self.lines)
    }

    /// The table, its heading first unless all headings are empty.
    pub(super) fn text(&self) -> String {
        let heading: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let cells = || std::iter::once(&heading).chain(self.lines.iter().map(|(cells, _)| cells));
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|i| cells().map(|c| c.get(i).map_or(0, |s| s.chars().count())).max().unwrap_or(0))
            .collect();
        let mut text = String::new();
        if heading.iter().any(|name| !name.is_empty()) {
            self.put(&mut text, &heading, &widths);
        }
        for (cells, notes) in &self.lines {
            self.put(&mut text, cells, &widths);
            for note in notes {
                let _ = writeln!(text, "    {note}");
            }
        }
        text
    }

    fn put(&self, text: &mut String, cells: &[String], widths: &[usize]) {
        let mut line = String::new();
        for ((cell, width), (_, align)) in cells.iter().zip(widths).zip(&self.columns) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            let gap = " ".repeat(width - cell.chars().count());
            match align {
                Align::Left => line.extend([cell, gap.as_str()]),
                Align::Right => line.extend([gap.as_str(), cell]),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_follow_their_number_and_seconds_have_no_needless_zeros() {
        assert_eq!(plural(1, "file"), "1 file");
        assert_eq!(plural(1200, "file"), "1,200 files");
        assert_eq!(seconds(12.5), "12.5 s");
        assert_eq!(seconds(-0.0000001), "0 s");
        assert_eq!(seconds(100.0), "100 s");
    }

    #[test]
    fn no_name_breaks_a_table() {
        let mut table = Table::new([("Name", Align::Left), ("Size", Align::Right)]);
        table.line(vec!["a\nb\u{1b}[2J".into(), "10".into()], vec!["no\r\nte\u{202e}".into()]);
        let bad = '\u{fffd}';
        assert_eq!(table.text(), format!("Name     Size\na{bad}b{bad}[2J    10\n    no{bad}{bad}te{bad}\n"));
    }

    #[test]
    fn columns_are_aligned_and_notes_stand_below_their_line() {
        let mut table = Table::new([("Name", Align::Left), ("Size", Align::Right)]);
        table.line(vec!["a".into(), "10".into()], vec!["note".into()]);
        table.line(vec!["längstes".into(), "1,000".into()], vec![]);
        assert_eq!(table.text(), "Name       Size\na            10\n    note\nlängstes  1,000\n");
    }
}
