//! Reads and writes `.etl` files, the traces of Event Tracing for Windows (ETW), on every system.
//!
//! An `.etl` file is a chain of buffers, each filled by one processor. A buffer has a header (size, processor, sequence
//! number) and events behind it; the first buffer begins with the session header: clock, start time, losses. This crate knows
//! these bytes and not what an event means: an event is its header's fields, its extended items and its payload.
//!
//! # Reading
//!
//! [`TraceFile::open`] reads the session header and finds all buffers. [`TraceFile::read_buffer`] reads and expands one of
//! them into a [`ReadBuffer`], whose [`Events`] borrow from it. Buffers can be read in any order and from several threads.
//!
//! Read are: uncompressed files and the three forms of compression that Windows has ([`compression`]); all forms of event
//! headers ([`HeaderKind`]), of 32-bit and 64-bit programs; circular files; files that several sessions were appended to; and
//! files that are still being written, with [`Growth`]. Bytes come from a [`Source`]: a file, a part of one (a member that an
//! archive stores), or memory.
//!
//! The events of one processor are in the order of time if its buffers are taken by [`BufferInfo::order`]. To bring those of
//! several processors into one order is left to the caller, as is decoding payloads; [`u32_at`] and its kin read their fields.
//!
//! # Writing
//!
//! [`write::Writer`] takes events with any of these headers but WPP messages and error frames, which it only copies from other
//! files ([`write::Writer::write_bytes`]). It writes a file as a session of Windows does: one open buffer a processor,
//! compressed or not, the session header completed at the end. A file whose writer was dropped before
//! [`write::Writer::finish`] is readable too, like that of a session that crashed.
//!
//! # Example
//!
//! A trace with one event of a provider, written to memory and read again:
//!
//! ```
//! use std::io::Cursor;
//!
//! use highwater_etl::write::{Descriptor, NewEvent, Writer};
//! use highwater_etl::{
//!     EventId, Guid, HeaderKind, Pid, PointerSize, Problems, ReadBuffer, SessionHeader, Source, Tid, TraceFile,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let provider: Guid = "8F5B2C01-11A3-4E5D-9011-3A5C7E224106".parse().unwrap();
//! let mut writer = Writer::new(Cursor::new(Vec::new()), SessionHeader::default())?;
//! writer.write(&NewEvent {
//!     processor: 0,
//!     time: 25_000_000, // raw clock value: 2.5 s at 10 MHz
//!     kind: HeaderKind::Event,
//!     pointer: PointerSize::Eight,
//!     pid: Pid(4711),
//!     tid: Tid(42),
//!     id: EventId::Provider { provider, id: 7 },
//!     version: 0,
//!     descriptor: Descriptor { level: 4, ..Descriptor::default() },
//!     extended: &[],
//!     payload: b"hello",
//! })?;
//! let bytes = writer.finish()?.into_inner();
//!
//! let file = TraceFile::from_source(Source::Memory(bytes.leak()), "hello.etl".to_owned())?;
//! let (mut memory, mut problems) = (ReadBuffer::default(), Problems::new());
//! let mut found = Vec::new();
//! for buffer in &file.buffers {
//!     file.read_buffer(buffer, &mut memory, &mut problems);
//!     for event in memory.events() {
//!         if event.id == (EventId::Provider { provider, id: 7 }) {
//!             found.push((event.time, event.pid, event.payload.to_vec()));
//!         }
//!     }
//! }
//! assert_eq!(found, [(25_000_000, Pid(4711), b"hello".to_vec())]);
//! assert_eq!(problems.total(), 0);
//! # Ok(())
//! # }
//! ```
//!
//! `examples/list_events.rs` and `examples/write_trace.rs` do the same with files.
//!
//! # Constraints
//!
//! * **Hostile input.** No bytes make the crate panic, loop for ever, or use memory out of proportion. Nothing that a header
//!   claims is believed for control flow: buffers are found by walking the file, and how they are compressed is what fits.
//!   A compressed buffer may expand to 1 MiB or 200 times its size; what claims more is left out ([`Expandable`]).
//! * **Bounded memory.** An open file keeps one [`BufferInfo`] a buffer. A [`ReadBuffer`] has at most one buffer of 16 MiB
//!   ([`MAX_BUFFER`]) in both forms, or with [`TraceFile::read_part`] a part of one. A writer has one buffer a processor.
//!   Nothing is allocated for an event.
//! * **Positioned reads, no map.** A file that is cut, grows or vanishes meanwhile is a short read, and that is a reported
//!   problem. One handle serves all threads.
//! * **No `unsafe` code.**
//!
//! # Errors
//!
//! [`OpenError`] says why nothing of a file can be read, in one sentence that names the file. Anything less is a [`Problem`]
//! with its place in the file: damaged and missing buffers, impossible headers, a cut end. The rest is read. Problems are
//! collected in [`Problems`]: those of opening in [`TraceFile::problems`], those of reading where the caller wants them, and a
//! program with more kinds of problems than [`FileProblem`] can collect all in one list. [`Events::damage`] says whether a
//! buffer's events ended early. Writing fails with [`write::WriteError`].
//!
//! # Sources
//!
//! All facts about the format come from public descriptions (System Informer's `ntwmi.h`, Geoff Chappell's notes, Microsoft's
//! MS-XCA) and were checked on public traces; each module names what it relies on.
//!
//! # Features
//!
//! `serde`: [`Guid`], [`Problem`] and [`FileProblem`] can be serialized, and GUIDs read again.

#![forbid(unsafe_code)]
#![deny(unreachable_pub)]
#![warn(missing_docs)]

mod ahead;
mod buffer;
mod bytes;
pub mod compression;
mod error;
mod event;
mod extended;
mod file;
mod growth;
mod guid;
mod header;
mod ids;
mod index;
mod opening;
mod problem;
mod read;
mod sessions;
mod source;
pub mod text;
mod walk;
pub mod write;

pub use buffer::{BUFFER_HEADER, BufferInfo, BufferKind, Expandable, MAX_BUFFER, flag};
pub use bytes::{address_at, align8, ansi_at, guid_at, i64_at, u8_at, u16_at, u32_at, u64_at, utf16_field, utf16z_at};
pub use error::{OpenError, SNIFF, looks_like_etl};
pub use event::{EventDamage, EventId, Events, Framed, HeaderKind, KernelEvent, RawEvent, WideEvent, WideHeader};
pub use extended::{Extended, ExtendedItem, extended_type};
pub use file::TraceFile;
pub use growth::{Growth, Lost, is_same_session};
pub use guid::{Guid, NoGuid};
pub use header::{ClockKind, SessionHeader, mode};
pub use ids::{Pid, PointerSize, Tid};
pub use problem::{FileProblem, Problem, Problems};
pub use read::ReadBuffer;
pub use source::Source;

/// The examples in the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
