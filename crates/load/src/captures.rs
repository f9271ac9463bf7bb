//! Groups files by capture. Only files of one capture are read as one trace; whoever opens several captures gets a
//! [`Capture`](super::Capture) for each.
//!
//! Two files belong to one capture if they have the same clock, their clocks' zeros lie within 10 s (the same boot of
//! the machine), and their times overlap or follow each other within [`MOST_APART`]. A third file can join two others.
//! The result does not depend on the order of the files.
//!
//! Cost: reads the last buffer of each CPU in each file; nothing for a single file.

use crate::etl::{SessionHeader, TraceFile};
use crate::events::latest_time;
use crate::format;

/// Maximum gap between the end of one file and the start of the next in one capture, in seconds: the sessions of a
/// recording are started and stopped one after the other.
pub(crate) const MOST_APART: u64 = 60;

/// The files of one capture, among files that were opened together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Together {
    /// The indices of the files, ascending.
    pub files: Vec<usize>,
    /// Why they do not belong to the first capture, as the end of a sentence about them; `None` for the first.
    pub why: Option<String>,
}

/// The facts about a file that determine its capture.
#[derive(Clone, Copy)]
struct Span<'a> {
    header: &'a SessionHeader,
    name: &'a str,
    /// Raw time of its start; `to` is that of its last event.
    from: i64,
    to: i64,
}

impl<'a> Span<'a> {
    fn of(file: &'a TraceFile) -> Self {
        let from = file.header.start_ticks;
        Self { header: &file.header, name: &file.name, from, to: latest_time(file).map_or(from, |last| last.max(from)) }
    }

    /// The gap between two files in raw time, and whether `other` is the later one.
    fn gap(&self, other: &Self) -> (u64, bool) {
        if other.from > self.to {
            (other.from.abs_diff(self.to), true)
        } else if self.from > other.to {
            (self.from.abs_diff(other.to), false)
        } else {
            (0, true)
        }
    }

    fn is_with(&self, other: &Self) -> bool {
        self.header.clock_conflict(other.header).is_none()
            && u128::from(self.gap(other).0) <= u128::from(MOST_APART) * u128::from(self.header.frequency)
    }

    /// Why this file belongs to another capture than `other`.
    fn why_not(&self, other: &Self) -> String {
        if let Some(conflict) = other.header.clock_conflict(self.header) {
            return format!("{conflict} {}", other.name);
        }
        let (gap, is_later) = other.gap(self);
        let gap = format::rough_duration(gap as f64 / other.header.frequency as f64);
        match is_later {
            true => format!("starts {gap} after the end of {}", other.name),
            false => format!("ends {gap} before the start of {}", other.name),
        }
    }
}

/// Groups files into captures. The captures, and the files of each, are in the order of the given files.
pub fn together(files: &[TraceFile]) -> Vec<Together> {
    if files.len() < 2 {
        return (0..files.len()).map(|only| Together { files: vec![only], why: None }).collect();
    }
    let spans: Vec<Span<'_>> = files.iter().map(Span::of).collect();
    let mut all: Vec<Together> = Vec::new();
    let mut is_placed = vec![false; spans.len()];
    for first in 0..spans.len() {
        if std::mem::replace(&mut is_placed[first], true) {
            continue;
        }
        let mut members = vec![first];
        let mut at = 0;
        while let Some(&member) = members.get(at) {
            for other in first + 1..spans.len() {
                if !is_placed[other] && spans[member].is_with(&spans[other]) {
                    is_placed[other] = true;
                    members.push(other);
                }
            }
            at += 1;
        }
        members.sort_unstable();
        let why = all.first().map(|capture| why_apart(&spans, &capture.files, &members));
        all.push(Together { files: members, why });
    }
    all
}

