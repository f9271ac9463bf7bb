//! The intervals that are compared: they follow from selection, view and marks, or are set by the user.

use crate::app::document::Document;
use crate::app::state::view_choices::SidesChoice;
use crate::units::{Interval, Ticks};

/// The choices that follow from selection, view and marks.
pub const FOLLOWING: [SidesChoice; 3] = [SidesChoice::Selection, SidesChoice::Halves, SidesChoice::Marks];

/// The words for a choice.
pub fn label(choice: SidesChoice) -> &'static str {
    match choice {
        SidesChoice::Selection => "Before the selection / selection",
        SidesChoice::Halves => "First half / second half of the view",
        SidesChoice::Marks => "Between marks 1\u{2013}2 / marks 2\u{2013}3",
        SidesChoice::Own(_) => "Chosen by hand",
    }
}

/// The text that says what is missing if a choice has no intervals.
pub fn needs(choice: SidesChoice) -> &'static str {
    match choice {
        SidesChoice::Selection => "Drag on the graph to select an interval: it is compared with all that comes before it.",
        SidesChoice::Marks => {
            "Set three marks on the graph (M): what is between the first two is compared with what is between the last two."
        }
        SidesChoice::Halves | SidesChoice::Own(_) => "There is nothing to compare in the view.",
    }
}

/// The intervals of a choice, if it has any.
pub fn intervals(choice: SidesChoice, document: &Document) -> Option<[Interval; 2]> {
    let view = document.view();
    match choice {
        SidesChoice::Selection => {
            let selection = document.selection()?;
            let from = if view.from < selection.from { view.from } else { document.trace.span.from };
            Some([Interval { from: from.min(selection.from), to: selection.from }, selection])
        }
        SidesChoice::Halves => {
            let middle = Ticks(view.from.0.saturating_add(view.len() / 2));
            Some([Interval { from: view.from, to: middle }, Interval { from: middle, to: view.to }])
        }
        SidesChoice::Marks => match *document.marks() {
            [a, b, c, ..] => Some([Interval { from: a, to: b }, Interval { from: b, to: c }]),
            _ => None,
        },
        SidesChoice::Own(sides) => Some(sides),
    }
}

/// The user's choice, or `None` for the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sides(pub Option<SidesChoice>);

impl Sides {
    /// The user's choice, else the selection if there is one, else the halves of the view.
    pub fn choice(self, document: &Document) -> SidesChoice {
        self.0.unwrap_or(if document.selection().is_some() { SidesChoice::Selection } else { SidesChoice::Halves })
    }

    pub fn of(self, document: &Document) -> Option<[Interval; 2]> {
        intervals(self.choice(document), document)
    }

    /// Sets one side to the interval that the tables show; the other side stays as it is.
    pub fn put(&mut self, side: usize, document: &Document) {
        let mut sides = self.of(document).unwrap_or([document.interval(); 2]);
        sides[side] = document.interval();
        self.0 = Some(SidesChoice::Own(sides));
    }
}
