//! The formats, and what a stack weighs in those that hold one number a stack.

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A line a group, for spreadsheets.
    Csv,
    /// An object a group.
    Json,
    /// A line a stack, for flame graphs.
    Folded,
    /// Gzipped protobuf for `go tool pprof`.
    Pprof,
    /// JSON for speedscope.
    Speedscope,
    /// JSON for the Firefox Profiler.
    Firefox,
    /// Tables for engines that hold many captures.
    Parquet,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [Self::Csv, Self::Json, Self::Folded, Self::Pprof, Self::Speedscope, Self::Firefox, Self::Parquet];

    /// As the machine interface names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Folded => "folded",
            Self::Pprof => "pprof",
            Self::Speedscope => "speedscope",
            Self::Firefox => "firefox",
            Self::Parquet => "parquet",
        }
    }
}

/// What a stack weighs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Value {
    /// Bytes alive at the end of the interval.
    #[default]
    Outstanding,
    /// Change of what is outstanding, signed.
    Impacting,
    /// Bytes that were allocated in the interval.
    Allocated,
    /// Rows that were alive at some moment of it.
    Count,
    /// The largest outstanding size of this stack in it.
    Peak,
    /// Processor samples that found it: no memory at all.
    Samples,
}

impl Value {
    /// All values.
    pub const ALL: [Self; 6] = [Self::Outstanding, Self::Impacting, Self::Allocated, Self::Count, Self::Peak, Self::Samples];

    /// Those of memory.
    pub const OF_MEMORY: [Self; 5] = [Self::Outstanding, Self::Impacting, Self::Allocated, Self::Count, Self::Peak];

    /// Whether it is a number of bytes.
    pub(super) fn is_bytes(self) -> bool {
        !matches!(self, Self::Count | Self::Samples)
    }

    /// As the machine interface names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Outstanding => "outstanding",
            Self::Impacting => "impacting",
            Self::Allocated => "allocated",
            Self::Count => "count",
            Self::Peak => "peak",
            Self::Samples => "samples",
        }
    }
}
