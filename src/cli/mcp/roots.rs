//! The folders that tools read in: those of `--root`, else those of the FILEs, else the current one.

use std::path::{Path, PathBuf};

use crate::cli::Failure;
use crate::etl::OpenError;
use crate::load::Input;
use crate::paths::Folders;

/// The folders that are named, else those of the inputs, else the current one. Inputs must lie in them.
pub(super) fn roots(named: &[PathBuf], inputs: &[Input]) -> Result<Folders, Failure> {
    let files: Vec<&Path> = inputs.iter().filter_map(Input::path).collect();
    let missing = |file: &Path| Failure::Failed(OpenError::NotFound(file.display().to_string()).to_string());
    let folder_of = |file: &&Path| {
        let real = file.canonicalize().map_err(|_| missing(file))?;
        Ok(real.parent().map_or_else(|| real.clone(), Path::to_owned))
    };
    let mut folders = match named {
        [] => files.iter().map(folder_of).collect::<Result<Vec<PathBuf>, Failure>>()?,
        named => named.to_vec(),
    };
    if folders.is_empty() {
        folders.push(PathBuf::from("."));
    }
    let none = |(folder, error): (PathBuf, _)| Failure::BadArguments(format!("--root {}: {error}", folder.display()));
    let roots = Folders::resolve(folders).map_err(none)?;
    match files.into_iter().find(|file| !roots.contain(file)) {
        Some(outside) => Err(Failure::BadArguments(refusal(outside))),
        None => Ok(roots),
    }
}

/// The sentence for a path outside of the folders. It tells nothing of what is there.
pub(super) fn refusal(path: &Path) -> String {
    format!(
        "{}: files are read only in and below the folders that --root names, which this is not; start highwater mcp with --root \
         FOLDER to allow others",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn inputs_lie_in_the_roots_and_are_their_default() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.etl");
        let input = Input::File(file.clone());
        let is_missing = |failure| matches!(failure, Failure::Failed(_));
        assert!(roots(&[], std::slice::from_ref(&input)).is_err_and(is_missing));
        fs::write(&file, "").unwrap();
        let of_file = roots(&[], &[Input::Demo, input.clone()]).ok().unwrap();
        assert!(of_file.contain(&folder.path().join("b.etl")) && !of_file.contain(Path::new("b.etl")));
        assert!(roots(&[], &[Input::Demo]).is_ok_and(|roots| roots.contain(Path::new("b.etl"))));
        let other = tempfile::tempdir().unwrap();
        for named in [other.path(), &file, &folder.path().join("none")] {
            let refused = roots(&[named.to_owned()], std::slice::from_ref(&input));
            assert!(refused.is_err_and(|failure| matches!(failure, Failure::BadArguments(text) if text.contains("--root"))));
        }
    }
}
