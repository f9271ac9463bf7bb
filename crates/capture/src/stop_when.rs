//! Conditions that end a recording: limits on the memory of the recorded processes and of the machine, their text form
//! (`private>8G`), and the check of samples against them.
//!
//! Conditions are independent; the first in the list that holds for a sample is the reason. With several processes, the
//! largest or the fastest-growing one counts, not their sum. An unknown size (a process that does not exist yet, a
//! value that the system does not report) fulfils no condition.
//!
//! Growth is measured over [`GROWTH_SAMPLES`] samples, about ten seconds: the median of the newer half minus the median
//! of the older half. So a spike or dip of one or two samples does not count.
//!
//! Cost: memory for ten numbers per process; for each sample, one check per process and condition.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::MemorySample;
use crate::format;
use crate::tables::KeyedMap;

/// The quantity that a condition limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Private bytes of the largest recorded process.
    Private,
    /// Growth per second of the private bytes of the fastest-growing recorded process.
    Growth,
    /// Commit charge of the machine, in bytes or as a share of its limit.
    Commit,
    /// Available physical memory of the machine.
    Free,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Private, Self::Growth, Self::Commit, Self::Free];

    /// Its name in a condition.
    pub fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Commit => "commit",
            Self::Free => "free",
            Self::Growth => "growth",
        }
    }

    /// The comparison: only for free memory, less is worse.
    pub fn sign(self) -> char {
        if self == Self::Free { '<' } else { '>' }
    }

    /// An example of a value.
    pub fn example(self) -> &'static str {
        match self {
            Self::Private => "8G",
            Self::Commit => "90%",
            Self::Free => "500M",
            Self::Growth => "10M/s",
        }
    }

    /// Parses a value and makes a condition on this quantity.
    pub fn than(self, value: &str) -> Result<StopWhen, String> {
        let value = value.trim();
        let wanted = || {
            let example = self.example();
            let (name, sign) = (self.name(), self.sign());
            match self {
                Self::Commit => {
                    format!("{name} wants a percentage or a size, for example {name}{sign}{example} or {name}{sign}60G")
                }
                Self::Growth => format!("{name} wants a size a second, for example {name}{sign}{example}"),
                Self::Private | Self::Free => format!("{name} wants a size, for example {name}{sign}{example}"),
            }
        };
        match self {
            Self::Private => size(value).map(StopWhen::Private),
            Self::Free => size(value).map(StopWhen::Free),
            Self::Growth => value.strip_suffix("/s").and_then(|value| size(value.trim_end())).map(StopWhen::Growth),
            Self::Commit => match value.strip_suffix('%') {
                Some(percent) => percent.trim_end().parse().ok().filter(|n| (1..100).contains(n)).map(StopWhen::CommitShare),
                // A bare number could be a percentage.
                None if value.ends_with(|c: char| c.is_ascii_digit()) => None,
                None => size(value).map(StopWhen::Commit),
            },
        }
        .ok_or_else(wanted)
    }
}

/// A condition that ends a recording. In JSON it is its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StopWhen {
    /// A recorded process has more private bytes than this.
    Private(u64),
    /// The machine's commit charge is more than this, in bytes.
    Commit(u64),
    /// The machine's commit charge is more than this percentage of its limit: 1 to 99.
    CommitShare(u8),
    /// The machine has less available physical memory than this, in bytes.
    Free(u64),
    /// The private bytes of a recorded process grow by more than this many bytes a second.
    Growth(u64),
}

impl StopWhen {
    /// The quantity that it limits.
    pub fn measure(self) -> Measure {
        match self {
            Self::Private(_) => Measure::Private,
            Self::Commit(_) | Self::CommitShare(_) => Measure::Commit,
            Self::Free(_) => Measure::Free,
            Self::Growth(_) => Measure::Growth,
        }
    }
}

impl From<StopWhen> for String {
    fn from(condition: StopWhen) -> Self {
        condition.to_string()
    }
}

impl TryFrom<String> for StopWhen {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for StopWhen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = "private>8G, commit>90%, free<500M or growth>10M/s";
        let at = text.find(['<', '>']).ok_or_else(|| format!("expected a condition such as {names}"))?;
        let (name, rest) = text.split_at(at);
        let name = name.trim();
        let measure = Measure::ALL.into_iter().find(|measure| measure.name().eq_ignore_ascii_case(name));
        let measure = measure.ok_or_else(|| format!("\u{201c}{name}\u{201d} cannot be watched; use {names}"))?;
        match rest.strip_prefix(measure.sign()) {
            Some(value) => measure.than(value),
            None => Err(format!("{} is compared with {}, as in {0}{1}{}", measure.name(), measure.sign(), measure.example())),
        }
    }
}

