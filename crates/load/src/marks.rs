//! Finds the providers whose events a user wants as marks, by name or GUID, as the trace knows them.
//!
//! Self-describing events name their provider when they are read. Other names come only from the descriptions that
//! merging adds (which may be at the end of the file) or from the manifest of an EventSource; these are found here, by
//! a pass over all events before loading. Cost: a pass over the capture if a name was given; nothing for GUIDs.

use super::capture::Capture;
use crate::etl::Guid;
use crate::events::{ManifestEvents, MarkProviders, ProviderCensus, ProviderSeen, manifest_events, providers};

/// The providers that some words refer to in a capture.
#[derive(Clone, Debug, Default)]
pub struct MarksFound {
    /// The providers.
    pub providers: MarkProviders,
    /// Words that match no provider with events.
    pub unknown: Vec<String>,
}

impl Capture {
    /// The providers that have events in this capture.
    pub fn providers(&self) -> Vec<ProviderSeen> {
        self.files.iter().map(providers).fold(ProviderCensus::default(), ProviderCensus::plus).list()
    }

    /// The kinds of events of providers with a manifest. Cost: a pass over the capture.
    pub fn manifest_events(&self) -> ManifestEvents {
        self.files.iter().map(manifest_events).fold(ManifestEvents::default(), |all, more| all.plus(&more))
    }

    /// Finds the providers that match words: names (in any case, `*` for anything) or GUIDs.
    pub fn mark_providers(&self, words: &[String]) -> MarksFound {
        let is_guid = |word: &String| word.trim().parse::<Guid>().is_ok();
        if words.iter().all(is_guid) {
            return MarksFound { providers: MarkProviders::new(words), unknown: Vec::new() };
        }
        let seen = self.providers();
        let (mut all, mut unknown) = (words.to_vec(), Vec::new());
        for word in words.iter().filter(|word| !is_guid(word)) {
            let this = MarkProviders::new([word]);
            let is_meant = |seen: &&ProviderSeen| this.has(seen.guid, seen.name.as_deref());
            let before = all.len();
            all.extend(seen.iter().filter(is_meant).map(|seen| seen.guid.to_string()));
            if all.len() == before {
                unknown.push(word.clone());
            }
        }
        MarksFound { providers: MarkProviders::new(all), unknown }
    }
}
