//! Commands that go somewhere: to a tab, a mark, a frame or a finding.

use super::super::context::PanelContext;
use super::{Entry, NO_TRACE};
use crate::app::commands::keys::{self};
use crate::app::commands::{Command, DocCommand};
use crate::app::state::graph::LineOf;
use crate::app::state::ids::{Stop, Tab, ViewId};
use crate::app::state::overlay::Overlay;
use crate::events::SegmentGroup;
use crate::query::{Finding, FindingKind, headlines};

/// Most findings among the commands.
const FINDINGS: usize = 20;

/// Commands that step between marks of the trace, and between frames.
pub(super) fn steps(context: &PanelContext<'_>) -> Vec<Entry> {
    let document = context.document;
    let has = |what: Overlay| document.is_some_and(|d| what.is_in(&d.trace));
    let (has_marks, has_frames) = (has(Overlay::Marks), has(Overlay::Frames));
    let entry = |words, stop, keys| {
        let entry = Entry::new(words, Command::Document(DocCommand::StepTo(stop))).keys(keys);
        entry.when(document.is_some(), NO_TRACE)
    };
    let mark = |words, stop, keys| entry(words, stop, keys).when(has_marks, "The trace has no marks");
    let frame = |words, stop, keys| entry(words, stop, keys).when(has_frames, "The trace has no frames");
    let shown = Overlay::ALL.map(|what| {
        let (words, hint) = match what {
            Overlay::Marks => ("Marks on the graph", "Events that programs, tools or the recorder wrote as marks"),
            Overlay::Memory => (
                "Lane of system memory",
                "Commit charge and working set of the process, sampled by Windows, and how much of it is known",
            ),
            Overlay::Commit => {
                ("Lane of commit", "What the committed memory of the process is for: parts that add up to all that is known")
            }
            Overlay::Frames => ("Lane of frames", "How long each frame took, and how much was allocated in it"),
            Overlay::Processors => ("Lane of CPU use", "CPU use of the program and of all processes"),
            Overlay::Faults => {
                ("Lane of page faults", "Hard and soft page faults of the program, and how much of its commit is touched")
            }
            Overlay::Gpu(SegmentGroup::Local) => {
                ("Lane of local GPU memory", "How much of the graphics card's memory the program uses, and its budget")
            }
            Overlay::Gpu(SegmentGroup::NonLocal) => {
                ("Lane of non-local GPU memory", "How much of the machine's memory the program uses for the graphics card")
            }
        };
        let is_shown = document.is_some_and(|d| d.draws(what));
        let command = Command::Document(DocCommand::ShowLine(LineOf::Overlay(what), !is_shown));
        let entry = Entry::new(words, command).hint(hint).switch(is_shown);
        entry.when(document.is_some(), NO_TRACE).when(has(what), "This trace has no such data")
    });
    let steps = [
        mark("Next mark", Stop::NextMark, keys::NEXT_MARK).hint("Put the cursor on the next mark of the trace"),
        mark("Previous mark", Stop::PreviousMark, keys::PREVIOUS_MARK),
        frame("Next frame", Stop::NextFrame, keys::NEXT_FRAME).hint("Select the frame after the selected one"),
        frame("Previous frame", Stop::PreviousFrame, keys::PREVIOUS_FRAME),
        frame("Worst frame in view", Stop::WorstFrame, keys::WORST_FRAME)
            .hint("Select the longest frame in view")
            .when(document.is_some_and(|d| d.worst_frame().is_some()), "No frame is in view, or the lane is hidden"),
    ];
    steps.into_iter().chain(shown).collect()
}

pub(super) fn tabs(context: &PanelContext<'_>) -> Vec<Entry> {
    let Some(document) = context.document else { return Vec::new() };
    let shown: Vec<Tab> = Tab::all().filter(|&tab| document.offers(tab) || tab == document.tab).collect();
    let show = |tab| Command::Document(DocCommand::ShowTab(tab));
    let beside = |tabs: &[Tab], by: isize| {
        let at = tabs.iter().position(|tab| *tab == document.tab).unwrap_or(0) as isize;
        let next = (at + by).rem_euclid(tabs.len().max(1) as isize) as usize;
        tabs.get(next).copied().unwrap_or(document.tab)
    };
    let in_sight = document.in_sight();
    let others = [
        Entry::new("Next tab", show(beside(&shown, 1))).keys(keys::NEXT_TAB),
        Entry::new("Previous tab", show(beside(&shown, -1))).keys(keys::PREVIOUS_TAB),
        Entry::new("Next visible part", show(beside(in_sight, 1)))
            .keys(keys::NEXT_PART)
            .hint("Search and keys then act on the next visible part")
            .when(in_sight.len() > 1, "No other tab is visible"),
    ];
    let entry = |tab: Tab| {
        let hint = match tab {
            Tab::View(ViewId::FreedBefore) => "Frees of memory that was allocated before the recording, by caller",
            _ if document.offers(tab) => "",
            _ => "This trace has no such data; the tab says how to record it",
        };
        Entry::new(tab.title(), show(tab)).choice(document.tab == tab).also(tab.questions()).hint(hint)
    };
    Tab::all().map(entry).chain(others).collect()
}

/// The largest findings, each with a command that goes there.
pub(super) fn findings(context: &PanelContext<'_>) -> Vec<Entry> {
    let found: Vec<Finding> = context.views.iter().flat_map(|views| views.findings_in_all()).cloned().collect();
    let entry = |finding: &Finding| {
        let command = Command::Document(DocCommand::GoToFinding(Box::new(finding.clone())));
        let also = match finding.kind {
            FindingKind::Growth | FindingKind::AtExit => "leak growth",
            FindingKind::Peak => "peak high-water maximum",
            FindingKind::Churn => "temporary churn",
            FindingKind::Fragmentation => "waste pages",
            FindingKind::Habit => "temporary reserve thread pool array waste save",
            FindingKind::Step | FindingKind::Spikes | FindingKind::UnexplainedCommit => "",
        };
        Entry::new(finding.text.clone(), command).also(also)
    };
    headlines(&found, FINDINGS).into_iter().map(entry).collect()
}
