//! Limits that a trace is held against: rules that a team writes, in TOML ([`rules`]), and
//! whether a trace keeps them ([`check`]). A breach is a line of text ([`text`]) or a failure in
//! JUnit's XML ([`junit`]), unless a team accepts it ([`baseline`]); [`starter`] writes rules from a trace that is well.
//!
//! The numbers are those of `report` for the same rows ([`Measured`](crate::query::Measured)).
//! A rule that finds nothing to hold its limits against is skipped, and says why: a recording that
//! failed must not look well.
//!
//! Cost: for each rule what a report costs; passes over the rows for growth and blocks at
//! exit; for what is broken the places in the code.

mod baseline;
mod check;
mod junit;
mod rules;
mod starter;
mod text;

pub use baseline::{Accepted, Baseline};
pub use check::{Amount, Check, Checked, GroupCheck, HolderOf, Judge, Outcome};
pub use junit::{Suite, junit};
pub use rules::{Limit, LimitRules, Rule};
pub use starter::{StartedFrom, starter};
pub use text::breach_lines;
