//! Windows' answers about kinds of events, checked before they are stored in a trace.
//!
//! A TRACE_EVENT_INFO is taken only if our own reader finds in it the event that was asked about, and the names that
//! `Schema` tells of it: so a layout that is not the one we know shows here, and not in the user's marks. Of an event
//! whose TRACE_EVENT_INFO is not taken, the names alone are.

use std::collections::BTreeSet;

use crate::etl::u32_at;
use crate::events::{Described, EventKey, EventSchema, UndescribedKind};

/// Most bytes of one description: with its header it fits into an event.
pub(crate) const MOST_INFO: usize = 60_000;
/// Most bytes of all descriptions together.
const MOST_BYTES: usize = 16 << 20;
/// Most characters of a name, and as many as our reader certainly reads.
const MOST_NAME: usize = 63;

/// Names of an event, as `Schema` tells them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// Of the provider.
    pub provider: String,
    /// Of the task.
    pub task: String,
    /// Of the opcode.
    pub opcode: String,
}

/// Collects the answers about some kinds of events, one for each.
#[derive(Debug, Default)]
pub struct Answers {
    open: BTreeSet<([u8; 16], u16, u8)>,
    infos: Vec<Vec<u8>>,
    bytes: usize,
    /// Number of descriptions that were not what was asked for, or too large.
    refused: u32,
}

impl Answers {
    /// Waits for answers about these kinds.
    pub fn about(kinds: &[UndescribedKind]) -> Self {
        let open = kinds.iter().map(|kind| (kind.provider.to_bytes(), kind.id, kind.version)).collect();
        Self { open, ..Self::default() }
    }

    /// Whether an answer about an event is wanted; a second time it is not.
    pub fn wants(&mut self, (provider, id, version): EventKey) -> bool {
        self.open.remove(&(provider.to_bytes(), id, version))
    }

    /// Takes what is known of an event: its names, and its TRACE_EVENT_INFO if there is one.
    pub fn take(&mut self, key: EventKey, names: &Names, info: Option<Vec<u8>>) {
        let names = names_only(key, names);
        let has_info = info.is_some();
        let checked = info.filter(|info| is_about(key, &names, info));
        self.refused += u32::from(has_info && checked.is_none());
        let known = checked.or_else(|| has_names(&names).then(|| names.to_info()));
        let Some(known) = known else { return };
        if self.bytes + known.len() > MOST_BYTES {
            self.refused += 1;
            return;
        }
        self.bytes += known.len();
        self.infos.push(known);
    }

    /// The answer; `failure` says what went wrong on the way.
    pub fn finish(self, failure: Option<String>) -> Described {
        let refused = (self.refused > 0)
            .then(|| format!("of {} kinds of events Windows' description could not be used as it is", self.refused));
        let reasons: Vec<String> = failure.into_iter().chain(refused).collect();
        Described { infos: self.infos, failure: (!reasons.is_empty()).then(|| reasons.join("; ")) }
    }
}

/// A schema with these names and no fields.
fn names_only(key: EventKey, names: &Names) -> EventSchema {
    let short = |name: &str| name.trim().chars().take(MOST_NAME).collect::<String>();
    EventSchema::named(key, &short(&names.provider), &short(&names.task), &short(&names.opcode))
}

/// Whether more than the number of the event is known.
fn has_names(schema: &EventSchema) -> bool {
    let number = format!("event {}", schema.id);
    !schema.provider_name.is_empty() || *schema.name != *number
}

/// Whether a TRACE_EVENT_INFO describes this event, from a manifest, by these names.
fn is_about((provider, id, version): EventKey, names: &EventSchema, info: &[u8]) -> bool {
    let is_of_manifest = u32_at(info, EventSchema::AT_SOURCE) == Some(EventSchema::OF_MANIFEST);
    let Some(schema) = EventSchema::from_info(info).filter(|_| is_of_manifest && info.len() <= MOST_INFO) else { return false };
    let is_it = (schema.provider, schema.id, schema.version) == (provider, id, version);
    is_it && agrees(&schema.provider_name, &names.provider_name) && agrees(&schema.name, &names.name)
}