/// Formats the condition so that it can be parsed again.
impl fmt::Display for StopWhen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let measure = self.measure();
        write!(f, "{}{}", measure.name(), measure.sign())?;
        match *self {
            Self::Private(bytes) | Self::Commit(bytes) | Self::Free(bytes) => f.write_str(&exact(bytes)),
            Self::CommitShare(percent) => write!(f, "{percent}%"),
            Self::Growth(bytes) => write!(f, "{}/s", exact(bytes)),
        }
    }
}

const UNITS: [(char, u32); 5] = [('T', 40), ('G', 30), ('M', 20), ('K', 10), ('B', 0)];

/// Parses a size of at least one byte.
fn size(text: &str) -> Option<u64> {
    format::parse_bytes(text).ok().filter(|&bytes| bytes > 0)
}

/// Formats bytes in the largest unit that needs no fraction.
fn exact(bytes: u64) -> String {
    let whole = UNITS.into_iter().find(|(_, bits)| bytes.trailing_zeros() >= *bits);
    let (letter, bits) = whole.unwrap_or(('B', 0));
    format!("{}{letter}", bytes >> bits)
}

/// Samples over which growth is measured.
pub const GROWTH_SAMPLES: usize = 10;

/// Checks samples against conditions.
#[derive(Debug)]
pub struct StopWatch {
    conditions: Vec<StopWhen>,
    /// Recent private bytes by process id, oldest first.
    recent: KeyedMap<u32, VecDeque<(Duration, u64)>>,
}

impl StopWatch {
    /// Creates a check of these conditions. Without any, it never ends a recording.
    pub fn new(conditions: &[StopWhen]) -> Self {
        Self { conditions: conditions.to_vec(), recent: KeyedMap::default() }
    }

    /// Checks a sample. Returns why the recording is over, in words that follow "the recording ended:", or `None`.
    pub fn look(&mut self, sample: &MemorySample) -> Option<String> {
        if self.conditions.is_empty() {
            return None;
        }
        // Forgets processes that are gone, so that a reused id starts anew.
        self.recent.retain(|pid, _| sample.processes.iter().any(|process| process.pid == *pid));
        for process in &sample.processes {
            let recent = self.recent.entry(process.pid).or_default();
            recent.push_back((sample.at, process.private_bytes));
            if recent.len() > GROWTH_SAMPLES {
                recent.pop_front();
            }
        }
        self.conditions.iter().find_map(|&condition| self.reason(condition, sample))
    }

    fn reason(&self, condition: StopWhen, sample: &MemorySample) -> Option<String> {
        let what = match condition {
            StopWhen::Private(limit) => {
                let largest = sample.processes.iter().max_by_key(|process| process.private_bytes)?;
                let bytes = Some(largest.private_bytes).filter(|&bytes| bytes > limit)?;
                format!("{} has {} private", process(largest.pid), format::bytes(bytes))
            }
            StopWhen::Commit(limit) => {
                let (charge, _) = sample.commit.filter(|&(charge, _)| charge > limit)?;
                format!("the machine's commit charge is {}", format::bytes(charge))
            }
            StopWhen::CommitShare(limit) => {
                let share = |charge: u64, all: u64| u128::from(charge) * 100 > u128::from(all) * u128::from(limit);
                let (charge, all) = sample.commit.filter(|&(charge, all)| all > 0 && share(charge, all))?;
                let percent = charge as f64 * 100.0 / all as f64;
                format!("the machine's commit charge is {percent:.1} % of its limit of {}", format::bytes(all))
            }
            StopWhen::Free(limit) => {
                let free = sample.free.filter(|&free| free < limit)?;
                format!("the machine has {} of free memory", format::bytes(free))
            }
            StopWhen::Growth(limit) => {
                let rates = self.recent.iter().filter_map(|(&pid, recent)| Some((growth(recent)?, pid)));
                let (rate, pid) = rates.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|&(rate, _)| rate > limit as f64)?;
                format!("{} grows by {}/s", process(pid), format::bytes(rate as u64))
            }
        };
        Some(format!("{what} ({condition})"))
    }
}

fn process(pid: u32) -> String {
    format!("process {pid}")
}

