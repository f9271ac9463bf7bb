//! State of the window that everything else builds on.

pub mod ids;
pub mod inputs;
pub mod overlay;
pub mod walk;
