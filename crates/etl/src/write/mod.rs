//! Writing `.etl` files that our reader and others can read.
//!
//! [`Writer`] takes events of any header kind and puts them into buffers, one open
//! buffer a processor; a full one goes to the file with the next sequence number,
//! so buffers of several processors interleave as they do in a live session. The
//! session header is written first and once more at the end, with the number of
//! buffers, the losses and the end time. A file whose writer was dropped before
//! [`Writer::finish`] looks like that of a session that crashed: readable, with
//! zeros there.
//!
//! The caller must give the events of each processor in the order of time. The writer does not sort.
//!
//! Memory: one buffer a processor. Cost: one copy of each event into its buffer,
//! nothing is allocated for an event; compressing costs one allocation a buffer.
//!
//! Layout facts: System Informer's `ntwmi.h`, Geoff Chappell's notes, and the values that 63 public
//! traces have in fields that readers ignore. `scripts/check-writer.sh` checks the result with an
//! unrelated reader.

mod event;
mod pause;
mod session;
#[cfg(test)]
mod tests;

use std::io::{self, Seek, SeekFrom, Write};

use thiserror::Error;

use super::compression::Algorithm;
use super::{BUFFER_HEADER, ClockKind, MAX_BUFFER, SessionHeader, align8, flag, mode};
pub use event::{Descriptor, NewEvent};
pub use pause::{Paused, PausedBuffer};

/// Why something could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system could not write.
    #[error("the trace could not be written: {0}")]
    Io(#[from] io::Error),
    /// The session's description is impossible.
    #[error("no trace can be written like this: {0}")]
    BadSession(&'static str),
    /// The event does not fit into an empty buffer, or into its size field.
    #[error("an event of {size} bytes is too large; at most {limit} fit")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The session has no such processor.
    #[error("the trace has no processor {0}")]
    NoSuchProcessor(u16),
    /// The header kind cannot carry this event.
    #[error("an event header of this kind cannot carry {0}")]
    WrongKind(&'static str),
}

/// A loss before the next event of a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// A number of events.
    Events(u32),
    /// A number of whole buffers.
    Buffers(u32),
}

/// Writes one `.etl` file.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    session: SessionHeader,
    algorithm: Algorithm,
    /// Whether buffers are compressed, in a file where they may be.
    packs: bool,
    /// Where the file begins in `out`.
    start: u64,
    open: Vec<OpenBuffer>,
    /// Buffers written, the header buffer included.
    written: u32,
    /// Buffers that were given a number and then lost.
    dropped: u32,
    last_time: i64,
    limit: usize,
}

/// A processor's buffer that is being filled. `bytes` begins with room for its header.
#[derive(Debug, Default)]
struct OpenBuffer {
    bytes: Vec<u8>,
    last_time: i64,
    loss: u16,
}

impl<W: Write + Seek> Writer<W> {
    /// Begins a file at the current position of `out`. `session.mode` decides about
    /// compression ([`mode::COMPRESSED`]) and the look of a merged file
    /// ([`mode::RELOG`]); `session.pointer_size` about the form of the header event.
    pub fn new(out: W, session: SessionHeader) -> Result<Self, WriteError> {
        Self::with_compression(out, session, Algorithm::Xpress)
    }

    /// Begins a file with this form of compression, if `session.mode` asks for any.
    pub fn with_compression(mut out: W, session: SessionHeader, algorithm: Algorithm) -> Result<Self, WriteError> {
        check(&session)?;
        let start = out.stream_position()?;
        out.write_all(&session::header_buffer(&session, algorithm, 0, 0))?;
        Ok(Self { algorithm, ..Self::on(out, session, start) })
    }

    /// A writer for a file that already has its header buffer.
    fn on(out: W, session: SessionHeader, start: u64) -> Self {
        let open = (0..session.processors).map(|_| OpenBuffer::default()).collect();
        let limit = (session.buffer_size as usize - BUFFER_HEADER).min(usize::from(u16::MAX));
        let (packs, last_time) = (session.is_compressed(), session.start_ticks);
        Self { out, algorithm: Algorithm::Xpress, packs, start, open, written: 1, dropped: 0, last_time, limit, session }
    }

