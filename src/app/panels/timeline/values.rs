//! The value of a line in words, as lanes and the legend of *Together* say it.

use super::canvas::{Canvas, Drawn};
use super::difference;
use crate::app::document::Document;
use crate::app::panels::counters;
use crate::app::state::graph::LineOf;
use crate::format;
use crate::query::number_text;
use crate::units::Ticks;

/// A value of a line, and what it is a value of.
pub struct Value {
    pub what: What,
    /// The number with its unit.
    pub number: String,
}

/// The meaning of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    AtCursor,
    /// The largest one in the view.
    Peak,
    /// A part of a stack, where the stack is highest in the view.
    AtPeak,
    /// At the selected instant.
    Alive,
    /// The change in the selected interval.
    Selected,
    BetweenPins,
}

impl Value {
    /// The number and its meaning.
    pub fn text(&self) -> String {
        let number = &self.number;
        match self.what {
            What::AtCursor => number.clone(),
            What::Peak => format!("peak {number}"),
            What::AtPeak => format!("{number} at the peak"),
            What::Alive => format!("{number} alive"),
            What::Selected => format!("{number} selected"),
            What::BetweenPins => format!("{number} from pin 1 to 2"),
        }
    }
}

impl What {
    /// The words above numbers that have this meaning.
    pub fn heading(self) -> &'static str {
        match self {
            Self::AtCursor => "at the cursor",
            Self::Peak => "peak in view",
            Self::AtPeak => "at the peak",
            Self::Alive => "alive",
            Self::Selected => "selected",
            Self::BetweenPins => "from pin 1 to 2",
        }
    }
}

/// The value of a line: at the cursor; without one, of the selected interval, else the peak in the view.
pub fn of_line(canvas: &Canvas<'_>, of: &LineOf, cursor: Option<Ticks>) -> Option<Value> {
    let (document, drawn) = (canvas.document, canvas.drawn(of)?);
    let value = |what, number| Some(Value { what, number });
    if let Some(at) = cursor {
        let number = if let LineOf::Counter(id) = *of { counters::text_at(document, id, at) } else { None };
        let bytes = drawn.value_at(at)?;
        return value(What::AtCursor, number.unwrap_or_else(|| format::bytes(bytes)));
    }
    if let Some((_, high)) = reported(document, of) {
        return value(What::Peak, number_text(high));
    }
    if let (None, Some(change)) = (document.selection(), difference::change_of(document, of)) {
        return value(What::BetweenPins, format::signed_bytes(change));
    }
    let numbers = match of {
        LineOf::Layer(process, layer) => document.source_list.numbers.get(&(*process, *layer)).copied(),
        LineOf::Heap(heap) => document.answers.numbers(*heap),
        _ => None,
    };
    match document.selection().zip(numbers) {
        Some((selection, numbers)) if selection.is_empty() => value(What::Alive, format::bytes(numbers.at_end)),
        Some((_, numbers)) => value(What::Selected, format::signed_bytes(numbers.change)),
        None => value(What::Peak, format::bytes(drawn.line.peak)),
    }
}

/// The smallest and largest number of a line, if a program reported them.
pub fn reported(document: &Document, of: &LineOf) -> Option<(f32, f32)> {
    if let LineOf::Counter(id) = *of { counters::range(document, id) } else { None }
}

impl Drawn<'_> {
    /// The size at a moment, if it is known.
    pub fn value_at(&self, at: Ticks) -> Option<u64> {
        self.line.is_known_at(at).then(|| self.line.value_at(at))
    }
}
