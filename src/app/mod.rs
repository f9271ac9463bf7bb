//! The window. It holds the user's state (view, selection, filters, open nodes) and computes no numbers
//! itself: loading and queries run on workers, whose answers are drained once a frame. A frame never
//! waits and never reads rows.
//!
//! Its layers, each of which uses only those before it:
//! - [`base`]: colours, fonts, tables as data, and whatever else knows nothing of traces;
//! - [`state`]: the choices of the user, and the answers as they are drawn;
//! - [`jobs`]: requests, answers and the workers between them;
//! - [`services`]: what has a worker or a file of its own (names, recordings, recent traces, stack rules, dialogs);
//! - [`commands`]: everything that a user can do, as values;
//! - [`document`]: the open trace as the user sees it, without its views;
//! - [`widgets`] that several views and panels share, and the [`views`] (the tabs);
//! - [`workspace`]: the open trace together with its views, and the other open traces;
//! - [`panels`]: the rest of the window; like views they read the state and push commands;
//! - [`shell`]: the window itself, which carries the commands out.

mod base;
mod commands;
mod document;
mod jobs;
mod panels;
mod services;
mod shell;
mod state;
mod views;
mod widgets;
mod workspace;

pub use services::names::Given;
pub use shell::{HighwaterApp, Options, Renderer, run};
pub use state::graph::Arrangement;
pub use state::settings::{Settings, SymbolSettings, Theme, recordings_that_run};