/// Whether a name is what the other reader says. Long names are cut in different places.
fn agrees(ours: &str, other: &str) -> bool {
    let start = |name: &str| name.chars().take(MOST_NAME / 2).collect::<String>();
    start(ours) == start(other)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::etl::write::Descriptor;
    use crate::etl::{Guid, PointerSize};
    use crate::events::{Field, InType};

    const KEY: EventKey = (Guid::new(1, 2, 3, [4; 8]), 7, 1);

    fn names() -> Names {
        Names { provider: "My-Game".to_owned(), task: "Level".to_owned(), opcode: "win:Start".to_owned() }
    }

    fn info(key: EventKey) -> Vec<u8> {
        let field = Field { name: "number".into(), stored: InType::UINT32, is_single: true };
        EventSchema { fields: [field].into(), ..EventSchema::named(key, "My-Game", "Level", "win:Start") }.to_info()
    }

    fn kind((provider, id, version): EventKey) -> UndescribedKind {
        UndescribedKind { provider, id, version, descriptor: Descriptor::default(), pointer: PointerSize::Eight }
    }

    fn answer(names: &Names, info: Option<Vec<u8>>) -> Described {
        let mut answers = Answers::about(&[kind(KEY)]);
        assert!(answers.wants(KEY) && !answers.wants(KEY) && !answers.wants((KEY.0, 8, 1)));
        answers.take(KEY, names, info);
        answers.finish(None)
    }

    fn names_of(answer: &Described) -> (Box<str>, usize) {
        let schema = EventSchema::from_info(&answer.infos[0]).unwrap();
        (schema.name, schema.fields.len())
    }

    #[test]
    fn a_description_of_the_event_is_taken_with_all_its_bytes() {
        let mut longer = info(KEY);
        longer.extend_from_slice(b"a message, and what newer versions append");
        assert_eq!(answer(&names(), Some(longer.clone())), Described { infos: vec![longer], failure: None });
    }

    #[test]
    fn of_a_description_that_is_not_what_was_asked_for_only_the_names_are_taken() {
        let changed = |at: usize, byte: u8| {
            let mut info = info(KEY);
            info[at] = byte;
            info
        };
        let too_long = [info(KEY), vec![0; MOST_INFO]].concat();
        let cases = [
            ("another provider", info((Guid::new(9, 2, 3, [4; 8]), 7, 1))),
            ("another id", info((KEY.0, 8, 1))),
            ("another version", info((KEY.0, 7, 2))),
            ("not from a manifest", changed(EventSchema::AT_SOURCE, 1)),
            ("names elsewhere", changed(0x44, 0x30)),
            ("a name behind the end", changed(0x35, 0xFF)),
            ("cut off", info(KEY)[..0x60].to_vec()),
            ("nothing", Vec::new()),
            ("too long", too_long),
        ];
        for (case, info) in cases {
            let answer = answer(&names(), Some(info));
            assert_eq!(names_of(&answer), ("Level Start".into(), 0), "{case}");
            assert!(answer.failure.is_some_and(|reason| reason.contains("of 1 kinds")), "{case}");
        }
        assert_eq!(names_of(&answer(&names(), None)), ("Level Start".into(), 0));
        assert_eq!(answer(&Names::default(), None), Described::default(), "nothing is known");
    }

    #[test]
    fn all_answers_together_are_bounded_and_failures_are_told() {
        let keys: Vec<EventKey> = (0..400).map(|id| (KEY.0, id, 1)).collect();
        let mut answers = Answers::about(&keys.iter().map(|key| kind(*key)).collect::<Vec<_>>());
        for key in keys {
            let mut info = info(key);
            info.resize(MOST_INFO, 0);
            answers.take(key, &names(), Some(info));
        }
        assert!(answers.bytes <= MOST_BYTES && answers.infos.len() > 250);
        let failure = answers.finish(Some("Windows' reader stopped".to_owned())).failure.unwrap();
        assert!(failure.starts_with("Windows' reader stopped; of 1"), "{failure}");
    }

    proptest! {
        #[test]
        fn whatever_comes_what_is_stored_is_about_the_event(
            changes in prop::collection::vec((0usize..180, any::<u8>()), 0..12),
            cut in 0usize..200,
        ) {
            let mut bytes = info(KEY);
            for (at, byte) in changes {
                bytes.get_mut(at).into_iter().for_each(|place| *place = byte);
            }
            bytes.truncate(cut);
            let answer = answer(&names(), Some(bytes));
            let schema = EventSchema::from_info(&answer.infos[0]).unwrap();
            prop_assert_eq!((schema.provider, schema.id, schema.version, &*schema.name), (KEY.0, 7, 1, "Level Start"));
        }
    }
}
