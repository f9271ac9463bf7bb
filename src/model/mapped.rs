//! Finds the module that is mapped at an address and a time: for each process a tree over the ranges
//! between the edges of its modules, made when the process is first asked about. Code that a runtime
//! made is found in the same way ([`Mapped`]).
//!
//! A module is in the few nodes that make up its range, and each node knows for every time the first of
//! its modules that is mapped then. So however many modules overlap, the answer is the first of those
//! of the nodes from a leaf to the root.
//!
//! Cost, with n modules: n (log n)^2 steps once, and where modules overlap up to 2 log n entries of 16
//! bytes a module; then (log n)^2 steps for each answer, log n if nothing overlaps.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, OnceLock};

use super::{Method, Module, Process, ProcessId};
use crate::units::{Interval, Ticks};

/// The modules of all processes.
#[derive(Clone, Debug, Default)]
pub(super) struct ModuleMap {
    processes: OnceLock<Vec<OnceLock<ByAddress>>>,
    /// Modules of the kernel, which are mapped everywhere.
    kernel: OnceLock<ByAddress>,
}

/// Something that lies at an address for some time.
pub(super) trait Mapped {
    /// First byte, and size in bytes.
    fn place(&self) -> (u64, u64);

    /// Begin and end of that time.
    fn during(&self) -> (Ticks, Ticks);
}

impl Mapped for Module {
    fn place(&self) -> (u64, u64) {
        (self.base, self.size)
    }

    fn during(&self) -> (Ticks, Ticks) {
        (self.load, self.unload)
    }
}

/// The module at an address, and the interval in which it is that one.
#[derive(Clone, Copy, Debug)]
pub struct MappedModule<'a> {
    /// The module, if any is there.
    pub module: Option<&'a Module>,
    /// The managed method, if one is there; inside of a module if it was compiled before.
    pub method: Option<&'a Method>,
    /// The answer is the same at all moments in this interval; it may be so before and after it, too.
    pub during: Interval,
}

/// All moments there are.
pub(super) const ALWAYS: Interval = Interval { from: Ticks::BEFORE_TRACE, to: Ticks::NEVER };

impl ModuleMap {
    /// See [`super::Trace::module_at`].
    pub(super) fn find<'a>(
        &self,
        processes: &'a [Arc<Process>],
        process: ProcessId,
        address: u64,
        at: Ticks,
    ) -> MappedModule<'a> {
        // Samples can have no process.
        let own = self.own(processes, process);
        let mut found = own.map_or((None, ALWAYS), |own| own.find(address, at));
        if found.0.is_none() {
            found = self.kernel(processes).find(address, at);
        }
        let (place, during) = found;
        let module = |(process, module): (u32, u32)| &processes[process as usize].modules[module as usize];
        MappedModule { module: place.map(module), method: None, during }
    }

    fn own(&self, processes: &[Arc<Process>], process: ProcessId) -> Option<&ByAddress> {
        let all = self.processes.get_or_init(|| processes.iter().map(|_| OnceLock::new()).collect());
        let i = process.0 as usize;
        Some(all.get(i)?.get_or_init(|| ByAddress::of(modules(processes[i..=i].iter().map(|p| (i, p))))))
    }

    fn kernel(&self, processes: &[Arc<Process>]) -> &ByAddress {
        let is_kernel = |(_, p): &(usize, &Arc<Process>)| matches!(p.pid.0, 0 | 4);
        self.kernel.get_or_init(|| ByAddress::of(modules(processes.iter().enumerate().filter(is_kernel))))
    }
}

