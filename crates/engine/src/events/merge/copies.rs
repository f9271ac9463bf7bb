//! Finds copies among the records of one time: of the same file twice, of a merge beside its parts, of
//! two sessions of one process.
//!
//! Records are equal if all that they say is: kind, process, thread, heap, addresses, sizes. Among
//! equal records the n-th of one file is a copy of the n-th of another. Within one file a record is a
//! copy only if its equal was the last record about that block, since one thread may allocate and free
//! an address several times in one tick of a coarse clock; so only records about blocks, heaps and
//! pages of a known process can be copies there. (A record about pages is a copy if its equal was the
//! last about any pages of the process.)
//!
//! The file with most records of that time, stacks not counted, keeps its own, so that the parts of a
//! merge change nothing beside it. A stack of its own is a copy as any other record is; a stack that
//! came with its event goes to the event that is kept, if that has none.
//!
//! Cost: where no two records share their time, none; else a look at each pair of few, or a hash of
//! each and a sort.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use super::call_stack::is_of_stack;
use super::copied::Copied;
use super::owed::OwedStack;
use super::run::{Place, Run, entry, file, item};
use crate::events::{Batch, Entry, Event, Extent, Item, Memory, PageFault, PageRange, Record};
use crate::units::{Layer, Pid};

/// Up to this many records are compared with each other.
const SMALL: usize = 8;

/// Random, so that no file can know it.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(1u8));

/// Subject of a record, to find the last record about it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Subject {
    Block(Pid, Layer, u64, u64),
    /// Anything about a heap.
    Heap(Pid, Layer, u64),
    /// The begin or end of a heap, with all of its blocks.
    Opened(Pid, Layer, u64),
    Pages(Pid),
}

/// Finds copies among entries of one time. Its lists are those of the latest call.
#[derive(Debug, Default)]
pub(super) struct CopyFinder {
    /// For each entry the number of the first that equals it.
    equals: Vec<u32>,
    hashes: Vec<(u64, u32)>,
    is_copy: Vec<bool>,
    last: HashMap<Subject, usize>,
    /// Class of equal entries, rank of the file, number of the entry.
    members: Vec<(u32, u32, u32)>,
    /// Files, and how many entries are left of each, stacks not counted.
    files: Vec<(u64, usize)>,
    shared: Vec<u64>,
    /// Entries that are kept, and the entries whose stack they get.
    stacks: Vec<(Place, Place)>,
    /// All copies found.
    pub(super) found: Copied,
    /// Stacks that will come behind an event that has its own already.
    pub(super) owed: Vec<OwedStack>,
}

impl CopyFinder {
    /// Moves the entries that are kept before the copies, among entries of one time in the order of
    /// their runs. Returns how many are kept.
    #[inline(always)]
    pub(super) fn leave_out(&mut self, runs: &[Run], places: &mut [Place]) -> usize {
        self.stacks.clear();
        match *places {
            [a, b] if !entry(runs, a).is_like(entry(runs, b)) => 2,
            _ => self.leave_out_of_many(runs, places),
        }
    }

    #[inline(never)]
    fn leave_out_of_many(&mut self, runs: &[Run], places: &mut [Place]) -> usize {
        let all = places.len();
        let has_equals = if all <= SMALL { self.compare_all(runs, places) } else { self.compare_hashes(runs, places) };
        if !has_equals {
            return all;
        }
        self.is_copy.clear();
        self.is_copy.resize(all, false);
        let mut first = 0;
        for of_file in places.chunk_by(|a, b| file(runs, *a) == file(runs, *b)) {
            self.leave_out_again(runs, first, of_file);
            first += of_file.len();
        }
        self.leave_out_others(runs, places);
        let mut kept = 0;
        for at in 0..all {
            if !self.is_copy[at] {
                places.swap(kept, at);
                kept += 1;
            }
        }
        kept
    }

    /// Gives the stacks of copies to the entries that are kept.
    pub(super) fn give_stacks(&self, kept: &mut [Place]) {
        for (whose, stack) in &self.stacks {
            kept.iter_mut().filter(|place| **place == *whose).for_each(|place| *place = *stack);
        }
    }

