//! `highwater record --self-test`: checks whether recording works on this machine. A program that allocates a known
//! number of blocks is recorded in each possible way, and the contents of the traces are compared with what it did.
//! One JSON file has all results, every call to Windows and the first events of each lane as they came; a person
//! sends it to find out what is wrong.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::capture::Target;
use crate::capture::control::Progress;
use crate::capture::properties::kernel_flags;
use crate::capture::windows::self_test::{TargetProgram, Trial, Way, about_this_machine, everything, record};
use crate::capture::windows::target::{self, Blocks, TRACKER_NAME};
use crate::capture::windows::{Journal, MachineFacts};
use crate::cli::outputs::{check_out, write_out};
use crate::cli::{Failure, output};
use crate::etl::TraceFile;
use crate::events::{PresentApi, survey};
use crate::load::{Capture, Input, Unwatched, load};
use crate::model::{Activity, Mark, NodeId, ProcessId, Row, Trace};
use crate::paths::Existing;
use crate::units::{Layer, Pid, Ticks};
use crate::windows_reader::count_events;

/// The report of the self-test.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    machine: MachineFacts,
    recordings: Vec<Recorded>,
    /// Problems that were found, in sentences; none if all is well.
    complaints: Vec<String>,
}

/// One recording.
#[derive(Serialize)]
struct Recorded {
    /// `launch`, `pid` or `name`.
    way: &'static str,
    program: String,
    pid: u32,
    error: Option<String>,
    progress: Progress,
    trace: Option<String>,
    heap: Comparison,
    commit: Comparison,
    tracker: Comparison,
    beside_memory: BesideMemory,
    /// Events in the trace, as highwater (expected) and Windows (found) count them.
    read_by_windows: Option<Number>,
    #[serde(flatten)]
    journal: Journal,
}

/// Expected and found blocks of one layer.
#[derive(Serialize)]
struct Comparison {
    expected: Counts,
    found: Counts,
    /// Number of found allocations that have a call stack.
    with_stack: u64,
    /// Number of found allocations whose call stack has a frame of the program.
    through_program: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize)]
struct Counts {
    count: u64,
    bytes: u64,
    freed: u64,
}

/// File name of the report in the folder.
const REPORT: &str = "self-test.json";

/// Expected and found numbers of everything besides memory.
#[derive(Serialize)]
struct BesideMemory {
    marks: Number,
    frames: Number,
    methods: Number,
    /// The expected number is a minimum.
    samples: Number,
    /// Number of found samples whose call stack has a frame of the program.
    samples_through_program: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
struct Number {
    expected: u64,
    found: u64,
}

/// Records in all ways, compares, and writes the report into `folder`; `existing` says whether files of an earlier
/// test are replaced.
pub(super) fn run(folder: &Path, existing: Existing) -> Result<(), Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::Failed(error.to_string()))?;
    let mut programs =
        vec![TargetProgram { path: own.clone(), words: vec!["record".to_owned(), "--self-test-target".to_owned()] }];
    // It is there only where it was built; see capture::windows::target.
    let narrow = own.with_file_name("highwater-target32.exe");
    programs.extend(narrow.exists().then_some(TargetProgram { path: narrow, words: Vec::new() }));
    let traces = (0..programs.len()).flat_map(|number| Way::ALL.map(|way| trace_of(folder, number, way)));
    traces.chain([folder.join(REPORT)]).try_for_each(|file| check_out(&file, existing))?;
    run_with(folder, &programs)
}

/// Tests recording as [`run`] does, with other programs that do the same.
pub(in crate::cli) fn run_with(folder: &Path, programs: &[TargetProgram]) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::Failed(format!("{}: {error}", folder.display())))?;
    let machine = about_this_machine();
    let mut recordings = Vec::new();
    for (number, program) in programs.iter().enumerate() {
        for way in Way::ALL {
            let name = program.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            output::message(&format!("recording {name} by {}", way.name()));
            let place = folder.join(number.to_string());
            make_way(&trace_of(folder, number, way))?;
            let trial = record(way, program, &place);
            recordings.push(Recorded::new(way, name, trial));
        }
    }
    let complaints: Vec<String> = recordings.iter().flat_map(Recorded::complaints).collect();
    complaints.iter().for_each(|complaint| output::message(complaint));
    let report = Report { schema: "highwater.self-test/1", version: env!("CARGO_PKG_VERSION"), machine, recordings, complaints };
    let path = folder.join(REPORT);
    write(&path, &report)?;
    if report.complaints.is_empty() {
        output::message(&format!("recording works on this machine; {} has the details", path.display()));
        return Ok(());
    }
    Err(Failure::Failed(format!("recording does not work as it should here: please send {}", path.display())))
}

