//! Round trips through writer and reader: headers, framing, buffers.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::ids::{Pid, PointerSize, Tid};
use crate::problem::Problems;
use crate::{BufferInfo, EventId, ExtendedItem, Guid, HeaderKind, RawEvent, ReadBuffer, Source, TraceFile, mode};

const CLASS: Guid = Guid::new(0x222962AB, 0x6180, 0x4B88, [1, 2, 3, 4, 5, 6, 7, 8]);

fn event(kind: HeaderKind, id: EventId, payload: &[u8]) -> NewEvent<'_> {
    NewEvent {
        processor: 0,
        time: 1000,
        kind,
        pointer: PointerSize::Eight,
        pid: Pid(4660),
        tid: Tid(77),
        id,
        version: 3,
        descriptor: Descriptor::default(),
        extended: &[],
        payload,
    }
}

fn hook_event(payload: &[u8]) -> NewEvent<'_> {
    event(HeaderKind::System, EventId::Hook(0x1021), payload)
}

fn writer(session: SessionHeader) -> Writer<Cursor<Vec<u8>>> {
    Writer::new(Cursor::new(Vec::new()), session).unwrap()
}

fn open(bytes: Vec<u8>) -> TraceFile {
    TraceFile::from_source(Source::Memory(bytes.leak()), "test.etl".to_owned()).unwrap()
}

fn finish(writer: Writer<Cursor<Vec<u8>>>) -> TraceFile {
    open(writer.finish().unwrap().into_inner())
}

/// Time and payload of every event behind the session header, in file order.
fn events_of(file: &TraceFile) -> Vec<(u16, i64, Vec<u8>)> {
    let (mut scratch, mut problems) = (ReadBuffer::default(), Problems::new());
    let mut all = Vec::new();
    for buffer in &file.buffers {
        file.read_buffer(buffer, &mut scratch, &mut problems);
        let events = scratch.events().filter(|e| e.id != EventId::Hook(0));
        all.extend(events.map(|e| (buffer.processor, e.time, e.payload.to_vec())));
    }
    assert_eq!(problems.list(), []);
    assert_eq!(file.problems.list(), []);
    all
}

#[test]
fn the_session_header_comes_back() {
    for (clock, frequency) in [(ClockKind::Qpc, 3_579_545), (ClockKind::System, 10_000_000), (ClockKind::Cpu, 2_500_000_000)] {
        for (pointer_size, mode) in [(4, mode::SEQUENTIAL), (8, mode::SEQUENTIAL | mode::RELOG | mode::COMPRESSED)] {
            let session = SessionHeader {
                buffer_size: 8 << 10,
                os: (6, 1, 7601),
                processors: 3,
                pointer_size,
                mode,
                events_lost: 5,
                buffers_lost: 2,
                clock,
                frequency,
                start_ticks: 123_456_789,
                start_time: 133_000_000_000_000_000,
                boot_time: 132_999_000_000_000_000,
                logger: "Prüfung".to_owned(),
            };
            let file = finish(writer(session.clone()));
            assert_eq!(file.header, session);
            assert_eq!(file.bytes, if session.is_compressed() { 0x200 } else { 8 << 10 });
        }
    }
}

#[test]
fn every_header_kind_comes_back() {
    let hook = EventId::Hook(0x0262);
    let class = EventId::Class { class: CLASS, opcode: 33 };
    let provider = EventId::Provider { provider: CLASS, id: 100 };
    let kinds = [
        (HeaderKind::System, hook),
        (HeaderKind::Compact, hook),
        (HeaderKind::PerfInfo, hook),
        (HeaderKind::Full, class),
        (HeaderKind::Instance, class),
        (HeaderKind::Event, class),
        (HeaderKind::Event, provider),
    ];
    for (kind, id) in kinds {
        for pointer in [PointerSize::Four, PointerSize::Eight] {
            let mut w = writer(SessionHeader::default());
            w.write(&NewEvent { pointer, ..event(kind, id, b"abc") }).unwrap();
            let file = finish(w);
            let mut scratch = ReadBuffer::default();
            file.read_buffer(&file.buffers[1], &mut scratch, &mut Problems::new());
            let raw = scratch.events().next().unwrap();
            let seen = (raw.kind, raw.pointer, raw.id, raw.time, raw.version, raw.payload);
            assert_eq!(seen, (kind, pointer, id, 1000, 3, b"abc".as_slice()));
            let thread = if kind == HeaderKind::PerfInfo { (Pid::NONE, Tid::NONE) } else { (Pid(4660), Tid(77)) };
            assert_eq!((raw.pid, raw.tid), thread);
        }
    }
}

