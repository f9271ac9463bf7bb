//! Blocks of mimalloc, PIX and providers that a file maps, against a naive reading of the same operations; and the same
//! blocks in a part of the trace that is cut out.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

use highwater::etl::write::{Descriptor, NewEvent, Writer};
use highwater::etl::{EventId, ExtendedItem, Guid, HeaderKind, SessionHeader, extended_type, mode};
use highwater::events::TrackerProviders;
use highwater::export::cut::{Request, cut};
use highwater::load::{Capture, Input, Plan, Unwatched, load_planned};
use highwater::model::{Processes, Trace};
use highwater::problem::ProblemKind;
use highwater::query::{By, Cancel, Fold, Group, Index, ReportFilter, ReportRequest, UnmatchedRequest, report, unmatched};
use highwater::symbols::Names;
use highwater::units::{Interval, Pid, PointerSize, Ticks, Tid};
use proptest::prelude::*;
use proptest::sample::select;

const START: i64 = 1_000;
const PIDS: [u32; 2] = [40, 80];

/// mimalloc's and PIX's own.
const MIMALLOC: &str = "138f4dbb-ee04-4899-aa0a-572ad4475779";
const PIX: &str = "8819CA17-7FAA-4184-AFB7-A4120CA793CD";
/// A provider whose frees do not name the pool, and one whose events describe themselves.
const POOLS: &str = "a1a2a3a4-b1b2-c1c2-d1d2-e1e2e3e4e5e6";
const TOLD: &str = "Game.Arenas";
const FILE: &str = r#"
[[tracker]]
provider = "{a1a2a3a4-b1b2-c1c2-d1d2-e1e2e3e4e5e6}"
name = "Pool {pool} ({kind})"
[[tracker.event]]
id = 1
version = 3
does = "allocate"
fields = "_:bytes(3) kind:utf16z address:ptr pool:u8 size:u32 _:guid"
[[tracker.event]]
id = 2
does = "free"
fields = "address:u64"
[[tracker.event]]
id = 3
does = "reallocate"
fields = "old:u64 address:u64 size:u64"

[[tracker]]
provider = "Game.Arenas"
name = "Arena {arena}"
[[tracker.event]]
name = "Took"
does = "allocate"
fields = "size arena address"
[[tracker.event]]
name = "Gave"
does = "free"
fields = "arena address"
"#;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Mimalloc,
    Pix(u16),
    Pool(u8),
    Arena(&'static str),
}

impl Kind {
    fn name(self) -> String {
        match self {
            Self::Mimalloc => "mimalloc".to_owned(),
            Self::Pix(id) => format!("PIX allocator {id}"),
            Self::Pool(pool) => format!("Pool {pool} (small)"),
            Self::Arena(arena) => format!("Arena {arena}"),
        }
    }

    /// Whether frees do not say which tracker they mean.
    fn is_shared(self) -> bool {
        matches!(self, Self::Pool(_))
    }
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Allocate(u64),
    Free,
    Reallocate(u64, u64),
    /// An event that is cut off.
    Short,
}

#[derive(Clone, Copy, Debug)]
struct Op {
    wait: i64,
    pid: u32,
    kind: Kind,
    address: u64,
    act: Act,
}

fn op() -> impl Strategy<Value = Op> {
    let kind = prop_oneof![
        3 => Just(Kind::Mimalloc),
        3 => select(vec![Kind::Pix(1), Kind::Pix(2)]),
        4 => select(vec![Kind::Pool(1), Kind::Pool(2), Kind::Pool(3)]),
        2 => select(vec![Kind::Arena("a"), Kind::Arena("b")]),
    ];
    let address = || (0..8u64).prop_map(|n| n * 0x100);
    let act = prop_oneof![
        5 => select(vec![8u64, 100, 5 << 30]).prop_map(Act::Allocate),
        4 => Just(Act::Free),
        2 => (address(), select(vec![16u64, 64])).prop_map(|(new, size)| Act::Reallocate(new, size)),
        1 => Just(Act::Short),
    ];
    (1..4i64, select(PIDS.to_vec()), kind, address(), act).prop_map(|(wait, pid, kind, address, act)| Op {
        wait,
        pid,
        kind,
        address,
        act,
    })
}

