//! Tables for query engines that hold many captures: Parquet files in folders `<table>/capture=<id>`, as DuckDB,
//! Spark and their like read them. `docs/fleet.md` describes the columns.
//!
//! - [`table`]: the tables. [`file`]: one file of a table. [`allocations`], [`stacks`], [`dimensions`], [`activity`]:
//!   their contents.
//! - [`folder`]: the folder that several exports write into at a time while others read it.
//! - [`identity`]: the id of a capture in it. [`unreadable`]: captures that are not in it because they cannot be read.
//!
//! Contract: totals of the allocations equal those of a report of the same trace, interval and choice of rows, in
//! every layer. A capture is there as a whole or not at all.
//!
//! Cost: totals and peaks as for a report by heap, one more scan of the rows for the series, then a pass over the
//! rows for each column. Memory besides the trace: a bit per row, and the buffers of the files, which are bounded
//! however many rows there are; tables of sites and stacks grow with their number.

mod activity;
mod allocations;
mod dimensions;
mod file;
pub mod folder;
pub mod identity;
mod stacks;
pub mod table;
#[cfg(test)]
mod tests;
pub mod unreadable;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::errors::ParquetError;
use thiserror::Error;

use crate::names::Names;
use crate::query::{Cancel, Cancelled, Index, Mask, Types};
use crate::units::Interval;
use allocations::Source;
use dimensions::Dimensions;
pub use file::DiskRoom;
use file::TableFile;
pub use folder::{Lake, Outcome};
use stacks::StackList;
use table::Table;

/// The reason why a capture is not in the folder.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LakeError {
    /// The folder cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// This folder, which says which captures count, is missing although other tables have captures.
    #[error(
        "{}: this folder says which captures count, and it is missing although other tables have captures; put it back, \
         or remove the folders of all tables and export anew",
        .0.display()
    )]
    NoCaptures(PathBuf),
    /// Nothing may be written to this path; the reason is the end of a sentence.
    #[error("{}: {}", .0.display(), .1)]
    Refused(PathBuf, &'static str),
    /// The list of unreadable captures cannot be read or written.
    #[error("{}: the list of unreadable captures cannot be used: {}; put it in order or remove it", .0.display(), .1)]
    List(PathBuf, String),
    /// The files could not be written.
    #[error("the tables could not be written: {0}")]
    Parquet(String),
    /// An internal error of this program.
    #[error("an internal error stopped the work ({0})")]
    Fault(String),
    /// The work was cancelled.
    #[error("stopped")]
    Stopped,
}

impl From<ParquetError> for LakeError {
    fn from(error: ParquetError) -> Self {
        Self::Parquet(match error {
            ParquetError::General(text) => text,
            ParquetError::External(inner) => inner.to_string(),
            other => other.to_string(),
        })
    }
}

impl From<Cancelled> for LakeError {
    fn from(_: Cancelled) -> Self {
        Self::Stopped
    }
}

/// The rows of a trace to export, and their names.
pub struct Question<'a> {
    /// The trace, and its chosen rows.
    pub index: &'a Index,
    /// The interval in which rows take part.
    pub interval: Interval,
    /// The sites to export.
    pub mask: &'a Mask,
    /// Names of frames and types.
    pub names: &'a Names,
    /// Bytes that may be written, if the disk has more.
    pub room: Option<DiskRoom>,
}

/// Facts about a capture that are known only where its files were opened.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Files, as the user named them.
    pub files: Vec<String>,
    /// Name for people.
    pub name: String,
    /// Bytes of its traces; for archives, of the expanded traces in them.
    pub bytes: u64,
    /// Name of the machine.
    pub machine: Option<String>,
    /// Version of its operating system.
    pub os: String,
    /// Number of its processors.
    pub processors: u32,
    /// Build of the program that was recorded.
    pub build: Option<String>,
    /// Tags that the user gave, with their keys.
    pub tags: Vec<(String, String)>,
}

/// Reports the number of written rows as progress.
pub struct Telling<'a> {
    done: AtomicU64,
    tell: &'a (dyn Fn(u64) + Sync),
}

impl<'a> Telling<'a> {
    /// `tell` is called with the number of rows that are done, on any thread.
    pub fn new(tell: &'a (dyn Fn(u64) + Sync)) -> Self {
        Self { done: AtomicU64::new(0), tell }
    }

    fn add(&self, rows: u64) {
        (self.tell)(self.done.fetch_add(rows, Ordering::Relaxed) + rows);
    }
}

/// Writes all tables of a capture into a folder, each into a folder of its own. Returns the number of allocations.
pub fn write_tables(question: &Question<'_>, about: &About, folder: &Path, telling: &Telling<'_>) -> Result<u64, LakeError> {
    let Question { index, names, mask, .. } = *question;
    let (trace, never) = (index.trace(), Cancel::default());
    let room = |table: &Table| -> io::Result<_> {
        let folder = folder.join(table.name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    };
    let small = |table: &'static Table, write: &mut dyn FnMut(&mut TableFile) -> Result<(), ParquetError>| {
        let mut file = TableFile::create(&room(table)?.join("part-0000.parquet"), table, question.room.clone())?;
        write(&mut file)?;
        Ok::<(), LakeError>(file.finish()?)
    };
    let rows = {
        let stacks = StackList::of(trace, names, mask, &never)?;
        small(&table::STACKS, &mut |file| stacks.write(file))?;
        small(&table::FRAMES, &mut |file| stacks.write_frames(trace, names, file))?;
        let types = Types::of(trace, names, &never)?;
        Source::new(question, &stacks, &types).write(&room(&table::ALLOCATIONS)?, telling)?
    };
    let dimensions = Dimensions { question, about };
    small(&table::PROCESSES, &mut |file| dimensions.processes(file))?;
    small(&table::MODULES, &mut |file| dimensions.modules(file))?;
    let numbers = dimensions.heap_numbers(&never)?;
    small(&table::HEAPS, &mut |file| dimensions.heaps(&numbers, file))?;
    let series = dimensions.heap_series(&never)?;
    small(&table::SERIES, &mut |file| dimensions.series(&series, file))?;
    small(&table::MARKS, &mut |file| dimensions.marks(file))?;
    small(&table::GAME_FRAMES, &mut |file| dimensions.game_frames(file))?;
    small(&table::CAPTURES, &mut |file| dimensions.capture(rows, file))?;
    Ok(rows)
}