/// Describes the difference between two captures by the pair of files that are closest in time.
fn why_apart(spans: &[Span<'_>], first: &[usize], other: &[usize]) -> String {
    let pairs = first.iter().flat_map(|&a| other.iter().map(move |&b| (spans[a], spans[b])));
    let closest = pairs.min_by_key(|(a, b)| (a.header.clock_conflict(b.header).is_some(), a.gap(b).0));
    closest.map_or_else(String::new, |(a, b)| b.why_not(&a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::write::Writer;
    use crate::etl::{ClockKind, Source};
    use crate::events::encode::RecordWriter;
    use crate::events::{Event, Record};
    use crate::units::{Layer, Pid, Tid};
    use std::io::Cursor;

    const SECOND: i64 = 10_000_000;
    /// FILETIME of the first boot.
    const BOOT: i64 = 134_116_992_000_000_000;

    /// A file of a boot whose clock begins at `zero` seconds after [`BOOT`], from `from` to `to` seconds.
    fn file(name: &str, zero: f64, from: f64, to: f64) -> TraceFile {
        let ticks = |seconds: f64| (seconds * SECOND as f64) as i64;
        let header =
            SessionHeader { start_ticks: ticks(from), start_time: BOOT + ticks(zero) + ticks(from), ..SessionHeader::default() };
        of(name, header, ticks(to))
    }

    fn of(name: &str, header: SessionHeader, last: i64) -> TraceFile {
        let mut writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), header).unwrap());
        let event = Event::HeapOpen { layer: Layer::Heap, heap: 1, name: None };
        writer.put(0, &Record { time: last, pid: Pid(1), tid: Tid(1), event }, &[]).unwrap();
        let bytes = writer.finish().unwrap().into_inner();
        TraceFile::from_source(Source::Memory(Vec::leak(bytes)), name.to_owned()).unwrap()
    }

    fn groups(files: &[TraceFile]) -> Vec<Vec<usize>> {
        together(files).into_iter().map(|capture| capture.files).collect()
    }

    #[test]
    fn files_of_one_boot_that_overlap_or_follow_are_one_capture() {
        assert_eq!(groups(&[file("a", 0.0, 10.0, 20.0), file("b", 0.0, 15.0, 30.0)]), [[0, 1]]);
        assert_eq!(groups(&[file("a", 0.0, 10.0, 20.0), file("b", 0.0, 80.0, 90.0)]), [[0, 1]], "60 s later");
        assert_eq!(groups(&[file("a", 0.0, 80.0, 90.0), file("b", 0.0, 10.0, 20.0)]), [[0, 1]], "60 s earlier");
        assert_eq!(groups(&[file("a", 0.0, 10.0, 20.0), file("b", 9.0, 12.0, 20.0)]), [[0, 1]], "the wall clock was set");
        assert_eq!(groups(&[file("a", 0.0, 10.0, 20.0), file("b", 0.0, 80.01, 90.0)]), [vec![0], vec![1]]);
        assert_eq!(groups(&[file("a", 0.0, 10.0, 20.0)]), [[0]]);
        assert!(groups(&[]).is_empty());
    }

    #[test]
    fn another_boot_another_clock_or_a_minute_between_is_another_capture_and_says_so() {
        let first = || file("a.etl", 0.0, 10.0, 20.0);
        let header = SessionHeader { frequency: 3_000_000, start_ticks: 30_000_000, start_time: BOOT, ..Default::default() };
        let system = SessionHeader { clock: ClockKind::System, start_ticks: BOOT, start_time: BOOT, ..Default::default() };
        for (other, why) in [
            (file("b.etl", 11.0, 10.0, 20.0), "was recorded in another boot of the machine than a.etl"),
            (file("b.etl", 0.0, 140.0, 150.0), "starts 120 s after the end of a.etl"),
            (file("b.etl", 0.0, -115.0, -110.0), "ends 120 s before the start of a.etl"),
            (of("b.etl", header, 31_000_000), "has another clock than a.etl"),
            (of("b.etl", system, BOOT + 1), "has another clock than a.etl"),
        ] {
            let apart = together(&[first(), other]);
            assert_eq!(apart.iter().map(|capture| capture.files.clone()).collect::<Vec<_>>(), [[0], [1]], "{why}");
            assert_eq!((apart[0].why.clone(), apart[1].why.as_deref()), (None, Some(why)));
        }
    }

    #[test]
    fn a_file_between_two_joins_them_in_whatever_order_they_come() {
        let file = |i: usize| match i {
            0 => file("a", 0.0, 0.0, 10.0),
            1 => file("b", 0.0, 100.0, 110.0),
            2 => file("c", 0.0, 55.0, 65.0),
            _ => file("d", 500.0, 55.0, 65.0),
        };
        for order in [[0, 1, 2, 3], [2, 1, 0, 3], [3, 1, 0, 2], [1, 3, 2, 0]] {
            let alone = order.iter().position(|&i| i == 3).unwrap();
            let mut found = groups(&order.map(file));
            found.sort_by_key(Vec::len);
            assert_eq!(found.len(), 2, "{order:?}");
            assert_eq!((found[0].clone(), found[1].len()), (vec![alone], 3));
        }
        assert_eq!(groups(&[0, 1].map(file)), [vec![0], vec![1]], "without it they are two");
    }

    #[test]
    fn a_file_that_does_not_say_when_it_began_is_judged_by_its_times_alone() {
        let unknown = SessionHeader { start_ticks: 10 * SECOND, ..SessionHeader::default() };
        assert_eq!(groups(&[file("a", 0.0, 10.0, 20.0), of("b", unknown.clone(), 20 * SECOND)]), [[0, 1]]);
        assert_eq!(groups(&[file("a", 0.0, 200.0, 220.0), of("b", unknown, 20 * SECOND)]), [vec![0], vec![1]]);
    }

    #[test]
    fn times_without_sense_are_no_failure() {
        let extreme = |name: &str, start_ticks, last| of(name, SessionHeader { start_ticks, ..Default::default() }, last);
        let files = [extreme("a", i64::MIN, i64::MAX), extreme("b", i64::MAX, i64::MIN), extreme("c", i64::MIN, i64::MIN)];
        assert_eq!(groups(&files), [[0, 1, 2]]);
        assert_eq!(groups(&[extreme("a", i64::MIN, i64::MIN), extreme("b", i64::MAX, i64::MAX)]), [vec![0], vec![1]]);
    }
}