    /// Finds equal entries among few, by comparing all pairs.
    fn compare_all(&mut self, runs: &[Run], places: &[Place]) -> bool {
        self.equals.clear();
        let mut has_equals = false;
        for (at, &place) in places.iter().enumerate() {
            let equal = places[..at].iter().position(|&other| are_equal(runs, other, place));
            has_equals |= equal.is_some();
            self.equals.push(equal.unwrap_or(at) as u32);
        }
        has_equals
    }

    /// Finds equal entries among many, by their hashes.
    fn compare_hashes(&mut self, runs: &[Run], places: &[Place]) -> bool {
        self.hashes.clear();
        self.hashes.extend((0..).zip(places).map(|(at, &place)| (hash(runs, place), at)));
        self.hashes.sort_unstable();
        self.equals.clear();
        self.equals.extend(0..places.len() as u32);
        let mut has_equals = false;
        for alike in self.hashes.chunk_by(|a, b| a.0 == b.0) {
            for (i, &(_, at)) in alike.iter().enumerate() {
                let is_equal = |&&(_, other): &&(u64, u32)| are_equal(runs, places[other as usize], places[at as usize]);
                if let Some(&(_, equal)) = alike[..i].iter().find(is_equal) {
                    self.equals[at as usize] = equal;
                    has_equals = true;
                }
            }
        }
        has_equals
    }

    /// Finds copies within one file; the first of its entries has the number `first`.
    fn leave_out_again(&mut self, runs: &[Run], first: usize, of_file: &[Place]) {
        if of_file.len() < 2 {
            return;
        }
        let has_equals = (first..).zip(of_file).any(|(at, _)| (first..at).contains(&(self.equals[at] as usize)))
            || self.has_later_equals(first, of_file.len());
        if !has_equals {
            return;
        }
        // In the order in which the file alone would be replayed.
        let mut order = of_file.to_vec();
        super::ties::put_in_order(runs, &mut order);
        self.last.clear();
        let number = |place: &Place| first + of_file.partition_point(|one| (one.run, one.at) < (place.run, place.at));
        let mut before: Vec<u32> = Vec::with_capacity(order.len());
        for place in &order {
            let at = number(place);
            let subjects = subjects(item(runs, *place));
            if self.is_last_about(subjects, self.equals[at], &before) {
                self.is_copy[at] = true;
                *self.found.again.entry(file(runs, *place)).or_default() += 1;
            }
            for subject in subjects.into_iter().flatten() {
                self.last.insert(subject, before.len());
                if let Subject::Block(pid, layer, heap, _) | Subject::Opened(pid, layer, heap) = subject {
                    self.last.insert(Subject::Heap(pid, layer, heap), before.len());
                }
            }
            before.push(self.equals[at]);
        }
    }

    /// Whether several entries of a file equal the same entry of an earlier file.
    fn has_later_equals(&self, first: usize, count: usize) -> bool {
        let mut others: Vec<u32> =
            self.equals[first..first + count].iter().copied().filter(|&at| (at as usize) < first).collect();
        others.sort_unstable();
        others.windows(2).any(|two| two[0] == two[1])
    }

    /// Whether the last record about each subject is of `class`; `before` has the classes of all
    /// records so far.
    fn is_last_about(&self, subjects: [Option<Subject>; 2], class: u32, before: &[u32]) -> bool {
        // A record that names no process may be about that of any process.
        let at = |subject: Subject| self.last.get(&subject).copied();
        let is_last = |subject: Subject| {
            let (last, others) = match subject {
                Subject::Block(Pid::NONE, ..)
                | Subject::Opened(Pid::NONE, ..)
                | Subject::Pages(Pid::NONE)
                | Subject::Heap(..) => (None, [None; 3]),
                Subject::Block(pid, layer, heap, address) => (
                    at(subject),
                    [
                        at(Subject::Opened(pid, layer, heap)),
                        at(Subject::Opened(Pid::NONE, layer, heap)),
                        at(Subject::Block(Pid::NONE, layer, heap, address)),
                    ],
                ),
                Subject::Opened(pid, layer, heap) => {
                    (at(Subject::Heap(pid, layer, heap)), [at(Subject::Heap(Pid::NONE, layer, heap)), None, None])
                }
                Subject::Pages(_) => (at(subject), [None; 3]),
            };
            last.is_some_and(|last| before[last] == class && others.into_iter().flatten().all(|other| other < last))
        };
        subjects[0].is_some() && subjects.into_iter().flatten().all(is_last)
    }

