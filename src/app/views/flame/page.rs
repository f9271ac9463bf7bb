//! A flame graph as a part of a shared page, in light colours: the page has its own.

use eframe::egui::{Color32, Visuals};

use super::Icicle;
use crate::export::html::{Color, FlameBox, FlameGraph};

impl Icicle {
    /// The flame graph as it is shown, for a page with this title for it.
    pub fn as_page(&self, title: &str, is_inverted: bool) -> FlameGraph {
        let visuals = Visuals::light();
        let rows = (0..).zip(self.depths.windows(2));
        let boxes = rows.flat_map(|(depth, range)| self.boxes[range[0]..range[1]].iter().map(move |one| (depth, one)));
        let boxes = boxes.map(|(depth, one)| FlameBox {
            depth,
            left: one.left,
            width: one.width,
            label: self.label(one),
            name: self.text(one),
            value: self.measure.unit.value(one.net),
            color: rgb(self.color(&visuals, one)),
        });
        let legend = self.meanings(&visuals).into_iter();
        FlameGraph {
            title: title.to_owned(),
            about: self.about(is_inverted),
            boxes: boxes.collect(),
            legend: legend.map(|(name, color)| (name.to_owned(), rgb(color))).collect(),
        }
    }

    /// The meaning of the boxes, in words.
    fn about(&self, is_inverted: bool) -> String {
        let direction = if is_inverted { "callees above their callers" } else { "callers above their callees" };
        let focus = self.focus.last().map_or_else(String::new, |name| format!(" Only what is in {name}."));
        let change = if self.measure.less().is_some() { " (changes, up or down)" } else { "" };
        format!("{}, by {}{change}: {direction}.{focus}", self.whole, self.measure.label)
    }
}

fn rgb(color: Color32) -> Color {
    [color.r(), color.g(), color.b()]
}
