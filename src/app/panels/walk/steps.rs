//! The steps of the walks through the demo trace. A step says what to do, and can do it
//! (*Show me*) with the commands that the user would give. Its subject is looked up in the open trace
//! by name and time; a step that does not find it has nothing to show.

use std::sync::Arc;

use crate::app::commands::{Command, DocCommand};
use crate::app::document::Document;
use crate::app::state::ids::{Tab, ViewId};
use crate::app::state::walk::Walk;
use crate::model::{HeapId, ProcessId};
use crate::query::{Finding, FindingKind, ImpactingType, Key, Path};
use crate::units::{Interval, Layer};

/// The open trace as the steps need it.
pub struct Scene<'a> {
    pub document: &'a Document,
    /// The findings in all rows, as far as they have been computed.
    pub findings: Vec<&'a Finding>,
}

/// One step of a walk.
pub struct Step {
    pub title: &'static str,
    /// The text, with names of things in the window between asterisks.
    pub text: &'static str,
    /// The commands that show it; `None` if its subject is not in the trace.
    show: fn(&Scene<'_>) -> Option<Vec<DocCommand>>,
}

/// The steps of a walk.
pub fn steps(walk: Walk) -> &'static [Step] {
    match walk {
        Walk::Growth => GROWTH,
        Walk::Spike => SPIKE,
        Walk::Leak => LEAK,
    }
}

impl Step {
    /// The commands that show the step in the open trace, whatever is shown now.
    pub fn commands(&self, scene: &Scene<'_>) -> Option<Vec<Command>> {
        let clean = [DocCommand::ClearFilter, DocCommand::Select(None), DocCommand::ZoomOut];
        let shown = (self.show)(scene)?;
        Some(clean.into_iter().chain(shown).map(Command::Document).collect())
    }
}

const STACKS: DocCommand = DocCommand::ShowTab(Tab::View(ViewId::Stacks));

const GROWTH: &[Step] = &[
    Step {
        title: "One program",
        text: "Two programs ran. Click *MemoryTestApp.exe* under *Sources*: graph and tables show only it. \
               What is filtered out stays in the list of sources, without numbers.",
        show: |scene| Some(vec![STACKS, under(scene, Of::All)?]),
    },
    Step {
        title: "The step",
        text: "About half way its commit (the pages from VirtualAlloc) climbs by 10 MB and stays there. Drag over the step: the \
               table now shows only that interval. *Impacting Size* is the change over the interval: *+10.00 MB*.",
        show: |scene| Some(vec![STACKS, under(scene, Of::All)?, select(scene, 17.4, 19.4)]),
    },
    Step {
        title: "Closer",
        text: "*Z* makes the selection the view; *Backspace* goes back, and so does *Back* in the tool bar.",
        show: |scene| Some(vec![STACKS, under(scene, Of::All)?, select(scene, 17.4, 19.4), DocCommand::ZoomToSelection]),
    },
    Step {
        title: "Who wanted it",
        text: "Open *Grew (Impacting)*: one allocation, made inside the interval and freed later or never. Its stack \
               leads from the start of the thread to the call. The card *MemoryTestApp.exe: step of +10.00 MB* above the tabs takes you to \
               the same place with one click.",
        show: |scene| Some(vec![finding(scene, FindingKind::Step)?]),
    },
];

const SPIKE: &[Step] = &[
    Step {
        title: "Ten spikes",
        text: "Every few seconds the commit of *MemoryTestApp.exe* is 10 MB higher for a moment. The card *10 spikes of \
               10.00 MB* says so, how far they are apart, and which function made them.",
        show: |scene| Some(vec![finding(scene, FindingKind::Spikes)?]),
    },
    Step {
        title: "By hand",
        text: "Drag over the last four. What was allocated and freed inside the interval is *Came and went (Transient)*: \
               *Count 4*, *Size 40 MB*, and an *Impacting Size* of 0, since nothing of it is left.",
        show: |scene| Some(vec![STACKS, under(scene, Of::Commit)?, select(scene, 22.6, 34.5)]),
    },
    Step {
        title: "Only those",
        text: "Filter to the line *Came and went (Transient)* (select it and press *Enter*). Open it down to the single \
               blocks to see when each was committed and decommitted.",
        show: |scene| {
            let transient = [Key::Impacting(ImpactingType::Transient)];
            let path = commit(scene)?.into_iter().chain(transient).collect();
            Some(vec![STACKS, select(scene, 22.6, 34.5), DocCommand::Filter(Some(path))])
        },
    },
    Step {
        title: "At the peak",
        text: "Right-click the graph and choose *What was alive here*: all tables then show that one moment. Here it is \
               the moment of the peak.",
        show: |scene| {
            let heap = commit_heap(scene)?;
            let at = scene.document.answers.overview.heap(heap)?.peak_at;
            Some(vec![STACKS, under(scene, Of::Commit)?, DocCommand::Select(Some(Interval { from: at, to: at }))])
        },
    },
];

