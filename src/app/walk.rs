//! Guided walks through the demo trace: growth, spike, leak. A step says what to do, and can do it
//! (*Show me*) with the commands that the user would give. Its subject is looked up in the open trace
//! by name and time; a step that does not find it has nothing to show.

use std::sync::Arc;

use super::commands::{Command, DocCommand};
use super::document::Document;
use crate::app::state::ids::{Tab, ViewId};
use crate::model::{HeapId, ProcessId};
use crate::query::{FindingKind, ImpactingType, Key, Path};
use crate::units::{Interval, Layer};

/// The question that a walk answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walk {
    Growth,
    Spike,
    Leak,
}

/// One step of a walk.
pub struct Step {
    pub title: &'static str,
    /// The text, with names of things in the window between asterisks.
    pub text: &'static str,
    /// The commands that show it; `None` if its subject is not in the trace.
    show: fn(&Document) -> Option<Vec<DocCommand>>,
}

/// A walk in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walking {
    pub walk: Walk,
    pub at: usize,
}

impl Walk {
    pub const ALL: [Self; 3] = [Self::Growth, Self::Spike, Self::Leak];

    pub fn name(self) -> &'static str {
        match self {
            Self::Growth => "Growth",
            Self::Spike => "Spike",
            Self::Leak => "Leak",
        }
    }

    /// The question that the walk answers.
    pub fn question(self) -> &'static str {
        match self {
            Self::Growth => "Memory went up and stayed. What was that, and who wanted it?",
            Self::Spike => "Memory came and went. How often, how long, and for what?",
            Self::Leak => "Memory grows for ever. What is never freed?",
        }
    }

    pub fn steps(self) -> &'static [Step] {
        match self {
            Self::Growth => GROWTH,
            Self::Spike => SPIKE,
            Self::Leak => LEAK,
        }
    }
}

impl Walking {
    /// The current step.
    pub fn step(self) -> Option<&'static Step> {
        self.walk.steps().get(self.at)
    }

    pub fn is_last(self) -> bool {
        self.at + 1 >= self.walk.steps().len()
    }
}

impl Step {
    /// The commands that show the step in the open trace, whatever is shown now.
    pub fn commands(&self, document: &Document) -> Option<Vec<Command>> {
        let clean = [DocCommand::ClearFilter, DocCommand::Select(None), DocCommand::ZoomOut];
        let shown = (self.show)(document)?;
        Some(clean.into_iter().chain(shown).map(Command::Document).collect())
    }
}

const STACKS: DocCommand = DocCommand::ShowTab(Tab::View(ViewId::Stacks));

const GROWTH: &[Step] = &[
    Step {
        title: "One program",
        text: "Two programs ran. Click *MemoryTestApp.exe* under *Sources*: graph and tables show only it. \
               What is filtered out stays in the list of sources, without numbers.",
        show: |document| Some(vec![STACKS, under(document, Of::All)?]),
    },
    Step {
        title: "The step",
        text: "About half way its commit climbs by 10 MB and stays there. Drag over the step: the table now speaks of \
               the dragged interval only. *Impacting Size* is what the interval changed: *+10.00 MB*.",
        show: |document| Some(vec![STACKS, under(document, Of::All)?, select(document, 17.4, 19.4)]),
    },
    Step {
        title: "Closer",
        text: "*Z* makes the selection the view; *Backspace* goes back, and so does *Back* in the tool bar.",
        show: |document| Some(vec![STACKS, under(document, Of::All)?, select(document, 17.4, 19.4), DocCommand::ZoomToSelection]),
    },
    Step {
        title: "Who wanted it",
        text: "Open *Grew (Impacting)*: one allocation, made inside the interval and freed later or never. Its stack \
               leads from the start of the thread to the call. The card *MemoryTestApp.exe: step of +10.00 MB* above the tabs takes you to \
               the same place with one click.",
        show: |document| Some(vec![finding(document, FindingKind::Step)?]),
    },
];

const SPIKE: &[Step] = &[
    Step {
        title: "Ten spikes",
        text: "Every few seconds the commit of *MemoryTestApp.exe* is 10 MB higher for a moment. The card *10 spikes of \
               10.00 MB* says so, how far they are apart, and which function made them.",
        show: |document| Some(vec![finding(document, FindingKind::Spikes)?]),
    },
    Step {
        title: "By hand",
        text: "Drag over the last four. What was allocated and freed inside the interval is *Came and went (Transient)*: \
               *Count 4*, *Size 40 MB*, and an *Impacting Size* of 0, since nothing of it is left.",
        show: |document| Some(vec![STACKS, under(document, Of::Commit)?, select(document, 22.6, 34.5)]),
    },
    Step {
        title: "Only those",
        text: "Filter to the line *Came and went (Transient)* (select it and press *Enter*). Open it down to the single \
               blocks to see when each was committed and decommitted.",
        show: |document| {
            let transient = [Key::Impacting(ImpactingType::Transient)];
            let path = commit(document)?.into_iter().chain(transient).collect();
            Some(vec![STACKS, select(document, 22.6, 34.5), DocCommand::Filter(Some(path))])
        },
    },
    Step {
        title: "At the peak",
        text: "Right-click on the graph, *What was alive here*: all tables then speak of that one moment. Here it is \
               the moment of the peak.",
        show: |document| {
            let heap = commit_heap(document)?;
            let at = document.answers.overview.heap(heap)?.peak_at;
            Some(vec![STACKS, under(document, Of::Commit)?, DocCommand::Select(Some(Interval { from: at, to: at }))])
        },
    },
];

