//! The command line of `highwater-dev`: `synth` writes generated traces, for tests, benchmarks and the demo.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use thiserror::Error;

use crate::etl::compression::Algorithm;
use crate::etl::write::WriteError;
use crate::paths::{self, Draft, Existing, Reading, Refusal};
use crate::synth::{Nightly, Options, Scenario, StackForm, SynthError, generate, generate_recorded};

/// Instruments of the project highwater.
#[derive(Parser, Debug)]
#[command(name = "highwater-dev", version, disable_help_subcommand = true)]
pub struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Write a generated trace
    Synth(SynthArgs),
}

/// Write a generated trace.
#[derive(clap::Args, Clone, Debug)]
struct SynthArgs {
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
    /// Add GPU memory of all processes (heap)
    #[arg(long)]
    gpu: bool,
    /// Add PIX's scopes on all threads, and a counter of each process (heap)
    #[arg(long)]
    pix: bool,
    /// Add so many samples of processors (heap)
    #[arg(long, default_value_t = 0)]
    samples: u64,
    /// Add page faults (commit)
    #[arg(long)]
    faults: bool,
    /// Lose so many buffers on the way (heap)
    #[arg(long, default_value_t = 0)]
    lost_buffers: u32,
    /// Day, slide of the program, leaks, settings, messages, pairs (nightly)
    #[arg(long, value_delimiter = ',', value_name = "N,N,N,N,N,N", required_if_eq("scenario", "nightly"))]
    nightly: Vec<u32>,
    /// Take time over it: seconds of the trace a second
    #[arg(long)]
    speed: Option<f64>,
    /// Replace the output if it is there already
    #[arg(long)]
    replace: bool,
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
pub enum Failure {
    /// The file is not to be written.
    #[error("{}: {refusal}{}", path.display(), if *refusal == Refusal::Exists { "; --replace replaces it" } else { "" })]
    Refused {
        /// Its path.
        path: PathBuf,
        /// The reason.
        refusal: Refusal,
    },
    /// It was not written, or an option is out of its range.
    #[error("{}: {reason}", path.display())]
    Failed {
        /// Its path.
        path: PathBuf,
        /// The reason.
        reason: SynthError,
    },
}

impl Failure {
    fn new(path: &Path, reason: SynthError) -> Self {
        let path = path.to_owned();
        let refusal = if let SynthError::Write(WriteError::Io(error)) = &reason { Refusal::of(error) } else { None };
        match refusal {
            Some(refusal) => Self::Refused { path, refusal },
            None => Self::Failed { path, reason },
        }
    }

    /// Whether the file must stay as it is.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

/// Carries out a command; returns the size of the trace in bytes.
pub fn run(line: &CommandLine) -> Result<u64, Failure> {
    let Command::Synth(args) = &line.command;
    write(args).map_err(|reason| Failure::new(&args.output, reason))
}

/// Writes a trace as `highwater-dev synth` does with these words, without a process of its own; returns its size.
pub fn synth<S: Into<OsString>>(words: impl IntoIterator<Item = S>) -> Result<u64, String> {
    let words = ["highwater-dev", "synth"].map(OsString::from).into_iter().chain(words.into_iter().map(Into::into));
    let line = CommandLine::try_parse_from(words).map_err(|error| error.to_string())?;
    run(&line).map_err(|failure| failure.to_string())
}

fn write(args: &SynthArgs) -> Result<u64, SynthError> {
    let existing = if args.replace { Existing::GivesWay } else { Existing::Stays };
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
            gpu: self.gpu,
            pix: self.pix,
            samples: self.samples,
            faults: self.faults,
            lost_buffers: self.lost_buffers,
            nightly: self.nightly(),
            speed: self.speed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A folder of a test.
    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn count(&self) -> usize {
            fs::read_dir(self.0.path()).unwrap().count()
        }
    }

    /// Writes a small trace to this path.
    fn small(out: &Path, more: &[&str]) -> Result<u64, String> {
        synth(["heap", "--events", "100", "-o", out.to_str().unwrap()].iter().chain(more))
    }

    #[test]
    fn writes_a_file_and_tells_its_size() {
        let folder = Folder::new();
        let path = folder.path("out.etl");
        let again = |more: &[&str]| small(&path, &[&["--stacks", "keys", "--compressed"], more].concat());
        let size = again(&[]).unwrap();
        assert_eq!(size, fs::metadata(&path).unwrap().len());
        assert!(size > 1000);
        assert!(again(&[]).unwrap_err().contains("--replace"));
        assert!(again(&["--speed", "1000"]).is_err(), "nor in place");
        assert_eq!(again(&["--replace"]).unwrap(), size);
        assert_eq!(again(&["--replace", "--speed", "1000"]).unwrap(), size);
        assert_eq!(folder.count(), 1, "no draft stays");
    }

    #[test]
    fn a_file_that_is_there_is_left_alone_unless_it_may_be_replaced() {
        let folder = Folder::new();
        let out = folder.path("out");
        for more in [&[][..], &["--speed", "1000"]] {
            fs::write(&out, "a user's file").unwrap();
            assert!(small(&out, more).unwrap_err().contains("--replace"), "{more:?}");
            assert_eq!(fs::read(&out).unwrap(), b"a user's file", "{more:?}");
            small(&out, &[more, &["--replace"]].concat()).unwrap();
            assert_ne!(fs::read(&out).unwrap(), b"a user's file", "{more:?}");
        }
    }

    #[test]
    fn a_recording_that_is_read_is_never_written_over() {
        let folder = Folder::new();
        let recording = folder.path("recording.txt");
        fs::write(&recording, "v 10400 3\n").unwrap();
        let name = recording.to_str().unwrap();
        for more in [&[][..], &["--speed", "1000"]] {
            let words = ["recorded", "--recording", name, "--replace", "-o", name];
            assert!(synth(words.iter().chain(more)).unwrap_err().contains("this file is read"), "{more:?}");
            assert_eq!((fs::read(&recording).unwrap(), folder.count()), (b"v 10400 3\n".to_vec(), 1), "{more:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_without_a_word() {
        small(Path::new("/dev/null"), &[]).unwrap();
    }

    #[test]
    fn the_form_of_compression_can_be_chosen() {
        let form = |word: &str| {
            let line = CommandLine::try_parse_from(["highwater-dev", "synth", "heap", "-o", "x", word])?;
            let Command::Synth(args) = line.command;
            Ok::<_, clap::Error>(args.options().compressed)
        };
        assert_eq!(form("--wow64").unwrap(), None);
        assert_eq!(form("--compressed").unwrap(), Some(Algorithm::Xpress));
        assert_eq!(form("--compressed=lznt1").unwrap(), Some(Algorithm::Lznt1));
        assert_eq!(form("--compressed=huffman").unwrap(), Some(Algorithm::XpressHuffman));
        assert!(form("--compressed=zip").is_err());
    }

    #[test]
    fn a_failure_names_the_file() {
        let failure = synth(["demo", "-o", "/no/such/folder/out.etl"]).unwrap_err();
        assert!(failure.starts_with("/no/such/folder/out.etl: the trace could not be written"), "{failure}");
    }
}
