//! Colours and sizes for both themes.

#[cfg(test)]
mod vision;

use eframe::egui::{self, Color32, CornerRadius, Stroke, Visuals};

/// Colours of lines, which people with any colour vision can tell apart in both themes (see the tests).
/// Red is reserved for errors, and amber for growth.
const SERIES: [(u32, u32); DISTINCT] = [
    // (on dark, on light)
    (0x66A3FF, 0x2E7BE9),
    (0x87CA99, 0x129F78),
    (0xF9A1CC, 0xD334AA),
    (0xBE9360, 0xB18144),
    (0x8F63E2, 0x59289E),
    (0x95EDFF, 0x297286),
    (0xB5D94C, 0x5B7000),
    (0x7D8CA3, 0x3C485D),
];

/// Number of lines that everyone can tell apart by colour.
pub const DISTINCT: usize = 8;

/// Number of colours of lines, with the fainter ones.
pub const COLORS: usize = DISTINCT * FAINT.len();

/// How much fainter lines are than the first ones, by each further round of colours.
const FAINT: [f32; 3] = [0.0, 0.4, 0.6];

fn rgb(hex: u32) -> Color32 {
    Color32::from_rgb((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

/// Colour of the n-th line. Lines beyond the first ones are fainter.
pub fn series(index: usize, visuals: &Visuals) -> Color32 {
    let (dark, light) = SERIES[index % SERIES.len()];
    let color = rgb(if visuals.dark_mode { dark } else { light });
    let faint = FAINT[(index / SERIES.len()) % FAINT.len()];
    color.lerp_to_gamma(visuals.extreme_bg_color, faint)
}

/// Colour of a line with this number; a neutral one without a number.
pub fn line(number: Option<usize>, visuals: &Visuals) -> Color32 {
    number.map_or(no_series(visuals), |number| series(number, visuals))
}

/// Neutral colour for rows without a line on the graph.
fn no_series(visuals: &Visuals) -> Color32 {
    visuals.weak_text_color().gamma_multiply(0.7)
}

/// Losses on the graph.
pub fn loss(visuals: &Visuals) -> Color32 {
    visuals.warn_fg_color
}

/// Growth: memory that stays. Red is for errors.
pub fn growth(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0xFFB74D } else { 0x9A5B00 })
}

/// Shrinkage: memory given back.
pub fn shrinkage(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0x7ED6A5 } else { 0x1B7A4B })
}

/// Colour of a change; `None` if nothing has changed.
pub fn change(change: i64, visuals: &Visuals) -> Option<Color32> {
    match change {
        1.. => Some(growth(visuals)),
        0 => None,
        _ => Some(shrinkage(visuals)),
    }
}

/// Bars for shares behind numbers, before transparency is applied.
pub fn share(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0x6FA8FF } else { 0x2F78E0 })
}

/// The selected line of a table on the graph: its lifetimes, and its own outstanding size.
pub fn highlight(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0xFFE082 } else { 0x6D4C00 })
}

/// The selected interval on the graph.
pub fn selection_fill(visuals: &Visuals) -> Color32 {
    visuals.text_color().gamma_multiply(0.07)
}

/// Number of distinct colours of modules in flame graphs.
pub const FLAME_COLORS: usize = 8;

/// Boxes of a flame graph: calm colours of equal lightness, so that one text colour suits them all.
const FLAME: [(u32, u32); FLAME_COLORS] = [
    (0x3E6CB5, 0xB9D2F5),
    (0xA8672A, 0xF6D3AC),
    (0x2F7F5D, 0xB5E3CD),
    (0x7C5BB5, 0xD9C8F5),
    (0x2D7F86, 0xB3E0E3),
    (0xA34E77, 0xF3C4DB),
    (0x7D6A35, 0xE8DCAF),
    (0x5A6B80, 0xCDD6E0),
];

/// Colour of the boxes of one module, by its number.
pub fn flame(number: usize, visuals: &Visuals) -> Color32 {
    let (dark, light) = FLAME[number % FLAME.len()];
    rgb(if visuals.dark_mode { dark } else { light })
}

/// Boxes of freed memory.
pub fn flame_shrinkage(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0x2F6B3F } else { 0x9FD6AE })
}

/// Boxes that are too narrow to be drawn separately.
pub fn flame_rest(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0x34383F } else { 0xDDE1E7 })
}

/// Text in a box.
pub fn on_flame(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0xF2F4F8 } else { 0x1B1F26 })
}