/// The modules of some processes, with process and number of each.
fn modules<'a>(processes: impl Iterator<Item = (usize, &'a Arc<Process>)>) -> impl Iterator<Item = ((u32, u32), &'a Module)> {
    processes.flat_map(|(process, p)| (0..).zip(&p.modules).map(move |(i, module)| ((process as u32, i), module)))
}

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
    fn each_node(&self, module: &impl Mapped, mut each: impl FnMut(usize)) {
        let leaves = self.edges.len();
        let leaf = |edge: u64| leaves + self.edges.partition_point(|&other| other < edge);
        let (mut from, mut to) = (leaf(module.place().0), end(module).map_or(2 * leaves, leaf));
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

/// The first byte behind a module, if there is one.
fn end(module: &impl Mapped) -> Option<u64> {
    let (base, size) = module.place();
    base.checked_add(size)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::world::ProcessTable;
    use super::*;
    use crate::pe::Build;
    use crate::units::Pid;

    fn module(base: u64, size: u64, load: i64, unload: i64) -> Module {
        Module { base, size, load: Ticks(load), unload: Ticks(unload), path: "m".into(), build: Build::default(), pdb: None }
    }

    fn processes(modules: &[(u32, Vec<Module>)]) -> Vec<Arc<Process>> {
        let mut table = ProcessTable::default();
        for (pid, modules) in modules {
            let id = table.find_or_add(Pid(*pid), Ticks(0));
            table.get_mut(id).modules.clone_from(modules);
        }
        table.list
    }

    /// The expected answer, found by a scan.
    fn naive(processes: &[Arc<Process>], process: usize, address: u64, at: Ticks) -> Option<&Module> {
        let kernel = processes.iter().filter(|p| matches!(p.pid.0, 0 | 4)).flat_map(|p| &p.modules);
        let pick = |modules: Vec<&'_ Module>| -> Option<usize> {
            let over = |m: &Module| m.covers(address);
            let mapped = |m: &Module| over(m) && m.load <= at && at < m.unload;
            modules.iter().position(|m| mapped(m)).or_else(|| modules.iter().position(|m| over(m)))
        };
        let own: Vec<&Module> = processes[process].modules.iter().collect();
        let kernel: Vec<&Module> = kernel.collect();
        pick(own.clone()).map(|i| own[i]).or_else(|| pick(kernel.clone()).map(|i| kernel[i]))
    }

    fn check(list: &[Arc<Process>], map: &ModuleMap, process: usize, address: u64, moments: &[i64]) {
        for &at in moments {
            let found = map.find(list, ProcessId(process as u32), address, Ticks(at));
            let expected = naive(list, process, address, Ticks(at));
            assert_eq!(found.module.map(std::ptr::from_ref), expected.map(std::ptr::from_ref), "{process} {address} {at}");
            assert!(found.during.contains(Ticks(at)));
            for &other in moments.iter().filter(|&&other| found.during.contains(Ticks(other))) {
                let other = naive(list, process, address, Ticks(other));
                assert_eq!(other.map(std::ptr::from_ref), expected.map(std::ptr::from_ref), "while {:?}", found.during);
            }
        }
    }

    #[test]
    fn overlapping_and_moving_modules_are_found_as_by_a_scan() {
        let own = vec![
            module(100, 1000, 0, 50),
            module(200, 10, 0, 20),
            module(150, 100, 10, 60),
            module(100, 1000, 50, 90),
            module(205, 0, 0, 90),
            module(u64::MAX - 5, 100, 0, 90),
        ];
        let list = processes(&[(7, own), (4, vec![module(205, 2000, 0, 90), module(0, 3000, 5, 6)]), (8, Vec::new())]);
        let map = ModuleMap::default();
        for process in 0..3 {
            for address in [0, 99, 100, 149, 150, 200, 205, 209, 210, 249, 250, 1099, 1100, 2204, 2205, 3000, u64::MAX] {
                check(&list, &map, process, address, &[-1, 0, 5, 6, 10, 20, 49, 50, 60, 90]);
            }
        }
    }

    /// Few places and moments, so that modules overlap in every way; some to the end of all.
    fn modules() -> impl Strategy<Value = Vec<Module>> {
        let base = prop_oneof![12 => 0..12u64, 1 => u64::MAX - 3..=u64::MAX];
        let size = prop_oneof![12 => 0..9u64, 1 => Just(u64::MAX)];
        let load = prop_oneof![3 => 0..12i64, 1 => Just(i64::MIN)];
        let unload = prop_oneof![3 => 0..12i64, 2 => Just(i64::MAX)];
        prop::collection::vec(
            (base, size, load, unload).prop_map(|(base, size, load, unload)| module(base, size, load, unload)),
            0..12,
        )
    }

    proptest! {
        #[test]
        fn any_modules_are_found_as_by_a_scan(own in modules(), first in modules(), second in modules()) {
            let list = processes(&[(7, own), (4, first), (0, second)]);
            let map = ModuleMap::default();
            let moments: Vec<i64> = [i64::MIN, i64::MIN + 1].into_iter().chain(-1..13).chain([i64::MAX - 1]).collect();
            for address in (0..22).chain(u64::MAX - 4..=u64::MAX) {
                (0..3).for_each(|process| check(&list, &map, process, address, &moments));
            }
        }
    }
}
