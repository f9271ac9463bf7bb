//! Questions about marks, as presets: what grew between two moments, what was short-lived, what leaked. Each
//! becomes one chip with conditions on the allocation time and the free time of rows.

use std::sync::Arc;

use eframe::egui::{self, Ui};

use super::view::ViewContext;
use crate::app::commands::DocCommand;
use crate::app::document::Document;
use crate::app::state::filters::{Chip, Predicate};
use crate::query::{Bounds, RowCondition};
use crate::units::Ticks;

/// A question about the moments A, B and C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Question {
    Growth,
    Decline,
    ShortLived,
    LongLived,
    Leaks,
    Alive,
}

impl Question {
    const ALL: [Self; 6] = [Self::Growth, Self::Decline, Self::ShortLived, Self::LongLived, Self::Leaks, Self::Alive];

    fn label(self) -> &'static str {
        match self {
            Self::Growth => "Growth between 1 and 2",
            Self::Decline => "Decline between 1 and 2",
            Self::ShortLived => "Short-lived between 1 and 2",
            Self::LongLived => "Long-lived that were freed by 3",
            Self::Leaks => "Leaks between 1 and 2",
            Self::Alive => "Alive at 1",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Growth => "Allocated between 1 and 2, freed later or never",
            Self::Decline => "Allocated before 1, and freed between 1 and 2",
            Self::ShortLived => "Allocated and freed between 1 and 2",
            Self::LongLived => "Allocated before 1, and freed between 2 and 3",
            Self::Leaks => "Allocated between 1 and 2, and not freed before 3",
            Self::Alive => "Allocated before 1, and not freed before it",
        }
    }

    /// The number of moments that the question needs.
    fn moments(self) -> usize {
        match self {
            Self::Alive => 1,
            Self::Growth | Self::Decline | Self::ShortLived => 2,
            Self::LongLived | Self::Leaks => 3,
        }
    }

    fn condition(self, [a, b, c]: [Ticks; 3]) -> RowCondition {
        let before = |t| Bounds { from: None, to: Some(t) };
        let since = |t| Bounds { from: Some(t), to: None };
        let (allocated, freed, or_never) = match self {
            Self::Growth => (Bounds::new(a, b), since(b), true),
            Self::Decline => (before(a), Bounds::new(a, b), false),
            Self::ShortLived => (Bounds::new(a, b), Bounds::new(a, b), false),
            Self::LongLived => (before(a), Bounds::new(b, c), false),
            Self::Leaks => (Bounds::new(a, b), since(c), true),
            Self::Alive => (before(a), since(a), true),
        };
        let freed = RowCondition::Freed { within: Some(freed), or_never };
        RowCondition::All(Arc::from([RowCondition::Allocated(allocated), freed]))
    }

    /// The text of the question's chip.
    fn words(self, [a, b, c]: [&str; 3]) -> String {
        match self {
            Self::Growth => format!("growth {a} to {b}"),
            Self::Decline => format!("decline {a} to {b}"),
            Self::ShortLived => format!("short-lived {a} to {b}"),
            Self::LongLived => format!("from before {a}, freed {b} to {c}"),
            Self::Leaks => format!("leaks {a} to {b}, alive at {c}"),
            Self::Alive => format!("alive at {a}"),
        }
    }
}

/// The user's first three marks. Missing ones are filled with the edges of the interval that the tables show,
/// then with the end of the trace.
fn moments(document: &Document) -> [Ticks; 3] {
    let (interval, end) = (document.interval(), document.trace.span.to);
    let mut moments: Vec<Ticks> = document.marks().iter().copied().take(3).collect();
    if moments.is_empty() {
        moments.push(interval.from);
    }
    for edge in [interval.to, end] {
        if moments.len() < 3 && moments.last().is_none_or(|last| *last < edge) {
            moments.push(edge);
        }
    }
    let last = moments.last().copied().unwrap_or(end);
    std::array::from_fn(|i| moments.get(i).copied().unwrap_or(last))
}

