//! The window without a screen, driven by the names of its widgets.
#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/window.rs"]
mod driver;
#[path = "../common/mapped.rs"]
mod mapped;
#[path = "../common/pages.rs"]
mod pages;
#[path = "../common/painter.rs"]
mod painter;
#[path = "../common/jobs.rs"]
mod seven;

mod address_space;
mod ahead;
mod attach;
mod commands;
mod compare;
mod copies;
mod details;
mod filters;
mod findings;
mod first_use;
mod flame;
mod follow;
#[cfg(not(windows))]
mod fonts;
mod functions;
mod graph;
mod growing;
mod happenings;
mod histograms;
mod investigation;
mod jobs;
mod layout;
mod leftovers;
mod names;
mod offer;
mod page;
mod picture_export;
mod pictures;
mod pins;
mod player;
mod prepared;
mod preview;
mod processors;
mod providers;
mod resumed;
mod rules;
mod saving;
mod search;
mod source_files;
mod start;
mod tables;
mod trace_tab;
mod traces;
mod trackers;
mod undo;
mod views_agree;
mod what_if;
