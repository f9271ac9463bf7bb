//! Findings: planted patterns of many shapes and sizes among other work are found with
//! their kind, place, size, rate and period; where nothing is planted, nothing is said.
//!
//! `cargo test --release --test engine findings -- --ignored --nocapture` prints the table of
//! precision and recall over 1,000 traces that `docs/findings.md` shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::json;
use highwater::events::{
    ActivityEvent, Event, FrameRange, ImageChange, ImageInfo, ManagedEvent, ManagedMethod, MethodChange, PageRange,
    ProcessChange, ProcessInfo, Record, StackPart, mem,
};
use highwater::model::{Builder, Clock, InputState, Trace};
use highwater::query::{Cancel, Finding, FindingKind, Index, IndexOptions, Mask, findings};
use highwater::random::Random;
use highwater::symbols::Names;
use highwater::units::{Layer, Pid, Tid};

const START: i64 = 1_000_000;
const SECOND: i64 = 10_000_000;
const PID: Pid = Pid(4660);
const IMAGE: u64 = 0x7FF7_0000_0000;
const NTDLL: u64 = 0x7FFE_0000_0000;
/// Where functions with names lie, as code that a run-time made: their trace tells the names itself.
const NAMED: u64 = 0x1_0000_0000;
/// The first of the places among them, which are `Place0` and so on.
const PLACES: u64 = 100;
/// Functions that get memory for others, with what hooks them and grows in them.
const FUNCTIONS: [(&str, &str); 9] = [
    ("App.exe", "operator new"),
    ("App.exe", "malloc"),
    ("App.exe", "std::_Allocate"),
    ("App.exe", "std::vector<int>::_Emplace_reallocate"),
    ("App.exe", "std::vector<int>::push_back"),
    ("hook.dll", "Hook::Alloc"),
    ("App.exe", "__rdl_alloc"),
    ("App.exe", "alloc::raw_vec::RawVec<T,A>::grow_one"),
    ("App.exe", "__scrt_common_main_seh"),
];
/// What stands between a place and the system, by place and program: numbers of [`FUNCTIONS`], innermost first.
const SHAPES: [&[u64]; 6] = [&[], &[0], &[1, 0, 2, 3, 4], &[5, 1, 0], &[6, 7], &[1, 4]];

/// A program that is written event by event, in any order.
struct World {
    random: Random,
    /// When, what, and the stack.
    events: Vec<(i64, Event, Option<Vec<u64>>)>,
    next_address: u64,
    length: i64,
    /// Whether functions have names, and allocators stand between them and the system.
    is_named: bool,
}

/// Where memory comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    Heap(u64),
    Tracker(u64),
    Commit,
}

impl From {
    fn layer(self) -> Layer {
        match self {
            Self::Heap(_) => Layer::Heap,
            Self::Tracker(_) => Layer::Tracker,
            Self::Commit => Layer::Commit,
        }
    }
}

impl World {
    fn new(seed: u64, is_named: bool) -> Self {
        let mut random = Random::new(seed);
        let length = random.between(10, 200) as i64 * SECOND;
        Self { random, events: Vec::new(), next_address: 0x10_0000_0000, length, is_named }
    }

    /// The stack of a place: callers, the place itself, and the allocator in it.
    fn stack(&self, place: u64) -> Vec<u64> {
        if !self.is_named {
            return vec![NTDLL + 0x100, NTDLL + 0x200, IMAGE + 0x1000 + 0x10 * place, IMAGE + 0x800 + place % 3, IMAGE + 0x400];
        }
        let named = |function: u64| NAMED + 0x100 * function + 0x10;
        let shape = (place + (self.length / SECOND) as u64) as usize % SHAPES.len();
        let between = SHAPES[shape].iter().map(|&function| named(function));
        let callers = [named(PLACES + place), IMAGE + 0x800 + place % 3, IMAGE + 0x400, named(8), NTDLL + 0x900];
        [NTDLL + 0x100, NTDLL + 0x200].into_iter().chain(between).chain(callers).collect()
    }

