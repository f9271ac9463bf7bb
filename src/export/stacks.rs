//! What formats for flame graphs and call trees are made of: stacks of processes, each with its numbers.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{ExportError, Exported, Value};
use crate::model::{Process, ProcessId, SiteId, Trace};
use crate::query::{FrameName, GroupNumbers, Recorded, each_stack};
use crate::units::Pid;

/// A stack of a process.
pub(super) struct StackMet<'a> {
    pub(super) process: ProcessId,
    /// Its name and id; where it is one of several lives of that id under that name, its start.
    pub(super) process_name: Arc<str>,
    /// A site that has it.
    pub(super) site: SiteId,
    /// The outermost first. Empty where no stack was recorded, or nothing is left of it.
    pub(super) frames: Vec<FrameMet<'a>>,
    /// Whether a stack was recorded.
    pub(super) is_recorded: bool,
    pub(super) numbers: GroupNumbers,
}

/// A recorded frame, and which of the functions inlined there.
#[derive(Clone, Copy)]
pub(super) struct FrameMet<'a> {
    pub(super) recorded: Recorded<'a>,
    pub(super) level: u16,
}

impl<'a> FrameMet<'a> {
    pub(super) fn name(&self) -> FrameName<'a> {
        self.recorded.name(self.level)
    }
}

/// What stands in the place of frames where there are none.
pub(super) fn no_frames(stack: &StackMet<'_>) -> &'static str {
    if stack.is_recorded { "(all frames folded)" } else { "(no stack recorded)" }
}

/// Tells all stacks.
pub(super) fn each<'a>(
    exported: &Exported<'a>,
    mut each: impl FnMut(StackMet<'a>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let Exported { index, names, request, mask, cancel } = exported;
    let trace = exported.trace();
    let mut lives: FxHashMap<(Pid, &str), usize> = FxHashMap::default();
    trace.processes.iter().for_each(|process| *lives.entry((process.pid, &process.name)).or_default() += 1);
    let mut of_processes: FxHashMap<ProcessId, Arc<str>> = FxHashMap::default();
    each_stack(index, request, mask, names, cancel, |site, numbers| {
        let process = trace.process_of(trace.site(site));
        let name = || {
            let of = trace.process(process);
            process_name(trace, of, lives.get(&(of.pid, &of.name)).is_some_and(|&lives| lives > 1)).into()
        };
        let name = of_processes.entry(process).or_insert_with(name);
        each(met(exported, site, Arc::clone(name), numbers.clone()))
    })
}

/// The stack of a site.
fn met<'a>(exported: &Exported<'a>, id: SiteId, process_name: Arc<str>, numbers: GroupNumbers) -> StackMet<'a> {
    let trace = exported.trace();
    let site = trace.site(id);
    let path = trace.stacks.path(site.stack);
    let is_recorded = !path.is_empty();
    let recorded = path.into_iter().map(|node| {
        let is_innermost = node == site.stack;
        Recorded::of(trace, exported.names, node, site.caller, site.first, is_innermost)
    });
    let frames = recorded.flat_map(|recorded| {
        let levels = recorded.shown(exported.request.fold);
        levels.map(move |level| FrameMet { recorded, level })
    });
    StackMet { process: trace.process_of(site), process_name, site: id, frames: frames.collect(), is_recorded, numbers }
}

/// What a stack weighs.
pub(super) fn weight(numbers: &GroupNumbers, value: Value) -> i128 {
    match value {
        Value::Outstanding => numbers.outstanding_to.into(),
        Value::Impacting => numbers.impacting_size.into(),
        Value::Allocated => numbers.allocated_size.into(),
        Value::Count => numbers.count.into(),
        Value::Peak => numbers.peak.into(),
    }
}

/// The same where numbers are of 64 bits and signed.
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

/// A name without line breaks and other control characters.
pub(super) fn in_one_line(name: &str) -> Cow<'_, str> {
    if name.contains(char::is_control) { name.replace(char::is_control, " ").into() } else { name.into() }
}
