//! Columns of a table, and the choice of those that fit.
//!
//! One column takes the remaining room. The others are as wide as their header and the widest possible
//! text, whatever they contain, so that they stay in place while lines come, go and are scrolled. If
//! not all fit, the last ones of the least important are dropped first, but never the one by which the table is sorted.

use eframe::egui::{FontId, TextStyle, Ui};

use crate::tables::{KeyedMap, KeyedSet};

/// A column of a list.
#[derive(Clone, Copy)]
pub struct ListColumn {
    pub title: &'static str,
    /// The meaning of the column, as a tooltip of its header.
    pub hint: &'static str,
    pub width: Width,
    /// Whether it has numbers, which are right-aligned.
    pub is_number: bool,
    /// When it is dropped, if not all columns fit.
    pub goes: Goes,
}

/// When a column is dropped, if not all fit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Goes {
    /// Before all others.
    First,
    /// After those on its right.
    InTurn,
    /// Only if names would have no room at all.
    Last,
}

/// The width of a column, unless the user changes it.
#[derive(Clone, Copy)]
pub enum Width {
    /// The remaining room, and at least this part of the whole, within these points.
    Rest { part: f32, points: (f32, f32) },
    /// Enough for its header and for this text.
    Fits(&'static str),
    /// This many points; longer texts are cut.
    Points(f32),
}

/// The widest texts of columns, for [`Width::Fits`].
pub mod widest {
    pub const BYTES: &str = "1023.99 MB";
    pub const CHANGE: &str = "+1023.99 MB";
    pub const COUNT_CHANGE: &str = "+99,999";
    pub const COUNT: &str = "9,999,999";
    pub const MOMENT: &str = "before the trace";
    pub const DURATION: &str = "999.999 ms";
    pub const ADDRESS: &str = "0x7ff000000000";
    pub const THREAD: &str = "12345 (RenderThread)";
}

impl ListColumn {
    /// The column that takes the remaining room.
    pub const fn rest(title: &'static str, hint: &'static str) -> Self {
        Self { title, hint, width: Width::Rest { part: 0.2, points: REST }, is_number: false, goes: Goes::Last }
    }

    /// The column that takes the remaining room in a tree, whose names need more of it.
    pub const fn tree(title: &'static str, hint: &'static str) -> Self {
        Self { width: Width::Rest { part: 0.31, points: REST }, ..Self::rest(title, hint) }
    }

    /// The column that takes the remaining room, if names may be cut before numbers are dropped.
    pub const fn short(title: &'static str, hint: &'static str) -> Self {
        Self { width: Width::Rest { part: 0.0, points: SHORT }, ..Self::rest(title, hint) }
    }

    /// The column, dropped at another time.
    pub const fn goes(self, goes: Goes) -> Self {
        Self { goes, ..self }
    }

    /// The minimum width if it takes the remaining room of so many points.
    pub fn least(&self, room: f32) -> Option<f32> {
        if let Width::Rest { part, points: (least, most) } = self.width { Some((part * room).clamp(least, most)) } else { None }
    }

    /// Whether it takes the remaining room.
    pub fn is_rest(&self) -> bool {
        matches!(self.width, Width::Rest { .. })
    }

    /// A column of texts of any length.
    pub const fn text(title: &'static str, hint: &'static str, points: f32) -> Self {
        Self { title, hint, width: Width::Points(points), is_number: false, goes: Goes::InTurn }
    }

    /// A column of numbers, with the widest one.
    pub const fn number(title: &'static str, hint: &'static str, widest: &'static str) -> Self {
        Self { title, hint, width: Width::Fits(widest), is_number: true, goes: Goes::InTurn }
    }
}

/// Margin in points on each side of a cell's text.
pub const MARGIN: f32 = 6.0;

/// Width in points of the sort mark in a header, and of an asterisk.
pub const MARK: f32 = 12.0;

/// Minimum width in points of the column that takes the rest, and the width that always suffices.
const REST: (f32, f32) = (220.0, 360.0);

/// Both widths if names may be cut.
const SHORT: (f32, f32) = (120.0, 120.0);

/// Width in points of cut names, below which even the most important columns are dropped.
const HARDLY_ANY: f32 = 60.0;

/// Widths in points that the user can give a column.
const CHOSEN: std::ops::RangeInclusive<f32> = 40.0..=700.0;

/// The user's choices for a table; kept for the session.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Widths by title.
    pub widths: KeyedMap<&'static str, f32>,
    /// Hidden columns, by title.
    pub hidden: KeyedSet<&'static str>,
}

impl Chosen {
    /// Changes the width of a column.
    pub fn widen(&mut self, title: &'static str, width: f32) {
        self.widths.insert(title, width.clamp(*CHOSEN.start(), *CHOSEN.end()));
    }
}

/// A column that is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Its index.
    pub column: usize,
    pub width: f32,
}

/// The columns that fit, and those that do not.
#[derive(Debug, Default, PartialEq)]
pub struct Plan {
    pub placed: Vec<Placed>,
    pub no_room: Vec<usize>,
}

