//! Why a file gives no names, in words for the user.

use super::PdbKey;

/// Why a PDB cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PdbError {
    /// It is not there, or may not be read.
    #[error("it cannot be read: {0}")]
    Io(String),
    /// It is something else.
    #[error("it is no program database")]
    NoPdb,
    /// It is of a kind that is not supported.
    #[error("it is {0}")]
    Kind(&'static str),
    /// It belongs to another build of the module.
    #[error("found, but of another build: wanted {wanted}, found {found}")]
    OtherBuild {
        /// What the trace names.
        wanted: PdbKey,
        /// What the file is.
        found: PdbKey,
    },
    /// An image was wanted, and it is something else.
    #[error("it is no image")]
    NoImage,
    /// An image was wanted, and it is that of another build.
    #[error("found, but an image of another build")]
    OtherImage,
    /// Something in it is impossible.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It is larger than this program reads.
    #[error("it has {0} MB; at most {1} MB are read")]
    TooLarge(u64, u64),
    /// The reader did not come to an end.
    #[error("reading it took longer than {0} s and was given up")]
    TooSlow(u64),
    /// Nobody wants it any more.
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
