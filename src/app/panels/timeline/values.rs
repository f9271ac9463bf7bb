//! The value of a line in words, as lanes and the legend of *Together* say it.

use super::canvas::{Canvas, Drawn};
use super::difference;
use crate::app::document::Document;
use crate::app::panels::counters;
use crate::app::state::graph::LineOf;
use crate::format;
use crate::query::number_text;
use crate::units::Ticks;

/// The value of a line: at the cursor; without one, of the selected interval, else the peak in the view.
pub fn of_line(canvas: &Canvas<'_>, of: &LineOf, cursor: Option<Ticks>) -> Option<String> {
    let (document, drawn) = (canvas.document, canvas.drawn(of)?);
    if let Some(at) = cursor {
        let number = if let LineOf::Counter(id) = *of { counters::text_at(document, id, at) } else { None };
        return drawn.value_at(at).map(|value| number.unwrap_or_else(|| format::bytes(value)));
    }
    if let Some((_, high)) = reported(document, of) {
        return Some(format!("peak {}", number_text(high)));
    }
    if let (None, Some(change)) = (document.selection(), difference::change_of(document, of)) {
        return Some(format!("{} from pin 1 to 2", format::signed_bytes(change)));
    }
    let numbers = match of {
        LineOf::Layer(process, layer) => document.source_list.numbers.get(&(*process, *layer)).copied(),
        LineOf::Heap(heap) => document.answers.numbers(*heap),
        _ => None,
    };
    Some(match document.selection().zip(numbers) {
        Some((selection, numbers)) if selection.is_empty() => format!("{} alive", format::bytes(numbers.at_end)),
        Some((_, numbers)) => format!("{} selected", format::signed_bytes(numbers.change)),
        None => peak(drawn.line.peak),
    })
}

/// The largest size in the view.
pub fn peak(bytes: u64) -> String {
    format!("peak {}", format::bytes(bytes))
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
