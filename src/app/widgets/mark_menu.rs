//! Actions for marks of the trace, wherever they are shown.

use crate::app::commands::DocCommand;
use crate::app::document::{Document, lasting};
use crate::app::state::ids::{MOST_MARKS, Stop};
use crate::model::Mark;
use crate::units::{Interval, Ticks};

/// The actions for one mark, wherever it is shown.
pub fn one_mark(document: &Document, mark: &Mark, place: usize) -> Vec<(&'static str, DocCommand)> {
    let marks = &document.trace.activity.marks.list;
    let next = marks.get(marks.partition_point(|other| other.at <= mark.at)).map_or(document.trace.span.to, |next| next.at);
    let to_next = Interval { from: mark.at, to: next };
    let mut all = vec![match lasting(mark) {
        Some(_) => ("Select it", DocCommand::StepTo(Stop::Mark(place))),
        None => ("Put the cursor there", DocCommand::StepTo(Stop::Mark(place))),
    }];
    all.extend(lasting(mark).map(|during| ("Zoom to it", DocCommand::ZoomInto(during))));
    all.extend([
        ("Select to the next mark", DocCommand::Select(Some(to_next))),
        ("Zoom from this mark to the next", DocCommand::ZoomInto(to_next)),
        ("Set a pin here", DocCommand::Pin(mark.at)),
        ("Toggle a generation boundary here", DocCommand::Mark(Some(mark.at))),
    ]);
    all
}

/// The moments of the trace's marks in an interval, up to the maximum number of edges, and whether these are all.
pub fn edges(document: &Document, interval: Interval) -> (Vec<Ticks>, bool) {
    let mut marks = document.trace.activity.marks.during(interval).map(|mark| mark.at);
    let edges: Vec<Ticks> = marks.by_ref().take(MOST_MARKS).collect();
    (edges, marks.next().is_none())
}
