//! A group of a report or comparison, with keys and numbers named as in the machine interface, and the order of groups.

use std::cmp::Ordering;

use serde::Serialize;

use crate::format;
use crate::model::SiteId;
use crate::query::grouping::RowKey;
use crate::query::grouping::keys::Named;
use crate::query::naming::{FrameAddress, UNKNOWN_TYPE, allocated_type, stack_addresses, stack_labels, stack_sources};
use crate::query::numbers::known_or_null;
use crate::query::{Bucket, By, ByClass, LifetimeBounds, LifetimeBucket, LifetimeClass, SizeBucket, SourceLine};

/// Largest number of groups with equal numbers that are sorted by key at once.
pub(super) const LEVEL: usize = 1 << 12;

/// Numbers of some rows in an interval: bytes and counts.
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
    #[serde(serialize_with = "known_or_null")]
    pub impacting_size: i64,
    pub aifi: Bucket,
    pub aifo: Bucket,
    pub aofi: Bucket,
    pub aofo: Bucket,
}

impl GroupNumbers {
    /// Creates the numbers from the sums by class, and the peak, which does not follow from them.
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

/// A group with any kind of numbers; keys that were not requested are null.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct Group<N = GroupNumbers> {
    pub process: Option<String>,
    pub pid: Option<u32>,
    pub process_start_s: Option<f64>,
    pub layer: &'static str,
    pub heap: Option<String>,
    /// Frames, outermost first.
    pub stack: Option<Vec<String>>,
    /// Frames of the freeing stack, outermost first.
    pub freed_stack: Option<Vec<String>>,
    #[serde(rename = "type")]
    pub allocated_type: Option<String>,
    pub thread: Option<u32>,
    pub function: Option<String>,
    pub module: Option<String>,
    pub tag: Option<String>,
    pub responsible: Option<String>,
    pub responsible_module: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// `file:line` of each frame of the stack, where known; only if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<Option<String>>>,
    /// Module and address of each frame of the stack, where known; not in comparisons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<Option<FrameAddress>>>,
    /// The line of the responsible caller with the largest share.
    pub source: Option<SourceLine>,
    pub size_bucket: Option<[u64; 2]>,
    pub lifetime_bucket: Option<LifetimeBounds>,
    #[serde(flatten)]
    pub numbers: N,
}

impl<N> Group<N> {
    /// Returns the text of one of its keys for people; empty if it is not part of the key, and for processes and stacks.
    pub fn text(&self, key: By) -> String {
        let size = |[from, to]: [u64; 2]| format!("{} to {}", format::bytes(from), format::bytes(to));
        let lifetime = |LifetimeBounds(from, to)| match to {
            Some(to) => format!("{} to {}", format::seconds(from), format::seconds(to)),
            None => "no end seen".to_owned(),
        };
        match key {
            By::Heap => self.heap.clone().unwrap_or_default(),
            By::Type => self.allocated_type.clone().unwrap_or_default(),
            By::Thread => self.thread.map_or_else(String::new, |id| id.to_string()),
            By::Function => self.function.clone().unwrap_or_else(|| "(no stack recorded)".to_owned()),
            By::Module => self.module.clone().unwrap_or_else(|| "(no module)".to_owned()),
            By::Tag => self.tag.clone().unwrap_or_default(),
            By::Size => self.size_bucket.map_or_else(String::new, size),
            By::Lifetime => self.lifetime_bucket.map_or_else(String::new, lifetime),
            By::Responsible => self.responsible.clone().unwrap_or_default(),
            By::ResponsibleModule => self.responsible_module.clone().unwrap_or_default(),
            By::Owner => self.owner.clone().unwrap_or_default(),
            By::Process | By::Stack | By::FreedStack => String::new(),
        }
    }
}

