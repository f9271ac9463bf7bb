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

/// The identity of a file, whatever its name: its volume, its number there, and its creation time, since the numbers of
/// deleted files are reused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileId {
    pub(super) volume: u64,
    pub(super) number: u64,
    pub(super) made: Option<SystemTime>,
}
