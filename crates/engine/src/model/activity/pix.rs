//! Scopes and markers of PIX, from blocks that come when they are full: each thread's scopes end in the reverse order of their
//! begins, over all of its blocks.
//!
//! A begin is forgotten where one of its thread's events may be missing: behind a part of a block that is not read, and behind a
//! number of a block that did not come. An end then finds no begin, and is counted, so no scope ever gets another one's end.
//! Scopes without an end become moments at the end of the trace.
//!
//! Memory: a scope that goes on takes its name; [`MOST_OPEN`] at most, of
//! [`MOST_THREADS`] threads, and [`MOST_DEEP`] of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::marks::{MarkTable, Past};
use crate::events::{PixBlock, PixDoubt, PixStep, PixWhat, class};
use crate::model::ProcessId;
use crate::units::{Ticks, Tid};

/// Most scopes of a thread inside each other; deeper ones are counted.
const MOST_DEEP: usize = 1 << 10;
/// Most scopes that go on at one time.
const MOST_OPEN: usize = 1 << 18;
/// Most threads with scopes that go on.
const MOST_THREADS: usize = 1 << 16;

/// A scope that goes on.
#[derive(Debug)]
struct Open {
    from: Ticks,
    name: Arc<str>,
}

/// Scopes of a thread, outer ones first.
#[derive(Debug, Default)]
struct Thread {
    open: Vec<Open>,
    /// Inner ones that are too deep to be kept.
    deeper: u64,
}

/// Counts of events that were not read, by reason.
#[derive(Clone, Copy, Debug, Default)]
struct Doubts {
    form: u64,
    header: u64,
    clock: u64,
    no_number: u64,
    cut_short: u64,
    of_gpu: u64,
    unknown: u64,
    cut_names: u64,
    lost: u64,
    without_begin: u64,
    without_end: u64,
    too_deep: u64,
    before: u64,
}

/// Collects scopes and markers.
#[derive(Debug, Default)]
pub(super) struct PixTable {
    threads: BTreeMap<(ProcessId, Tid), Thread>,
    /// Number of the latest block of each process.
    latest: BTreeMap<ProcessId, u32>,
    open: usize,
    doubts: Doubts,
}

impl PixTable {
    /// Applies an event of a process that is not read.
    pub(super) fn unread(&mut self, doubt: PixDoubt, process: Option<ProcessId>) {
        let count = match doubt {
            PixDoubt::Header => &mut self.doubts.header,
            PixDoubt::Form => &mut self.doubts.form,
            PixDoubt::Clock => &mut self.doubts.clock,
            PixDoubt::NoNumber => &mut self.doubts.no_number,
        };
        *count += 1;
        // Which thread's scopes it has is not known.
        if matches!(doubt, PixDoubt::Form | PixDoubt::Clock) {
            self.forget(|(of, _)| Some(of) == process);
        }
    }

    pub(super) fn block(&mut self, block: &PixBlock, process: ProcessId, trace_start: i64, marks: &mut MarkTable) {
        let PixBlock { number, tid, times: _, ref steps, of_gpu, unknown, cut_names, is_whole } = *block;
        for (count, more) in [
            (&mut self.doubts.of_gpu, of_gpu),
            (&mut self.doubts.unknown, unknown),
            (&mut self.doubts.cut_names, cut_names),
            (&mut self.doubts.cut_short, (!is_whole).into()),
        ] {
            *count += u64::from(more);
        }
        let latest = self.latest.entry(process).or_insert(number);
        let is_behind_gap = number > latest.saturating_add(1);
        *latest = number.max(*latest);
        if is_behind_gap {
            self.doubts.lost += 1;
            self.forget(|(of, _)| of == process);
        }
        for PixStep { at, what } in steps {
            let at = Ticks::from_raw(*at, trace_start);
            self.step((process, tid), at, what, marks);
        }
        let is_over = |thread: &Thread| thread.open.is_empty() && thread.deeper == 0;
        if !is_whole {
            self.forget(|of| of == (process, tid));
        } else if self.threads.get(&(process, tid)).is_some_and(is_over) {
            self.threads.remove(&(process, tid));
        }
    }

