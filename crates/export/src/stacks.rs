//! Stacks of processes with their numbers, from which formats for flame graphs and call trees are made.

use std::sync::Arc;

use super::{ExportError, Exported, Value};
use crate::model::{NodeId, Process, ProcessId, Site, Trace};
use crate::names::FrameKind;
use crate::query::{CallerFinder, CallerFrame, FrameName, GroupNumbers, Recorded, each_stack, sample_counts, sampled_stacks};
use crate::tables::KeyedMap;
use crate::units::Pid;

/// A stack of a process.
pub(super) struct StackMet<'a> {
    pub(super) process: ProcessId,
    /// Name and id of the process; its start, too, if another process has the same name and id.
    pub(super) process_name: Arc<str>,
    /// Its innermost frame.
    pub(super) stack: NodeId,
    /// The frames, outermost first. Empty if no stack was recorded, or if all frames are folded away.
    pub(super) frames: Vec<FrameMet<'a>>,
    /// Whether a stack was recorded.
    pub(super) is_recorded: bool,
    pub(super) numbers: GroupNumbers,
}

/// A recorded frame, and the level of one of the functions inlined there.
#[derive(Clone, Copy)]
pub(super) struct FrameMet<'a> {
    pub(super) recorded: Recorded<'a>,
    pub(super) level: u16,
}

impl<'a> FrameMet<'a> {
    pub(super) fn name(&self) -> FrameName<'a> {
        self.recorded.name(self.level)
    }

    /// The source file and line, as far as they are known.
    pub(super) fn source(&self) -> (Option<&'a str>, Option<u32>) {
        self.recorded.function(self.level).map_or((None, None), |function| (function.file, function.line))
    }
}

/// The words in place of the frames of a stack that was not recorded.
pub(super) const NO_STACK: &str = "(no stack recorded)";

/// The text in place of the frames of a stack that has none.
pub(super) fn no_frames(stack: &StackMet<'_>) -> &'static str {
    if stack.is_recorded { "(all frames folded)" } else { NO_STACK }
}

/// Names of processes.
pub(super) struct ProcessNames<'a> {
    trace: &'a Trace,
    lives: KeyedMap<(Pid, &'a str), usize>,
    known: KeyedMap<ProcessId, Arc<str>>,
}

impl<'a> ProcessNames<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let mut lives: KeyedMap<(Pid, &str), usize> = KeyedMap::default();
        trace.processes.iter().for_each(|process| *lives.entry((process.pid, &process.name)).or_default() += 1);
        Self { trace, lives, known: KeyedMap::default() }
    }

    /// Name and id of a process; its start, too, if another process has the same name and id.
    pub(super) fn of(&mut self, process: ProcessId) -> Arc<str> {
        let Self { trace, lives, known } = self;
        let name = || {
            let of = trace.process(process);
            process_name(trace, of, lives.get(&(of.pid, &of.name)).is_some_and(|&lives| lives > 1)).into()
        };
        Arc::clone(known.entry(process).or_insert_with(name))
    }
}

/// Calls `each` with all stacks that have a value of this kind: those of rows, or those of samples, whose number is
/// their count.
pub(super) fn each<'a>(
    exported: &Exported<'a>,
    value: Value,
    mut each: impl FnMut(StackMet<'a>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let Exported { index, names, request, mask, cancel, .. } = exported;
    let trace = exported.trace();
    let mut called = ProcessNames::new(trace);
    let innermost = if value == Value::Samples { FrameKind::Sampled } else { FrameKind::Innermost };
    let mut finder = exported.request.fold.is_any().then(|| CallerFinder::new(trace, exported.names, innermost));
    if value == Value::Samples {
        let counts = sample_counts(trace, request.interval, request.filter.process.as_deref());
        for (count, site) in sampled_stacks(trace, &counts) {
            cancel.check()?;
            let site = &trace.activity.samples.sites[site.0 as usize];
            let numbers = GroupNumbers { count, ..GroupNumbers::default() };
            each(met(exported, site, (site.caller, called.of(site.caller)), (innermost, finder.as_mut()), numbers))?;
        }
        return Ok(());
    }
    each_stack(index, request, mask, names, cancel, |site, numbers| {
        let site = trace.site(site);
        let process = trace.process_of(site);
        each(met(exported, site, (process, called.of(process)), (innermost, finder.as_mut()), numbers.clone()))
    })
}

/// The stack of a site; `innermost` is the kind of its innermost address. There is a finder if frames are folded away.
fn met<'a>(
    exported: &Exported<'a>,
    site: &Site,
    (process, process_name): (ProcessId, Arc<str>),
    (innermost, finder): (FrameKind, Option<&mut CallerFinder<'a>>),
    numbers: GroupNumbers,
) -> StackMet<'a> {
    let trace = exported.trace();
    let fold = exported.request.fold;
    let end = finder.map_or_else(|| CallerFrame::innermost(site), |finder| fold.innermost(site, &finder.caller(site)));
    let path = trace.stacks.path(end.node);
    let is_recorded = !path.is_empty();
    let &Site { caller, first, stack, .. } = site;
    let recorded = path.into_iter().map(|node| {
        let kind = if node == stack { innermost } else { FrameKind::Caller };
        (node, Recorded::of_kind(trace, exported.names, node, (caller, first), kind))
    });
    let frames = recorded.flat_map(|(node, recorded)| {
        let levels = recorded.shown(fold.is_any());
        levels.map(move |level| (node, FrameMet { recorded, level }))
    });
    let frames = frames.filter(|(node, frame)| *node != end.node || frame.level <= end.level).map(|(_, frame)| frame);
    StackMet { process, process_name, stack, frames: frames.collect(), is_recorded, numbers }
}

/// The value of a stack.
pub(super) fn weight(numbers: &GroupNumbers, value: Value) -> i128 {
    match value {
        Value::Outstanding => numbers.outstanding_to.into(),
        Value::Impacting => i128::from(numbers.outstanding_to) - i128::from(numbers.outstanding_from),
        Value::Allocated => numbers.allocated_size.into(),
        Value::Count | Value::Samples => numbers.count.into(),
        Value::Peak => numbers.peak.into(),
    }
}

/// The value of a stack as a signed number of 64 bits, with limits.
pub(super) fn clamped(weight: i128) -> i64 {
    weight.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

fn process_name(trace: &Trace, process: &Process, has_others: bool) -> String {
    let since = match process.start.filter(|_| has_others) {
        Some(start) => format!(", from {} s", trace.clock.seconds(start)),
        None => String::new(),
    };
    match process.name.as_str() {
        "" => format!("{}{since}", process.label()),
        name => format!("{name} ({}{since})", process.pid),
    }
}
