//! The first times of many streams: which is earliest, and until when it stays so.
//!
//! In groups, so that a change costs a look at one group and at the firsts of all:
//! few streams are one group and no branch depends on their times, which are pure
//! chance to a processor.

/// Streams of a group.
const GROUP: usize = 8;

/// The stream that is first, ...
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct First {
    pub(super) time: i64,
    pub(super) stream: usize,
    /// ... and the time of the one behind it; the latest there is if it is the last.
    pub(super) second: i64,
}

impl First {
    const NONE: Self = Self { time: i64::MAX, stream: 0, second: i64::MAX };

    /// The first of both, `self`'s if they come together.
    #[inline]
    fn or(self, other: Self) -> Self {
        let (first, last) = if other.time < self.time { (other, self) } else { (self, other) };
        Self { second: first.second.min(last.time), ..first }
    }

    /// The first of a group that begins with stream number `stream`.
    #[inline(always)]
    fn of(times: &[i64], stream: usize) -> Self {
        let (mut first, mut second, mut at) = (i64::MAX, i64::MAX, 0);
        for (i, &time) in times.iter().enumerate() {
            let leads = time < first;
            second = if leads { first } else { second.min(time) };
            at = if leads { i } else { at };
            first = first.min(time);
        }
        Self { time: first, stream: stream + at, second }
    }
}

/// First times by stream.
#[derive(Debug)]
pub(super) struct Heads {
    /// The latest time for streams that have ended, so that they are never first, ...
    times: Vec<i64>,
    /// ... which a damaged record can have too.
    alive: Vec<bool>,
    firsts: Vec<First>,
}

impl Heads {
    /// So many streams, of which none has anything.
    pub(super) fn new(streams: usize) -> Self {
        let firsts = vec![First::NONE; streams.div_ceil(GROUP)];
        Self { times: vec![i64::MAX; streams], alive: vec![false; streams], firsts }
    }

    /// The first stream; the one that was named first if several are.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<First> {
        let first = match self.firsts.as_slice() {
            &[first] => first,
            firsts => firsts.iter().fold(First::NONE, |first, &other| first.or(other)),
        };
        if first.time < i64::MAX {
            return Some(first);
        }
        let stream = self.alive.iter().position(|&alive| alive)?;
        Some(First { stream, ..First::NONE })
    }

    /// The streams whose next record is at `time`, in their order.
    pub(super) fn at(&self, time: i64) -> impl Iterator<Item = usize> + '_ {
        let is_at = move |&stream: &usize| self.times[stream] == time && self.alive[stream];
        (0..self.times.len()).filter(is_at)
    }

    /// The next record of a stream is at `time`; `None` if it has ended.
    #[inline(always)]
    pub(super) fn set(&mut self, stream: usize, time: Option<i64>) {
        self.times[stream] = time.unwrap_or(i64::MAX);
        self.alive[stream] = time.is_some();
        let group = stream / GROUP;
        let start = group * GROUP;
        let end = self.times.len().min(start + GROUP);
        self.firsts[group] = First::of(&self.times[start..end], start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_first_of_all(changes in prop::collection::vec((0usize..20, prop::option::of(0i64..6)), 1..60)) {
            let mut heads = Heads::new(20);
            let mut times = [None; 20];
            for (stream, time) in changes {
                let time = time.map(|time| if time == 5 { i64::MAX } else { time });
                heads.set(stream, time);
                times[stream] = time;
                let alive = || (0..20).filter_map(|stream| times[stream].map(|time| (time, stream)));
                let first = heads.first();
                prop_assert_eq!(first.map(|first| (first.time, first.stream)), alive().min());
                if let Some(First { time, stream, second }) = first {
                    let others = alive().filter(|&(_, other)| other != stream).map(|(time, _)| time);
                    prop_assert_eq!(second, others.min().unwrap_or(i64::MAX));
                    prop_assert!(heads.at(time).eq(alive().filter(|&(t, _)| t == time).map(|(_, stream)| stream)));
                }
            }
        }
    }
}
