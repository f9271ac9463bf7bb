//! What is in a recording's folder, by the names of its files.
//!
//! * `context.etl`, `context-heap.etl` and `context-user.etl`: what gives names to all else, one
//!   file for each session, for each delivers at its own pace. They are there from the start, and
//!   nothing of them ever goes.
//! * `pages-0001.etl`, `pages-0002.etl` and so on, and the same for `heap` and `user`: the parts of
//!   the lanes.
//!
//! Earlier recorders wrote `kernel.etl`, and `heap.etl` and `user.etl` in one part each: they are
//! lanes too. Anything else in the folder is nobody's lane.

use std::io;
use std::path::{Path, PathBuf};

use super::Lane;

/// The first file of a recording.
pub(super) const CONTEXT: &str = "context";
const KERNEL: &str = "kernel";

/// Names of lanes in a folder, in the order in which they are read: what names things first.
pub(super) const LANES: [&str; 7] = [KERNEL, CONTEXT, "context-heap", "context-user", "pages", "heap", "user"];

/// Name of the file that takes what names things and comes with a lane.
pub(super) fn context_of(lane: Lane) -> &'static str {
    match lane {
        Lane::Context | Lane::Pages => CONTEXT,
        Lane::Heap => "context-heap",
        Lane::User => "context-user",
    }
}

/// Whether old events may go, by the place of a name in the order of lanes.
pub(super) fn wraps(place: usize) -> bool {
    Lane::ALL.iter().any(|lane| lane.wraps() && lane.name() == LANES[place])
}

/// How the number of a part is written.
pub(super) fn part_number(number: u32) -> String {
    format!("{number:04}")
}

/// Which lane a file of a recording's folder is of, as its place in the order of lanes, and
/// which of the files of that lane (0 if it is the only one); `None` for what is no lane's.
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

/// Whether a folder holds a recording: its first file is there from the start.
pub fn is_recording(folder: &Path) -> bool {
    [CONTEXT, KERNEL].iter().any(|name| folder.join(format!("{name}.etl")).is_file())
}

/// The files of lanes in a folder, lanes in their order and the files of each in the order in
/// which they were written: place of the lane, number of the file, path.
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
