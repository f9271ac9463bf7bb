//! Problems in the data: those of trace files ([`FileProblem`]) and those that only this program can meet, in one list with
//! one kind. Each is collected during the work and shown to the user at the end. Inner layers print nothing.

use serde::Serialize;

use crate::etl::{self, FileProblem};

/// A problem in the input, and what was done about it.
pub type Problem = etl::Problem<ProblemKind>;

/// A collection of problems, with a limited number of details.
pub type Problems = etl::Problems<ProblemKind>;

/// The kinds of problems; their names are part of the machine interface and stable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProblemKind {
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
    /// The member of an archive does not match its directory; the readable part was used.
    DamagedArchive,
    /// An event header is impossible; the rest of its buffer was skipped.
    DamagedEvent,
    /// A compressed buffer did not expand to what its header says.
    DamagedCompression,
    /// An event's payload is shorter than its kind needs; it was skipped.
    ShortPayload,
    /// An event of an allocator is not what the mapping of its tracker says; it was skipped.
    BadEvent,
    /// The session header event is missing or short; defaults were taken.
    DamagedHeader,
    /// One of several files could not be read at all.
    UnreadableFile,
    /// The clock of a file cannot be compared with that of the others.
    ClockMismatch,
    /// The file became shorter, or could not be read, while it was loading.
    ReadFailed,
    /// Events come later in the stream than their time allows; they were applied where they stand.
    OutOfOrder,
    /// The capture holds no heap, VirtualAlloc or tracker events.
    NoMemoryEvents,
    /// A limit of this program was reached; the rest was left out.
    LimitReached,
}

impl From<FileProblem> for ProblemKind {
    fn from(problem: FileProblem) -> Self {
        match problem {
            FileProblem::TruncatedBuffer => Self::TruncatedBuffer,
            FileProblem::BrokenChain => Self::BrokenChain,
            FileProblem::UnwrittenTail => Self::UnwrittenTail,
            FileProblem::Overwritten => Self::Overwritten,
            FileProblem::MissingBuffers => Self::MissingBuffers,
            FileProblem::DamagedEvent => Self::DamagedEvent,
            FileProblem::DamagedCompression => Self::DamagedCompression,
            FileProblem::DamagedHeader => Self::DamagedHeader,
            FileProblem::ClockMismatch => Self::ClockMismatch,
            FileProblem::ReadFailed => Self::ReadFailed,
        }
    }
}
