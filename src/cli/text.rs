//! Numbers and tables as people like to read them. This may change at any time;
//! programs read the JSON.

use std::fmt::Write;

/// Bytes with a unit: 512 B, 1.25 KB, 12.5 MB, 126 MB. KB is 2^10 bytes, MB 2^20.
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    // Steps of 1024 as long as a smaller unit would show four digits.
    let step = UNITS.iter().scan(1.0, |unit, name| {
        *unit *= 1024.0;
        Some((bytes as f64 / *unit, *name))
    });
    let (value, unit) = step.clone().find(|(value, _)| *value < 999.5).or(step.last()).unwrap_or((bytes as f64, "B"));
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    let number = format!("{value:.decimals$}");
    let number = if decimals > 0 { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
    format!("{number} {unit}")
}

/// A change of bytes, with its sign.
pub(super) fn change(change: i64) -> String {
    let sign = match change {
        0 => "",
        n if n < 0 => "-",
        _ => "+",
    };
    format!("{sign}{}", bytes(change.unsigned_abs()))
}

/// A number with its thousands apart.
pub(super) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 file`, `2 files`.
pub(super) fn plural(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Seconds to the microsecond, without needless zeros.
pub(super) fn seconds(s: f64) -> String {
    let text = format!("{s:.6}");
    let text = text.trim_end_matches('0');
    let text = text.strip_suffix('.').unwrap_or(text);
    format!("{} s", if text == "-0" { "0" } else { text })
}

/// How a column stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Lines in columns, each as wide as its widest cell. A line can carry notes that
/// are printed below it, indented and as long as they are.
pub(super) struct Table {
    columns: Vec<(String, Align)>,
    lines: Vec<(Vec<String>, Vec<String>)>,
}

impl Table {
    pub(super) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        Self { columns: columns.into_iter().map(|(name, align)| (name.to_owned(), align)).collect(), lines: Vec::new() }
    }

    pub(super) fn line(&mut self, cells: Vec<String>, notes: Vec<String>) {
        self.lines.push((cells, notes));
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
    fn bytes_have_the_unit_that_keeps_them_short() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KB"),
            (1280, "1.25 KB"),
            (126 << 20, "126 MB"),
            (1023 << 10, "1 MB"),
            (130 << 10, "130 KB"),
            (u64::MAX, "16384 PB"),
        ];
        for (n, text) in cases {
            assert_eq!(bytes(n), text);
        }
        assert_eq!(change(-(10 << 20)), "-10 MB");
        assert_eq!(change(10 << 20), "+10 MB");
        assert_eq!(change(0), "0 B");
        assert_eq!(change(i64::MIN), "-8192 PB");
    }

    #[test]
    fn counts_and_seconds_are_easy_to_read() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(plural(1, "file"), "1 file");
        assert_eq!(seconds(12.5), "12.5 s");
        assert_eq!(seconds(-0.0000001), "0 s");
        assert_eq!(seconds(100.0), "100 s");
    }

    #[test]
    fn columns_are_aligned_and_notes_stand_below_their_line() {
        let mut table = Table::new([("Name", Align::Left), ("Size", Align::Right)]);
        table.line(vec!["a".into(), "10".into()], vec!["note".into()]);
        table.line(vec!["längstes".into(), "1,000".into()], vec![]);
        assert_eq!(table.text(), "Name       Size\na            10\n    note\nlängstes  1,000\n");
    }
}
