//! Room on disk: how long a recording may go on, and whether a trace fits beside its lanes.
//!
//! A reserve is left to the system and to other programs: 2 GB, or 2 % of a volume of less than
//! 100 GB. Who cannot say how much is free stops nothing.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::format::rough_bytes;
use crate::platform::{self, DiskSpace};

/// So much is left free, or a fiftieth of the volume where that is less.
const RESERVE: u64 = 2 << 30;
/// Parts of lanes are so long: few files, and not much room for one of them.
const PART: u64 = 128 << 20;

/// Tells how much room the volume of a path has, if it can.
pub type AskSpace = dyn Fn(&Path) -> Option<DiskSpace> + Send + Sync;

/// How a recording uses the disk.
#[derive(Clone)]
pub struct Storage {
    /// About so many bytes has a part of a lane; in a ring they can be shorter.
    pub part_bytes: u64,
    /// Who knows how much room there is.
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
    /// Why no more should be written to a folder, as a sentence for people.
    pub(super) fn end_of_room(&self, folder: &Path) -> Option<String> {
        let space = (self.space)(folder)?;
        let ended = || format!("only {} are left on this disk", rough_bytes(space.free));
        (space.free < reserve(space)).then(ended)
    }
}

/// What is left free.
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
