//! Why no PDB was found: what kept each place from giving it. Who decides what to do next
//! decides by these; their words are for the user.

use super::PdbError;

/// What was in the way while a PDB was sought.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// The module has no name that a file could have.
    #[error("the module has no name")]
    NoName,
    /// Its PDB has none.
    #[error("its PDB has an impossible name: {0:?}")]
    OddName(String),
    /// Its PDB has an empty one: MinGW's linker writes an identity and no name.
    #[error(
        "it has no PDB: it was built with MinGW or the like, which keeps names as DWARF in the image; that image is not to be found \
         on this machine, or its names were stripped"
    )]
    NoPdbName,
    /// The trace does not name the PDB, and neither does the image.
    #[error("the image names no PDB")]
    NoPdbNamed,
    /// The image that would name it is another one.
    #[error("the trace does not name its PDB, and the image on this machine is of another build")]
    OtherImage,
    /// There is no image that would name it.
    #[error(
        "the trace does not name its PDB, and the image that would is not to be found (builds with MinGW have no PDB, but DWARF in \
         the image)"
    )]
    NoImage,
    /// A file was found and is of no use.
    #[error("{}", describe_file(.file, .error))]
    File {
        /// Where it is.
        file: String,
        /// What is wrong with it.
        error: PdbError,
    },
    /// A place of the symbol path did not give it.
    #[error("{place}: {why}")]
    Place {
        /// The place.
        place: String,
        /// Why not.
        why: PlaceTrouble,
    },
    /// A server was left alone.
    #[error("{0} was not asked: the network is off")]
    NetworkOff(String),
    /// A server was left alone.
    #[error("{0} was not asked: there is no store for what it sends")]
    NoStore(String),
    /// A server was left alone.
    #[error("{0} was not asked: this program was built without the network")]
    NoNetwork(String),
    /// It is simply not there.
    #[error("{}", describe_nowhere(.name, *.places))]
    Nowhere {
        /// File name of the PDB.
        name: String,
        /// Places of the symbol path that were asked.
        places: usize,
    },
    /// Nobody wants it any more.
    #[error("stopped")]
    Stopped,
}

/// Why a store or server did not give a file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceTrouble {
    /// There is no such server.
    #[error("it was not found; is there a network?")]
    NoSuchHost,
    /// It takes no connections.
    #[error("it does not answer ({0})")]
    Refused(String),
    /// It took the connection and said nothing, or no more.
    #[error("it was silent for too long")]
    Silent,
    /// It sends so slowly that it might as well be silent.
    #[error("it is too slow: {bytes} bytes came in {seconds} s")]
    TooSlow {
        /// Bytes that came.
        bytes: u64,
        /// In this time.
        seconds: u64,
    },
    /// It takes long to say that it has nothing.
    #[error("it is too slow: {answers} answers took {seconds} s")]
    SlowToAnswer {
        /// How often it was asked for what it has not.
        answers: u32,
        /// How long that took.
        seconds: u64,
    },
    /// A file was not whole after all the time that one may take.
    #[error("it was not whole after {0} minutes; the next time it goes on from there")]
    TooLong(u64),
    /// This system does not vouch for it.
    #[error("its certificate is not trusted ({0})")]
    Untrusted(String),
    /// It may not be had. Stores of files that list nothing answer so for what they have not.
    #[error("it answered 403 Forbidden")]
    Forbidden,
    /// It answered something else than a file.
    #[error("it answered {0}")]
    Status(String),
    /// It spoke to us by an encrypted connection and sent us to one that is not.
    #[error("its redirect to {0} was refused: that connection would not be encrypted")]
    Downgrade(String),
    /// It could not be asked, or did not keep to the protocol.
    #[error("it could not be asked: {0}")]
    Protocol(String),
    /// It stopped in the middle, again and again.
    #[error("{why} after {bytes} bytes")]
    BrokeOff {
        /// How the last connection ended.
        why: String,
        /// Bytes that were there then.
        bytes: u64,
    },
    /// It did not send what was asked for.
    #[error("it sent another part than was asked for")]
    OtherPart,
    /// It sent no PDB.
    #[error("it sent a web page instead of the file; perhaps it wants a login")]
    WebPage,
    /// It sent no PDB.
    #[error("it sent something else than a PDB")]
    NoPdb,
    /// It sends without end.
    #[error("it sends more than {0} MB")]
    TooMuch(u64),
    /// There is no room for it.
    #[error("what it sends cannot be stored: {0}")]
    NoRoom(String),
    /// What it sent, or has, is of no use.
    #[error("{0}")]
    File(PdbError),
    /// It has it compressed in a way that is not supported.
    #[error("it has it in the compressed form MSFZ only, which is not supported")]
    Msfz,
    /// It points elsewhere, and that is of no use.
    #[error("it points to {path}, but {error}")]
    PointsToFile {
        /// Where it points.
        path: String,
        /// What is wrong there.
        error: PdbError,
    },
    /// It points to nowhere.
    #[error("it points to {0}, which is not there")]
    PointsToNothing(String),
    /// It points to another machine's path.
    #[error("it points to {0}, which is not on this machine")]
    PointsElsewhere(String),
    /// It points to a share of somebody whom the user did not name.
    #[error("it points to {path}; whoever opens that share tells {host} who asks, and {host} is not on the symbol path")]
    PointsToShare {
        /// Where it points.
        path: String,
        /// Whose share that is.
        host: String,
    },
    /// It says why the file is gone.
    #[error("it says: {0}")]
    Message(String),
    /// Nobody wants it any more.
    #[error("stopped")]
    Stopped,
}

#[cfg(feature = "symsrv")]
impl PlaceTrouble {
    /// Whether the whole server is of no use for now: each further question would cost as much.
    pub(super) fn is_down(&self) -> bool {
        matches!(
            self,
            Self::NoSuchHost
                | Self::Refused(_)
                | Self::Silent
                | Self::TooSlow { .. }
                | Self::SlowToAnswer { .. }
                | Self::Untrusted(_)
        )
    }

    /// Whether what has come is not the beginning of the file.
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

/// All that was in the way.
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
        1 => format!("{name} is not in the one place of the symbol path"),
        n => format!("{name} is in none of the {n} places of the symbol path"),
    }
}
