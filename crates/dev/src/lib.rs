//! Instruments of the project, not of its users: traces that are generated, and the program `highwater-dev` that writes
//! them. Nothing of it is shipped.
//!
//! - [`synth`]: scenarios by seed, the demo among them.
//! - [`command`]: the command line of `highwater-dev`, also for tests.

#![deny(unreachable_pub)]

use highwater_engine::{events, random, tables, units};
use highwater_etl as etl;
use highwater_files::paths;

#[cfg(test)]
use highwater_engine::{model, problem, query};
#[cfg(test)]
use highwater_load as load;

pub mod command;
pub mod synth;