    /// Finds copies across files: the n-th of equal entries in one file is a copy of the n-th in
    /// another.
    fn leave_out_others(&mut self, runs: &[Run], places: &[Place]) {
        self.rank_files(runs, places);
        if self.files.len() < 2 {
            return;
        }
        let mut ranks: Vec<(u64, u32)> = self.files.iter().map(|(file, _)| *file).zip(0..).collect();
        ranks.sort_unstable();
        self.members.clear();
        for (at, place) in places.iter().enumerate().filter(|(at, _)| !self.is_copy[*at]) {
            let rank = ranks[ranks.partition_point(|(of, _)| *of < file(runs, *place))].1;
            self.members.push((self.equals[at], rank, at as u32));
        }
        self.members.sort_unstable();
        let members = std::mem::take(&mut self.members);
        for equal in members.chunk_by(|a, b| a.0 == b.0).filter(|equal| equal[0].1 != equal[equal.len() - 1].1) {
            let mut by_file: Vec<&[(u32, u32, u32)]> = equal.chunk_by(|a, b| a.1 == b.1).collect();
            for n in 0.. {
                by_file.retain(|of_file| of_file.len() > n);
                if by_file.len() < 2 {
                    break;
                }
                let nth: Vec<usize> = by_file.iter().map(|of_file| of_file[n].2 as usize).collect();
                self.keep_first(runs, places, &nth);
            }
        }
        self.members = members;
    }

    /// Keeps the first of equal entries of several files.
    fn keep_first(&mut self, runs: &[Run], places: &[Place], nth: &[usize]) {
        let [first, others @ ..] = nth else { return };
        others.iter().for_each(|&other| self.is_copy[other] = true);
        if entry(runs, places[*first]).is_bare()
            && let Some(&stack) = others.iter().find(|&&other| !entry(runs, places[other]).is_bare())
        {
            self.stacks.push((places[*first], places[stack]));
        }
        if nth.iter().any(|&at| entry(runs, places[at]).is_bare()) {
            self.owed.extend(nth.iter().find_map(|&at| OwedStack::of(runs, places[at])));
        }
        if !is_of_stack(item(runs, places[*first])) {
            self.shared.clear();
            self.shared.extend(nth.iter().map(|&at| file(runs, places[at])));
            self.shared.sort_unstable();
            self.found.share(&self.shared, 1);
        }
    }

    /// Ranks files by how many of their entries are left, most first, then in their order. Stacks do
    /// not count: where buffers end, one file has some stacks as records of their own that another has
    /// with their events.
    fn rank_files(&mut self, runs: &[Run], places: &[Place]) {
        self.files.clear();
        for (place, _) in places.iter().zip(&self.is_copy).filter(|(_, is_copy)| !**is_copy) {
            let (of, count) = (file(runs, *place), usize::from(!is_of_stack(item(runs, *place))));
            match self.files.last_mut().filter(|(file, _)| *file == of) {
                Some((_, counted)) => *counted += count,
                None => self.files.push((of, count)),
            }
        }
        self.files.sort_by_key(|&(_, count)| std::cmp::Reverse(count)); // stable
    }
}

/// Tells for all records of one time, stream by stream, which are no copies. Each stream belongs to a
/// file, and files come in order.
pub(in crate::events) fn copies_among(streams: &[(u64, Arc<Batch>)]) -> Vec<bool> {
    let run = |(file, batch): &(u64, Arc<Batch>)| Run { file: *file, batch: Arc::clone(batch), range: 0..batch.entries.len() };
    let runs: Vec<Run> = streams.iter().map(run).collect();
    let of_run = |(number, run): (u32, &Run)| {
        let place = |(at, entry): (u32, &Entry)| Place { time: entry.time, run: number, at };
        (0..).zip(run.entries()).map(place).collect::<Vec<_>>()
    };
    let mut places: Vec<Place> = (0..).zip(&runs).flat_map(of_run).collect();
    let before = places.clone();
    let kept = if places.is_empty() { 0 } else { CopyFinder::default().leave_out_of_many(&runs, &mut places) };
    let mut kept = places[..kept].iter().peekable();
    before.iter().map(|place| kept.next_if(|kept| *kept == place).is_some()).collect()
}

