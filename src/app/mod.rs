//! The window. It holds the user's state (view, selection, filters, open nodes) and computes no numbers
//! itself: loading and queries run on workers, whose answers are drained once a frame. A frame never
//! waits and never reads rows.
//!
//! Panels only read the state ([`context`]) and push [`commands`]; the [`shell`] carries them out in one place.

mod accepted;
mod answers;
mod apart;
mod aside;
mod attach;
mod beside;
mod by_hand;
mod commands;
mod context;
mod counters;
mod dialogs;
mod digest;
mod document;
mod failure;
mod filters;
mod fonts;
mod frame_times;
mod graph;
mod happenings;
mod heap_lines;
mod help;
mod history;
mod icon;
mod jobs;
mod lanes;
mod layout;
mod leftovers;
mod line_colors;
mod names;
mod offer;
mod palette;
mod panels;
mod picture;
mod player;
mod providers;
mod recent;
mod recording;
mod saving;
mod settings;
mod shell;
mod source_files;
mod stack_rules;
mod state;
mod table;
mod theme;
mod traces;
mod ui_dump;
mod views;
mod widgets;
mod workspace;

pub use graph::Arrangement;
pub use names::Given;
pub use settings::{Settings, SymbolSettings, Theme, recordings_that_run};
pub use shell::{HighwaterApp, Options, Renderer, run};
