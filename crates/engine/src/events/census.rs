//! Finds names of processes without putting anything into order: the fast way to know what a capture is
//! about. Reads the given buffers in parallel and decodes nothing but process events.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::hooks::{hook, kernel_hook};
use super::{Event, system};
use crate::etl::{BufferInfo, BufferKind, ReadBuffer, TraceFile};
use crate::problem::Problems;
use crate::units::Pid;

/// Process ids and names that events in these buffers give, at most [`MOST`] pairs; an id can have
/// several names.
pub fn process_names(file: &TraceFile, buffers: &[BufferInfo]) -> BTreeSet<(Pid, String)> {
    let of_buffer = |scratch: &mut (ReadBuffer, Problems), buffer: &BufferInfo| names_in(file, buffer, scratch);
    let mut all = buffers.par_iter().map_init(Default::default, of_buffer).reduce(BTreeSet::new, |mut all, mut more| {
        if all.len() < MOST {
            all.append(&mut more);
        }
        all
    });
    while all.len() > MOST {
        all.pop_last();
    }
    all
}

/// Most names that are kept; a machine has some hundreds of processes.
const MOST: usize = 1 << 16;

/// The names in one buffer. Problems of the buffer are reported when it is loaded.
fn names_in(file: &TraceFile, buffer: &BufferInfo, (scratch, problems): &mut (ReadBuffer, Problems)) -> BTreeSet<(Pid, String)> {
    if buffer.kind == BufferKind::NoEvents {
        return BTreeSet::new();
    }
    *problems = Problems::default();
    file.read_buffer(buffer, scratch, problems);
    let name = |raw: &crate::etl::RawEvent<'_>| {
        let hook = kernel_hook(raw.id).filter(|hook| (hook::PROCESS_START..=hook::PROCESS_RUNDOWN_END).contains(hook))?;
        let record = system::process(hook, raw)?;
        match record.event {
            Event::Process(_, info) if !info.name.is_empty() => Some((record.pid, info.name)),
            _ => None,
        }
    };
    scratch.events().filter_map(|raw| name(&raw)).collect()
}
