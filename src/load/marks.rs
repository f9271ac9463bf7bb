//! Providers whose events a user wants as marks: by name or GUID, as the trace knows them.
//!
//! Whose events describe themselves is known by name when they are met. What only the descriptions that
//! merging adds call by name (they may stand at the end), or the manifest of an EventSource, is
//! found here, by a look at all events before they are loaded. Cost: a pass over the capture, where
//! a name was given; nothing for GUIDs.

use super::Capture;
use crate::etl::Guid;
use crate::events::{MarkProviders, ProviderCensus, ProviderSeen, providers};
use crate::pattern::Pattern;

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
        if words.iter().all(|word| guid(word).is_some()) {
            return MarksFound { providers: MarkProviders::new(words), unknown: Vec::new() };
        }
        let seen = self.providers();
        let (mut all, mut unknown) = (Vec::new(), Vec::new());
        for word in words {
            all.push(word.clone());
            if guid(word).is_some() {
                continue;
            }
            let pattern = Pattern::new(&word.trim().to_lowercase());
            let is_meant = |seen: &&ProviderSeen| seen.name.as_ref().is_some_and(|name| pattern.fits(&name.to_lowercase()));
            let before = all.len();
            all.extend(seen.iter().filter(is_meant).map(|seen| seen.guid.to_string()));
            if all.len() == before {
                unknown.push(word.clone());
            }
        }
        MarksFound { providers: MarkProviders::new(all), unknown }
    }
}

fn guid(word: &str) -> Option<Guid> {
    word.trim().trim_matches(['{', '}']).parse().ok()
}
