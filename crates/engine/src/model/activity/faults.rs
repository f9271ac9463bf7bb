//! Page faults.
//!
//! Process and stack of a fault are found as those of a CPU sample are, and are a site in the table of samples
//! ([`Samples::sites`](super::Samples::sites)).
//!
//! Memory: 24 bytes a fault, 16 more for a hard one, in an eighth of the budget; once that is full, faults are counted and left
//! out. Cost: a hash operation a fault.

use super::Chunked;
use super::placed::PlacedEvent;
use crate::events::{FaultKind, PAGE, PageFault};
use crate::model::SiteId;
use crate::stored::stored;
use crate::units::{Interval, Ticks, Tid};

/// Bits of an address within its page.
const IN_PAGE: u64 = PAGE - 1;

/// A page fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Its time.
    pub at: Ticks,
    /// Address of its page, with the number of its kind in the lower bits.
    what: u64,
    /// Its process and stack: a site of [`Samples::sites`](super::Samples::sites).
    pub site: SiteId,
    /// Its thread; [`Tid::NONE`] if that is not known.
    pub tid: Tid,
}
stored!(struct Fault { at, what, site, tid });

impl Fault {
    /// Address of the first byte of the page.
    pub fn page(&self) -> u64 {
        self.what & !IN_PAGE
    }

    /// Its kind.
    pub fn kind(&self) -> FaultKind {
        FaultKind::ALL.get((self.what & IN_PAGE) as usize).copied().unwrap_or(FaultKind::Hard)
    }
}

/// The read of a hard fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRead {
    /// Place of the fault in [`Faults::list`].
    pub place: u32,
    /// Bytes.
    pub bytes: u32,
    /// Ticks from the beginning of the read to the fault's time.
    pub waited: u64,
}
stored!(struct PageRead { place, bytes, waited });

/// All page faults of a trace.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The faults, by time.
    pub list: Chunked<Fault>,
    /// The reads of hard faults, by place.
    pub reads: Chunked<PageRead>,
    /// Time from which on faults were left out for want of room.
    pub cut: Option<Ticks>,
}
stored!(struct Faults { list, reads, cut });

impl Faults {
    /// Places of the faults in an interval.
    pub fn during(&self, interval: Interval) -> std::ops::Range<usize> {
        let place = |at: Ticks| self.list.partition_point(|fault| fault.at < at);
        place(interval.from)..place(interval.to)
    }

    /// The reads of the hard faults at some places, with the faults.
    pub fn reads_of(&self, places: std::ops::Range<usize>) -> impl Iterator<Item = (&Fault, &PageRead)> {
        let number = |place: usize| self.reads.partition_point(|read| (read.place as usize) < place);
        let reads = self.reads.range(number(places.start)..number(places.end));
        reads.filter_map(|read| Some((self.list.get(read.place as usize)?, read)))
    }
}

/// Collects page faults.
#[derive(Debug, Default)]
pub(in crate::model) struct FaultTable {
    list: Chunked<Fault>,
    reads: Chunked<PageRead>,
    /// Most bytes that may be used.
    most: Option<u64>,
    refused: u64,
    cut: Option<Ticks>,
}

impl FaultTable {
    /// Limits the bytes that faults may take.
    pub(in crate::model) fn limit(&mut self, bytes: u64) {
        self.most = Some(bytes);
    }

    /// Adds a fault of a moment, which has the raw time `raw`. Returns its place, if there is room.
    pub(in crate::model) fn push(
        &mut self,
        (at, raw): (Ticks, i64),
        fault: PageFault,
        (site, tid): (SiteId, Tid),
    ) -> Option<u32> {
        let place = self.list.len();
        if self.most.is_some_and(|most| self.bytes() >= most) || place >= PlacedEvent::MOST {
            self.refused += 1;
            self.cut.get_or_insert(at);
            return None;
        }
        // A fault that comes late gets the time of the latest.
        let at = self.list.last().map_or(at, |last| at.max(last.at));
        self.list.push(Fault { at, what: fault.address() & !IN_PAGE | fault.kind() as u64, site, tid });
        if let PageFault::Hard { started, bytes, .. } = fault {
            let waited = u64::try_from(raw.saturating_sub(started)).unwrap_or(0);
            self.reads.push(PageRead { place: place as u32, bytes, waited });
        }
        Some(place as u32)
    }

    /// One fault.
    pub(in crate::model) fn get(&self, place: u32) -> Option<Fault> {
        self.list.get(place as usize).copied()
    }

    /// Changes the site of a fault, and its thread if that was not known.
    pub(in crate::model) fn set_site(&mut self, place: u32, site: SiteId, tid: Tid) {
        let is_news = |fault: &Fault| fault.site != site || (!fault.tid.is_known() && tid.is_known());
        if self.list.get(place as usize).is_some_and(is_news)
            && let Some(fault) = self.list.get_mut(place as usize)
        {
            fault.site = site;
            if !fault.tid.is_known() {
                fault.tid = tid;
            }
        }
    }

    /// Gives sites their new numbers.
    pub(in crate::model) fn renumber(&mut self, number: &[SiteId]) {
        self.list.iter_mut().for_each(|fault| fault.site = number[fault.site.0 as usize]);
    }

    /// The faults, by place.
    pub(in crate::model) fn iter(&self) -> impl Iterator<Item = (u32, &Fault)> {
        (0..).zip(self.list.iter())
    }

    /// Number of faults.
    pub(in crate::model) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn publish(&self) -> Faults {
        Faults { list: self.list.clone(), reads: self.reads.clone(), cut: self.cut }
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.list.len() * size_of::<Fault>() + self.reads.len() * size_of::<PageRead>()) as u64
    }

    pub(super) fn left_out(&self) -> Option<String> {
        let told = "page faults did not fit into an eighth of the memory limit; they were left out";
        (self.refused > 0).then(|| format!("{} {told}", self.refused))
    }
}
