//! The command that compares the two sides of the view: `highwater diff`.

use super::{Compare, Grouping};
use crate::app::document::Document;
use crate::load::Input;
use crate::model::Clock;
use crate::units::Interval;

/// The words of the command. `None` if there is nothing to compare, a side has several files, or filters apply, not all of
/// which a command has.
pub fn words(view: &Compare, document: &Document) -> Option<Vec<String>> {
    let clock = document.trace.clock;
    let sides = match document.comparison.opened() {
        Some(opened) => {
            let part = Some(document.interval()).filter(|interval| *interval != document.trace.span);
            let (ours, theirs) = (side(&document.inputs, part, clock)?, side(&opened.inputs, None, clock)?);
            if view.ours(opened, document) == 0 { [ours, theirs] } else { [theirs, ours] }
        }
        None if document.filters().is_all() => {
            let [a, b] = view.sides.of(document)?.map(|part| side(&document.inputs, Some(part), clock));
            [a?, b?]
        }
        None => return None,
    };
    let words = ["highwater".to_owned(), "diff".to_owned()].into_iter().chain(sides);
    Some(words.chain(["--by".to_owned(), keys(view.grouping).to_owned()]).collect())
}

/// The value of `--by` for a grouping.
fn keys(grouping: Grouping) -> &'static str {
    match grouping {
        Grouping::Heap => "process,heap",
        Grouping::Stack => "stack,function",
        Grouping::Thread => "process,thread",
        Grouping::Type | Grouping::Function | Grouping::Module | Grouping::Tag => grouping.name(),
    }
}

/// One side of the command: the only file of a trace, and the part of it.
fn side(inputs: &[Input], part: Option<Interval>, clock: Clock) -> Option<String> {
    let [input] = inputs else { return None };
    let part = part.map(|Interval { from, to }| format!("@{:.9}..{:.9}", clock.seconds(from), clock.seconds(to)));
    Some(input.name() + &part.unwrap_or_default())
}
