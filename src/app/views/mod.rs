//! Views: the tabs below the graph, one folder each. A view consists of its state, its request (a value), its
//! answer (made by a worker from what is prepared for trace, interval and filters), and its panel. To add a
//! view, write its folder and its line here, add its id to `state::ids::ViewId`, and add a line to [`Views::default`].
//!
//! The window knows no view by name. It sends the request of the visible view whenever anything that all views
//! share has changed, or the view reports that its request has. Answers to stale requests are dropped.

mod address_space;
mod compare;
mod findings;
mod flame;
mod frames;
mod freed_before;
mod functions;
mod generations;
mod histograms;
mod layers;
mod marks;
pub mod node_details;
mod pane;
mod processors;
mod questions;
mod rows;
mod stacks;
mod types;
mod view;
pub mod view_registry;
mod what_if;

pub use pane::Pane;
pub use view::{Pointed, ViewContext};
pub use view_registry::Views;
