//! Names in a trace: frames by the module that was mapped at the time, return addresses
//! by the byte before, types by the calls that allocate, and all of it at once the
//! second time. PDBs are those of the corpus.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use common::corpus;
use common::trace::{session, trace};
use highwater::events::{Event, FrameRange, ImageChange, ImageId, ImageInfo, PageRange, Record, StackPart, mem};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{Module, Trace};
use highwater::query::{Cancel, Index, TreeRequest, totals, tree};
use highwater::symbols::{ModuleState, Names, Options, Sources, Stop, SymbolPath, Symbols, identify};
use highwater::units::{Layer, Pid, Tid};
use serde_json::Value;
use tempfile::TempDir;

const USER: u64 = 0x7FF7_0000_0000;
const KERNEL: u64 = 0xFFFF_F800_0000_0000;
const LOST: u64 = 0x7FF8_0000_0000;

/// A trace in which modules of the corpus are mapped, and a cache of its own.
struct Case {
    folder: TempDir,
    corpus: PathBuf,
    file: PathBuf,
}

impl Case {
    fn new() -> Option<Self> {
        let corpus = corpus()?;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trace.etl");
        std::fs::write(&file, trace(session(false), &story(&corpus))).unwrap();
        Some(Self { folder, corpus, file })
    }

    /// The answer of `report`, and what it says on stderr.
    fn report(&self, words: &[&str], environment: &str) -> (Value, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_highwater"))
            .args(["report", "--json", self.file.to_str().unwrap()])
            .args(words)
            .env("HIGHWATER_CACHE_DIR", self.folder.path().join("cache"))
            .env("_NT_SYMBOL_PATH", environment)
            .env("_NT_ALT_SYMBOL_PATH", "")
            .output()
            .unwrap();
        assert!(output.status.success());
        (serde_json::from_slice(&output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    fn stacks(&self, words: &[&str], environment: &str) -> Vec<Vec<String>> {
        let (answer, _) = self.report(&[&["--by", "stack"], words].concat(), environment);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let frames = |group: &Value| group["stack"].as_array().unwrap().iter().map(text).collect();
        answer["groups"].as_array().unwrap().iter().map(frames).collect()
    }

    fn trace(&self) -> Arc<Trace> {
        Arc::new(load(&Capture::open(&[Input::File(self.file.clone())]).unwrap(), &mut Unwatched).unwrap())
    }

    fn symbols(&self, trace: &Arc<Trace>, path: &Path) -> Symbols {
        let sources = Sources { path: SymbolPath::parse(path.to_str().unwrap(), None), ..Sources::default() };
        let saved = Some(self.folder.path().join("names"));
        let symbols = Symbols::start(Arc::clone(trace), Options { sources, saved, workers: 2 }, |_| true, || {});
        symbols.wait();
        symbols
    }

    fn path(&self) -> &str {
        self.corpus.to_str().unwrap()
    }
}

/// One library, then another program at the same place; a driver; and one of which
/// there is no PDB.
fn story(corpus: &Path) -> Vec<(Record, Vec<u64>)> {
    let mut records = Vec::new();
    let mut tell = |time: i64, pid: u32, event: Event, frames: &[u64]| {
        records.push((Record { time: 1_000 + time, pid: Pid(pid), tid: Tid(2), event }, frames.to_vec()));
    };
    let pid = 4660;
    let image = |file: &str, base: u64| {
        Box::new(ImageInfo { base, size: 0x4_2000, time_stamp: 7, path: format!(r"\Device\Volume1\{file}") })
    };
    let id = |pdb: &str, base: u64| {
        let (guid, age) = match identify(&corpus.join(pdb), &Stop::default()) {
            Ok(key) => (key.guid, key.age),
            Err(_) => (highwater::etl::Guid::from_bytes([9; 16]), 3),
        };
        Event::ImageId(Box::new(ImageId { base, guid, age, pdb: format!(r"D:\build\{pdb}") }))
    };
    let (load, unload) = (ImageChange::Load, ImageChange::Unload);
    for (time, owner, file, pdb, base) in [
        (10, pid, "softokn3.dll", "softokn3.pdb", USER),
        (11, 4, "driver.sys", "WriteArgument.pdb", KERNEL),
        (12, pid, "lost.dll", "lost.pdb", LOST),
        (600, pid, "CrashWithException.exe", "CrashWithException.pdb", USER),
    ] {
        tell(time, owner, Event::Image(load, image(file, base)), &[]);
        tell(time, owner, id(pdb, base), &[]);
        if time == 12 {
            tell(500, pid, Event::Image(unload, image("softokn3.dll", USER)), &[]);
        }
    }
    let heap = 0x1D_0000;
    let stack = |owner: i64, part: StackPart| Event::Stack { owner: 1_000 + owner, part, frames: FrameRange::default() };
    // Behind the call that allocates an SDBStr; behind a call in an inlined function.
    for (time, frames) in [
        (100, [USER + 0x2_8A07, USER + 0x3EB8, LOST + 0x1234]),
        (700, [USER + 0x112E, USER + 0x1057, LOST + 0x1234]),
        (710, [USER + 0x1057, USER + 0x1057, 0x10]),
    ] {
        tell(time, pid, Event::Alloc { layer: Layer::Heap, heap, address: 0x1000 + time as u64, size: 40 }, &[]);
        tell(time, pid, stack(time, StackPart::User), &frames);
    }
    // The first byte of a function: where the processor was, and where nothing returns to.
    let pages = PageRange { base: 0x10_0000, size: 0x4000, owner: Pid(pid), flags: mem::COMMIT | mem::RESERVE };
    tell(300, pid, Event::VirtualAlloc(pages), &[]);
    tell(300, pid, stack(300, StackPart::Kernel), &[KERNEL + 0x1070, KERNEL + 0x1037]);
    records.sort_by_key(|(record, _)| record.time);
    records
}

/// The three stacks of the heap and the one of the commit, outermost frame first.
const NAMED: [&[&str]; 4] = [
    &["driver.sys!main", "driver.sys!pre_c_initialization"],
    &[
        "0x10",
        "CrashWithException.exe!printf",
        "CrashWithException.exe!_vfprintf_l",
        "CrashWithException.exe!printf",
        "CrashWithException.exe!_vfprintf_l",
    ],
    &[
        "lost.dll!+0x1234",
        "CrashWithException.exe!printf",
        "CrashWithException.exe!_vfprintf_l",
        "CrashWithException.exe!crashing_function",
    ],
    &["lost.dll!+0x1234", "softokn3.dll!SSLv3_MAC_ConstantTime", "softokn3.dll!freebl_RunLoaderOnce", "softokn3.dll!sdb_init"],
];

#[test]
fn frames_are_named_by_the_module_of_their_time_and_inlined_ones_are_frames() {
    let Some(case) = Case::new() else { return };
    let mut stacks = case.stacks(&["--symbols", case.path()], "");
    stacks.sort();
    let expected: Vec<Vec<String>> = NAMED.map(|frames| frames.iter().map(ToString::to_string).collect()).to_vec();
    let mut expected = expected;
    expected.sort();
    assert_eq!(stacks, expected);
}

#[test]
fn the_environment_s_path_is_enough_and_without_one_frames_are_numbers() {
    let Some(case) = Case::new() else { return };
    let bare = case.stacks(&[], "");
    assert!(bare.iter().flatten().all(|frame| frame == "0x10" || frame.contains("!+0x")), "{bare:?}");
    let named = case.stacks(&[], case.path());
    assert_eq!(bare.len(), named.len(), "names change no groups");
    assert!(named.iter().flatten().any(|frame| frame == "softokn3.dll!freebl_RunLoaderOnce"));
    // What was resolved once needs no PDB.
    assert_eq!(case.stacks(&[], ""), named);
}

#[test]
fn types_are_groups_and_what_has_none_is_there_too() {
    let Some(case) = Case::new() else { return };
    let (answer, said) = case.report(&["--by", "type", "--symbols", case.path()], "");
    let groups: Vec<_> = answer["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| (g["type"].as_str().unwrap(), g["layer"].as_str().unwrap(), g["size"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("(unknown type)", "commit", 0x4000),
        ("(unknown type)", "heap", 40),
        ("SDBStr", "heap", 40),
        ("std::exception", "heap", 40),
    ];
    assert_eq!(groups, expected);
    assert!(said.contains("no names for lost.dll") && said.contains("lost.pdb") && said.lines().count() == 1, "{said}");
    let (answer, _) = case.report(&["--by", "type,thread", "--symbols", case.path()], "");
    assert_eq!(answer["groups"].as_array().unwrap().len(), 4);
}

#[test]
fn the_tree_shows_sorts_and_finds_functions() {
    let Some(case) = Case::new() else { return };
    let trace = case.trace();
    let names = case.symbols(&trace, &case.corpus).names().1;
    let never = Cancel::default();
    let index = Index::for_one_question(Arc::clone(&trace), &never).unwrap();
    let totals = totals(&index, trace.span, &never).unwrap();
    let labels = |search: &str, names: &Arc<Names>| {
        let request = TreeRequest { search: search.to_owned(), names: Arc::clone(names), ..TreeRequest::default() };
        let tree = tree(&trace, &totals, &request, &never).unwrap();
        tree.rows(&trace).map(|row| row.label).collect::<Vec<_>>()
    };
    let found = labels("ssLv3_mac", &names);
    let way = ["lost.dll!+0x1234", "softokn3.dll!SSLv3_MAC_ConstantTime"];
    assert!(found.ends_with(&way.map(str::to_owned)) || found.windows(2).any(|two| two == way), "{found:?}");
    assert!(!found.iter().any(|label| label.contains("driver.sys")));
    assert!(labels("SSLv3_MAC", &Arc::default()).is_empty());
    let driver = labels("driver.sys", &names);
    assert!(driver.windows(2).any(|two| two == ["driver.sys!main", "driver.sys!pre_c_initialization"]), "{driver:?}");
}

/// The module of the trace that is mapped from this file.
fn module<'a>(trace: &'a Trace, name: &str) -> &'a Module {
    trace.processes.iter().flat_map(|process| &process.modules).find(|module| module.name() == name).unwrap()
}

#[test]
fn every_module_tells_its_state_and_can_be_left_out_chosen_and_tried_again() {
    let Some(case) = Case::new() else { return };
    let trace = case.trace();
    let symbols = case.symbols(&trace, &case.corpus);
    let state = |name: &str| symbols.modules().into_iter().find(|module| module.name == name).unwrap();
    let softokn = state("softokn3.dll");
    // The two of its own time, and two of the program that came after it.
    assert_eq!((softokn.state, softokn.addresses, softokn.named), (ModuleState::Ready, 4, 4));
    assert_eq!((softokn.bytes, softokn.source.as_str()), (1_146_880, case.path()));
    let lost = state("lost.dll");
    assert!(matches!(&lost.state, ModuleState::Failed(why) if why.contains("lost.pdb is not in the one place")), "{lost:?}");
    let named = |name: &str, address: u64| {
        let names = symbols.names().1;
        names.frames(module(&trace, name), address, false).map(|frames| frames.map(|f| f.function.to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(named("softokn3.dll", USER + 0x3EB8).unwrap(), ["freebl_RunLoaderOnce", "SSLv3_MAC_ConstantTime"]);
    let before = symbols.names().0;
    symbols.exclude(&softokn.key);
    symbols.wait();
    assert_eq!(state("softokn3.dll").state, ModuleState::Excluded);
    assert!(named("softokn3.dll", USER + 0x3EB8).is_none() && symbols.names().0 != before);
    symbols.choose(&softokn.key, case.corpus.join("crash.pdb"));
    symbols.wait();
    assert!(matches!(&state("softokn3.dll").state, ModuleState::Failed(why) if why.contains("of another build")));
    symbols.choose(&softokn.key, case.corpus.join("softokn3.pdb"));
    symbols.wait();
    assert_eq!(state("softokn3.dll").state, ModuleState::Ready);
    symbols.retry(&softokn.key);
    symbols.wait();
    assert_eq!(named("softokn3.dll", USER + 0x3EB8).unwrap().len(), 2);
}

#[test]
fn a_second_opening_has_all_names_at_once_and_needs_no_pdb() {
    let Some(case) = Case::new() else { return };
    let trace = case.trace();
    let first = case.symbols(&trace, &case.corpus);
    let again = case.symbols(&trace, &case.folder.path().join("nowhere"));
    for name in ["softokn3.dll", "driver.sys", "CrashWithException.exe"] {
        let of = |symbols: &Symbols| symbols.names().1.of(module(&trace, name)).cloned().unwrap();
        assert_eq!(of(&first), of(&again));
        let report = again.modules().into_iter().find(|module| module.name == name).unwrap();
        assert_eq!(report.state, ModuleState::Ready);
        assert!(report.source.ends_with("(resolved before)") && report.time.is_zero(), "{report:?}");
    }
}

#[test]
fn dropping_the_handle_ends_the_work() {
    let Some(case) = Case::new() else { return };
    let trace = case.trace();
    let sources = Sources { path: SymbolPath::parse(case.path(), None), ..Sources::default() };
    let symbols = Symbols::start(Arc::clone(&trace), Options { sources, saved: None, workers: 1 }, |_| true, || {});
    symbols.look_at([(module(&trace, "driver.sys"), KERNEL + 0x1070, true)]);
    drop(symbols);
    while Arc::strong_count(&trace) > 1 {
        std::thread::yield_now(); // its workers let go of what they have
    }
}
