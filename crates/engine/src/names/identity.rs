//! Identities of builds.

use std::fmt;
use std::sync::Arc;

use crate::etl::Guid;
use crate::model::{Module, PdbId};
use crate::pe::Build;

/// Identity of a PDB. The age is that of its DBI stream, which the linker also writes into the image; other tools
/// increment the age of the info stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PdbKey {
    /// GUID.
    pub guid: Guid,
    /// Age.
    pub age: u32,
}

impl PdbKey {
    /// Name of its folder in a symbol store: 32 digits of the GUID, then the age, in
    /// hex without leading zeros.
    pub fn folder(&self) -> String {
        format!("{}{:X}", self.guid.to_string().replace('-', ""), self.age)
    }
}

impl fmt::Display for PdbKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} age {}", self.guid, self.age)
    }
}

impl From<&PdbId> for PdbKey {
    fn from(id: &PdbId) -> Self {
        Self { guid: id.guid, age: id.age }
    }
}

/// The key by which modules of a trace share names.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ModuleKey {
    /// The trace names its PDB.
    Pdb(PdbKey),
    /// The trace does not name its PDB; the image may.
    Image {
        /// Path, as the kernel names it.
        path: Arc<str>,
        /// Identity of its build.
        build: Build,
    },
}

impl ModuleKey {
    /// The key of a module.
    pub fn of(module: &Module) -> Self {
        match &module.pdb {
            Some(id) => Self::Pdb(PdbKey::from(id.as_ref())),
            None => Self::Image { path: Arc::clone(&module.path), build: module.build },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_names_folders_by_guid_and_age_in_hex() {
        let guid = Guid::new(0xCCF79D6C, 0x6BA5, 0x0BBF, [0x4C, 0x4C, 0x44, 0x20, 0x50, 0x44, 0x42, 0x2E]);
        assert_eq!(PdbKey { guid, age: 0x1A }.folder(), "CCF79D6C6BA50BBF4C4C44205044422E1A");
        assert_eq!(PdbKey { guid, age: 1 }.to_string(), "CCF79D6C-6BA5-0BBF-4C4C-44205044422E age 1");
    }
}