    /// Begins a file whose buffers take as much room as they hold and are not compressed: a flush costs
    /// only the bytes that it writes.
    pub fn storing(out: W, mut session: SessionHeader) -> Result<Self, WriteError> {
        // Only files that may be compressed have buffers of different sizes.
        session.mode |= mode::COMPRESSED;
        Ok(Self { packs: false, ..Self::new(out, session)? })
    }

    /// The session header of the file.
    pub fn session(&self) -> &SessionHeader {
        &self.session
    }

    /// The output that it writes to.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// The output that it writes to, mutable. Writing to it or moving its position damages the file.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Appends one event to its processor's stream.
    pub fn write(&mut self, event: &NewEvent<'_>) -> Result<(), WriteError> {
        let size = event.size();
        let buffer = self.room(event.processor, size)?;
        event.put(size, &mut buffer.bytes)?;
        self.note_time(event.processor, event.time);
        Ok(())
    }

    /// Appends an event of another file to a processor's stream, with every byte of it
    /// ([`Events::bytes_of`](super::Events::bytes_of)).
    pub fn write_bytes(&mut self, processor: u16, time: i64, event: &[u8]) -> Result<(), WriteError> {
        let buffer = self.room(processor, event.len())?;
        buffer.bytes.extend_from_slice(event);
        buffer.bytes.resize(align8(buffer.bytes.len()), 0);
        self.note_time(processor, time);
        Ok(())
    }

    /// A processor's buffer with room for an event.
    fn room(&mut self, processor: u16, size: usize) -> Result<&mut OpenBuffer, WriteError> {
        if size > self.limit {
            return Err(WriteError::TooLarge { size, limit: self.limit });
        }
        let capacity = self.session.buffer_size as usize;
        let index = usize::from(processor);
        let buffer = self.open.get(index).ok_or(WriteError::NoSuchProcessor(processor))?;
        if buffer.bytes.len() + align8(size) > capacity {
            self.write_buffer(index, 0)?;
        }
        let buffer = &mut self.open[index];
        buffer.make_ready(capacity);
        Ok(buffer)
    }

    fn note_time(&mut self, processor: u16, time: i64) {
        self.open[usize::from(processor)].last_time = time;
        self.last_time = self.last_time.max(time);
    }

    /// Notes a loss: in the session's totals and in the flags of the buffer that
    /// the processor writes next.
    pub fn note_loss(&mut self, processor: u16, loss: Loss) -> Result<(), WriteError> {
        let buffer = self.open.get_mut(usize::from(processor)).ok_or(WriteError::NoSuchProcessor(processor))?;
        buffer.loss |= match loss {
            Loss::Events(_) => flag::EVENTS_LOST,
            Loss::Buffers(_) => flag::BUFFER_LOST,
        };
        self.count_loss(loss);
        Ok(())
    }

    /// Adds a loss to the session's totals, where its processor is not known.
    pub fn count_loss(&mut self, loss: Loss) {
        let (total, n) = match loss {
            Loss::Events(n) => (&mut self.session.events_lost, n),
            Loss::Buffers(n) => (&mut self.session.buffers_lost, n),
        };
        *total = total.saturating_add(n);
    }

    /// Drops the events that the processor has written since its last buffer: the buffer gets its
    /// number, but does not reach the file, and the flags of the next one say so. Returns whether there
    /// was anything to drop.
    pub fn drop_buffer(&mut self, processor: u16) -> Result<bool, WriteError> {
        let buffer = self.open.get_mut(usize::from(processor)).ok_or(WriteError::NoSuchProcessor(processor))?;
        if buffer.bytes.len() <= BUFFER_HEADER {
            return Ok(false);
        }
        buffer.bytes.truncate(BUFFER_HEADER);
        self.dropped += 1;
        self.note_loss(processor, Loss::Buffers(1))?;
        Ok(true)
    }

