//! Filters in an investigation file, by meaning: a process by its id, name and start, a heap by its handle and name, a
//! place in a stack by the addresses that lead to it ([`super::paths`]).
//!
//! Cost of finding them again: a pass over the stack nodes for each filter with frames.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::paths::{SavedPath, layer};
use crate::app::state::filters::{Chip, Predicate};
use crate::format::plain;
use crate::model::Trace;
use crate::query::{Bounds, RowCondition, TypeKey};
use crate::units::{Ticks, Tid};

/// A filter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedChip {
    #[serde(default)]
    excluded: bool,
    what: SavedPredicate,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SavedPredicate {
    Under(SavedPath),
    Type { layer: String, name: String },
    Function(String),
    Module(String),
    Owner(String),
    Tag(String),
    Rows { name: String, are: SavedCondition },
}

/// A condition on single rows; times are ticks since the trace start.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedCondition {
    Allocated(SavedBounds),
    Freed { within: Option<SavedBounds>, or_never: bool },
    Size(SavedBounds),
    Lifetime(SavedBounds),
    Thread(u32),
    All(Vec<SavedCondition>),
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct SavedBounds {
    from: Option<i64>,
    to: Option<i64>,
}

impl SavedChip {
    /// A filter as it is saved; `None` if it is about single allocations, which have no lasting name.
    pub fn of(trace: &Trace, chip: &Chip) -> Option<Self> {
        let text = |name: &Arc<str>| name.to_string();
        let what = match &chip.what {
            Predicate::Under(path) => SavedPredicate::Under(SavedPath::of(trace, path)?),
            Predicate::Type(key) => SavedPredicate::Type { layer: key.layer.name().to_owned(), name: text(&key.name) },
            Predicate::Function(name) => SavedPredicate::Function(text(name)),
            Predicate::Module(name) => SavedPredicate::Module(text(name)),
            Predicate::Owner(name) => SavedPredicate::Owner(text(name)),
            Predicate::Tag(name) => SavedPredicate::Tag(text(name)),
            Predicate::Row(condition, name) => SavedPredicate::Rows { name: text(name), are: SavedCondition::of(condition)? },
        };
        Some(Self { excluded: chip.is_excluded, what })
    }

    /// The filter in a trace; `None` if the trace lacks what it is about.
    pub fn find(&self, trace: &Trace) -> Option<Chip> {
        let what = match &self.what {
            SavedPredicate::Under(path) => Predicate::Under(path.find(trace)?),
            SavedPredicate::Type { layer: of, name } => {
                Predicate::Type(TypeKey { layer: layer(of)?, name: name.as_str().into() })
            }
            SavedPredicate::Function(name) => Predicate::Function(name.as_str().into()),
            SavedPredicate::Module(name) => Predicate::Module(name.as_str().into()),
            SavedPredicate::Owner(name) => Predicate::Owner(name.as_str().into()),
            SavedPredicate::Tag(name) => Predicate::Tag(name.as_str().into()),
            SavedPredicate::Rows { name, are } => Predicate::Row(are.condition(), plain(name).into()),
        };
        Some(Chip { what, is_excluded: self.excluded })
    }
}

impl SavedCondition {
    fn of(condition: &RowCondition) -> Option<Self> {
        let ticks = |bounds: &Bounds<Ticks>| SavedBounds::of(bounds.map(|ticks| ticks.0));
        Some(match condition {
            RowCondition::Allocated(bounds) => Self::Allocated(ticks(bounds)),
            RowCondition::Freed { within, or_never } => Self::Freed { within: within.as_ref().map(ticks), or_never: *or_never },
            RowCondition::Size(bounds) => {
                Self::Size(SavedBounds::of(bounds.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX))))
            }
            RowCondition::Lifetime(bounds) => Self::Lifetime(SavedBounds::of(*bounds)),
            RowCondition::Thread(thread) => Self::Thread(thread.0),
            RowCondition::Rows(_) => return None,
            RowCondition::All(all) => Self::All(all.iter().map(Self::of).collect::<Option<_>>()?),
        })
    }

    fn condition(&self) -> RowCondition {
        match self {
            Self::Allocated(bounds) => RowCondition::Allocated(bounds.bounds().map(Ticks)),
            Self::Freed { within, or_never } => {
                RowCondition::Freed { within: within.map(|within| within.bounds().map(Ticks)), or_never: *or_never }
            }
            Self::Size(bounds) => RowCondition::Size(bounds.bounds().map(|bytes| bytes.max(0) as u64)),
            Self::Lifetime(bounds) => RowCondition::Lifetime(bounds.bounds()),
            Self::Thread(thread) => RowCondition::Thread(Tid(*thread)),
            Self::All(all) => RowCondition::All(all.iter().map(Self::condition).collect()),
        }
    }
}

