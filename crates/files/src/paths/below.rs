//! Folders in and below which files may be read.
//!
//! A path is resolved from the current folder, links are followed, and the result is compared folder by folder. A path that
//! leads nowhere is judged by the folder in which it would be; one that cannot be followed is in none. So the answer does
//! not tell whether there is a file outside.
//!
//! On Windows the names of devices, and of shares that no folder is on, are in none before the system is asked about them:
//! asking would reveal the user to the share's server. Names are compared in any case there.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::{is_device, share_host};

/// Resolved folders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folders(Vec<PathBuf>);

impl Folders {
    /// Resolves folders; the error is that of the first that is none.
    pub fn resolve(folders: impl IntoIterator<Item = PathBuf>) -> Result<Self, (PathBuf, io::Error)> {
        let resolved = |folder: PathBuf| match folder.canonicalize() {
            Ok(real) if real.is_dir() => Ok(real),
            Ok(_) => Err((folder, io::Error::new(io::ErrorKind::NotADirectory, "this is not a folder"))),
            Err(error) => Err((folder, error)),
        };
        folders.into_iter().map(resolved).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a path leads into one of the folders, or would if there were a file.
    pub fn contain(&self, path: &Path) -> bool {
        if cfg!(windows) && !self.may_be_asked_about(&path.to_string_lossy()) {
            return false;
        }
        let real = std::path::absolute(path).ok().and_then(|path| resolved(&path));
        real.is_some_and(|path| self.0.iter().any(|folder| is_below(&path, folder)))
    }

    /// Whether the system may be asked about a path: it is no device, and on no share but those that the folders are on.
    fn may_be_asked_about(&self, path: &str) -> bool {
        let is_of =
            |folder: &Path, host: &str| share_host(&folder.to_string_lossy()).is_some_and(|of| of.eq_ignore_ascii_case(host));
        !is_device(path) && share_host(path).is_none_or(|host| self.0.iter().any(|folder| is_of(folder, host)))
    }
}

/// Where a path leads, links followed; `None` if that cannot be told. Of a path that leads nowhere the part that exists is
/// resolved.
fn resolved(path: &Path) -> Option<PathBuf> {
    let mut at = path;
    let mut missing = Vec::new();
    loop {
        if let Ok(real) = at.canonicalize() {
            return Some(missing.into_iter().rev().fold(real, |folder, name| folder.join(name)));
        }
        if at.symlink_metadata().is_ok() {
            return None; // such as a link to nothing
        }
        missing.push(at.file_name()?);
        at = at.parent()?;
    }
}

/// Whether a resolved path is a folder or below it.
fn is_below(path: &Path, folder: &Path) -> bool {
    let name =
        |part: &OsStr| -> OsString { if cfg!(windows) { part.to_string_lossy().to_lowercase().into() } else { part.to_owned() } };
    let mut parts = path.components().map(|part| name(part.as_os_str()));
    folder.components().all(|part| parts.next() == Some(name(part.as_os_str())))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folders(named: &[PathBuf]) -> Folders {
        Folders::resolve(named.to_vec()).unwrap()
    }

    #[test]
    fn a_path_is_judged_by_where_it_leads() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["root/sub", "root2"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        for name in ["root/a.etl", "root/sub/b.etl", "root2/c.etl", "d.etl"] {
            fs::write(path(name), "").unwrap();
        }
        let roots = folders(&[path("root")]);
        let allowed =
            ["root/a.etl", "root/sub/b.etl", "root/sub/../a.etl", "root/none.etl", "root/no/such.etl", "root2/../root/a.etl"];
        for name in allowed {
            assert!(roots.contain(&path(name)), "{name}");
        }
        // A sibling whose name begins like the root's is another folder.
        let refused =
            ["root2/c.etl", "d.etl", "root/../d.etl", "none.etl", "root2/none.etl", "root/none/../../d.etl", "root/../none.etl"];
        for name in refused {
            assert!(!roots.contain(&path(name)), "{name}");
        }
        if cfg!(windows) {
            assert!(roots.contain(&path("ROOT/A.etl")));
            let long = format!(r"\\?\{}", path("root").canonicalize().unwrap().display().to_string().trim_start_matches(r"\\?\"));
            assert!(roots.contain(&Path::new(&long).join("a.etl")));
            for name in [r"\\server\share\a.etl", "//server/share/a.etl", "NUL", r"\\.\pipe\a"] {
                assert!(!roots.contain(Path::new(name)), "{name}");
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["root", "other"] {
            fs::create_dir(path(name)).unwrap();
        }
        for name in ["root/a.etl", "other/b.etl"] {
            fs::write(path(name), "").unwrap();
        }
        symlink(path("other/b.etl"), path("root/out.etl")).unwrap();
        symlink(path("other"), path("root/away")).unwrap();
        symlink(path("other/none.etl"), path("root/dangling.etl")).unwrap();
        symlink(path("root/a.etl"), path("other/in.etl")).unwrap();
        symlink(path("root"), path("same")).unwrap();
        let roots = folders(&[path("same")]);
        for name in ["root/a.etl", "other/in.etl", "same/a.etl", "root/away/../root/a.etl"] {
            assert!(roots.contain(&path(name)), "{name}");
        }
        for name in ["root/out.etl", "root/away/b.etl", "root/away/none.etl", "root/dangling.etl", "root/away/../other/b.etl"] {
            assert!(!roots.contain(&path(name)), "{name}");
        }
    }

    #[test]
    fn what_is_no_folder_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "").unwrap();
        for path in [file, folder.path().join("none")] {
            assert_eq!(Folders::resolve([folder.path().to_owned(), path.clone()]).unwrap_err().0, path);
        }
    }
}
