//! Where another trace is laid over the open one on the graph, and its lines there.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use super::answers::LayerOf;
use super::graph::GraphLine;
use crate::model::{ProcessId, Trace};
use crate::query::main_frames;
use crate::units::{Layer, Ticks};

/// The moment of both traces that has the same place on the axis.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Alignment {
    /// Where they start.
    #[default]
    Start,
    /// The first mark with this text.
    Mark(Arc<str>),
    /// The begin of a frame of the main swap chain, by its number.
    Frame(usize),
}

/// Number of marks of each trace among which common texts are looked for, and of texts that are offered.
const MARKS: usize = 2000;
const OFFERED: usize = 12;

impl Alignment {
    /// The moment in a trace; `None` if the trace lacks it.
    pub fn moment(&self, trace: &Trace) -> Option<Ticks> {
        match self {
            Self::Start => Some(trace.span.from),
            Self::Mark(text) => trace.activity.marks.list.iter().take(MARKS).find(|mark| mark.text == *text).map(|mark| mark.at),
            Self::Frame(number) => {
                let lane = trace.activity.presents.get(main_frames(trace, None)?)?;
                lane.frame(*number).map(|frame| frame.from)
            }
        }
    }

    /// Its words.
    pub fn words(&self) -> String {
        match self {
            Self::Start => "Aligned at the start".to_owned(),
            Self::Mark(text) => format!("Aligned at the mark {text}"),
            Self::Frame(0) => "Aligned at the first frame".to_owned(),
            Self::Frame(number) => format!("Aligned at frame {number}"),
        }
    }

    /// The alignments that both traces have; `frame` is the number of the selected frame.
    pub fn offered(ours: &Trace, theirs: &Trace, frame: Option<usize>) -> Vec<Self> {
        let marks_of = |trace: &Trace| -> Vec<Arc<str>> {
            trace.activity.marks.list.iter().take(MARKS).map(|mark| Arc::clone(&mark.text)).collect()
        };
        let known: BTreeSet<Arc<str>> = marks_of(theirs).into_iter().collect();
        let mut told = BTreeSet::new();
        let marks = marks_of(ours).into_iter().filter(|text| known.contains(text) && told.insert(Arc::clone(text)));
        let marks: Vec<Self> = marks.take(OFFERED).map(Self::Mark).collect();
        let frames = [Some(0), frame.filter(|number| *number > 0)].into_iter().flatten().map(Self::Frame);
        let has = |alignment: &Self| [ours, theirs].into_iter().all(|trace| alignment.moment(trace).is_some());
        [Self::Start].into_iter().chain(marks).chain(frames.filter(has)).collect()
    }
}

/// The lines of another trace, in the time of the open one.
#[derive(Debug)]
pub struct Laid {
    pub of: Weak<Trace>,
    pub lines: Vec<(LayerOf, GraphLine)>,
}

/// The layer of another trace to compare a layer with: that of the process of the same name, of several the one at the same
/// place among them; of two traces with a single process each, that one.
pub fn counterpart(ours: &Trace, theirs: &Trace, (process, layer): LayerOf) -> Option<LayerOf> {
    let processes = |trace: &Trace| -> Vec<ProcessId> {
        let all: BTreeSet<ProcessId> = trace.heaps.iter().map(|heap| heap.process).collect();
        all.into_iter().collect()
    };
    let name = &ours.process(process).name;
    let named = |trace: &Trace| -> Vec<ProcessId> {
        processes(trace).into_iter().filter(|id| trace.process(*id).name.eq_ignore_ascii_case(name)).collect()
    };
    let place = named(ours).iter().position(|id| *id == process)?;
    let only = || match (&processes(ours)[..], &processes(theirs)[..]) {
        ([_], [theirs]) => Some(*theirs),
        _ => None,
    };
    let other = named(theirs).get(place).copied().or_else(only)?;
    let has = |layer: Layer| theirs.heaps.iter().any(|heap| (heap.process, heap.layer) == (other, layer));
    has(layer).then_some((other, layer))
}
