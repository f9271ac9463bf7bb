//! Paths of source files inside a repository. PDBs hold the paths of the machine that compiled; services that annotate
//! code want paths from the repository's root.
//!
//! Rule: a path is inside if it begins, folder by folder, with a folder in which the repository is known to have been
//! when it was built. Nothing is guessed from the end of a path: `src/main.cpp` of a library would become that of the
//! program. A path that is not known to be inside has no place in the repository.

/// Folders in which the repository was when programs were built from it.
#[derive(Clone, Debug, Default)]
pub struct SourceRoots(Vec<Place>);

/// An absolute path, taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Place {
    /// Whether it is a path of Windows, where case means nothing.
    is_windows: bool,
    parts: Vec<String>,
}

impl SourceRoots {
    /// The roots that these absolute paths name, of Windows or of other systems. A path that is not absolute names
    /// none.
    pub fn new<'a>(roots: impl IntoIterator<Item = &'a str>) -> Self {
        Self(roots.into_iter().filter_map(Place::of).collect())
    }

    /// Returns whether a path is absolute, on Windows or on other systems.
    pub fn is_absolute(path: &str) -> bool {
        Place::of(path).is_some()
    }

    /// Returns a source file's path from the repository's root, with `/` between folders; `None` for a file that is not
    /// known to be in the repository. Of roots inside each other the innermost counts.
    pub fn relative(&self, file: &str) -> Option<String> {
        let file = Place::of(file)?;
        self.0.iter().filter_map(|root| file.below(root)).min_by_key(|rest| rest.len()).map(|rest| rest.join("/"))
    }
}

impl Place {
    /// Takes an absolute path apart; `.` and `..` are resolved. `None` for a path that depends on a folder.
    fn of(path: &str) -> Option<Self> {
        let path = path.strip_prefix(r"\\?\").unwrap_or(path);
        let has_drive = matches!(path.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic());
        let is_windows = has_drive || path.starts_with(r"\\");
        if !is_windows && !path.starts_with('/') {
            return None;
        }
        let mut parts: Vec<String> = Vec::new();
        for part in path.split(|c| c == '/' || (is_windows && c == '\\')) {
            match part {
                "" | "." => {}
                ".." => _ = parts.pop()?,
                part => parts.push(part.to_owned()),
            }
        }
        Some(Self { is_windows, parts })
    }

    /// The folders and the name of a path below a root.
    fn below(&self, root: &Self) -> Option<&[String]> {
        let is_same = |a: &String, b: &String| match self.is_windows {
            true => a.to_lowercase() == b.to_lowercase(),
            false => a == b,
        };
        let is_below = self.is_windows == root.is_windows
            && self.parts.len() > root.parts.len()
            && self.parts.iter().zip(&root.parts).all(|(a, b)| is_same(a, b));
        is_below.then(|| &self.parts[root.parts.len()..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_in_the_repository_only_below_a_folder_where_it_was() {
        let roots = SourceRoots::new([r"D:\a\game\game", "/home/runner/work/game", "relative", r"D:\a\game\game\sub"]);
        let inside = |file| roots.relative(file);
        assert_eq!(inside(r"D:\a\game\game\src\Level.cpp").as_deref(), Some("src/Level.cpp"));
        assert_eq!(inside(r"d:/A/game/Game/build/..\src\Level.cpp").as_deref(), Some("src/Level.cpp"));
        assert_eq!(inside(r"\\?\D:\a\game\game\a.cpp").as_deref(), Some("a.cpp"));
        assert_eq!(inside(r"D:\a\game\game\sub\b.cpp").as_deref(), Some("b.cpp"), "the innermost root");
        assert_eq!(inside("/home/runner/work/game/src/./a b.cpp").as_deref(), Some("src/a b.cpp"));
        for outside in [
            r"D:\a\game\game2\src\Level.cpp",
            r"D:\a\lib\game\game\src\Level.cpp",
            r"D:\a\game\game\..\other.cpp",
            r"D:\a\game\game",
            r"C:\a\game\game\src\Level.cpp",
            r"src\Level.cpp",
            "src/Level.cpp",
            "relative/a.cpp",
            "/home/Runner/work/game/a.cpp",
            r"\home\runner\work\game\a.cpp",
            "/..",
            "",
        ] {
            assert_eq!(inside(outside), None, "{outside}");
        }
        assert_eq!(SourceRoots::default().relative(r"D:\a.cpp"), None);
        assert!(
            SourceRoots::is_absolute(r"\\server\share") && !SourceRoots::is_absolute("C:a") && !SourceRoots::is_absolute("a")
        );
    }
}
