//! `highwater record`: records memory events of this machine's programs into one `.etl`, and recovers one from a
//! recording that crashed.
//!
//! It reports progress once a second. The window records with a program of its own (`crates/recorder`).

#[cfg(windows)]
mod live;
mod making;
#[cfg(windows)]
mod self_test;

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};

use super::outputs::Replace;
#[cfg(not(windows))]
use super::outputs::check_file_out;
use super::providers::read_trackers;
use super::{Failure, output};
#[cfg(not(windows))]
use crate::capture::CaptureError;
use crate::capture::providers::provider_of;
use crate::capture::{Allocator, Children, DiskImages, Request, Ring, StopWhen, Target, recording_profile, recover};
use crate::etl::Guid;
use crate::format::parse_bytes;
use crate::load::Input;
use crate::paths::Existing;
use crate::seconds::Seconds;
use making::{failure, in_place, told};

#[derive(Args, Debug)]
// Written out, since the generated one has the hidden option, too.
#[command(
    override_usage = "highwater record [OPTIONS] <--pid <N>...|--name <GAME.EXE>|--launch <COMMAND>|--recover <FOLDER>|--self-test|--clean-up>"
)]
#[command(group = ArgGroup::new("what").required(true).multiple(true))]
pub(super) struct RecordArgs {
    /// Running processes, by id
    #[arg(long, value_name = "N", group = "what", num_args = 1.., value_delimiter = ',', conflicts_with_all = ["name", "launch"])]
    pid: Vec<u32>,

    /// Programs by file name, running or started later; with --launch, child programs whose heaps are recorded too
    #[arg(long, value_name = "GAME.EXE", group = "what")]
    name: Option<String>,

    /// Start a program and record it from its first instruction, with commit and trackers of its child programs
    #[arg(long, value_name = "COMMAND", group = "what")]
    launch: Option<String>,

    /// Recover a trace from the folder that an interrupted recording left
    #[arg(long, value_name = "FOLDER", group = "what", conflicts_with_all = ["pid", "name", "launch"])]
    recover: Option<PathBuf>,

    /// Test recording on this machine: record a program with known allocations, compare, and write a report and the
    /// traces to the folder of --output
    #[arg(long, group = "what", conflicts_with_all = ["pid", "name", "launch", "recover"])]
    self_test: bool,

    /// Be that program
    #[arg(long, hide = true, group = "what", conflicts_with_all = ["pid", "name", "launch", "recover", "self_test"])]
    self_test_target: bool,

    /// Wait to be told
    #[arg(long, hide = true, requires = "self_test_target")]
    wait: bool,

    /// Only measure: record for one second, print events and bytes per minute, and what to leave out if that is much
    #[arg(long, conflicts_with_all = ["launch", "recover", "self_test", "self_test_target", "clean_up", "output"])]
    estimate: bool,

    /// Only print a recording profile for Windows Performance Recorder (wpr), to record without highwater
    #[arg(long, conflicts_with_all = ["launch", "recover", "self_test", "self_test_target", "clean_up", "output", "estimate", "ring", "stop_when"])]
    print_wprp: bool,

    /// Stop sessions and restore TracingFlags of recordings that no longer run
    #[arg(long, group = "what", conflicts_with_all = ["pid", "name", "launch", "recover", "self_test"])]
    clean_up: bool,

    /// Record commit: VirtualAlloc [default: all three layers]
    #[arg(long)]
    commit: bool,

    /// Record Windows NT heaps
    #[arg(long)]
    heap: bool,

    /// Record trackers: custom heaps, mimalloc and PIX; with a FILE (TOML), map events of your own allocators, whatever
    /// the layers
    #[arg(long, value_name = "FILE")]
    trackers: Option<Option<PathBuf>>,

    /// Record frames: Direct3D presents, on Windows 11 those of Vulkan and OpenGL too, and UIforETW's frame marks
    #[arg(long)]
    frames: bool,

    /// Record GPU memory: usage, budget and commitment, of the graphics card and of system memory
    #[arg(long)]
    gpu: bool,

    /// Record .NET: names of compiled methods, and garbage collections
    #[arg(long)]
    managed: bool,