const LEAK: &[Step] = &[
    Step {
        title: "One click",
        text: "What grows stands in a card above the tabs: *MemoryTestApp.exe: steady growth of 1.25 KB/s in InnerLoopOperation*. A click \
               selects its interval, filters to its heap, and opens the tree at the function.",
        show: |document| Some(vec![leak(document)?]),
    },
    Step {
        title: "By hand",
        text: "The first heap grows slowly and evenly. Drag over ten seconds in the middle: *Grew (Impacting)* holds some 320 \
               blocks of 40 bytes, all under one stack. That is what a leak looks like: small, constant, never freed.",
        show: |document| Some(vec![STACKS, under(document, Of::Heap)?, select(document, 12.0, 22.0)]),
    },
    Step {
        title: "Of what type",
        text: "The tab *Types* lists the C++ types that were allocated, as far as the compiler noted them.",
        show: |document| Some(vec![under(document, Of::Heap)?, DocCommand::ShowTab(Tab::View(ViewId::Types))]),
    },
    Step {
        title: "What stays each time",
        text: "Where a program does the same again and again, set marks between (*M* over the graph). *Generations* tells \
               what each stretch left behind that is still there at the end. What leaves something every time stands first.",
        show: |document| {
            let generations = DocCommand::ShowTab(Tab::View(ViewId::Generations));
            Some(vec![under(document, Of::All)?, DocCommand::MarkEvenly(6), generations])
        },
    },
    Step {
        title: "In your own trace",
        text: "That is all there is to it: *Findings* first, then drag, filter, open. *Help* has the whole guide.",
        show: |_| Some(vec![DocCommand::ClearMarks, DocCommand::ShowTab(Tab::View(ViewId::Findings))]),
    },
];

/// The program that the walks are about.
fn program(document: &Document) -> Option<ProcessId> {
    let is_it = |process: &Arc<crate::model::Process>| process.label() == "MemoryTestApp.exe";
    document.trace.processes.iter().position(is_it).map(|at| ProcessId(at as u32))
}

/// The part of the program that a step is about.
#[derive(Clone, Copy)]
enum Of {
    All,
    Commit,
    /// The heap that leaks.
    Heap,
}

/// A command that filters to a part of the program.
fn under(document: &Document, of: Of) -> Option<DocCommand> {
    let path: Path = match of {
        Of::All => [Key::Process(program(document)?)].into(),
        Of::Commit => commit(document)?.into(),
        Of::Heap => [Key::Process(program(document)?), Key::Layer(Layer::Heap), Key::Heap(heap(document)?)].into(),
    };
    Some(DocCommand::Filter(Some(path)))
}

fn commit(document: &Document) -> Option<Vec<Key>> {
    Some(vec![Key::Process(program(document)?), Key::Layer(Layer::Commit)])
}

fn heap_where(document: &Document, is_it: impl Fn(&crate::model::Heap) -> bool) -> Option<HeapId> {
    let program = program(document)?;
    let place = document.trace.heaps.iter().position(|heap| heap.process == program && is_it(heap));
    place.map(|at| HeapId(at as u32))
}

fn commit_heap(document: &Document) -> Option<HeapId> {
    heap_where(document, |heap| heap.layer == Layer::Commit)
}

/// The heap that leaks.
fn heap(document: &Document) -> Option<HeapId> {
    heap_where(document, |heap| heap.layer == Layer::Heap && heap.is_default)
}

fn select(document: &Document, from: f64, to: f64) -> DocCommand {
    let clock = &document.trace.clock;
    DocCommand::Select(Some(Interval::new(clock.ticks(from), clock.ticks(to))))
}

fn finding(document: &Document, kind: FindingKind) -> Option<DocCommand> {
    let program = program(document)?;
    let found = document.views.findings_in_all().find(|finding| finding.kind == kind && finding.process == program)?;
    Some(DocCommand::GoToFinding(Box::new(found.clone())))
}

fn leak(document: &Document) -> Option<DocCommand> {
    let heap = heap(document)?;
    let found = document.views.findings_in_all().find(|finding| finding.heap == Some(heap))?;
    Some(DocCommand::GoToFinding(Box::new(found.clone())))
}
