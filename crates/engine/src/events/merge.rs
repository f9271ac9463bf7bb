//! Merges the per-processor streams of all files into one stream of records in time order.
//!
//! A buffer belongs to one processor, and one processor's buffers in the order of their sequence
//! numbers are in time order; across processors they are not. So the order of the whole is a merge of
//! streams, one for each file and processor. Sessions without per-processor buffering and damaged times
//! break that rule; therefore a buffer is sorted if need be, and its records that are not earlier than
//! the next buffer are carried over into that one ([`stream`]).
//!
//! All streams are cut at common times. The part between two cuts, a slice, is put into order by any
//! thread that has time for it ([`slice`]), some slices before they are needed. The one thread that
//! cuts and replays compares streams and slices, not records: it goes through each slice from its first
//! entry to its last.
//!
//! Equal times keep the order of their stream; for the order across streams see [`ties`]. A record that
//! occurs twice goes on once ([`copies`]).
//!
//! Files may still grow: their new parts are added between runs ([`Merge::add`]), and records later
//! than a given moment wait ([`Merge::hold_at`]). A stream that has run dry has not ended then. As long
//! as no record comes for a moment that has passed, the order is that of a merge of the whole files;
//! records that come for such a moment are counted ([`Merge::late`]).
//!
//! Memory: two decoded buffers a stream or, where these would take too much, two parts of buffers;
//! records that wait; slices and the buffers they are made of; and buffers decoded ahead on other
//! threads ([`Prefetch`]). [`Room`] divides the memory among them. Cost on the thread that replays: some
//! steps for each stream and slice, and a look at each entry.

mod call_stack;
mod copied;
mod copies;
mod in_order;
mod owed;
mod reorder_buffer;
mod run;
mod slice;
mod stream;
mod ties;
mod totals;
mod turns;

use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::Scope;

use super::prefetch::{FilePart, Job, Prefetch, in_order, jobs_of};
use super::room::{Room, USUAL};
use super::{Batch, Item, MarkProviders, Stacks, TrackerProviders};
use crate::etl::TraceFile;
use crate::problem::ProblemKind;
pub use call_stack::CallStack;
pub use copied::{Copies, FileCopies};
pub(super) use copies::copies_among;
pub use owed::{OwedStack, OwedStacks};
pub use run::Place;
pub use slice::{Gather, Slice};
use slice::{Memory, Task};
use stream::{Reading, Stream, StreamKey};
use totals::Arrivals;
pub use totals::Totals;

/// Most slices that the sink may hold.
const MOST_LENT: usize = 8;

/// The merged stream of one capture's files.
#[derive(Debug)]
pub struct Merge<'f> {
    prefetch: Arc<Prefetch<'f>>,
    streams: Vec<Stream>,
    totals: Totals,
    /// Records up to this time may go on; for later ones the growing files are not complete yet.
    known_to: i64,
    arrivals: Arrivals,
    /// The latest time that went on, and the number of records that came too late for theirs.
    last_time: i64,
    late: u64,
    /// Stacks that went on already and will come once more, where the sink sees single records.
    owed: OwedStacks,
    /// Name of the first file, for problems of all files together.
    first_file: String,
    /// Most bytes that decoded records may take.
    memory: u64,
    room: Room,
    /// Bytes of batches that only slices still hold.
    retired: usize,
}

/// A slice that was cut, made already or not.
#[derive(Debug)]
struct CutSlice<G> {
    /// The time of its first record.
    from: i64,
    entries: usize,
    task: Arc<Task<G>>,
}

/// Slices that are cut, the first one in front, and memory for more.
#[derive(Debug)]
struct CutSlices<'g, G> {
    queue: VecDeque<CutSlice<G>>,
    /// Slices that were gone through, and that the sink may still hold; the first one in front.
    lent: VecDeque<Arc<Slice<G>>>,
    /// The memory that was put back first is taken first: others may still look at what was made of the
    /// latest slices.
    spare: VecDeque<Memory<G>>,
    fresh: &'g G,
}

