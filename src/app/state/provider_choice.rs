//! The providers that the user gave a meaning, and descriptions of events, with which a trace is loaded.

use std::sync::Arc;

use crate::events::{EventSchema, TrackerProviders};

/// Providers whose events are marks or blocks of trackers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProviderChoice {
    /// Names and GUIDs of those whose events are marks, as the user wrote them.
    pub marks: Vec<String>,
    /// Those whose events are blocks of trackers.
    pub trackers: TrackerProviders,
    /// Descriptions of events that traces may lack.
    pub descriptions: Arc<[EventSchema]>,
}