#[test]
fn extended_items_come_back_padded() {
    let items = [ExtendedItem { kind: 6, data: &[1; 16] }, ExtendedItem { kind: 11, data: &[2; 5] }];
    let provider = EventId::Provider { provider: CLASS, id: 1 };
    let mut w = writer(SessionHeader::default());
    w.write(&NewEvent { extended: &items, ..event(HeaderKind::Event, provider, b"payload") }).unwrap();
    let file = finish(w);
    let mut scratch = ReadBuffer::default();
    file.read_buffer(&file.buffers[1], &mut scratch, &mut Problems::new());
    let raw = scratch.events().next().unwrap();
    assert_eq!(raw.payload, b"payload");
    let seen: Vec<_> = raw.extended.map(|item| (item.kind, item.data.to_vec())).collect();
    assert_eq!(seen, [(6, vec![1; 16]), (11, vec![2; 5])]);
}

#[test]
fn buffers_interleave_as_they_fill_and_say_so() {
    let mut w = writer(SessionHeader { processors: 2, buffer_size: 4 << 10, ..SessionHeader::default() });
    let payload = [7; 1000];
    for time in 0..20 {
        let processor = u16::from(time % 3 == 0);
        w.write(&NewEvent { processor, time, ..hook_event(&payload) }).unwrap();
    }
    w.note_loss(1, Loss::Events(9)).unwrap();
    let file = finish(w);
    assert_eq!(file.header.events_lost, 9);
    assert_eq!(file.bytes, file.buffers.len() as u64 * (4 << 10));
    let sequence: Vec<i64> = file.buffers.iter().map(|b| b.sequence).collect();
    assert_eq!(sequence, (0..file.buffers.len() as i64).collect::<Vec<_>>());
    let processors: Vec<u16> = file.buffers[1..].iter().map(|b| b.processor).collect();
    assert!(processors.windows(2).any(|w| w[0] < w[1]) && processors.windows(2).any(|w| w[0] > w[1]), "{processors:?}");
    let flags: Vec<u16> = file.buffers.iter().rev().take(3).map(|b| b.flags).collect();
    assert_eq!(flags, [0x23, 0x21, 0x20]); // flushed after a loss, flushed, full
    for processor in 0..2 {
        let times: Vec<i64> = events_of(&file).iter().filter(|e| e.0 == processor).map(|e| e.1).collect();
        assert!(times.is_sorted() && !times.is_empty());
    }
    assert_eq!(events_of(&file).len(), 20);
}

#[test]
fn what_does_not_shrink_stays_plain_in_a_compressed_file() {
    let mode = mode::SEQUENTIAL | mode::COMPRESSED;
    let mut w = writer(SessionHeader { mode, buffer_size: 4 << 10, ..SessionHeader::default() });
    let mut state = 1u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(3900)
    .collect();
    w.write(&hook_event(&noise)).unwrap();
    w.write(&hook_event(&[9; 3900])).unwrap();
    let file = finish(w);
    let compressed: Vec<bool> = file.buffers.iter().map(BufferInfo::is_compressed).collect();
    assert_eq!(compressed, [false, false, true]);
    let payloads: Vec<Vec<u8>> = events_of(&file).into_iter().map(|e| e.2).collect();
    assert_eq!(payloads, [noise, vec![9; 3900]]);
}

