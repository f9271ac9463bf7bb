//! Mappings of the user whose events a trace lacks.

use std::fmt::Write as _;

use super::{TrackerProvider, TrackerProviders, handle};
use crate::events::ProviderSeen;
use crate::format::plain;
use crate::units::Layer;

/// Most ids that a sentence lists.
const MOST_IDS: usize = 8;

impl TrackerProviders {
    /// Whether a tracker of a trace could be of one of the user's mappings.
    pub fn could_have_made(&self, layer: Layer, tracker: u64) -> bool {
        layer == Layer::Tracker && self.users().any(|provider| provider.could_have_made(tracker))
    }

    /// A sentence for each of the user's mappings with events that a trace lacks; `seen` are the trace's providers.
    pub fn lacking(&self, seen: &[ProviderSeen]) -> Vec<String> {
        self.users().filter_map(|provider| provider.lacks(seen)).collect()
    }

    fn users(&self) -> impl Iterator<Item = &TrackerProvider> {
        self.0.iter().filter(|provider| !provider.is_built_in)
    }
}

impl TrackerProvider {
    fn could_have_made(&self, tracker: u64) -> bool {
        match self.handle {
            handle::MADE => tracker & handle::MADE != 0 && tracker & handle::SHARED == 0,
            shared if shared & handle::SHARED != 0 => tracker & !handle::NAME == shared,
            only => tracker == only,
        }
    }

    fn lacks(&self, seen: &[ProviderSeen]) -> Option<String> {
        let is_named = |seen: &ProviderSeen| {
            let names = self.name.as_deref().zip(seen.name.as_deref());
            names.is_some_and(|(mapped, seen)| mapped.eq_ignore_ascii_case(seen))
        };
        let label = plain(&self.label);
        let Some(seen) = seen.iter().find(|seen| seen.guid == self.provider || is_named(seen)) else {
            return Some(format!("the trace has no event of the provider {label}"));
        };
        // Of very many kinds not all are counted.
        let are_all = seen.kinds.iter().map(|kind| kind.events).sum::<u64>() == seen.events;
        let mut missing = self.ids();
        missing.retain(|id| are_all && seen.kinds.iter().all(|kind| kind.id != *id));
        if missing.is_empty() {
            return None;
        }
        let there: Vec<u16> = seen.kinds.iter().map(|kind| kind.id).collect();
        let (missing, there) = (listed(&missing), listed(&there));
        Some(format!("the trace has no event of the provider {label} with {missing}; its events have {there}"))
    }
}

/// Lists ids as in a sentence, the first few of many.
fn listed(ids: &[u16]) -> String {
    let mut text = if ids.len() == 1 { "the id ".to_owned() } else { "the ids ".to_owned() };
    for (at, id) in ids.iter().take(MOST_IDS).enumerate() {
        let between = match at {
            0 => "",
            _ if at + 1 == ids.len() => " and ",
            _ => ", ",
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "{between}{id}");
    }
    if ids.len() > MOST_IDS { text + ", \u{2026}" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::Guid;
    use crate::events::EventKind;

    const MAPPING: &str = "[[tracker]]\nprovider = \"{12345678-1111-2222-3333-444455556666}\"\nname = \"Pool\"\n\
                           [[tracker.event]]\nid = 3\ndoes = \"allocate\"\nfields = \"address:ptr size:u64\"\n\
                           [[tracker.event]]\nid = 4\ndoes = \"free\"\nfields = \"address:ptr\"\n";

    fn seen(guid: &str, name: Option<&str>, ids: impl IntoIterator<Item = u16>) -> ProviderSeen {
        let kinds: Vec<_> = ids.into_iter().map(|id| EventKind { id, events: 2, payload: (8, 16) }).collect();
        let events = 2 * kinds.len() as u64;
        ProviderSeen { guid: guid.parse::<Guid>().unwrap(), name: name.map(str::to_owned), events, kinds }
    }

    #[test]
    fn a_trace_lacks_the_provider_of_a_mapping_or_some_of_its_ids() {
        let mappings = TrackerProviders::parse(MAPPING).unwrap();
        let (this, other) = ("{12345678-1111-2222-3333-444455556666}", "{12345678-1111-2222-3333-444455556667}");
        let sentence = |seen: &[ProviderSeen]| mappings.lacking(seen).join("|");
        let none = format!("the trace has no event of the provider {this}");
        assert_eq!(sentence(&[seen(other, None, [3])]), none);
        assert_eq!(
            sentence(&[seen(this, None, [1, 2])]),
            none.clone() + " with the ids 3 and 4; its events have the ids 1 and 2"
        );
        assert_eq!(sentence(&[seen(this, None, [3])]), none + " with the id 4; its events have the id 3");
        assert!(sentence(&[seen(this, None, 10..30)]).ends_with("10, 11, 12, 13, 14, 15, 16, 17, \u{2026}"));
        assert_eq!(sentence(&[seen(this, None, [1, 3, 4])]), "");
        let many = ProviderSeen { events: 1000, ..seen(this, None, [1]) };
        assert_eq!(sentence(&[many]), "", "not all of its ids are known");
    }

    #[test]
    fn a_provider_of_a_mapping_by_name_is_known_by_its_name() {
        let mappings = TrackerProviders::parse(&MAPPING.replace("{12345678-1111-2222-3333-444455556666}", "My-Pools")).unwrap();
        let other = "{12345678-1111-2222-3333-444455556667}";
        assert_eq!(mappings.lacking(&[seen(other, Some("my-pools"), [3, 4])]), Vec::<String>::new());
        assert_eq!(mappings.lacking(&[seen(other, None, [3])]), ["the trace has no event of the provider My-Pools"]);
    }

    #[test]
    fn trackers_of_the_users_mappings_are_told_from_built_in_ones() {
        let handle = |mappings: &TrackerProviders| mappings.list()[0].handle_of("Pool");
        let (mine, built_in) = (TrackerProviders::parse(MAPPING).unwrap(), TrackerProviders::default());
        assert!(mine.could_have_made(Layer::Tracker, mine.list()[0].handle));
        assert!(!mine.could_have_made(Layer::Tracker, 0x7FF0_0000));
        assert!(built_in.list().iter().all(|provider| !mine.could_have_made(Layer::Tracker, provider.handle)));
        for fields in
            [["pool:u32 address:ptr size:u64", "pool:u32 address:ptr"], ["pool:u32 address:ptr size:u64", "address:ptr"]]
        {
            let text =
                MAPPING.replace("\"Pool\"", "\"Pool {pool}\"").replace("\"address:ptr size:u64\"", &format!("{:?}", fields[0]));
            let named = TrackerProviders::parse(&text.replace("\"address:ptr\"", &format!("{:?}", fields[1]))).unwrap();
            assert!(named.could_have_made(Layer::Tracker, handle(&named)), "{fields:?}");
            assert!(!named.could_have_made(Layer::Heap, handle(&named)), "{fields:?}");
        }
    }
}