    fn label(place: u64, is_named: bool) -> String {
        if is_named { format!("App.exe!Place{place}") } else { format!("App.exe!+{:#x}", 0x1000 + 0x10 * place) }
    }

    /// A block of a place from one time to another, or for good.
    fn block(&mut self, from: From, place: u64, at: i64, until: Option<i64>, size: u64) {
        let address = self.next_address;
        self.next_address += (size + 0xFFFF) & !0xFFFF;
        let stack = Some(self.stack(place));
        let pages = |flags| PageRange { base: address, size, owner: PID, flags };
        let (born, died) = match from {
            From::Heap(heap) | From::Tracker(heap) => {
                let layer = from.layer();
                (Event::Alloc { layer, heap, address, size }, Event::Free { layer, heap, address })
            }
            From::Commit => (Event::VirtualAlloc(pages(mem::COMMIT | mem::RESERVE)), Event::VirtualFree(pages(mem::RELEASE))),
        };
        self.events.push((at, born, stack));
        if let Some(until) = until.filter(|&until| until < self.length) {
            self.events.push((until.max(at + 1), died, None));
        }
    }

    fn size(&mut self, from: From, size: u64) -> u64 {
        if from == From::Commit { (size + 0xFFF) & !0xFFF } else { size }
    }

    /// Work that goes on all the time and comes back to its level: `alive` blocks or so.
    fn background(&mut self, from: From, place: u64, alive: u64, size: u64) {
        let life = self.length / self.random.between(40, 400) as i64;
        let rate = alive.max(1) as f64 / life as f64;
        let total = ((rate * self.length as f64) as u64).min(6000);
        let life = (alive as f64 * self.length as f64 / total as f64) as i64;
        for _ in 0..total {
            let at = self.random.below(self.length as u64) as i64;
            let lasts = self.random.between(1, 2 * life as u64) as i64;
            let size = self.random.between(size / 2, size * 3 / 2);
            let size = self.size(from, size);
            self.block(from, place, at, Some(at + lasts), size);
        }
    }

    /// Blocks of the start, for good.
    fn start_up(&mut self, from: From, place: u64, bytes: u64) {
        for n in 0..20 {
            let at = self.length * n / 1000;
            let size = self.size(from, bytes / 20);
            self.block(from, place, at, None, size);
        }
    }

    /// A saw: fills up and is emptied at once.
    fn saw(&mut self, from: From, place: u64, teeth: i64, bytes: u64) {
        let tooth = self.length / teeth;
        for n in 0..teeth * 30 {
            let at = n * tooth / 30;
            let size = self.size(from, bytes / 30);
            self.block(from, place, at, Some((at / tooth + 1) * tooth), size);
        }
    }

    /// A cache that fills in the first part and stays as it is.
    fn warm_up(&mut self, from: From, place: u64, part: f64, bytes: u64) {
        for n in 0..200 {
            let at = (self.length as f64 * part * n as f64 / 200.0) as i64;
            let size = self.size(from, bytes / 200);
            self.block(from, place, at, None, size);
        }
    }

