//! Finds the module that is mapped at an address and a time, in a tree for each process ([`ByAddress`])
//! that is made when the process is first asked about.

use std::sync::{Arc, OnceLock};

use super::by_address::{ALWAYS, ByAddress, Mapped};
use super::{Method, Module, Process, ProcessId};
use crate::units::{Interval, Ticks};

/// The modules of all processes.
#[derive(Clone, Debug, Default)]
pub(super) struct ModuleMap {
    processes: OnceLock<Vec<OnceLock<ByAddress>>>,
    /// Modules of the kernel, which are mapped everywhere.
    kernel: OnceLock<ByAddress>,
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