/// Whether two records of one time are equal.
fn are_equal(runs: &[Run], a: Place, b: Place) -> bool {
    entry(runs, a).is_like(entry(runs, b))
        && match (item(runs, a), item(runs, b)) {
            (Item::Record(one), Item::Record(other)) => {
                say_the_same((one, &runs[a.run as usize].batch), (other, &runs[b.run as usize].batch))
            }
            _ => true,
        }
}

/// Compares all fields; frames stand in the records' batches.
fn say_the_same((a, of_a): (&Record, &Batch), (b, of_b): (&Record, &Batch)) -> bool {
    match (&a.event, &b.event) {
        (Event::Stack { owner, part, frames }, Event::Stack { owner: other, part: other_part, frames: others })
            if (a.pid, a.tid) == (b.pid, b.tid) =>
        {
            (owner, part) == (other, other_part) && of_a.frames.get(*frames).stack_hash() == of_b.frames.get(*others).stack_hash()
        }
        (
            Event::StackDefinition { part, key, frames },
            Event::StackDefinition { part: other_part, key: other, frames: others },
        ) if (a.pid, a.tid) == (b.pid, b.tid) => {
            (part, key) == (other_part, other) && of_a.frames.get(*frames).stack_hash() == of_b.frames.get(*others).stack_hash()
        }
        _ => a == b,
    }
}

/// A hash of all that a record says, so that only equal ones have the same, but for chance.
fn hash(runs: &[Run], place: Place) -> u64 {
    let words = entry(runs, place).words();
    let seed = xxh3_64_with_seed(bytemuck::cast_slice(&words), *SEED);
    let Item::Record(record) = item(runs, place) else { return seed };
    let of_words = |words: &[u64]| xxh3_64_with_seed(bytemuck::cast_slice(words), seed);
    let frames = |range| runs[place.run as usize].batch.frames.get(range).stack_hash().half();
    let pages =
        |kind, PageRange { base, size, owner, flags }: PageRange| of_words(&[kind, base, size, owner.0.into(), flags.into()]);
    match record.event {
        Event::Stack { owner, part, frames: range } => of_words(&[1, owner as u64, part as u64, frames(range)]),
        Event::StackDefinition { part, key, frames: range } => of_words(&[2, part as u64, key, frames(range)]),
        Event::StackRef { owner, part, key } => of_words(&[3, owner as u64, part as u64, key]),
        Event::Sample { address, count } => of_words(&[4, address, count.into()]),
        Event::Realloc { layer, heap, old, new, size } => of_words(&[5, layer as u64, heap, old, new, size]),
        Event::VirtualAlloc(range) => pages(6, range),
        Event::VirtualFree(range) => pages(7, range),
        Event::Fault(PageFault::Hard { address, started, bytes }) => of_words(&[8, address, started as u64, bytes.into()]),
        Event::Fault(PageFault::Soft { kind, address, code }) => of_words(&[9, kind as u64, address, code]),
        ref other => {
            let mut text = HashedText(Xxh3::with_seed(seed));
            let _ = write!(text, "{other:?}"); // it accepts everything
            text.0.digest()
        }
    }
}

/// Hashes the text that is written to it.
struct HashedText(Xxh3);

impl Write for HashedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

/// The subjects of a record, if its file can repeat it.
fn subjects(item: Item<'_>) -> [Option<Subject>; 2] {
    let memory = match item {
        Item::Block(block) => return [Some(Subject::Block(block.pid, block.layer, block.heap, block.address)), None],
        Item::Record(record) => record.memory(),
    };
    let Some(Memory { pid, layer, heap, extent }) = memory else { return [None, None] };
    match extent {
        Extent::Heap => [Some(Subject::Opened(pid, layer, heap)), None],
        Extent::Block(address) => [Some(Subject::Block(pid, layer, heap, address)), None],
        Extent::Moved(old, new) => [old, new].map(|address| Some(Subject::Block(pid, layer, heap, address))),
        Extent::Pages => [Some(Subject::Pages(pid)), None],
    }
}
