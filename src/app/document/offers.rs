//! Which tabs have something to show of the trace, and why others have nothing.

use super::Document;
use crate::app::state::ids::{Subject, Tab};
use crate::app::state::overlay::Overlay;
use crate::format;
use crate::query::input_doubts;

impl Document {
    /// Why a tab has nothing to show, if the trace lacks what it is about.
    pub fn lacks(&self, tab: Tab) -> Option<&'static str> {
        let trace = &self.trace;
        let (lacks, reason) = match tab.subject() {
            Subject::AnyTrace => return None,
            Subject::Allocations => (self.is_settled() && trace.rows.is_empty(), "No allocations in this trace"),
            Subject::FreeStacks => (trace.free_sites.is_empty(), "No call stacks of frees in this trace"),
            Subject::UnmatchedFrees => (trace.quality.unmatched_frees == 0, "Every free has its allocation"),
            Subject::Frames => (!Overlay::Frames.is_in(trace), "No frames in this trace"),
            Subject::Marks => (!Overlay::Marks.is_in(trace), "No marks in this trace"),
            Subject::Samples => (!Overlay::Processors.is_in(trace), "No CPU samples in this trace"),
        };
        lacks.then_some(reason)
    }

    /// Why the whole trace shows no memory, with what to record instead; `None` if it has memory events.
    pub fn why_nothing(&self) -> Option<String> {
        let is_without = self.trace.complete && self.trace.rows.is_empty() && !self.trace.counts.has_memory_events();
        let why = || match input_doubts(&self.trace.problems).first() {
            Some(doubt) => format!("{doubt}; what could be read has no memory events"),
            None => crate::load::no_memory_events(&self.trace.counts).to_owned(),
        };
        is_without.then(|| self.with_silent(&why()))
    }

    /// A sentence, followed by those about allocators of which no blocks are seen.
    pub fn with_silent(&self, why: &str) -> String {
        let trace = &self.trace;
        let silent = trace.silent_allocators();
        let silent = silent.iter().map(|silent| format!("\n{}.", silent.sentence(trace)));
        std::iter::once(format::sentence(why)).chain(silent).collect()
    }

    /// Whether a tab has its place among the others. Tabs about what the trace does not have are hidden until the user
    /// asks for them, and so is the one that the line of quality leads to.
    pub fn offers(&self, tab: Tab) -> bool {
        match tab.subject() {
            Subject::Frames | Subject::Marks | Subject::Samples => self.lacks(tab).is_none(),
            Subject::UnmatchedFrees => false,
            Subject::AnyTrace | Subject::Allocations | Subject::FreeStacks => true,
        }
    }
}
