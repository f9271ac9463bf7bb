//! Events in order become rows, each rule of the contract written down as it reads.

use highwater::events::{CommittedRegion, Event, PageRange, ProcessChange, mem};
use highwater::units::Layer;

/// Ticks a second of all generated captures.
pub const FREQUENCY: i64 = 10_000_000;

/// The process of events that neither say it themselves nor have a stack that does.
pub const UNKNOWN: u32 = u32::MAX;

/// One event with what is true of it, however its records tell it.
#[derive(Clone, Debug)]
pub struct Step {
    /// Ticks since the trace start.
    pub time: i64,
    pub pid: u32,
    pub tid: Option<u32>,
    pub event: Event,
    /// Innermost frame first.
    pub stack: Vec<u64>,
}

/// Where a row lies: the heap, or one tracker of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Commit,
    Heap(u64),
    Tracker(usize),
}

/// One life of a block or of a contiguous piece of committed pages.
#[derive(Clone, Debug)]
pub struct Row {
    pub life: usize,
    pub place: Place,
    pub address: u64,
    pub size: u64,
    /// `i64::MIN` for rows born before the trace.
    pub birth: i64,
    pub death: Option<i64>,
    pub stack: Vec<u64>,
    pub thread: Option<u32>,
    /// Stack of the event that freed it; empty where there is none.
    pub freed_stack: Vec<u64>,
    /// Whether a block was freed by another thread than allocated it; both are known.
    pub cross_thread: bool,
}

/// One life of a process id.
#[derive(Clone, Debug)]
pub struct Life {
    pub pid: u32,
    pub name: String,
    /// `None` where no start was seen.
    pub start: Option<i64>,
    key: u64,
    ended: Option<i64>,
    first_seen: i64,
    /// Whether the kernel says that it did anything itself, or was running when the trace began.
    acted: bool,
    /// When it told of heaps or trackers first.
    first_wrote: Option<i64>,
}

/// One opening of a tracker's handle under one name.
#[derive(Clone, Debug)]
pub struct Tracker {
    pub handle: u64,
    pub name: Option<String>,
    life: usize,
    closed: bool,
}

/// A free of what was not alive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnmatchedFree {
    pub time: i64,
    /// Process whose memory it was; nobody's if no event tells.
    pub pid: u32,
    pub layer: Layer,
    handle: u64,
    place: Option<Place>,
    /// Of pages how many bytes.
    pub size: Option<u64>,
    /// Innermost first.
    pub stack: Vec<u64>,
}

/// All rows so far and what is needed to go on.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    pub lives: Vec<Life>,
    pub trackers: Vec<Tracker>,
    pub rows: Vec<Row>,
    /// Address ranges set aside: life, first byte, end.
    reserved: Vec<(usize, u64, u64)>,
    pub unmatched_frees: Vec<UnmatchedFree>,
    pub superseded: u64,
    pub inferred_frees: u64,
}

impl Replay {
    pub fn of(steps: &[Step]) -> Self {
        let mut replay = Self::default();
        steps.iter().for_each(|step| replay.apply(step));
        replay
    }

    /// Ranges that processes which have not ended set aside: life, first byte, end.
    pub fn reserved(&self) -> impl Iterator<Item = (usize, u64, u64)> {
        self.reserved.iter().copied().filter(|&(life, ..)| self.lives[life].ended.is_none())
    }

