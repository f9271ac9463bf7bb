//! The reasons why no PDB was found: what kept each place from giving it. Code that decides what to do next uses
//! these values; their texts are for the user.

use super::PdbError;

/// A problem that came up while a PDB was sought.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// The module has no name that a file could have.
    #[error("the module has no name")]
    NoName,
    /// The name of its PDB is impossible.
    #[error("its PDB has an impossible name: {0:?}")]
    OddName(String),
    /// The name of its PDB is empty: MinGW's linker writes an identity but no name.
    #[error(
        "it has no PDB: it was built with MinGW or the like, which keeps names as DWARF in the image; that image is not on this \
         machine, or its names were stripped"
    )]
    NoPdbName,
    /// The trace does not name the PDB, and neither does the image.
    #[error("the image names no PDB")]
    NoPdbNamed,
    /// The image that would name it is of another build.
    #[error("the trace does not name its PDB, and the image on this machine is of another build")]
    OtherImage,
    /// There is no image that would name it.
    #[error(
        "the trace does not name its PDB, and its image was not found on this machine (builds with MinGW have no PDB, but DWARF \
         in the image)"
    )]
    NoImage,
    /// A file was found but is of no use.
    #[error("{}", describe_file(.file, .error))]
    File {
        /// Path of the file.
        file: String,
        /// The problem with it.
        error: PdbError,
    },
    /// A place of the symbol path did not give the file.
    #[error("{place}: {why}")]
    Place {
        /// The place.
        place: String,
        /// The reason.
        why: PlaceTrouble,
    },
    /// A server was not asked, because the network is off.
    #[error("{0} was not asked: the network is off")]
    NetworkOff(String),
    /// A server was not asked, because there is no store for what it sends.
    #[error("{0} was not asked: there is no store for what it sends")]
    NoStore(String),
    /// A server was not asked, because the program was built without the network.
    #[error("{0} was not asked: this program was built without the network")]
    NoNetwork(String),
    /// No place has it.
    #[error("{}", describe_nowhere(.name, *.places))]
    Nowhere {
        /// File name of the PDB.
        name: String,
        /// Number of places of the symbol path that were asked.
        places: usize,
    },
    /// The result is not wanted any more.
    #[error("stopped")]
    Stopped,
}

