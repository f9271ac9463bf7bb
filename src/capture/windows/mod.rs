//! Recording on Windows: sessions, consumers, rights, processes. Beside `platform` the only
//! place with `unsafe`: each block is one call, or one look at what Windows hands us.
//!
//! [`LocalRecording`] is a recording: it starts its sessions, is polled by whoever started it,
//! and ends in one file. [`SystemRecorder`] does that for a window, in an elevated process if
//! need be. Nothing here has been seen to work but under a simulated ETW; what that
//! cannot prove, and how to check it, is in `docs/windows-checklist.md`.

mod clock;
mod consumer;
mod elevate;
mod launch;
mod machine;
mod pipe;
mod privilege;
mod processes;
mod record;
mod refusal;
mod remote;
mod running;
mod sample;
mod session;
mod source;
mod tracing_flags;
mod user;
mod volumes;
mod wide;

pub use remote::{Served, SystemRecorder};
pub use running::LocalRecording;
pub use volumes::volumes;

/// What nobody can guess: the keys that the standard library makes for its hash tables.
fn random_bytes() -> [u8; 16] {
    use std::hash::{BuildHasher, RandomState};
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
    bytes[8..].copy_from_slice(&RandomState::new().hash_one(1).to_le_bytes());
    bytes
}
