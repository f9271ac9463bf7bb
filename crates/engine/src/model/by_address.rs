//! Finds what lies at an address at a time, modules or code that a runtime made: a tree over the ranges
//! between the edges of the modules.
//!
//! A module is in the few nodes that make up its range, and each node knows for every time the first of
//! its modules that is mapped then. So however many modules overlap, the answer is the first of those
//! of the nodes from a leaf to the root.
//!
//! Cost, with n modules: n (log n)^2 steps once, and where modules overlap up to 2 log n entries of 16
//! bytes a module; then (log n)^2 steps for each answer, log n if nothing overlaps.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::units::{Interval, Ticks};

/// Something that lies at an address for some time.
pub(super) trait Mapped {
    /// First byte, and size in bytes.
    fn place(&self) -> (u64, u64);

    /// Begin and end of that time.
    fn during(&self) -> (Ticks, Ticks);
}

/// All moments there are.
pub(super) const ALWAYS: Interval = Interval { from: Ticks::BEFORE_TRACE, to: Ticks::NEVER };

/// No module, among ranks of modules.
const NOBODY: u32 = u32::MAX;

/// Modules by address.
#[derive(Clone, Debug, Default)]
pub(super) struct ByAddress {
    /// Process and number of each module, by rank: the lower comes first.
    modules: Vec<(u32, u32)>,
    /// First bytes of the leaves' ranges, each up to the next.
    edges: Vec<u64>,
    /// A binary tree: node `i` has the children `2 i` and `2 i + 1`, the leaves are the last.
    nodes: Vec<Node>,
    /// Steps of all nodes.
    steps: Vec<ModuleStep>,
}

/// Modules that cover all of a node's range, and not all of its parent's.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Rank of the first of them.
    first: u32,
    /// Whether there are others.
    has_more: bool,
    steps: (u32, u32),
}

/// From this moment until the next step, `mapped` is the first module of a node that is mapped.
#[derive(Clone, Copy, Debug)]
struct ModuleStep {
    from: Ticks,
    mapped: u32,
}

/// The modules of a node while it is made.
#[derive(Clone)]
struct Ranks {
    ranks: Vec<u32>,
    /// From this moment on one of them is mapped for ever: a module that is loaded later and has a
    /// higher rank is never the first.
    taken: Ticks,
}

impl Default for Ranks {
    fn default() -> Self {
        Self { ranks: Vec::new(), taken: Ticks::NEVER }
    }
}

impl Ranks {
    fn add(&mut self, rank: u32, module: &impl Mapped) {
        let (load, unload) = module.during();
        if self.ranks.is_empty() || load < self.taken {
            self.ranks.push(rank);
            if unload == Ticks::NEVER {
                self.taken = self.taken.min(load);
            }
        }
    }
}

impl ByAddress {
    /// A map of things that lie somewhere; each comes with the numbers by which it is found.
    pub(super) fn of<'a, M: Mapped + 'a>(modules: impl Iterator<Item = ((u32, u32), &'a M)>) -> Self {
        let mut all: Vec<&M> = Vec::new();
        let mut map = Self::default();
        for (number, module) in modules.filter(|(_, module)| module.place().1 > 0) {
            all.push(module);
            map.modules.push(number);
        }
        map.edges = all.iter().flat_map(|module| [Some(module.place().0), end(*module)]).flatten().collect();
        map.edges.sort_unstable();
        map.edges.dedup();
        let mut nodes = vec![Ranks::default(); 2 * map.edges.len()];
        for (rank, module) in all.iter().enumerate() {
            map.each_node(*module, |node| nodes[node].add(rank as u32, *module));
        }
        for Ranks { ranks, .. } in nodes {
            let node = map.node(&all, &ranks);
            map.nodes.push(node);
        }
        map
    }

    /// The nodes that make up the range of a module.
    fn each_node(&self, module: &impl Mapped, each: impl FnMut(usize)) {
        let leaves = self.edges.len();
        let leaf = |edge: u64| self.edges.partition_point(|&other| other < edge);
        covering_nodes(leaves, leaf(module.place().0)..end(module).map_or(leaves, leaf), each);
    }

    fn node(&mut self, all: &[&impl Mapped], ranks: &[u32]) -> Node {
        let begin = self.steps.len() as u32;
        let first = ranks.first().copied().unwrap_or(NOBODY);
        let mut by_load: Vec<u32> = ranks.to_vec();
        let during = |rank: u32| all[rank as usize].during();
        by_load.sort_by_key(|&rank| during(rank).0);
        let mut moments: Vec<Ticks> = ranks.iter().map(|&rank| during(rank)).flat_map(|(load, unload)| [load, unload]).collect();
        moments.sort_unstable();
        moments.dedup();
        // The mapped ones, the first of them in front; some behind it may be gone already.
        let mut mapped: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
        let mut to_load = by_load.into_iter().peekable();
        let mut latest = NOBODY;
        for now in moments {
            while let Some(rank) = to_load.next_if(|&rank| during(rank).0 <= now) {
                mapped.push(Reverse(rank));
            }
            while mapped.peek().is_some_and(|&Reverse(rank)| during(rank).1 <= now) {
                mapped.pop();
            }
            let first = mapped.peek().map_or(NOBODY, |&Reverse(rank)| rank);
            if first != latest {
                self.steps.push(ModuleStep { from: now, mapped: first });
                latest = first;
            }
        }
        Node { first, has_more: ranks.len() > 1, steps: (begin, self.steps.len() as u32) }
    }

    /// The first module over `address` that is mapped at `at`, else the first over `address`; and the
    /// interval in which this is the answer.
    pub(super) fn find(&self, address: u64, at: Ticks) -> (Option<(u32, u32)>, Interval) {
        let Some(edge) = self.edges.partition_point(|&edge| edge <= address).checked_sub(1) else { return (None, ALWAYS) };
        let mut node = self.edges.len() + edge;
        let (mut first, mut mapped, mut is_only, mut during) = (NOBODY, NOBODY, true, ALWAYS);
        while node > 0 {
            let Node { first: first_here, has_more, steps: (begin, end) } = self.nodes[node];
            node /= 2;
            if first_here == NOBODY {
                continue;
            }
            is_only &= first == NOBODY && !has_more;
            first = first.min(first_here);
            let steps = &self.steps[begin as usize..end as usize];
            let next = steps.partition_point(|step| step.from <= at);
            if let Some(step) = next.checked_sub(1).map(|latest| steps[latest]) {
                mapped = mapped.min(step.mapped);
                during.from = during.from.max(step.from);
            }
            if let Some(step) = steps.get(next) {
                during.to = during.to.min(step.from);
            }
        }
        let found = if mapped == NOBODY { first } else { mapped };
        // A single one is found whether it is mapped or not.
        let during = if is_only { ALWAYS } else { during };
        ((found != NOBODY).then(|| self.modules[found as usize]), during)
    }
}

/// Calls `each` with the nodes of a binary tree, whose leaves are the last nodes, that together cover some of its leaves.
pub(crate) fn covering_nodes(leaves: usize, covered: Range<usize>, mut each: impl FnMut(usize)) {
    let (mut from, mut to) = (leaves + covered.start, leaves + covered.end);
    while from < to {
        if from % 2 == 1 {
            each(from);
            from += 1;
        }
        if to % 2 == 1 {
            to -= 1;
            each(to);
        }
        (from, to) = (from / 2, to / 2);
    }
}

/// The first byte behind a module, if there is one.
fn end(module: &impl Mapped) -> Option<u64> {
    let (base, size) = module.place();
    base.checked_add(size)
}
