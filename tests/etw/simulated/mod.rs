//! A simulated ETW: `state` is what it knows, `calls` what it is asked, `deliver` how events come,
//! `events` which ones, and `patch` puts it in the place of the real one.

pub mod admit;
pub mod calls;
pub mod children;
pub mod deliver;
pub mod events;
pub mod files;
mod patch;
pub mod state;
pub mod story;
