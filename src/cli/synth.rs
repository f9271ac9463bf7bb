//! `highwater synth`: writes generated traces, for tests, benchmarks and the demo. Hidden, because it is an
//! instrument of the project, not of its users.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::Failure;
use super::outputs::{Replace, unwritten};
use crate::etl::compression::Algorithm;
use crate::etl::write::WriteError;
use crate::paths::{self, Draft, Existing, Reading, Refusal};
use crate::synth::{Nightly, Options, Scenario, StackForm, SynthError, generate, generate_recorded};

/// Write a generated trace.
#[derive(clap::Args, Clone, Debug)]
pub struct SynthArgs {
    /// Scenario to write; `demo` takes no further options
    #[arg(value_enum)]
    scenario: ScenarioName,
    /// File to write
    #[arg(short, long, value_name = "OUT.etl")]
    output: PathBuf,
    /// A recording of heaptrack, as text (recorded)
    #[arg(long, value_name = "FILE", required_if_eq("scenario", "recorded"))]
    recording: Option<PathBuf>,
    /// Memory events; stacks come on top
    #[arg(long, default_value_t = Options::default().events)]
    events: u64,
    /// Number the randomness starts from
    #[arg(long, default_value_t = Options::default().seed)]
    seed: u64,
    /// Processors
    #[arg(long, default_value_t = Options::default().processors)]
    processors: u16,
    /// Processes
    #[arg(long, default_value_t = Options::default().processes)]
    processes: u32,
    /// Threads of each process
    #[arg(long, default_value_t = Options::default().threads)]
    threads: u32,
    /// Heaps or trackers of each process
    #[arg(long, default_value_t = Options::default().heaps)]
    heaps: u32,
    /// How events get their stacks
    #[arg(long, value_enum, default_value = "walk")]
    stacks: StackName,
    /// Give frees stacks too (heap)
    #[arg(long)]
    free_stacks: bool,
    /// Distinct stacks in all
    #[arg(long, default_value_t = Options::default().distinct_stacks)]
    distinct_stacks: u32,
    /// Most blocks alive at any time
    #[arg(long, default_value_t = Options::default().live)]
    live: u32,
    /// Compress the buffers
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "xpress")]
    compressed: Option<CompressionName>,
    /// Make the last process a 32-bit one (heap and trackers)
    #[arg(long)]
    wow64: bool,
    /// Give kernel events headers of all kinds in turn
    #[arg(long)]
    mixed_headers: bool,
    /// Add counters of the system, of processes and heaps (heap)
    #[arg(long)]
    counters: bool,
    /// Add so many samples of processors (heap)
    #[arg(long, default_value_t = 0)]
    samples: u64,
    /// Lose so many buffers on the way (heap)
    #[arg(long, default_value_t = 0)]
    lost_buffers: u32,
    /// Day, slide of the program, leaks, settings, messages, pairs (nightly)
    #[arg(long, value_delimiter = ',', value_name = "N,N,N,N,N,N", required_if_eq("scenario", "nightly"))]
    nightly: Vec<u32>,
    /// Take time over it: seconds of the trace a second
    #[arg(long)]
    speed: Option<f64>,
    #[command(flatten)]
    replace: Replace,
}

/// Names of the scenarios.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum ScenarioName {
    Demo,
    Heap,
    Commit,
    Trackers,
    /// A night of the demo's program, with known numbers
    Nightly,
    /// A recording of a real program by heaptrack
    Recorded,
}

/// Names of the forms of stacks.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum StackName {
    Walk,
    Keys,
    None,
}

/// Names of the forms of compression.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum CompressionName {
    Xpress,
    Lznt1,
    Huffman,
}

/// The reason why no trace was written: one sentence that names the file.
#[derive(Debug, Error)]
#[error("{path}: {reason}")]
pub struct SynthFailure {
    path: String,
    reason: SynthError,
}

impl From<SynthFailure> for Failure {
    fn from(failure: SynthFailure) -> Self {
        match &failure.reason {
            SynthError::Write(WriteError::Io(error)) if Refusal::of(error).is_some() => {
                unwritten(Path::new(&failure.path), "the trace", error)
            }
            _ => Self::Failed(failure.to_string()),
        }
    }
}

/// Writes the trace and returns its size in bytes.
pub fn run(args: &SynthArgs) -> Result<u64, SynthFailure> {
    write(args).map_err(|reason| SynthFailure { path: args.output.display().to_string(), reason })
}

