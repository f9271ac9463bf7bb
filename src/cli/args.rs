//! The command line's arguments and subcommands.
//!
//! A file with the name of a subcommand can be given as `./info`: a subcommand is recognised only as the first argument.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, Parser, Subcommand};

use super::activity::frames::FramesArgs;
use super::activity::marks::MarksArgs;
use super::activity::processors::ProcessorsArgs;
use super::activity::scopes::ScopesArgs;
use super::asked::{Files, inputs};
#[cfg(feature = "parquet")]
use super::bisect::BisectArgs;
use super::check::CheckArgs;
use super::completions::CompletionsArgs;
use super::cut::CutArgs;
use super::diff::DiffArgs;
use super::each::Each;
use super::export::ExportArgs;
use super::findings::FindingsArgs;
use super::functions::FunctionsArgs;
use super::manual::ManualArgs;
#[cfg(feature = "mcp")]
use super::mcp::McpArgs;
use super::memory::{self, Memory, megabytes};
use super::pages::PagesArgs;
use super::providers::TrackersAsked;
use super::record::RecordArgs;
use super::report::ReportArgs;
use super::symbols::lookup_args::LookupArgs;
use super::symbols::{check, fetch};
use super::what_if::WhatIfArgs;
use crate::load::Input;
use crate::nearest::nearest;

/// Where did the memory go? Analyses Windows memory traces (ETW, .etl).
#[derive(Parser, Debug)]
#[command(name = "highwater", version, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(super) struct CommandLine {
    #[command(subcommand)]
    pub(super) command: Option<Command>,

    /// Traces to open in the window; several files of one capture are read as one trace
    #[arg(value_name = "FILE")]
    files: Vec<OsString>,

    /// Follow files that are still being written, or the folder of a recording
    #[arg(long, requires = "files")]
    follow: bool,

    /// Do not fit tables to the width of the terminal
    #[arg(long, global = true)]
    pub(super) wide: bool,

    #[command(flatten)]
    look: Look,
}

impl CommandLine {
    pub(super) fn look(&self) -> Look {
        Look { follow: self.follow, ..self.look.clone() }
    }

    /// Files to open in the window.
    pub(super) fn inputs(&self) -> Vec<Input> {
        inputs(&self.files)
    }
}

/// Renderers that this build has; OpenGL is the first choice.
const RENDERERS: &[&str] = if cfg!(any(windows, feature = "wgpu")) { &["glow", "wgpu"] } else { &["glow"] };

/// How the window looks in this run; for scripts.
#[derive(Args, Clone, Debug, Default)]
pub struct Look {
    /// Save a picture of the window once everything is drawn, and quit
    #[arg(long, value_name = "PNG", hide = true)]
    pub screenshot: Option<PathBuf>,

    /// Replace the picture if it is there already
    #[arg(long, hide = true, requires = "screenshot")]
    pub replace: bool,

    /// Theme, whatever the settings say
    #[arg(long, value_name = "light|dark", hide = true, value_parser = ["light", "dark"])]
    pub theme: Option<String>,

    /// Size in points
    #[arg(long, value_name = "WxH", hide = true, value_parser = size)]
    pub size: Option<[f32; 2]>,

    /// Renderer: glow (OpenGL) or wgpu [default: the first that works]
    #[arg(long, value_parser = RENDERERS.to_vec())]
    pub renderer: Option<String>,

    /// Memory limit for a trace such as 4G, in MB without a unit, approximate [default: the setting, or three quarters of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = memory::limit)]
    memory_limit: Option<u64>,

    /// Symbol path, searched first: folders, stores and servers with PDBs, as in _NT_SYMBOL_PATH
    #[arg(long, value_name = "PATH")]
    pub symbols: Option<String>,

    /// Rules for call stacks [default: stack-rules.toml beside the settings]
    #[arg(long, value_name = "FILE")]
    pub stack_rules: Option<PathBuf>,

    /// TOML file that maps events of your own allocators to tracker blocks [default: trackers.toml beside the settings]
    #[arg(long, value_name = "FILE")]
    pub trackers: Option<PathBuf>,

    /// Play what is opened as if it were being recorded: seconds of it a second
    #[arg(skip)]
    pub speed: Option<f64>,

    /// Follow what is opened while it grows
    #[arg(skip)]
    pub follow: bool,
}

impl Look {
    /// Memory that a trace may use in this run, in bytes.
    pub fn memory_limit(&self) -> Option<u64> {
        self.memory_limit.map(megabytes)
    }
}

fn size(text: &str) -> Result<[f32; 2], String> {
    let parts = text.split_once('x').and_then(|(w, h)| Some([w.parse().ok()?, h.parse().ok()?]));
    parts
        .filter(|[w, h]: &[f32; 2]| (200.0..=10_000.0).contains(w) && (200.0..=10_000.0).contains(h))
        .ok_or_else(|| "not a size like 1280x800".to_owned())
}

