//! The intervals that are compared: they follow from selection, view and marks, or are set by the user.

use crate::app::document::Document;
use crate::units::{Interval, Ticks};

/// The source of A and B.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The time before the selection, and the selection.
    Selection,
    /// The halves of the view.
    Halves,
    /// The intervals between the first three marks.
    Marks,
    /// Intervals that the user has set.
    Own([Interval; 2]),
}

impl Choice {
    pub const FOLLOWING: [Self; 3] = [Self::Selection, Self::Halves, Self::Marks];

    pub fn label(self) -> &'static str {
        match self {
            Self::Selection => "Before the selection / selection",
            Self::Halves => "First half / second half of the view",
            Self::Marks => "Between marks 1\u{2013}2 / marks 2\u{2013}3",
            Self::Own(_) => "Chosen by hand",
        }
    }

    /// The text that says what is missing if the choice has no intervals.
    pub fn needs(self) -> &'static str {
        match self {
            Self::Selection => "Drag on the graph to select an interval: it is compared with all that comes before it.",
            Self::Marks => {
                "Set three marks on the graph (M): what is between the first two is compared with what is between the last two."
            }
            Self::Halves | Self::Own(_) => "There is nothing to compare in the view.",
        }
    }

    pub fn sides(self, document: &Document) -> Option<[Interval; 2]> {
        let view = document.view();
        match self {
            Self::Selection => {
                let selection = document.selection()?;
                let from = if view.from < selection.from { view.from } else { document.trace.span.from };
                Some([Interval { from: from.min(selection.from), to: selection.from }, selection])
            }
            Self::Halves => {
                let middle = Ticks(view.from.0.saturating_add(view.len() / 2));
                Some([Interval { from: view.from, to: middle }, Interval { from: middle, to: view.to }])
            }
            Self::Marks => match *document.marks() {
                [a, b, c, ..] => Some([Interval { from: a, to: b }, Interval { from: b, to: c }]),
                _ => None,
            },
            Self::Own(sides) => Some(sides),
        }
    }
}

/// The user's choice, or `None` for the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sides(pub Option<Choice>);

impl Sides {
    /// The user's choice, else the selection if there is one, else the halves of the view.
    pub fn choice(self, document: &Document) -> Choice {
        self.0.unwrap_or(if document.selection().is_some() { Choice::Selection } else { Choice::Halves })
    }

    pub fn of(self, document: &Document) -> Option<[Interval; 2]> {
        self.choice(document).sides(document)
    }

    /// Sets one side to the interval that the tables show; the other side stays as it is.
    pub fn put(&mut self, side: usize, document: &Document) {
        let mut sides = self.of(document).unwrap_or([document.interval(); 2]);
        sides[side] = document.interval();
        self.0 = Some(Choice::Own(sides));
    }
}
