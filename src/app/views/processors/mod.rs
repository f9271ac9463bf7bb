//! The CPU samples of the interval: a list of processes, and the flame graph of one of them, for comparison
//! with that of memory. Samples are not memory, so filters do not apply here; only the process to which the
//! views are filtered comes first.
//!
//! Cost: a look at each sample of the interval, and a pass over their sites. The functions of samples are
//! computed once for each state of the names.

mod list;
mod panel;

use std::sync::Arc;

use super::flame::{Icicle, Measure, SampledIn, Unit, Way};
use super::view::View;
use crate::app::document::Document;
use crate::app::jobs::{ForestKind, QueryContext};
use crate::app::services::names::SeenFrames;
use crate::app::state::ids::ViewId;
use crate::model::{ProcessId, Trace};
use crate::query::{Cancelled, FlameWeights, Key, Path, ProcessSamples, process_samples, sample_sums_where};
use crate::tables::KeyedMap;
use list::ProcessList;

/// The processes whose samples are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessChoice {
    /// All processes together.
    All,
    /// One process; `None` for threads whose process is not known.
    One(Option<ProcessId>),
}

/// The view's request.
#[derive(PartialEq)]
pub struct Request {
    choice: Option<ProcessChoice>,
    in_scope: Option<ProcessId>,
    is_inverted: bool,
    focus: Way,
    search: String,
}

/// The samples of an interval.
pub struct Ran {
    list: Arc<ProcessList>,
    choice: ProcessChoice,
    icicle: Icicle,
    /// Its frames on the screen that have no name yet.
    nameless: Arc<SeenFrames>,
}

/// State of the view.
#[derive(Clone, Default)]
pub struct Processors {
    /// The user's choice, if there is one.
    choice: Option<ProcessChoice>,
    is_inverted: bool,
    focus: Way,
    search: String,
    ran: Option<Arc<Ran>>,
}

impl Processors {
    fn choose(&mut self, choice: ProcessChoice) {
        self.choice = Some(choice);
        self.focus.clear();
    }
}

impl View for Processors {
    const ID: ViewId = ViewId::Processors;
    type Request = Request;
    type Answer = Ran;

    fn request(&self, document: &Document) -> Option<Request> {
        (!document.trace.activity.samples.list.is_empty()).then(|| Request {
            choice: self.choice,
            in_scope: in_scope(document),
            is_inverted: self.is_inverted,
            focus: self.focus.clone(),
            search: self.search.trim().to_lowercase(),
        })
    }

    fn answer(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Ran)) -> Result<(), Cancelled> {
        let (trace, interval) = (Arc::clone(query.trace()), query.interval());
        let by_process = in_order(process_samples(&trace, interval), request.in_scope);
        let choice = request.choice.unwrap_or_else(|| ProcessChoice::One(usual(&trace, &by_process, request.in_scope)));
        let by_site = sample_sums_where(&trace, interval, |process| match choice {
            ProcessChoice::All => true,
            ProcessChoice::One(one) => one == process,
        });
        query.cancel.check()?;
        let kind = if request.is_inverted { ForestKind::Inverted } else { ForestKind::TopDown };
        let (functions, forest) = query.sampled(kind)?;
        let weights = FlameWeights::of_samples(&forest, &by_site);
        query.cancel.check()?;
        let seconds = |ticks: f64| ticks / trace.clock.frequency as f64;
        let sampled = SampledIn {
            seconds: seconds(trace.activity.samples.interval),
            interval: seconds(interval.len() as f64),
            tells_own: !request.is_inverted,
        };
        let measure = Measure { label: "Samples", unit: Unit::Samples(sampled) };
        let asked = (&*label(&trace, choice), &*request.focus, &*request.search);
        let icicle = Icicle::of(&weights, (&forest, &functions), measure, asked);
        let list = Arc::new(ProcessList::new(&trace, by_process));
        let nameless = Arc::new(nameless(&trace, choice, &icicle));
        tell(Ran { list, choice, icicle, nameless });
        Ok(())
    }

    fn bytes(ran: &Ran) -> usize {
        ran.icicle.bytes()
    }

    fn take(&mut self, ran: Ran) {
        self.ran = Some(Arc::new(ran));
    }
}

