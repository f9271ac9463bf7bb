//! The lane files that are merged into one trace, and the session header for it.

use std::path::{Path, PathBuf};

use super::CaptureError;
use super::files;
use crate::etl::{SessionHeader, TraceFile, mode};
use crate::open_error::OpenError;
use crate::problem::{ProblemKind, Problems};

/// One file of a lane.
#[derive(Debug)]
pub(super) struct Input {
    /// Index of its lane.
    pub(super) lane: usize,
    /// Number of the part in its lane.
    pub(super) number: u32,
    pub(super) path: PathBuf,
    pub(super) file: TraceFile,
    /// Number of buffers that are not completely consumed yet.
    left: usize,
    is_gone: bool,
}

/// The files of all lanes.
#[derive(Debug)]
pub(super) struct Inputs {
    /// The readable files: parts of a lane in sequence, lanes in the order in which they go first at equal times.
    pub(super) files: Vec<Input>,
    /// The session header of the merged file.
    pub(super) header: SessionHeader,
    pub(super) problems: Problems,
    /// Size of the files that were completely consumed since files were last removed, in bytes.
    pub(super) bytes_done: u64,
}

impl Inputs {
    /// Opens all lane files in a folder. `begun` is the session header of a trace that was begun already, if there is one.
    pub(super) fn open(folder: &Path, begun: Option<&SessionHeader>) -> Result<Self, CaptureError> {
        let (files, header, problems) = Default::default();
        let mut inputs = Self { files, header, problems, bytes_done: 0 };
        let mut first = begun.cloned();
        let mut refused = None;
        for (lane, number, path) in files::files(folder).map_err(CaptureError::file(folder))? {
            match TraceFile::open(&path).map_err(OpenError::from).and_then(|file| same_clock(first.as_ref(), file)) {
                Ok(mut file) => {
                    inputs.problems.append(std::mem::take(&mut file.problems));
                    first.get_or_insert_with(|| file.header.clone());
                    let left = file.buffers.len();
                    inputs.files.push(Input { lane, number, path, file, left, is_gone: false });
                }
                Err(error) => {
                    let name = path.display().to_string();
                    inputs.problems.add(ProblemKind::UnreadableFile, &name, 0, error.to_string());
                    refused.get_or_insert(error);
                }
            }
        }
        let Some(first) = first else {
            return Err(refused.map_or_else(|| CaptureError::Empty(folder.to_owned()), CaptureError::Read));
        };
        inputs.header = if begun.is_some() { first } else { inputs.merged_header(&first) };
        Ok(inputs)
    }

    /// Size of all files in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|input| input.file.bytes).sum()
    }

    fn merged_header(&self, first: &SessionHeader) -> SessionHeader {
        let headers = || self.files.iter().map(|input| &input.file.header);
        let most = |field: fn(&SessionHeader) -> u32| headers().map(field).max().unwrap_or(0);
        let sum = |field: fn(&SessionHeader) -> u32| headers().map(field).fold(0, u32::saturating_add);
        let last = self.files.iter().flat_map(|input| &input.file.buffers).map(|buffer| u32::from(buffer.processor) + 1).max();
        SessionHeader {
            // The limits keep a damaged header from making events unreadable.
            buffer_size: most(|header| header.buffer_size).clamp(128 << 10, 16 << 20).next_multiple_of(8),
            processors: most(|header| header.processors).max(last.unwrap_or(1)).clamp(1, 0x0800),
            events_lost: sum(|header| header.events_lost),
            buffers_lost: sum(|header| header.buffers_lost),
            mode: mode::SEQUENTIAL | mode::RELOG,
            logger: "Relogger".to_owned(),
            ..first.clone()
        }
    }

    /// Counts one more consumed buffer for each of these files.
    pub(super) fn count_done(&mut self, files: impl Iterator<Item = usize>) {
        for file in files {
            let input = &mut self.files[file];
            input.left -= 1;
            if input.left == 0 {
                self.bytes_done += input.file.bytes;
            }
        }
    }

    /// Removes the completely consumed files. If a file cannot be removed, the next call tries again.
    pub(super) fn remove_done(&mut self) {
        self.bytes_done = 0;
        for input in self.files.iter_mut().filter(|input| input.left == 0 && !input.is_gone) {
            input.file.let_go();
            input.is_gone = std::fs::remove_file(&input.path).is_ok();
        }
    }

    /// Removes the input files after the trace is complete. Files that cannot be removed stay, and so do files that
    /// were not read.
    pub(super) fn remove(self) {
        for Input { file, path, .. } in self.files {
            drop(file);
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Refuses a file of another recording.
fn same_clock(first: Option<&SessionHeader>, file: TraceFile) -> Result<TraceFile, OpenError> {
    match first.and_then(|first| first.clock_conflict(&file.header)) {
        Some(conflict) => Err(OpenError::OtherCapture(file.name, format!("it {conflict} the other files of the recording"))),
        None => Ok(file),
    }
}
