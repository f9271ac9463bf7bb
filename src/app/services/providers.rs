//! Which providers have events in the open trace, and which of them are shown as marks. The choice
//! applies to all traces and is kept in the settings; the trace in front is loaded again with it.
//!
//! Cost: listing them takes a pass over the capture on a worker, once, when the list is first shown. A
//! second load replaces the trace only at its end, so the user's work on it stays; without memory for
//! both, the trace is opened anew.

use eframe::egui;

use crate::app::base::background::Background;
use crate::capture::providers::provider_of;
use crate::events::{MarkProviders, ProviderSeen};
use crate::load::{Capture, Input};
use crate::panics;

/// The providers of a document's capture, as far as they are known.
#[derive(Debug, Default)]
pub enum Providers {
    /// Not requested yet.
    #[default]
    Unknown,
    /// A worker is searching.
    Sought(Background<Option<Vec<ProviderSeen>>>),
    /// The providers, the busiest first.
    Known(Vec<ProviderSeen>),
    /// The capture could not be read again.
    Lost,
}

impl Providers {
    pub fn seek(ctx: &egui::Context, inputs: Vec<Input>) -> Self {
        let mut search = Background::default();
        search.start(ctx, move || {
            let found = panics::catch(|| Capture::open(&inputs).map(|capture| capture.providers()));
            let found = found.inspect_err(|fault| log::error!("the providers could not be listed: {fault}")).ok()?;
            found.inspect_err(|reason| log::warn!("the providers could not be listed: {reason}")).ok()
        });
        Self::Sought(search)
    }

    pub fn drain(&mut self) {
        let Self::Sought(search) = self else { return };
        if let Some(found) = search.done().pop() {
            *self = found.map_or(Self::Lost, Self::Known);
        }
    }

    /// Whether a worker is searching.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Sought(_))
    }
}

/// Whether a word names this provider and only this one.
fn names_it(word: &str, seen: &ProviderSeen) -> bool {
    let is_name = seen.name.as_ref().is_some_and(|name| name.to_lowercase() == word.trim().to_lowercase());
    is_name || word.trim().parse() == Ok(seen.guid)
}

/// Whether these words make a provider's events marks.
pub fn is_chosen(words: &[String], seen: &ProviderSeen) -> bool {
    MarkProviders::new(words).has(seen.guid, seen.name.as_deref())
}

/// The words with a provider added or removed. Words for other providers stay, and so does a pattern that matches it.
pub fn with_choice(words: &[String], seen: &ProviderSeen, is_chosen: bool) -> Vec<String> {
    let mut words: Vec<String> = words.iter().filter(|word| !names_it(word, seen)).cloned().collect();
    if is_chosen {
        words.push(seen.name.clone().unwrap_or_else(|| format!("{{{}}}", seen.guid)));
    }
    words
}

/// The words, and those of a recording's providers of marks, whose events were recorded to be shown as marks.
pub fn with_recorded<'a>(words: &[String], recorded: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all = words.to_vec();
    for word in recorded {
        let Ok(guid) = provider_of(word) else { continue };
        if MarkProviders::new(&all).has(guid, Some(word)) {
            continue;
        }
        // A name's registration is known only on this machine; the trace may not contain it.
        let is_told = MarkProviders::new([word]).has(guid, None);
        all.push(if is_told { word.to_owned() } else { format!("{{{guid}}}") });
    }
    all
}

/// Words that match none of these providers.
pub fn without_events<'a>(words: &'a [String], seen: &[ProviderSeen]) -> Vec<&'a String> {
    let fits = |word: &&String| {
        let this = MarkProviders::new([word]);
        seen.iter().any(|seen| this.has(seen.guid, seen.name.as_deref()))
    };
    words.iter().filter(|word| !fits(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::Guid;

    fn seen(n: u8, name: Option<&str>) -> ProviderSeen {
        ProviderSeen { guid: Guid::from_bytes([n; 16]), name: name.map(str::to_owned), events: 1, kinds: Vec::new() }
    }

    fn words(all: &[&str]) -> Vec<String> {
        all.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn a_provider_is_chosen_by_name_or_guid_and_what_else_was_chosen_stays() {
        let (named, nameless) = (seen(1, Some("My-Game")), seen(2, None));
        let of_nameless = format!("{{{}}}", nameless.guid);
        let both = with_choice(&with_choice(&words(&["Other"]), &named, true), &nameless, true);
        assert_eq!(both, ["Other", "My-Game", &*of_nameless]);
        assert!(is_chosen(&both, &named) && is_chosen(&both, &nameless) && !is_chosen(&both, &seen(3, Some("Third"))));
        assert_eq!(with_choice(&both, &named, true), ["Other", &*of_nameless, "My-Game"], "it is there once");
        for word in ["my-game", &named.guid.to_string(), &format!("{{{}}}", named.guid)] {
            assert_eq!(with_choice(&words(&["Other", word]), &named, false), ["Other"], "{word}");
        }
        let by_pattern = words(&["my-*"]);
        assert!(is_chosen(&with_choice(&by_pattern, &named, false), &named), "a pattern means others, too");
    }

    #[test]
    fn what_is_recorded_for_marks_is_seen_as_marks() {
        let guid = "{11112222-3333-4444-5555-666677778888}";
        let recorded = || ["My-Game", guid, "multi-main", "bad*"].into_iter();
        let all = with_recorded(&words(&["Other", "Multi-*"]), recorded());
        assert_eq!(all, ["Other", "Multi-*", "My-Game", guid], "what is chosen stays, and is there once");
        assert_eq!(with_recorded(&all, recorded()), all);
        assert!(
            recorded()
                .filter_map(|word| provider_of(word).ok())
                .all(|guid| { MarkProviders::new(&all).has(guid, None) || guid == crate::events::class::MULTI_MAIN })
        );
    }

    #[test]
    fn words_that_no_provider_has_are_told() {
        let all = [seen(1, Some("My-Game")), seen(2, None)];
        let chosen = words(&["my-*", "Other", &all[1].guid.to_string(), &Guid::from_bytes([9; 16]).to_string()]);
        assert_eq!(without_events(&chosen, &all), [&chosen[1], &chosen[3]]);
    }
}
