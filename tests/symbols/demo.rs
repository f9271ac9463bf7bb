//! The demo has real symbols: its program is built from sources in `assets/demo`, and
//! names, lines and types come with no set-up on any machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use highwater::demo;
use highwater::events::{Event, FrameRange, ImageChange, ImageId, ImageInfo, Record, StackPart};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{SiteId, Trace};
use highwater::query::{Cancel, Fold, Functions};
use highwater::symbols::{
    FrameKind, Locator, ModuleState, Options, PdbFile, PdbKey, Request, Sources, Stop, SymbolPath, Symbols, Wanted, identify,
    resolve,
};
use highwater::units::{Layer, Pid, Tid};
use highwater_dev::synth::images::APP;
use serde_json::Value;

use crate::common;

/// A file of this repository.
fn asset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets").join(name)
}

/// The answer of `report` on the demo's program, with no symbol path and nothing saved.
fn report(trace: &str, by: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_highwater"))
        .args(["report", "--json", "--process", APP.file, "--by", by, trace])
        .env("HIGHWATER_CACHE_DIR", folder.path())
        .env("_NT_SYMBOL_PATH", "")
        .env("_NT_ALT_SYMBOL_PATH", "")
        .output()
        .unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing needs to be written for it");
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["groups"].as_array().unwrap().clone()
}

fn trace() -> Arc<Trace> {
    Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap())
}

fn sources() -> Sources {
    Sources { embedded: vec![demo::symbols()], ..Sources::default() }
}

fn wanted() -> Wanted {
    Wanted { image: APP.file.to_owned(), pdb: Some((demo::symbols().key, "MemoryTestApp.pdb".to_owned())), ..Wanted::default() }
}

/// The PDB that the program carries.
fn pdb() -> PdbFile {
    Locator::new(sources()).find(&wanted(), None, &Stop::default(), &|_| {}).unwrap().file
}

#[test]
fn the_stacks_of_the_demo_read_as_the_exercise_says() {
    let file = asset("demo.etl");
    for trace in ["demo:", file.to_str().unwrap()] {
        let groups = report(trace, "stack");
        let ways: Vec<(Vec<&str>, u64)> = groups
            .iter()
            .map(|g| (g["stack"].as_array().unwrap().iter().map(|f| f.as_str().unwrap()).collect(), g["count"].as_u64().unwrap()))
            .collect();
        for (way, count) in [
            (&["Main", "Operation1", "ManipulateTemporaryBuffer"][..], 10),
            (&["Main", "InnerLoopOperation", "operator new"], 1_088),
            (&["__scrt_common_main_seh", "Main", "AllocateWorkingBuffers"], 1),
            // The way into an inlined function is a frame of its own.
            (&["Main", "LoadConfiguration", "CommitPages"], 1),
        ] {
            let way: Vec<String> = way.iter().map(|function| format!("{}!{function}", APP.file)).collect();
            let is_it = |frames: &[&str]| {
                let behind = |at: usize| frames.get(at).is_none_or(|frame| !frame.starts_with(APP.file));
                frames.windows(way.len()).enumerate().any(|(at, part)| part == way && behind(at + way.len()))
            };
            let found: Vec<u64> = ways.iter().filter(|(frames, _)| is_it(frames)).map(|(_, count)| *count).collect();
            assert!(found.contains(&count), "{way:?}: {found:?}");
        }
    }
}

#[test]
fn blocks_of_the_heaps_and_the_tracker_have_types() {
    let groups = report("demo:", "type");
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for group in groups.iter().filter(|group| group["layer"] != "commit") {
        counts.insert((group["layer"].as_str().unwrap(), group["type"].as_str().unwrap()), group["count"].as_u64().unwrap());
    }
    // What the runtime and the loader allocate has no type.
    let of_tracker = [("BodyPair", 768), ("Contact", 896), ("RigidBody", 10)];
    let of_heap = [("(unknown type)", 22), ("Channel", 20), ("Joint", 10), ("Message", 515), ("Sample", 1_088), ("Setting", 60)];
    let expected = of_heap.map(|(name, count)| (("heap", name), count)).into_iter();
    let expected = expected.chain(of_tracker.map(|(name, count)| (("tracker", name), count)));
    assert_eq!(counts, expected.collect());
}

