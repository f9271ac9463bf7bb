//! Memory budgets: rules that a team writes in TOML ([`rules`]), and the check whether a trace keeps them ([`check`]).
//! A broken limit is printed as a line of text ([`text`]) or as a failure in JUnit XML ([`junit`]), unless the team
//! accepts it ([`baseline`]). [`source_roots`]: which file of the repository a breach is in. [`starter`] generates rules from a known-good trace.
//!
//! The numbers are those of `report` for the same rows ([`Measured`](crate::query::Measured)). A rule that finds
//! nothing to check is skipped with a reason, or broken if it is required, so that a failed recording does not look
//! like a success.
//!
//! Cost: per rule the cost of a report; passes over the rows for growth and for blocks at exit; for broken limits the
//! search for the responsible functions.

mod amount;
mod baseline;
mod check;
mod group_check;
mod junit;
mod rules;
mod source_roots;
mod starter;
mod text;

pub use amount::Amount;
pub use baseline::{Accepted, Baseline};
pub use check::{Checked, Judge, Outcome};
pub use group_check::{Check, GroupCheck, HolderOf};
pub use junit::{Suite, junit};
pub use rules::{Limit, LimitRules, Rule};
pub use source_roots::SourceRoots;
pub use starter::{StartedFrom, starter};
pub use text::{Breach, BrokenLimit, breach_lines, breaches, limits_line};