#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// Open the window on the built-in demo trace
    Demo(Look),
    /// Replay a recording in the window as if it were live
    Replay(ReplayArgs),
    /// Record the memory of programs on this machine (Windows, as administrator); Ctrl+C stops
    Record(RecordArgs),
    /// Show sessions, losses, event counts and problems of the files
    Info(InfoArgs),
    /// Report memory for an interval, grouped by process, heap, stack, responsible caller and more
    ///
    /// Impacting is what the interval changed (end minus start), Outstanding what is alive at its end, Peak the most alive
    /// at once. Size and Count are about all allocations alive at some moment of it. The layers are commit (pages from
    /// VirtualAlloc), heap (Windows NT heaps) and tracker (other allocators that report their blocks); they contain each
    /// other and are never added.
    Report(ReportArgs),
    /// List functions with what they allocated, alone (self) and with their callees (total)
    Functions(FunctionsArgs),
    /// List marks (such as those of xperf -m and wpr -marker) and garbage collections
    Marks(MarksArgs),
    /// List named scopes (PIX, UIforETW) with what their threads allocated
    Scopes(ScopesArgs),
    /// List the frames of a game with what each allocated and freed
    Frames(FramesArgs),
    /// Show CPU use by process, function or stack
    Processors(ProcessorsArgs),
    /// Find leaks, growth, steps, spikes, peaks and churn
    Findings(FindingsArgs),
    /// Show pages that live blocks touch at a moment, and who keeps nearly empty ones in use
    Pages(PagesArgs),
    /// Compare the pages that other allocators, pools or arenas would touch
    #[command(name = "whatif")]
    WhatIf(WhatIfArgs),
    /// Compare two traces, or two parts of one
    Diff(DiffArgs),
    /// Check a trace against limits; exits with 3 if one is exceeded
    Check(CheckArgs),
    /// Export to another tool's format: CSV, JSON, flame graphs, pprof, speedscope, Firefox, Parquet
    Export(ExportArgs),
    /// Find the builds at which memory shifted, in the tables of many captures
    #[cfg(feature = "parquet")]
    Bisect(BisectArgs),
    /// Cut an interval out of a trace into a smaller trace with the same numbers
    Cut(CutArgs),
    /// Look up, download and check debug symbols (PDBs)
    #[command(subcommand)]
    Symbols(SymbolsCommand),
    /// Answer agents (AI assistants) over the Model Context Protocol
    #[cfg(feature = "mcp")]
    Mcp(McpArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Write the pages of the manual, for packages
    #[command(hide = true)]
    Man(ManualArgs),
    /// Measure how long loading and queries take
    #[command(hide = true)]
    Measure(MeasureArgs),
}

impl Command {
    /// The files that it reads, apart from rules and symbols.
    pub(super) fn inputs(&self) -> Vec<Input> {
        match self {
            Self::Replay(args) => args.files.inputs(),
            Self::Record(args) => args.inputs(),
            Self::Info(args) => args.files.inputs(),
            Self::Report(args) => args.asked.files.inputs(),
            Self::Functions(args) => args.asked.files.inputs(),
            Self::Marks(args) => args.asked.files.inputs(),
            Self::Scopes(args) => args.asked.files.inputs(),
            Self::Frames(args) => args.asked.files.inputs(),
            Self::Processors(args) => args.asked.files.inputs(),
            Self::Findings(args) => args.asked.files.inputs(),
            Self::Pages(args) => args.blocks.files.inputs(),
            Self::WhatIf(args) => args.blocks.files.inputs(),
            Self::Diff(args) => args.inputs(),
            Self::Check(args) => args.asked.files.inputs(),
            Self::Export(args) => args.asked.files.inputs(),
            Self::Cut(args) => args.files.inputs(),
            Self::Symbols(SymbolsCommand::Lookup(args)) => args.inputs(),
            Self::Symbols(SymbolsCommand::Fetch(args)) => args.traces.inputs(),
            Self::Symbols(SymbolsCommand::Check(args)) => args.traces.inputs(),
            Self::Measure(args) => args.files.inputs(),
            #[cfg(feature = "mcp")]
            Self::Mcp(_) => Vec::new(), // each call has its own
            #[cfg(feature = "parquet")]
            Self::Bisect(_) => Vec::new(),
            Self::Demo(_) | Self::Completions(_) | Self::Man(_) => Vec::new(),
        }
    }
}