/// A row as the naive reading has it: process, tracker, address, size, birth and death.
type Row = (u32, String, u64, u64, i64, Option<i64>);

#[derive(Debug, Default)]
struct Naive {
    rows: Vec<Row>,
    /// Frees of what was not alive, by process and tracker; `None` where the event does not tell which.
    unmatched: BTreeMap<(u32, Option<String>), u64>,
    bad: u64,
    events: u64,
}

impl Naive {
    fn of(ops: &[Op]) -> Self {
        let mut naive = Self::default();
        let mut now = 0;
        // Of blocks at one address of pools that share their frees, the last one counts.
        let mut shared: BTreeMap<(u32, u64), String> = BTreeMap::new();
        for op in ops {
            now += op.wait;
            let name = op.kind.name();
            match op.act {
                Act::Short => naive.bad += 1,
                Act::Allocate(_) if op.address == 0 => naive.bad += 1,
                Act::Allocate(size) => {
                    if op.kind.is_shared() {
                        shared.insert((op.pid, op.address), name.clone());
                    }
                    naive.begin((op.pid, name), (op.address, narrow(op.kind, size)), now);
                }
                Act::Free if op.address == 0 => {}
                Act::Free => {
                    let of = if op.kind.is_shared() { shared.remove(&(op.pid, op.address)) } else { Some(name) };
                    naive.end(op.pid, of, op.address, now);
                }
                // Only pools have such events.
                Act::Reallocate(..) if !op.kind.is_shared() => continue,
                Act::Reallocate(0, _) => naive.bad += 1,
                Act::Reallocate(new, size) => {
                    let of = shared.remove(&(op.pid, op.address));
                    if op.address != 0 {
                        naive.end(op.pid, of.clone(), op.address, now);
                    }
                    // Nobody knows whose a block is that moved from where none was.
                    let of = of.unwrap_or_default();
                    shared.insert((op.pid, new), of.clone());
                    naive.begin((op.pid, of), (new, size), now);
                }
            }
            naive.events += 1;
        }
        naive
    }

    fn begin(&mut self, (pid, name): (u32, String), (address, size): (u64, u64), now: i64) {
        self.kill(pid, &name, address, now);
        self.rows.push((pid, name, address, size, now, None));
    }

    fn end(&mut self, pid: u32, name: Option<String>, address: u64, now: i64) {
        if !name.as_ref().is_some_and(|name| self.kill(pid, name, address, now)) {
            *self.unmatched.entry((pid, name)).or_default() += 1;
        }
    }

    fn kill(&mut self, pid: u32, name: &str, address: u64, now: i64) -> bool {
        let is_it = |row: &&mut Row| row.0 == pid && row.1 == name && row.2 == address && row.5.is_none();
        self.rows.iter_mut().find(is_it).map(|row| row.5 = Some(now)).is_some()
    }
}

/// Sizes of pools have 32 bits.
fn narrow(kind: Kind, size: u64) -> u64 {
    if kind.is_shared() { u64::from(size as u32) } else { size }
}

fn written(ops: &[Op], processors: u32, compressed: bool) -> Vec<u8> {
    let session = SessionHeader {
        processors,
        buffer_size: 1024,
        mode: mode::SEQUENTIAL | if compressed { mode::COMPRESSED } else { 0 },
        start_ticks: START,
        ..SessionHeader::default()
    };
    let mut writer = Writer::new(Cursor::new(Vec::new()), session).unwrap();
    let mut now = 0;
    for (n, op) in ops.iter().enumerate() {
        now += op.wait;
        let Some((provider, id, version, schema, payload)) = event(op) else { continue };
        let items: Vec<ExtendedItem<'_>> = schema.iter().map(|data| ExtendedItem { kind: extended_type::SCHEMA, data }).collect();
        writer
            .write(&NewEvent {
                processor: (n % processors as usize) as u16,
                time: START + now,
                kind: HeaderKind::Event,
                pointer: PointerSize::Eight,
                pid: Pid(op.pid),
                tid: Tid(7),
                id: EventId::Provider { provider, id },
                version,
                descriptor: Descriptor::default(),
                extended: &items,
                payload: &payload,
            })
            .unwrap();
    }
    writer.finish().unwrap().into_inner()
}