/// Formats a moment without trailing zeros.
pub fn short_time(document: &Document, at: Ticks) -> String {
    let decimals = document.decimals();
    let text = format!("{:.decimals$}", document.trace.clock.seconds(at));
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} s")
}

/// The chips of questions that are in the filter already.
fn asked(document: &Document) -> Vec<Predicate> {
    let is_question = |chip: &&Chip| matches!(chip.what, Predicate::Row(RowCondition::All(_), _));
    document.filters().chips().iter().filter(is_question).map(|chip| chip.what.clone()).collect()
}

/// Draws the button and its menu. A new question replaces the previous one in a single step.
pub fn menu(context: &mut ViewContext<'_>, ui: &mut Ui) {
    let document = context.document;
    let button = ui.menu_button("Between marks", |ui| {
        let moments = moments(document);
        let times = moments.map(|at| short_time(document, at));
        let [a, b, c] = &times;
        ui.strong(format!("1 = {a}, 2 = {b}, 3 = {c}"));
        let hint = match document.marks().len() {
            0 => "1 and 2 are the edges of the view. Press M on the graph to set marks.",
            1 | 2 => "1 is your first mark; the others are the edges of the view.",
            _ => "Your first three marks.",
        };
        ui.weak(hint);
        ui.separator();
        for question in Question::ALL {
            let is_real = moments.windows(2).take(question.moments() - 1).all(|pair| pair[0] < pair[1]);
            // Leaks are still possible if C is not after B: a leak may be alive at the very end.
            let is_real = is_real || question == Question::Leaks && moments[0] < moments[1];
            let item = ui.add_enabled(is_real, egui::Button::new(question.label()));
            let item = item.on_hover_text(question.meaning()).on_disabled_hover_text("Needs another mark on the graph");
            if item.clicked() {
                let what = Predicate::Row(question.condition(moments), question.words([a, b, c]).into());
                let away = asked(document).into_iter().filter(|before| *before != what).collect();
                context.commands.push(DocCommand::ChangeChips { away, add: vec![Chip::only(what)] });
            }
        }
        let away = asked(document);
        if !away.is_empty() {
            ui.separator();
            context.commands.on_click(&ui.button("All allocations"), DocCommand::ChangeChips { away, add: Vec::new() });
        }
    });
    button.response.on_hover_text("What grew, what went, what was short-lived, what leaked between your marks");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which questions a row answers, by the position of its birth and death among A, B and C.
    #[test]
    fn every_life_answers_the_questions_that_it_should() {
        let times = [Ticks(10), Ticks(20), Ticks(30)];
        let meets = |question: Question, birth: i64, death: Option<i64>| {
            let RowCondition::All(all) = question.condition(times) else { return false };
            all.iter().all(|condition| match condition {
                RowCondition::Allocated(bounds) => bounds.contains(Ticks(birth)),
                RowCondition::Freed { within, or_never } => match death {
                    None => *or_never,
                    Some(death) => within.is_some_and(|within| within.contains(Ticks(death))),
                },
                _ => false,
            })
        };
        use Question::{Alive, Decline, Growth, Leaks, LongLived, ShortLived};
        let cases: [(i64, Option<i64>, &[Question]); 9] = [
            (5, Some(9), &[]),
            (5, Some(10), &[Decline, Alive]),
            (5, Some(25), &[LongLived, Alive]),
            (5, None, &[Alive]),
            (10, Some(19), &[ShortLived]),
            (10, Some(20), &[Growth]),
            (19, Some(30), &[Growth, Leaks]),
            (19, None, &[Growth, Leaks]),
            (20, None, &[]),
        ];
        for (birth, death, expected) in cases {
            let found: Vec<Question> = Question::ALL.into_iter().filter(|q| meets(*q, birth, death)).collect();
            assert_eq!(found, expected, "{birth} to {death:?}");
        }
    }
}