    /// Record this provider's events as marks: name or GUID; repeatable
    #[arg(long, value_name = "PROVIDER", value_delimiter = ',', value_parser = provider_of)]
    marks: Vec<Guid>,

    /// Record CPU samples with call stacks, 1,000 per second and CPU
    #[arg(long)]
    samples: bool,

    /// Record page faults with call stacks: first touches of committed memory, and waits for pages read from disk.
    /// Adds many events: one for each 4 KB that a program touches first
    #[arg(long)]
    faults: bool,

    /// Record the call stacks of allocations
    #[arg(long)]
    stacks: bool,

    /// Record the call stacks of frees too
    #[arg(long)]
    free_stacks: bool,

    /// Ring buffer: keep only the last part, by time (30s, 5m) or size (500MB, 2GB)
    #[arg(long, value_name = "5m|500MB", value_parser = ring)]
    ring: Option<Ring>,

    /// Stop when this holds: private>8G (largest recorded process), commit>90% or commit>60G, free<500M (machine),
    /// growth>10M/s (over ten seconds); repeatable
    #[arg(long, value_name = "CONDITION")]
    stop_when: Vec<StopWhen>,

    #[command(flatten)]
    replace: Replace,

    /// Output trace
    #[arg(short, long, value_name = "OUT.etl", required_unless_present_any = ["clean_up", "estimate", "print_wprp", "self_test", "self_test_target"])]
    output: Option<PathBuf>,
}

impl RecordArgs {
    /// The inputs of a recovery.
    pub(super) fn inputs(&self) -> Vec<Input> {
        self.recover.iter().cloned().map(Input::File).collect()
    }

    /// The recording that is requested.
    fn request(&self) -> Result<Request, Failure> {
        let (names_trackers, names_file) = (self.trackers == Some(None), matches!(self.trackers, Some(Some(_))));
        let mapped = read_trackers(self.trackers.as_ref().and_then(Option::as_deref))?;
        let target = match (&self.name, &self.launch) {
            (_, Some(command)) => Target::Launch(command.clone()),
            (Some(name), _) => Target::Image(name.clone()),
            _ => Target::Pids(self.pid.clone()),
        };
        let all = !(self.commit || self.heap || names_trackers);
        let request = Request::new(target);
        let with_heaps = self.launch.as_ref().and(self.name.clone());
        Ok(Request {
            children: Children { with_heaps, ..request.children.clone() },
            commit: all || self.commit,
            heap: all || self.heap,
            trackers: all || names_trackers,
            // Those of the settings' file come with trackers, those of a file that is given with everything.
            allocators: if all || names_trackers || names_file { Allocator::of_users(&mapped) } else { Vec::new() },
            frames: self.frames,
            gpu: self.gpu,
            managed: self.managed,
            samples: self.samples,
            faults: self.faults,
            marks: self.marks.clone(),
            stacks: self.stacks || self.free_stacks,
            free_stacks: self.free_stacks,
            ring: self.ring,
            stop_when: self.stop_when.clone(),
            ..request
        })
    }
}

/// The argument of `--ring`: how much of the past is kept. A bare number could be a time or a size, and is refused; `m` alone
/// stands for minutes.
fn ring(text: &str) -> Result<Ring, String> {
    const WANTED: &str = "expected a time such as 30s or 5m, or a size such as 500MB or 2GB";
    let ends_with_digit = |text: &str| text.trim_end().ends_with(|c: char| c.is_ascii_digit());
    if ends_with_digit(text) {
        return Err(WANTED.to_owned());
    }
    let minutes = text.strip_suffix(['m', 'M']).filter(|number| ends_with_digit(number)).map(|number| format!("{number}min"));
    let time = minutes.as_deref().unwrap_or(text).parse::<Seconds>().ok().and_then(Seconds::duration);
    match time {
        Some(time) => Ok(Ring::Time(time)),
        None => parse_bytes(text).map(Ring::Bytes).map_err(|_| WANTED.to_owned()),
    }
}

#[cfg(windows)]
pub(super) use self_test::run_with as self_test;

