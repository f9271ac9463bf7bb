//! Table `allocations`: one row per allocation that takes part in the interval, in the order of births, in files of
//! at most [`FILE_ROWS`] rows that are written in parallel.
//!
//! Cost: a pass over the rows for each column. Memory: a worker has the ids of a row group and one column of it, some
//! 6 MB; there are at most [`WORKERS`].

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parquet::data_type::ByteArray;

use super::file::{GROUP_ROWS, Leaf, TableFile, clamped};
use super::stacks::StackList;
use super::table::ALLOCATIONS;
use super::{LakeError, Question, Telling};
use crate::model::{CHUNK, Chunk, RowId, Trace};
use crate::panics;
use crate::query::{LifetimeClass, Types, UNKNOWN_TYPE};
use crate::units::{Layer, Ticks};

/// Maximum rows of a file, before filters: a whole number of chunks.
const FILE_ROWS: usize = 1 << 23;
/// Maximum number of files that are written at a time.
const WORKERS: usize = 8;

/// The data from which the columns of all files are filled.
pub(super) struct Source<'a> {
    question: &'a Question<'a>,
    trace: &'a Trace,
    stacks: &'a StackList,
    types: &'a Types,
    /// Names of the types, by number; `None` for the unknown one.
    type_names: Vec<Option<ByteArray>>,
    layer_names: [ByteArray; 3],
}

impl<'a> Source<'a> {
    pub(super) fn new(question: &'a Question<'a>, stacks: &'a StackList, types: &'a Types) -> Self {
        let name = |id: u32| Some(&*types.key(id).name).filter(|name| *name != UNKNOWN_TYPE).map(text);
        Self {
            question,
            trace: question.index.trace(),
            stacks,
            types,
            type_names: (0..types.len() as u32).map(name).collect(),
            layer_names: Layer::ALL.map(|layer| text(layer.name())),
        }
    }

    /// Writes all files into a folder; returns the number of rows.
    pub(super) fn write(&self, folder: &Path, telling: &Telling<'_>) -> Result<u64, LakeError> {
        let chunks = self.trace.rows.chunks().len();
        let workers = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, WORKERS);
        // Small traces are divided among the workers, too, if a part is worth a file.
        let a_file = chunks.div_ceil(workers).clamp(2 * GROUP_ROWS / CHUNK, FILE_ROWS / CHUNK);
        let files = chunks.div_ceil(a_file).max(1);
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let result = Mutex::new(Ok(0));
        let work = || {
            loop {
                let file = next.fetch_add(1, Ordering::Relaxed);
                if file >= files || failed.load(Ordering::Relaxed) {
                    return;
                }
                let part = file * a_file..((file + 1) * a_file).min(chunks);
                let path = folder.join(format!("part-{file:04}.parquet"));
                let written = panics::catch(|| self.write_file(&path, part, telling))
                    .unwrap_or_else(|caught| Err(LakeError::Fault(caught.to_string())));
                let mut result = result.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                match (&mut *result, written) {
                    (Ok(sum), Ok(rows)) => *sum += rows,
                    (Ok(_), Err(error)) => {
                        *result = Err(error);
                        failed.store(true, Ordering::Relaxed);
                    }
                    (Err(_), _) => {}
                }
            }
        };
        std::thread::scope(|scope| {
            (1..workers.min(files)).for_each(|_| _ = scope.spawn(work));
            work();
        });
        result.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write_file(&self, path: &Path, chunks: std::ops::Range<usize>, telling: &Telling<'_>) -> Result<u64, LakeError> {
        let mut file = TableFile::create(path, &ALLOCATIONS, self.question.room.clone())?;
        let (mut rows, mut written) = (Vec::with_capacity(GROUP_ROWS), 0);
        for index in chunks {
            let chunk = self.trace.rows.chunk(index);
            for at in (0..chunk.len()).filter(|&at| self.takes_part(&chunk, at)) {
                rows.push(chunk.id(at));
                if rows.len() == GROUP_ROWS {
                    self.write_group(&mut file, &rows)?;
                    written += rows.len() as u64;
                    rows.clear();
                }
            }
            telling.add(chunk.len() as u64);
        }
        if !rows.is_empty() {
            self.write_group(&mut file, &rows)?;
        }
        file.finish()?;
        Ok(written + rows.len() as u64)
    }

