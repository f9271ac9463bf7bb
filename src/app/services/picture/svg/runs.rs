//! Splits texts into runs of letters that look alike, because they are written as text again. A letter
//! without a shape of its own (the second of a ligature, a combining mark) has no width and stays in
//! its run.

use eframe::egui::epaint::TextShape;
use eframe::egui::{Color32, FontId, Rect, Vec2, pos2};

/// Maximum gap in points between neighbours of one run: each letter is aligned with a whole pixel, up
/// to half a pixel away from the end of its neighbour on either side.
const GAP: f32 = 1.5;

/// A run of letters on one line that look alike.
pub struct Run {
    pub text: String,
    pub rect: Rect,
    /// Position below the window's upper edge.
    pub baseline: f32,
    pub font: FontId,
    pub color: Color32,
    pub background: Color32,
}

/// The runs of a text.
pub fn runs(shape: &TextShape) -> Vec<Run> {
    let job = &shape.galley.job;
    let faint = |color: Color32| color.gamma_multiply(shape.opacity_factor);
    let mut runs: Vec<Run> = Vec::new();
    let mut letters = job.text.char_indices().peekable();
    let mut section = job.sections.first();
    for row in &shape.galley.rows {
        let origin = shape.pos + row.pos.to_vec2();
        let mut is_new = true;
        for glyph in &row.glyphs {
            // A shortened text ends with a letter that is not in the original.
            if let Some((at, _)) = letters.next_if(|(_, letter)| *letter == glyph.chr) {
                let of = job.sections.iter().find(|section| section.byte_range.start.0 <= at && at < section.byte_range.end.0);
                section = of.or(section);
            }
            let Some(section) = section else { continue };
            let format = &section.format;
            let painted = if format.color == Color32::PLACEHOLDER { shape.fallback_color } else { format.color };
            let color = faint(shape.override_text_color.unwrap_or(painted));
            let background = faint(format.background);
            let left = origin.x + glyph.pos.x;
            let rect = Rect::from_min_size(pos2(left, origin.y), Vec2::new(glyph.advance_width, row.size.y));
            let baseline = origin.y + glyph.pos.y;
            let like = |run: &&mut Run| {
                let is_next = (run.rect.right() - left).abs() < GAP && run.baseline == baseline;
                is_next && run.font == format.font_id && run.color == color && run.background == background
            };
            match runs.last_mut().filter(|_| !is_new).filter(like) {
                Some(run) => {
                    run.text.push(glyph.chr);
                    run.rect = run.rect.union(rect);
                }
                None => {
                    let font = format.font_id.clone();
                    runs.push(Run { text: glyph.chr.into(), rect, baseline, font, color, background });
                }
            }
            is_new = false;
        }
        if row.ends_with_newline {
            letters.next_if(|(_, letter)| *letter == '\n');
        }
    }
    runs
}
