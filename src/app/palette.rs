//! What is typed and chosen in the palette of commands. Pure state: the dialog is
//! `panels::palette`, and what there is to choose is the table of commands.

/// The palette while it is open.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Palette {
    pub typed: String,
    /// The line that is chosen, of those that are found.
    pub chosen: usize,
}