fn write(args: &SynthArgs) -> Result<u64, SynthError> {
    let existing = args.replace.existing();
    let _read = Reading::of(args.recording.clone());
    // A trace that is written slowly is followed meanwhile, so it is no draft.
    let is_device = args.output.metadata().is_ok_and(|is| !is.is_file() && !is.is_dir());
    let draft = if args.speed.is_some() || is_device { None } else { Some(draft(&args.output, existing)?) };
    let file = match &draft {
        Some(draft) => draft.file.try_clone(),
        None => paths::create(&args.output, existing),
    };
    // Compressed buffers are written in two parts.
    let out = BufWriter::with_capacity(1 << 20, file.map_err(WriteError::from)?);
    let recording = args.recording.as_ref().filter(|_| matches!(args.scenario, ScenarioName::Recorded));
    let mut out = match recording {
        Some(recording) => {
            let recording = File::open(recording).map_err(WriteError::from)?;
            generate_recorded(BufReader::with_capacity(1 << 20, recording), &args.options(), out)?
        }
        None => generate(&args.options(), out)?,
    };
    out.flush().map_err(WriteError::from)?;
    let bytes = out.get_ref().metadata().map_err(WriteError::from)?.len();
    drop(out);
    draft.map(|draft| draft.keep(existing)).transpose().map_err(WriteError::from)?;
    Ok(bytes)
}

fn draft(out: &Path, existing: Existing) -> Result<Draft, WriteError> {
    paths::check(out, existing).map_err(io::Error::from)?;
    Ok(Draft::begin(out)?)
}

impl SynthArgs {
    /// The options of the night; a number that is not given is 0.
    fn nightly(&self) -> Nightly {
        let number = |i: usize| self.nightly.get(i).copied().unwrap_or(0);
        let [day, slide, leaks, settings, messages, pairs] = std::array::from_fn(number);
        Nightly { day, slide, leaks, settings, messages, pairs }
    }

    fn options(&self) -> Options {
        Options {
            scenario: match self.scenario {
                ScenarioName::Demo => Scenario::Demo,
                ScenarioName::Heap | ScenarioName::Recorded => Scenario::Heap,
                ScenarioName::Commit => Scenario::Commit,
                ScenarioName::Trackers => Scenario::Trackers,
                ScenarioName::Nightly => Scenario::Nightly,
            },
            seed: self.seed,
            events: self.events,
            processors: self.processors,
            processes: self.processes,
            threads: self.threads,
            heaps: self.heaps,
            stacks: match self.stacks {
                StackName::Walk => StackForm::Walk,
                StackName::Keys => StackForm::Keys,
                StackName::None => StackForm::None,
            },
            free_stacks: self.free_stacks,
            distinct_stacks: self.distinct_stacks,
            live: self.live,
            compressed: self.compressed.map(|name| match name {
                CompressionName::Xpress => Algorithm::Xpress,
                CompressionName::Lznt1 => Algorithm::Lznt1,
                CompressionName::Huffman => Algorithm::XpressHuffman,
            }),
            wow64: self.wow64,
            mixed_headers: self.mixed_headers,
            counters: self.counters,
            samples: self.samples,
            lost_buffers: self.lost_buffers,
            nightly: self.nightly(),
            speed: self.speed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        synth: SynthArgs,
    }

    #[test]
    fn writes_a_file_and_tells_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.etl");
        let words = ["synth", "heap", "-o", path.to_str().unwrap(), "--events", "100", "--stacks", "keys", "--compressed"];
        let size = run(&Cli::parse_from(words).synth).unwrap();
        assert_eq!(size, std::fs::metadata(&path).unwrap().len());
        assert!(size > 1000);
        let again = |more: &[&str]| run(&Cli::parse_from(words.iter().chain(more)).synth);
        let refused = Failure::from(again(&[]).unwrap_err());
        assert!(matches!(refused, Failure::BadArguments(reason) if reason.contains("--replace")));
        assert!(again(&["--speed", "1000"]).is_err(), "nor in place");
        assert_eq!(again(&["--replace"]).unwrap(), size);
        assert_eq!(again(&["--replace", "--speed", "1000"]).unwrap(), size);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no draft stays");
    }

    #[test]
    fn the_form_of_compression_can_be_chosen() {
        let form = |word: &str| Cli::try_parse_from(["synth", "heap", "-o", "x", word]).map(|cli| cli.synth.options().compressed);
        assert_eq!(form("--wow64").unwrap(), None);
        assert_eq!(form("--compressed").unwrap(), Some(Algorithm::Xpress));
        assert_eq!(form("--compressed=lznt1").unwrap(), Some(Algorithm::Lznt1));
        assert_eq!(form("--compressed=huffman").unwrap(), Some(Algorithm::XpressHuffman));
        assert!(form("--compressed=zip").is_err());
    }

    #[test]
    fn a_failure_names_the_file() {
        let words = ["synth", "demo", "-o", "/no/such/folder/out.etl"];
        let failure = run(&Cli::parse_from(words).synth).unwrap_err().to_string();
        assert!(failure.starts_with("/no/such/folder/out.etl: the trace could not be written"), "{failure}");
    }
}