    /// Writes every buffer that holds events, full or not, as a session's flush timer does.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        for processor in 0..self.open.len() {
            self.flush_processor(processor as u16)?;
        }
        self.out.flush()?;
        Ok(())
    }

    /// Writes one processor's buffer if it holds events, full or not. After an error the buffer is
    /// still there, to be written again or dropped.
    pub fn flush_processor(&mut self, processor: u16) -> Result<(), WriteError> {
        let index = usize::from(processor);
        if index >= self.open.len() {
            return Err(WriteError::NoSuchProcessor(processor));
        }
        self.write_buffer(index, flag::FLUSH_MARKER)
    }

    /// Writes what is left and completes the session header. Gives back `out`, at
    /// the end of the file.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.flush()?;
        self.complete_header()?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes the session header again with the losses that are known by now; the session goes on.
    pub fn update_header(&mut self) -> Result<(), WriteError> {
        self.put_header(0, 0)
    }

    /// Writes the session header as that of a session that has ended.
    pub fn complete_header(&mut self) -> Result<(), WriteError> {
        self.put_header(self.written, session::filetime_of(&self.session, self.last_time))
    }

    fn put_header(&mut self, written: u32, end_time: i64) -> Result<(), WriteError> {
        let end = self.out.stream_position()?;
        self.out.seek(SeekFrom::Start(self.start))?;
        let written = self.out.write_all(&session::header_buffer(&self.session, self.algorithm, written, end_time));
        self.out.seek(SeekFrom::Start(end))?;
        Ok(written?)
    }

    /// Writes a processor's open buffer, if it holds anything, and empties it.
    fn write_buffer(&mut self, index: usize, flags: u16) -> Result<(), WriteError> {
        let buffer = &mut self.open[index];
        if buffer.bytes.len() <= BUFFER_HEADER {
            return Ok(());
        }
        let end = buffer.bytes.len();
        let packed = if self.packs { self.algorithm.compress(&buffer.bytes[BUFFER_HEADER..]) } else { Vec::new() };
        let mut flags = flags | flag::PROC_INDEX | buffer.loss;
        // A buffer that does not shrink stays uncompressed; the flags of each buffer say which it is.
        let packed = Some(packed).filter(|p| !p.is_empty() && p.len() < end - BUFFER_HEADER);
        let size = match &packed {
            Some(packed) => {
                flags |= flag::COMPRESSED;
                BUFFER_HEADER + packed.len()
            }
            None if self.session.is_compressed() => end,
            None => self.session.buffer_size as usize,
        };
        let header = session::BufferHeader {
            size: size as u32,
            end: end as u32,
            time: session::buffer_time(&self.session, buffer.last_time),
            sequence: i64::from(self.written) + i64::from(self.dropped),
            processor: index as u16,
            flags,
        };
        header.put(&self.session, self.algorithm, &mut buffer.bytes);
        if let Some(packed) = &packed {
            self.out.write_all(&buffer.bytes[..BUFFER_HEADER])?;
            self.out.write_all(packed)?;
        } else {
            buffer.bytes.resize(size, 0xFF);
            let written = self.out.write_all(&buffer.bytes);
            buffer.bytes.truncate(end);
            written?;
        }
        buffer.bytes.truncate(BUFFER_HEADER);
        buffer.loss = 0;
        self.written += 1;
        Ok(())
    }
}

impl OpenBuffer {
    /// Allocates its memory at the first event.
    fn make_ready(&mut self, capacity: usize) {
        if self.bytes.is_empty() {
            self.bytes.reserve_exact(capacity);
            self.bytes.resize(BUFFER_HEADER, 0);
        }
    }
}

fn check(session: &SessionHeader) -> Result<(), WriteError> {
    let fail = |reason| Err(WriteError::BadSession(reason));
    if !(1..=0x0800).contains(&session.processors) {
        return fail("a trace has 1 to 2048 processors");
    }
    if !matches!(session.pointer_size, 4 | 8) {
        return fail("a pointer has 4 or 8 bytes");
    }
    if !session.buffer_size.is_multiple_of(8) || session.buffer_size as usize > MAX_BUFFER {
        return fail("the size of a buffer is a multiple of 8 and at most 16 MiB");
    }
    let room = (session.buffer_size as usize).saturating_sub(BUFFER_HEADER).min(usize::from(u16::MAX));
    if session::event_len(session) > room {
        return fail("the session header does not fit into a buffer");
    }
    // Only the performance counter's frequency has a field of its own.
    match session.clock {
        ClockKind::Qpc if session.frequency == 0 => fail("the clock stands still"),
        ClockKind::System if session.frequency != 10_000_000 => fail("system time has 10,000,000 ticks a second"),
        ClockKind::Cpu if session.frequency == 0 || !session.frequency.is_multiple_of(1_000_000) => {
            fail("the frequency of a cycle counter is given in MHz")
        }
        _ => Ok(()),
    }
}