/// A frame of a game, by its allocations as a part of the largest frame's, 0 to 1.
pub fn frame(part: f32, visuals: &Visuals) -> Color32 {
    let calm = rgb(if visuals.dark_mode { 0x5C7391 } else { 0x9DB2CC });
    calm.lerp_to_gamma(growth(visuals), part.clamp(0.0, 1.0))
}

/// The age of memory, 0 (new) to 1 (old): what stays has the colour of growth.
pub fn age(part: f32, visuals: &Visuals) -> Color32 {
    let (new, middle) = if visuals.dark_mode { (rgb(0x2E6FB8), rgb(0x8C7FA8)) } else { (rgb(0x7FB4F0), rgb(0x9A86B4)) };
    let part = part.clamp(0.0, 1.0);
    if part < 0.5 { new.lerp_to_gamma(middle, 2.0 * part) } else { middle.lerp_to_gamma(growth(visuals), 2.0 * part - 1.0) }
}

/// Committed pages without blocks, below their hatching.
pub fn empty_pages(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0x23262C } else { 0xF0F2F5 })
}

/// The lines of a hatching.
pub fn hatching(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0x6A7280 } else { 0x9BA5B3 })
}

/// GPU memory in its lanes.
pub fn gpu(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0x6FD0B0 } else { 0x0E7C61 })
}

/// The user's marks on the graph.
pub fn mark(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0x8FD3FF } else { 0x0B6AA8 })
}

/// Pins on the graph.
pub fn pin(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0xFFD54F } else { 0x9A6B00 })
}

/// Sets sizes and colours of both themes.
pub fn install(ctx: &egui::Context) {
    ctx.all_styles_mut(|style| {
        style.spacing.item_spacing = egui::vec2(6.0, 4.0);
        style.spacing.button_padding = egui::vec2(7.0, 3.0);
        style.interaction.selectable_labels = false;
        style.interaction.tooltip_delay = 0.3;
        let visuals = &mut style.visuals;
        for widget in
            [&mut visuals.widgets.inactive, &mut visuals.widgets.hovered, &mut visuals.widgets.active, &mut visuals.widgets.open]
        {
            widget.corner_radius = CornerRadius::same(4);
        }
        if visuals.dark_mode {
            visuals.panel_fill = rgb(0x1B1D22);
            visuals.extreme_bg_color = rgb(0x131519);
            visuals.faint_bg_color = rgb(0x202329);
            visuals.window_fill = rgb(0x22252B);
            visuals.widgets.noninteractive.bg_stroke = Stroke::new(1.0, rgb(0x33373F));
            visuals.widgets.noninteractive.fg_stroke.color = rgb(0xD3D7DE);
            visuals.weak_text_color = Some(rgb(0x98A0AC));
            visuals.selection.bg_fill = rgb(0x2A5CA8);
        } else {
            visuals.panel_fill = rgb(0xF6F7F9);
            visuals.extreme_bg_color = rgb(0xFFFFFF);
            visuals.faint_bg_color = rgb(0xEFF1F4);
            visuals.widgets.noninteractive.bg_stroke = Stroke::new(1.0, rgb(0xD5D9E0));
            visuals.widgets.noninteractive.fg_stroke.color = rgb(0x23272E);
            visuals.weak_text_color = Some(rgb(0x5E6773));
            visuals.selection.bg_fill = rgb(0xA9CBFA);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart_with_any_colour_vision() {
        for visuals in [Visuals::dark(), Visuals::light()] {
            let colors: Vec<Color32> = (0..DISTINCT).map(|i| series(i, &visuals)).collect();
            for seen in vision::ALL {
                for (i, &a) in colors.iter().enumerate() {
                    for &b in &colors[..i] {
                        let difference = vision::difference(seen.see(a), seen.see(b));
                        assert!(difference >= 10.0, "{seen:?}: {a:?} and {b:?} differ by {difference:.1}");
                    }
                }
            }
        }
    }

    #[test]
    fn lines_growth_and_marks_are_seen_on_their_background() {
        let ctx = egui::Context::default();
        install(&ctx);
        for theme in [egui::Theme::Dark, egui::Theme::Light] {
            let visuals = &ctx.style_of(theme).visuals;
            let others = [growth(visuals), shrinkage(visuals), mark(visuals), pin(visuals), highlight(visuals)];
            for color in (0..DISTINCT).map(|i| series(i, visuals)).chain(others) {
                let contrast = vision::contrast(color, visuals.extreme_bg_color);
                assert!(contrast >= 3.0, "{theme:?}: {color:?} has {contrast:.1}");
            }
        }
    }
}
