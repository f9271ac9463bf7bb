//! The events of one file and processor in the order of time, with all their bytes ([`RawQueue`]).

use crate::etl::{BufferInfo, TraceFile};
use crate::events::{RawItem, RawQueue, RawReading, RawRun};

/// One file's events of one processor.
#[derive(Debug)]
pub(super) struct Stream<'f> {
    file: &'f TraceFile,
    /// Number of the file among all.
    pub(super) file_number: usize,
    /// Processor in the file that is written.
    pub(super) processor: u16,
    /// Buffers still to read, the next one last.
    buffers: Vec<&'f BufferInfo>,
    queue: RawQueue<()>,
    /// Time of the last event that was read.
    last_time: i64,
}

/// One stream for each file and processor, in this order, and the number of processors that
/// the file that is written has for them.
///
/// Events of several files at one tick come in the order of the files, and the reader of one file
/// knows only processors: so each file's have numbers of their own, as far as there are enough.
pub(super) fn streams_of(files: &[TraceFile]) -> (Vec<Stream<'_>>, u32) {
    let last = |file: &TraceFile| file.buffers.iter().map(|buffer| u32::from(buffer.processor) + 1).max().unwrap_or(1);
    let all: u32 = files.iter().map(last).fold(0, u32::saturating_add);
    let is_shared = all > MAX_PROCESSORS;
    let most_waiting = (MOST_WAITING / (all as usize).max(1)).min(MOST_WAITING_OF_ONE);
    let mut streams = Vec::new();
    let mut first = 0;
    for (file_number, file) in files.iter().enumerate() {
        let mut buffers: Vec<&BufferInfo> = file.buffers.iter().collect();
        buffers.sort_by_key(|buffer| (buffer.processor, std::cmp::Reverse(buffer.order())));
        for of_one in buffers.chunk_by(|a, b| a.processor == b.processor) {
            let own = u32::from(of_one[0].processor) + if is_shared { 0 } else { first };
            let processor = (own % MAX_PROCESSORS) as u16;
            let (buffers, last_time) = (of_one.to_vec(), file.header.start_ticks);
            streams.push(Stream { file, file_number, processor, buffers, queue: RawQueue::new(most_waiting), last_time });
        }
        first = first.saturating_add(last(file));
    }
    let processors = streams.iter().map(|stream| u32::from(stream.processor) + 1).max().unwrap_or(1);
    (streams, processors)
}

/// Windows has no more.
const MAX_PROCESSORS: u32 = 2048;

/// Bytes of events that may wait for their time to come, of all streams together, ...
const MOST_WAITING: usize = 1 << 30;
/// ... and of one.
const MOST_WAITING_OF_ONE: usize = 64 << 20;

impl Stream<'_> {
    /// Bytes that it may hold at once, about.
    pub(super) fn memory(&self) -> u64 {
        2 * self.buffers.iter().map(|buffer| buffer.expanded_size() as u64).max().unwrap_or(0)
    }

    /// Time of the next event that is at hand.
    pub(super) fn time(&mut self) -> Option<i64> {
        self.queue.time()
    }

    /// The next event that is at hand, and its time; the one behind it is next.
    pub(super) fn next(&mut self) -> Option<(i64, RawItem<'_>)> {
        self.queue.take().map(|(time, (), item)| (time, item))
    }

    /// Gets more at hand, if there is more.
    pub(super) fn refill(&mut self, reading: &mut RawReading) {
        let Self { file, buffers, queue, last_time, .. } = self;
        let runs = std::iter::from_fn(|| Some(RawRun::read(file, buffers.pop()?, reading, last_time, |_| Some(()))));
        let mut runs = runs.filter(|run| !run.is_empty());
        queue.refill(|| runs.next());
    }
}
