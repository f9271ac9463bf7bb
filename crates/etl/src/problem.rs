//! Problems in the data: each is a structured [`Problem`], collected during the work for whoever shows them. Nothing here
//! prints.
//!
//! The kind is a type parameter: a program that finds problems of its own in the same files has a kind with more variants,
//! made from [`FileProblem`] by `From`, and collects all in one list.

use std::collections::BTreeSet;
use std::ops::Range;

/// A problem in the input, and what was done about it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Problem<K = FileProblem> {
    /// The kind, for programs.
    pub kind: K,
    /// The file it was found in, as the user named it.
    pub file: String,
    /// Byte offset in the file, 0 for the whole file.
    pub offset: u64,
    /// One sentence for the user.
    pub detail: String,
}

/// The kinds of problems that reading a file can meet. All are listed, so that a program can match each; a new one is a
/// breaking change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum FileProblem {
    /// The file ends in the middle of a buffer.
    TruncatedBuffer,
    /// A buffer header is impossible; the data behind it were searched or given up.
    BrokenChain,
    /// The end of the file was allocated for the trace but never written.
    UnwrittenTail,
    /// The beginning of a circular file was overwritten.
    Overwritten,
    /// The session wrote more buffers than the file has.
    MissingBuffers,
    /// An event header is impossible; the rest of its buffer was skipped.
    DamagedEvent,
    /// A compressed buffer did not expand to what its header says.
    DamagedCompression,
    /// The session header event is missing or short; defaults were taken.
    DamagedHeader,
    /// The clock of a session in the file cannot be compared with that of the first.
    ClockMismatch,
    /// The file became shorter, or could not be read, while it was loading.
    ReadFailed,
}

/// A collection of problems: keeps at most [`Problems::KEPT`] with their details, and counts all.
#[derive(Clone, Debug)]
pub struct Problems<K = FileProblem> {
    list: Vec<Problem<K>>,
    total: u64,
    stretches: Vec<DamagedPart<K>>,
    kinds: BTreeSet<K>,
}

impl<J> Problem<J> {
    fn into_kind<K>(self) -> Problem<K>
    where
        J: Into<K>,
    {
        let Self { kind, file, offset, detail } = self;
        Problem { kind: kind.into(), file, offset, detail }
    }
}

/// A part of a file with one kind of problem.
#[derive(Clone, Debug)]
struct DamagedPart<K> {
    first: Problem<K>,
    end: u64,
    /// Number of problems that were joined.
    parts: u64,
}

impl<K> Default for Problems<K> {
    fn default() -> Self {
        Self { list: Vec::new(), total: 0, stretches: Vec::new(), kinds: BTreeSet::new() }
    }
}

impl Problems {
    /// A collection for the problems of this crate alone.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<K> Problems<K> {
    /// Number of problems that are kept with their details; a damaged file can have millions.
    pub const KEPT: usize = 1000;
}

impl<K: Copy + Ord> Problems<K> {
    /// Adds a problem.
    pub fn add(&mut self, kind: impl Into<K>, file: &str, offset: u64, detail: impl Into<String>) {
        let kind = kind.into();
        self.total += 1;
        self.kinds.insert(kind);
        if self.list.len() < Self::KEPT {
            self.list.push(Problem { kind, file: file.to_owned(), offset, detail: detail.into() });
        }
    }

    /// Adds a problem with `range` of the file. It is joined with problems of the same kind directly before and behind
    /// it, in whatever order they come, so that a whole run is reported as one problem.
    pub fn add_stretch(&mut self, kind: impl Into<K>, file: &str, range: Range<u64>, detail: impl Into<String>) {
        let kind = kind.into();
        let first = Problem { kind, file: file.to_owned(), offset: range.start, detail: detail.into() };
        self.kinds.insert(kind);
        self.join(DamagedPart { first, end: range.end, parts: 1 });
    }

