//! A part of a capture as a trace of its own says the same of its interval, whatever the capture is and
//! however it lies in files; and so does a part of that part.

use std::io::Cursor;
use std::sync::Arc;

use crate::oracle::question::{edges, interval, place};
use crate::oracle::scenario::{Act, Op, Scenario, Sent, TRACE_START};
use crate::oracle::strategy;
use highwater::etl::write::Writer;
use highwater::etl::{HeaderKind, ReadBuffer, SessionHeader, Source, TraceFile, mode};
use highwater::events::encode::{RecordWriter, Style};
use highwater::events::{Event, TrackerProviders};
use highwater::export::cut::{Request, cut};
use highwater::load::{Capture, Unwatched, load};
use highwater::model::{Processes, Trace};
use highwater::problem::{ProblemKind, Problems};
use highwater::query::{By, Cancel, Fold, Group, Index, ReportFilter, ReportRequest, report};
use highwater::units::{Interval, Pid};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const PROCESSORS: usize = 4;

/// Operations of a capture. What was committed before it is told at its begin, as the kernel does: rows that were
/// born before the trace and told of in its middle would be there before anything could have told of them.
fn ops() -> impl Strategy<Value = Vec<Op>> {
    strategy::ops(60).prop_map(|mut ops| {
        ops.sort_by_key(|op| !matches!(op.act, Act::PagesRundown { .. }));
        for op in &mut ops {
            match op.act {
                Act::PagesRundown { .. } => op.wait = 0,
                // No thread does two of these in a tick, of 100 ns: whose a stack is could not be told apart where
                // one of them is left out.
                Act::Alloc { .. }
                | Act::Free { .. }
                | Act::Realloc { .. }
                | Act::Move { .. }
                | Act::Homeless { .. }
                | Act::Pages { .. }
                | Act::FreePages { .. } => op.wait = op.wait.max(1),
                _ => {}
            }
        }
        ops
    })
}

/// How a capture comes to lie in files.
#[derive(Clone, Debug)]
struct Layout {
    /// Files; processors are dealt out among them.
    files: usize,
    compressed: bool,
    buffer_size: u32,
    /// Which processor writes what happens at a tick.
    processors: Vec<usize>,
}

fn layout() -> impl Strategy<Value = Layout> {
    let processors = prop::collection::vec(0..PROCESSORS, 16);
    let buffer_size = prop_oneof![1 => Just(1u32 << 10), 1 => Just(8 << 10)];
    (1..4usize, any::<bool>(), buffer_size, processors).prop_map(|(files, compressed, buffer_size, processors)| Layout {
        files,
        compressed,
        buffer_size,
        processors,
    })
}

fn opened(files: Vec<Vec<u8>>) -> Capture {
    let open = |(i, bytes): (usize, Vec<u8>)| TraceFile::from_source(Source::Memory(bytes.leak()), format!("{i}.etl")).unwrap();
    Capture { files: files.into_iter().enumerate().map(open).collect(), problems: Problems::default() }
}

impl Layout {
    /// All that happens at one tick is written by one processor, so its order is known.
    fn capture(&self, scenario: &Scenario) -> Capture {
        let mut tick = 0;
        let mut last = None;
        let mut records: Vec<(usize, &Sent)> = Vec::new();
        for sent in &scenario.stream {
            if last.is_some_and(|time| time != sent.record.time) {
                tick += 1;
            }
            last = Some(sent.record.time);
            records.push((self.processors[tick % self.processors.len()], sent));
        }
        let file = |file: usize| {
            let mode = mode::SEQUENTIAL | if self.compressed { mode::COMPRESSED } else { 0 };
            let session = SessionHeader {
                processors: PROCESSORS as u32,
                mode,
                buffer_size: self.buffer_size,
                start_ticks: TRACE_START,
                ..SessionHeader::default()
            };
            let mut writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), session).unwrap());
            for (processor, sent) in records.iter().filter(|(processor, _)| processor % self.files == file) {
                let is_block = matches!(sent.record.event, Event::Alloc { .. } | Event::Free { .. });
                let is_homeless = is_block && !sent.record.pid.is_known();
                writer.style = Style { header: is_homeless.then_some(HeaderKind::PerfInfo), ..Style::default() };
                writer.put(*processor as u16, &sent.record, &sent.frames).unwrap();
            }
            writer.finish().unwrap().into_inner()
        };
        opened((0..self.files).map(file).collect())
    }
}

fn loaded(capture: &Capture) -> Trace {
    let trace = load(capture, &mut Unwatched).unwrap();
    let no_damage = trace.problems.iter().all(|problem| problem.kind == ProblemKind::NoMemoryEvents);
    assert!(no_damage, "{:?}", trace.problems);
    trace
}

fn part(capture: &Capture, trace: &Trace, interval: Interval, processes: &Processes, anonymises: bool) -> (Vec<u8>, Capture) {
    let trace_start = capture.trace_start();
    let request = Request {
        files: &capture.files,
        trace,
        trace_start,
        interval,
        processes,
        trackers: &TrackerProviders::default(),
        descriptions: &[],
        anonymises,
    };
    let mut out = Cursor::new(Vec::new());
    cut(&request, &mut out, &mut |_, _| true).unwrap();
    let bytes = out.into_inner();
    (bytes.clone(), opened(vec![bytes]))
}

/// All that reports say of an interval.
fn groups(trace: &Trace, interval: Interval, process: Option<u32>) -> Vec<Group> {
    let index = Index::scan(Arc::new(trace.clone()));
    let by = vec![By::Process, By::Heap, By::Stack, By::Thread, By::Type];
    asked(&index, interval, process, by)
}

