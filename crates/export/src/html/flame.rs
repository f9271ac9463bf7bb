//! A flame graph of a page, as SVG: callers above callees, a box's width its part of the whole. Names that do not fit are cut
//! and stand in full in the tooltip of their box.

use maud::{Markup, html};

use super::text;
use highwater_engine::format;

/// A flame graph.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlameGraph {
    /// Its title.
    pub title: String,
    /// Further words about it: the meaning of widths, the layer, the direction.
    pub about: String,
    /// Its boxes, in any order.
    pub boxes: Vec<FlameBox>,
    /// The meanings of the colours.
    pub legend: Vec<(String, Color)>,
}

/// A box of a flame graph.
#[derive(Clone, PartialEq, Debug)]
pub struct FlameBox {
    /// Its row, the topmost 0.
    pub depth: u32,
    /// Left edge, as a part of the whole, 0 to 1.
    pub left: f32,
    /// Width, as a part of the whole, 0 to 1.
    pub width: f32,
    /// The text in it, as far as there is room.
    pub label: String,
    /// The full name, in its tooltip.
    pub name: String,
    /// Its number, as text.
    pub value: String,
    /// Its fill.
    pub color: Color,
}

/// Red, green and blue.
pub type Color = [u8; 3];

/// Size of the picture: its width, and the height of a row.
const WIDTH: f32 = 1000.0;
const ROW: f32 = 17.0;

/// Width of the narrowest box that is drawn, in the units of the picture.
const NARROWEST: f32 = 0.5;

/// Width from which a box has its name in it, and that of a letter.
const NAMED: f32 = 24.0;
const LETTER: f32 = 6.4;

/// Draws a flame graph. Of its boxes, the widest are drawn that fit into so many bytes: a box is at most as wide as its caller,
/// so what is left out is at the lower ends.
pub(super) fn draw(graph: &FlameGraph, room: &mut usize) -> Markup {
    let mut widest: Vec<&FlameBox> = graph.boxes.iter().filter(|one| one.width * WIDTH >= NARROWEST).collect();
    widest.sort_by(|a, b| b.width.total_cmp(&a.width).then(a.depth.cmp(&b.depth)));
    let mut boxes = Vec::new();
    for one in widest {
        let markup = self::one(one);
        let Some(left) = room.checked_sub(markup.0.len()) else { break };
        *room = left;
        boxes.push((one, markup));
    }
    let left_out = graph.boxes.len() - boxes.len();
    boxes.sort_by(|(a, _), (b, _)| a.depth.cmp(&b.depth).then(a.left.total_cmp(&b.left)));
    let height = boxes.iter().map(|(one, _)| one.depth + 1).max().unwrap_or(1) as f32 * ROW;
    html! {
        section.flame {
            h2 { (text(&graph.title)) }
            p.note { (text(&graph.about)) }
            @if !graph.legend.is_empty() {
                p.legend { @for (name, color) in &graph.legend { span { i style=(format!("background:{}", hex(*color))) {} (text(name)) } } }
            }
            @if boxes.is_empty() { p { "Nothing in this interval." } }
            @else {
                svg role="img" aria-label=(text(&graph.title)) viewBox=(format!("0 0 {WIDTH} {height}")) {
                    @for (_, markup) in &boxes { (markup) }
                }
            }
            @if left_out > 0 { p.rest { "Too narrow to be drawn: " (format::counted(left_out as u64, "box", "boxes")) } }
        }
    }
}

fn one(one: &FlameBox) -> Markup {
    let (left, width, top) = (one.left * WIDTH, one.width * WIDTH, one.depth as f32 * ROW);
    html! {
        g {
            rect x=(hundredth(left)) y=(hundredth(top)) width=(hundredth(width)) height=(ROW - 1.0) fill=(hex(one.color)) {
                title { (text(&one.name)) ": " (text(&one.value)) }
            }
            @if width >= NAMED { text x=(hundredth(left + 3.0)) y=(hundredth(top + 12.0)) { (cut(&text(&one.label), width - 6.0)) } }
        }
    }
}

/// A name as far as it has room.
fn cut(name: &str, room: f32) -> String {
    let most = (room / LETTER) as usize;
    if name.chars().count() <= most {
        return name.to_owned();
    }
    let start: String = name.chars().take(most.saturating_sub(1)).collect();
    format!("{start}\u{2026}")
}

fn hex([red, green, blue]: Color) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn hundredth(n: f32) -> String {
    let text = format!("{n:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(depth: u32, left: f32, width: f32, name: &str) -> FlameBox {
        FlameBox {
            depth,
            left,
            width,
            label: name.to_owned(),
            name: name.to_owned(),
            value: "7 B".to_owned(),
            color: [1, 2, 255],
        }
    }

    #[test]
    fn names_are_escaped_and_cut_where_there_is_no_room_and_stand_in_full_in_tooltips() {
        let long = "vector<int>::".repeat(30);
        let boxes =
            vec![boxed(0, 0.0, 1.0, "a<b>"), boxed(1, 0.0, 0.1, &long), boxed(1, 0.1, 0.02, "tiny"), boxed(2, 0.0, 0.0001, "no")];
        let graph = FlameGraph { title: "Flame".to_owned(), boxes, ..FlameGraph::default() };
        let mut room = 100_000;
        let drawn = draw(&graph, &mut room).into_string();
        assert!(room < 100_000 && drawn.contains("#0102ff") && drawn.contains("viewBox=\"0 0 1000 34\""), "{drawn}");
        assert!(drawn.contains(">a&lt;b&gt;</text>") && !drawn.contains("<b>"), "{drawn}");
        assert!(
            drawn.contains("\u{2026}</text>") && drawn.contains("<title>tiny: 7 B</title>") && !drawn.contains(">tiny</text>")
        );
        assert!(drawn.contains("drawn: 1 box<") && !drawn.contains("no: 7 B"), "{drawn}");
    }

    #[test]
    fn the_widest_boxes_are_drawn_that_fit() {
        let row = |depth: u32| (0..1000).map(move |at| boxed(depth, at as f32 / 1000.0, 0.001, "function"));
        let boxes = (1..40).flat_map(row).chain([boxed(0, 0.0, 1.0, "all")]).collect();
        let mut room = 200_000;
        let drawn = draw(&FlameGraph { boxes, ..FlameGraph::default() }, &mut room).into_string();
        assert!(drawn.len() < 202_000 && drawn.contains("all: 7 B") && drawn.contains("Too narrow"), "{}", drawn.len());
    }
}
