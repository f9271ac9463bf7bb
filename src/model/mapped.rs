//! Which module is mapped where: the modules of a process by address, put into
//! order when the process is first asked about.
//!
//! Cost: a sort of the modules once, then a binary search and a look at each
//! module that overlaps the address.

use std::sync::{Arc, OnceLock};

use super::{Module, Process, ProcessId};
use crate::units::Ticks;

/// The modules of all processes.
#[derive(Clone, Debug, Default)]
pub(super) struct ModuleMap {
    processes: OnceLock<Vec<OnceLock<ByAddress>>>,
    /// Those of the kernel, which are mapped everywhere.
    kernel: OnceLock<ByAddress>,
}

impl ModuleMap {
    /// See [`super::Trace::module_at`].
    pub(super) fn find<'a>(
        &self,
        processes: &'a [Arc<Process>],
        process: ProcessId,
        address: u64,
        at: Ticks,
    ) -> Option<&'a Module> {
        let own = self.own(processes, process).find(processes, address, at);
        own.or_else(|| self.kernel(processes).find(processes, address, at))
    }

    /// See [`super::Trace::modules_over`].
    pub(super) fn over<'a>(&self, processes: &'a [Arc<Process>], process: ProcessId, address: u64) -> Vec<&'a Module> {
        let own = self.own(processes, process).over(processes, address);
        if own.is_empty() { self.kernel(processes).over(processes, address) } else { own }
    }

    fn own(&self, processes: &[Arc<Process>], process: ProcessId) -> &ByAddress {
        let all = self.processes.get_or_init(|| processes.iter().map(|_| OnceLock::new()).collect());
        let i = process.0 as usize;
        all[i].get_or_init(|| ByAddress::of(processes[i..=i].iter().map(|p| (i, p))))
    }

    fn kernel(&self, processes: &[Arc<Process>]) -> &ByAddress {
        let is_kernel = |(_, p): &(usize, &Arc<Process>)| matches!(p.pid.0, 0 | 4);
        self.kernel.get_or_init(|| ByAddress::of(processes.iter().enumerate().filter(is_kernel)))
    }
}

/// Modules by their first byte.
#[derive(Clone, Debug)]
struct ByAddress(Vec<Entry>);

#[derive(Clone, Copy, Debug)]
struct Entry {
    base: u64,
    /// The largest last byte of this module and all before it.
    reach: u64,
    process: u32,
    module: u32,
}

impl ByAddress {
    fn of<'a>(processes: impl Iterator<Item = (usize, &'a Arc<Process>)>) -> Self {
        let mut list: Vec<Entry> = Vec::new();
        for (process, modules) in processes.map(|(i, p)| (i as u32, &p.modules)) {
            for (i, module) in modules.iter().enumerate().filter(|(_, m)| m.size > 0) {
                let last = module.base.saturating_add(module.size - 1);
                list.push(Entry { base: module.base, reach: last, process, module: i as u32 });
            }
        }
        list.sort_by_key(|entry| entry.base);
        let mut reach = 0;
        for entry in &mut list {
            reach = entry.reach.max(reach);
            entry.reach = reach;
        }
        Self(list)
    }

    /// All modules that are over `address` at some time.
    fn entries_over<'a>(&self, processes: &'a [Arc<Process>], address: u64) -> impl Iterator<Item = (&Entry, &'a Module)> {
        let behind = self.0.partition_point(|entry| entry.base <= address);
        let near = self.0[..behind].iter().rev().take_while(move |entry| entry.reach >= address);
        let module = |entry: &Entry| &processes[entry.process as usize].modules[entry.module as usize];
        near.map(move |entry| (entry, module(entry))).filter(move |(_, module)| module.covers(address))
    }

    fn over<'a>(&self, processes: &'a [Arc<Process>], address: u64) -> Vec<&'a Module> {
        self.entries_over(processes, address).map(|(_, module)| module).collect()
    }

    /// The first module over `address` that is mapped at `at`, else the first over `address`.
    fn find<'a>(&self, processes: &'a [Arc<Process>], address: u64, at: Ticks) -> Option<&'a Module> {
        let mut best: Option<((bool, u32, u32), &Module)> = None;
        for (entry, module) in self.entries_over(processes, address) {
            let is_away = !(module.load <= at && at < module.unload);
            let rank = (is_away, entry.process, entry.module);
            if best.is_none_or(|(other, _)| rank < other) {
                best = Some((rank, module));
            }
        }
        best.map(|(_, module)| module)
    }
}

#[cfg(test)]
mod tests {
    use super::super::process::ProcessTable;
    use super::*;
    use crate::units::Pid;

    fn module(base: u64, size: u64, load: i64, unload: i64) -> Module {
        Module { base, size, load: Ticks(load), unload: Ticks(unload), path: "m".into(), time_stamp: 0, pdb: None }
    }

    fn processes(modules: &[(u32, Vec<Module>)]) -> Vec<Arc<Process>> {
        let mut table = ProcessTable::default();
        for (pid, modules) in modules {
            let id = table.find_or_add(Pid(*pid), Ticks(0));
            table.get_mut(id).modules.clone_from(modules);
        }
        table.list
    }

    /// What is asked for, spelled out.
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
                for at in [-1, 0, 5, 6, 10, 20, 49, 50, 60, 90] {
                    let found = map.find(&list, ProcessId(process as u32), address, Ticks(at));
                    let expected = naive(&list, process, address, Ticks(at));
                    assert_eq!(found.map(std::ptr::from_ref), expected.map(std::ptr::from_ref), "{process} {address} {at}");
                    let over = map.over(&list, ProcessId(process as u32), address);
                    assert!(found.is_none_or(|found| over.iter().any(|module| std::ptr::eq(*module, found))));
                    assert_eq!(found.is_none(), over.is_empty());
                }
            }
        }
    }
}
