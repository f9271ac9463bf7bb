//! Losses stand where the writer put them, to the tick.

use std::io::Cursor;

use super::*;
use crate::etl::EventId;
use crate::etl::write::{Descriptor, Loss, NewEvent, Writer};
use crate::etl::{HeaderKind, SessionHeader, Source};
use crate::units::{Pid, PointerSize, Tid};

const BUFFER: usize = 4 << 10;

struct Session {
    writer: Writer<Cursor<Vec<u8>>>,
}

impl Session {
    fn new(mode: u32, buffers_lost: u32) -> Self {
        let session = SessionHeader {
            processors: 2,
            buffer_size: BUFFER as u32,
            mode,
            buffers_lost,
            start_ticks: 100,
            ..SessionHeader::default()
        };
        Self { writer: Writer::new(Cursor::new(Vec::new()), session).unwrap() }
    }

    fn events(&mut self, processor: u16, times: impl IntoIterator<Item = i64>) {
        for time in times {
            let event = NewEvent {
                processor,
                time,
                kind: HeaderKind::System,
                pointer: PointerSize::Eight,
                pid: Pid(1),
                tid: Tid(2),
                id: EventId::Hook(0x0F2E),
                version: 2,
                descriptor: Descriptor::default(),
                extended: &[],
                payload: &[],
            };
            self.writer.write(&event).unwrap();
        }
    }

    fn bytes(self) -> Vec<u8> {
        self.writer.finish().unwrap().into_inner()
    }
}

fn open(bytes: Vec<u8>) -> TraceFile {
    TraceFile::from_source(Source::Memory(bytes.leak()), "test.etl".to_owned()).unwrap()
}

fn found(bytes: Vec<u8>) -> Vec<RawLoss> {
    losses(&open(bytes), || true)
}

fn loss(from: i64, to: Option<i64>, what: LostWhat, count: Option<u64>, processor: Option<u16>) -> RawLoss {
    RawLoss { from, to, what, count, processor }
}

#[test]
fn a_whole_file_has_no_losses() {
    let mut session = Session::new(mode::SEQUENTIAL, 0);
    session.events(0, 110..400);
    session.events(1, 120..300);
    assert_eq!(found(session.bytes()), []);
}

#[test]
fn a_dropped_buffer_lies_between_its_neighbours_of_the_same_stream() {
    for mode in [mode::SEQUENTIAL, mode::SEQUENTIAL | mode::COMPRESSED] {
        let mut session = Session::new(mode, 0);
        session.events(0, [110, 120]);
        session.events(1, [115]);
        session.writer.flush().unwrap();
        session.events(0, [200, 210]);
        assert!(session.writer.drop_buffer(0).unwrap());
        assert!(!session.writer.drop_buffer(0).unwrap(), "nothing is left to lose");
        session.events(1, [205, 290]);
        session.events(0, [300, 310]);
        let file = open(session.bytes());
        assert_eq!(file.header.buffers_lost, 1);
        assert_eq!(losses(&file, || true), [loss(120, Some(300), LostWhat::Buffers, Some(1), Some(0))]);
        assert_eq!(losses(&file, || false), [], "stopped");
    }
}

#[test]
fn lost_events_lie_before_the_buffer_that_says_so() {
    let mut session = Session::new(mode::SEQUENTIAL, 0);
    session.events(1, [130]);
    session.writer.note_loss(1, Loss::Events(7)).unwrap();
    session.writer.flush().unwrap();
    session.events(1, [400, 410]);
    session.writer.note_loss(1, Loss::Events(2)).unwrap();
    session.writer.note_loss(1, Loss::Buffers(1)).unwrap();
    let expected = [
        loss(100, Some(130), LostWhat::Events, None, Some(1)),
        loss(130, Some(400), LostWhat::Events, None, Some(1)),
        loss(130, Some(400), LostWhat::Buffers, None, Some(1)),
    ];
    assert_eq!(found(session.bytes()), expected, "the first one from the session's start on");
}

/// Four buffers behind the header, numbers 1 to 4, of processors 0, 1, 0 and 1.
fn four_buffers(mode: u32, buffers_lost: u32) -> Vec<u8> {
    let mut session = Session::new(mode, buffers_lost);
    for at in [200, 400] {
        session.events(0, [at, at + 10]);
        session.events(1, [at + 20, at + 30]);
        session.writer.flush().unwrap();
    }
    session.bytes()
}

#[test]
fn a_missing_number_that_no_flag_explains_can_be_of_any_stream() {
    let cut = |mode, lost| {
        let mut bytes = four_buffers(mode, lost);
        bytes.drain(3 * BUFFER..4 * BUFFER); // number 3
        found(bytes)
    };
    // Processor 0 ends at 210 and does not go on; processor 1 goes on at 420.
    assert_eq!(cut(mode::SEQUENTIAL, 1), [loss(210, None, LostWhat::Buffers, Some(1), None)]);
    assert_eq!(cut(mode::SEQUENTIAL, 0), [], "the session says that it lost nothing");
    assert_eq!(cut(mode::SEQUENTIAL | mode::RELOG, 1), [], "rewriting leaves numbers out");
    assert_eq!(cut(mode::CIRCULAR, 1), []);

    let mut bytes = four_buffers(mode::SEQUENTIAL, 2);
    bytes.drain(2 * BUFFER..3 * BUFFER); // number 2: both streams go on
    assert_eq!(found(bytes), [loss(100, Some(420), LostWhat::Buffers, Some(1), None)]);
}

#[test]
fn a_damaged_buffer_is_a_loss_whatever_the_session_says() {
    let mut bytes = four_buffers(mode::SEQUENTIAL, 0);
    bytes[2 * BUFFER..2 * BUFFER + 4].fill(0); // the size of number 2
    assert_eq!(found(bytes), [loss(100, Some(420), LostWhat::Buffers, Some(1), None)]);
}

#[test]
fn too_many_losses_are_joined_and_none_is_forgotten() {
    let many: Vec<RawLoss> =
        (0..3 * MAX_LOSSES as i64 - 1).map(|i| loss(i, Some(i + 1), LostWhat::Buffers, Some(2), Some(0))).collect();
    let few = bounded(many.clone());
    assert_eq!(few.len(), MAX_LOSSES);
    assert_eq!((few[0].from, few[MAX_LOSSES - 1].to), (0, many[many.len() - 1].to));
    assert_eq!(few.iter().filter_map(|l| l.count).sum::<u64>(), 2 * many.len() as u64);
    assert!(few.windows(2).all(|pair| pair[0].to == Some(pair[1].from)));
}

#[test]
fn any_numbers_and_flags_are_taken() {
    let mut bytes = four_buffers(mode::SEQUENTIAL, 9);
    for (i, number) in [(1, i64::MAX), (2, i64::MIN), (3, i64::MAX), (4, 0)] {
        bytes[i * BUFFER + 0x18..i * BUFFER + 0x20].copy_from_slice(&number.to_le_bytes());
        bytes[i * BUFFER + 0x34] |= 0x06;
    }
    let all = found(bytes);
    assert!(all.len() >= 8 && all.windows(2).all(|pair| pair[0].from <= pair[1].from), "{all:?}");
}
