//! Marks: those that a search finds, and the one that is meant by a text.
//!
//! Cost: a look at each mark of the interval.

use crate::model::{Mark, ProcessId, Trace};
use crate::units::{Interval, Ticks};

/// Which marks.
#[derive(Clone, PartialEq, Debug)]
pub struct MarkRequest<'a> {
    /// Written in it.
    pub interval: Interval,
    /// By this process; others' are left out, but those of no process.
    pub process: Option<ProcessId>,
    /// With this in their text or the name of who wrote them, in any case; nothing for all.
    pub text: &'a str,
}

/// Those that are asked for, by time.
pub fn marks<'a>(trace: &'a Trace, request: &MarkRequest<'_>) -> Vec<&'a Mark> {
    let wanted = request.text.to_lowercase();
    let all = &trace.activity.marks;
    let of_providers: Vec<bool> =
        all.providers.iter().map(|provider| provider.label().to_lowercase().contains(&wanted)).collect();
    let fits = |mark: &&Mark| {
        let is_its = request.process.is_none_or(|process| mark.process.is_none_or(|its| its == process));
        is_its && (of_providers[usize::from(mark.provider)] || mark.text.to_lowercase().contains(&wanted))
    };
    all.during(request.interval).filter(fits).collect()
}

/// The moment that a text means: that of the first mark with just this text, else with it in any
/// case, else that begins with it, else that contains it.
pub fn find_mark(trace: &Trace, text: &str) -> Option<Ticks> {
    let wanted = text.to_lowercase();
    let rank = |mark: &Mark| {
        if &*mark.text == text {
            return Some(0);
        }
        let lower = mark.text.to_lowercase();
        match () {
            () if lower == wanted => Some(1),
            () if lower.starts_with(&wanted) => Some(2),
            () if lower.contains(&wanted) => Some(3),
            () => None,
        }
    };
    let ranked = trace.activity.marks.list.iter().filter_map(|mark| Some((rank(mark)?, mark.at)));
    ranked.min_by_key(|&(rank, _)| rank).map(|(_, at)| at)
}
