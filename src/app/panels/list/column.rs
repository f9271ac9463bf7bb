//! Columns of a table, and which of them have room.
//!
//! One column takes what the others leave. The others are as wide as their header and the widest
//! of their texts can be, whatever stands in them: they stay where they are while lines come, go and
//! are scrolled. Where there is no room for all, the last ones go first, never the one by which
//! the table is sorted.

use eframe::egui::{FontId, TextStyle, Ui};

use crate::tables::{KeyedMap, KeyedSet};

/// A column of a list.
#[derive(Clone, Copy)]
pub struct ListColumn {
    pub title: &'static str,
    /// What it says, for those who point at its header.
    pub hint: &'static str,
    pub width: Width,
    /// Numbers stand at the right.
    pub is_number: bool,
}

/// How wide a column is, unless the user says otherwise.
#[derive(Clone, Copy)]
pub enum Width {
    /// All that the others leave, and at least this part of the room.
    Rest(f32),
    /// Room for its header and such a text.
    Fits(&'static str),
    /// So many points: longer texts are cut.
    Points(f32),
}

/// The widest texts that columns have, for [`Width::Fits`].
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
    /// The column that takes what the others leave.
    pub const fn rest(title: &'static str, hint: &'static str) -> Self {
        Self { title, hint, width: Width::Rest(0.2), is_number: false }
    }

    /// The same of a tree, whose names need more room.
    pub const fn tree(title: &'static str, hint: &'static str) -> Self {
        Self { width: Width::Rest(0.31), ..Self::rest(title, hint) }
    }

    /// Whether it takes what the others leave.
    pub fn is_rest(&self) -> bool {
        matches!(self.width, Width::Rest(_))
    }

    /// Texts of any length.
    pub const fn text(title: &'static str, hint: &'static str, points: f32) -> Self {
        Self { title, hint, width: Width::Points(points), is_number: false }
    }

    /// Numbers, of which this is the widest.
    pub const fn number(title: &'static str, hint: &'static str, widest: &'static str) -> Self {
        Self { title, hint, width: Width::Fits(widest), is_number: true }
    }
}

/// Points beside a text in its cell.
pub const MARGIN: f32 = 6.0;

/// Points of the mark in the header of the column of the order, and of a star.
pub const MARK: f32 = 12.0;

/// Points that the column of the rest has at least, and those that are always enough.
const REST: std::ops::RangeInclusive<f32> = 220.0..=360.0;

/// Points that the user can give a column.
const CHOSEN: std::ops::RangeInclusive<f32> = 40.0..=700.0;

/// What the user chose in a table; kept for the session.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Widths by title.
    pub widths: KeyedMap<&'static str, f32>,
    /// Columns that are out of sight, by title.
    pub hidden: KeyedSet<&'static str>,
}

impl Chosen {
    /// Makes a column so wide.
    pub fn widen(&mut self, title: &'static str, width: f32) {
        self.widths.insert(title, width.clamp(*CHOSEN.start(), *CHOSEN.end()));
    }
}

/// A column that is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Which.
    pub column: usize,
    pub width: f32,
}

/// Columns that have room, and those that have none.
#[derive(Debug, Default, PartialEq)]
pub struct Plan {
    pub placed: Vec<Placed>,
    pub no_room: Vec<usize>,
}

/// Chooses among columns by their widths (`None` for the rest, which has at least this part) what is
/// drawn in `room` points.
pub fn plan(widths: &[(usize, Option<f32>)], least: f32, sorted: Option<usize>, room: f32) -> Plan {
    let mut shown = widths.to_vec();
    let mut no_room = Vec::new();
    let fixed = |shown: &[(usize, Option<f32>)]| shown.iter().filter_map(|(_, width)| *width).sum::<f32>();
    let least = (least * room).clamp(*REST.start(), *REST.end());
    while room - fixed(&shown) < least {
        let may_go = |(column, width): &(usize, Option<f32>)| width.is_some() && Some(*column) != sorted;
        // What says nothing without a column beside the rest stays.
        let Some(last) = shown.iter().rposition(may_go).filter(|_| shown.len() > 2) else { break };
        no_room.push(shown.remove(last).0);
    }
    no_room.reverse();
    let rest = (room - fixed(&shown)).max(60.0);
    let placed = shown.into_iter().map(|(column, width)| Placed { column, width: width.unwrap_or(rest) }).collect();
    Plan { placed, no_room }
}

/// How wide a column is; `None` for the rest.
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
