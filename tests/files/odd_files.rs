//! Files that are not as a session leaves them that was closed well: circular,
//! appended to, never closed, with zeros, with claims that are wrong. What is in
//! them counts as if they were in order, and what is odd is told once.

use std::io::Cursor;

use crate::common::trace::{BUFFER, session, small, story, trace};
use highwater::etl::write::Writer;
use highwater::etl::{SessionHeader, Source, TraceFile, mode};
use highwater::events::encode::RecordWriter;
use highwater::events::{Event, Record, survey};
use highwater::load::{Capture, Unwatched, load};
use highwater::model::Trace;
use highwater::problem::{Problem, ProblemKind, Problems};
use highwater::query::{By, Cancel, Fold, Index, ReportFilter, ReportRequest, report};

fn file(bytes: Vec<u8>) -> TraceFile {
    TraceFile::from_source(Source::Memory(bytes.leak()), "odd.etl".to_owned()).unwrap()
}

fn read(bytes: Vec<u8>) -> Trace {
    let mut file = file(bytes);
    let mut problems = Problems::default();
    problems.append(std::mem::take(&mut file.problems));
    let survey = survey(&file);
    let trace = load(&Capture { files: vec![file], problems }, &mut Unwatched).unwrap();
    assert_eq!(trace.counts, survey.counts);
    trace
}

/// All numbers of all groups.
fn numbers(trace: &Trace) -> serde_json::Value {
    let by = vec![By::Process, By::Heap, By::Stack, By::Thread];
    let request = ReportRequest {
        interval: trace.span,
        by,
        filter: ReportFilter::default(),
        top: None,
        fold: Fold::Nothing,
        sources: false,
    };
    let index = Index::scan(std::sync::Arc::new(trace.clone()));
    serde_json::to_value(report(&index, &request, &Cancel::default()).unwrap().groups).unwrap()
}

fn told(trace: &Trace) -> Vec<(ProblemKind, u64)> {
    trace.problems.iter().map(|problem: &Problem| (problem.kind, problem.offset)).collect()
}

fn with_mode(mode: u32) -> SessionHeader {
    SessionHeader { mode, ..session(false) }
}

/// The story again and again: so many buffers that sorting a few of them, as the
/// merge does anyway, does not hide a wrong order.
fn long_story() -> Vec<(Record, Vec<u64>)> {
    let again = |times: i64| {
        let later = 2_000 * times;
        story().into_iter().map(move |(mut record, frames)| {
            record.time += later;
            if let Event::Stack { owner, .. } | Event::StackRef { owner, .. } = &mut record.event {
                *owner += later;
            }
            (record, frames)
        })
    };
    (0..12).flat_map(again).collect()
}

/// A ring of `room` buffers behind the first: each takes the place of the oldest.
fn ring(linear: &[u8], room: usize) -> Vec<u8> {
    let buffers: Vec<&[u8]> = linear.chunks(BUFFER).collect();
    let mut ring: Vec<&[u8]> = Vec::new();
    for (i, &buffer) in buffers[1..].iter().enumerate() {
        match ring.get_mut(i % room) {
            Some(oldest) => *oldest = buffer,
            None => ring.push(buffer),
        }
    }
    [buffers[0], &ring.concat()].concat()
}

/// The first buffer and the last `n`.
fn newest(linear: &[u8], n: usize) -> Vec<u8> {
    [&linear[..BUFFER], &linear[linear.len() - n * BUFFER..]].concat()
}

#[test]
fn a_ring_that_wrapped_around_is_read_in_the_order_of_time() {
    let linear = trace(with_mode(mode::CIRCULAR), &long_story());
    let buffers = linear.len() / BUFFER - 1;
    assert!(buffers >= 40);
    for room in [1, 2, 7, buffers / 2, buffers - 3, buffers - 1] {
        let trace = read(ring(&linear, room));
        assert_eq!(told(&trace), [(ProblemKind::Overwritten, 0)], "{room}");
        let lost = format!("its oldest {} buffers were overwritten", buffers - room);
        assert!(trace.problems[0].detail.contains(&lost), "{}", trace.problems[0].detail);
        // The same buffers in order, in a file that does not say that it is a ring.
        let mut in_order = newest(&linear, room);
        in_order[0x68 + 0x20] = 1;
        in_order[0x68 + 0x24..0x68 + 0x28].copy_from_slice(&(room as u32 + 1).to_le_bytes()); // and all that were written
        let expected = read(in_order);
        assert_eq!(told(&expected), []);
        assert_eq!(numbers(&trace), numbers(&expected), "{room}");
    }
}