    fn apply(&mut self, step: &Step) {
        match &step.event {
            Event::HeapOpen { layer, heap, name } => {
                let life = self.writing(step.pid, step.time);
                if *layer == Layer::Tracker {
                    self.open_tracker(life, *heap, name.as_deref());
                }
            }
            Event::HeapClose { layer, heap, name } => self.close(step, *layer, *heap, name.as_deref()),
            Event::Alloc { layer, heap, address, size } => self.alloc(step, *layer, *heap, *address, *size),
            Event::Free { layer: Layer::Heap, heap, address } if step.pid == UNKNOWN => {
                self.free_of_anybody(step, *heap, *address);
            }
            Event::Free { layer, heap, address } => self.free(step, *layer, *heap, *address),
            Event::Realloc { layer, heap, old, new, size } => self.realloc(step, *layer, *heap, *old, *new, *size),
            Event::VirtualAlloc(range) => self.virtual_alloc(step, range),
            Event::VirtualFree(range) => self.virtual_free(step, range),
            Event::CommitRundown(region) => {
                let life = self.acting(region.owner.0, step.time);
                let CommittedRegion { base, size, committed, owner } = *region;
                self.commit(life, &PageRange { base, size: committed, owner, flags: mem::COMMIT }, i64::MIN, None, &[]);
                if size > 0 {
                    self.reserve(life, base, base + size);
                }
            }
            Event::Process(change, info) => match change {
                ProcessChange::Start => self.start(step, info.key, &info.name),
                ProcessChange::End => self.end(step, info.key, &info.name),
                ProcessChange::Rundown => self.rundown(step, info.key, &info.name),
            },
            other => unreachable!("{other:?} is no step"),
        }
    }

    // Processes

    fn latest(&self, pid: u32) -> Option<usize> {
        self.lives.iter().rposition(|life| life.pid == pid)
    }

    fn current(&self, pid: u32) -> Option<usize> {
        self.latest(pid).filter(|&life| self.lives[life].ended.is_none())
    }

    fn current_or_new(&mut self, pid: u32, at: i64) -> usize {
        self.current(pid).unwrap_or_else(|| self.new_life(pid, None, at))
    }

    fn acting(&mut self, pid: u32, at: i64) -> usize {
        let life = self.current_or_new(pid, at);
        self.lives[life].acted = true;
        life
    }

    fn writing(&mut self, pid: u32, at: i64) -> usize {
        let life = self.current_or_new(pid, at);
        self.lives[life].first_wrote.get_or_insert(at);
        life
    }

    fn new_life(&mut self, pid: u32, start: Option<i64>, at: i64) -> usize {
        let life = Life { pid, name: String::new(), start, key: 0, ended: None, first_seen: at, acted: false, first_wrote: None };
        self.lives.push(life);
        self.lives.len() - 1
    }

    fn describe(&mut self, life: usize, key: u64, name: &str) {
        let life = &mut self.lives[life];
        if life.name.is_empty() {
            life.name = name.to_owned();
        }
        if life.key == 0 {
            life.key = key;
        }
    }

    fn start(&mut self, step: &Step, key: u64, name: &str) {
        if let Some(life) = self.current(step.pid) {
            let known = &self.lives[life];
            let same = known.key != 0 && known.key == key;
            let has_run = known.first_wrote.is_some_and(|wrote| (step.time - wrote) * 1000 > FREQUENCY);
            let unbegun = known.start.is_none() && !known.acted && !has_run;
            // All that is known of it is what its parent did for it just before.
            let is_other = known.key != 0 && key != 0 && known.key != key;
            let is_soon = step.time - known.first_seen <= FREQUENCY;
            let is_child = unbegun && known.name.is_empty() && !is_other && is_soon;
            if same || is_child {
                if unbegun {
                    self.lives[life].start = Some(step.time);
                }
                return self.describe(life, key, name);
            }
            self.end_life(life, step.time);
        } else if self.latest(step.pid).is_some_and(|life| {
            let known = &self.lives[life];
            key != 0 && known.key == key && known.ended == Some(step.time)
        }) {
            return; // of a process that started and ended at one tick
        }
        let life = self.new_life(step.pid, Some(step.time), step.time);
        self.describe(life, key, name);
    }

    fn rundown(&mut self, step: &Step, key: u64, name: &str) {
        let latest = self.latest(step.pid).map(|life| (life, self.lives[life].clone()));
        match latest {
            Some((_, known)) if known.ended.is_some() && known.key == key && key != 0 => {}
            Some((life, known)) if known.ended.is_none() && known.key != 0 && key != 0 && known.key != key => {
                self.end_life(life, step.time);
                let life = self.new_life(step.pid, None, step.time);
                self.describe(life, key, name);
            }
            _ => {
                let life = self.current_or_new(step.pid, step.time);
                self.describe(life, key, name);
            }
        }
    }

