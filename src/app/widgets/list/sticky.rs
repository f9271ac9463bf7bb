//! Sticky lines of a tree: the ancestors of the first visible line stay at the top, and a click scrolls to them.

use eframe::egui::{Align, Layout, Rect, Ui, UiBuilder, pos2, vec2};

use super::{Delegate, List, ROW_HEIGHT};
use crate::app::base::table::TypedTable;

/// Maximum number of sticky lines.
pub const MOST: usize = 5;

/// If there are more ancestors, this many of the outermost are kept; the others are the innermost.
const OUTERMOST: usize = 2;

/// The sticky lines above `first`, from the top, in a table of this height with `rows` lines.
pub fn above<T: TypedTable>(list: &impl List<T>, first: usize, rows: usize, height: f32) -> Vec<usize> {
    let most = MOST.min((height / ROW_HEIGHT / 3.0) as usize);
    let mut covered = 0;
    loop {
        // The first line that is not covered, and its ancestors.
        let row = first + covered;
        if row >= rows {
            return Vec::new();
        }
        let above = ancestors(list, row, most);
        // Each sticky line covers one more line.
        if above.len() <= covered {
            return above;
        }
        covered += 1;
    }
}

/// The ancestors of a line, outermost first, at most `most`.
fn ancestors<T: TypedTable>(list: &impl List<T>, row: usize, most: usize) -> Vec<usize> {
    let mut above: Vec<usize> = std::iter::successors(list.parent(row), |&row| list.parent(row)).collect();
    above.reverse();
    if above.len() > most {
        let outermost = OUTERMOST.min(most / 2);
        above.drain(outermost..above.len() + outermost - most);
    }
    above
}

/// Draws the sticky lines over the table's first lines; returns the one that was clicked.
pub(super) fn show<T: TypedTable>(ui: &mut Ui, delegate: &mut Delegate<'_, T, impl List<T>>, above: &[usize]) -> Option<usize> {
    delegate.covered = 0;
    let mut clicked = None;
    let body = delegate.body;
    for (place, &row) in above.iter().enumerate() {
        let rect = Rect::from_min_size(body.min + vec2(0.0, place as f32 * ROW_HEIGHT), vec2(body.width(), ROW_HEIGHT));
        let mut line = ui.new_child(UiBuilder::new().max_rect(rect).id_salt(("above", row)));
        line.shrink_clip_rect(rect.intersect(body));
        line.painter().rect_filled(rect, 0.0, ui.visuals().panel_fill);
        line.painter().rect_filled(rect, 0.0, ui.visuals().faint_bg_color);
        if delegate.respond(&mut line, rect, row) {
            clicked = Some(row);
        }
        let mut x = rect.left();
        for placed in &delegate.plan.placed {
            let cell = Rect::from_min_size(pos2(x, rect.top()), vec2(placed.width, ROW_HEIGHT));
            x += placed.width;
            let of_cell = UiBuilder::new().max_rect(cell).id_salt(placed.column).layout(Layout::left_to_right(Align::Center));
            let mut cell_ui = line.new_child(of_cell);
            cell_ui.shrink_clip_rect(cell);
            delegate.draw(&mut cell_ui, row, placed.column);
        }
    }
    if !above.is_empty() {
        let y = body.top() + above.len() as f32 * ROW_HEIGHT;
        ui.painter().hline(body.x_range(), y, ui.visuals().widgets.hovered.bg_stroke);
    }
    clicked
}