impl<'g, G: Gather> CutSlices<'g, G> {
    fn new(fresh: &'g G) -> Self {
        Self { queue: VecDeque::new(), lent: VecDeque::new(), spare: VecDeque::new(), fresh }
    }

    fn entries(&self) -> usize {
        self.queue.iter().map(|cut| cut.entries).sum()
    }

    /// Memory for the next slice.
    fn memory(&mut self) -> Memory<G> {
        self.spare.pop_front().unwrap_or_else(|| Memory { order: Vec::new(), made: Box::new(self.fresh.clone()) })
    }
}

/// How far a merge has come.
#[derive(Clone, Copy, Debug)]
pub struct Tick<'a> {
    /// Totals so far.
    pub totals: &'a Totals,
    /// Whether the merge waits until records of later times may go on.
    pub is_held: bool,
    /// Whether the sink must let go of all slices that it still holds.
    pub must_let_go: bool,
}

impl<'f> Merge<'f> {
    /// Prepares the merge of all buffers of all files; stacks come with their events
    /// where they can.
    pub fn new(files: &'f [TraceFile]) -> Self {
        Self::with_stacks(files, Stacks::Attached)
    }

    /// Prepares the merge with every stack as a record of its own, as in the file.
    pub fn of_records(files: &'f [TraceFile]) -> Self {
        Self::with_stacks(files, Stacks::Apart)
    }

    fn with_stacks(files: &'f [TraceFile], stacks: Stacks) -> Self {
        let mut merge = Self {
            prefetch: Prefetch::new(stacks),
            streams: Vec::new(),
            totals: Totals::default(),
            known_to: i64::MAX,
            arrivals: Arrivals::default(),
            last_time: i64::MIN,
            late: 0,
            owed: OwedStacks::default(),
            first_file: files.first().map_or_else(String::new, |file| file.name.clone()),
            memory: USUAL,
            room: Room::of(USUAL, 0),
            retired: 0,
        };
        for (place, file) in (0..).zip(files) {
            merge.totals.copies.name(place, &file.name);
        }
        merge.add_jobs(jobs_of(files));
        merge
    }

    /// Sets how many bytes decoded records may take, approximately. The order does not depend on it.
    pub fn within(mut self, memory: u64) -> Self {
        self.memory = memory;
        self
    }

    /// Sets the providers of which all events are marks, and those whose events are blocks of trackers.
    pub fn reading(mut self, marks: MarkProviders, trackers: TrackerProviders) -> Self {
        self.prefetch.read(marks, trackers);
        self
    }

    /// Adds the new part of the file with this number among all files: buffers behind those that are
    /// known.
    pub fn add(&mut self, place: u64, part: TraceFile) {
        if self.first_file.is_empty() {
            self.first_file.clone_from(&part.name);
        }
        self.totals.copies.name(place, &part.name);
        self.add_jobs(in_order(place, &FilePart::Came(Arc::new(part))));
    }

