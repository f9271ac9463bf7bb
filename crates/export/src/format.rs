//! The export formats, and the values that formats with one number per stack can show.

/// An export format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// One line per group, for spreadsheets.
    Csv,
    /// One object per group.
    Json,
    /// One line per stack, for flame graphs.
    Folded,
    /// Gzipped protobuf for `go tool pprof`.
    Pprof,
    /// JSON for speedscope.
    Speedscope,
    /// JSON for the Firefox Profiler.
    Firefox,
    /// Tables for query engines that hold many captures.
    Parquet,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [Self::Csv, Self::Json, Self::Folded, Self::Pprof, Self::Speedscope, Self::Firefox, Self::Parquet];

    /// Whether it lists groups or allocations; the others hold stacks, and Parquet all tables.
    pub fn is_list(self) -> bool {
        matches!(self, Self::Csv | Self::Json)
    }

    /// The name in the machine interface.
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

/// The number of a stack, in formats that have one number per stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Value {
    /// Bytes alive at the end of the interval.
    #[default]
    Outstanding,
    /// Change of the outstanding bytes, signed.
    Impacting,
    /// Bytes allocated in the interval.
    Allocated,
    /// Rows that were alive at some moment of the interval.
    Count,
    /// The largest outstanding size of the stack in the interval.
    Peak,
    /// Processor samples that found the stack: no memory at all.
    Samples,
}

impl Value {
    /// All values.
    pub const ALL: [Self; 6] = [Self::Outstanding, Self::Impacting, Self::Allocated, Self::Count, Self::Peak, Self::Samples];

    /// The values that are about memory.
    pub const OF_MEMORY: [Self; 5] = [Self::Outstanding, Self::Impacting, Self::Allocated, Self::Count, Self::Peak];

    /// Whether it is a number of bytes.
    pub(super) fn is_bytes(self) -> bool {
        !matches!(self, Self::Count | Self::Samples)
    }

    /// The name in the machine interface.
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
