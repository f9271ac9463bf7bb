//! Files named by a pattern, for shells that leave that to programs: `captures\*.etl`. Only the last part of a
//! path can have stars.

use std::path::{Path, PathBuf};

use crate::load::Input;
use crate::pattern::Pattern;

/// A pattern that stands for no file.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct NoFile {
    /// As it was written.
    pub(super) pattern: Input,
    /// What to say of it.
    pub(super) why: String,
}

/// The files that are meant, in order of their names. What is there as it is written is meant itself.
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

/// The last part of a path, if it has stars and is no file.
fn pattern_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    (name.contains('*') && !path.exists()).then(|| name.to_owned())
}

fn fitting(path: &Path, name: &str) -> Result<Vec<PathBuf>, String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let shown = path.display();
    let case = |name: &str| if cfg!(windows) { name.to_lowercase() } else { name.to_owned() };
    let pattern = Pattern::new(&case(name));
    let entries = folder.read_dir().map_err(|error| format!("{shown}: {error}"))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| {
            let name = case(&entry.file_name().to_string_lossy());
            !name.starts_with('.') && pattern.fits(&name) && entry.path().is_file()
        })
        .map(|entry| path.with_file_name(entry.file_name()))
        .collect();
    files.sort();
    if files.is_empty() { Err(format!("{shown}: no file is called like that")) } else { Ok(files) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(of("none.etl"), files(&["none.etl"]));
        assert_eq!(expanded(vec![Input::Demo]), [Ok::<_, NoFile>(Input::Demo)]);
        // Nor does a pattern without a file hold up the others.
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