type Written = (Guid, u16, u16, Option<Vec<u8>>, Vec<u8>);

/// The event of an operation; `None` if its provider has none such.
fn event(op: &Op) -> Option<Written> {
    let Op { kind, address, act, .. } = *op;
    let (is_alloc, size) = match act {
        Act::Allocate(size) => (true, size),
        Act::Free => (false, 0),
        Act::Short => (true, 1),
        Act::Reallocate(new, size) => {
            let payload = words(&[address, new, size]);
            return kind.is_shared().then(|| (POOLS.parse().unwrap(), 3, 0, None, payload));
        }
    };
    let (provider, id, version, schema, mut payload): Written = match kind {
        Kind::Mimalloc if is_alloc => (MIMALLOC.parse().unwrap(), 100, 1, None, words(&[address, size])),
        Kind::Mimalloc => (MIMALLOC.parse().unwrap(), 101, 1, None, words(&[address, 12345])),
        Kind::Pix(allocator) => {
            let payload = [&allocator.to_le_bytes()[..], &words(&[address, size])].concat();
            (PIX.parse().unwrap(), if is_alloc { 16 } else { 17 }, 0, None, payload)
        }
        Kind::Pool(pool) if is_alloc => {
            let text: Vec<u8> = "small\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
            let parts = [&[9; 3][..], &text, &words(&[address]), &[pool], &(size as u32).to_le_bytes()];
            (POOLS.parse().unwrap(), 1, 3, None, parts.concat())
        }
        Kind::Pool(_) => (POOLS.parse().unwrap(), 2, 0, None, words(&[address])),
        Kind::Arena(arena) => {
            let (name, arena) = (if is_alloc { "Took" } else { "Gave" }, [arena.as_bytes(), &[0]].concat());
            // Names and types of the fields: 2 is text, 10 a number of 64 bits, 21 one that is shown in hex.
            let mut fields = vec![("arena", 2u8), ("address", 21)];
            let mut payload = [arena, words(&[address])].concat();
            if is_alloc {
                fields.push(("size", 10));
                payload.extend(words(&[size]));
            }
            (highwater::events::guid_of_name(TOLD), 0, 0, Some(schema(name, &fields)), payload)
        }
    };
    if matches!(act, Act::Short) {
        payload.pop();
    }
    Some((provider, id, version, schema, payload))
}

/// The description of a self-describing event.
fn schema(name: &str, fields: &[(&str, u8)]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0];
    bytes.extend(name.bytes().chain([0]));
    for (field, stored) in fields {
        bytes.extend(field.bytes().chain([0, *stored]));
    }
    let size = (bytes.len() as u16).to_le_bytes();
    bytes[..2].copy_from_slice(&size);
    bytes
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn opened(bytes: &[u8]) -> (Capture, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("a.etl");
    std::fs::write(&path, bytes).unwrap();
    (Capture::open(&[Input::File(path)]).unwrap(), folder)
}

fn loaded(capture: &Capture, trackers: &TrackerProviders) -> Arc<Trace> {
    let plan = Plan { trackers: trackers.clone(), ..Plan::default() };
    Arc::new(load_planned(capture, &plan, &mut Unwatched).unwrap())
}

fn rows(trace: &Trace) -> Vec<Row> {
    let of = |row: highwater::model::Row| {
        let heap = trace.heap(trace.sites[row.site.0 as usize].heap);
        let name = heap.name.as_ref().map_or_else(String::new, |name| name.to_string());
        let death = (row.death != Ticks::NEVER).then_some(row.death.0);
        (trace.process(heap.process).pid.0, name, row.address, row.size, row.birth.0, death)
    };
    let mut rows: Vec<Row> =
        trace.rows.chunks().flat_map(|chunk| chunk.rows().map(|(_, row)| of(row)).collect::<Vec<_>>()).collect();
    rows.sort();
    rows
}

