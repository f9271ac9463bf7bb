//! What is wrong with the data: one structured [`Problem`] each, collected while
//! work goes on and shown to the user at the end. Nothing deep inside prints.

use serde::Serialize;

/// One thing that was wrong with the input and what was done about it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Problem {
    /// What kind, for programs (`snake_case` in JSON).
    pub kind: ProblemKind,
    /// The file it was found in, as the user named it.
    pub file: String,
    /// Byte offset in the file, 0 where the whole file is meant.
    pub offset: u64,
    /// One sentence for people.
    pub detail: String,
}

/// The kinds of problems, stable names of the machine interface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProblemKind {
    /// The file ends in the middle of a buffer.
    TruncatedBuffer,
    /// A buffer header is impossible; what follows was searched or given up.
    BrokenChain,
    /// An event header is impossible; the rest of its buffer was skipped.
    DamagedEvent,
    /// A compressed buffer did not expand to what its header says.
    DamagedCompression,
    /// An event's payload is shorter than its kind needs; it was skipped.
    ShortPayload,
    /// The session header event is missing or short; defaults were taken.
    DamagedHeader,
    /// A file among several that could not be read at all.
    UnreadableFile,
    /// A file whose clock cannot be compared with the others'.
    ClockMismatch,
    /// The file became shorter, or could not be read, while it was loading.
    ReadFailed,
    /// Events that came later than their time allows; applied where they were met.
    OutOfOrder,
    /// The capture holds no heap, VirtualAlloc or tracker events.
    NoMemoryEvents,
    /// A limit of this program was reached; the rest was left out.
    LimitReached,
}

/// Collects problems, at most [`Problems::KEPT`] with their details, and counts all.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    list: Vec<Problem>,
    total: u64,
}

impl Problems {
    /// How many are kept with their details; a damaged file can hold millions.
    pub const KEPT: usize = 1000;

    /// Adds one.
    pub fn add(&mut self, kind: ProblemKind, file: &str, offset: u64, detail: impl Into<String>) {
        self.total += 1;
        if self.list.len() < Self::KEPT {
            self.list.push(Problem { kind, file: file.to_owned(), offset, detail: detail.into() });
        }
    }

    /// Adds all of `other`.
    pub fn append(&mut self, other: Self) {
        self.total += other.total;
        let room = Self::KEPT - self.list.len();
        self.list.extend(other.list.into_iter().take(room));
    }

    /// Those that were kept, in the order in which they were found.
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    /// How many there were in all.
    pub fn total(&self) -> u64 {
        self.total
    }
}
