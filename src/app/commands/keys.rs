//! The key map. Each key is defined here once: key bindings, menus, hints and the window *Keys* all use these constants.
//!
//! Keys that act on a table are handled by its view ([`STEPS`], and their descriptions in
//! [`GESTURES`]); all others belong to a command of the [`table`].

use eframe::egui::{self, Key as K, KeyboardShortcut, ModifierNames, Modifiers};

use crate::app::state::ids::ViewId;

/// Keys for the same command; the first is shown in menus.
pub type Keys = &'static [KeyboardShortcut];

const fn key(key: K) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::NONE, key)
}

const fn ctrl(key: K) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND, key)
}

const fn ctrl_shift(key: K) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), key)
}

const fn shift(key: K) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::SHIFT, key)
}

const fn alt(key: K) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::ALT, key)
}

pub const OPEN: Keys = &[ctrl(K::O)];
pub const OPEN_PATH: Keys = &[ctrl_shift(K::O)];
pub const RECORD: Keys = &[ctrl(K::R)];
pub const PALETTE: Keys = &[ctrl(K::P)];
pub const GUIDE: Keys = &[KeyboardShortcut::new(Modifiers::SHIFT, K::F1)];
pub const SHOW_KEYS: Keys = &[key(K::F1)];
pub const HOLD: Keys = &[key(K::Space)];
pub const ZOOM: Keys = &[key(K::Z), ctrl(K::Period)];
pub const BACK: Keys = &[key(K::Backspace), ctrl(K::Z), ctrl_shift(K::Minus), alt(K::ArrowLeft)];
pub const FORWARD: Keys = &[alt(K::ArrowRight), ctrl_shift(K::Z), ctrl(K::Y)];
pub const SAVE: Keys = &[ctrl(K::S)];
pub const NOTE: Keys = &[shift(K::M)];
pub const WHOLE: Keys = &[key(K::Home)];
pub const MARK: Keys = &[key(K::M)];
pub const NEXT_MARK: Keys = &[key(K::N)];
pub const PREVIOUS_MARK: Keys = &[shift(K::N)];
pub const NEXT_FRAME: Keys = &[key(K::F)];
pub const PREVIOUS_FRAME: Keys = &[shift(K::F)];
pub const WORST_FRAME: Keys = &[key(K::W)];
pub const GRAPH: Keys = &[key(K::G)];
pub const ESCAPE: Keys = &[key(K::Escape)];
pub const CLOSE: Keys = &[ctrl(K::W)];
pub const NEXT_TRACE: Keys = &[ctrl(K::Tab)];
pub const PREVIOUS_TRACE: Keys = &[ctrl_shift(K::Tab)];
pub const NEXT_TAB: Keys = &[ctrl(K::PageDown)];
pub const PREVIOUS_TAB: Keys = &[ctrl(K::PageUp)];
pub const NEXT_PART: Keys = &[key(K::F6)];
pub const SEARCH: Keys = &[ctrl(K::F)];
pub const LARGER: Keys = &[ctrl(K::Plus), ctrl(K::Equals)];
pub const SMALLER: Keys = &[ctrl(K::Minus)];
pub const USUAL_SIZE: Keys = &[ctrl(K::Num0)];

/// Keys that move the selection in a table, and by how many lines.
pub const STEPS: [(K, isize); 4] = [(K::ArrowUp, -1), (K::ArrowDown, 1), (K::PageUp, -20), (K::PageDown, 20)];

/// Keys and mouse gestures that belong to no command, each with its effect.
pub const GESTURES: &[(&str, &str)] = &[
    ("drag on the graph", "Select an interval for the tables. Drag its edges to resize it, its label to move it"),
    ("wheel, Shift+wheel on the graph", "Zoom at the pointer, move sideways"),
    ("click, double click on a frame", "Select it; show only this frame"),
    ("Ctrl+click on the graph", "Set a pin; two pins show how much changed between them"),
    ("right-click", "The menu of a line, a source or a moment"),
    ("Up, Down, Page Up, Page Down", "Move in the table"),
    ("Left, Right", "Close or open the selected line; go to its parent or its first child"),
    ("Enter", "Filter to the selected line; in the search field, go to the first match"),
    ("Ctrl+C", "Copy the selected line"),
    ("Ctrl+wheel, +, - on the address space", "Zoom to smaller cells and single blocks, and back"),
];

