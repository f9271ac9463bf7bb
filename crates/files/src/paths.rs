//! Paths from foreign data: traces, symbol stores, servers. Where they lead on this machine, and whether following them
//! would reveal the user to another machine or wait for a device. Also the files that are read ([`Reading`]), and
//! writing files ([`write()`]).
//!
//! Format: NT paths as the kernel gives them for images; UNC and device paths and reserved names (Microsoft, "Naming
//! Files, Paths, and Namespaces").

mod below;
mod inputs;
mod output;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub use below::Folders;
pub use inputs::{Reading, is_read_below};
pub use output::{Draft, Existing, Refusal, adopt, check, check_file, create, keep, remove_drafts, spare, transfer, write};

/// Converts the kernel's path of an image to a path on this machine. `volumes` are NT paths of volumes and their drives.
pub fn on_disk(path: &str, volumes: &[(String, String)]) -> Option<PathBuf> {
    let strip = |prefix: &str| {
        let head = path.get(..prefix.len()).filter(|head| head.eq_ignore_ascii_case(prefix))?;
        path.get(head.len()..)
    };
    for (nt, drive) in volumes {
        if let Some(rest) = strip(nt).filter(|rest| nt.ends_with('\\') || rest.starts_with('\\')) {
            return local_path(&format!("{}\\{}", drive.trim_end_matches('\\'), rest.trim_start_matches('\\')));
        }
    }
    if let Some(rest) = strip(r"\SystemRoot\") {
        return local_path(&format!(r"{}\{rest}", std::env::var("SystemRoot").ok()?));
    }
    local_path(strip(r"\??\").unwrap_or(path))
}

/// Accepts an absolute path, which does not depend on the current folder; the paths of another system are not absolute.
pub fn absolute_path(path: &str) -> Option<PathBuf> {
    Some(PathBuf::from(path)).filter(|path| path.is_absolute())
}

/// Accepts an absolute path that is not on a share, for paths from a trace: traces come from others, and opening a
/// share reveals the user to its server.
pub fn local_path(path: &str) -> Option<PathBuf> {
    absolute_path(path).filter(|_| behind_two_slashes(path).is_none())
}

/// The host of a path to a share. Recognizes the forms of Windows on every system: `\\HOST\share`, `//HOST@443/share`,
/// `\\?\UNC\HOST\share`.
pub fn share_host(path: &str) -> Option<&str> {
    let rest = behind_two_slashes(path)?;
    let mut parts = rest.split(['\\', '/']).filter(|part| !part.is_empty());
    let mut host = parts.next()?;
    if matches!(host, "?" | ".") {
        if !parts.next()?.eq_ignore_ascii_case("UNC") {
            return None;
        }
        host = parts.next()?;
    }
    host.split('@').next() // the rest is the protocol or port
}

/// The rest of a path that starts with a host or a namespace, in any notation.
fn behind_two_slashes(path: &str) -> Option<&str> {
    if path.starts_with(r"\??\") {
        return path.get(2..); // the kernel's notation of `\\?\`
    }
    path.strip_prefix(['\\', '/'])?.strip_prefix(['\\', '/'])
}

/// Whether Windows treats a path as a device or a pipe, whatever its folder.
pub fn is_device(path: &str) -> bool {
    const RESERVED: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
    let is_reserved = |part: &str| {
        let stem = part.split(['.', ':']).next().unwrap_or_default().trim_end();
        let is_port = |kind: &str| {
            let number = stem.get(..3).filter(|head| head.eq_ignore_ascii_case(kind)).and_then(|_| stem.get(3..));
            number.is_some_and(|number| {
                let mut digits = number.chars();
                matches!(digits.next(), Some('0'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}')) && digits.next().is_none()
            })
        };
        is_port("COM") || is_port("LPT") || RESERVED.iter().any(|name| name.eq_ignore_ascii_case(stem))
    };
    let parts = || path.split(['\\', '/']).filter(|part| !part.is_empty());
    let Some(rest) = behind_two_slashes(path) else { return parts().any(is_reserved) };
    let mut rest = rest.split(['\\', '/']).filter(|part| !part.is_empty());
    match (rest.next(), rest.next()) {
        // In a device namespace, only drives and UNC shares belong to file systems.
        (Some("?" | "."), Some(first)) => {
            let is_drive = first.len() == 2 && first.ends_with(':');
            !(is_drive || first.eq_ignore_ascii_case("UNC")) || rest.any(is_reserved)
        }
        (_, Some(share)) => ["pipe", "mailslot"].iter().any(|name| share.eq_ignore_ascii_case(name)) || rest.any(is_reserved),
        _ => true,
    }
}

/// Whether a path leads to a regular file: no folder, pipe or device that would block a reader. Opens nothing else.
pub fn is_regular(path: &Path) -> bool {
    regular(path).is_ok()
}

/// Opens a regular file; anything else is an error. See [`is_regular`].
pub fn open_regular(path: &Path) -> io::Result<File> {
    regular(path)?;
    File::open(path)
}

fn regular(path: &Path) -> io::Result<()> {
    let other = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    // On Windows, querying metadata opens the path, and the standard library reports a device as a file.
    if cfg!(windows) && is_device(&path.to_string_lossy()) {
        return Err(other());
    }
    if path.metadata()?.is_file() { Ok(()) } else { Err(other()) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn images_are_found_where_their_volume_is_mounted() {
        let root = if cfg!(windows) { r"C:" } else { "/mnt" };
        let volumes = vec![(r"\Device\HarddiskVolume3".to_owned(), root.to_owned())];
        let found = on_disk(r"\device\harddiskvolume3\Test\a.exe", &volumes);
        assert_eq!(found, local_path(&format!(r"{root}\Test\a.exe")));
        assert_eq!(on_disk(r"\Device\HarddiskVolume33\a.exe", &volumes), local_path(r"\Device\HarddiskVolume33\a.exe"));
        for share in [r"\\server\share\a.exe", "//server/share/a.exe", r"\\?\UNC\server\a.exe"] {
            assert_eq!(on_disk(share, &volumes), None);
        }
        if !cfg!(windows) {
            assert_eq!(on_disk("/opt/a.exe", &volumes), Some("/opt/a.exe".into()));
            assert_eq!(on_disk(r"C:\a.exe", &volumes), None);
        }
    }

    #[test]
    fn shares_are_known_by_their_host_however_they_are_written() {
        let shares = [
            r"\\Host\share\a.pdb",
            "//Host/share/a.pdb",
            r"\/Host\share",
            r"\\Host@SSL@443\dav\a.pdb",
            r"\\?\UNC\Host\share\a.pdb",
            r"\\.\unc\Host\share",
            r"\??\UNC\Host\share",
            r"\\\Host\share",
        ];
        for path in shares {
            assert_eq!(share_host(path), Some("Host"), "{path}");
        }
        for path in [r"C:\a.pdb", "/opt/a.pdb", "a.pdb", r"\a.pdb", r"\\?\C:\a.pdb", r"\\.\pipe\a", r"\\", ""] {
            assert_eq!(share_host(path), None, "{path}");
        }
    }

    #[test]
    fn devices_of_windows_are_known_by_their_names() {
        let devices = [
            "NUL",
            r"C:\a\con",
            r"C:\a\Aux.pdb",
            r"C:\nul .x\a",
            "COM1",
            "lpt9.dll",
            "com\u{b2}",
            "CONIN$",
            "PRN:",
            r"\\.\pipe\a",
            r"\\?\pipe\a",
            r"\\.\COM12",
            r"\\?\GLOBALROOT\Device\Null",
            r"\\host\pipe\a",
            r"\\.\UNC\host\share\NUL",
            r"\\host",
        ];
        for path in devices {
            assert!(is_device(path), "{path}");
        }
        let files =
            ["console.pdb", r"C:\com10.dll", r"C:\a\nulls", "COM", "/opt/aux1", r"\\?\C:\a.pdb", r"\\host\share\a.pdb", ""];
        for path in files {
            assert!(!is_device(path), "{path}");
        }
    }

    #[test]
    fn only_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "a").unwrap();
        assert!(is_regular(&file) && open_regular(&file).is_ok());
        assert!(!is_regular(folder.path()) && open_regular(folder.path()).is_err());
        assert!(!is_regular(&folder.path().join("none")));
    }
}
