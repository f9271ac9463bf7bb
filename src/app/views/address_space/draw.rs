//! The lines of the map on the screen.

use eframe::egui::{Align2, Color32, FontId, Painter, Rect, Stroke, Ui, Visuals, pos2, vec2};

use super::Mapped;
use super::colors::Palette;
use super::hover::Spot;
use super::lines::{Line, Lines};
use crate::app::base::theme;
use crate::format;
use crate::model::{Heap, RowId};
use crate::query::{MapCell, MapRegion, heap_label};
use crate::units::Layer;

/// Height of a line in points.
pub const LINE: f32 = 16.0;

/// Height of a cell in points.
const CELL: f32 = 13.0;

/// Fewest points that a cell is wide.
const NARROWEST: f32 = 8.0;

/// Width in points of the labels beside the cells, where there is room.
const LABELS: f32 = 264.0;

/// Distance of the lines of a hatching in points.
const HATCH: f32 = 5.0;

/// Most and fewest cells in a line.
const COLUMNS: (u64, u64) = (16, 256);

/// Number of cells in a line, and the widths of labels and of a cell.
#[derive(Clone, Copy)]
pub struct Measures {
    pub columns: u64,
    pub labels: f32,
    pub cell: f32,
}

impl Measures {
    /// The measures for some points of width.
    pub fn of(width: f32) -> Self {
        let labels = LABELS.min(width * 0.35);
        let room = (width - labels).max(1.0);
        let fit = (room / NARROWEST) as u64;
        let columns = if fit.is_power_of_two() { fit } else { fit.next_power_of_two() / 2 }.clamp(COLUMNS.0, COLUMNS.1);
        Self { columns, labels, cell: room / columns as f32 }
    }
}

/// A map with its layout and colours.
pub struct Drawing<'a> {
    pub mapped: &'a Mapped,
    pub lines: &'a Lines,
    pub palette: &'a Palette,
    pub measures: Measures,
    /// Left upper corner of the first line.
    pub corner: eframe::egui::Pos2,
    pub visuals: &'a Visuals,
    pub painter: &'a Painter,
    /// The block whose details are shown.
    pub selected: Option<RowId>,
}