/// The reason why a store or server did not give a file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceTrouble {
    /// There is no such server.
    #[error("it was not found; is there a network?")]
    NoSuchHost,
    /// It takes no connections.
    #[error("it does not answer ({0})")]
    Refused(String),
    /// It took the connection, and then sent nothing or no more.
    #[error("it was silent for too long")]
    Silent,
    /// It sends too slowly to be of use.
    #[error("it is too slow: {bytes} bytes came in {seconds} s")]
    TooSlow {
        /// Bytes that came.
        bytes: u64,
        /// Time that this took.
        seconds: u64,
    },
    /// It takes long to say that it does not have a file.
    #[error("it is too slow: {answers} answers took {seconds} s")]
    SlowToAnswer {
        /// Number of requests for files that it does not have.
        answers: u32,
        /// Time that these took.
        seconds: u64,
    },
    /// The file was not complete after the maximum time.
    #[error("the download was not complete after {0} minutes; the next one continues it")]
    TooLong(u64),
    /// This system does not trust its certificate.
    #[error("its certificate is not trusted ({0})")]
    Untrusted(String),
    /// It refused the file. Stores that list nothing answer so for files that they do not have.
    #[error("it answered 403 Forbidden")]
    Forbidden,
    /// It wants a login, and none is known for it.
    #[error("it wants a login: name one in your netrc file, or in HIGHWATER_SYMBOL_AUTHORIZATION")]
    LoginWanted,
    /// It does not accept the login that is known for it.
    #[error("it does not accept the login of your netrc file or of HIGHWATER_SYMBOL_AUTHORIZATION")]
    LoginRefused,
    /// It answered with a status that stands for no file.
    #[error("it answered {0}")]
    Status(String),
    /// It redirected an encrypted connection to one that is not encrypted.
    #[error("its redirect to {0} was refused: that connection would not be encrypted")]
    Downgrade(String),
    /// It could not be asked, or did not keep to the protocol.
    #[error("it could not be asked: {0}")]
    Protocol(String),
    /// The connection broke off, again and again.
    #[error("{why} after {bytes} bytes")]
    BrokeOff {
        /// How the last connection ended.
        why: String,
        /// Bytes that had come by then.
        bytes: u64,
    },
    /// It sent another part of the file than was asked for.
    #[error("it sent a different part than requested")]
    OtherPart,
    /// It sent a web page.
    #[error("it sent a web page instead of the file; perhaps it wants a login")]
    WebPage,
    /// It sent something else than a PDB.
    #[error("it did not send a PDB")]
    NoPdb,
    /// It sends more than a file may have.
    #[error("it sends more than {0} MB")]
    TooMuch(u64),
    /// There is no room for the file.
    #[error("what it sends cannot be stored: {0}")]
    NoRoom(String),
    /// The file that it sent, or has, is of no use.
    #[error("{0}")]
    File(PdbError),
    /// It has the file only in a compressed form that is not supported.
    #[error("it has it in the compressed form MSFZ only, which is not supported")]
    Msfz,
    /// It points to another path, and the file there is of no use.
    #[error("it points to {path}, but {error}")]
    PointsToFile {
        /// The path that it points to.
        path: String,
        /// The problem with the file there.
        error: PdbError,
    },
    /// It points to a file that does not exist.
    #[error("it points to {0}, which is not there")]
    PointsToNothing(String),
    /// It points to a path of another machine.
    #[error("it points to {0}, which is not on this machine")]
    PointsElsewhere(String),
    /// It points to a share on a host that the user did not name.
    #[error("it points to {path}; opening that share would reveal your account to {host}, which is not on the symbol path")]
    PointsToShare {
        /// The path that it points to.
        path: String,
        /// The host of the share.
        host: String,
    },
    /// It has a message that says why the file is gone.
    #[error("it says: {0}")]
    Message(String),
    /// The result is not wanted any more.
    #[error("stopped")]
    Stopped,
}

#[cfg(feature = "symsrv")]
impl PlaceTrouble {
    /// Whether the whole server is of no use for now, because each further request would cost as much.
    pub(super) fn is_down(&self) -> bool {
        matches!(
            self,
            Self::NoSuchHost
                | Self::Refused(_)
                | Self::Silent
                | Self::TooSlow { .. }
                | Self::SlowToAnswer { .. }
                | Self::Untrusted(_)
                | Self::LoginWanted
                | Self::LoginRefused
        )
    }

    /// Whether the bytes that came cannot be used as the beginning of the file.
    pub(super) fn spoils_what_came(&self) -> bool {
        matches!(self, Self::WebPage | Self::NoPdb | Self::TooMuch(_) | Self::OtherPart | Self::NoRoom(_))
    }
}

impl From<PdbError> for PlaceTrouble {
    fn from(error: PdbError) -> Self {
        match error {
            PdbError::Stopped => Self::Stopped,
            error => Self::File(error),
        }
    }
}

/// All problems of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotFound(pub Vec<Trouble>);

impl std::error::Error for NotFound {}

impl std::fmt::Display for NotFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, trouble) in self.0.iter().enumerate() {
            write!(f, "{}{trouble}", if i == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl From<Trouble> for NotFound {
    fn from(trouble: Trouble) -> Self {
        Self(vec![trouble])
    }
}

fn describe_file(file: &str, error: &PdbError) -> String {
    match error {
        PdbError::OtherBuild { .. } => format!("{error} ({file})"),
        error => format!("{file}: {error}"),
    }
}

fn describe_nowhere(name: &str, places: usize) -> String {
    match places {
        0 => format!("{name} is neither beside the image nor where the linker wrote it, and there is no symbol path"),
        1 => format!("{name} is not in the only place of the symbol path"),
        n => format!("{name} is in none of the {n} places of the symbol path"),
    }
}
