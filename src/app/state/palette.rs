//! The text typed and the line selected in the command palette. Pure state: the dialog is
//! `panels::palette`; the choices are the table of commands.

/// The palette while it is open.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Palette {
    pub typed: String,
    /// Index of the selected line among those found.
    pub chosen: usize,
}
