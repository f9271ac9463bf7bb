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

impl FileStamp {
    /// Length of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The state as bytes, which are equal only for equal states.
    pub fn to_bytes(self) -> Vec<u8> {
        let Self { id, bytes, modified, changed } = self;
        let time = |time: Option<SystemTime>| match time.map(|time| time.duration_since(SystemTime::UNIX_EPOCH)) {
            None => (0, 0),
            Some(Ok(after)) => (1, after.as_nanos()),
            Some(Err(before)) => (2, before.duration().as_nanos()),
        };
        let mut all = Vec::new();
        let mut put = |(kind, number): (u8, u128)| {
            all.push(kind);
            all.extend(number.to_le_bytes());
        };
        put((0, bytes.into()));
        put(time(modified));
        if let Some(FileId { volume, number, made }) = id {
            put((3, u128::from(volume) << 64 | u128::from(number)));
            put(time(made));
        }
        if let Some((seconds, nanoseconds)) = changed {
            put((4, seconds as u64 as u128 | (nanoseconds as u64 as u128) << 64));
        }
        all
    }
}

/// The identity of a file, whatever its name: its volume, its number there, and its creation time, since the numbers of
/// deleted files are reused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileId {
    pub(super) volume: u64,
    pub(super) number: u64,
    pub(super) made: Option<SystemTime>,
}