/// A key in words.
fn one(shortcut: &KeyboardShortcut) -> String {
    let key = match shortcut.logical_key {
        // Arrows are not in every font.
        arrow @ (K::ArrowLeft | K::ArrowRight | K::ArrowUp | K::ArrowDown) => arrow.name(),
        K::Escape => "Esc",
        other => other.symbol_or_name(),
    };
    let modifiers = ModifierNames::NAMES.format(&shortcut.modifiers, cfg!(target_os = "macos"));
    if modifiers.is_empty() { key.to_owned() } else { format!("{modifiers}+{key}") }
}

/// The first of some keys, as menus and hints show it.
pub fn first(keys: Keys) -> String {
    keys.first().map(one).unwrap_or_default()
}

/// All of some keys, separated by commas.
pub fn all(keys: Keys) -> String {
    keys.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A hint with the key after it.
pub fn hint(words: &str, keys: Keys) -> String {
    format!("{words} ({})", first(keys))
}

/// The owner of the keyboard at the start of a frame, before anything is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// A text field. At Enter it gives up the focus within the frame, but the key still belongs to it.
    is_typing: bool,
    /// A menu, which Escape closes.
    pub has_menu: bool,
}

impl Owner {
    /// Finds out who owns the keyboard.
    pub fn now(ctx: &egui::Context) -> Self {
        Self { is_typing: ctx.egui_wants_keyboard_input(), has_menu: egui::Popup::is_any_open(ctx) }
    }

    /// Whether neither a text field, a dialog nor a menu owns the keyboard, so that keys act on the table.
    pub fn is_table(self, ctx: &egui::Context) -> bool {
        !self.has_menu && self.is_nobody(ctx)
    }

    /// Whether neither a text field nor a dialog owns the keyboard.
    pub fn is_nobody(self, ctx: &egui::Context) -> bool {
        let has_dialog = ctx.memory(|memory| memory.top_modal_layer().is_some());
        !self.is_typing && !has_dialog && !ctx.egui_wants_keyboard_input()
    }
}

/// The id of a table's search field. It is fixed, so that the field keeps the focus when the button
/// beside it appears with the first letter.
pub fn search_id(view: ViewId) -> egui::Id {
    egui::Id::unique(("search field", view))
}

/// Focuses the search field on Ctrl+F, before the field is drawn, so that text typed within the same frame goes into it.
pub fn press_search(view: ViewId, ctx: &egui::Context) {
    if is_pressed(ctx, SEARCH) {
        ctx.memory_mut(|m| m.request_focus(search_id(view)));
    }
}

/// Whether one of these keys was pressed; consumes it.
pub fn is_pressed(ctx: &egui::Context, keys: Keys) -> bool {
    keys.iter().any(|key| ctx.input_mut(|i| i.consume_shortcut(key)))
}

pub fn held(shortcut: &KeyboardShortcut) -> u8 {
    let Modifiers { alt, shift, command, .. } = shortcut.modifiers;
    u8::from(alt) + u8::from(shift) + u8::from(command)
}

/// Whether a text field needs the key: letters, with Shift too, and undoing what was typed.
pub fn disturbs_typing(shortcut: &KeyboardShortcut) -> bool {
    let is_letter = held(shortcut) == u8::from(shortcut.modifiers.shift);
    let undoes = shortcut.modifiers.command && matches!(shortcut.logical_key, K::Z | K::Y);
    (shortcut.conflicts_with_text_editing() || is_letter || undoes) && shortcut.logical_key != K::F1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_as_they_are_written_on_keyboards() {
        assert_eq!(first(OPEN), if cfg!(target_os = "macos") { "Cmd+O" } else { "Ctrl+O" });
        if cfg!(not(target_os = "macos")) {
            assert_eq!(all(BACK), "Backspace, Ctrl+Z, Ctrl+Shift+\u{2212}, Alt+Left");
            assert_eq!(hint("Zoom", ZOOM), "Zoom (Z)");
        }
        assert_eq!(first(ESCAPE), "Esc");
    }

    #[test]
    fn letters_are_for_text_fields_and_function_keys_are_not() {
        assert!(disturbs_typing(&ZOOM[0]) && disturbs_typing(&BACK[0]) && disturbs_typing(&HOLD[0]));
        assert!(disturbs_typing(&NOTE[0]) && disturbs_typing(&PREVIOUS_MARK[0]) && disturbs_typing(&BACK[1]));
        assert!(!disturbs_typing(&GUIDE[0]) && !disturbs_typing(&SAVE[0]));
        assert!(!disturbs_typing(&SHOW_KEYS[0]) && !disturbs_typing(&PALETTE[0]) && !disturbs_typing(&ZOOM[1]));
    }
}