fn groups(trace: &Arc<Trace>, interval: Interval) -> Vec<Group> {
    let (by, filter) = (vec![By::Process, By::Heap], ReportFilter::default());
    let request = ReportRequest { interval, by, filter, top: None, fold: Fold::Nothing, sources: false };
    let index = Index::scan(Arc::clone(trace));
    report(&index, &request, &Cancel::default()).unwrap().groups
}

/// Unmatched frees by process and tracker.
fn unmatched_of(trace: &Trace, heap: Option<&str>) -> BTreeMap<(u32, Option<String>), u64> {
    let request = UnmatchedRequest {
        interval: trace.span,
        by: vec![By::Process, By::Heap],
        filter: ReportFilter { heap: heap.map(str::to_owned), ..ReportFilter::default() },
        under: Vec::new(),
        fold: Fold::Nothing,
    };
    let groups = unmatched(trace, &Names::default(), &request, &Cancel::default()).unwrap();
    let mut all = BTreeMap::new();
    for group in groups {
        assert!(all.insert((group.pid.unwrap(), group.heap), group.count).is_none(), "a tracker is one group");
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn blocks_of_mapped_providers_are_those_of_a_naive_reading(
        ops in prop::collection::vec(op(), 1..60),
        processors in 1..4u32,
        compressed: bool,
        (from, to) in (0..100i64, 0..100i64),
    ) {
        let mapped = TrackerProviders::parse(FILE).unwrap();
        let (capture, _folder) = opened(&written(&ops, processors, compressed));
        let (trace, naive) = (loaded(&capture, &mapped), Naive::of(&ops));
        let mut expected = naive.rows.clone();
        expected.sort();
        prop_assert_eq!(rows(&trace), expected);
        prop_assert_eq!(trace.quality.unmatched_frees, naive.unmatched.values().sum::<u64>());
        prop_assert_eq!(&unmatched_of(&trace, None), &naive.unmatched);
        let of_mimalloc = naive.unmatched.into_iter().filter(|((_, name), _)| name.as_deref() == Some("mimalloc"));
        prop_assert_eq!(unmatched_of(&trace, Some("mimalloc")), of_mimalloc.collect::<BTreeMap<_, _>>());
        let bad = trace.problems.iter().filter(|problem| problem.kind == ProblemKind::BadEvent);
        prop_assert_eq!(bad.count() > 0, naive.bad > 0, "{:?}", trace.problems);

        // A part has the same numbers, also for whoever does not have the mapping.
        let interval = Interval::new(Ticks(from), Ticks(to));
        let trace_start = capture.trace_start();
        for anonymises in [false, true] {
            let all = Processes::All;
            let request = Request {
                files: &capture.files, trace: &trace, trace_start, trackers: &mapped, interval, processes: &all,
                descriptions: &[], anonymises,
            };
            let mut out = Cursor::new(Vec::new());
            cut(&request, &mut out, &mut |_, _| true).unwrap();
            let bytes = out.into_inner();
            let secret = bytes.windows(5).any(|five| five == b"small") || bytes.windows(4).any(|four| four == b"Took");
            prop_assert!(!(anonymises && secret));
            let (part, _folder) = opened(&bytes);
            for trackers in [&mapped, &TrackerProviders::default()] {
                let part = loaded(&part, trackers);
                let (mut of_part, mut of_whole) = (groups(&part, interval), groups(&trace, interval));
                for group in of_part.iter_mut().chain(&mut of_whole).filter(|_| anonymises) {
                    group.heap = None;
                }
                let text = |groups: &[Group]| {
                    let mut lines: Vec<_> = groups.iter().map(|group| serde_json::to_string(group).unwrap()).collect();
                    lines.sort();
                    lines
                };
                prop_assert_eq!(text(&of_part), text(&of_whole));
            }
        }
    }
}
