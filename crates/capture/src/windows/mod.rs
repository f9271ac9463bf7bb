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
mod random;
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
mod window_recorder;

pub use clean_up::clean_up;
pub(super) use folder::Directory;
pub use journal::{Call, Journal, RawEvent};
pub use remote::{SystemRecorder, user};
pub use running::LocalRecording;
pub use self_test::MachineFacts;
pub use serve::{note_panic, serve};
pub use volumes::volumes;