    fn trace(mut self, ends: bool) -> Arc<Trace> {
        self.events.sort_by_key(|event| event.0);
        let mut builder = Builder::new(Clock { frequency: SECOND as u64, start_time: 0 }, START, (0, 0));
        let mut tell = |at: i64, event: Event, frames: &[u64]| {
            builder.apply(&Record { time: START + at, pid: PID, tid: Tid(7), event }, frames);
        };
        let info = || Box::new(ProcessInfo { key: 0xA000, parent: 1, name: "App.exe".into(), command_line: String::new() });
        let image = |base, name: &str| {
            let path = format!(r"\Device\Volume1\{name}");
            Event::Image(ImageChange::Load, Box::new(ImageInfo { base, size: 0x100_0000, checksum: 0, time_stamp: 7, path }))
        };
        tell(0, Event::Process(ProcessChange::Start, info()), &[]);
        tell(0, image(IMAGE, "App.exe"), &[]);
        tell(0, image(NTDLL, "ntdll.dll"), &[]);
        if self.is_named {
            let managed = |event| Event::Activity(Box::new(ActivityEvent::Managed(event)));
            for (id, path) in [(1, "App.exe"), (2, "hook.dll")] {
                tell(0, managed(ManagedEvent::Module { id, path: path.into() }), &[]);
            }
            let places = (0..=PLANTED).map(|place| (PLACES + place, 1, format!("Place{place}")));
            let others =
                (0..).zip(FUNCTIONS).map(|(n, (module, name))| (n, 1 + u64::from(module == "hook.dll"), name.to_owned()));
            for (n, module, name) in places.chain(others) {
                let method = ManagedMethod { module, start: NAMED + 0x100 * n, size: 0x100, name, ..ManagedMethod::default() };
                tell(0, managed(ManagedEvent::Method(MethodChange::Load, Box::new(method))), &[]);
            }
        }
        let mut last = 0;
        for (at, event, stack) in self.events {
            // Each at a time of its own, so that stacks find their owners.
            let time = at.max(last + 1);
            tell(time, event, &[]);
            last = time;
            if let Some(stack) = stack {
                let event = Event::Stack { owner: START + time, part: StackPart::User, frames: FrameRange::default() };
                tell(time + 1, event, &stack);
                last = time + 1;
            }
        }
        let end = self.length.max(last + 1);
        if ends {
            tell(end, Event::Process(ProcessChange::End, info()), &[]);
        }
        let state = InputState { times: Some((START, START + end + 1)), complete: true, ..InputState::default() };
        Arc::new(builder.publish(state))
    }
}

fn found(trace: Arc<Trace>) -> Vec<Finding> {
    let index = Index::build(trace, &IndexOptions::default(), &Cancel::default()).unwrap();
    let mask = Mask::all(index.trace());
    findings(&index, index.trace().span, &mask, &Names::default(), &Cancel::default()).unwrap()
}

/// What was planted, and what must be said of it.
#[derive(Clone, Debug)]
struct Planted {
    kind: FindingKind,
    layer: Layer,
    place: u64,
    bytes: f64,
    rate: Option<f64>,
    period: Option<f64>,
    repeats: Option<u64>,
}

impl Planted {
    /// Whether a finding is about it.
    fn is(&self, finding: &Finding, is_named: bool) -> bool {
        (finding.kind, finding.layer) == (self.kind, self.layer)
            && finding.function.as_deref() == Some(World::label(self.place, is_named).as_str())
    }

    /// Whether it says the right numbers.
    fn is_right(&self, finding: &Finding) -> bool {
        let near = |said: Option<f64>, planted: Option<f64>, by: f64| match (said, planted) {
            (Some(said), Some(planted)) => (said / planted - 1.0).abs() <= by,
            (_, None) => true,
            (None, Some(_)) => false,
        };
        near(Some(finding.bytes as f64), Some(self.bytes), 0.1)
            && near(finding.rate_bytes_per_s, self.rate, 0.05)
            && near(finding.period_s, self.period, 0.02)
            && self.repeats.is_none_or(|repeats| finding.repeats == Some(repeats))
    }
}

/// The place of what is planted.
const PLANTED: u64 = 77;

/// Work in which nothing happens that should be told, in one source; how much is alive.
fn ordinary(world: &mut World, from: From) -> u64 {
    let level = 1u64 << world.random.between(16, 26);
    world.start_up(from, 1, level);
    let places = world.random.between(1, 5);
    for place in 2..2 + places {
        let alive = world.random.between(20, 200);
        let bytes = level / places / world.random.between(2, 8);
        world.background(from, place, alive, (bytes / alive).max(16));
    }
    match world.random.below(4) {
        0 => {
            let teeth = world.random.between(6, 60) as i64;
            world.saw(from, 20, teeth, level / 2);
        }
        1 => {
            let part = world.random.between(5, 30) as f64 / 100.0;
            world.warm_up(from, 21, part, level / 2);
        }
        _ => {}
    }
    level
}