#[test]
fn every_frame_of_the_program_has_the_name_and_the_line_of_its_call() {
    let trace = trace();
    let symbols = Symbols::start(
        Arc::clone(&trace),
        Options { sources: sources(), saved: None, workers: 1, frees: false, ..Options::default() },
        |_| true,
        || {},
    );
    symbols.wait();
    let names = symbols.names().1;
    let mut frames = 0;
    for site in &trace.sites {
        for node in trace.stacks.path(site.stack) {
            let address = trace.stacks.address(node);
            let Some(module) = trace.module_at(site.caller, address, site.first).filter(|m| m.name() == APP.file) else {
                continue;
            };
            let named: Vec<_> = names.frames(module, address, FrameKind::in_event(node == site.stack)).unwrap().collect();
            let rva = (address - module.base) as u32;
            let call = APP.calls.iter().find(|call| call.returns_to == rva).unwrap();
            assert_eq!(named.last().map(|frame| frame.function), Some(call.caller), "{rva:#x}");
            assert!(named.iter().all(|frame| frame.file.is_some() && frame.line.is_some()), "{rva:#x}: {named:?}");
            frames += 1;
        }
    }
    assert!(frames > 80, "{frames}");
    let report = symbols.modules().into_iter().find(|module| module.name == APP.file).unwrap();
    assert_eq!((report.state, report.source.as_str()), (ModuleState::Ready, "part of highwater"));
    assert_eq!(report.bytes, pdb().len());
}