fn process_of(path: &Path) -> Option<ProcessId> {
    path.iter().find_map(|key| if let Key::Process(process) = *key { Some(process) } else { None })
}

/// The process to which the views are filtered.
fn in_scope(document: &Document) -> Option<ProcessId> {
    document.filters().under().any.iter().find_map(process_of)
}

/// Moves the process in scope to the front, and adds it if it did not run.
fn in_order(mut all: Vec<ProcessSamples>, in_scope: Option<ProcessId>) -> Vec<ProcessSamples> {
    let Some(in_scope) = in_scope else { return all };
    let at = all.iter().position(|of| of.process == Some(in_scope));
    let none = ProcessSamples { process: Some(in_scope), count: 0, seconds: 0.0, share: 0.0 };
    let first = at.map_or(none, |at| all.remove(at));
    all.insert(0, first);
    all
}

/// The process that is shown unless the user chooses another: the one in scope, else of the processes with
/// memory in the trace the one that ran most, else the one that ran most of all.
fn usual(trace: &Trace, by_process: &[ProcessSamples], in_scope: Option<ProcessId>) -> Option<ProcessId> {
    let allocates = |process: ProcessId| trace.heaps.iter().any(|heap| heap.process == process);
    let ran_most = by_process.iter().filter_map(|of| of.process).find(|&process| allocates(process));
    in_scope.or(ran_most).or_else(|| by_process.first().and_then(|of| of.process))
}

/// The frames on the screen that have no name yet, each with the module of that name in the process or in the kernel.
fn nameless(trace: &Arc<Trace>, choice: ProcessChoice, icicle: &Icicle) -> SeenFrames {
    let is_meant = |id: ProcessId| match choice {
        ProcessChoice::All => true,
        ProcessChoice::One(process) => process == Some(id) || matches!(trace.process(id).pid.0, 0 | 4),
    };
    let mut by_name: KeyedMap<&str, Vec<(ProcessId, u32, u64)>> = KeyedMap::default();
    for id in (0..trace.processes.len() as u32).map(ProcessId).filter(|&id| is_meant(id)) {
        for (number, module) in (0..).zip(&trace.process(id).modules) {
            by_name.entry(module.name()).or_default().push((id, number, module.size));
        }
    }
    let place = |(module, rva): (&str, u64)| {
        let fits = |&&(_, _, size): &&(_, _, u64)| rva < size;
        by_name.get(module)?.iter().find(fits).map(|&(process, module, _)| (process, module, rva))
    };
    SeenFrames { trace: Arc::downgrade(trace), frames: icicle.nameless().filter_map(place).collect() }
}

/// The name of the flame graph's root.
fn label(trace: &Trace, choice: ProcessChoice) -> String {
    match choice {
        ProcessChoice::All => "All processes".to_owned(),
        ProcessChoice::One(Some(process)) => trace.process_name(process),
        ProcessChoice::One(None) => UNKNOWN.to_owned(),
    }
}

/// The name of threads whose process is not known.
const UNKNOWN: &str = "(unknown threads)";

#[cfg(test)]
mod tests {
    use super::*;

    fn of(process: u32, count: u64) -> ProcessSamples {
        ProcessSamples { process: Some(ProcessId(process)), count, seconds: 0.0, share: 0.0 }
    }

    #[test]
    fn the_process_in_scope_is_the_first_of_the_list_even_if_it_did_not_run() {
        let numbers = |all: Vec<ProcessSamples>| all.iter().map(|of| (of.process.unwrap().0, of.count)).collect::<Vec<_>>();
        let all = || vec![of(2, 9), of(1, 5)];
        assert_eq!(numbers(in_order(all(), None)), [(2, 9), (1, 5)]);
        assert_eq!(numbers(in_order(all(), Some(ProcessId(1)))), [(1, 5), (2, 9)]);
        assert_eq!(numbers(in_order(all(), Some(ProcessId(7)))), [(7, 0), (2, 9), (1, 5)]);
    }
}
