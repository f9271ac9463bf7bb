//! The addresses of a trace that are asked about, by module.
//!
//! Cost: a visit of each stack node for each process that has it; if several modules were mapped at one place, a
//! visit for each of them, or for each site at most.

use super::Wanted;
use crate::model::{Module, NodeId, ProcessId, Site, SiteId, Trace};
use crate::names::{CodeAddress, FrameKind, KERNEL, ModuleKey, PdbKey, lookup_address};
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::{Interval, Ticks};

/// The addresses of one module that are asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ModuleAddresses {
    /// The module.
    pub key: ModuleKey,
    /// The facts by which its PDB can be found.
    pub wanted: Wanted,
    /// The addresses to look up, from its base; in order.
    pub rvas: Vec<u32>,
}

impl ModuleAddresses {
    /// File name of the image.
    pub(crate) fn name(&self) -> &str {
        self.wanted.image.rsplit(['\\', '/']).next().unwrap_or_default()
    }
}

/// Stacks that are asked about besides those of sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Also {
    /// Stacks of frees, of whatever blocks.
    pub frees: bool,
    /// Stacks of processor samples.
    pub samples: bool,
}

/// The addresses of all frames, by module: of the sites for which `is_asked` is true, and of the other stacks that
/// are asked about. With `only`, those of memory of these processes, or of samples of them.
pub(crate) fn addresses(
    trace: &Trace,
    is_asked: impl Fn(SiteId) -> bool,
    Also { frees, samples }: Also,
    only: Option<&KeyedSet<ProcessId>>,
) -> Vec<ModuleAddresses> {
    let is_wanted = |process: ProcessId| only.is_none_or(|only| only.contains(&process));
    let is_of_wanted = |site: &&Site| is_wanted(trace.process_of(site));
    let sites = trace.sites.iter().enumerate().filter(|(i, site)| is_asked(SiteId(*i as u32)) && is_of_wanted(site));
    let sites = sites.map(|(_, site)| (site.first, site.caller, site.stack));
    let unmatched = trace.unmatched.iter().filter(|_| frees);
    let unmatched = unmatched.filter_map(|free| Some((free.time, trace.process_of_free(free)?, free.stack)));
    let unmatched = unmatched.filter(|(_, process, _)| is_wanted(*process));
    let freed = trace.free_sites.iter().filter(|_| frees).filter(is_of_wanted);
    let freed = freed.map(|site| (site.first, site.caller, site.stack));
    let sampled = trace.activity.samples.sites.iter().filter(|site| samples && is_wanted(site.caller));
    let sampled = sampled.map(|site| (site.first, site.caller, site.stack));
    let mut all = Collector::default();
    for (at, process, stack) in sampled.clone().filter(|(.., stack)| *stack != NodeId::ROOT) {
        let address = trace.stacks.address(stack);
        if let Some(module) = trace.module_at(process, address, at) {
            all.sampled(module, address);
        }
    }
    let mut stacks: Vec<(Ticks, ProcessId, NodeId)> = sites.chain(unmatched).chain(freed).chain(sampled).collect();
    // In order of time, no frame is looked up twice for the same mapping of a module.
    stacks.sort_by_key(|(at, ..)| *at);
    let mut visited: KeyedMap<ProcessId, Visited> = KeyedMap::default();
    let mut path = Vec::new();
    for (at, process, stack) in stacks {
        let visited = visited.entry(process).or_insert_with(|| Visited::new(trace.stacks.len()));
        let mut during = ALWAYS;
        for node in trace.stacks.chain(stack) {
            if let Some(known) = visited.when(node, at) {
                during = known; // of the frames around it, too
                break;
            }
            path.push(node);
        }
        for node in path.drain(..).rev() {
            let mapped = trace.mapped_at(process, trace.stacks.address(node), at);
            during = Interval { from: during.from.max(mapped.during.from), to: during.to.min(mapped.during.to) };
            if let Some(module) = mapped.module {
                all.frame(module, trace.stacks.address(node));
            }
            visited.note(node, during);
        }
    }
    all.finish()
}

