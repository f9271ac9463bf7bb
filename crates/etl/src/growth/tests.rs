use std::io::{Cursor, Write};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::ids::{Pid, PointerSize, Tid};
use crate::write::{NewEvent, Writer};
use crate::{BufferInfo, EventId, HeaderKind, mode};

const BUFFER: usize = 1 << 10;

fn session(mode: u32) -> SessionHeader {
    let (buffer_size, processors) = (BUFFER as u32, 2);
    SessionHeader {
        buffer_size,
        processors,
        mode: mode::SEQUENTIAL | mode,
        start_ticks: 7,
        start_time: 1 << 56,
        ..SessionHeader::default()
    }
}

/// A file of some buffers; `ends` says whether its session ended.
fn trace(session: SessionHeader, events: i64, ends: bool) -> Vec<u8> {
    let mut writer = Writer::new(Cursor::new(Vec::new()), session).unwrap();
    for time in 0..events {
        let event = NewEvent {
            processor: (time % 2) as u16,
            time: 10 + time,
            kind: HeaderKind::System,
            pointer: PointerSize::Eight,
            pid: Pid(1),
            tid: Tid(2),
            id: EventId::Hook(0x1021),
            version: 2,
            descriptor: Default::default(),
            extended: &[],
            payload: &[time as u8; 60],
        };
        writer.write(&event).unwrap();
        if time % 31 == 30 {
            writer.flush().unwrap();
        }
    }
    let mut bytes = writer.finish().unwrap().into_inner();
    if !ends {
        bytes[0x48 + 0x20 + 0x10..][..8].fill(0);
        bytes[0x48 + 0x20 + 0x24..][..4].fill(0);
    }
    bytes
}

/// A file that grows as the test wants it.
struct Growing {
    /// Written by one handle and read by another, as by two programs.
    file: tempfile::NamedTempFile,
    name: String,
    followed: Option<(TraceFile, Growth)>,
    parts: Vec<BufferInfo>,
}

impl Growing {
    fn new() -> Self {
        Self { file: tempfile::NamedTempFile::new().unwrap(), name: "a.etl".to_owned(), followed: None, parts: Vec::new() }
    }

    fn append(&mut self, bytes: &[u8]) {
        self.file.as_file().write_all(bytes).unwrap();
    }

    fn look(&mut self) -> Result<usize, Lost> {
        if self.followed.is_none() {
            let source = Source::File(Arc::new(self.file.reopen().unwrap()));
            self.followed = Growth::begin(source, self.name.clone()).unwrap();
        }
        let Some((file, growth)) = &mut self.followed else { return Ok(0) };
        let part = growth.go_on(file)?;
        let came = part.map_or(Vec::new(), |part| part.buffers);
        self.parts.extend_from_slice(&came);
        assert_eq!(self.parts, file.buffers);
        assert!(file.problems.list().is_empty());
        Ok(came.len())
    }

    fn whole(&self) -> TraceFile {
        let (file, growth) = self.followed.as_ref().unwrap();
        growth.whole(file).unwrap()
    }

    fn is_closed(&self) -> bool {
        self.followed.as_ref().is_some_and(|(_, growth)| growth.is_closed())
    }
}

proptest! {
    #[test]
    fn whatever_pieces_a_file_comes_in_its_buffers_are_those_of_the_whole(
        cuts in prop::collection::vec(0usize..6000, 0..30),
        packed in any::<bool>(),
        events in 0i64..120,
    ) {
        let bytes = trace(session(if packed { mode::COMPRESSED } else { 0 }), events, true);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (bytes.len() + 1)).chain([0, bytes.len()]).collect();
        cuts.sort_unstable();
        let mut growing = Growing::new();
        for piece in cuts.windows(2) {
            growing.append(&bytes[piece[0]..piece[1]]);
            growing.look().unwrap();
        }
        prop_assert_eq!(&growing.parts, &growing.whole().buffers);
        prop_assert_eq!(&growing.whole().buffers, &TraceFile::from_source(Source::Memory(bytes.leak()), "b".into()).unwrap().buffers);
        prop_assert!(growing.is_closed());
    }
}

#[test]
fn a_buffer_comes_when_it_is_whole_and_not_before() {
    let bytes = trace(session(0), 60, false);
    let mut growing = Growing::new();
    for piece in bytes.chunks(BUFFER / 2) {
        growing.append(piece);
        growing.look().unwrap();
        let there = growing.file.as_file().metadata().unwrap().len() as usize / BUFFER;
        // The size of the very first buffer is certain only when it is whole.
        assert_eq!(growing.parts.len(), there);
        assert!(!growing.is_closed(), "the session goes on");
    }
}