#[derive(Subcommand, Debug)]
pub(super) enum SymbolsCommand {
    /// Print functions, inlined frames, files and lines of addresses in a PDB, or in a process of a trace
    Lookup(LookupArgs),
    /// Download the PDBs of traces into the symbol store
    Fetch(fetch::FetchArgs),
    /// Show which modules of traces have names, and why others have none
    Check(check::CheckArgs),
}

#[derive(Args, Debug)]
pub(super) struct ReplayArgs {
    #[command(flatten)]
    pub(super) files: Files,

    /// Speed: seconds of the recording per second
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed)]
    speed: f64,

    #[command(flatten)]
    look: Look,
}

impl ReplayArgs {
    pub(super) fn look(&self) -> Look {
        Look { speed: Some(self.speed), ..self.look.clone() }
    }
}

fn speed(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches(['x', '\u{d7}']).parse().ok();
    number.filter(|n| (0.01..=10_000.0).contains(n)).ok_or_else(|| "not a speed from 0.01 to 10000, like 10".to_owned())
}

#[derive(Args, Debug)]
pub(super) struct MeasureArgs {
    #[command(flatten)]
    pub(super) files: Files,

    /// Questions about random intervals
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) questions: usize,

    /// Folder in which the trace is kept; if it is there already, it is opened from there
    #[arg(long, value_name = "FOLDER")]
    pub(super) prepared: Option<PathBuf>,

    /// Measure only how soon the first trace is there, loading as the window does
    #[arg(long)]
    pub(super) first: bool,

    /// Make no preview
    #[arg(long, requires = "first")]
    pub(super) no_preview: bool,
}

#[derive(Args, Debug)]
pub(super) struct InfoArgs {
    #[command(flatten)]
    pub(super) files: Files,

    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,

    /// Also count events with Windows' own reader, and compare (Windows only)
    #[arg(long)]
    pub(super) with_windows: bool,

    #[command(flatten)]
    pub(super) each: Each,

    #[command(flatten)]
    pub(super) trackers: TrackersAsked,

    #[command(flatten)]
    pub(super) memory: Memory,
}

/// The message for a first argument that looks like a mistyped command: a plain word, unlike a path, pattern or
/// option, that is neither a command nor an existing file.
pub(super) fn mistyped(word: &OsStr) -> Option<String> {
    let text = word.to_str()?;
    let is_plain = !text.is_empty() && !text.starts_with('-') && !text.contains(['.', '/', '\\', ':', '*', '?']);
    if !is_plain || Path::new(text).exists() {
        return None;
    }
    let line = CommandLine::command();
    let is_command = |command: &clap::Command| command.get_name() == text || command.get_all_aliases().any(|name| name == text);
    if line.get_subcommands().any(is_command) {
        return None;
    }
    let known = line.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    let nearest = nearest(text, known).into_iter().take(1).map(|name| format!("; did you mean {name}?")).collect::<String>();
    Some(format!("{text} is neither a command nor a file{nearest} highwater --help lists the commands"))
}

/// Clap's message about bad arguments, in one line that ends with the help to look at. `words` are those of the command line, the
/// program's name first.
pub(super) fn one_line(error: &clap::Error, words: &[impl AsRef<OsStr>]) -> String {
    let command = command_of(words);
    let name = command.get_bin_name().unwrap_or("highwater");
    let told = if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let known = command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
        format!("{} needs a command: {}", command.get_name(), known.collect::<Vec<_>>().join(", "))
    } else {
        let text = error.to_string();
        // An unknown option is no value that somebody wants to pass.
        let is_told = |line: &&str| !line.is_empty() && !line.starts_with("tip: to pass");
        let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
        let told = lines.filter(|line| is_told(line) && !line.starts_with("For more information")).map(|line| {
            let similar = line.strip_prefix("tip: ").and_then(|tip| tip.split_once(": "));
            similar.map_or_else(|| format!(" {line}"), |(_, names)| format!("; nearest: {names}"))
        });
        told.collect::<String>().trim_start().replace("invalid digit found in string", "expected a whole number")
    };
    format!("{}; see {name} --help", told.strip_prefix("error: ").unwrap_or(&told))
}

