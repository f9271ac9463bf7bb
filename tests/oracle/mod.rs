//! A second reading of the rules of the numbers, naive on purpose: a list of rows,
//! linear scans, nothing shared with the program but its event and group types.
//! [`Replay`] makes rows of events, [`answer`] asks them, [`scenario`] makes events,
//! drawn by [`strategy`].
#![allow(dead_code, reason = "each test uses its own part")]

pub mod address_map;
pub mod answer;
pub mod copies;
mod pages;
pub mod question;
mod replay;
pub mod scenario;
pub mod strategy;
pub mod what_if;

pub use replay::{FREQUENCY, Place, Replay, Row, Step};
