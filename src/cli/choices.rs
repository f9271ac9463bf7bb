//! The command line's options that choose rows: filters, and conditions for rows and sites.

use clap::Args;

use super::ranges::{Bytes, Freed, Range};
use super::seconds::Seconds;
use super::words::one_of;
use crate::model::Trace;
use crate::query::{ReportFilter, RowChoice, RowCondition, SiteChoice, check_thread};
use crate::time_spec::TimeSpec;
use crate::units::{Layer, Tid};

/// Conditions that rows must meet; an option that is given twice is two conditions.
#[derive(Args, Debug, Clone, Default)]
pub(super) struct Choices {
    /// Only this process
    #[arg(long, value_name = "NAME|PID")]
    pub(super) process: Option<String>,

    /// Only this layer: commit (VirtualAlloc), heap (Windows NT heaps) or tracker (custom allocators)
    #[arg(long, value_parser = one_of(&Layer::ALL, Layer::name), ignore_case = true)]
    pub(super) layer: Option<Layer>,

    /// Only this heap or tracker
    #[arg(long, value_name = "HANDLE|NAME")]
    pub(super) heap: Option<String>,

    /// Only blocks allocated in this range: seconds since the trace start, mark:TEXT or frame:N
    #[arg(long, value_name = "T1..T2", allow_hyphen_values = true)]
    allocated: Vec<Range<TimeSpec>>,

    /// Only blocks freed in this range, or never freed; RANGE|never is either
    #[arg(long, value_name = "T1..T2|never", allow_hyphen_values = true)]
    freed: Vec<Freed>,

    /// Only blocks of this size in bytes; K, M and G are powers of 1,024
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    size: Vec<Range<Bytes>>,

    /// Only blocks with this lifetime in seconds; leave out B to include blocks never freed
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    lifetime: Vec<Range<Seconds>>,

    /// Only blocks allocated by this thread
    #[arg(long, value_name = "TID", value_parser = clap::value_parser!(u32).range(..i64::from(u32::MAX)))]
    thread: Vec<u32>,

    /// Only blocks of this C++ type; * matches anything
    #[arg(long = "type", value_name = "NAME")]
    types: Vec<String>,

    /// Only call stacks with a frame that contains this text (case ignored)
    #[arg(long, value_name = "TEXT")]
    frame: Vec<String>,

    /// Only call stacks without such a frame
    #[arg(long, value_name = "TEXT")]
    not_frame: Vec<String>,
}

impl Choices {
    /// Chooses all rows of a process, or all rows.
    pub(super) fn of_process(process: Option<String>) -> Self {
        Self::of_places(process, None, None)
    }

    /// Chooses all rows of a process, layer and heap.
    pub(super) fn of_places(process: Option<String>, layer: Option<Layer>, heap: Option<String>) -> Self {
        Self { process, layer, heap, ..Self::default() }
    }

    /// The conditions that an allocation site decides.
    pub(super) fn filter(&self) -> ReportFilter {
        let sites = SiteChoice { types: self.types.clone(), frames: self.frame.clone(), not_frames: self.not_frame.clone() };
        ReportFilter { process: self.process.clone(), layer: self.layer, heap: self.heap.clone(), sites }
    }

    /// The first given option other than `--process` and `--layer`.
    pub(super) fn beyond_places(&self) -> Option<&'static str> {
        let heap = self.heap.as_ref().map(|_| "--heap");
        let frames = [("--frame", !self.frame.is_empty()), ("--not-frame", !self.not_frame.is_empty())];
        let frame = frames.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name);
        heap.or_else(|| self.about_blocks()).or(frame)
    }

    /// The first given option that chooses blocks by what only a block has.
    pub(super) fn about_blocks(&self) -> Option<&'static str> {
        let given = [
            ("--allocated", !self.allocated.is_empty()),
            ("--freed", !self.freed.is_empty()),
            ("--size", !self.size.is_empty()),
            ("--lifetime", !self.lifetime.is_empty()),
            ("--thread", !self.thread.is_empty()),
            ("--type", !self.types.is_empty()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }

    /// Checks that the process, heap and threads exist; types are only known with names.
    pub(super) fn check(&self, trace: &Trace) -> Result<(), String> {
        self.check_each(trace).collect()
    }

    /// Checks the process, heap and threads one by one, in the same order for every trace.
    pub(super) fn check_each(&self, trace: &Trace) -> impl Iterator<Item = Result<(), String>> {
        let threads = self.thread.iter().map(|&id| check_thread(trace, Tid(id)));
        self.filter().check_places(trace).into_iter().chain(threads)
    }

    /// The conditions that only a row decides. The error names what the trace does not have.
    pub(super) fn rows(&self, trace: &Trace) -> Result<RowChoice, String> {
        let ticks = |range: &Range<TimeSpec>| range.ticks(trace, self.process.as_deref());
        let lived = |range: &Range<Seconds>| range.0.map(|t| t.ticks(&trace.clock));
        let allocated = self.allocated.iter().map(|range| Ok(RowCondition::Allocated(ticks(range)?)));
        let freed = self.freed.iter().map(|freed| {
            let Freed { within, or_never } = freed;
            Ok(RowCondition::Freed { within: within.as_ref().map(ticks).transpose()?, or_never: *or_never })
        });
        let times: Vec<RowCondition> = allocated.chain(freed).collect::<Result<_, String>>()?;
        let size = self.size.iter().map(|range| RowCondition::Size(range.0.map(|bytes| bytes.0)));
        let lifetime = self.lifetime.iter().map(|range| RowCondition::Lifetime(lived(range).map(|ticks| ticks.0)));
        let thread = self.thread.iter().map(|&id| RowCondition::Thread(Tid(id)));
        Ok(RowChoice { all: times.into_iter().chain(size).chain(lifetime).chain(thread).collect() })
    }
}
