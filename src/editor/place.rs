//! Finds a source file of a build machine on this one: by a folder map, at its original path, or as the only file below
//! the mapped folders that has this name and shares the most trailing parts of the path.
//!
//! Shares are opened only if a map leads there: debug information comes from others, and opening a share reveals the
//! user to its server.
//!
//! Cost: one file check for each mapped folder; otherwise a walk through these folders, at most [`MOST`] entries.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::paths::{is_device, is_regular, local_path};

/// Maximum number of folder entries that are visited.
const MOST: usize = 200_000;

/// A folder of a build machine and the corresponding folder here.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FolderMap {
    /// The folder in debug information: `D:\build`. Any case, either slash.
    pub from: String,
    /// The folder on this machine.
    pub to: String,
}

/// Finds a file by the path that a compiler wrote. The error is a sentence.
pub fn find(file: &str, folders: &[FolderMap]) -> Result<PathBuf, String> {
    let parts = parts(file);
    let Some(name) = parts.last().filter(|name| !is_device(name)) else { return Err("The source file has no name.".to_owned()) };
    let mapped = folders.iter().filter_map(|map| map.lead(&parts)).chain(local_path(file));
    if let Some(found) = mapped.into_iter().find(|path| is_regular(path)) {
        return Ok(found);
    }
    guess(&parts, folders).ok_or_else(|| {
        format!("{name} is not on this machine as {file}: say under View, Source files\u{2026} what its folder is called here.")
    })
}

/// The parts of a path of any system, without `.` and `..`.
fn parts(path: &str) -> Vec<&str> {
    path.split(['\\', '/']).filter(|part| !matches!(*part, "" | "." | "..")).collect()
}

impl FolderMap {
    /// The path here of a file in this folder.
    fn lead(&self, file: &[&str]) -> Option<PathBuf> {
        let from = parts(&self.from);
        let is_in = from.len() < file.len() && from.iter().zip(file).all(|(a, b)| a.eq_ignore_ascii_case(b));
        if !is_in || self.from.trim().is_empty() || self.to.trim().is_empty() {
            return None;
        }
        let rest = &file[from.len()..];
        (!rest.iter().any(|part| is_device(part)))
            .then(|| rest.iter().fold(PathBuf::from(self.to.trim()), |path, part| path.join(part)))
    }
}

/// The only file below the mapped folders whose path has the most trailing parts in common with the given one.
fn guess(file: &[&str], folders: &[FolderMap]) -> Option<PathBuf> {
    let mut next: Vec<PathBuf> = folders.iter().map(|map| PathBuf::from(map.to.trim())).filter(|to| to.is_absolute()).collect();
    let (mut best, mut common, mut is_one, mut seen) = (None, 0, false, 0);
    while let Some(folder) = next.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST {
                return None; // an unvisited file may match as well
            }
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            // Links are not followed: they can form cycles.
            if kind.is_dir() {
                next.push(path);
            } else if kind.is_file() {
                match in_common(&path, file) {
                    0 => {}
                    n if n > common => (best, common, is_one) = (Some(path), n, true),
                    n if n == common && best.as_ref() != Some(&path) => is_one = false,
                    _ => {}
                }
            }
        }
    }
    best.filter(|_| is_one)
}

/// The number of equal trailing parts of two paths.
fn in_common(path: &Path, file: &[&str]) -> usize {
    let parts = path.iter().rev().zip(file.iter().rev());
    parts.take_while(|(a, b)| a.to_str().is_some_and(|a| a.eq_ignore_ascii_case(b))).count()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn map(from: &str, to: &Path) -> FolderMap {
        FolderMap { from: from.to_owned(), to: to.to_str().unwrap().to_owned() }
    }

    #[test]
    fn a_folder_of_a_build_machine_is_one_here() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("src/ai")).unwrap();
        fs::write(root.join("src/ai/enemy.cpp"), "").unwrap();
        let here = root.join("src").join("ai").join("enemy.cpp");
        let found = |file: &str, from: &str| find(file, &[map(from, root)]);
        for file in [r"D:\Build\src\ai\enemy.cpp", "d:/build/src/ai/enemy.cpp", r"D:\build\.\src\ai\enemy.cpp"] {
            assert_eq!(found(file, r"d:\build\"), Ok(here.clone()), "{file}");
        }
        // `buildings` does not match, and nothing leads above the folder.
        assert!(map("D:/build", root).lead(&parts("D:/buildings/src/ai/enemy.cpp")).is_none());
        assert!(map("D:/build", root).lead(&parts("D:/build/../../etc/passwd")).is_some_and(|path| path.starts_with(root)));
        assert_eq!(find(here.to_str().unwrap(), &[]), Ok(here.clone()), "where it was");
        let missing = found(r"D:\build\src\none.cpp", r"D:\build").unwrap_err();
        assert!(missing.contains("none.cpp") && missing.contains("Source files"), "{missing}");
    }

    #[test]
    fn a_file_is_guessed_by_its_name_where_there_is_one_such() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for file in ["a/ai/enemy.cpp", "b/ui/enemy.cpp", "b/ui/menu.cpp", "c/x.cpp", "d/x.cpp"] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "").unwrap();
        }
        let found = |file: &str| find(file, &[map("Z:/elsewhere", root)]).ok();
        assert_eq!(found(r"E:\ci\42\UI\Enemy.cpp"), Some(root.join("b").join("ui").join("enemy.cpp")));
        assert_eq!(found(r"E:\ci\42\menu.cpp"), Some(root.join("b").join("ui").join("menu.cpp")));
        assert_eq!(found(r"E:\ci\42\x.cpp"), None, "two are as like");
        assert_eq!(found(r"E:\ci\42\enemy.cpp"), None);
    }

    #[test]
    fn shares_and_devices_that_debug_information_names_are_not_opened() {
        for file in [r"\\host\share\a.cpp", "//host/share/a.cpp", r"C:\src\NUL", "CON", "", "/"] {
            assert!(find(file, &[]).is_err(), "{file}");
        }
    }
}
