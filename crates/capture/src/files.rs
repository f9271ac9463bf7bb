//! The files in a recording's folder and the meaning of their names.
//!
//! * `context.etl`, `context-heap.etl` and `context-user.etl`: the events that all others are read with (processes,
//!   images and other names), one file for each session because each delivers at its own pace. They exist from the
//!   start and are never cut.
//! * `pages-0001.etl`, `pages-0002.etl` and so on, and likewise `heap-…` and `user-…`: the parts of the lanes.
//!
//! Earlier recorders wrote `kernel.etl`, `heap.etl` and `user.etl`, one part each; these are lanes too. Any other file
//! in the folder is ignored.

use std::io;
use std::path::{Path, PathBuf};

/// Name of the file that every recording has from its start.
const CONTEXT: &str = "context";
const KERNEL: &str = "kernel";

/// A group of events that is kept in files of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lane {
    /// The events that all others are read with: processes, threads, images, and the creation and end of heaps and trackers.
    Context,
    /// The kernel's other events: VirtualAlloc, mapped views, memory counters, and the stacks of its events.
    Pages,
    /// Heap events and their stacks.
    Heap,
    /// Events of custom heap trackers and other user-mode providers.
    User,
}

impl Lane {
    /// All lanes.
    pub const ALL: [Self; 4] = [Self::Context, Self::Pages, Self::Heap, Self::User];

    /// The base name of its files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Context => CONTEXT,
            Self::Pages => "pages",
            Self::Heap => "heap",
            Self::User => "user",
        }
    }

    /// Whether old events may be deleted: all lanes except the context, with which the others are read.
    pub fn wraps(self) -> bool {
        self != Self::Context
    }
}

/// Names of lanes in the order in which they are read: context first.
pub(super) const LANES: [&str; 7] = [KERNEL, CONTEXT, "context-heap", "context-user", "pages", "heap", "user"];

/// Name of the context file for the session of a lane.
pub(super) fn context_of(lane: Lane) -> &'static str {
    match lane {
        Lane::Context | Lane::Pages => CONTEXT,
        Lane::Heap => "context-heap",
        Lane::User => "context-user",
    }
}

/// Whether old events of a lane may be deleted; `place` is its index in [`LANES`].
pub(super) fn wraps(place: usize) -> bool {
    Lane::ALL.iter().any(|lane| lane.wraps() && lane.name() == LANES[place])
}

/// Formats the number of a part.
pub(super) fn part_number(number: u32) -> String {
    format!("{number:04}")
}

/// The lane of a file in a recording's folder, as its index in the order of lanes, and the number of the part (0 for a
/// lane that is one file); `None` if the name is not that of a lane.
pub fn lane_file(name: &str) -> Option<(usize, u32)> {
    let place = |name: &str| LANES.iter().position(|&known| known == name);
    let stem = name.strip_suffix(".etl")?;
    if let Some(place) = place(stem) {
        return Some((place, 0));
    }
    let (lane, number) = stem.rsplit_once('-')?;
    let at = number.parse().ok().filter(|&at| at > 0 && number == part_number(at))?;
    Some((place(lane)?, at))
}

/// Whether a folder holds a recording: the first context file exists from the start.
pub fn is_recording(folder: &Path) -> bool {
    [CONTEXT, KERNEL].iter().any(|name| folder.join(format!("{name}.etl")).is_file())
}

/// The files of lanes in a folder as lane index, number of the part and path, ordered by lane and then by number, which
/// is the order in which they were written.
pub(super) fn files(folder: &Path) -> io::Result<Vec<(usize, u32, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let file = path.file_name().and_then(|name| lane_file(name.to_str()?));
        found.extend(file.map(|(lane, number)| (lane, number, path)));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_the_order_in_which_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "heap-0010.etl",
            "heap-0002.etl",
            "heap-10000.etl",
            "heap.etl",
            "heaps.etl",
            "heap-x.etl",
            "heap-2.etl",
            "heap-0000.etl",
            "heap-1.txt",
            "user.etl",
            "context-heap.etl",
            "context.etl",
            "merged.part",
        ];
        for name in names {
            std::fs::write(folder.path().join(name), []).unwrap();
        }
        let found = files(folder.path()).unwrap();
        let found: Vec<_> = found.iter().map(|(_, _, path)| path.file_name().unwrap().to_str().unwrap()).collect();
        let expected =
            ["context.etl", "context-heap.etl", "heap.etl", "heap-0002.etl", "heap-0010.etl", "heap-10000.etl", "user.etl"];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_names_things_is_kept_and_read_first() {
        for lane in Lane::ALL {
            let place = |name: &str| LANES.iter().position(|&known| known == name).unwrap();
            assert!(!wraps(place(context_of(lane))));
            assert_eq!(wraps(place(lane.name())), lane.wraps());
            assert!(place(context_of(lane)) <= place(lane.name()));
        }
    }

    #[test]
    fn recordings_of_both_forms_are_known_by_their_first_file() {
        for name in ["context.etl", "kernel.etl"] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("heap-0001.etl"), []).unwrap();
            assert!(!is_recording(folder.path()));
            std::fs::write(folder.path().join(name), []).unwrap();
            assert!(is_recording(folder.path()), "{name}");
        }
    }
}
