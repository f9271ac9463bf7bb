//! Tables and sentences for people. They may change at any time; programs read the JSON. Numbers look as they do in
//! the window: [`crate::format`].

use std::fmt::Write;

pub(super) use crate::format::seconds;

use super::terminal::{self, Style};
use crate::format::{self, plain};
use crate::model::unknown_label;
use crate::tables::KeyedSet;
use crate::units::Pid;

/// A doubt about the numbers, as a message.
pub(super) fn doubtful(doubt: &str) -> String {
    format!("the numbers may be off: {doubt}")
}

/// A line about entries that are left out, such as `… and 3 more groups`; nothing if there are none.
pub(super) fn more(n: usize, rest: &str) -> String {
    if n == 0 { String::new() } else { format!("… and {} more{rest}\n", format::count(n as u64)) }
}

/// Name and id of each line's process. The start of the process is added if another process with the same id is listed.
pub(super) fn process_names<'a>(lives: impl Iterator<Item = (Option<&'a str>, Option<u32>, Option<f64>)>) -> Vec<String> {
    let lives: Vec<_> = lives.collect();
    let starts: KeyedSet<(Option<u32>, Option<u64>)> =
        lives.iter().map(|(_, pid, start)| (*pid, start.map(f64::to_bits))).collect();
    let lives_of = |pid| starts.iter().filter(|(other, _)| *other == pid).count();
    let name = |&(name, pid, start): &(Option<&str>, Option<u32>, Option<f64>)| {
        let name = name.unwrap_or_default();
        let unnamed = pid.is_none_or(|pid| name == unknown_label(Pid(pid)));
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

/// A table whose columns are as wide as their widest cell, or as narrow as the terminal wants: then names are cut in the
/// middle, numbers never, and the last columns of numbers are left out if there is no room. A line can have notes, which are
/// printed below it, indented and uncut. Cells and notes can contain names from traces, so both are made [`plain`].
pub(super) struct Table {
    columns: Vec<(String, Align)>,
    lines: Vec<(Vec<String>, Vec<String>)>,
    /// Lengths of bars behind the first number on a terminal, 0 to 1, if there are bars.
    shares: Vec<f64>,
}

/// The columns of a table, and the cells and notes of each line.
pub(super) type TableParts = (Vec<(String, Align)>, Vec<(Vec<String>, Vec<String>)>);

/// Characters between columns.
const GAP: usize = 2;

/// Characters of a bar.
const BAR: usize = 8;

/// Steps until a table fits: names are cut to so many characters, then columns of numbers are left out until so many remain.
const STEPS: [(usize, usize); 4] = [(28, 3), (20, 2), (12, 1), (8, 1)];

impl Table {
    pub(super) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let columns = columns.into_iter().map(|(name, align)| (name.to_owned(), align)).collect();
        Self { columns, lines: Vec::new(), shares: Vec::new() }
    }

    pub(super) fn line(&mut self, cells: Vec<String>, notes: Vec<String>) {
        let plain = |texts: Vec<String>| texts.iter().map(|text| plain(text)).collect();
        self.lines.push((plain(cells), plain(notes)));
    }

    /// Gives each line a bar of the length of its number, in the order of lines; the longest is that of the largest number.
    pub(super) fn bars(&mut self, numbers: impl Iterator<Item = u64> + Clone) {
        let most = numbers.clone().max().unwrap_or(0).max(1);
        self.shares = numbers.map(|number| number as f64 / most as f64).collect();
    }

    /// The columns, and the cells and notes of each line.
    pub(super) fn parts(self) -> TableParts {
        (self.columns, self.lines)
    }

    /// The table, its heading first unless all headings are empty.
    pub(super) fn text(&self) -> String {
        self.text_in(terminal::room())
    }

    /// The table in so many characters; `None` if there is room for all.
    fn text_in(&self, room: Option<usize>) -> String {
        let heading: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let cells = || std::iter::once(&heading).chain(self.lines.iter().map(|(cells, _)| cells));
        let natural = |i: usize| cells().map(|c| c.get(i).map_or(0, |s| s.chars().count())).max().unwrap_or(0);
        let mut plan = Plan {
            widths: (0..self.columns.len()).map(natural).enumerate().collect(),
            bar: room.is_some() && self.shares.len() == self.lines.len() && !self.lines.is_empty(),
        };
        let left_out = room.map_or_else(Vec::new, |room| plan.fit(&self.columns, room));
        let mut text = String::new();
        if heading.iter().any(|name| !name.is_empty()) {
            let line = self.cells_text(&heading, &plan, plan.bar.then_some(0.0));
            text += &format!("{}\n", Style::Heading.text(line.trim_end()));
        }
        for (at, (cells, notes)) in self.lines.iter().enumerate() {
            let bar = plan.bar.then(|| self.shares[at]);
            let _ = writeln!(text, "{}", self.cells_text(cells, &plan, bar).trim_end());
            for note in notes {
                let _ = writeln!(text, "    {}", Style::Note.text(note));
            }
        }
        if !left_out.is_empty() {
            let names: Vec<&str> = left_out.iter().rev().map(|&i| heading[i].as_str()).collect();
            let _ =
                writeln!(text, "{}", Style::Note.text(&format!("No room for {}: --wide shows all columns", names.join(", "))));
        }
        text
    }

    /// A line of cells.
    fn cells_text(&self, cells: &[String], plan: &Plan, mut bar: Option<f64>) -> String {
        let mut line = String::new();
        for &(i, width) in &plan.widths {
            if !line.is_empty() {
                line += &" ".repeat(GAP);
            }
            let cell = shortened(cells.get(i).map_or("", String::as_str), width);
            let gap = " ".repeat(width.saturating_sub(cell.chars().count()));
            match self.columns[i].1 {
                Align::Left => line.extend([cell, gap]),
                Align::Right => {
                    line.extend([gap, cell]);
                    if let Some(share) = bar.take() {
                        line += &format!("{}{}", " ".repeat(GAP), bar_text(share));
                    }
                }
            }
        }
        line
    }
}

/// The columns that are printed.
struct Plan {
    /// Number and width of each.
    widths: Vec<(usize, usize)>,
    /// Whether there are bars behind the first number.
    bar: bool,
}

impl Plan {
    fn width(&self) -> usize {
        let cells: usize = self.widths.iter().map(|(_, width)| width).sum();
        cells + GAP * self.widths.len().saturating_sub(1) + if self.bar { GAP + BAR } else { 0 }
    }

    /// Cuts the widest names, but none below so many characters.
    fn shorten(&mut self, columns: &[(String, Align)], room: usize, least: usize) {
        loop {
            let over = self.width().saturating_sub(room);
            let names = self.widths.iter_mut().filter(|(i, width)| columns[*i].1 == Align::Left && *width > least);
            let Some((_, width)) = names.max_by_key(|(_, width)| *width).filter(|_| over > 0) else { return };
            *width = width.saturating_sub(over).max(least);
        }
    }

    /// Makes the table fit; returns the columns that are left out, the last first.
    fn fit(&mut self, columns: &[(String, Align)], room: usize) -> Vec<usize> {
        let mut left_out = Vec::new();
        self.bar &= self.width() <= room;
        let is_number = |(i, _): &(usize, usize)| columns[*i].1 == Align::Right;
        for (least, numbers) in STEPS {
            self.shorten(columns, room, least);
            while self.width() > room && self.widths.iter().filter(|column| is_number(column)).count() > numbers {
                let Some(last) = self.widths.iter().rposition(is_number) else { break };
                left_out.push(self.widths.remove(last).0);
            }
        }
        left_out
    }
}

/// A text of at most so many characters: of `module!function` the module is left out first, then the middle is cut.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let function = text.split_once('!').map(|(_, function)| function).filter(|function| !function.starts_with("+0x"));
    let text = function.unwrap_or(text);
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let front = kept.div_ceil(2);
    let tail = text.chars().skip(length - (kept - front));
    text.chars().take(front).chain(['\u{2026}']).chain(tail).collect()
}

