//! Facts about volumes and files, as all systems tell them.

use std::time::SystemTime;

/// Disk space on a volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskSpace {
    /// Free space for this user in bytes.
    pub free: u64,
    /// Total size in bytes.
    pub total: u64,
}

/// The state of a file at a moment. A file that was changed or replaced has another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileStamp {
    pub(super) id: Option<FileId>,
    pub(super) bytes: u64,
    pub(super) modified: Option<SystemTime>,
    /// Seconds and nanoseconds of the last change of the file or of its times, where the system tells them.
    pub(super) changed: Option<(i64, i64)>,
}

/// The identity of a file, whatever its name: its volume, its number there, and its creation time, since the numbers of
/// deleted files are reused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileId {
    pub(super) volume: u64,
    pub(super) number: u64,
    pub(super) made: Option<SystemTime>,
}
