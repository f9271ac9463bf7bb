//! Disk space: whether a recording may go on, and whether a trace fits beside its lanes.
//!
//! A reserve is left to the system and to other programs: 2 GB, or 2 % of a volume smaller than 100 GB. If the free
//! space is unknown, nothing is stopped.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::format::rough_bytes;
use crate::platform::{self, DiskSpace};

/// The reserve in bytes, or a fiftieth of the volume if that is less.
const RESERVE: u64 = 2 << 30;
/// Default size of a part in bytes: gives few files, and one part needs little extra room.
const PART: u64 = 128 << 20;

/// Returns the disk space on the volume of a path, if known.
pub type AskSpace = dyn Fn(&Path) -> Option<DiskSpace> + Send + Sync;

/// Storage settings of a recording.
#[derive(Clone)]
pub struct Storage {
    /// Approximate size of a part of a lane in bytes; in a ring, parts can be shorter.
    pub part_bytes: u64,
    /// The source of the disk space.
    pub space: Arc<AskSpace>,
}

impl Default for Storage {
    fn default() -> Self {
        Self { part_bytes: PART, space: Arc::new(platform::disk_space) }
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage").field("part_bytes", &self.part_bytes).finish_non_exhaustive()
    }
}

impl Storage {
    /// Why no more should be written to a folder, as a sentence for the user; `None` while there is room.
    pub(super) fn end_of_room(&self, folder: &Path) -> Option<String> {
        let space = (self.space)(folder)?;
        let ended = || format!("only {} are left on this disk", rough_bytes(space.free));
        (space.free < reserve(space)).then(ended)
    }
}

/// The reserve on a volume.
pub(super) fn reserve(space: DiskSpace) -> u64 {
    RESERVE.min(space.total / 50)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_gigabytes_are_left_or_a_fiftieth_of_a_small_disk() {
        const GB: u64 = 1 << 30;
        let says = |free, total| {
            let storage = Storage { space: Arc::new(move |_| Some(DiskSpace { free, total })), ..Storage::default() };
            storage.end_of_room(Path::new("."))
        };
        assert_eq!(says(2 * GB, 1000 * GB), None);
        assert_eq!(says(19 * GB / 10, 1000 * GB).as_deref(), Some("only 1.9 GB are left on this disk"));
        assert_eq!(says(GB / 2, 20 * GB), None);
        assert_eq!(says(300 << 20, 20 * GB).as_deref(), Some("only 300 MB are left on this disk"));
        let unknown = Storage { space: Arc::new(|_| None), ..Storage::default() };
        assert_eq!(unknown.end_of_room(Path::new(".")), None);
    }
}
