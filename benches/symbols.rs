//! Names of a trace whose frames lie in one large PDB: how long until the first fifty
//! are there, until all are, and when the trace is opened again; and the memory that
//! takes.
//!
//! `scripts/symbol-bench.sh` makes the PDBs; `BENCH_PDBS` names them, separated by `:`.
#![allow(missing_docs, reason = "a program")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to say")]
#![allow(clippy::print_stdout, reason = "the figures are for reading")]

#[path = "../tests/common/trace.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod trace;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use highwater::events::{Event, FrameRange, ImageChange, ImageId, ImageInfo, Record, StackPart};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{Module, Trace};
use highwater::symbols::{FrameKind, Options, Sources, Stop, SymbolPath, Symbols, identify};
use highwater::units::{Layer, Pid, Tid};

const BASE: u64 = 0x7FF7_0000_0000;
const FRAMES: u64 = 20;

/// A trace with so many different return addresses in one module, evenly over its code.
fn capture(pdb: &Path, addresses: u64, folder: &Path) -> Arc<Trace> {
    let key = identify(pdb, &Stop::default()).unwrap();
    let code = std::fs::metadata(pdb.with_extension("exe")).unwrap().len();
    let name = pdb.file_name().unwrap().to_str().unwrap().to_owned();
    let mut records = Vec::new();
    let mut tell = |time: i64, event: Event, frames: Vec<u64>| {
        records.push((Record { time: 1_000 + time, pid: Pid(4660), tid: Tid(2), event }, frames));
    };
    let image = ImageInfo {
        base: BASE,
        size: code.next_multiple_of(4096),
        checksum: 0,
        time_stamp: 7,
        path: r"\Device\X\bench.exe".into(),
    };
    tell(1, Event::Image(ImageChange::Load, Box::new(image)), vec![]);
    tell(1, Event::ImageId(Box::new(ImageId { base: BASE, guid: key.guid, age: key.age, pdb: name })), vec![]);
    // Code begins at 0x1000 and is some half of the image; data and unwinding follow.
    let step = (code / 2 / addresses).max(1);
    let address = |n: u64| BASE + 0x1001 + n * step;
    for n in 0..addresses / FRAMES {
        let time = 10 + n as i64;
        tell(time, Event::Alloc { layer: Layer::Heap, heap: 0x1D_0000, address: 0x1000 + 16 * n, size: 16 }, vec![]);
        let stack = Event::Stack { owner: 1_000 + time, part: StackPart::User, frames: FrameRange::default() };
        tell(time, stack, (0..FRAMES).map(|i| address(n * FRAMES + i)).collect());
    }
    let file = folder.join("bench.etl");
    std::fs::write(&file, trace::trace(trace::session(false), &records)).unwrap();
    Arc::new(load(&Capture::open(&[Input::File(file)]).unwrap(), &mut Unwatched).unwrap())
}

fn memory(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap_or("0 kB");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) << 10
}

fn start(trace: &Arc<Trace>, path: &Path, saved: &Path, module: &Module, looked_at: &[u64]) -> Symbols {
    let sources = Sources { path: SymbolPath::parse(path.to_str().unwrap(), None), ..Sources::default() };
    let options = Options { sources, saved: Some(saved.to_owned()), workers: 2, frees: false, ..Options::default() };
    let symbols = Symbols::start(Arc::clone(trace), options, |_| true, || {});
    symbols.look_at(looked_at.iter().map(|&address| (module, address, FrameKind::Caller)));
    symbols
}

/// Waits until these frames have names.
fn names_of(symbols: &Symbols, module: &Module, looked_at: &[u64]) -> Duration {
    let start = Instant::now();
    loop {
        let names = symbols.names().1;
        if looked_at.iter().all(|&address| names.frames(module, address, FrameKind::Caller).is_some()) {
            return start.elapsed();
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn measure(pdb: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::metadata(pdb).unwrap().len();
    let trace = capture(pdb, 100_000, folder.path());
    let module = trace.processes.iter().flat_map(|process| &process.modules).next().unwrap();
    let looked_at: Vec<u64> = (0..50).map(|n| trace.stacks.address(highwater::model::NodeId(1 + n * 97))).collect();
    let before = memory("VmRSS:");
    let run = |path: &Path| {
        let begin = Instant::now();
        let symbols = start(&trace, path, &folder.path().join("names"), module, &looked_at);
        let first = names_of(&symbols, module, &looked_at);
        symbols.wait();
        let all = begin.elapsed();
        (first, all, symbols)
    };
    let (first, all, symbols) = run(pdb.parent().unwrap());
    let peak = memory("VmHWM:").saturating_sub(before);
    let report = symbols.modules().into_iter().next().unwrap();
    drop(symbols);
    let after = memory("VmRSS:").saturating_sub(before);
    let (again, all_again, _) = run(Path::new("nowhere"));
    let mb = |bytes: u64| bytes >> 20;
    println!(
        "{} ({} MB): 50 names after {first:.1?}, {} of {} addresses named after {all:.1?}; opened again {again:.1?}, all {all_again:.1?}; \
         memory {} MB at most ({:.1} times the PDB), {} MB afterwards",
        pdb.display(),
        mb(bytes),
        report.named,
        report.addresses,
        mb(peak),
        peak as f64 / bytes as f64,
        mb(after),
    );
}

fn main() {
    let pdbs = std::env::var("BENCH_PDBS").unwrap_or_default();
    if pdbs.is_empty() {
        println!("scripts/symbol-bench.sh makes the PDBs and runs this");
    }
    for pdb in pdbs.split(':').filter(|path| !path.is_empty()).map(PathBuf::from) {
        measure(&pdb);
    }
}