    fn end(&mut self, step: &Step, key: u64, name: &str) {
        let told_again = self.latest(step.pid).is_some_and(|life| {
            let known = &self.lives[life];
            let is_its = |known: &Life| known.key == key && key != 0;
            let before = self.lives[..life].iter().rev().find(|life| life.pid == step.pid);
            // The one before it, whose end another session told before the id was used again.
            let is_of_before = known.ended.is_none() && known.key != 0 && !is_its(known) && before.is_some_and(is_its);
            let at_once = known.ended == Some(step.time) && (known.key == 0 || key == 0);
            is_of_before || at_once || (known.ended.is_some() && is_its(known))
        });
        if !told_again {
            let life = self.current_or_new(step.pid, step.time);
            self.describe(life, key, name);
            self.end_life(life, step.time);
        }
    }

    /// A process's end frees its commit rows, not its heap and tracker rows.
    fn end_life(&mut self, life: usize, at: i64) {
        self.lives[life].ended = Some(at);
        self.reserved.retain(|(of, ..)| *of != life);
        self.kill(at, |row| row.life == life && row.place == Place::Commit);
    }

    fn kill(&mut self, at: i64, which: impl Fn(&Row) -> bool) {
        for row in self.rows.iter_mut().filter(|row| row.death.is_none() && which(row)) {
            row.death = Some(at);
        }
    }

    // Heaps and trackers

    fn tracker(&self, life: usize, handle: u64) -> Option<usize> {
        self.trackers.iter().rposition(|t| t.life == life && t.handle == handle)
    }

    fn open_tracker(&mut self, life: usize, handle: u64, name: Option<&str>) {
        let name = name.map(str::to_owned);
        if let Some(known) = self.tracker(life, handle).map(|i| &mut self.trackers[i]) {
            if known.name.is_none() && !known.closed {
                known.name = name;
                return;
            }
            if known.name == name {
                known.closed = false;
                return;
            }
        }
        self.trackers.push(Tracker { handle, name, life, closed: false });
    }

    fn place(&self, life: usize, layer: Layer, handle: u64) -> Option<Place> {
        match layer {
            Layer::Heap => Some(Place::Heap(handle)),
            _ => self.tracker(life, handle).map(Place::Tracker),
        }
    }

    fn close(&mut self, step: &Step, layer: Layer, handle: u64, name: Option<&str>) {
        let Some(life) = self.current(step.pid) else { return };
        let Some(place) = self.place(life, layer, handle) else { return };
        if let Place::Tracker(i) = place {
            let tracker = &mut self.trackers[i];
            tracker.closed = true;
            if tracker.name.is_none() {
                tracker.name = name.map(str::to_owned);
            }
        }
        self.kill(step.time, |row| row.life == life && row.place == place);
    }

    /// The live block at an address, by process life, heap and address.
    fn block(&self, pid: u32, layer: Layer, handle: u64, address: u64) -> Option<usize> {
        let life = self.current(pid)?;
        let place = self.place(life, layer, handle)?;
        self.rows.iter().position(|row| row.death.is_none() && row.life == life && row.place == place && row.address == address)
    }

    fn alloc(&mut self, step: &Step, layer: Layer, handle: u64, address: u64, size: u64) {
        let life = self.writing(step.pid, step.time);
        let place = self.place(life, layer, handle).unwrap_or_else(|| {
            self.trackers.push(Tracker { handle, name: None, life, closed: false });
            Place::Tracker(self.trackers.len() - 1)
        });
        if let Some(older) = self.block(step.pid, layer, handle, address) {
            self.rows[older].death = Some(step.time);
            self.superseded += 1;
        }
        self.rows.push(Row {
            life,
            place,
            address,
            size,
            birth: step.time,
            death: None,
            stack: step.stack.clone(),
            thread: step.tid,
            freed_stack: Vec::new(),
            cross_thread: false,
        });
    }

    fn free(&mut self, step: &Step, layer: Layer, handle: u64, address: u64) {
        match self.block(step.pid, layer, handle, address) {
            Some(row) => self.end_row(row, step),
            None => self.unmatched(step, (step.pid, layer, handle), None),
        }
    }