#[test]
fn a_ring_that_never_was_full_has_nothing_to_tell() {
    let linear = trace(with_mode(mode::CIRCULAR), &story());
    let whole = read(linear.clone());
    assert_eq!(told(&whole), []);
    assert_eq!(numbers(&read(ring(&linear, 100))), numbers(&whole));
}

/// Two sessions, the second behind the first, that tell the story together.
fn two_sessions(first: SessionHeader, second_boots_later_by: i64) -> (Vec<u8>, usize) {
    let records = long_story();
    let split = records.len() / 2;
    let start = records[split].0.time;
    let second = SessionHeader {
        start_ticks: start,
        start_time: first.start_time + (start - first.start_ticks) + second_boots_later_by,
        events_lost: 4,
        buffers_lost: 1,
        ..first.clone()
    };
    let first = SessionHeader { events_lost: 3, ..first };
    let mut writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), first).unwrap());
    for (record, frames) in &records[..split] {
        writer.put((record.tid.0 % 2) as u16, record, frames).unwrap();
    }
    let out = writer.finish().unwrap();
    let at = out.get_ref().len();
    let mut writer = RecordWriter::new(Writer::new(out, second).unwrap());
    for (record, frames) in &records[split..] {
        writer.put((record.tid.0 % 2) as u16, record, frames).unwrap();
    }
    (writer.finish().unwrap().into_inner(), at)
}

#[test]
fn sessions_that_were_appended_are_read_one_after_the_other() {
    for compressed in [false, true] {
        let mut first = session(compressed);
        first.mode |= mode::APPEND;
        let whole = read(trace(first.clone(), &long_story()));
        let (bytes, at) = two_sessions(first, 0);
        let numbers_of = |bytes: &[u8]| file(bytes.to_vec()).buffers.iter().map(|buffer| buffer.sequence).collect::<Vec<_>>();
        let counted = numbers_of(&bytes);
        assert_eq!(counted, (0..counted.len() as i64).collect::<Vec<_>>(), "the second session counts on");
        let both = read(bytes.clone());
        assert_eq!(told(&both), []);
        assert_eq!(both.counts.total, whole.counts.total + 1, "the second session has a header event of its own");
        assert_eq!((both.quality.events_lost, both.quality.buffers_lost), (7, 1));
        assert_eq!(numbers(&both), numbers(&whole));
        // Without its header buffer it is known by counting its buffers anew.
        let head = if compressed { 0x200 } else { BUFFER };
        let headless = [&bytes[..at], &bytes[at + head..]].concat();
        assert_eq!(numbers_of(&headless), counted[..counted.len() - 1]);
        let both = read(headless);
        assert_eq!(told(&both), []);
        assert_eq!(numbers(&both), numbers(&whole));
    }
}

#[test]
fn a_session_of_another_boot_that_was_appended_is_left_out() {
    let (bytes, at) = two_sessions(session(false), 3600 * 10_000_000);
    let first = read(bytes[..at].to_vec());
    let both = read(bytes.clone());
    assert_eq!(told(&both), [(ProblemKind::ClockMismatch, at as u64)]);
    let left_out = format!("its {} buffers were left out", (bytes.len() - at) / BUFFER);
    assert!(both.problems[0].detail.contains("another boot") && both.problems[0].detail.contains(&left_out));
    assert_eq!(numbers(&both), numbers(&first));
}

/// The file of a session that nobody stopped: no end time, no counts.
fn never_closed(session: SessionHeader) -> Vec<u8> {
    let mut bytes = trace(session, &story());
    let payload = 0x68;
    bytes[payload + 0x10..payload + 0x18].fill(0); // end time
    bytes[payload + 0x24..payload + 0x28].fill(0); // buffers written
    bytes
}

#[test]
fn a_session_that_was_never_closed_counts_like_any_other() {
    let open = read(never_closed(session(false)));
    assert_eq!(told(&open), []);
    assert_eq!(numbers(&open), numbers(&read(small(false))));
}

#[test]
fn zeros_behind_the_last_buffer_are_one_note() {
    for compressed in [false, true] {
        let mut header = session(compressed);
        header.mode |= mode::PREALLOCATE;
        let written = never_closed(header);
        let whole = read(written.clone());
        for zeros in [1, 71, 72, BUFFER, 10 * BUFFER, 3_000_000] {
            let mut bytes = written.clone();
            bytes.resize(written.len() + zeros, 0);
            let trace = read(bytes);
            assert_eq!(told(&trace), [(ProblemKind::UnwrittenTail, written.len() as u64)], "{zeros}");
            assert!(trace.problems[0].detail.contains(&format!("the last {zeros} bytes are zeros")));
            assert_eq!(numbers(&trace), numbers(&whole));
        }
        // Something behind the zeros makes them damage.
        let mut bytes = written.clone();
        bytes.resize(written.len() + 3 * BUFFER + 100, 0);
        *bytes.last_mut().unwrap() = 7;
        assert_eq!(told(&read(bytes)), [(ProblemKind::BrokenChain, written.len() as u64)]);
    }
}