    fn add_jobs(&mut self, jobs: Vec<(u64, Job<'f>)>) {
        let keys: Vec<StreamKey> = jobs.iter().map(|(place, job)| (*place, job.buffer().processor)).collect();
        let first = self.prefetch.add(jobs.into_iter().map(|(_, job)| job));
        let known: BTreeSet<StreamKey> = self.streams.iter().map(|stream| stream.key).collect();
        let new: BTreeSet<StreamKey> = keys.iter().copied().filter(|key| !known.contains(key)).collect();
        self.streams.extend(new.into_iter().map(Stream::new));
        self.streams.sort_by_key(|stream| stream.key);
        for (i, key) in keys.into_iter().enumerate() {
            if let Ok(at) = self.streams.binary_search_by_key(&key, |stream| stream.key) {
                self.streams[at].jobs.push_back(first + i);
            }
        }
    }

    /// Makes records later than this wait from now on, because earlier ones may not be there yet.
    pub fn hold_at(&mut self, time: i64) {
        self.known_to = time;
    }

    /// Number of records that came for a moment that had passed.
    pub fn late(&self) -> u64 {
        self.arrivals.late
    }

    /// Gives every record to `sink`, with its stack if that came with it, until it breaks, or until
    /// only records are left that are later than growing files are known to. `tick` is called at first,
    /// after each slice, and where the merge is held; it returns the raw time up to which records may
    /// go on.
    pub fn run<B>(
        &mut self,
        mut sink: impl FnMut(Item<'_>, CallStack<'_>) -> ControlFlow<B>,
        tick: impl FnMut(Tick<'_>) -> ControlFlow<B, i64>,
    ) -> ControlFlow<B> {
        let mut owed = std::mem::take(&mut self.owed);
        let each = |slice: &Arc<Slice<()>>| {
            owed.expect(slice.owed());
            slice.order().iter().try_for_each(|&place| match slice.item(place) {
                (Item::Record(record), stack) if !owed.is_empty() && owed.has_come(record, stack) => ControlFlow::Continue(()),
                (item, stack) => sink(item, stack),
            })
        };
        let result = self.run_slices(&(), each, tick);
        self.owed = owed;
        result
    }

    /// Like [`Self::run`], but slice by slice, each with the data that a copy of `fresh` gathered from
    /// it. The sink can hold some slices until [`Tick::must_let_go`].
    pub fn run_slices<G: Gather, B>(
        &mut self,
        fresh: &G,
        mut sink: impl FnMut(&Arc<Slice<G>>) -> ControlFlow<B>,
        mut tick: impl FnMut(Tick<'_>) -> ControlFlow<B, i64>,
    ) -> ControlFlow<B> {
        let prefetch = Arc::clone(&self.prefetch);
        self.streams.retain(|stream| !stream.is_dry());
        self.room = Room::of(self.memory, self.streams.len());
        prefetch.start(self.streams.len(), self.room);
        rayon::in_place_scope(|scope| {
            let result = self.run_in(scope, CutSlices::new(fresh), &mut sink, &mut tick);
            prefetch.stop();
            result
        })
    }

    fn run_in<'scope, G: Gather, B>(
        &mut self,
        scope: &Scope<'scope>,
        mut cut: CutSlices<'_, G>,
        sink: &mut impl FnMut(&Arc<Slice<G>>) -> ControlFlow<B>,
        tick: &mut impl FnMut(Tick<'_>) -> ControlFlow<B, i64>,
    ) -> ControlFlow<B>
    where
        'f: 'scope,
    {
        self.prefetch.pump(scope);
        self.each_stream(Stream::go_on);
        let mut limit = tick(Tick { totals: &self.totals, is_held: false, must_let_go: false })?;
        loop {
            self.take_back(&mut cut);
            self.cut_some(scope, &mut cut, limit);
            let Some(first) = cut.queue.pop_front_if(|cut| cut.from <= limit) else {
                if self.next_time(&cut).is_none_or(|next| next > self.known_to) {
                    break;
                }
                limit = tick(Tick { totals: &self.totals, is_held: true, must_let_go: true })?;
                continue;
            };
            if let Some(slice) = first.task.take() {
                self.count_late(&slice);
                self.totals.copies.add(slice.copied());
                let slice = Arc::new(slice);
                sink(&slice)?;
                cut.lent.push_back(slice);
            }
            self.prefetch.pump(scope);
            let must_let_go = cut.lent.len() >= MOST_LENT || self.retired >= self.room.retired;
            limit = tick(Tick { totals: &self.totals, is_held: false, must_let_go })?;
        }
        if !cut.lent.is_empty() {
            tick(Tick { totals: &self.totals, is_held: false, must_let_go: true })?;
            self.take_back(&mut cut);
        }
        self.arrivals.passed = Some(self.known_to);
        if self.known_to == i64::MAX {
            self.report_late();
        }
        ControlFlow::Continue(())
    }

    /// Takes back the memory of slices, in their order, that the sink no longer holds.
    fn take_back<G: Gather>(&mut self, cut: &mut CutSlices<'_, G>) {
        while let Some(slice) = cut.lent.pop_front_if(|slice| Arc::strong_count(slice) == 1) {
            let Some(slice) = Arc::into_inner(slice) else { return };
            let (runs, memory) = slice.into_parts();
            runs.into_iter().for_each(|run| self.give_back(run.batch));
            cut.spare.push_back(memory);
        }
    }

    /// Takes back a batch that a slice no longer needs, to reuse its memory if nobody else holds it.
    fn give_back(&mut self, batch: Arc<Batch>) {
        if let Ok(batch) = Arc::try_unwrap(batch) {
            self.retired = self.retired.saturating_sub(batch.memory());
            self.prefetch.give_back(batch);
        }
    }

    fn each_stream(&mut self, mut each: impl FnMut(&mut Stream, &mut Reading<'_, 'f>)) {
        let Self { prefetch: decoder, streams, totals, arrivals, room, retired, .. } = self;
        let mut reading = Reading { decoder, totals, arrivals, most_reordered: room.reordered, retired };
        streams.iter_mut().for_each(|stream| each(stream, &mut reading));
    }

    /// The time of the next record, cut or not.
    fn next_time<G>(&self, cut: &CutSlices<'_, G>) -> Option<i64> {
        let cut = cut.queue.front().map(|cut| cut.from);
        cut.or_else(|| self.streams.iter().filter_map(Stream::next).min())
    }

    /// Cuts slices up to `limit`, as many as there is room for, and has workers put them into order.
    fn cut_some<'scope, G: Gather>(&mut self, scope: &Scope<'scope>, cut: &mut CutSlices<'_, G>, limit: i64) {
        while cut.entries() < self.room.cut
            && (self.retired < self.room.retired || cut.queue.is_empty())
            && let Some(from) = self.streams.iter().filter_map(Stream::next).min()
            && from <= limit.min(self.known_to)
        {
            let to = self.end_of_slice().min(limit).min(self.known_to);
            let runs: Vec<_> = self.streams.iter_mut().filter_map(|stream| stream.take_to(to)).collect();
            let entries = runs.iter().map(|run| run.range.len()).sum();
            let task = Arc::new(Task::new(runs, cut.memory()));
            if rayon::current_num_threads() > 1 {
                let task = Arc::clone(&task);
                scope.spawn(move |_| task.work());
            }
            cut.queue.push_back(CutSlice { from, entries, task });
            self.each_stream(Stream::refill);
        }
    }

    /// The last time that the next slice includes: all streams are complete up to it, and none has very
    /// much before it.
    fn end_of_slice(&self) -> i64 {
        let each = (self.room.slice / self.streams.len().max(1)).max(1);
        let end = |stream: &Stream| {
            let enough = stream.time_behind(each).map(|behind| behind.saturating_sub(1).max(stream.next().unwrap_or(i64::MIN)));
            stream.complete_to().min(enough.unwrap_or(i64::MAX))
        };
        self.streams.iter().filter(|stream| stream.next().is_some()).map(end).min().unwrap_or(i64::MAX)
    }

    /// Counts records that are earlier than one that went on before.
    fn count_late<G>(&mut self, slice: &Slice<G>) {
        self.late += slice.earlier_than(self.last_time) as u64;
        self.last_time = self.last_time.max(slice.last_time().unwrap_or(i64::MIN));
    }

    fn report_late(&mut self) {
        let late = std::mem::take(&mut self.late);
        if late == 0 {
            return;
        }
        let detail = format!("{late} events came after later ones had been read; they were applied late");
        self.totals.problems.add(ProblemKind::OutOfOrder, &self.first_file, 0, detail);
    }

    /// The totals so far; complete after [`Merge::run`] went to the end.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }
}
