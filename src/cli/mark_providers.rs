//! `--marks`: providers whose events become marks.

use clap::Args;

use super::output;
use crate::load::{Capture, Plan};

/// Providers whose events are markers.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct MarkProvidersAsked {
    /// Make marks of this provider's events: its name, in which * stands for anything, or its GUID; may be repeated
    #[arg(long, value_name = "PROVIDER")]
    marks: Vec<String>,
}

impl MarkProvidersAsked {
    /// Has the providers loaded as marks, and reports those without events.
    pub(super) fn add_to(&self, plan: &mut Plan, capture: &Capture) {
        if self.marks.is_empty() {
            return;
        }
        let found = capture.mark_providers(&self.marks);
        for word in &found.unknown {
            output::message(&format!(
                "--marks {word}: no provider of that name has events in the trace; highwater info lists those that have"
            ));
        }
        plan.marks = found.providers;
    }
}