/// A program of which the first byte of each function was sampled, and an allocation was made by what
/// returns there.
fn sampled_at_first_bytes() -> Trace {
    let (pid, tid) = (Pid(4660), Tid(2));
    let mut records = Vec::new();
    let mut tell = |time: i64, event: Event, frames: &[u64]| {
        records.push((Record { time: 1_000 + time, pid, tid, event }, frames.to_vec()));
    };
    let image = ImageInfo { base: APP.base, size: APP.size, checksum: 0, time_stamp: 7, path: APP.file.to_owned() };
    let PdbKey { guid, age } = demo::symbols().key;
    tell(1, Event::ImageId(Box::new(ImageId { base: APP.base, guid, age, pdb: "MemoryTestApp.pdb".to_owned() })), &[]);
    tell(2, Event::Image(ImageChange::Load, Box::new(image)), &[]);
    for (time, function) in (10..).step_by(10).zip(APP.functions) {
        let first = APP.base + u64::from(function.rva);
        let stack = |time: i64| Event::Stack { owner: 1_000 + time, part: StackPart::User, frames: FrameRange::default() };
        tell(time, Event::Sample { address: first, count: 1 }, &[]);
        tell(time, stack(time), &[first]);
        tell(time + 1, Event::Alloc { layer: Layer::Heap, heap: 0x50, address: time as u64 * 64, size: 8 }, &[]);
        tell(time + 1, stack(time + 1), &[first]);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sampled.etl");
    std::fs::write(&file, common::trace::trace(common::trace::session(false), &records)).unwrap();
    load(&Capture::open(&[Input::File(file)]).unwrap(), &mut Unwatched).unwrap()
}

#[test]
fn a_sample_in_the_first_byte_of_a_function_is_in_that_function() {
    let trace = Arc::new(sampled_at_first_bytes());
    let options = Options { sources: sources(), saved: None, workers: 1, samples: true, ..Options::default() };
    let symbols = Symbols::start(Arc::clone(&trace), options, |_| true, || {});
    symbols.wait();
    let (names, never) = (symbols.names().1, Cancel::default());
    let functions = Functions::of_samples(&trace, &names, Fold::Nothing, &never).unwrap();
    let samples = &trace.activity.samples;
    assert_eq!(samples.list.len(), APP.functions.len());
    for (sample, function) in samples.list.iter().zip(APP.functions) {
        let in_image = functions.chain(functions.path(sample.site)).last().unwrap();
        assert_eq!(functions.name(in_image).to_string(), format!("{}!{}", APP.file, function.name));
    }
    // What returns there was called by what is before it.
    let allocating = Functions::of(&trace, &names, Fold::Nothing, &never).unwrap();
    let called = |site: u32| allocating.chain(allocating.path(SiteId(site))).last().map(|f| allocating.name(f).to_string());
    let alike = (0..trace.sites.len() as u32)
        .zip(APP.functions)
        .filter(|&(site, function)| called(site).is_some_and(|name| name == format!("{}!{}", APP.file, function.name)));
    assert_eq!(trace.sites.len(), APP.functions.len());
    assert!(alike.count() < APP.functions.len() / 8, "but for those behind another one of that name");
}

#[test]
fn the_line_of_each_call_is_where_the_source_has_it() {
    let all = APP.calls.iter().map(|call| call.returns_to - 1).collect();
    let names = resolve(pdb(), Request { all, ..Request::default() }, &Stop::default(), |_| {}).unwrap().names;
    for call in APP.calls {
        let frame = names.frames(call.returns_to - 1).unwrap().next().unwrap();
        let name = frame.file.unwrap().strip_prefix(r"C:\MemoryTestApp\").unwrap();
        let source = std::fs::read_to_string(asset("demo").join(name)).unwrap();
        let line = source.lines().nth(frame.line.unwrap() as usize - 1).unwrap();
        let word = match call.callee {
            "VSHeapTracker::CHeapTracker::CHeapTracker" => "tracker(",
            // A member goes where its owner's destructor ends.
            "VSHeapTracker::CHeapTracker::~CHeapTracker" => "}",
            callee => callee.rsplit("::").next().unwrap().trim_start_matches("operator "),
        };
        assert!(line.contains(word), "{call:?} at {name}:{}: {line}", frame.line.unwrap());
    }
}

#[test]
fn the_image_of_the_trace_is_the_build_of_the_pdb() {
    let key = demo::symbols().key;
    assert_eq!(identify(pdb(), &Stop::default()), Ok(key));
    let trace = trace();
    let modules: Vec<_> = trace.processes.iter().flat_map(|p| &p.modules).filter(|m| m.name() == APP.file).collect();
    assert!(!modules.is_empty());
    for module in modules {
        let id = module.pdb.as_deref().unwrap();
        assert_eq!((PdbKey::from(id), id.path.as_str()), (key, "MemoryTestApp.pdb"));
    }
}

#[test]
fn trace_and_symbols_are_small_and_tell_nothing_of_the_machine_that_made_them() {
    let (trace, symbols) = (highwater::load::DEMO_TRACE.len(), demo::symbols().cabinet.len());
    assert!(trace <= 1_500_000 && trace + symbols <= 2 << 20, "{trace} and {symbols} bytes");
    let PdbFile::Bytes(bytes) = pdb() else { unreachable!("it is part of the program") };
    for path in ["/usr/", "/home/", "/root/", "/tmp/", "/work/", "\\Users\\"] {
        assert!(!bytes.windows(path.len()).any(|window| window == path.as_bytes()), "{path}");
    }
}

#[test]
fn the_folder_of_the_sources_is_a_symbol_store_and_other_builds_are_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    let path = format!("srv*{}*{}", own.display(), asset("demo").display());
    let locator = Locator::new(Sources { path: SymbolPath::parse(&path, None), ..Sources::default() });
    let found = locator.find(&wanted(), None, &Stop::default(), &|_| {}).unwrap();
    assert!(found.file.path().unwrap().starts_with(&own));
    assert_eq!(identify(found.file, &Stop::default()), Ok(demo::symbols().key));

    let key = PdbKey { age: 2, ..demo::symbols().key };
    let other = Wanted { pdb: Some((key, "MemoryTestApp.pdb".to_owned())), ..wanted() };
    let why = Locator::new(sources()).find(&other, None, &Stop::default(), &|_| {}).unwrap_err();
    assert!(why.to_string().contains("no symbol path"), "{why}");
}
