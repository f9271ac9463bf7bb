//! Files and the machine, as every room of highwater asks the system for them.
//!
//! - [`paths`]: where paths that others name lead, which files are open for reading, and how files are written: whole,
//!   never over one that is being read, over another only if that was said.
//! - [`cache`]: folders of files that can be made again, which keep to a size.
//! - [`platform`]: facts about the machine that each system reports in its own way, with the `unsafe` calls for that.
//!
//! `paths` asks `platform` which file is at a path. Neither knows of traces, formats or the window.

#![deny(unreachable_pub)]

pub mod cache;
pub mod paths;
pub mod platform;