#[test]
fn what_cannot_be_written_is_an_error_and_changes_nothing() {
    let mut w = writer(SessionHeader { buffer_size: 4 << 10, ..SessionHeader::default() });
    let room = (4 << 10) - BUFFER_HEADER - 0x20;
    w.write(&hook_event(&vec![1; room])).unwrap();
    assert!(matches!(w.write(&hook_event(&vec![1; room + 1])), Err(WriteError::TooLarge { limit: 4024, .. })));
    assert!(matches!(w.write(&NewEvent { processor: 1, ..hook_event(b"") }), Err(WriteError::NoSuchProcessor(1))));
    let as_full = NewEvent { kind: HeaderKind::Full, ..hook_event(b"") };
    assert!(matches!(w.write(&as_full), Err(WriteError::WrongKind(_))));
    let item = [ExtendedItem { kind: 6, data: &[] }];
    assert!(matches!(w.write(&NewEvent { extended: &item, ..hook_event(b"") }), Err(WriteError::WrongKind(_))));
    let message = NewEvent { kind: HeaderKind::Message, ..hook_event(b"") };
    assert!(matches!(w.write(&message), Err(WriteError::WrongKind(_))));
    assert_eq!(events_of(&finish(w)).len(), 1);
    let mut large = writer(SessionHeader { buffer_size: 1 << 20, ..SessionHeader::default() });
    assert!(matches!(large.write(&hook_event(&vec![0; 1 << 16])), Err(WriteError::TooLarge { limit: 65_535, .. })));
}

#[test]
fn impossible_sessions_are_refused() {
    let fine = SessionHeader::default();
    let bad = [
        SessionHeader { processors: 0, ..fine.clone() },
        SessionHeader { processors: 2049, ..fine.clone() },
        SessionHeader { pointer_size: 2, ..fine.clone() },
        SessionHeader { buffer_size: 0, ..fine.clone() },
        SessionHeader { buffer_size: 256, ..fine.clone() },
        SessionHeader { buffer_size: 4097, ..fine.clone() },
        SessionHeader { frequency: 0, ..fine.clone() },
        SessionHeader { clock: ClockKind::System, frequency: 1, ..fine.clone() },
        SessionHeader { logger: "x".repeat(40_000), buffer_size: 1 << 20, ..fine },
    ];
    for session in bad {
        assert!(matches!(Writer::new(Cursor::new(Vec::new()), session), Err(WriteError::BadSession(_))));
    }
}

#[test]
fn a_writer_that_was_not_finished_leaves_a_readable_file() {
    let mut w = writer(SessionHeader { buffer_size: 4 << 10, ..SessionHeader::default() });
    for time in 0..10 {
        w.write(&NewEvent { time, ..hook_event(&[0; 900]) }).unwrap();
    }
    let file = open(w.out.into_inner());
    assert_eq!(events_of(&file).len(), 8);
}

#[test]
fn a_paused_file_goes_on_as_if_nothing_had_been() {
    let session = SessionHeader { processors: 3, buffer_size: 4 << 10, ..SessionHeader::default() };
    let events = |w: &mut Writer<Cursor<Vec<u8>>>, times: std::ops::Range<i64>| {
        for time in times {
            w.write(&NewEvent { processor: (time % 2) as u16, time, ..hook_event(&[time as u8; 700]) }).unwrap();
        }
    };
    let mut whole = writer(session.clone());
    events(&mut whole, 0..40);
    let whole = whole.finish().unwrap().into_inner();
    for at in 0..40 {
        let mut first = writer(session.clone());
        events(&mut first, 0..at);
        let paused = first.pause().unwrap();
        events(&mut first, at..40); // all of that is lost
        let mut second = Writer::resume(first.out, session.clone(), paused.clone()).unwrap();
        assert_eq!(second.pause().unwrap(), paused);
        events(&mut second, at..40);
        assert_eq!(second.finish().unwrap().into_inner(), whole, "paused at {at}");
    }
    let too_much = |processor, bytes| {
        let open = vec![PausedBuffer { processor, last_time: 0, events: vec![0; bytes] }];
        Writer::resume(Cursor::new(Vec::new()), session.clone(), Paused { open, ..Paused::default() }).unwrap_err()
    };
    assert!(matches!(too_much(3, 8), WriteError::NoSuchProcessor(3)));
    assert!(matches!(too_much(2, 4 << 10), WriteError::BadSession(_)));
    assert!(matches!(too_much(2, 7), WriteError::BadSession(_)));
}

