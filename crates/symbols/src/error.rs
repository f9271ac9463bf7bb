//! The reasons why a file gives no names, in words for the user.

use super::PdbKey;

/// The reason why a PDB cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PdbError {
    /// It does not exist, or cannot be read.
    #[error("it cannot be read: {0}")]
    Io(String),
    /// It is not a PDB.
    #[error("it is not a PDB")]
    NoPdb,
    /// It is of a kind that is not supported.
    #[error("it is {0}")]
    Kind(&'static str),
    /// It belongs to another build of the module.
    #[error("found, but of another build: wanted {wanted}, found {found}")]
    OtherBuild {
        /// The key in the trace.
        wanted: PdbKey,
        /// The key of the file.
        found: PdbKey,
    },
    /// An image was wanted, and the file is something else.
    #[error("it is not an image (.exe, .dll)")]
    NoImage,
    /// An image was wanted, and the file is that of another build.
    #[error("found, but an image of another build")]
    OtherImage,
    /// It contains something impossible.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It is larger than this program reads.
    #[error("it has {0} MB; at most {1} MB are read")]
    TooLarge(u64, u64),
    /// The reader did not end in time.
    #[error("reading it took longer than {0} s and was given up")]
    TooSlow(u64),
    /// Its result is not wanted any more.
    #[error("stopped")]
    Stopped,
}

impl From<std::io::Error> for PdbError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.to_string())
    }
}

impl From<pdb::Error> for PdbError {
    fn from(error: pdb::Error) -> Self {
        match error {
            pdb::Error::UnrecognizedFileFormat => Self::NoPdb,
            pdb::Error::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Self::Damaged("it ends too early".to_owned())
            }
            pdb::Error::IoError(error) => Self::Damaged(error.to_string()),
            other => Self::Damaged(other.to_string()),
        }
    }
}

impl From<pdb_addr2line::Error> for PdbError {
    fn from(error: pdb_addr2line::Error) -> Self {
        match error {
            pdb_addr2line::Error::PdbError(error) => error.into(),
            other => Self::Damaged(other.to_string()),
        }
    }
}