/// Describes the group that contains this site and has this row key.
pub(in crate::query) fn describe<N>(named: Named<'_>, site: SiteId, row: RowKey, numbers: N) -> Group<N> {
    let Named { trace, names, by, .. } = named;
    let wants = |key| by.contains(&key);
    let (id, site) = (site, trace.site(site));
    let process = wants(By::Process).then(|| trace.process(trace.process_of(site)));
    let allocated_type = || allocated_type(trace, names, site).unwrap_or(UNKNOWN_TYPE).to_owned();
    Group {
        process: process.map(|p| p.label()),
        pid: process.map(|p| p.pid.0),
        process_start_s: process.and_then(|p| p.start).map(|t| trace.clock.seconds(t)),
        layer: trace.layer_of(site).name(),
        heap: if wants(By::Heap) { trace.heap(site.heap).key() } else { None },
        stack: wants(By::Stack).then(|| stack_labels(trace, names, site)),
        sources: (named.sources && wants(By::Stack)).then(|| stack_sources(trace, names, site)),
        addresses: (named.addresses && wants(By::Stack)).then(|| stack_addresses(trace, names, site)),
        freed_stack: row
            .freed
            .map(|freed| named.freed_site(freed).map_or_else(Vec::new, |site| stack_labels(trace, names, site))),
        allocated_type: wants(By::Type).then(allocated_type),
        thread: row.thread.filter(|t| t.is_known()).map(|t| t.0),
        size_bucket: row.size.map(SizeBucket::bounds),
        lifetime_bucket: row.lifetime.map(LifetimeBucket::bounds),
        function: if wants(By::Function) { named.function(id).map(|name| name.to_string()) } else { None },
        module: if wants(By::Module) { named.module(id).map(str::to_owned) } else { None },
        tag: if wants(By::Tag) { named.tag(id).map(ToString::to_string) } else { None },
        responsible: wants(By::Responsible).then(|| named.responsible(id)),
        responsible_module: wants(By::ResponsibleModule).then(|| named.responsible_module(id)),
        owner: if wants(By::Owner) { named.owner(id).map(ToString::to_string) } else { None },
        source: named.lines.filter(|_| wants(By::Responsible)).and_then(|lines| lines.of(id)),
        numbers,
    }
}

/// Returns the first `top` of the groups that have a rank, by rank, then by key. Names are made only for groups that
/// can be among them; of many with equal rank, only for some at a time.
pub(in crate::query) fn first<N, R: Ord + Copy>(
    ranks: &[Option<R>],
    top: usize,
    describe: impl Fn(usize) -> Group<N>,
) -> Vec<(usize, Group<N>)> {
    let mut order: Vec<(R, usize)> = ranks.iter().enumerate().filter_map(|(i, rank)| Some(((*rank)?, i))).collect();
    order.sort_by_key(|(rank, _)| *rank);
    match top.checked_sub(1) {
        None => order.clear(),
        // Groups with the same rank as the last one compete by their keys.
        Some(last) if last < order.len() => order.truncate(order.partition_point(|(rank, _)| *rank <= order[last].0)),
        Some(_) => {}
    }
    let mut groups: Vec<(R, usize, Group<N>)> = Vec::new();
    for piece in order.chunks(top.max(LEVEL)) {
        groups.extend(piece.iter().map(|&(rank, i)| (rank, i, describe(i))));
        groups.sort_by(|(a_rank, _, a), (b_rank, _, b)| a_rank.cmp(b_rank).then_with(|| a.compare_keys(b)));
        groups.truncate(top);
    }
    groups.into_iter().map(|(_, i, group)| (i, group)).collect()
}

impl<N> Group<N> {
    /// Returns the keys of this group with other numbers.
    pub(crate) fn keys_with<M>(&self, numbers: M) -> Group<M> {
        Group {
            process: self.process.clone(),
            pid: self.pid,
            process_start_s: self.process_start_s,
            layer: self.layer,
            heap: self.heap.clone(),
            stack: self.stack.clone(),
            sources: self.sources.clone(),
            addresses: self.addresses.clone(),
            freed_stack: self.freed_stack.clone(),
            allocated_type: self.allocated_type.clone(),
            thread: self.thread,
            function: self.function.clone(),
            module: self.module.clone(),
            tag: self.tag.clone(),
            responsible: self.responsible.clone(),
            responsible_module: self.responsible_module.clone(),
            owner: self.owner.clone(),
            source: self.source.clone(),
            size_bucket: self.size_bucket,
            lifetime_bucket: self.lifetime_bucket,
            numbers,
        }
    }

    /// Compares groups with equal numbers.
    pub(super) fn compare_keys(&self, other: &Self) -> Ordering {
        let start = |g: &Self| g.process_start_s.unwrap_or(f64::NEG_INFINITY);
        let shorter = |g: &Self| g.lifetime_bucket.map(|LifetimeBounds(from, to)| (to.is_none(), from));
        let process = (&self.process, self.pid).cmp(&(&other.process, other.pid));
        process
            .then(start(self).total_cmp(&start(other)))
            .then_with(|| self.layer.cmp(other.layer))
            .then_with(|| (&self.heap, &self.stack, &self.freed_stack).cmp(&(&other.heap, &other.stack, &other.freed_stack)))
            .then_with(|| self.allocated_type.cmp(&other.allocated_type))
            .then_with(|| (self.thread, self.size_bucket).cmp(&(other.thread, other.size_bucket)))
            .then_with(|| shorter(self).partial_cmp(&shorter(other)).unwrap_or(Ordering::Equal))
            .then_with(|| (&self.function, &self.module, &self.tag).cmp(&(&other.function, &other.module, &other.tag)))
            .then_with(|| {
                (&self.responsible, &self.responsible_module, &self.owner).cmp(&(
                    &other.responsible,
                    &other.responsible_module,
                    &other.owner,
                ))
            })
    }
}