    fn unmatched(&mut self, step: &Step, (pid, layer, handle): (u32, Layer, u64), size: Option<u64>) {
        let place = self.current(pid).filter(|_| layer == Layer::Tracker).and_then(|life| self.place(life, layer, handle));
        let stack = step.stack.clone();
        self.unmatched_frees.push(UnmatchedFree { time: step.time, pid, layer, handle, place, size, stack });
    }

    /// Its heap as reports name it.
    pub fn heap_of(&self, free: &UnmatchedFree) -> Option<String> {
        let name = match free.place {
            Some(Place::Tracker(tracker)) => self.trackers[tracker].name.clone(),
            _ => None,
        };
        (free.layer != Layer::Commit).then(|| name.unwrap_or_else(|| format!("{:#x}", free.handle)))
    }

    /// A free that tells nobody's process: that of the one running process with a block there.
    fn free_of_anybody(&mut self, step: &Step, handle: u64, address: u64) {
        let is_there = |row: &Row| {
            row.death.is_none()
                && self.lives[row.life].ended.is_none()
                && row.place == Place::Heap(handle)
                && row.address == address
        };
        let there: Vec<usize> = (0..self.rows.len()).filter(|&i| is_there(&self.rows[i])).collect();
        match there[..] {
            [row] => {
                self.rows[row].death = Some(step.time);
                self.inferred_frees += 1;
            }
            _ => self.unmatched(step, (UNKNOWN, Layer::Heap, handle), None),
        }
    }

    fn realloc(&mut self, step: &Step, layer: Layer, handle: u64, old: u64, new: u64, size: u64) {
        if layer == Layer::Heap && new == 0 {
            return; // it failed
        }
        let summed_up = self.block(step.pid, layer, handle, new).filter(|&row| {
            let is_latest = self.latest_of_thread(step, handle) == Some(row);
            layer == Layer::Heap && old != new && self.rows[row].size == size && is_latest
        });
        match summed_up {
            None if old == 0 => self.alloc(step, layer, handle, new, size),
            None => {
                self.free(step, layer, handle, old);
                self.alloc(step, layer, handle, new, size);
            }
            Some(_) if old == 0 => {}
            // A block that took the old one's address since is another.
            Some(new) => match self.block(step.pid, layer, handle, old) {
                Some(old) if old < new => self.end_row(old, step),
                _ => {}
            },
        }
    }

    /// The last block that a thread allocated in an NT heap, alive or not.
    fn latest_of_thread(&self, step: &Step, handle: u64) -> Option<usize> {
        let life = self.current(step.pid)?;
        let is_its = |row: &Row| row.life == life && row.place == Place::Heap(handle) && row.thread == step.tid;
        self.rows.iter().rposition(is_its)
    }

    fn end_row(&mut self, row: usize, by: &Step) {
        let row = &mut self.rows[row];
        (row.death, row.freed_stack) = (Some(by.time), by.stack.clone());
        row.cross_thread = row.place != Place::Commit && row.thread.zip(by.tid).is_some_and(|(thread, by)| thread != by);
    }

    // Commit

    fn virtual_alloc(&mut self, step: &Step, range: &PageRange) {
        if range.flags & (mem::COMMIT | mem::RESERVE) == 0 || range.size == 0 {
            return;
        }
        self.acting(step.pid, step.time);
        let life = self.current_or_new(range.owner.0, step.time);
        if range.flags & mem::RESERVE != 0 {
            self.supersede_pages(life, range, step.time);
        }
        self.reserve(life, range.base, range.base + range.size);
        if range.flags & mem::COMMIT != 0 {
            self.commit(life, range, step.time, step.tid, &step.stack);
        }
    }

    /// Rows with pages where something is reserved now: their release was lost.
    fn supersede_pages(&mut self, life: usize, range: &PageRange, at: i64) {
        let overlaps = |row: &Row| row.address < range.base + range.size && range.base < row.address + row.size;
        for row in self.rows.iter_mut().filter(|row| row.life == life && row.place == Place::Commit && row.death.is_none()) {
            if overlaps(row) {
                row.death = Some(at);
                self.superseded += 1;
            }
        }
    }

