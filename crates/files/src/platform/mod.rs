//! Facts about this machine, which each operating system reports in its own way. Independent of traces. Besides
//! `capture::windows`, the only place where `unsafe` may occur, each use with its reason.

mod facts;
#[cfg(windows)]
mod windows;

#[cfg(windows)]
pub use windows::{Interrupts, load_libraries_of_the_system_only};

use std::io;
use std::path::Path;
use std::process::Child;

pub use facts::{DiskSpace, FileId, FileStamp};

/// Physical memory of the machine in bytes; `None` if the system does not report it.
pub fn physical_memory() -> Option<u64> {
    #[cfg(windows)]
    return windows::physical_memory();
    #[cfg(target_os = "linux")]
    return std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemTotal:"));
    #[cfg(not(any(windows, target_os = "linux")))]
    None
}

/// Memory of this process in bytes; `None` if the system does not report it.
pub fn memory_in_use() -> Option<u64> {
    #[cfg(windows)]
    return windows::memory_in_use();
    #[cfg(target_os = "linux")]
    return std::fs::read_to_string("/proc/self/status").ok().and_then(|text| kilobytes(&text, "VmRSS:"));
    #[cfg(not(any(windows, target_os = "linux")))]
    None
}

/// The disk space on the volume of an existing folder; `None` if the system does not report it.
pub fn disk_space(folder: &Path) -> Option<DiskSpace> {
    #[cfg(windows)]
    return windows::disk_space(folder);
    #[cfg(not(windows))]
    {
        let _ = folder;
        None
    }
}

/// The identity of the file at a path, through links; `None` if there is none, or the system does not report it.
pub(crate) fn file_id(path: &Path) -> Option<FileId> {
    #[cfg(windows)]
    return windows::file_id(path);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let is = path.metadata().ok()?;
        Some(FileId { volume: is.dev(), number: is.ino(), made: is.created().ok() })
    }
    #[cfg(not(any(windows, unix)))]
    {
        let _ = path;
        None
    }
}

/// The state of the regular file at a path, through links; `None` if there is none.
pub fn file_stamp(path: &Path) -> Option<FileStamp> {
    let is = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    #[cfg(unix)]
    let changed = Some((std::os::unix::fs::MetadataExt::ctime(&is), std::os::unix::fs::MetadataExt::ctime_nsec(&is)));
    #[cfg(not(unix))]
    let changed = None;
    Some(FileStamp { id: file_id(path), bytes: is.len(), modified: is.modified().ok(), changed })
}

/// Creates a folder, and those above it, that other users of the machine cannot look into. On Windows the user's own folders
/// give that to all below them.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The program that opens a link with its registered program, and an argument that it needs before the link.
pub fn opener() -> (&'static str, Option<&'static str>) {
    match () {
        () if cfg!(windows) => ("rundll32.exe", Some("url.dll,FileProtocolHandler")),
        () if cfg!(target_os = "macos") => ("open", None),
        () => ("xdg-open", None),
    }
}

/// Whether printed errors can be seen. A Windows program that is started from Explorer has no standard error stream.
pub fn has_stderr() -> bool {
    #[cfg(windows)]
    return !std::os::windows::io::AsRawHandle::as_raw_handle(&io::stderr()).is_null();
    #[cfg(not(windows))]
    true
}

/// Environment variable in which the program for shells tells the columns of the terminal that shows answers.
pub const COLUMNS_OF_CONSOLE: &str = "HIGHWATER_COLUMNS_OF_CONSOLE";

/// Environment variable that the program for shells sets if a terminal shows messages.
pub const CONSOLE_SHOWS_ERRORS: &str = "HIGHWATER_CONSOLE_SHOWS_ERRORS";

/// Lets the console of this program show control sequences, such as those of colours; returns whether it does. Terminals of
/// other systems do without being asked.
pub fn show_control_sequences() -> bool {
    #[cfg(windows)]
    return windows::show_control_sequences();
    #[cfg(not(windows))]
    true
}

/// Makes a child process end when the result is dropped or this process ends, for whatever reason. On systems other
/// than Windows it does nothing, since the terminal ends both.
pub fn tie(child: &Child) -> io::Result<Tie> {
    #[cfg(windows)]
    return windows::tie(child).map(|job| Tie { _job: job });
    #[cfg(not(windows))]
    {
        let _ = child;
        Ok(Tie {})
    }
}

/// The result of [`tie`]; dropping it ends the child process on Windows.
#[derive(Debug)]
pub struct Tie {
    #[cfg(windows)]
    _job: std::os::windows::io::OwnedHandle,
}

/// Parses a line such as `MemTotal:       24689300 kB` of `/proc/meminfo` and returns bytes (proc(5): the unit is
/// always written kB and means 1,024 bytes).
#[cfg(any(target_os = "linux", test))]
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_in_bytes_and_nothing_else_is_believed() {
        let total = |text: &str| kilobytes(text, "MemTotal:");
        assert_eq!(total("MemTotal:       24689300 kB\nMemFree: 1 kB\n"), Some(24_689_300 << 10));
        for text in ["", "MemTotal:", "MemTotal: 12", "MemTotal: x kB", "MemFree: 12 kB", "MemTotal: 99999999999999999999 kB"] {
            assert_eq!(total(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_file_that_was_changed_or_replaced_has_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&path, "one").unwrap();
        let first = file_stamp(&path).unwrap();
        assert_eq!(file_stamp(&path), Some(first));
        std::fs::write(&path, "longer").unwrap();
        assert_ne!(file_stamp(&path), Some(first));
        std::fs::write(&other, "one").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_ne!(file_stamp(&path), Some(first), "as long as it was, and another file");
        let second = file_stamp(&path).unwrap();
        assert!(second.to_bytes() != first.to_bytes() && second.to_bytes() == file_stamp(&path).unwrap().to_bytes());
        assert_eq!((file_stamp(folder.path()), file_stamp(&other)), (None, None));
    }

    #[test]
    #[cfg(any(windows, unix))]
    fn a_file_has_one_identity_by_all_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a"), "a").unwrap();
        std::fs::write(path("b"), "a").unwrap();
        std::fs::hard_link(path("a"), path("link")).unwrap();
        let id = file_id(&path("a"));
        assert!(id.is_some() && file_id(&path("link")) == id && file_id(&path("b")) != id);
        assert!(file_id(folder.path()).is_some_and(|folder| Some(folder) != id) && file_id(&path("none")).is_none());
        std::fs::rename(path("a"), path("c")).unwrap();
        assert_eq!(file_id(&path("c")), id);
    }

    #[test]
    #[cfg(windows)]
    fn a_disk_has_room_and_a_folder_that_is_not_there_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let space = disk_space(folder.path()).unwrap();
        assert!(space.free > 0 && space.free <= space.total, "{space:?}");
        assert_eq!(disk_space(&folder.path().join("none")), None);
    }

    #[test]
    #[cfg(any(windows, target_os = "linux"))]
    fn this_machine_has_memory() {
        assert!(physical_memory().is_some_and(|bytes| bytes > 64 << 20));
    }

    #[test]
    #[cfg(any(windows, target_os = "linux"))]
    fn what_this_process_takes_is_in_use() {
        let before = memory_in_use().unwrap();
        let taken = vec![1u8; 64 << 20];
        let after = memory_in_use().unwrap();
        assert!(after > before + (32 << 20), "{before} {after} {}", taken.len());
    }
}