/// A column that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Its index.
    pub column: usize,
    /// `None` if it takes the rest.
    pub width: Option<f32>,
    pub goes: Goes,
}

/// Chooses the columns that fit into `room` points. The one that takes the rest gets at least `least`.
pub fn plan(wanted: &[Wanted], least: f32, sorted: Option<usize>, room: f32) -> Plan {
    let mut shown = wanted.to_vec();
    let mut no_room = Vec::new();
    let rest = |shown: &[Wanted]| room - shown.iter().filter_map(|wanted| wanted.width).sum::<f32>();
    // At least one other column stays, because names alone are of no use.
    while shown.len() > 2
        && let Some((place, goes)) = next_to_go(&shown, sorted)
        && rest(&shown) < if goes == Goes::Last { least.min(HARDLY_ANY) } else { least }
    {
        no_room.push(shown.remove(place).column);
    }
    no_room.sort_unstable();
    let rest = rest(&shown).max(HARDLY_ANY);
    let placed = shown.into_iter().map(|Wanted { column, width, .. }| Placed { column, width: width.unwrap_or(rest) }).collect();
    Plan { placed, no_room }
}

/// The place of the column to drop: the last one of the least important.
fn next_to_go(shown: &[Wanted], sorted: Option<usize>) -> Option<(usize, Goes)> {
    let may_go = |wanted: &Wanted| wanted.width.is_some() && Some(wanted.column) != sorted;
    let all = shown.iter().enumerate().filter(|(_, wanted)| may_go(wanted)).map(|(place, wanted)| (place, wanted.goes));
    all.min_by_key(|&(place, goes)| (goes, std::cmp::Reverse(place)))
}

/// The width of a column; `None` for the one that takes the rest.
pub fn width(ui: &Ui, column: &ListColumn, chosen: &Chosen) -> Option<f32> {
    let text = |text: &str, font: FontId| ui.painter().layout_no_wrap(text.to_owned(), font, ui.visuals().text_color()).size().x;
    if column.is_rest() {
        return None;
    }
    if let Some(&width) = chosen.widths.get(column.title) {
        return Some(width);
    }
    let body = || TextStyle::Body.resolve(ui.style());
    Some(match column.width {
        Width::Fits(widest) => (text(column.title, body()) + MARK + 2.0).max(text(widest, body())).ceil() + 2.0 * MARGIN,
        Width::Points(points) => points,
        Width::Rest { .. } => 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(plan: &Plan) -> Vec<usize> {
        plan.placed.iter().map(|placed| placed.column).collect()
    }

    /// Columns that go in turn.
    fn in_turn<const N: usize>(widths: [Option<f32>; N]) -> [Wanted; N] {
        let mut columns = 0..;
        widths.map(|width| Wanted { column: columns.next().unwrap_or(0), width, goes: Goes::InTurn })
    }

    #[test]
    fn the_rest_takes_what_the_others_leave_to_the_point() {
        let widths = in_turn([None, Some(80.0), Some(100.0)]);
        for room in [400.0, 411.5, 970.0, 1900.0] {
            let plan = plan(&widths, 220.0, None, room);
            assert_eq!(columns(&plan), [0, 1, 2]);
            let sum: f32 = plan.placed.iter().map(|placed| placed.width).sum();
            assert!((room - sum).abs() < 0.01, "{room}: {sum}");
            assert_eq!(plan.placed[1].width, 80.0, "a number's width does not follow from the room");
        }
    }

    #[test]
    fn the_last_go_first_but_never_the_one_of_the_order() {
        let widths = in_turn([None, Some(80.0), Some(100.0), Some(120.0), Some(90.0)]);
        assert_eq!(plan(&widths, 238.0, None, 700.0).no_room, [] as [usize; 0]);
        assert_eq!(plan(&widths, 220.0, None, 550.0).no_room, [4]);
        assert_eq!(plan(&widths, 220.0, Some(4), 550.0).no_room, [3]);
        assert_eq!(columns(&plan(&widths, 220.0, Some(4), 400.0)), [0, 1, 4]);
        assert_eq!(columns(&plan(&widths, 220.0, Some(4), 10.0)), [0, 4], "one number is always there");
    }

    #[test]
    fn columns_that_go_first_go_first_and_those_that_go_last_only_without_room_for_names() {
        let mut widths = in_turn([None, Some(140.0), Some(90.0), Some(100.0), Some(80.0)]);
        (widths[1].goes, widths[2].goes) = (Goes::First, Goes::Last);
        let no_room = |room| plan(&widths, 120.0, Some(3), room).no_room;
        assert_eq!(no_room(530.0), [] as [usize; 0]);
        assert_eq!(no_room(529.0), [1]);
        assert_eq!(no_room(380.0), [1, 4]);
        assert_eq!(no_room(260.0), [1, 4], "names are cut");
        assert_eq!(no_room(240.0), [1, 2, 4]);
    }
}