    /// Sets a range aside; ranges that overlap become one.
    fn reserve(&mut self, life: usize, mut from: u64, mut to: u64) {
        let touches = |&(of, a, b): &(usize, u64, u64)| of == life && a < to && from < b;
        let touched: Vec<_> = self.reserved.iter().copied().filter(touches).collect();
        self.reserved.retain(|range| !touched.contains(range));
        for (_, a, b) in touched {
            (from, to) = (from.min(a), to.max(b));
        }
        self.reserved.push((life, from, to));
    }

    /// Page by page: one row for each contiguous piece that was not committed.
    fn commit(&mut self, life: usize, range: &PageRange, birth: i64, thread: Option<u32>, stack: &[u64]) {
        const PAGE: u64 = 0x1000;
        let committed = |page: u64, rows: &[Row]| {
            rows.iter().any(|row| {
                row.life == life
                    && row.place == Place::Commit
                    && row.death.is_none()
                    && (row.address..row.address + row.size).contains(&page)
            })
        };
        let before = self.rows.clone();
        let mut joins = false;
        for page in (range.base..range.base + range.size).step_by(PAGE as usize) {
            if committed(page, &before) {
                joins = false;
                continue;
            }
            match self.rows.last_mut() {
                Some(piece) if joins => piece.size += PAGE,
                _ => self.rows.push(Row {
                    life,
                    place: Place::Commit,
                    address: page,
                    size: PAGE,
                    birth,
                    death: None,
                    stack: stack.to_vec(),
                    thread,
                    freed_stack: Vec::new(),
                    cross_thread: false,
                }),
            }
            joins = true;
        }
        if range.size > 0 {
            self.reserve(life, range.base, range.base + range.size);
        }
    }

    fn virtual_free(&mut self, step: &Step, range: &PageRange) {
        if range.flags & (mem::DECOMMIT | mem::RELEASE) == 0 {
            return;
        }
        let Some(life) = self.current(range.owner.0) else {
            let has_ended = self.latest(range.owner.0).is_some();
            if !has_ended {
                self.unmatched(step, (range.owner.0, Layer::Commit, 0), Some(range.size));
            }
            return;
        };
        let from = range.base;
        let mut to = from + range.size;
        if range.size == 0 {
            // No size means the whole of what was set aside from here on.
            to = self.reserved.iter().find(|&&(of, a, _)| of == life && a == from).map_or(to, |&(_, _, b)| b);
        }
        let known = self.reserved.iter().any(|&(of, a, b)| of == life && a < to && from < b && from < to);
        let ended_any = self.decommit(life, from, to, step);
        if range.flags & mem::RELEASE != 0 {
            self.unreserve(life, from, to);
            // Placeholders are split or joined: what they set aside stays so.
            const COALESCE_OR_PRESERVE: u32 = 3;
            if range.flags & COALESCE_OR_PRESERVE != 0 {
                if from < to {
                    self.reserve(life, from, to);
                }
                return;
            }
        }
        if !known && !ended_any {
            self.unmatched(step, (range.owner.0, Layer::Commit, 0), Some(range.size));
        }
    }

    /// Ends just this part of each row; the rest lives on as rows of its own.
    fn decommit(&mut self, life: usize, from: u64, to: u64, step: &Step) -> bool {
        let mut ended_any = false;
        for i in 0..self.rows.len() {
            let row = self.rows[i].clone();
            let end = row.address + row.size;
            let (a, b) = (row.address.max(from), end.min(to));
            if row.life != life || row.place != Place::Commit || row.death.is_some() || a >= b {
                continue;
            }
            ended_any = true;
            self.rows[i] = Row { address: a, size: b - a, ..row.clone() };
            self.end_row(i, step);
            for (a, b) in [(row.address, a), (b, end)] {
                if a < b {
                    self.rows.push(Row { address: a, size: b - a, ..row.clone() });
                }
            }
        }
        ended_any
    }

    fn unreserve(&mut self, life: usize, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let mut kept = Vec::new();
        for (of, a, b) in std::mem::take(&mut self.reserved) {
            if of != life || b <= from || to <= a {
                kept.push((of, a, b));
                continue;
            }
            kept.extend([(of, a, from), (of, to, b)].into_iter().filter(|(_, a, b)| a < b));
        }
        self.reserved = kept;
    }
}
