//! The losses of files, without those that copies repeat.

use std::sync::Arc;

use crate::etl::TraceFile;
use crate::events::{Copies, FileCopies};
use crate::model::Loss;

/// The numbers of lost events and lost buffers. A file and its copies report the same losses, so only the largest
/// number of them counts.
pub(super) fn lost(files: &[TraceFile], copies: &Copies) -> (u64, u64) {
    let mut each: Vec<(u64, u64)> =
        files.iter().map(|file| (file.header.events_lost.into(), file.header.buffers_lost.into())).collect();
    let list = copies.by_file();
    // Both lists have the same order, unless a file of a followed capture is gone.
    if list.len() == each.len() {
        for (copy, original) in list.iter().enumerate().filter_map(|(copy, file)| Some((copy, file.copy_of?))) {
            let (events, buffers) = std::mem::take(&mut each[copy]);
            each[original] = (each[original].0.max(events), each[original].1.max(buffers));
        }
    }
    each.into_iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
}

/// The losses by time, without those that complete copies repeat.
pub(super) fn losses(all: &Arc<[Loss]>, copies: &Copies) -> Arc<[Loss]> {
    if all.is_empty() || copies.total() == 0 {
        return Arc::clone(all);
    }
    let list = copies.by_file();
    let is_whole = |file: &&FileCopies| file.copy_of.is_some_and(|original| !file.is_part && list[original].file != file.file);
    let left_out: Vec<&str> = list.iter().filter(is_whole).map(|file| file.file.as_str()).collect();
    let mut kept: Vec<Loss> = Vec::new();
    for loss in all.iter().filter(|loss| !left_out.contains(&&*loss.file)) {
        let mut at_once = kept.iter().rev().take_while(|other| other.interval == loss.interval);
        if !at_once.any(|other| other == loss) {
            kept.push(loss.clone());
        }
    }
    kept.into()
}
