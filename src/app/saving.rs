//! Files that the window writes for the user: tables, pictures, rules, the recorded trace. All are
//! saved in the same way: a worker checks the path; an existing file is replaced only after a question,
//! unless the system's dialog has asked already; and files that are being read are refused
//! ([`crate::paths`] has the rule).

use std::path::{Path, PathBuf};

use super::dialogs::{Purpose, TypedPath};
use super::export::Done;
use crate::paths::{self, Existing, Refusal};

/// A path at which the user wants something saved.
#[derive(Clone, Debug)]
pub struct Place {
    pub purpose: Purpose,
    pub file: PathBuf,
    /// The typed path, if it was not chosen in a dialog of the system.
    pub typed: Option<TypedPath>,
    /// Whether the user has agreed to replace an existing file.
    pub existing: Existing,
}

impl Place {
    /// A path as the user named it; without an extension it gets that of its kind.
    pub fn new(purpose: Purpose, named: PathBuf, typed: Option<TypedPath>) -> Self {
        let mut file = named;
        let mut is_as_named = true;
        if let Some((_, kind)) = purpose.saved_as()
            && file.extension().is_none()
        {
            is_as_named = false;
            file.set_extension(kind);
        }
        // The system's dialog has asked about the file as it was named, and about no other.
        let is_asked = typed.is_none() && is_as_named;
        let existing = if is_asked { Existing::GivesWay } else { Existing::Stays };
        Self { purpose, file, typed, existing }
    }

    /// Its folder, as the user reads it.
    pub fn folder(&self) -> String {
        let file = std::path::absolute(&self.file).unwrap_or_else(|_| self.file.clone());
        file.parent().unwrap_or(Path::new("")).display().to_string()
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Checks whether the path is free.
    pub fn look(self) -> Done {
        let is_there_already = matches!(&self.purpose, Purpose::Save(from) if *from == self.file);
        match paths::check(&self.file, self.existing) {
            _ if is_there_already => Done::Free(self),
            Ok(()) => Done::Free(self),
            Err(Refusal::Exists) => Done::Taken(self),
            Err(refusal) => Done::Refused(self, refusal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_has_asked_only_about_the_file_that_was_named() {
        let place = |named: &str, typed: bool| {
            let typed = typed.then(|| TypedPath::new(Purpose::SaveRules));
            let place = Place::new(Purpose::SaveRules, named.into(), typed);
            (place.name(), place.existing)
        };
        assert_eq!(place("/a/rules.toml", false), ("rules.toml".to_owned(), Existing::GivesWay));
        assert_eq!(place("/a/rules", false), ("rules.toml".to_owned(), Existing::Stays), "another name");
        assert_eq!(place("/a/rules.toml", true), ("rules.toml".to_owned(), Existing::Stays));
    }
}