fn write(path: &PathBuf, report: &Report) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(report).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
    write_out(path, Existing::GivesWay, "the report", |draft| draft.write_all((text + "\n").as_bytes()))
}

/// The path of the trace of one program that is recorded in one way.
fn trace_of(folder: &Path, number: usize, way: Way) -> PathBuf {
    folder.join(number.to_string()).join(format!("{}.etl", way.name()))
}

/// Removes the trace of an earlier test, which may be replaced if the report of that test may.
fn make_way(trace: &Path) -> Result<(), Failure> {
    check_out(trace, Existing::GivesWay)?;
    match std::fs::remove_file(trace) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::Failed(format!("{}: {error}", trace.display())))
        }
        _ => Ok(()),
    }
}

impl Recorded {
    fn new(way: Way, program: String, trial: Trial) -> Self {
        let Trial { pid, journal, progress, trace, mut error } = trial;
        let loaded = trace.as_ref().map(|path| {
            let capture = Capture::open(&[Input::File(path.clone())]).map_err(|error| error.to_string())?;
            load(&capture, &mut Unwatched).map_err(|_| "reading it was stopped".to_owned())
        });
        let loaded = match loaded {
            Some(Err(reason)) => {
                error.get_or_insert(reason);
                None
            }
            Some(Ok(trace)) => Some(trace),
            None => None,
        };
        let read_by_windows = match trace.as_deref().map(read_by_windows).transpose() {
            Ok(counted) => counted,
            Err(reason) => {
                error.get_or_insert(reason);
                None
            }
        };
        let compare = |layer, blocks| Comparison::new(layer, blocks, loaded.as_ref(), pid, &program);
        Self {
            way: way.name(),
            pid,
            error,
            progress,
            trace: trace.map(|path| path.display().to_string()),
            heap: compare(Layer::Heap, target::HEAP),
            commit: compare(Layer::Commit, target::COMMIT),
            tracker: compare(Layer::Tracker, target::TRACKER),
            beside_memory: BesideMemory::new(loaded.as_ref(), pid, &program),
            read_by_windows,
            program,
            journal,
        }
    }

    fn complaints(&self) -> Vec<String> {
        let Self { way, program, .. } = self;
        let mut all: Vec<String> = self.error.iter().chain(&self.progress.warning).cloned().collect();
        for (layer, comparison) in [("heap", &self.heap), ("commit", &self.commit), ("tracker", &self.tracker)] {
            all.extend(comparison.complaint().map(|complaint| format!("{layer}: {complaint}")));
        }
        all.extend(self.beside_memory.complaints());
        all.extend(self.masks_complaint());
        all.extend(self.read_by_windows.filter(|number| number.expected != number.found).map(|number| {
            let Number { expected, found } = number;
            format!("reading: highwater finds {expected} events in the trace and Windows {found}")
        }));
        let lost = self.progress.lost_events + self.progress.lost_buffers;
        all.extend((lost > 0).then(|| "events were lost".to_owned()));
        all.into_iter().map(|complaint| format!("{program} by {way}: {complaint}")).collect()
    }
}

impl Recorded {
    /// The complaint if Windows has not switched on all kernel events that were requested: processes, threads,
    /// images, pages, samples.
    fn masks_complaint(&self) -> Option<String> {
        let answer = self.journal.calls.iter().rev().find_map(|call| call.answer.as_ref())?;
        let first = answer.split(' ').next()?.trim_start_matches("0x");
        let on = u32::from_str_radix(first, 16).ok()?;
        let missing = kernel_flags(&everything(Target::Pids(Vec::new()))) & !on;
        (missing != 0).then(|| format!("Windows has switched on {on:#x} of the kernel's events, and not {missing:#x}"))
    }
}

/// Has the events of a trace counted by Windows, too.
fn read_by_windows(path: &Path) -> Result<Number, String> {
    let file = TraceFile::open(path).map_err(|error| error.to_string())?;
    let expected = survey(&file).counts.total;
    let found = count_events(path).map_err(|reason| format!("Windows' reader and {}: {reason}", path.display()))?;
    Ok(Number { expected, found })
}

