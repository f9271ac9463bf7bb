//! State of the window that everything else builds on.

pub mod alignment;
pub mod answers;
pub mod counters;
pub mod filters;
pub mod graph;
pub mod heap_lines;
pub mod history;
pub mod ids;
pub mod inputs;
pub mod lanes;
pub mod layout;
pub mod line_colors;
pub mod notes;
pub mod overlay;
pub mod overlays;
pub mod palette;
pub mod provider_choice;
pub mod settings;
pub mod source_list;
pub mod view_choices;
pub mod walk;
