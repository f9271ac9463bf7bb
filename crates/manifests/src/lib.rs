//! Names and fields of events, as the manifests that are installed on this machine define them, and Windows' own reader
//! of `.etl` files. Windows only; elsewhere only the portable parts compile, so that they are tested everywhere.
//!
//! [`describe`]: a tiny trace with one event of each kind ([`kinds_trace`]) is written to a temporary file and read with
//! `ferrisetw::FileTrace`. For each event its `Schema` gives the names of provider, task and opcode, and
//! TdhGetEventInformation all else: a TRACE_EVENT_INFO, which is checked ([`answers`]) and can be stored in a trace.
//!
//! [`count_events`] counts the events that Windows finds in a file.
//!
//! Used by the program with the window, and never by the recorder: what the elevated program needs is only what it calls.
//! Whatever fails, names are missing and nothing else happens: a callback does not panic (`ferrisetw` would end the
//! process), and a reader that makes no progress is left behind.
//!
//! Bounded: the kinds that are asked about ([`highwater_engine::events::MOST_KINDS`]) and the bytes of the answers.

#![deny(unreachable_pub)]

use highwater_engine::events;
use highwater_etl as etl;

pub mod answers;
pub mod callback;
pub mod kinds_trace;
#[cfg(windows)]
mod windows;

#[cfg(windows)]
pub use windows::{count_events, describe};