    fn takes_part(&self, chunk: &Chunk<'_>, at: usize) -> bool {
        let Question { index, interval, mask, .. } = self.question;
        let Some(class) = LifetimeClass::of(chunk.birth(at), chunk.death(at), *interval) else { return false };
        mask.has(chunk.sites()[at], class) && index.chosen().is_none_or(|chosen| chosen.has(chunk.id(at)))
    }

    fn write_group(&self, file: &mut TableFile, rows: &[RowId]) -> Result<(), LakeError> {
        Ok(file.group(|place, leaf| self.fill(ALLOCATIONS.columns[place].name, leaf, rows))?)
    }

    /// Fills a column with the values of these rows.
    fn fill(&self, column: &str, leaf: &mut Leaf, ids: &[RowId]) {
        let (trace, rows) = (self.trace, &self.trace.rows);
        let heap = |id: RowId| trace.heap(trace.site(rows.site(id)).heap);
        match column {
            "layer" => leaf.texts.extend(ids.iter().map(|&id| self.layer_names[heap(id).layer as usize].clone())),
            "size" => leaf.longs.extend(ids.iter().map(|&id| clamped(rows.size(id)))),
            "birth_s" => self.seconds(leaf, ids.iter().map(|&id| rows.birth(id))),
            "death_s" => self.seconds(leaf, ids.iter().map(|&id| rows.death(id))),
            "address" => each(trace, ids, |chunk, at| leaf.longs.push(chunk.address(at).cast_signed())),
            "thread" => each(trace, ids, |chunk, at| {
                let thread = Some(chunk.thread(at)).filter(|thread| thread.is_known());
                leaf.definition.push(thread.is_some().into());
                leaf.longs.extend(thread.map(|thread| i64::from(thread.0)));
            }),
            "process_id" => leaf.longs.extend(ids.iter().map(|&id| i64::from(heap(id).process.0))),
            "heap_id" => leaf.longs.extend(ids.iter().map(|&id| i64::from(trace.site(rows.site(id)).heap.0))),
            "stack_id" => leaf.longs.extend(ids.iter().map(|&id| i64::from(self.stacks.of_site(rows.site(id))))),
            "freed_stack_id" => each(trace, ids, |chunk, at| {
                let stack = chunk.freed_at(at).and_then(|site| self.stacks.of_free_site(site));
                leaf.definition.push(stack.is_some().into());
                leaf.longs.extend(stack.map(i64::from));
            }),
            "type" => {
                for &id in ids {
                    let name = &self.type_names[self.types.of_site(rows.site(id)) as usize];
                    leaf.definition.push(name.is_some().into());
                    leaf.texts.extend(name.clone());
                }
            }
            _ => debug_assert!(false, "nobody fills {column}"),
        }
    }

    /// Adds times in seconds; null for those before the trace or never.
    fn seconds(&self, leaf: &mut Leaf, ticks: impl Iterator<Item = Ticks>) {
        for t in ticks {
            let is_ordinary = t != Ticks::BEFORE_TRACE && t != Ticks::NEVER;
            leaf.definition.push(is_ordinary.into());
            if is_ordinary {
                leaf.doubles.push(self.trace.clock.seconds(t));
            }
        }
    }
}

/// Calls `each` with the chunk of each row and its place there.
fn each(trace: &Trace, ids: &[RowId], mut each: impl FnMut(&Chunk<'_>, usize)) {
    for same in ids.chunk_by(|a, b| a.0 as usize / CHUNK == b.0 as usize / CHUNK) {
        let chunk = trace.rows.chunk(same[0].0 as usize / CHUNK);
        same.iter().for_each(|id| each(&chunk, id.0 as usize % CHUNK));
    }
}

fn text(text: &str) -> ByteArray {
    text.as_bytes().to_vec().into()
}