impl Drawing<'_> {
    /// Draws some lines.
    pub fn lines(&self, places: std::ops::Range<usize>) {
        for place in places {
            let top = self.corner.y + place as f32 * LINE;
            match self.lines.all.get(place) {
                Some(Line::Cells { region, row, cells, is_first }) => {
                    let Some(of) = self.mapped.map.regions.get(*region) else { continue };
                    self.label(of, *row, *is_first, top);
                    self.reserved(of, *row, top);
                    for cell in &self.mapped.map.cells[cells.clone()] {
                        self.cell(of, *row, cell, top);
                    }
                    self.blocks(of, *row, top);
                }
                Some(Line::Gap { bytes, .. }) => {
                    let text = format!("\u{2026} {} without committed pages", format::bytes(*bytes));
                    self.text(self.corner.x + self.measures.labels, top, text, self.visuals.weak_text_color(), f32::INFINITY);
                }
                None => {}
            }
        }
    }

    /// Draws a frame around what the pointer is on.
    pub fn pointed(&self, spot: &Spot) {
        let Some(Line::Cells { row, .. }) = self.lines.all.get(spot.line) else { return };
        let top = self.corner.y + spot.line as f32 * LINE;
        let Some(rect) = self.part(*row, (spot.first, spot.last), top) else { return };
        let stroke = Stroke::new(1.5, self.visuals.strong_text_color());
        self.painter.rect_stroke(rect.expand(0.5), 1.0, stroke, eframe::egui::StrokeKind::Outside);
    }

    /// The place of a range of addresses in a line, as far as it is in it.
    fn part(&self, row: u64, (first, last): (u64, u64), top: f32) -> Option<Rect> {
        let cell = self.mapped.map.cell;
        let bytes = u128::from(self.measures.columns * cell);
        let start = u128::from(row) * bytes;
        let (from, to) = (u128::from(first).max(start), (u128::from(last) + 1).min(start + bytes));
        let x = |at: u128| {
            let left = self.corner.x + self.measures.labels;
            left + (at - start) as f32 / cell as f32 * self.measures.cell
        };
        (from < to).then(|| Rect::from_min_max(pos2(x(from), top + 1.0), pos2(x(to), top + 1.0 + CELL)))
    }

    /// Draws the label of a line: the region's address, size and owner, or the line's address.
    fn label(&self, of: &MapRegion, row: u64, is_first: bool, top: f32) {
        let (left, width) = (self.corner.x, self.measures.labels - 10.0);
        if !is_first {
            let address = row.saturating_mul(self.measures.columns).saturating_mul(self.mapped.map.cell);
            return self.text(left, top, format!("{address:#x}"), self.visuals.weak_text_color().gamma_multiply(0.7), width);
        }
        let region = &of.region;
        let address = format!("{:#x}", region.first);
        self.text(left, top, address, self.visuals.text_color(), width);
        let owner = region.owner.map(|heap| short_label(self.mapped.kept.trace.heap(heap)));
        let rest = [Some(format::bytes(region.bytes())), owner].into_iter().flatten().collect::<Vec<_>>().join("  ");
        let taken = width * 0.42;
        self.text(left + taken, top, rest, self.visuals.weak_text_color(), width - taken);
    }

    fn text(&self, left: f32, top: f32, text: String, color: Color32, width: f32) {
        let mut job = eframe::egui::text::LayoutJob::simple_singleline(text, FontId::proportional(11.5), color);
        job.wrap = eframe::egui::text::TextWrapping::truncate_at_width(width);
        let galley = self.painter.layout_job(job);
        let rect = Align2::LEFT_CENTER.anchor_size(pos2(left, top + 1.0 + CELL / 2.0), galley.size());
        self.painter.galley(rect.min, galley, color);
    }

    /// Draws the ground of a reservation.
    fn reserved(&self, of: &MapRegion, row: u64, top: f32) {
        let region = &of.region;
        let Some(rect) = self.part(row, (region.first, region.last), top).filter(|_| region.is_reserved) else { return };
        self.painter.rect_filled(rect, 2.0, self.visuals.faint_bg_color);
        let line = self.visuals.widgets.noninteractive.bg_stroke;
        self.painter.rect_stroke(rect, 2.0, line, eframe::egui::StrokeKind::Inside);
    }

    /// Draws a cell: filled by its blocks, or hatched where pages are committed and no block is on them. Pages of a region
    /// without any block are in use by the program itself.
    fn cell(&self, of: &MapRegion, row: u64, cell: &MapCell, top: f32) {
        let size = self.mapped.map.cell;
        let first = cell.number.saturating_mul(size).max(of.region.first);
        let last = cell.number.saturating_mul(size).saturating_add(size - 1).min(of.region.last);
        let Some(rect) = self.part(row, (first, last), top) else { return };
        let sums = &cell.sums;
        let is_empty = !sums.has_blocks() && of.region.has_blocks();
        let has_blocks_apart = !self.mapped.map.blocks.is_empty();
        // Blocks that are drawn one by one stand on the ground of their pages.
        if is_empty || has_blocks_apart && of.region.has_blocks() {
            if sums.committed > 0 {
                self.hatch(rect);
            }
            return;
        }
        let gap: f32 = if self.measures.cell > 5.0 { 1.0 } else { 0.0 };
        let rect = Rect::from_min_max(rect.min, rect.max - vec2(gap.min(rect.width() * 0.3), 0.0));
        let color = self.palette.of_cell(sums, (last - first).saturating_add(1), self.visuals);
        self.painter.rect_filled(rect, 1.0, color);
    }

    /// Draws committed pages without blocks. The lines of neighbours join.
    fn hatch(&self, rect: Rect) {
        self.painter.rect_filled(rect, 0.0, theme::empty_pages(self.visuals));
        let stroke = Stroke::new(1.0, theme::hatching(self.visuals));
        let painter = self.painter.with_clip_rect(rect.intersect(self.painter.clip_rect()));
        let height = rect.height();
        let mut x = ((rect.left() - height) / HATCH).floor() * HATCH;
        while x < rect.right() {
            painter.line_segment([pos2(x, rect.bottom()), pos2(x + height, rect.top())], stroke);
            x += HATCH;
        }
    }

    /// Draws single blocks of a region that have bytes in a line.
    fn blocks(&self, of: &MapRegion, row: u64, top: f32) {
        let map = &self.mapped.map;
        let bytes = self.measures.columns * map.cell;
        let start = row.saturating_mul(bytes);
        let (first, last) = (start.max(of.region.first), start.saturating_add(bytes - 1).min(of.region.last));
        let from = map.blocks.partition_point(|block| block.last < first);
        for block in map.blocks[from..].iter().take_while(|block| block.first <= last) {
            let Some(rect) = self.part(row, (block.first.max(first), block.last.min(last)), top) else { continue };
            let gap = if rect.width() > 3.0 { 1.0 } else { 0.0 };
            let rect = Rect::from_min_max(rect.min, pos2(rect.right() - gap, rect.bottom()));
            let color = self.palette.color(block.group, block.birth, self.visuals);
            self.painter.rect_filled(Rect::from_min_size(rect.min, rect.size().max(vec2(1.0, 0.0))), 1.0, color);
            if self.selected == Some(block.row) {
                let stroke = Stroke::new(2.0, theme::highlight(self.visuals));
                self.painter.rect_stroke(rect, 1.0, stroke, eframe::egui::StrokeKind::Inside);
            }
        }
    }
}

