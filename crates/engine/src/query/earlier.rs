//! Memory that a process allocated before the trace began: how much it was, and which part of the process's commit the
//! known allocations explain, if counters are recorded.
//!
//! Commit charge is compared with the largest layer, not with the sum of layers, since heap blocks lie in commit. The
//! known part is therefore a lower bound.
//!
//! Cost: a look at all counters.

use crate::format;
use crate::model::{Counter, CounterKind, ProcessId, Trace};
use crate::units::Ticks;

/// The unknown memory of a process that ran before the trace began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Earlier {
    /// Commit charge of the process at the start of the trace, in bytes, if it was sampled then.
    pub at_start: Option<u64>,
    /// The last sample of its commit charge, if there is one, and how much of it is known.
    pub latest: Option<LatestCommit>,
}

/// The last sample of a process's commit charge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatestCommit {
    /// Time of the comparison.
    pub at: Ticks,
    /// Commit charge in bytes.
    pub commit: u64,
    /// Outstanding bytes of known allocations in it.
    pub known: u64,
}

/// A sample up to this many seconds after the start still measures the memory from before the trace.
const AT_START_SECONDS: f64 = 2.0;

/// The sentence for processes without counters.
pub const BEFORE_UNKNOWN: &str = "What was allocated before the recording began is unknown here.";

impl Earlier {
    /// Returns `None` for a process whose start is in the trace. `outstanding` returns the bytes outstanding at a
    /// moment in the largest of its layers; or `None` if they include pages from before the trace, which a rundown
    /// reported: then only a part is unknown, and it is unknown which.
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

    /// Describes it in one or two sentences.
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

    /// Returns the second sentence, if there are numbers for it.
    pub fn known(self) -> Option<String> {
        self.latest.map(LatestCommit::told)
    }
}

impl LatestCommit {
    fn told(self) -> String {
        known_part(self.known, self.commit)
    }
}

/// Says which part of a process's commit charge the known allocations explain.
pub fn known_part(known: u64, commit: u64) -> String {
    let percent = known as f64 * 100.0 / commit.max(1) as f64;
    // Nearly all is not rounded to 100 %, and nearly nothing not to 0 %.
    let percent = match percent {
        p if p > 99.0 && known < commit => "99".to_owned(),
        p if p < 1.0 && known > 0 => "less than 1".to_owned(),
        p => format!("{p:.0}"),
    };
    format!("Known: {} of {} ({percent} %)", format::rough_bytes(known), format::rough_bytes(commit))
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