/// Records, recovers, cleans up, or tests itself.
pub(super) fn run(args: &RecordArgs) -> Result<(), Failure> {
    if args.self_test_target {
        return be_recorded(args.wait);
    }
    if args.self_test {
        return test_itself(args.output.as_deref().unwrap_or(Path::new("highwater-self-test")), args.replace.existing());
    }
    if args.print_wprp {
        let request = args.request()?;
        request.check().map_err(failure)?;
        return output::document(&recording_profile(&request));
    }
    if args.estimate {
        return estimate(&args.request()?);
    }
    match (&args.recover, &args.output) {
        (Some(folder), Some(out)) => recover_into(folder, out, args.replace.existing()),
        (None, Some(out)) if !args.clean_up => record(&args.request()?, out, args.replace.existing()),
        // Clap requires an output for everything else.
        _ => clean_up(),
    }
}

fn recover_into(folder: &Path, out: &Path, existing: Existing) -> Result<(), Failure> {
    let summary = in_place(out, existing, |to| recover(folder, to, &mut own_images(), &mut |_, _| true))?;
    output::message(&told(out, &summary));
    super::report_problems(&summary.problems);
    Ok(())
}

/// Image files on the drives of this machine, and its manifests; those of a recording from another machine are not here.
fn own_images() -> DiskImages {
    #[cfg(windows)]
    let images = DiskImages::new(crate::capture::windows::volumes());
    #[cfg(not(windows))]
    let images = DiskImages::default();
    images.with_manifests(crate::windows_reader::installed_manifests())
}

#[cfg(windows)]
fn be_recorded(waits: bool) -> Result<(), Failure> {
    crate::capture::windows::target::run(waits);
    Ok(())
}

#[cfg(not(windows))]
fn be_recorded(_waits: bool) -> Result<(), Failure> {
    Err(failure(CaptureError::NotWindows))
}

#[cfg(windows)]
use self_test::run as test_itself;

#[cfg(not(windows))]
fn test_itself(_folder: &Path, _existing: Existing) -> Result<(), Failure> {
    Err(failure(CaptureError::NotWindows))
}

#[cfg(windows)]
use live::{estimate, run as record, run_clean_up as clean_up};

#[cfg(not(windows))]
fn estimate(request: &Request) -> Result<(), Failure> {
    request.check().map_err(failure)?;
    Err(failure(CaptureError::NotWindows))
}

#[cfg(not(windows))]
fn record(request: &Request, out: &Path, existing: Existing) -> Result<(), Failure> {
    request.check().map_err(failure)?;
    check_file_out(out, existing)?;
    Err(failure(CaptureError::NotWindows))
}