    fn join(&mut self, new: DamagedPart<K>) {
        fn key<K: Copy>(s: &DamagedPart<K>) -> (&str, K, u64) {
            (&s.first.file, s.first.kind, s.first.offset)
        }
        fn touch<K: Copy + Eq>(a: &DamagedPart<K>, b: &DamagedPart<K>) -> bool {
            (&a.first.file, a.first.kind, a.end) == (&b.first.file, b.first.kind, b.first.offset)
        }
        let at = self.stretches.partition_point(|old| key(old) < key(&new));
        let before = at > 0 && touch(&self.stretches[at - 1], &new);
        let behind = at < self.stretches.len() && touch(&new, &self.stretches[at]);
        let (end, parts) = (new.end, new.parts);
        match (before, behind) {
            (true, true) => {
                let next = self.stretches.remove(at);
                let joined = &mut self.stretches[at - 1];
                (joined.end, joined.parts) = (next.end, joined.parts + parts + next.parts);
            }
            (true, false) => {
                let joined = &mut self.stretches[at - 1];
                (joined.end, joined.parts) = (end, joined.parts + parts);
            }
            (false, true) => {
                let old = &mut self.stretches[at];
                (old.first, old.parts) = (new.first, old.parts + parts);
            }
            (false, false) if self.stretches.len() < Self::KEPT => self.stretches.insert(at, new),
            (false, false) => self.total += 1,
        }
    }

    /// Adds all problems of `other`, whose kinds may be fewer than those of this collection.
    pub fn append<J: Into<K>>(&mut self, other: Problems<J>) {
        self.kinds.extend(other.kinds.into_iter().map(Into::into));
        self.total += other.total;
        let room = Self::KEPT - self.list.len();
        self.list.extend(other.list.into_iter().take(room).map(Problem::into_kind));
        for DamagedPart { first, end, parts } in other.stretches {
            self.join(DamagedPart { first: first.into_kind(), end, parts });
        }
    }

    /// The problems that were kept: first joined ones by file and offset, then the others in the order in which they
    /// were found.
    pub fn list(&self) -> Vec<Problem<K>> {
        let stretches = self.stretches.iter().map(|stretch| {
            let mut problem = stretch.first.clone();
            match stretch.parts - 1 {
                0 => {}
                1 => problem.detail += "; so is the next one",
                n => problem.detail += &format!("; so are the next {n}"),
            }
            problem
        });
        stretches.chain(self.list.iter().cloned()).collect()
    }

    /// Whether there was any problem of this kind, including those that were not kept.
    pub fn has(&self, kind: K) -> bool {
        self.kinds.contains(&kind)
    }

    /// Total number of problems.
    pub fn total(&self) -> u64 {
        self.total + self.stretches.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FileProblem::{ReadFailed, TruncatedBuffer};

    fn stretches(parts: &[(FileProblem, &str, u64)]) -> Vec<(FileProblem, String, u64, String)> {
        let mut problems = Problems::new();
        for &(kind, file, at) in parts {
            let mut one = Problems::new();
            one.add_stretch(kind, file, at..at + 10, format!("from {at}"));
            problems.append(one);
        }
        let list: Vec<_> = problems.list().into_iter().map(|p| (p.kind, p.file, p.offset, p.detail)).collect();
        assert_eq!(problems.total(), list.len() as u64);
        list
    }

    #[test]
    fn a_run_is_one_problem_in_whatever_order_its_parts_come() {
        let run = [10, 20, 30, 40].map(|at| (TruncatedBuffer, "a", at));
        let told = vec![(TruncatedBuffer, "a".to_owned(), 10, "from 10; so are the next 3".to_owned())];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3], [3, 0, 2, 1], [1, 3, 0, 2]] {
            assert_eq!(stretches(&order.map(|i| run[i])), told, "{order:?}");
        }
    }

    #[test]
    fn gaps_other_kinds_and_other_files_are_told_apart() {
        let told =
            stretches(&[(TruncatedBuffer, "a", 10), (ReadFailed, "a", 20), (TruncatedBuffer, "b", 20), (ReadFailed, "a", 40)]);
        let places: Vec<_> = told.iter().map(|(kind, file, at, _)| (*kind, file.as_str(), *at)).collect();
        assert_eq!(
            places,
            [(TruncatedBuffer, "a", 10), (ReadFailed, "a", 20), (ReadFailed, "a", 40), (TruncatedBuffer, "b", 20)]
        );
    }

    #[test]
    fn what_is_not_kept_is_counted() {
        let mut problems = Problems::new();
        for i in 0..Problems::<FileProblem>::KEPT as u64 + 5 {
            problems.add_stretch(ReadFailed, "a", 20 * i..20 * i + 10, "");
            problems.add(ReadFailed, "a", i, "");
        }
        assert!(problems.has(ReadFailed) && !problems.has(TruncatedBuffer));
        problems.add(TruncatedBuffer, "a", 0, "");
        assert!(problems.has(TruncatedBuffer));
        assert_eq!(problems.list().len(), 2 * Problems::<FileProblem>::KEPT);
        assert_eq!(problems.total(), 2 * Problems::<FileProblem>::KEPT as u64 + 11);
    }
}
