//! State of the window that everything else builds on.

pub mod ids;
pub mod walk;