/// Growth in bytes per second from the median of the older half to that of the newer half; `None` until there are
/// enough samples, or if their times do not differ.
fn growth(recent: &VecDeque<(Duration, u64)>) -> Option<f64> {
    const HALF: usize = GROWTH_SAMPLES / 2;
    if recent.len() < GROWTH_SAMPLES {
        return None;
    }
    let median = |from: usize| {
        let mut half: Vec<u64> = recent.range(from..from + HALF).map(|(_, bytes)| *bytes).collect();
        half.sort_unstable();
        half[HALF / 2] as f64
    };
    let middle = |from: usize| recent[from + HALF / 2].0;
    let seconds = middle(HALF).saturating_sub(middle(0)).as_secs_f64();
    (seconds > 0.0).then(|| (median(HALF) - median(0)) / seconds)
}

#[cfg(test)]
mod tests {
    use super::super::ProcessSample;
    use super::*;

    const MB: u64 = 1 << 20;

    fn parsed(text: &str) -> Result<StopWhen, String> {
        text.parse()
    }

    #[test]
    fn conditions_are_read_as_people_write_them() {
        let cases = [
            ("private>8G", StopWhen::Private(8 << 30)),
            (" Private > 1.5 gb ", StopWhen::Private(3 << 29)),
            ("commit>90%", StopWhen::CommitShare(90)),
            ("commit > 90 %", StopWhen::CommitShare(90)),
            ("commit>60GB", StopWhen::Commit(60 << 30)),
            ("free<500M", StopWhen::Free(500 * MB)),
            ("growth>10M/s", StopWhen::Growth(10 * MB)),
            ("growth>512 KB /s", StopWhen::Growth(512 << 10)),
            ("private>4097B", StopWhen::Private(4097)),
            ("private>16777215T", StopWhen::Private(16_777_215 << 40)),
            ("private>8GiB", StopWhen::Private(8 << 30)),
            ("private>4096", StopWhen::Private(4096)),
        ];
        for (text, expected) in cases {
            assert_eq!(parsed(text), Ok(expected), "{text}");
            assert_eq!(parsed(&expected.to_string()), Ok(expected), "{expected}");
        }
        assert_eq!(StopWhen::Private(3 << 29).to_string(), "private>1536M");
        for measure in Measure::ALL {
            assert_eq!(measure.than(measure.example()).unwrap().measure(), measure);
        }
    }