proptest! {
    #[test]
    fn any_events_come_back(
        sizes in proptest::collection::vec((0u16..4, 0usize..3000, any::<u8>()), 0..60),
        compressed in any::<bool>(),
    ) {
        let mode = mode::SEQUENTIAL | if compressed { mode::COMPRESSED } else { 0 };
        let mut w = writer(SessionHeader { mode, processors: 4, buffer_size: 4 << 10, ..SessionHeader::default() });
        let mut expected = Vec::new();
        for (time, (processor, size, fill)) in sizes.into_iter().enumerate() {
            let (time, payload) = (time as i64, vec![fill; size]);
            w.write(&NewEvent { processor, time, ..hook_event(&payload) }).unwrap();
            expected.push((processor, time, payload));
        }
        let mut seen = events_of(&finish(w));
        seen.sort_by_key(|e| e.1);
        prop_assert_eq!(seen, expected);
    }
}

#[test]
fn stored_buffers_take_what_they_hold_and_come_back() {
    let session = SessionHeader { processors: 2, buffer_size: 64 << 10, ..SessionHeader::default() };
    let mut w = Writer::storing(Cursor::new(Vec::new()), session).unwrap();
    for n in 0..3u8 {
        w.write(&hook_event(&[n; 12])).unwrap();
        w.write(&NewEvent { processor: 1, ..hook_event(&[n; 4]) }).unwrap();
        w.flush().unwrap();
    }
    assert!(w.get_ref().get_ref().len() < 2 << 10, "a flush pads nothing");
    let file = finish(w);
    let events: Vec<_> = events_of(&file).into_iter().map(|(processor, _, payload)| (processor, payload.len())).collect();
    assert_eq!(events, [(0, 12), (1, 4), (0, 12), (1, 4), (0, 12), (1, 4)]);
    assert!(file.buffers.iter().all(|buffer| !buffer.is_compressed()));
}

#[test]
fn events_are_copied_with_every_byte() {
    let items = [ExtendedItem { kind: 11, data: &[1, 2, 3] }];
    let provider = EventId::Provider { provider: CLASS, id: 9 };
    let descriptor = Descriptor { channel: 1, level: 2, opcode: 3, task: 4, keyword: 5 };
    let first = NewEvent { extended: &items, descriptor, ..event(HeaderKind::Event, provider, &[7; 5]) };
    let mut w = writer(SessionHeader::default());
    w.write(&first).unwrap();
    w.write(&hook_event(&[1; 3])).unwrap();
    let file = finish(w);
    let bytes_of = |file: &TraceFile| {
        let (mut scratch, mut problems) = (ReadBuffer::default(), Problems::new());
        file.read_buffer(&file.buffers[1], &mut scratch, &mut problems);
        let mut events = scratch.events();
        let mut all = Vec::new();
        while let Some(event) = events.next() {
            let bytes = events.bytes_of(&event);
            let alone = RawEvent::parse(bytes).unwrap();
            assert_eq!((alone.id, alone.time, alone.payload), (event.id, event.time, event.payload));
            all.push(bytes.to_vec());
        }
        all
    };
    let all = bytes_of(&file);
    assert_eq!(all[0].len(), first.size());
    let mut copy = writer(SessionHeader::default());
    for bytes in &all {
        copy.write_bytes(0, 1000, bytes).unwrap();
    }
    assert!(matches!(copy.write_bytes(0, 1000, &vec![0; 1 << 16]), Err(WriteError::TooLarge { .. })));
    assert_eq!(bytes_of(&finish(copy)), all);
}