/// The name of a heap in a narrow place.
fn short_label(heap: &Heap) -> String {
    match heap.layer {
        Layer::Heap => format!("heap {:#x}", heap.handle),
        Layer::Commit | Layer::Tracker => heap_label(heap),
    }
}

/// Draws the colours and what they stand for.
pub fn legend(mapped: &Mapped, palette: &Palette, ui: &mut Ui) {
    let visuals = ui.visuals().clone();
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(4.0, 2.0);
        let mut entry = |name: &str, draw: &dyn Fn(&Painter, Rect)| {
            let text = ui.painter().layout_no_wrap(name.to_owned(), FontId::proportional(11.5), visuals.weak_text_color());
            // A name stands beside its square, not below it.
            if ui.available_size_before_wrap().x < 14.0 + text.size().x {
                ui.end_row();
            }
            let (square, _) = ui.allocate_exact_size(vec2(10.0, 10.0), eframe::egui::Sense::hover());
            draw(ui.painter(), square);
            ui.add(eframe::egui::Label::new(text).extend());
            ui.add_space(6.0);
        };
        for one in palette.legend(mapped, &visuals) {
            entry(&one.name, &|painter, square| {
                painter.rect_filled(square, 2.0, one.color);
            });
        }
        if mapped.map.cells.iter().any(|cell| cell.sums.others > 0) {
            entry("filtered out", &|painter, square| {
                painter.rect_filled(square, 2.0, theme::flame_rest(&visuals));
            });
        }
        entry("committed, empty", &|painter, square| {
            painter.rect_filled(square, 0.0, theme::empty_pages(&visuals));
            let stroke = Stroke::new(1.0, theme::hatching(&visuals));
            let painter = painter.with_clip_rect(square);
            for x in [-5.0, 0.0, 5.0] {
                painter.line_segment([square.left_bottom() + vec2(x, 0.0), square.left_bottom() + vec2(x + 10.0, -10.0)], stroke);
            }
        });
        entry("reserved", &|painter, square| {
            painter.rect_filled(square, 2.0, visuals.faint_bg_color);
            painter.rect_stroke(square, 2.0, visuals.widgets.noninteractive.bg_stroke, eframe::egui::StrokeKind::Inside);
        });
    });
}