/// What was freed in an interval, and by whom. (Who frees later what is alive at its end, the part does not know.)
fn freed(trace: &Trace, interval: Interval, process: Option<u32>) -> Vec<String> {
    let index = Index::scan(Arc::new(trace.clone()));
    let mut groups = asked(&index, interval, process, vec![By::Process, By::Heap, By::Stack, By::FreedStack, By::Thread]);
    groups.retain(|group| group.numbers.freed_count > 0);
    let line = |g: &Group| {
        let n = &g.numbers;
        format!("{:?}", (&g.process, g.pid, &g.heap, &g.stack, &g.freed_stack, g.thread, n.freed_count, n.freed_size))
    };
    let mut lines: Vec<String> = groups.iter().map(line).collect();
    lines.sort();
    lines
}

fn asked(index: &Index, interval: Interval, process: Option<u32>, by: Vec<By>) -> Vec<Group> {
    let filter = ReportFilter { process: process.map(|pid| pid.to_string()), ..ReportFilter::default() };
    report(index, &ReportRequest { interval, by, filter, top: None, fold: Fold::Nothing, sources: false }, &Cancel::default())
        .unwrap()
        .groups
}

fn lines(groups: &[Group]) -> Vec<String> {
    groups.iter().map(|group| serde_json::to_string(group).unwrap()).collect()
}

/// The same without names, in an order that does not depend on them.
fn nameless(mut groups: Vec<Group>) -> Vec<String> {
    for group in &mut groups {
        group.process = None;
        if group.layer == "tracker" {
            group.heap = None;
        }
    }
    let mut lines = lines(&groups);
    lines.sort();
    lines
}

/// The bytes of all events of a capture, however they are compressed.
fn events_of(capture: &Capture) -> Vec<u8> {
    let (mut all, mut buffer, mut problems) = (Vec::new(), ReadBuffer::default(), Problems::default());
    for file in &capture.files {
        for info in &file.buffers {
            file.read_buffer(info, &mut buffer, &mut problems);
            let mut events = buffer.events();
            while let Some(event) = events.next() {
                all.extend_from_slice(events.bytes_of(&event));
            }
        }
    }
    all
}

/// What has been written of a name in any case, as bytes or as UTF-16.
fn tells(bytes: &[u8], name: &str) -> bool {
    let lower: Vec<u8> = bytes.iter().map(u8::to_ascii_lowercase).collect();
    let narrow = name.to_lowercase().into_bytes();
    let wide: Vec<u8> = name.to_lowercase().encode_utf16().flat_map(u16::to_le_bytes).collect();
    [narrow, wide].iter().any(|name| lower.windows(name.len()).any(|part| part == name.as_slice()))
}

/// The same captures in each run, other ones with `PROPTEST_RNG_SEED`.
fn config() -> ProptestConfig {
    let usual = strategy::config();
    let rng_seed = if usual.rng_seed == RngSeed::Random { RngSeed::Fixed(20) } else { usual.rng_seed };
    ProptestConfig { cases: usual.cases / 4, rng_seed, ..usual }
}

/// Without frees that tell no process: which block they are of depends on the blocks of all processes.
fn without_homeless(mut ops: Vec<Op>) -> Vec<Op> {
    ops.retain(|op| !matches!(op.act, Act::Homeless { .. }));
    ops
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_part_has_the_numbers_of_the_whole(
        ops in ops(), layout in layout(), [a, b, c, d] in [place(), place(), place(), place()],
        process in prop::option::weighted(0.3, 1..4u32),
    ) {
        let scenario = Scenario::of(&if process.is_some() { without_homeless(ops) } else { ops });
        let capture = layout.capture(&scenario);
        let trace = loaded(&capture);
        let outer = edges(&scenario, a, b);
        let inner = edges(&scenario, c, d);
        let inner = (inner.0.clamp(outer.0, outer.1), inner.1.clamp(outer.0, outer.1));
        let [outer, inner] = [outer, inner].map(interval);
        let processes = process.map_or(Processes::All, |pid| Processes::Only([Pid(pid)].into()));
        let (_, first) = part(&capture, &trace, outer, &processes, false);
        let once = loaded(&first);
        prop_assert_eq!(first.trace_start(), capture.trace_start());
        for interval in [outer, inner] {
            prop_assert_eq!(
                lines(&groups(&once, interval, process)), lines(&groups(&trace, interval, process)), "{:?} of {:?}", interval, outer
            );
            prop_assert_eq!(freed(&once, interval, process), freed(&trace, interval, process), "freed in {:?}", interval);
        }
        let (_, second) = part(&first, &once, inner, &processes, false);
        let twice = loaded(&second);
        prop_assert_eq!(lines(&groups(&twice, inner, process)), lines(&groups(&trace, inner, process)), "{:?} twice", inner);
    }

    #[test]
    fn other_names_change_no_number(ops in ops(), layout in layout(), a in place(), b in place()) {
        let scenario = Scenario::of(&ops);
        let capture = layout.capture(&scenario);
        let trace = loaded(&capture);
        let interval = interval(edges(&scenario, a, b));
        let (bytes, part) = part(&capture, &trace, interval, &Processes::All, true);
        prop_assert_eq!(nameless(groups(&loaded(&part), interval, None)), nameless(groups(&trace, interval, None)));
        let written = events_of(&part);
        prop_assert!(tells(&events_of(&capture), "secret") == trace.processes.iter().any(|process| !process.name.is_empty()));
        for name in ["app0", "app1", "Physics", "Audio", "secret"] {
            prop_assert!(!tells(&bytes, name) && !tells(&written, name), "{}", name);
        }
    }
}
