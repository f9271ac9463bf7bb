//! `--marks` and `--trackers`: providers whose events become marks, or blocks of trackers.

use std::path::{Path, PathBuf};

use clap::Args;

use super::failure::Failure;
use super::output;
use crate::events::TrackerProviders;
use crate::load::{Capture, Plan};
use crate::model::Trace;

/// Providers whose events have a meaning that the user gives.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct ProvidersAsked {
    /// Show this provider's events as marks: its name (* matches anything) or GUID; repeatable
    #[arg(long, value_name = "PROVIDER")]
    marks: Vec<String>,

    #[command(flatten)]
    trackers: TrackersAsked,
}

/// Providers whose events are blocks of trackers.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct TrackersAsked {
    /// TOML file that maps events of your own allocators to tracker blocks
    #[arg(long, value_name = "FILE")]
    trackers: Option<PathBuf>,
}

impl TrackersAsked {
    /// The providers that are built in, and those of the file.
    pub(super) fn read(&self) -> Result<TrackerProviders, Failure> {
        read_trackers(self.trackers.as_deref())
    }
}

/// The providers that are built in, and those of a file.
pub(super) fn read_trackers(file: Option<&Path>) -> Result<TrackerProviders, Failure> {
    let file = file.map(TrackerProviders::from_file);
    Ok(file.transpose().map_err(Failure::BadArguments)?.unwrap_or_default())
}

impl ProvidersAsked {
    /// Providers of trackers only.
    pub(super) fn of(trackers: &TrackersAsked) -> Self {
        Self { marks: Vec::new(), trackers: trackers.clone() }
    }

    /// Whether any providers are named.
    pub(super) fn are_named(&self) -> bool {
        !self.marks.is_empty() || self.trackers.trackers.is_some()
    }

    /// The words for providers of marks.
    pub(super) fn marks(&self) -> &[String] {
        &self.marks
    }

    /// The providers whose events are blocks of trackers.
    pub(super) fn trackers(&self) -> Result<TrackerProviders, Failure> {
        self.trackers.read()
    }

    /// Has the events of the providers loaded as marks and blocks, and reports providers of marks without events.
    pub(super) fn add_to(&self, plan: &mut Plan, capture: &Capture) -> Result<(), Failure> {
        plan.trackers = self.trackers()?;
        if self.marks.is_empty() {
            return Ok(());
        }
        let found = capture.mark_providers(&self.marks);
        for word in &found.unknown {
            output::message(&format!(
                "--marks {word}: no such provider has events in the trace; highwater info lists the providers"
            ));
        }
        plan.marks = found.providers;
        Ok(())
    }

    /// Reports the events of the mappings of `--trackers` that a loaded capture lacks. Cost: a pass over the capture, only if
    /// no tracker can be of them.
    pub(super) fn report_silent(&self, trackers: &TrackerProviders, capture: &Capture, trace: &Trace) {
        let Some(file) = &self.trackers.trackers else { return };
        if trace.heaps.iter().any(|heap| trackers.could_have_made(heap.layer, heap.handle)) {
            return;
        }
        for sentence in trackers.lacking(&capture.providers()) {
            output::message(&format!("--trackers {}: {sentence}; highwater info lists the providers", file.display()));
        }
    }
}