fn plant(world: &mut World, from: From, level: u64) -> Planted {
    let seconds = world.length as f64 / SECOND as f64;
    let place = PLANTED;
    let layer = from.layer();
    let base = Planted { kind: FindingKind::Growth, layer, place, bytes: 0.0, rate: None, period: None, repeats: None };
    match world.random.below(4) {
        0 => {
            // From somewhere in the first half to the end, or nearly.
            let begin = world.length * world.random.below(50) as i64 / 100;
            let end = world.length * world.random.between(90, 100) as i64 / 100;
            let blocks = world.random.between(100, 2000);
            let bytes = level / 100 * world.random.between(8, 200);
            let size = world.size(from, (bytes / blocks).max(8));
            for n in 0..blocks as i64 {
                world.block(from, place, begin + (end - begin) * n / blocks as i64, None, size);
            }
            let lasted = seconds * (end - begin) as f64 / world.length as f64;
            let bytes = (size * blocks) as f64;
            Planted { bytes, rate: Some(bytes / lasted), ..base }
        }
        1 => {
            let at = world.length * world.random.between(20, 75) as i64 / 100;
            let blocks = world.random.between(1, 40);
            let bytes = level / 100 * world.random.between(40, 300);
            let size = world.size(from, bytes / blocks);
            for n in 0..blocks as i64 {
                world.block(from, place, at + n * world.length / 100_000, None, size);
            }
            Planted { kind: FindingKind::Step, bytes: (size * blocks) as f64, ..base }
        }
        2 => {
            let repeats = world.random.between(2, 16);
            let blocks = world.random.between(1, 20);
            let bytes = level / 100 * world.random.between(80, 300);
            let size = world.size(from, bytes / blocks);
            let first = world.length * world.random.between(8, 20) as i64 / 100;
            let period = world.length * 70 / 100 / repeats as i64;
            let lasts = (world.length * world.random.between(1, 12) as i64 / 1000).min(period / 8);
            for n in 0..repeats as i64 {
                for _ in 0..blocks {
                    let at = first + n * period;
                    world.block(from, place, at, Some(at + lasts), size);
                }
            }
            let (bytes, period) = ((size * blocks) as f64, period as f64 / SECOND as f64);
            let (period, repeats) = (Some(period), Some(repeats));
            Planted { kind: FindingKind::Spikes, bytes, period, repeats, ..base }
        }
        _ => {
            let count = world.random.between(20_000, 30_000);
            let size = world.size(from, (level / 1000).max(16));
            for n in 0..count as i64 {
                let at = world.length * n / count as i64;
                world.block(from, place, at, Some(at + world.length / 100_000), size);
            }
            Planted { kind: FindingKind::Churn, bytes: (size * count) as f64, ..base }
        }
    }
}

/// What is said of many traces, with and without something planted.
#[derive(Default, Debug)]
struct Score {
    planted: u64,
    found: u64,
    right: u64,
    /// Findings of the kind where nothing of it was planted.
    wrong: u64,
}

fn score(seeds: std::ops::Range<u64>, is_named: bool) -> BTreeMap<FindingKind, Score> {
    let mut scores: BTreeMap<FindingKind, Score> = BTreeMap::new();
    for seed in seeds {
        let mut world = World::new(seed, is_named);
        let froms = [From::Heap(0x1D_0000), From::Tracker(0x77), From::Commit, From::Heap(0x2D_0000)];
        let from = froms[world.random.below(4) as usize];
        let level = ordinary(&mut world, from);
        if world.random.one_in(2) {
            let other = froms[world.random.below(4) as usize];
            if other.layer() != from.layer() {
                ordinary(&mut world, other);
            }
        }
        let planted = (!world.random.one_in(3)).then(|| plant(&mut world, from, level));
        let ends = world.random.one_in(2);
        let found = found(world.trace(ends));
        let judged = [FindingKind::Growth, FindingKind::Step, FindingKind::Spikes, FindingKind::Churn];
        if let Some(planted) = &planted {
            let score = scores.entry(planted.kind).or_default();
            score.planted += 1;
            let hit = found.iter().find(|finding| planted.is(finding, is_named));
            score.found += u64::from(hit.is_some());
            score.right += u64::from(hit.is_some_and(|finding| planted.is_right(finding)));
            if !hit.is_some_and(|finding| planted.is_right(finding)) {
                tell(seed, "missed", &format!("{planted:?} among {:?}", texts(&found)));
            }
        }
        for finding in found.iter().filter(|finding| judged.contains(&finding.kind)) {
            // A saw churns by nature, and so may busy work.
            let is_true =
                finding.kind == FindingKind::Churn || planted.as_ref().is_some_and(|planted| planted.is(finding, is_named));
            if !is_true {
                scores.entry(finding.kind).or_default().wrong += 1;
                tell(seed, "false", &finding.text);
            }
        }
    }
    scores
}

