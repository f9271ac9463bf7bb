//! Recording on Windows: sessions, consumers, rights, processes. Besides `platform`, the only place with `unsafe`: each
//! block is one system call, or one access to memory that Windows passes to us.
//!
//! [`LocalRecording`] is a recording: it starts its sessions, is polled by its owner, and ends as one file.
//! [`SystemRecorder`] does that for a window, if necessary in another program that has the rights ([`serve`]). All this
//! was only tested with a simulated ETW; `docs/windows-checklist.md` lists what that cannot prove, and how to check it.

mod clean_up;
mod clock;
mod consumer;
mod elevate;
mod folder;
mod journal;
mod launch;
mod machine;
mod pipe;
mod plan;
mod privilege;
mod processes;
mod record;
mod refusal;
mod remote;
mod running;
mod sample;
pub mod self_test;
mod serve;
mod session;
mod silence;
mod source;
mod starting;
pub mod target;
mod tracing_flags;
mod volumes;
mod watch;
mod wide;

pub use clean_up::clean_up;
pub(super) use folder::Directory;
pub use journal::{Call, Journal, RawEvent};
pub use remote::{SystemRecorder, user};
pub use running::LocalRecording;
pub use self_test::MachineFacts;
pub use serve::{note_panic, serve};
pub use volumes::volumes;

/// The program that records for the window; it is in the same folder.
const RECORDER: &str = "highwater-recorder.exe";

/// Maximum time between the start of the recorder and its first message, on a slow machine.
const START: std::time::Duration = std::time::Duration::from_secs(60);

/// Unpredictable bytes, derived from the keys that the standard library makes for its hash tables.
fn random_bytes() -> [u8; 16] {
    use std::hash::{BuildHasher, RandomState};
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
    bytes[8..].copy_from_slice(&RandomState::new().hash_one(1).to_le_bytes());
    bytes
}