/// The addresses to look up for some code addresses, by module.
pub(crate) fn of_addresses(trace: &Trace, addresses: &[CodeAddress]) -> Vec<ModuleAddresses> {
    let mut all = Collector::default();
    for address in addresses {
        if let Some(module) = address.module(trace) {
            all.of(module).extend(address.rva(module));
        }
    }
    all.finish()
}

/// All moments.
const ALWAYS: Interval = Interval { from: Ticks::BEFORE_TRACE, to: Ticks::NEVER };

/// Frames of one process that were looked up, together with those around them.
struct Visited {
    /// Nodes that were looked up for all times, as nearly all are: a bit for each node.
    always: Vec<u64>,
    /// Nodes that were looked up for these moments only.
    during: KeyedMap<NodeId, Interval>,
}

impl Visited {
    fn new(nodes: usize) -> Self {
        Self { always: vec![0; nodes.div_ceil(64)], during: KeyedMap::default() }
    }

    fn bit(node: NodeId) -> (usize, u64) {
        (node.0 as usize / 64, 1 << (node.0 % 64))
    }

    /// The moments around `at` for which a frame was looked up together with those around it.
    fn when(&self, node: NodeId, at: Ticks) -> Option<Interval> {
        let (word, bit) = Self::bit(node);
        if self.always[word] & bit != 0 {
            return Some(ALWAYS);
        }
        self.during.get(&node).copied().filter(|during| during.contains(at))
    }

    fn note(&mut self, node: NodeId, during: Interval) {
        if during == ALWAYS {
            let (word, bit) = Self::bit(node);
            self.always[word] |= bit;
        } else {
            self.during.insert(node, during);
        }
    }
}

#[derive(Default)]
struct Collector<'a> {
    modules: Vec<(&'a Module, Vec<u32>)>,
    by_key: KeyedMap<ModuleKey, usize>,
    /// Index of each module of each process, by the address of the module's data.
    by_module: KeyedMap<usize, usize>,
}

impl<'a> Collector<'a> {
    fn frame(&mut self, module: &'a Module, address: u64) {
        let rvas = self.of(module);
        let innermost = (address >= KERNEL).then_some(FrameKind::Innermost);
        for kind in innermost.into_iter().chain([FrameKind::Caller]) {
            rvas.extend(rva(module, lookup_address(address, kind)));
        }
    }

    /// Adds an address where a processor was.
    fn sampled(&mut self, module: &'a Module, address: u64) {
        self.of(module).extend(rva(module, lookup_address(address, FrameKind::Sampled)));
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
            let wanted = Wanted { image: module.path.to_string(), build: module.build, pdb };
            ModuleAddresses { key: ModuleKey::of(module), wanted, rvas }
        };
        self.modules.into_iter().map(describe).collect()
    }
}

fn rva(module: &Module, address: u64) -> Option<u32> {
    u32::try_from(address.checked_sub(module.base)?).ok()
}

