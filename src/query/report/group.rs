//! One group of a report, as the machine interface names its keys and numbers.

use serde::Serialize;

use crate::query::{Bucket, ByClass, LifetimeClass};

/// What some rows come to in an interval. Bytes and counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct GroupNumbers {
    pub outstanding_from: u64,
    pub outstanding_to: u64,
    pub peak: u64,
    pub count: u64,
    pub size: u64,
    pub allocated_count: u64,
    pub allocated_size: u64,
    pub freed_count: u64,
    pub freed_size: u64,
    pub impacting_size: i64,
    pub aifi: Bucket,
    pub aifo: Bucket,
    pub aofi: Bucket,
    pub aofo: Bucket,
}

impl GroupNumbers {
    /// From the sums by class, and the peak, which does not follow from them.
    pub fn new(sums: &ByClass, peak: u64) -> Self {
        use LifetimeClass::{Aifi, Aifo, Aofi, Aofo};
        let (aifi, aifo, aofi, aofo) = (sums.get(Aifi), sums.get(Aifo), sums.get(Aofi), sums.get(Aofo));
        let (allocated, freed) = (aifi.plus(aifo), aifi.plus(aofi));
        let numbers = sums.numbers();
        Self {
            outstanding_from: numbers.outstanding_from,
            outstanding_to: numbers.outstanding_to,
            peak,
            count: numbers.count,
            size: numbers.size,
            allocated_count: allocated.count,
            allocated_size: allocated.size,
            freed_count: freed.count,
            freed_size: freed.size,
            impacting_size: numbers.impacting,
            aifi,
            aifo,
            aofi,
            aofo,
        }
    }
}

/// One group of a report; keys that were not asked for are null.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct Group {
    pub process: Option<String>,
    pub pid: Option<u32>,
    pub process_start_s: Option<f64>,
    pub layer: &'static str,
    pub heap: Option<String>,
    /// Outermost frame first.
    pub stack: Option<Vec<String>>,
    #[serde(rename = "type")]
    pub allocated_type: Option<String>,
    pub thread: Option<u32>,
    pub function: Option<String>,
    pub module: Option<String>,
    #[serde(flatten)]
    pub numbers: GroupNumbers,
}

impl Group {
    /// The same, once its peak is known.
    pub(super) fn with_peak(mut self, peak: u64) -> Self {
        self.numbers.peak = peak;
        self
    }
}
