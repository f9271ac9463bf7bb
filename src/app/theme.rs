//! Colours and sizes: one place for both themes.

use eframe::egui::{self, Color32, CornerRadius, Stroke, Visuals};

/// Colours of lines, told apart in both themes and by most colour-blind people.
const SERIES: [(u32, u32); 10] = [
    // (on dark, on light)
    (0x5B9DFF, 0x1F6FE5),
    (0xFFAE42, 0xC96A00),
    (0x4CCB8F, 0x12855A),
    (0xFF6B70, 0xCF2F36),
    (0xB48CFF, 0x7A45D6),
    (0x3FD0D4, 0x0A8286),
    (0xFF7FC0, 0xC12F7F),
    (0xC9A27A, 0x87633C),
    (0xB5D94C, 0x5E7F06),
    (0x9FB2CC, 0x54667F),
];

fn rgb(hex: u32) -> Color32 {
    Color32::from_rgb((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

/// Colour of the n-th line.
pub fn series(index: usize, visuals: &Visuals) -> Color32 {
    let (dark, light) = SERIES[index % SERIES.len()];
    rgb(if visuals.dark_mode { dark } else { light })
}

/// Losses on the graph.
pub fn loss(visuals: &Visuals) -> Color32 {
    visuals.warn_fg_color
}

/// Growth: memory that stays.
pub fn growth(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0xFF8A80 } else { 0xB3261E })
}

/// Shrinkage: memory given back.
pub fn shrinkage(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0x7ED6A5 } else { 0x1B7A4B })
}

/// Spans of the selected line on the graph.
pub fn highlight(visuals: &Visuals) -> Color32 {
    visuals.selection.bg_fill.gamma_multiply(0.7)
}

/// The selected interval on the graph.
pub fn selection_fill(visuals: &Visuals) -> Color32 {
    visuals.text_color().gamma_multiply(0.10)
}

/// Boxes of a flame graph: calm colours of one lightness, on which one text colour is read.
const FLAME: [(u32, u32); 8] = [
    (0x3E6CB5, 0xB9D2F5),
    (0xA8672A, 0xF6D3AC),
    (0x2F7F5D, 0xB5E3CD),
    (0x7C5BB5, 0xD9C8F5),
    (0x2D7F86, 0xB3E0E3),
    (0xA34E77, 0xF3C4DB),
    (0x7D6A35, 0xE8DCAF),
    (0x5A6B80, 0xCDD6E0),
];

/// Colour of the boxes of one module, by any number that stands for it.
pub fn flame(number: u32, visuals: &Visuals) -> Color32 {
    let (dark, light) = FLAME[number as usize % FLAME.len()];
    rgb(if visuals.dark_mode { dark } else { light })
}

/// Boxes of what was given back.
pub fn flame_shrinkage(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0x2F6B3F } else { 0x9FD6AE })
}

/// Boxes that are too narrow to be told apart.
pub fn flame_rest(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0x34383F } else { 0xDDE1E7 })
}

/// Text in a box.
pub fn on_flame(visuals: &Visuals) -> Color32 {
    rgb(if visuals.dark_mode { 0xF2F4F8 } else { 0x1B1F26 })
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