    #[test]
    fn what_is_no_condition_is_refused_with_what_is_wanted() {
        let cases = [
            ("", "expected a condition such as private>8G"),
            ("private=8G", "expected a condition such as"),
            ("memory>8G", "\u{201c}memory\u{201d} cannot be watched"),
            ("private<8G", "private is compared with >, as in private>8G"),
            ("free>500M", "free is compared with <, as in free<500M"),
            ("private>", "private wants a size, for example private>8G"),
            ("private>0G", "private wants a size"),
            ("private>-1G", "private wants a size"),
            ("private>8X", "private wants a size"),
            ("private>8BB", "private wants a size"),
            ("private>1.2.3G", "private wants a size"),
            ("private>.G", "private wants a size"),
            ("private>\u{20ac}8G", "private wants a size"),
            ("private>8\u{20ac}", "private wants a size"),
            ("private>99999999999999999999G", "private wants a size"),
            ("private>16777216T", "private wants a size"),
            ("private>90%", "private wants a size"),
            ("commit>0%", "commit wants a percentage or a size"),
            ("commit>100%", "commit wants a percentage or a size"),
            ("commit>90", "commit wants a percentage or a size"),
            ("growth>10M", "growth wants a size a second, for example growth>10M/s"),
            ("growth>10%/s", "growth wants a size a second"),
        ];
        for (text, expected) in cases {
            let error = parsed(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    fn sample(second: u64, processes: &[(u32, u64)]) -> MemorySample {
        let one = |&(pid, private_bytes): &(u32, u64)| ProcessSample { pid, private_bytes, working_set: 1 };
        let processes = processes.iter().map(one).collect();
        MemorySample { at: Duration::from_secs(second), processes, ..MemorySample::default() }
    }

    fn watch(text: &str) -> StopWatch {
        StopWatch::new(&[text.parse().unwrap()])
    }

    #[test]
    fn the_largest_process_alone_counts_and_the_limit_itself_is_not_enough() {
        let mut watch = watch("private>8M");
        assert_eq!(watch.look(&sample(0, &[])), None, "nobody is there yet");
        assert_eq!(watch.look(&sample(1, &[(7, 8 * MB), (9, 7 * MB)])), None, "15 MB together");
        let reason = watch.look(&sample(2, &[(7, 1), (9, 8 * MB + 1)])).unwrap();
        assert_eq!(reason, "process 9 has 8.00 MB private (private>8M)");
        assert_eq!(watch.look(&sample(3, &[(7, 1)])), None, "it is gone");
        assert!(watch.look(&sample(4, &[(7, u64::MAX)])).is_some());
    }

    #[test]
    fn the_machine_is_judged_only_by_what_it_says() {
        let machine = |commit, free| MemorySample { commit, free, ..MemorySample::default() };
        let mut share = watch("commit>90%");
        assert_eq!(share.look(&machine(None, None)), None);
        assert_eq!(share.look(&machine(Some((90, 100)), None)), None);
        assert_eq!(share.look(&machine(Some((5, 0)), None)), None, "no limit");
        let reason = share.look(&machine(Some((91 * MB, 100 * MB)), None)).unwrap();
        assert_eq!(reason, "the machine's commit charge is 91.0 % of its limit of 100.00 MB (commit>90%)");
        assert!(share.look(&machine(Some((u64::MAX, u64::MAX)), None)).is_some());
        let mut charge = watch("commit>60M");
        assert_eq!(charge.look(&machine(Some((60 * MB, 0)), None)), None);
        assert!(charge.look(&machine(Some((61 * MB, 0)), None)).is_some());
        let mut free = watch("free<500M");
        assert_eq!(free.look(&machine(None, None)), None);
        assert_eq!(free.look(&machine(None, Some(500 * MB))), None);
        assert_eq!(free.look(&machine(None, Some(0))).unwrap(), "the machine has 0 B of free memory (free<500M)");
    }

    /// The second at which the condition first holds for one process with these sizes.
    fn over(text: &str, sizes: impl IntoIterator<Item = u64>) -> Option<usize> {
        let mut watch = watch(text);
        (0..).zip(sizes).find(|&(second, size)| watch.look(&sample(second, &[(7, size)])).is_some()).map(|found| found.0 as usize)
    }

    #[test]
    fn growth_is_that_of_ten_seconds() {
        assert_eq!(over("growth>10M/s", (0..60).map(|n| n * 11 * MB)), Some(9), "as soon as there are ten samples");
        assert_eq!(over("growth>10M/s", (0..60).map(|n| n * 10 * MB)), None);
        assert_eq!(over("growth>10M/s", (0..60).map(|n| n / 20 * 40 * MB)), None, "steps that are 2 MB a second");
        let late = (0..60).map(|n: u64| n.saturating_sub(30) * 20 * MB);
        assert!((31..40).contains(&over("growth>10M/s", late).unwrap()), "soon after it begins");
    }

    #[test]
    fn one_spike_or_dip_is_no_growth() {
        for width in 1..=2 {
            let spike = (0..60).map(|n| if (20..20 + width).contains(&n) { 900 * MB } else { 100 * MB });
            assert_eq!(over("growth>1M/s", spike), None, "{width} s up");
            let dip = (0..60).map(|n| if (20..20 + width).contains(&n) { 0 } else { 900 * MB });
            assert_eq!(over("growth>1M/s", dip), None, "{width} s down");
        }
        assert_eq!(over("growth>1M/s", (0..60).rev().map(|n| n * 50 * MB)), None, "it shrinks");
    }

    #[test]
    fn a_process_id_that_comes_back_begins_anew() {
        let mut watch = watch("growth>10M/s");
        for second in 0..8 {
            assert_eq!(watch.look(&sample(second, &[(7, 0)])), None);
        }
        assert_eq!(watch.look(&sample(8, &[])), None, "gone");
        for second in 9..18 {
            assert_eq!(watch.look(&sample(second, &[(7, 900 * MB)])), None, "another one, large from the start");
        }
    }

    #[test]
    fn of_several_processes_the_one_that_grows_fastest_is_told() {
        let mut watch = watch("growth>10M/s");
        let reasons = (0..10).map(|n| watch.look(&sample(n, &[(7, n * 20 * MB), (8, n * 30 * MB), (9, n)])));
        assert_eq!(reasons.last().unwrap().unwrap(), "process 8 grows by 30.00 MB/s (growth>10M/s)");
        // A clock that stands still, and a list without conditions, neither end the recording nor fail.
        let mut still = StopWatch::new(&["growth>1B/s".parse().unwrap()]);
        assert!((0..20).all(|n| still.look(&sample(5, &[(7, n * MB)])).is_none()));
        assert_eq!(StopWatch::new(&[]).look(&sample(0, &[(7, u64::MAX)])), None);
    }

    #[test]
    fn the_first_condition_that_holds_is_the_reason() {
        let mut watch = StopWatch::new(&["private>9M", "free<2M", "private>1M"].map(|text| text.parse().unwrap()));
        let sample = MemorySample { free: Some(MB), ..sample(0, &[(7, 5 * MB)]) };
        assert!(watch.look(&sample).unwrap().ends_with("(free<2M)"));
    }
}