fn texts(found: &[Finding]) -> Vec<&str> {
    found.iter().map(|finding| finding.text.as_str()).collect()
}

#[allow(clippy::print_stderr, reason = "what a failed test was about")]
fn tell(seed: u64, what: &str, text: &str) {
    eprintln!("{seed}: {what}: {text}");
}

#[test]
fn what_is_planted_is_found_and_nothing_else() {
    check(score(0..100, false));
}

/// The place is the function that wanted the memory, whatever allocator, container or hook stands inside of it.
#[test]
fn what_is_planted_is_found_behind_allocators_with_names_too() {
    check(score(0..100, true));
}

fn check(scores: BTreeMap<FindingKind, Score>) {
    for (kind, Score { planted, found, right, wrong }) in scores {
        assert!(planted >= 5, "{kind:?}: {planted}");
        assert!(found * 100 >= planted * 85, "{kind:?}: {found} of {planted} found");
        assert!(right * 100 >= planted * 80, "{kind:?}: {right} of {planted} with the right numbers");
        assert!(wrong * 10 <= planted, "{kind:?}: {wrong} that are not there");
    }
}

#[test]
#[ignore = "prints the table of docs/findings.md"]
#[allow(clippy::print_stdout, reason = "this is what it is for")]
fn precision_and_recall_over_a_thousand_traces() {
    for (head, is_named) in [("stacks without names", false), ("with names", true)] {
        println!("{head}\n| kind | planted | found | numbers right | false | precision | recall |\n|-|-|-|-|-|-|-|");
        for (kind, Score { planted, found, right, wrong }) in score(1000..2000, is_named) {
            let share = |part: u64, of: u64| format!("{:.1} %", 100.0 * part as f64 / of.max(1) as f64);
            let (precision, recall) = (share(found, found + wrong), share(found, planted));
            println!("| {} | {planted} | {found} | {right} | {wrong} | {precision} | {recall} |", kind.name());
        }
    }
}

/// What the program says of the demo.
fn demo(words: &[&str]) -> Vec<serde_json::Value> {
    let answer = json([&["findings", "demo:", "--json"], words].concat());
    assert_eq!(answer["schema"], "highwater.findings/1");
    answer["findings"].as_array().unwrap().clone()
}

