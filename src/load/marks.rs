//! Providers whose events a user wants as marks: by name or GUID, as the trace knows them.
//!
//! Whose events describe themselves is known by name when they are met. What only the descriptions that
//! merging adds call by name (they may stand at the end), or the manifest of an EventSource, is
//! found here, by a look at all events before they are loaded. Cost: a pass over the capture, where
//! a name was given; nothing for GUIDs.

use super::Capture;
use crate::etl::Guid;
use crate::events::{MarkProviders, ProviderCensus, ProviderSeen, providers};

/// What some words mean in a capture.
#[derive(Clone, Debug, Default)]
pub struct MarksFound {
    /// The providers.
    pub providers: MarkProviders,
    /// Words that fit none of which there are events.
    pub unknown: Vec<String>,
}

impl Capture {
    /// The providers that have events in this capture.
    pub fn providers(&self) -> Vec<ProviderSeen> {
        self.files.iter().map(providers).fold(ProviderCensus::default(), ProviderCensus::plus).list()
    }

    /// The providers that words mean: names, with `*` for anything, in any case, or GUIDs.
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