#[test]
fn zeros_are_not_written_yet_and_told_when_the_file_is_opened() {
    let bytes = trace(session(mode::PREALLOCATE), 60, false);
    let mut growing = Growing::new();
    growing.append(&bytes[..3 * BUFFER]);
    growing.append(&[0; 2 * BUFFER]);
    assert_eq!((growing.look(), growing.look()), (Ok(3), Ok(0)));
    let whole = growing.whole();
    assert_eq!(whole.buffers, growing.parts);
    assert_eq!(whole.problems.list()[0].kind, crate::problem::FileProblem::UnwrittenTail);
}

#[test]
fn half_a_buffer_at_the_end_is_what_opening_adds() {
    let bytes = trace(session(0), 60, false);
    let mut growing = Growing::new();
    growing.append(&bytes[..4 * BUFFER - 100]);
    assert_eq!(growing.look(), Ok(3));
    let whole = growing.whole();
    assert_eq!((whole.buffers.len(), &whole.buffers[..3]), (4, &growing.parts[..]));
}

#[test]
fn a_place_that_is_damaged_is_passed_over_when_the_next_buffer_is_there() {
    let mut bytes = trace(session(0), 100, false);
    bytes[4 * BUFFER..5 * BUFFER].fill(7);
    let mut growing = Growing::new();
    growing.append(&bytes[..5 * BUFFER]);
    assert_eq!(growing.look(), Ok(4));
    growing.append(&bytes[5 * BUFFER..]);
    growing.look().unwrap();
    assert_eq!(growing.parts, growing.whole().buffers);
    assert_eq!(growing.whole().problems.total(), 1);
}

#[test]
fn sessions_that_are_appended_go_on_as_in_the_whole_file() {
    let first = trace(session(mode::APPEND), 60, true);
    let second = trace(SessionHeader { start_ticks: 900, ..session(mode::APPEND) }, 60, true);
    let mut growing = Growing::new();
    for piece in [first, second].concat().chunks(700) {
        growing.append(piece);
        growing.look().unwrap();
    }
    assert_eq!(growing.parts, growing.whole().buffers);
}

#[test]
fn a_header_that_is_completed_in_the_middle_ends_nothing() {
    let bytes = trace(session(0), 60, true);
    let written = bytes.len() / BUFFER;
    let mut growing = Growing::new();
    growing.append(&bytes);
    growing.look().unwrap();
    assert!(growing.is_closed());
    growing.append(&trace(session(0), 60, true)[BUFFER..]);
    growing.look().unwrap();
    assert!(growing.parts.len() > written && !growing.is_closed());
}

#[test]
fn a_copy_that_is_not_whole_yet_is_not_closed() {
    let bytes = trace(session(0), 60, true);
    let mut growing = Growing::new();
    for piece in bytes.chunks(BUFFER) {
        assert!(!growing.is_closed());
        growing.append(piece);
        growing.look().unwrap();
    }
    assert!(growing.is_closed());
}

#[test]
fn files_that_are_lost_say_how() {
    let bytes = trace(session(0), 60, false);
    let mut growing = Growing::new();
    growing.append(&bytes);
    growing.look().unwrap();
    growing.file.as_file().set_len(BUFFER as u64).unwrap();
    assert_eq!(growing.look(), Err(Lost::Shrunk));

    let mut growing = Growing::new();
    growing.append(&bytes);
    growing.look().unwrap();
    let mut other = std::io::BufWriter::new(growing.file.reopen().unwrap());
    std::io::Seek::rewind(&mut other).unwrap();
    other.write_all(&trace(SessionHeader { start_ticks: 8, ..session(0) }, 90, false)).unwrap();
    drop(other);
    assert_eq!(growing.look(), Err(Lost::Replaced));
}

#[test]
fn what_is_no_trace_is_refused_and_what_is_not_there_yet_is_awaited() {
    let begin = |bytes: &[u8]| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Growth::begin(Source::File(Arc::new(file)), "a.etl".to_owned()).map(|found| found.is_some())
    };
    let bytes = trace(session(0), 60, false);
    for n in [0, 1, 0x48, 0x50, 0x100] {
        assert!(matches!(begin(&bytes[..n]), Ok(false)), "{n}");
    }
    assert!(matches!(begin(&[0; 4000]), Ok(false)), "reserved");
    assert!(matches!(begin(&bytes), Ok(true)));
    assert!(matches!(begin(&[9; 4000]), Err(OpenError::NotATrace(..))));
    let mut damaged = bytes;
    damaged[0x48 + 4..0x48 + 6].fill(0);
    assert!(matches!(begin(&damaged), Err(OpenError::Refused(_))));
}