/// Modules with no address that is asked about, for a list of all.
pub(crate) fn others(trace: &Trace, asked: &[ModuleAddresses]) -> Vec<ModuleAddresses> {
    let mut known: KeyedSet<ModuleKey> = asked.iter().map(|module| module.key.clone()).collect();
    let mut others = Collector::default();
    for module in trace.processes.iter().flat_map(|process| &process.modules) {
        if known.insert(ModuleKey::of(module)) {
            others.of(module);
        }
    }
    others.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::events::{Event, FrameRange, ImageChange, ImageInfo, Record, StackPart};
    use crate::model::{Builder, Clock, InputState};
    use crate::units::{Layer, Pid, Tid};

    #[derive(Clone, Debug)]
    enum Act {
        Image(ImageChange, u64, u64),
        Alloc(Vec<u64>),
        Free(Vec<u64>),
        Sample(Vec<u64>),
    }

    /// Images of few sizes at few places, and stacks through them with common frames.
    fn act() -> impl Strategy<Value = Act> {
        let change = prop::sample::select(vec![ImageChange::Load, ImageChange::Load, ImageChange::Unload]);
        let stack = || prop::collection::vec(prop::sample::select(vec![0x10u64, 0x18, 0x25, 0x31, 0x90]), 0..4);
        prop_oneof![
            2 => (change, 0..4u64, 1..4u64).prop_map(|(change, base, size)| Act::Image(change, base, size)),
            2 => stack().prop_map(Act::Alloc),
            1 => stack().prop_map(Act::Free),
            1 => stack().prop_map(Act::Sample),
        ]
    }

    fn trace(acts: &[Act]) -> Trace {
        let mut builder = Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, 0, (0, 0));
        let mut tell =
            |time: i64, event, frames: &[u64]| builder.apply(&Record { time, pid: Pid(7), tid: Tid(1), event }, frames);
        let (layer, heap) = (Layer::Heap, 0x50);
        tell(0, Event::HeapOpen { layer, heap, name: None }, &[]);
        for (time, act) in (1..).zip(acts) {
            let (event, frames) = match act {
                &Act::Image(change, base, size) => {
                    let (base, size) = (base * 0x10, size * 0x10);
                    let info = ImageInfo { base, size, checksum: 0, time_stamp: 0, path: format!("{base}-{size}.dll") };
                    tell(time, Event::Image(change, Box::new(info)), &[]);
                    continue;
                }
                Act::Alloc(frames) => (Event::Alloc { layer, heap, address: 0x1000 + time as u64, size: 8 }, frames),
                Act::Sample(frames) => (Event::Sample { address: frames.first().copied().unwrap_or(0x55), count: 1 }, frames),
                Act::Free(frames) => {
                    (Event::Free { layer, heap, address: if time % 2 == 0 { 0x900 } else { 0x1000 + time as u64 - 1 } }, frames)
                }
            };
            tell(time, event, &[]);
            tell(time, Event::Stack { owner: time, part: StackPart::User, frames: FrameRange::default() }, frames);
        }
        builder.publish(InputState { complete: true, ..InputState::default() })
    }

    const ALL: Also = Also { frees: true, samples: true };

    proptest! {
        #[test]
        fn what_is_asked_is_what_is_looked_up(acts in prop::collection::vec(act(), 0..40)) {
            let trace = trace(&acts);
            let sites = trace.sites.iter().map(|site| (site.first, site.caller, site.stack));
            let frees = trace.unmatched.iter().map(|free| (free.time, trace.process_of_free(free).unwrap(), free.stack));
            let mut expected = BTreeSet::new();
            let freed = trace.free_sites.iter().map(|site| (site.first, site.caller, site.stack));
            let sampled = trace.activity.samples.sites.iter().map(|site| (site.first, site.caller, site.stack));
            for (at, process, stack) in sampled.clone().filter(|(.., stack)| *stack != NodeId::ROOT) {
                let address = trace.stacks.address(stack);
                if let Some(module) = trace.module_at(process, address, at) {
                    expected.insert((module.path.to_string(), (address - module.base) as u32));
                }
            }
            for (at, process, stack) in sites.chain(frees).chain(freed).chain(sampled) {
                for address in trace.stacks.chain(stack).map(|node| trace.stacks.address(node)) {
                    if let Some(module) = trace.module_at(process, address, at)
                        && address > module.base
                    {
                        expected.insert((module.path.to_string(), (address - module.base) as u32 - 1));
                    }
                }
            }
            let mut asked = BTreeSet::new();
            for module in addresses(&trace, |_| true, ALL, None) {
                prop_assert!(module.rvas.is_sorted_by(|a, b| a < b));
                asked.extend(module.rvas.iter().map(|rva| (module.wanted.image.clone(), *rva)));
            }
            prop_assert_eq!(asked, expected);
        }
    }
}
