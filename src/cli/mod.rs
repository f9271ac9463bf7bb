//! Subcommands over query and export.

pub mod synth;
