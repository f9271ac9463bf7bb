//! Modules whose PDBs are wanted, PDBs that were found, and what a search needs to know.

#[cfg(feature = "symsrv")]
use super::servers;
use crate::paths::is_device;
use crate::pe::Build;
use crate::source::PdbFile;
use crate::{Embedded, PdbKey, Sources};

/// A module whose PDB is wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// Path of the image, as the kernel names it.
    pub image: String,
    /// Identity of its build.
    pub build: Build,
    /// Identity and path of the PDB, if the trace has them.
    pub pdb: Option<(PdbKey, String)>,
}

/// A PDB that was found, or an image that contains its names itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located {
    /// The PDB or image.
    pub file: PdbFile,
    /// Identity of the PDB, which is the wanted one; `None` for an image with names as DWARF.
    pub key: Option<PdbKey>,
    /// Where it came from: a folder, a store, a server or the program.
    pub source: String,
    /// Whether it surely belongs to the module. If not, it is the PDB of the image on this machine, which has the
    /// path and the size of the mapped image, and the trace says no more.
    pub is_certain: bool,
}

/// Progress of getting a PDB from a server, from a share, or out of a compressed file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Download {
    /// Bytes so far.
    pub done: u64,
    /// Bytes in all, if that is known.
    pub total: Option<u64>,
}

/// Answers of servers: the files that they do not have, and the servers that are of no use. Copies share the answers.
#[derive(Clone, Debug, Default)]
pub struct ServerAnswers(#[cfg(feature = "symsrv")] std::sync::Arc<std::sync::Mutex<servers::Answers>>);

/// Looks for PDBs. Remembers what servers do not have, until [`Locator::forget`].
#[derive(Debug)]
pub struct Locator {
    pub(super) sources: Sources,
    #[cfg(feature = "symsrv")]
    pub(super) servers: servers::Servers,
}

impl Locator {
    /// A locator that looks at these sources.
    pub fn new(sources: Sources) -> Self {
        Self::sharing(sources, &ServerAnswers::default())
    }

    /// A locator that shares the answers of servers with others.
    pub fn sharing(sources: Sources, answers: &ServerAnswers) -> Self {
        #[cfg(not(feature = "symsrv"))]
        let ServerAnswers() = answers;
        Self {
            #[cfg(feature = "symsrv")]
            servers: servers::Servers::new(sources.patience, std::sync::Arc::clone(&answers.0)),
            sources,
        }
    }

    /// The PDBs that are part of the program.
    pub(crate) fn embedded(&self) -> &[Embedded] {
        &self.sources.embedded
    }

    /// Forgets what servers did not have, so that they are asked again.
    pub fn forget(&self) {
        #[cfg(feature = "symsrv")]
        self.servers.forget();
    }
}

/// The last part of a path of any system, if it can be the name of a file in a store. The name of a Windows device is
/// refused on every system, because stores are shared.
pub(crate) fn file_name(path: &str) -> Option<&str> {
    let name = path.rsplit(['\\', '/']).next()?;
    let is_odd = |c: char| c.is_control() || matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*');
    let is_sound = !name.trim_matches(['.', ' ']).is_empty() && name.len() <= 255 && !name.chars().any(is_odd);
    (is_sound && !is_device(name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        assert_eq!(file_name(r"D:\build\out/app.pdb"), Some("app.pdb"));
        assert_eq!(file_name("app.pdb"), Some("app.pdb"));
        let devices = ["NUL.pdb", r"C:\b\nul.pdb", "COM1.pdb", "com\u{b9}.pdb", "LPT9", "aux.x.pdb", "CON .pdb", "CONIN$.pdb"];
        let others = ["", "..", r"a\..", "a/.", "a:b", "a*", "a\0b", "x/", " "];
        for path in devices.into_iter().chain(others) {
            assert_eq!(file_name(path), None, "{path:?}");
        }
    }
}