/// The command that a command line names: as far as its first words are commands.
fn command_of(words: &[impl AsRef<OsStr>]) -> clap::Command {
    let mut command = CommandLine::command();
    command.build();
    for word in words.iter().skip(1) {
        match command.find_subcommand(word.as_ref()) {
            Some(found) => command = found.clone(),
            None => break,
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::By;

    fn parse(words: &[&str]) -> Result<CommandLine, clap::Error> {
        CommandLine::try_parse_from([&["highwater"], words].concat())
    }

    #[test]
    fn words_in_the_first_place_are_commands_and_elsewhere_files() {
        assert!(matches!(parse(&["info", "a.etl"]).unwrap().command, Some(Command::Info(_))));
        assert!(matches!(parse(&["demo"]).unwrap().command, Some(Command::Demo(_))));
        for words in [&["./info"][..], &["a.etl", "info"], &["info.etl"], &["demo:"], &[]] {
            let line = parse(words).unwrap();
            assert!(line.command.is_none(), "{words:?}");
            assert_eq!(line.inputs().len(), words.len());
        }
    }

    #[test]
    fn a_word_that_is_neither_a_command_nor_like_a_file_is_a_mistyped_command() {
        let told = |word: &str| mistyped(OsStr::new(word));
        assert!(told("reprot").unwrap().contains("did you mean report?"));
        assert!(told("exprt").unwrap().contains("did you mean export?"));
        assert!(told("measur").is_some_and(|told| !told.contains("measure?")), "an instrument of the project");
        for word in ["report", "measure", "reprot.etl", "./reprot", r"c:\reprot", "demo:", "--help", "", "src", "*"] {
            assert_eq!(told(word), None, "{word}");
        }
    }

    #[test]
    fn groups_are_a_comma_list_of_known_keys() {
        let by = |keys: &str| match parse(&["report", "a.etl", "--by", keys]).map(|line| line.command) {
            Ok(Some(Command::Report(args))) => Some(args.groups.by),
            _ => None,
        };
        assert_eq!(by("stack"), Some(vec![By::Stack]));
        assert_eq!(by("process,heap,type,thread"), Some(vec![By::Process, By::Heap, By::Type, By::Thread]));
        assert_eq!(by("process,colour"), None);
        assert_eq!(by(""), None);
    }

    #[test]
    fn times_may_be_negative_and_must_be_in_order() {
        let check = |from, to| match parse(&["report", "a.etl", "--from", from, "--to", to]).map(|line| line.command) {
            Ok(Some(Command::Report(args))) => args.asked.check().is_ok(),
            _ => false,
        };
        assert!(check("-1.5", "2"));
        assert!(check("2", "2"));
        assert!(!check("2.000000001", "2"));
        assert!(!check("nan", "2"));
    }

    #[test]
    fn a_recording_is_played_at_a_speed_that_can_be() {
        let speed = |words: &[&str]| match parse(&[&["replay"], words].concat()).map(|line| line.command) {
            Ok(Some(Command::Replay(args))) => args.look().speed,
            _ => None,
        };
        assert_eq!(speed(&["demo:"]), Some(1.0));
        assert_eq!(speed(&["a.etl", "b.etl", "--speed", "10x"]), Some(10.0));
        for bad in ["0", "-1", "nan", "inf", "1e9", "quick"] {
            assert_eq!(speed(&["a.etl", "--speed", bad]), None, "{bad}");
        }
        assert_eq!(speed(&[]), None, "nothing to play");
    }

    #[test]
    fn what_is_followed_is_named() {
        let follows = |words: &[&str]| parse(words).ok().map(|line| (line.look().follow, line.inputs().len()));
        assert_eq!(follows(&["--follow", "a.etl"]), Some((true, 1)));
        assert_eq!(follows(&["a.etl", "b.etl", "--follow"]), Some((true, 2)));
        assert_eq!(follows(&["a.etl"]), Some((false, 1)));
        assert_eq!(follows(&["--follow"]), None);
    }

    #[test]
    fn complaints_take_one_line() {
        let told = |words: &[&str]| {
            let error = parse(words).unwrap_err();
            one_line(&error, &[&["highwater"], words].concat())
        };
        let line = told(&["report", "a.etl", "--layer", "roof"]);
        assert!(!line.contains('\n') && line.contains("roof") && line.contains("tracker"), "{line}");
        assert!(line.ends_with("; see highwater report --help"), "{line}");
        assert_eq!(told(&["report", "a.etl", "--csv"]), "unexpected argument '--csv' found; see highwater report --help");
        assert!(told(&["report", "a.etl", "--top", "x"]).contains("'--top <N>': expected a whole number; see"));
        let line = told(&["report", "a.etl", "--by", "process,hep"]);
        assert!(
            line.contains("'hep' for '--by <KEYS>'") && line.ends_with("]; nearest: 'heap'; see highwater report --help"),
            "{line}"
        );
        let line = told(&["report", "a.etl", "--jsn"]);
        assert_eq!(line, "unexpected argument '--jsn' found; nearest: '--json'; see highwater report --help");
        assert_eq!(told(&["--jsn"]), "unexpected argument '--jsn' found; see highwater --help");
        assert_eq!(told(&["symbols"]), "symbols needs a command: lookup, fetch, check; see highwater symbols --help");
        assert!(told(&["symbols", "lookup"]).ends_with("; see highwater symbols lookup --help"));
    }
}
