//! What a process had before the trace began: nobody saw it allocated. How much that was, and
//! how much of what the process has the known allocations explain, where counters tell.
//!
//! Commit charge is compared with the largest layer, not with their sum: blocks of heaps lie in
//! commit. A lower bound of what is known, then.
//!
//! Cost: a look at all counters.

use crate::format;
use crate::model::{Counter, CounterKind, ProcessId, Trace};
use crate::units::Ticks;

/// Of a process that ran before the trace began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Earlier {
    /// Its commit charge at the beginning, in bytes, if it was sampled then.
    pub at_start: Option<u64>,
    /// Its last sample, if there is one, and what of it is known.
    pub latest: Option<LatestCommit>,
}

/// The last sample of a process's commit charge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatestCommit {
    /// When.
    pub at: Ticks,
    /// Bytes.
    pub commit: u64,
    /// Bytes of it that are outstanding in known allocations.
    pub known: u64,
}

/// A sample so many seconds after the beginning still tells what was there before.
const AT_START_SECONDS: f64 = 2.0;

/// All that can be said without numbers.
pub const BEFORE_UNKNOWN: &str = "What was allocated before the recording began is unknown here.";

impl Earlier {
    /// `None` for a process whose start is in the trace. `outstanding` tells how many bytes are
    /// outstanding at a moment, in the largest of its layers; `None` if pages from before the trace
    /// are among them (a rundown told them): then only part is unknown, nobody knows which.
    pub fn of(trace: &Trace, process: ProcessId, outstanding: impl FnOnce(Ticks) -> Option<u64>) -> Option<Self> {
        if trace.process(process).start.is_some() {
            return None;
        }
        let of_process = |counter: &&Counter| counter.kind == CounterKind::Commit && counter.process == Some(process);
        let samples = trace.counters.iter().find(of_process).map(|counter| (counter.samples.as_slice(), counter.until));
        let told = samples.and_then(|(samples, until)| {
            let (&first, &(_, commit)) = samples.first().zip(samples.last())?;
            Some((first, commit, until, outstanding(until)?))
        });
        let Some(((at, bytes), commit, until, known)) = told else { return Some(Self { at_start: None, latest: None }) };
        let is_first = trace.clock.seconds(at) - trace.clock.seconds(trace.span.from) <= AT_START_SECONDS;
        let latest = LatestCommit { at: until, commit, known: known.min(commit) };
        Some(Self { at_start: is_first.then_some(bytes), latest: (commit > 0).then_some(latest) })
    }

    /// In a sentence, or two.
    pub fn sentence(self) -> String {
        let before = match self.at_start {
            Some(bytes) => format!("{} were allocated before the recording began: unknown here.", format::rough_bytes(bytes)),
            None => BEFORE_UNKNOWN.to_owned(),
        };
        match self.latest {
            Some(latest) => format!("{before} {}.", latest.told()),
            None => before,
        }
    }

    /// Its second half, if there are numbers for it.
    pub fn known(self) -> Option<String> {
        self.latest.map(LatestCommit::told)
    }
}

impl LatestCommit {
    fn told(self) -> String {
        let percent = self.known as f64 * 100.0 / self.commit.max(1) as f64;
        let (known, commit) = (format::rough_bytes(self.known), format::rough_bytes(self.commit));
        // Neither all nor nothing is said of what is nearly that.
        let percent = match percent {
            p if p > 99.0 && self.known < self.commit => "99".to_owned(),
            p if p < 1.0 && self.known > 0 => "less than 1".to_owned(),
            p => format!("{p:.0}"),
        };
        format!("Known: {known} of {commit} ({percent} %)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn earlier(at_start: Option<u64>, latest: Option<(u64, u64)>) -> Earlier {
        Earlier { at_start, latest: latest.map(|(known, commit)| LatestCommit { at: Ticks(1), commit, known }) }
    }

    #[test]
    fn it_is_said_in_plain_words_and_with_the_numbers_that_there_are() {
        let both = earlier(Some(1946 * MB), Some((310 * MB, 2253 * MB)));
        let told = "1.9 GB were allocated before the recording began: unknown here. Known: 310 MB of 2.2 GB (14 %).";
        assert_eq!(both.sentence(), told);
        assert_eq!(both.known().unwrap(), "Known: 310 MB of 2.2 GB (14 %)");
        let late = earlier(None, Some((MB, 4 * MB)));
        let told = "What was allocated before the recording began is unknown here. Known: 1 MB of 4 MB (25 %).";
        assert_eq!(late.sentence(), told);
        let nothing = earlier(None, None);
        assert_eq!(nothing.sentence(), "What was allocated before the recording began is unknown here.");
        assert_eq!(nothing.known(), None);
    }

    #[test]
    fn shares_are_not_rounded_to_all_or_nothing() {
        let share = |known, commit| earlier(None, Some((known, commit))).known().unwrap();
        assert_eq!(share(0, 400), "Known: 0 B of 400 B (0 %)");
        assert_eq!(share(1, 400), "Known: 1 B of 400 B (less than 1 %)");
        assert_eq!(share(399, 400), "Known: 399 B of 400 B (99 %)");
        assert_eq!(share(400, 400), "Known: 400 B of 400 B (100 %)");
    }
}
