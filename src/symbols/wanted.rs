//! Which addresses of which modules a trace asks about.
//!
//! Frames are return addresses, so what is looked up is the byte before: there the
//! call is, and its line, even if the function ends with it. The innermost frame of a
//! kernel stack is where the processor was, and is looked up as it is.
//!
//! Cost: a visit of each stack node for each process that has it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{ModuleKey, PdbKey, Wanted};
use crate::model::{Module, NodeId, ProcessId, SiteId, Trace};

/// First address of the kernel's half.
const KERNEL: u64 = 1 << 63;

/// Where to look for the name of a frame.
pub fn lookup_address(address: u64, is_innermost: bool) -> u64 {
    if is_innermost && address >= KERNEL { address } else { address.saturating_sub(1) }
}

/// What is asked about one module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleAddresses {
    /// The module.
    pub key: ModuleKey,
    /// What is known to find its PDB by.
    pub wanted: Wanted,
    /// Where to look, from its base; in order.
    pub rvas: Vec<u32>,
}

impl ModuleAddresses {
    /// File name of the image.
    pub fn name(&self) -> &str {
        self.wanted.image.rsplit(['\\', '/']).next().unwrap_or_default()
    }
}

/// The addresses of all frames of the sites for which `is_asked`, by module; with `frees`
/// those of frees of unknown blocks, too.
pub fn addresses(trace: &Trace, is_asked: impl Fn(SiteId) -> bool, frees: bool) -> Vec<ModuleAddresses> {
    let mut all = Collector::default();
    let mut visited: FxHashMap<u32, Vec<u64>> = FxHashMap::default();
    let sites = trace.sites.iter().enumerate().filter(|(i, _)| is_asked(SiteId(*i as u32)));
    let sites = sites.map(|(_, site)| (site.caller, site.stack));
    let frees = trace.unmatched.iter().filter(|_| frees);
    let frees = frees.filter_map(|free| Some((trace.process_of_free(free)?, free.stack)));
    for (process, stack) in sites.chain(frees) {
        let seen = visited.entry(process.0).or_insert_with(|| vec![0; trace.stacks.len().div_ceil(64)]);
        for node in trace.stacks.chain(stack) {
            let (word, bit) = (node.0 as usize / 64, 1 << (node.0 % 64));
            if seen[word] & bit != 0 {
                break; // and so are the frames around it
            }
            seen[word] |= bit;
            all.frame(trace, process, node);
        }
    }
    all.finish()
}

#[derive(Default)]
struct Collector<'a> {
    modules: Vec<(&'a Module, Vec<u32>)>,
    by_key: FxHashMap<ModuleKey, usize>,
    /// The same for each module of each process, by where it lies in memory.
    by_module: FxHashMap<usize, usize>,
}

impl<'a> Collector<'a> {
    fn frame(&mut self, trace: &'a Trace, process: ProcessId, node: NodeId) {
        let address = trace.stacks.address(node);
        for module in trace.modules_over(process, address) {
            let rvas = self.of(module);
            let innermost = (address >= KERNEL).then_some(true);
            for is_innermost in innermost.into_iter().chain([false]) {
                let rva = lookup_address(address, is_innermost).checked_sub(module.base);
                rvas.extend(rva.and_then(|rva| u32::try_from(rva).ok()));
            }
        }
    }

    fn of(&mut self, module: &'a Module) -> &mut Vec<u32> {
        let modules = &mut self.modules;
        let by_key = &mut self.by_key;
        let index = *self.by_module.entry(std::ptr::from_ref(module) as usize).or_insert_with(|| {
            *by_key.entry(ModuleKey::of(module)).or_insert_with(|| {
                modules.push((module, Vec::new()));
                modules.len() - 1
            })
        });
        &mut self.modules[index].1
    }

    fn finish(self) -> Vec<ModuleAddresses> {
        let describe = |(module, mut rvas): (&Module, Vec<u32>)| {
            rvas.sort_unstable();
            rvas.dedup();
            let pdb = module.pdb.as_ref().map(|id| (PdbKey::from(id.as_ref()), id.path.clone()));
            let wanted = Wanted { image: module.path.to_string(), time_stamp: module.time_stamp, size: module.size, pdb };
            ModuleAddresses { key: ModuleKey::of(module), wanted, rvas }
        };
        self.modules.into_iter().map(describe).collect()
    }
}

/// Modules of which nothing is asked, for a list of all.
pub fn others(trace: &Trace, asked: &[ModuleAddresses]) -> Vec<ModuleAddresses> {
    let mut known: FxHashSet<ModuleKey> = asked.iter().map(|module| module.key.clone()).collect();
    let mut others = Collector::default();
    for module in trace.processes.iter().flat_map(|process| &process.modules) {
        if known.insert(ModuleKey::of(module)) {
            others.of(module);
        }
    }
    others.finish()
}
