//! Options of table exports alone.

use clap::Args;

use crate::cli::Failure;

/// Options of table exports alone.
#[derive(Args, Debug)]
pub(super) struct TablesArgs {
    /// Treat the files as one capture (parquet); otherwise each file is a capture
    #[arg(long)]
    pub(super) one_capture: bool,

    /// Unreadable captures are no failure (parquet): they are listed in the folder and tried again when they change
    #[arg(long)]
    pub(super) keep_going: bool,

    /// With --keep-going: also try captures that are listed as unreadable and have not changed
    #[arg(long, requires = "keep_going")]
    pub(super) retry_unreadable: bool,

    /// Add a note to the captures (parquet): build=1234, machine=render-07, branch=main
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag)]
    pub(super) tags: Vec<(String, String)>,
}

fn tag(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if ![key, value].iter().any(|part| part.trim().is_empty()) => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("a tag is KEY=VALUE, like build=1234".to_owned()),
    }
}

impl TablesArgs {
    /// Refuses these options, for all other formats.
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        let given = [(self.one_capture, "--one-capture"), (self.keep_going, "--keep-going"), (!self.tags.is_empty(), "--tag")];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => Err(Failure::BadArguments(format!("{option} is for --format parquet"))),
            None => Ok(()),
        }
    }

    pub(super) fn check(&self) -> Result<(), Failure> {
        let keys: Vec<&str> = self.tags.iter().map(|(key, _)| key.as_str()).collect();
        match (1..keys.len()).find(|&i| keys[..i].contains(&keys[i])).map(|i| keys[i]) {
            Some(key) => Err(Failure::BadArguments(format!("the tag {key} is given twice"))),
            None => Ok(()),
        }
    }
}