/// A bar for a share of a whole.
fn bar_text(share: f64) -> String {
    let halves = (share.clamp(0.0, 1.0) * 2.0 * BAR as f64).round() as usize;
    let bar = "\u{2588}".repeat(halves / 2) + if halves % 2 == 1 { "\u{258c}" } else { "" };
    let gap = " ".repeat(BAR - bar.chars().count());
    if bar.is_empty() { gap } else { Style::Bar.text(&bar) + &gap }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table without styles.
    fn text(table: &Table, room: Option<usize>) -> String {
        table.text_in(room).chars().filter(|&c| Style::of(c).is_none()).collect()
    }

    #[test]
    fn names_are_cut_in_the_middle_numbers_never_and_the_last_of_them_are_left_out() {
        let mut table = Table::new([("Name", Align::Left), ("Size", Align::Right), ("Count", Align::Right)]);
        table.line(vec!["GameModule!LevelLoader::LoadEverything".into(), "10.00 MB".into(), "1,000".into()], vec![]);
        table.line(vec!["short".into(), "5.00 MB".into(), "7".into()], vec![]);
        table.bars([100, 30].into_iter());
        let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let full = text(&table, Some(100));
        assert!(
            full.contains("LoadEverything  10.00 MB  \u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}  1,000"),
            "{full}"
        );
        assert!(full.contains("5.00 MB  \u{2588}\u{2588}\u{258c}"), "{full}");
        let narrow = text(&table, Some(42));
        assert!(narrow.contains("LevelLoader:\u{2026}adEverything  10.00 MB  1,000") && !narrow.contains("--wide"), "{narrow}");
        let least = text(&table, Some(33));
        assert!(least.contains("LevelLoa\u{2026}rything  10.00 MB  1,000") && !least.contains('\u{2588}'), "{least}");
        let tiny = text(&table, Some(20));
        assert!(
            tiny.contains("Level\u{2026}hing  10.00 MB") && tiny.ends_with("No room for Count: --wide shows all columns\n"),
            "{tiny}"
        );
        for room in 20..60 {
            let text = text(&table, Some(room));
            let table_only: String =
                text.lines().filter(|line| !line.contains("--wide")).map(|line| format!("{line}\n")).collect();
            assert!(widest(&table_only) <= room, "{room}: {text}");
            assert!(text.contains("10.00 MB") && text.contains("5.00 MB"), "{room}: {text}");
        }
    }

    #[test]
    fn seconds_have_no_needless_zeros() {
        assert_eq!(seconds(12.5), "12.5 s");
        assert_eq!(seconds(-0.0000001), "0 s");
        assert_eq!(seconds(100.0), "100 s");
    }

    #[test]
    fn no_name_breaks_a_table() {
        let mut table = Table::new([("Name", Align::Left), ("Size", Align::Right)]);
        table.line(vec!["a\nb\u{1b}[2J".into(), "10".into()], vec!["no\r\nte\u{202e}".into()]);
        let bad = '\u{fffd}';
        assert_eq!(text(&table, None), format!("Name     Size\na{bad}b{bad}[2J    10\n    no{bad}{bad}te{bad}\n"));
    }

    #[test]
    fn columns_are_aligned_and_notes_stand_below_their_line() {
        let mut table = Table::new([("Name", Align::Left), ("Size", Align::Right)]);
        table.line(vec!["a".into(), "10".into()], vec!["note".into()]);
        table.line(vec!["längstes".into(), "1,000".into()], vec![]);
        assert_eq!(text(&table, None), "Name       Size\na            10\n    note\nlängstes  1,000\n");
    }
}
