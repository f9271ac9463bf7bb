//! What all questions about the numbers of a capture have in common: which files, which
//! rows and which interval, and what is loaded to answer them.

use std::ffi::OsString;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use super::memory::Memory;
use super::seconds::Seconds;
use super::{Failure, memory, open, report_problems, symbols};
use crate::load::{Input, Unwatched, load_planned};
use crate::model::{Clock, Trace};
use crate::panics;
use crate::query::{Cancel, Index, ReportFilter};
use crate::symbols::Names;
use crate::units::{Interval, Layer};

/// See the module.
#[derive(Args, Debug)]
pub(super) struct Asked {
    /// Files of one capture; `demo:` names the built-in demo trace
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    /// Print JSON for programs
    #[arg(long)]
    pub(super) json: bool,

    /// Only this process
    #[arg(long, value_name = "NAME|PID")]
    process: Option<String>,

    /// Only this layer of memory
    #[arg(long, value_enum, ignore_case = true)]
    layer: Option<Layer>,

    /// Only this heap or tracker
    #[arg(long, value_name = "HANDLE|NAME")]
    heap: Option<String>,

    /// Begin of the interval, in seconds since the trace start [default: the trace start]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    from: Option<Seconds>,

    /// End of the interval, not part of it [default: the end of the trace]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    to: Option<Seconds>,

    /// Where to find the PDBs for names of frames and types: folders, stores and servers as in _NT_SYMBOL_PATH
    #[arg(long, value_name = "PATH")]
    symbols: Option<String>,

    #[command(flatten)]
    memory: Memory,
}

/// What is loaded to answer.
pub(super) struct Loaded {
    pub(super) trace: Arc<Trace>,
    pub(super) interval: Interval,
}

/// An interval as the machine interface has it.
#[derive(Clone, Copy, Serialize)]
pub(super) struct IntervalInSeconds {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
}

impl IntervalInSeconds {
    pub(super) fn of(clock: &Clock, interval: Interval) -> Self {
        Self { from_s: clock.seconds(interval.from), to_s: clock.seconds(interval.to) }
    }
}

/// Nobody cancels a command but by ending the program.
pub(super) fn stopped<T>(_: T) -> Failure {
    Failure::Failed("stopped".to_owned())
}

impl Asked {
    pub(super) fn inputs(&self) -> Vec<Input> {
        super::args::inputs(&self.files)
    }

    /// What can be refused without looking at the files.
    pub(super) fn check(&self) -> Result<(), String> {
        match (self.from, self.to) {
            (Some(from), Some(to)) if from > to => Err("--from is later than --to; swap them".to_owned()),
            _ => Ok(()),
        }
    }

    /// Which rows.
    pub(super) fn filter(&self) -> ReportFilter {
        ReportFilter { process: self.process.clone(), layer: self.layer, heap: self.heap.clone() }
    }

    /// Loads the capture, as much as there is memory for. `stage` is what a report of a fault
    /// calls the command.
    pub(super) fn load(&self, stage: &'static str) -> Result<Loaded, Failure> {
        self.check().map_err(Failure::BadArguments)?;
        let capture = open(&self.inputs())?;
        panics::reach(stage);
        let plan = memory::plan(&capture, self.memory, self.process.as_deref(), self.layer);
        let trace = load_planned(&capture, &plan, &mut Unwatched).map_err(stopped)?;
        let interval = self.interval(&trace)?;
        Ok(Loaded { trace: Arc::new(trace), interval })
    }

    /// The interval asked for. Only now it is known whether one edge alone lies
    /// beyond the other end of the trace.
    fn interval(&self, trace: &Trace) -> Result<Interval, Failure> {
        let edge = |given: Option<Seconds>, default| given.map_or(default, |t| t.ticks(&trace.clock));
        let (from, mut to) = (edge(self.from, trace.span.from), edge(self.to, trace.span.to));
        if trace.cut.is_some() {
            if from > trace.span.to {
                report_problems(&trace.problems);
                return Err(Failure::Failed("--from is later than what could be loaded".to_owned()));
            }
            to = to.min(trace.span.to);
        }
        if from <= to {
            return Ok(Interval { from, to });
        }
        let IntervalInSeconds { from_s, to_s } = IntervalInSeconds::of(&trace.clock, trace.span);
        Err(Failure::BadArguments(match self.from {
            Some(_) => format!("--from is later than the end of the trace, which is at {to_s} s"),
            None => format!("--to is earlier than the start of the trace, which is at {from_s} s"),
        }))
    }
}

impl Loaded {
    /// The names of what is asked about.
    pub(super) fn names(&self, asked: &Asked) -> Arc<Names> {
        let mask = asked.filter().mask(&self.trace);
        symbols::names(&self.trace, asked.symbols.as_deref(), move |site| mask.classes(site) != 0)
    }

    /// What one answer is worth preparing.
    pub(super) fn index(&self) -> Result<Index, Failure> {
        Index::for_one_question(Arc::clone(&self.trace), &Cancel::default()).map_err(stopped)
    }
}