#[test]
fn a_hole_is_one_problem_and_what_follows_is_read() {
    let whole = small(false);
    let mut bytes = whole.clone();
    bytes[2 * BUFFER..4 * BUFFER].fill(0);
    let trace = read(bytes);
    assert_eq!(told(&trace), [(ProblemKind::BrokenChain, 2 * BUFFER as u64)]);
    assert!(trace.problems[0].detail.contains(&format!("for {} bytes", 2 * BUFFER)), "{}", trace.problems[0].detail);
    let without = [&whole[..2 * BUFFER], &whole[4 * BUFFER..]].concat();
    assert_eq!(numbers(&trace), numbers(&read(without)));
}

#[test]
fn a_buffer_that_lies_about_its_size_costs_no_other() {
    let whole = small(false);
    let expected = read(whole.clone());
    let last = whole.len() / BUFFER - 1;
    for (buffer, size) in [(1, 3 * BUFFER), (2, BUFFER / 2), (2, 72), (1, 1 << 24), (last, 100_000), (last, 3000)] {
        let mut bytes = whole.clone();
        bytes[buffer * BUFFER..buffer * BUFFER + 4].copy_from_slice(&(size as u32).to_le_bytes());
        let trace = read(bytes);
        assert_eq!(told(&trace), [(ProblemKind::BrokenChain, (buffer * BUFFER) as u64)], "{buffer} {size}");
        assert_eq!(numbers(&trace), numbers(&expected), "{buffer} {size}");
    }
}

#[test]
fn what_the_session_header_claims_wrongly_changes_no_number() {
    const PAYLOAD: usize = 0x68;
    for compressed in [false, true] {
        let whole = small(compressed);
        let expected = read(whole.clone());
        let claims: [(usize, &[u8]); 9] = [
            (0x00, &100u32.to_le_bytes()),    // size of a buffer
            (0x00, &0u32.to_le_bytes()),      // the same
            (0x00, &u32::MAX.to_le_bytes()),  // the same
            (0x0C, &0u32.to_le_bytes()),      // processors
            (0x0C, &50_000u32.to_le_bytes()), // the same
            (0x10, &1i64.to_le_bytes()),      // end time
            (0x24, &1u32.to_le_bytes()),      // buffers written
            (0x2C, &77u32.to_le_bytes()),     // pointer size
            (0x108, &0i64.to_le_bytes()),     // start time
        ];
        for (at, claim) in claims {
            let mut bytes = whole.clone();
            bytes[PAYLOAD + at..PAYLOAD + at + claim.len()].copy_from_slice(claim);
            let header = file(bytes.clone()).header;
            assert_eq!((header.processors, header.pointer_size), (2, 8), "{at:#x}");
            let trace = read(bytes);
            assert_eq!(told(&trace), [], "{at:#x}");
            assert_eq!(numbers(&trace), numbers(&expected), "{at:#x}");
        }
    }
}

#[test]
fn buffers_that_do_not_expand_are_one_problem_for_each_run() {
    let bytes = small(true);
    let sound = file(bytes.clone());
    let buffers: Vec<_> = sound.buffers.iter().filter(|buffer| buffer.is_compressed()).collect();
    assert!(buffers.len() >= 4);
    let mut hurt = bytes;
    for buffer in [buffers[0], buffers[1], buffers[3]] {
        // A match at the start of the data has nothing to copy.
        let at = buffer.offset as usize + 72;
        hurt[at..at + 6].fill(0xFF);
    }
    let file = file(hurt);
    let totals = survey(&file);
    let told: Vec<_> = totals.problems.list().iter().map(|problem| (problem.kind, problem.offset)).collect();
    let expected = [buffers[0], buffers[3]].map(|buffer| (ProblemKind::DamagedCompression, buffer.offset));
    assert_eq!(told, expected);
    assert!(totals.problems.list()[0].detail.ends_with("so is the next one"));
    let capture = Capture { files: vec![file], problems: Problems::default() };
    let trace = load(&capture, &mut Unwatched).unwrap();
    assert_eq!(trace.quality.problems, totals.problems.total());
}
