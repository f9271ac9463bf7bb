//! The `.etl` file: buffers, compression, event headers and session header, read
//! and written. This room knows bytes, not what an event means.
//!
//! Everything reads from [`Source`] by position, so a file that is cut, grows or
//! vanishes while it loads ends in a reported problem, never a crash. All format
//! facts come from public descriptions of the format and were checked on public
//! traces; each module names what it relies on.
//!
//! To read, start at [`TraceFile::open`], then [`TraceFile::read_buffer`] and [`Events`]; to write, at
//! [`write::Writer`].

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
mod index;
mod opening;
mod read;
mod sessions;
mod source;
mod walk;
pub mod write;

pub use buffer::{BUFFER_HEADER, BufferInfo, BufferKind, Expandable, MAX_BUFFER, flag};
pub use bytes::{address_at, align8, ansi_at, guid_at, i64_at, u8_at, u16_at, u32_at, u64_at, utf16_field, utf16z_at};
pub use error::{OpenError, SNIFF, looks_like_etl};
pub use event::{EventDamage, EventId, Events, Framed, HeaderKind, KernelEvent, RawEvent, WideEvent, WideHeader};
pub use extended::{Extended, ExtendedItem, extended_type};
pub use file::{Format, TraceFile};
pub use growth::{Growth, Lost, is_same_session};
pub use guid::Guid;
pub use header::{ClockKind, SessionHeader, mode};
pub use read::ReadBuffer;
pub use source::Source;