const LEAK: &[Step] = &[
    Step {
        title: "One click",
        text: "The tab *Findings* names what grows: *MemoryTestApp.exe: steady growth of about 1.25 KB/s in InnerLoopOperation*. A click \
               selects its interval, filters to its heap, and opens the tree at the function.",
        show: |scene| Some(vec![leak(scene)?]),
    },
    Step {
        title: "By hand",
        text: "The first heap grows slowly and evenly. Drag over ten seconds in the middle: *Grew (Impacting)* holds some 320 \
               blocks of 40 bytes, all under one stack. That is what a leak looks like: small, constant, never freed.",
        show: |scene| Some(vec![STACKS, under(scene, Of::Heap)?, select(scene, 12.0, 22.0)]),
    },
    Step {
        title: "Of what type",
        text: "The tab *Types* lists the C++ types that were allocated, as far as the compiler noted them.",
        show: |scene| Some(vec![under(scene, Of::Heap)?, DocCommand::ShowTab(Tab::View(ViewId::Types))]),
    },
    Step {
        title: "What stays each time",
        text: "If a program repeats the same work, set a mark after each repetition (*M* over the graph). *Generations* shows \
               what each repetition allocated that is still there at the end. Functions that leave something every time come first.",
        show: |scene| {
            let generations = DocCommand::ShowTab(Tab::View(ViewId::Generations));
            Some(vec![under(scene, Of::All)?, DocCommand::MarkEvenly(6), generations])
        },
    },
    Step {
        title: "In your own trace",
        text: "That is all there is to it: *Findings* first, then drag, filter, open. *Help* has the whole guide.",
        show: |_| Some(vec![DocCommand::ClearMarks, DocCommand::ShowTab(Tab::View(ViewId::Findings))]),
    },
];

/// The program that the walks are about.
fn program(scene: &Scene<'_>) -> Option<ProcessId> {
    let is_it = |process: &Arc<crate::model::Process>| process.label() == "MemoryTestApp.exe";
    scene.document.trace.processes.iter().position(is_it).map(|at| ProcessId(at as u32))
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
fn under(scene: &Scene<'_>, of: Of) -> Option<DocCommand> {
    let path: Path = match of {
        Of::All => [Key::Process(program(scene)?)].into(),
        Of::Commit => commit(scene)?.into(),
        Of::Heap => [Key::Process(program(scene)?), Key::Layer(Layer::Heap), Key::Heap(heap(scene)?)].into(),
    };
    Some(DocCommand::Filter(Some(path)))
}

fn commit(scene: &Scene<'_>) -> Option<Vec<Key>> {
    Some(vec![Key::Process(program(scene)?), Key::Layer(Layer::Commit)])
}

fn heap_where(scene: &Scene<'_>, is_it: impl Fn(&crate::model::Heap) -> bool) -> Option<HeapId> {
    let program = program(scene)?;
    let place = scene.document.trace.heaps.iter().position(|heap| heap.process == program && is_it(heap));
    place.map(|at| HeapId(at as u32))
}

fn commit_heap(scene: &Scene<'_>) -> Option<HeapId> {
    heap_where(scene, |heap| heap.layer == Layer::Commit)
}

/// The heap that leaks.
fn heap(scene: &Scene<'_>) -> Option<HeapId> {
    heap_where(scene, |heap| heap.layer == Layer::Heap && heap.is_default)
}

fn select(scene: &Scene<'_>, from: f64, to: f64) -> DocCommand {
    let clock = &scene.document.trace.clock;
    DocCommand::Select(Some(Interval::new(clock.ticks(from), clock.ticks(to))))
}

fn finding(scene: &Scene<'_>, kind: FindingKind) -> Option<DocCommand> {
    let program = program(scene)?;
    let found = scene.findings.iter().find(|finding| finding.kind == kind && finding.process == program)?;
    Some(DocCommand::GoToFinding(Box::new((*found).clone())))
}

fn leak(scene: &Scene<'_>) -> Option<DocCommand> {
    let heap = heap(scene)?;
    let is_it = |finding: &&&Finding| finding.kind == FindingKind::Growth && finding.heap == Some(heap);
    let found = scene.findings.iter().find(is_it)?;
    Some(DocCommand::GoToFinding(Box::new((*found).clone())))
}