impl BesideMemory {
    fn new(trace: Option<&Trace>, pid: u32, program: &str) -> Self {
        let of = |expected, found| Number { expected, found };
        let Some(trace) = trace else {
            let none = |expected| of(expected, 0);
            let (marks, frames, methods) = (none(target::MARKS), none(target::FRAMES), none(target::METHODS));
            return Self { marks, frames, methods, samples: none(target::FEWEST_SAMPLES), samples_through_program: 0 };
        };
        let is_its = |process| trace.process(process).pid == Pid(pid);
        // GPU memory, page faults and views are not tested: they depend on the machine.
        let Activity { marks, presents, managed, samples, gpu: _, faults: _, views: _ } = &trace.activity;
        let is_mark = |mark: &&Mark| &*mark.text == target::MARK_TEXT && mark.process.is_some_and(is_its);
        let frames = presents.iter().filter(|lane| lane.api == PresentApi::Marks && is_its(lane.process));
        let methods = managed.processes().into_iter().filter(|process| is_its(*process));
        let methods = methods.flat_map(|process| managed.methods(process));
        let its: Vec<_> = samples.list.iter().filter(|sample| is_its(samples.process(sample))).collect();
        let through = its.iter().filter(|sample| {
            let stack = samples.sites[sample.site.0 as usize].stack;
            goes_through(trace, samples.process(sample), stack, sample.at, program)
        });
        Self {
            marks: of(target::MARKS, marks.list.iter().filter(is_mark).count() as u64),
            frames: of(target::FRAMES, frames.map(|lane| lane.times.len() as u64).sum()),
            methods: of(target::METHODS, methods.filter(|method| method.name.starts_with(target::METHOD_NAME)).count() as u64),
            samples: of(target::FEWEST_SAMPLES, its.len() as u64),
            samples_through_program: through.count() as u64,
        }
    }

    fn complaints(&self) -> Vec<String> {
        let Self { marks, frames, methods, samples, samples_through_program } = self;
        let exact = [("marks", marks), ("frames", frames), ("managed code", methods)];
        let mut all: Vec<String> = exact
            .into_iter()
            .filter(|(_, number)| number.expected != number.found)
            .map(|(what, number)| format!("{what}: {} were expected and {} found", number.expected, number.found))
            .collect();
        if samples.found < samples.expected {
            all.push(format!("samples: at least {} were expected and {} found", samples.expected, samples.found));
        } else if *samples_through_program == 0 {
            all.push(format!("samples: none of {} has a call stack through the program", samples.found));
        }
        all
    }
}

/// Whether a stack has a frame of the program.
fn goes_through(trace: &Trace, process: ProcessId, stack: NodeId, at: Ticks, program: &str) -> bool {
    let is_of_program = |node| {
        let module = trace.module_at(process, trace.stacks.address(node), at);
        module.is_some_and(|module| module.name().eq_ignore_ascii_case(program))
    };
    trace.stacks.chain(stack).any(is_of_program)
}

impl Comparison {
    /// Counts the rows of the layer that have exactly this size: no other blocks have it.
    fn new(layer: Layer, Blocks { count, size, freed }: Blocks, trace: Option<&Trace>, pid: u32, program: &str) -> Self {
        let mut comparison = Self {
            expected: Counts { count, bytes: count * size, freed },
            found: Counts::default(),
            with_stack: 0,
            through_program: 0,
        };
        if let Some(trace) = trace {
            for chunk in trace.rows.chunks() {
                for (_, row) in chunk.rows().filter(|(_, row)| row.size == size) {
                    comparison.add(trace, &row, layer, pid, program);
                }
            }
        }
        comparison
    }

    fn add(&mut self, trace: &Trace, row: &Row, layer: Layer, pid: u32, program: &str) {
        let site = trace.site(row.site);
        let heap = trace.heap(site.heap);
        let process = trace.process(heap.process);
        let is_ours = layer != Layer::Tracker || heap.name.as_deref() == Some(TRACKER_NAME);
        if heap.layer != layer || process.pid != Pid(pid) || !is_ours {
            return;
        }
        self.found.count += 1;
        self.found.bytes += row.size;
        // Pages that still existed at the end of the process were not freed: they went with it.
        self.found.freed += u64::from(row.death < process.end.unwrap_or(Ticks::NEVER));
        self.with_stack += u64::from(site.stack != NodeId::ROOT);
        self.through_program += u64::from(goes_through(trace, heap.process, site.stack, row.birth, program));
    }

    fn complaint(&self) -> Option<String> {
        let Self { expected, found, with_stack, through_program } = self;
        if found != expected {
            let told =
                |counts: &Counts| format!("{} blocks of {} bytes in all, {} freed", counts.count, counts.bytes, counts.freed);
            return Some(format!("{} were expected and {} found", told(expected), told(found)));
        }
        (*through_program < found.count).then(|| {
            format!("of {} blocks {with_stack} have a call stack, {through_program} of them through the program", found.count)
        })
    }
}