    fn step(&mut self, of: (ProcessId, Tid), at: Ticks, what: &PixWhat, marks: &mut MarkTable) {
        if self.threads.len() >= MOST_THREADS && matches!(what, PixWhat::Begin(_)) && !self.threads.contains_key(&of) {
            self.doubts.too_deep += 1;
            return;
        }
        let thread = self.threads.entry(of).or_default();
        match what {
            PixWhat::Begin(_) if thread.deeper > 0 || thread.open.len() >= MOST_DEEP || self.open >= MOST_OPEN => {
                thread.deeper += 1;
                self.doubts.too_deep += 1;
            }
            PixWhat::Begin(name) => {
                thread.open.push(Open { from: at, name: marks.past_text(name) });
                self.open += 1;
            }
            PixWhat::End if thread.deeper > 0 => thread.deeper -= 1,
            PixWhat::End => match thread.open.pop() {
                None => self.doubts.without_begin += 1,
                Some(Open { from, name }) => {
                    self.open -= 1;
                    self.mark(of, (from, at), name, marks);
                }
            },
            PixWhat::Marker(name) => {
                let name = marks.past_text(name);
                self.mark(of, (at, at), name, marks);
            }
        }
    }

    /// Adds a mark, unless it was over when the trace began.
    fn mark(&mut self, (process, tid): (ProcessId, Tid), (from, to): (Ticks, Ticks), text: Arc<str>, marks: &mut MarkTable) {
        if to < Ticks(0) {
            self.doubts.before += 1;
        } else {
            marks.add_past(class::PIX, Past { from, to, process, tid, text });
        }
    }

    /// Forgets the begins of threads.
    fn forget(&mut self, is_meant: impl Fn((ProcessId, Tid)) -> bool) {
        let mut gone = 0;
        self.threads.retain(|&of, thread| {
            let is_gone = is_meant(of);
            gone += if is_gone { thread.open.len() } else { 0 };
            !is_gone
        });
        self.open -= gone;
        self.doubts.without_end += gone as u64;
    }

    /// Makes moments of the scopes that have not ended: nothing comes any more.
    pub(super) fn finish(&mut self, marks: &mut MarkTable) {
        self.doubts.without_end += self.open as u64;
        for (of, thread) in std::mem::take(&mut self.threads) {
            for Open { from, name } in thread.open {
                self.mark(of, (from, from), name, marks);
            }
        }
        self.open = 0;
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.open * size_of::<Open>() + self.threads.len() * size_of::<((ProcessId, Tid), Thread)>()) as u64
    }

    /// A sentence about what was not read, if anything was; `is_complete`: whether no more comes.
    pub(super) fn left_out(&self, is_complete: bool) -> Option<String> {
        let Doubts {
            form,
            header,
            clock,
            no_number,
            cut_short,
            of_gpu,
            unknown,
            cut_names,
            lost,
            without_begin,
            without_end,
            too_deep,
            before,
        } = self.doubts;
        let parts = [
            (form, "events in a form that is not known"),
            (header, "timing headers, which no public layout describes"),
            (clock, "blocks whose times are not on the trace's clock"),
            (no_number, "values of counters that are no number"),
            (cut_short, "blocks that could not be read to their end"),
            (lost, "gaps between blocks"),
            (of_gpu, "events of GPU contexts, which are not read"),
            (unknown, "events of unknown types"),
            (cut_names, "names that the program's buffer cut"),
            (without_begin, "ends of scopes without a begin"),
            (without_end + if is_complete { self.open as u64 } else { 0 }, "scopes without an end"),
            (too_deep, "scopes inside or beside too many others"),
            (before, "marks from before the trace"),
        ];
        let parts: Vec<String> =
            parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{what}: {count}")).collect();
        (!parts.is_empty()).then(|| format!("PIX: {}", parts.join("; ")))
    }
}
