//! Files that a pattern such as `captures\*.etl` names. Only the last part of a path can have `*` (anything) and `?`
//! (one character). Shells of Windows leave patterns to programs, so there every command expands them; elsewhere only
//! commands that usually get very many files do.

use std::path::{Path, PathBuf};

use crate::load::Input;

/// A pattern that matches no file.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct NoFile {
    /// The pattern as it was written.
    pub(super) pattern: Input,
    /// The error message about it.
    pub(super) why: String,
}

/// Expands patterns to files in the order of their names. A path that exists as it is written stands for itself.
pub(super) fn expanded(inputs: Vec<Input>) -> Vec<Result<Input, NoFile>> {
    let mut all = Vec::with_capacity(inputs.len());
    for input in inputs {
        let files = match &input {
            Input::File(path) => pattern_of(path).map(|name| fitting(path, &name)),
            Input::Demo => None,
        };
        match files {
            None => all.push(Ok(input)),
            Some(Ok(files)) => all.extend(files.into_iter().map(|file| Ok(Input::File(file)))),
            Some(Err(why)) => all.push(Err(NoFile { pattern: input, why })),
        }
    }
    all
}

/// Expands patterns on Windows, as shells do on other systems; a pattern without a file stays what it is.
pub(super) fn as_shells_do(inputs: Vec<Input>) -> Vec<Input> {
    if !cfg!(windows) {
        return inputs;
    }
    expanded(inputs).into_iter().map(|found| found.unwrap_or_else(|none| none.pattern)).collect()
}

/// The last part of a path, if it is a pattern and the path does not exist.
fn pattern_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    (name.contains(['*', '?']) && !path.exists()).then(|| name.to_owned())
}

fn fitting(path: &Path, name: &str) -> Result<Vec<PathBuf>, String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let shown = path.display();
    let case = |name: &str| if cfg!(windows) { name.to_lowercase() } else { name.to_owned() };
    let pattern = case(name);
    let entries = folder.read_dir().map_err(|error| format!("{shown}: {error}"))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| {
            let name = case(&entry.file_name().to_string_lossy());
            !name.starts_with('.') && fits(&pattern, &name) && entry.path().is_file()
        })
        .map(|entry| path.with_file_name(entry.file_name()))
        .collect();
    files.sort();
    if files.is_empty() { Err(format!("{shown}: no file matches")) } else { Ok(files) }
}

/// Whether a name matches a pattern. Cost: at most the product of both lengths.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The position after the last star, and the position in the name from which it was last tried.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match &mut star {
                Some((behind, from)) => {
                    *from += 1;
                    (p, n) = (*behind, *from);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_anything_and_a_question_mark_one_character() {
        for (pattern, name, is_fit) in [
            ("*.etl", "a.etl", true),
            ("*.etl", "a.etl.zip", false),
            ("a?c*", "abc", true),
            ("a?c*", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*ab", "aab", true),
            ("", "a", false),
            ("?", "\u{e9}", true),
        ] {
            assert_eq!(fits(pattern, name), is_fit, "{pattern} {name}");
        }
        assert!(!fits(&"*a".repeat(200), &"a".repeat(10_000).replace("aa", "ab")), "and costs little");
    }

    #[test]
    fn stars_stand_for_files_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.etl", "a.etl", ".hidden.etl", "a.zip"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("folder.etl")).unwrap();
        let file = |name: &str| Input::File(folder.path().join(name));
        let files = |names: &[&str]| names.iter().map(|name| Ok(file(name))).collect::<Vec<Result<_, NoFile>>>();
        let of = |name: &str| expanded(vec![file(name)]);
        assert_eq!(of("*.etl"), files(&["a.etl", "b.etl"]));
        assert_eq!(of("a*"), files(&["a.etl", "a.zip"]));
        assert_eq!(of("?.etl"), files(&["a.etl", "b.etl"]));
        assert_eq!(of("none.etl"), files(&["none.etl"]));
        assert_eq!(expanded(vec![Input::Demo]), [Ok::<_, NoFile>(Input::Demo)]);
        // A pattern without a file does not stop the others.
        for name in ["*.cab", "none/*.etl"] {
            let found = expanded(vec![file("b*"), file(name), file("a.etl")]);
            let [Ok(first), Err(none), Ok(last)] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!((first, last, &none.pattern), (&file("b.etl"), &file("a.etl"), &file(name)));
            assert!(none.why.contains("*."), "{}", none.why);
        }
        #[cfg(unix)]
        {
            std::fs::write(folder.path().join("*.cab"), "").unwrap();
            assert_eq!(of("*.cab"), files(&["*.cab"]));
        }
    }
}
