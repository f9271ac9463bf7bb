//! The call stack of a record, and the records that are nothing but a stack.

use crate::events::{Event, Frames, Item, Record};

/// The call stack that comes with a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallStack<'a> {
    /// None, or it comes later.
    Nothing,
    /// Its frames, innermost first; for a record that is a stack, the frames of that stack.
    Frames(Frames<'a>),
    /// Key of the user-mode stack, given at a raw time.
    Key {
        /// Key.
        key: u64,
        /// Raw clock value.
        time: i64,
    },
}

impl<'a> CallStack<'a> {
    /// The frames, if they came.
    pub fn frames(self) -> Frames<'a> {
        match self {
            Self::Frames(frames) => frames,
            _ => Frames::default(),
        }
    }

    /// The frames of a record that is itself a stack; other records come without.
    pub fn of(self, record: &Record) -> Self {
        match record.event {
            Event::Stack { .. } | Event::StackDefinition { .. } => self,
            _ => Self::Nothing,
        }
    }
}

/// Whether an event is nothing but a stack.
pub(super) fn is_stack(event: &Event) -> bool {
    matches!(event, Event::Stack { .. } | Event::StackRef { .. } | Event::StackDefinition { .. })
}

/// Whether an item is nothing but a stack.
pub(super) fn is_of_stack(item: Item<'_>) -> bool {
    matches!(item, Item::Record(record) if is_stack(&record.event))
}
