//! `highwater record --self-test`: does recording work on this machine? A program that allocates
//! a known number of blocks is recorded in each way there is, and what the traces hold is
//! compared with what it did. All of it, with every call to Windows and the first events of each
//! lane as they came, is in one JSON file: what a person sends who wants to know what is wrong.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::capture::control::Progress;
use crate::capture::windows::self_test::{TargetProgram, Trial, Way, about_this_machine, record};
use crate::capture::windows::target::{self, Blocks, TRACKER_NAME};
use crate::capture::windows::{Journal, MachineFacts};
use crate::cli::outputs::{check_out, write_out};
use crate::cli::{Failure, output};
use crate::load::{Capture, Input, Unwatched, load};
use crate::model::{NodeId, Row, Trace};
use crate::paths::Existing;
use crate::units::{Layer, Pid, Ticks};

/// All that is known afterwards.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    machine: MachineFacts,
    recordings: Vec<Recorded>,
    /// What went wrong, in sentences; none if all is well.
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
    #[serde(flatten)]
    journal: Journal,
}

/// What was to be in the trace, and what is.
#[derive(Serialize)]
struct Comparison {
    expected: Counts,
    found: Counts,
    /// Of the allocations found, how many have a call stack, ...
    with_stack: u64,
    /// ... and in how many stacks there is a frame of the program.
    through_program: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize)]
struct Counts {
    count: u64,
    bytes: u64,
    freed: u64,
}

/// The report in the folder.
const REPORT: &str = "self-test.json";

/// Records all, compares, writes the report into `folder`, in which that of an earlier test may have to give way.
pub(super) fn run(folder: &Path, existing: Existing) -> Result<(), Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::Failed(error.to_string()))?;
    let mut programs =
        vec![TargetProgram { path: own.clone(), words: vec!["record".to_owned(), "--self-test-target".to_owned()] }];
    // Where it was built, see capture::windows::target.
    let narrow = own.with_file_name("highwater-target32.exe");
    programs.extend(narrow.exists().then_some(TargetProgram { path: narrow, words: Vec::new() }));
    let traces = (0..programs.len()).flat_map(|number| Way::ALL.map(|way| trace_of(folder, number, way)));
    traces.chain([folder.join(REPORT)]).try_for_each(|file| check_out(&file, existing))?;
    run_with(folder, &programs)
}

/// The same of other programs that do the same.
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

/// Where the recording of a program in a way is written.
fn trace_of(folder: &Path, number: usize, way: Way) -> PathBuf {
    folder.join(number.to_string()).join(format!("{}.etl", way.name()))
}

/// Removes the trace of an earlier test, which may give way if its report may.
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
        let lost = self.progress.lost_events + self.progress.lost_buffers;
        all.extend((lost > 0).then(|| "events were lost".to_owned()));
        all.into_iter().map(|complaint| format!("{program} by {way}: {complaint}")).collect()
    }
}

impl Comparison {
    /// The rows of the layer that have just that size: nobody else's blocks do.
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
        // Pages that were there at the end of the process went with it.
        self.found.freed += u64::from(row.death < process.end.unwrap_or(Ticks::NEVER));
        self.with_stack += u64::from(site.stack != NodeId::ROOT);
        let is_of_program = |node| {
            let module = trace.module_at(heap.process, trace.stacks.address(node), row.birth);
            module.is_some_and(|module| module.name().eq_ignore_ascii_case(program))
        };
        self.through_program += u64::from(trace.stacks.chain(site.stack).any(is_of_program));
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