#[test]
fn the_demo_leaks_steps_and_spikes_where_it_was_made_to() {
    let all = demo(&[]);
    let one = |kind: &str, heap: Option<&str>, function: &str| {
        let is = |f: &&serde_json::Value| {
            f["kind"] == kind && f["heap"].as_str() == heap && f["process"] == "MemoryTestApp.exe" && f["function"] == function
        };
        let found: Vec<_> = all.iter().filter(is).collect();
        assert_eq!(found.len(), 1, "{kind} of {function}");
        found[0].clone()
    };
    let near = |value: &serde_json::Value, planted: f64, by: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / planted - 1.0).abs() <= by, "{value} instead of {planted}");
    };
    let leak = one("growth", Some("0x1d0000"), "MemoryTestApp.exe!InnerLoopOperation");
    near(&leak["rate_bytes_per_s"], 1280.0, 0.05);
    near(&leak["bytes"], 43_520.0, 0.05);
    near(&leak["count"], 1088.0, 0.05);
    let step = one("step", None, "MemoryTestApp.exe!Main");
    assert_eq!((&step["bytes"], &step["count"]), (&(10 << 20).into(), &1.into()));
    near(&step["from_s"], 18.25, 0.001);
    let spikes = one("spikes", None, "MemoryTestApp.exe!ManipulateTemporaryBuffer");
    assert_eq!((&spikes["bytes"], &spikes["repeats"]), (&(10 << 20).into(), &10.into()));
    near(&spikes["period_s"], 3.4, 0.02);
    let left = one("at_exit", Some("0x1d0000"), "MemoryTestApp.exe!InnerLoopOperation");
    assert_eq!((&left["bytes"], &left["count"]), (&43_520.into(), &1088.into()));
    let kinds: Vec<_> = all.iter().take(5).map(|finding| finding["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["unexplained_commit", "at_exit", "growth", "growth", "at_exit"]);
    // What lasts comes before what comes and goes; what is merely large comes last.
    let class = |kind: &str| match kind {
        "spikes" | "churn" | "fragmentation" => 1,
        "peak" => 2,
        "habit" => 3,
        _ => 0,
    };
    assert!(all.iter().map(|finding| class(finding["kind"].as_str().unwrap())).is_sorted());
    assert!(all.iter().all(|finding| finding["text"].as_str().unwrap().starts_with(finding["process"].as_str().unwrap())));
    assert_eq!(leak["source"], serde_json::json!({"file": r"C:\MemoryTestApp\main.cpp", "line": 48}));
    let only = demo(&["--kind", "growth,step"]);
    assert!(!only.is_empty() && only.iter().all(|finding| finding["kind"] == "growth" || finding["kind"] == "step"));
}

#[test]
fn the_exercise_and_the_leak_hunt_take_one_look() {
    let commit = demo(&["--process", "MemoryTestApp.exe", "--layer", "commit"]);
    let kinds: Vec<_> = commit.iter().map(|finding| finding["kind"].as_str().unwrap()).collect();
    assert!(kinds.starts_with(&["step"]) && kinds.contains(&"spikes") && kinds.ends_with(&["peak"]), "{kinds:?}");
    assert_eq!(commit[commit.len() - 1]["bytes"], 36 << 20);
    let heap = demo(&["--process", "4660", "--heap", "0x1d0000", "--kind", "growth", "--top", "2"]);
    assert_eq!(heap[0]["function"], "MemoryTestApp.exe!InnerLoopOperation");
    assert!(heap.len() <= 2 && heap.iter().all(|finding| finding["kind"] == "growth"));
    assert!(demo(&["--size", "1..1"]).is_empty());
    let run = crate::common::highwater(["findings", "demo:", "--from", "0", "--to", "0"]);
    assert!(run.code == Some(0) && run.out.contains("Nothing stands out.\n"), "{run:?}");
}

#[test]
fn findings_of_chosen_rows_know_nothing_of_the_others() {
    let leaks = |words: &[&str]| {
        let is_leak = |f: &&serde_json::Value| f["function"] == "MemoryTestApp.exe!InnerLoopOperation";
        demo(words).iter().filter(is_leak).map(|f| f["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = leaks(&[]);
    assert!(all.contains(&"growth".to_owned()) && all.contains(&"at_exit".to_owned()), "{all:?}");
    // Its blocks have 40 bytes.
    assert!(leaks(&["--size", "41.."]).is_empty());
}

#[test]
fn an_impossible_size_of_a_damaged_event_is_a_doubt_of_its_findings() {
    let told = |size: u64| {
        let mut world = World::new(7, false);
        world.start_up(From::Heap(0x1D_0000), 1, 1 << 20);
        world.block(From::Heap(0x1D_0000), 2, world.length / 2, None, size);
        found(world.trace(true))
    };
    let is_doubted = |finding: &Finding| finding.doubts.iter().any(|doubt| doubt.contains("impossible size"));
    let large = told(10 << 20);
    assert!(!large.is_empty() && !large.iter().any(is_doubted), "{:?}", texts(&large));
    let impossible = told(5 << 50);
    let (of_it, others): (Vec<&Finding>, Vec<&Finding>) = impossible.iter().partition(|finding| finding.bytes >= 5 << 50);
    assert!(!of_it.is_empty() && of_it.iter().all(|finding| is_doubted(finding)), "{:?}", texts(&impossible));
    assert!(!others.iter().any(|finding| is_doubted(finding)));
}