impl SavedBounds {
    fn of(bounds: Bounds<i64>) -> Self {
        Self { from: bounds.from, to: bounds.to }
    }

    fn bounds(self) -> Bounds<i64> {
        Bounds { from: self.from, to: self.to }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Capture, Input, Unwatched, load};
    use crate::model::{HeapId, NodeId};
    use crate::query::{ImpactingType, Key, LifetimeClass, Path};
    use crate::units::Layer;

    fn demo() -> Trace {
        load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap()
    }

    #[test]
    fn filters_are_found_again_in_another_load_of_the_trace() {
        let (trace, again) = (demo(), demo());
        let deepest = (1..trace.stacks.len() as u32).map(NodeId).max_by_key(|&node| trace.stacks.path(node).len()).unwrap();
        let stack = trace.stacks.path(deepest);
        let heap = (0..trace.heaps.len() as u32).map(HeapId).find(|&id| trace.heap(id).layer == Layer::Tracker).unwrap();
        let path: Path = [
            Key::Process(trace.heap(heap).process),
            Key::Layer(Layer::Tracker),
            Key::Heap(heap),
            Key::Impacting(ImpactingType::Impacting),
            Key::Class(LifetimeClass::Aifo),
            Key::Frame(stack[0]),
            Key::Inlined(stack[1], 2),
            Key::Inside(deepest, 1),
        ]
        .into();
        let no_stack: Path = [Key::Layer(Layer::Heap), Key::Frame(NodeId::ROOT)].into();
        let bounds = Bounds { from: Some(Ticks(3)), to: None };
        let rows = RowCondition::All(
            [
                RowCondition::Allocated(bounds),
                RowCondition::Freed { within: Some(bounds), or_never: true },
                RowCondition::Size(Bounds::new(1, 9)),
                RowCondition::Lifetime(Bounds::new(-1, 5)),
                RowCondition::Thread(Tid(7)),
            ]
            .into(),
        );
        let all = [
            Predicate::Under(path),
            Predicate::Under(no_stack),
            Predicate::Type(TypeKey { layer: Layer::Heap, name: "A<\"b\">".into() }),
            Predicate::Function("a!f".into()),
            Predicate::Module("a.dll".into()),
            Predicate::Owner("o".into()),
            Predicate::Tag("t".into()),
            Predicate::Row(rows, "some".into()),
        ];
        for (what, is_excluded) in all.into_iter().zip([true, false].into_iter().cycle()) {
            let chip = Chip { what, is_excluded };
            let value = toml::Value::try_from(SavedChip::of(&trace, &chip).unwrap()).unwrap();
            let read: SavedChip = toml::from_str(&toml::to_string(&value).unwrap()).unwrap();
            assert_eq!(read.find(&again), Some(chip));
        }
    }

    #[test]
    fn what_has_no_lasting_name_is_not_saved_and_what_is_gone_is_not_found() {
        let trace = demo();
        let rows = Predicate::Row(RowCondition::rows([crate::model::RowId(1)]), "row".into());
        assert_eq!(SavedChip::of(&trace, &Chip::only(rows)), None);
        for text in [
            "what.under.keys = [{ layer = \"none\" }]",
            "what.under.keys = [{ process = { pid = 999999, name = \"x\" } }]",
            "[what.under]\nkeys = [{ frame = { depth = 1 } }]\nstack = [\"0x1\"]",
            "what.under.keys = []",
            "[what.under]\nkeys = [{ layer = \"heap\" }]\nstack = [\"one\"]",
            "[what.under]\nkeys = [{ frame = { depth = 4000000000 } }]",
            "[what.under]\nkeys = [{ frame = { depth = 0, inlined = 1 } }]",
        ] {
            assert_eq!(toml::from_str::<SavedChip>(text).unwrap().find(&trace), None, "{text}");
        }
    }
}