#[cfg(not(windows))]
fn clean_up() -> Result<(), Failure> {
    Err(failure(CaptureError::NotWindows))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::*;
    use crate::events::class;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        record: RecordArgs,
    }

    fn request(words: &[&str]) -> Option<Request> {
        let words = [&["record", "-o", "out.etl"], words].concat();
        Cli::try_parse_from(words).ok()?.record.request().ok()
    }

    #[test]
    fn what_is_recorded_is_said_in_one_way_only() {
        assert_eq!(request(&["--pid", "10", "20"]).unwrap().target, Target::Pids(vec![10, 20]));
        assert_eq!(request(&["--pid", "10,20"]).unwrap().target, Target::Pids(vec![10, 20]));
        assert_eq!(request(&["--name", "game.exe"]).unwrap().target, Target::Image("game.exe".into()));
        assert_eq!(request(&["--launch", "game.exe -x"]).unwrap().target, Target::Launch("game.exe -x".into()));
        let both = request(&["--launch", "launcher.exe", "--name", "game.exe"]).unwrap();
        assert_eq!(both.target, Target::Launch("launcher.exe".into()));
        assert_eq!(both.children, Children { are_recorded: true, with_heaps: Some("game.exe".into()) });
        assert!(request(&["--pid", "10", "--launch", "x"]).is_none() && request(&["--name", "x", "--recover", "y"]).is_none());
        assert!(Cli::try_parse_from(["record", "-o", "out.etl"]).is_err());
        assert!(Cli::try_parse_from(["record", "-o", "out.etl", "--pid", "1", "--name", "x"]).is_err());
        assert!(Cli::try_parse_from(["record", "--pid", "10"]).is_err(), "no trace to write");
        assert!(Cli::try_parse_from(["record", "-o", "out.etl", "--recover", "folder", "--clean-up"]).is_err());
        assert!(Cli::try_parse_from(["record", "--clean-up"]).is_ok(), "it writes no trace");
        assert!(Cli::try_parse_from(["record", "--recover", "folder"]).is_err());
        assert!(Cli::try_parse_from(["record", "--pid", "10", "--estimate"]).is_ok(), "it writes no trace");
        assert!(Cli::try_parse_from(["record", "--launch", "x", "--estimate"]).is_err());
        assert!(Cli::try_parse_from(["record", "--pid", "10", "--estimate", "-o", "out.etl"]).is_err());
    }

    #[test]
    fn all_layers_are_recorded_unless_some_are_named() {
        let layers = |words: &[&str]| {
            let request = request(&[&["--pid", "10"], words].concat()).unwrap();
            (request.commit, request.heap, request.trackers, request.stacks, request.free_stacks)
        };
        assert_eq!(layers(&[]), (true, true, true, false, false));
        assert_eq!(layers(&["--heap", "--stacks"]), (false, true, false, true, false));
        assert_eq!(layers(&["--commit", "--trackers", "--free-stacks"]), (true, false, true, true, true));
        assert_eq!(layers(&["--frames"]), (true, true, true, false, false), "frames are no layer");
    }

    #[test]
    fn what_is_beside_memory_is_recorded_only_if_it_is_named() {
        let beside = |words: &[&str]| {
            let request = request(&[&["--pid", "10"], words].concat()).unwrap();
            (request.frames, request.managed, request.samples, request.gpu)
        };
        assert!(!request(&["--pid", "10"]).unwrap().faults && request(&["--pid", "10", "--faults"]).unwrap().faults);
        assert_eq!(beside(&["--heap"]), (false, false, false, false));
        assert_eq!(beside(&["--frames"]), (true, false, false, false));
        assert_eq!(beside(&["--managed"]), (false, true, false, false));
        assert_eq!(beside(&["--samples"]), (false, false, true, false));
        assert_eq!(beside(&["--gpu"]), (false, false, false, true));
        let marks = |words: &[&str]| Some(request(&[&["--pid", "10"], words].concat())?.marks);
        assert_eq!(marks(&[]).unwrap(), []);
        let own: Guid = "11112222-3333-4444-5555-666677778888".parse().unwrap();
        let named = ["--marks", "Multi-Main,{11112222-3333-4444-5555-666677778888}", "--marks", "multi-worker"];
        assert_eq!(marks(&named).unwrap(), [class::MULTI_MAIN, own, class::MULTI_WORKER]);
        assert!(marks(&["--marks", "My*"]).is_none());
    }

    #[test]
    fn a_ring_is_a_time_or_a_size() {
        let ring = |text: &str| ring(text).ok();
        assert_eq!(ring("30s"), Some(Ring::Time(Duration::from_secs(30))));
        assert_eq!(ring("5m"), Some(Ring::Time(Duration::from_secs(300))));
        assert_eq!(ring("2h"), Some(Ring::Time(Duration::from_secs(7200))));
        assert_eq!(ring("500MB"), Some(Ring::Bytes(500 << 20)));
        assert_eq!(ring("2gb"), Some(Ring::Bytes(2 << 30)));
        assert_eq!(ring("1.5 GiB"), Some(Ring::Bytes(3 << 29)));
        assert_eq!(ring("90.5s"), Some(Ring::Time(Duration::from_millis(90_500))));
        for five in ["5M", "5 m", "5min", "5 min", "300s"] {
            assert_eq!(ring(five), Some(Ring::Time(Duration::from_secs(300))), "{five}");
        }
        for bad in ["", "5", "1.5", "m", "-5m", "5x", "99999999999999999999s", "20000000T"] {
            assert_eq!(ring(bad), None, "{bad}");
        }
    }
}
