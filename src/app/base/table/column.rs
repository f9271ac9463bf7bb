//! Columns of a table, and the choice of those that fit.
//!
//! One column takes the remaining room. The others are as wide as their header and the widest possible
//! text, whatever they contain, so that they stay in place while lines come, go and are scrolled. If
//! not all fit, the last ones are dropped first, but never the one by which the table is sorted.

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
}

/// The width of a column, unless the user changes it.
#[derive(Clone, Copy)]
pub enum Width {
    /// The remaining room, and at least this part of the whole.
    Rest(f32),
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
        Self { title, hint, width: Width::Rest(0.2), is_number: false }
    }

    /// The column that takes the remaining room in a tree, whose names need more of it.
    pub const fn tree(title: &'static str, hint: &'static str) -> Self {
        Self { width: Width::Rest(0.31), ..Self::rest(title, hint) }
    }

    /// Whether it takes the remaining room.
    pub fn is_rest(&self) -> bool {
        matches!(self.width, Width::Rest(_))
    }

    /// A column of texts of any length.
    pub const fn text(title: &'static str, hint: &'static str, points: f32) -> Self {
        Self { title, hint, width: Width::Points(points), is_number: false }
    }

    /// A column of numbers, with the widest one.
    pub const fn number(title: &'static str, hint: &'static str, widest: &'static str) -> Self {
        Self { title, hint, width: Width::Fits(widest), is_number: true }
    }
}

/// Margin in points on each side of a cell's text.
pub const MARGIN: f32 = 6.0;

/// Width in points of the sort mark in a header, and of an asterisk.
pub const MARK: f32 = 12.0;

/// Minimum width in points of the column that takes the rest, and the width that always suffices.
const REST: std::ops::RangeInclusive<f32> = 220.0..=360.0;

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

/// Chooses the columns that fit into `room` points, by their widths (`None` for the one that takes the
/// rest, which gets at least this part).
pub fn plan(widths: &[(usize, Option<f32>)], least: f32, sorted: Option<usize>, room: f32) -> Plan {
    let mut shown = widths.to_vec();
    let mut no_room = Vec::new();
    let fixed = |shown: &[(usize, Option<f32>)]| shown.iter().filter_map(|(_, width)| *width).sum::<f32>();
    let least = (least * room).clamp(*REST.start(), *REST.end());
    while room - fixed(&shown) < least {
        let may_go = |(column, width): &(usize, Option<f32>)| width.is_some() && Some(*column) != sorted;
        // At least one other column stays, because names alone are of no use.
        let Some(last) = shown.iter().rposition(may_go).filter(|_| shown.len() > 2) else { break };
        no_room.push(shown.remove(last).0);
    }
    no_room.reverse();
    let rest = (room - fixed(&shown)).max(60.0);
    let placed = shown.into_iter().map(|(column, width)| Placed { column, width: width.unwrap_or(rest) }).collect();
    Plan { placed, no_room }
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
        Width::Rest(_) => 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(plan: &Plan) -> Vec<usize> {
        plan.placed.iter().map(|placed| placed.column).collect()
    }

    #[test]
    fn the_rest_takes_what_the_others_leave_to_the_point() {
        let widths = [(0, None), (1, Some(80.0)), (2, Some(100.0))];
        for room in [400.0, 411.5, 970.0, 1900.0] {
            let plan = plan(&widths, 0.34, None, room);
            assert_eq!(columns(&plan), [0, 1, 2]);
            let sum: f32 = plan.placed.iter().map(|placed| placed.width).sum();
            assert!((room - sum).abs() < 0.01, "{room}: {sum}");
            assert_eq!(plan.placed[1].width, 80.0, "a number's width does not follow from the room");
        }
    }

    #[test]
    fn the_last_go_first_but_never_the_one_of_the_order() {
        let widths = [(0, None), (1, Some(80.0)), (2, Some(100.0)), (3, Some(120.0)), (4, Some(90.0))];
        assert_eq!(plan(&widths, 0.34, None, 700.0).no_room, [] as [usize; 0]);
        assert_eq!(plan(&widths, 0.34, None, 550.0).no_room, [4]);
        assert_eq!(plan(&widths, 0.34, Some(4), 550.0).no_room, [3]);
        assert_eq!(columns(&plan(&widths, 0.34, Some(4), 400.0)), [0, 1, 4]);
        assert_eq!(columns(&plan(&widths, 0.34, Some(4), 10.0)), [0, 4], "one number is always there");
    }
}
