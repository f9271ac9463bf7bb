//! Modules without names, where an answer follows from names: a type that nobody knows, a frame that no text
//! finds, a finding that stops short of the function that is meant.
//!
//! A module is a doubt if its frames decide over 1 % of the bytes that are asked about. Those of Windows are
//! not meant: few have their PDBs at hand, and what is asked for lies behind them.
//!
//! Cost: where a module has no names, the totals of the interval and a look at the frames of each site.

use crate::tables::KeyedMap;

use super::{Cancel, Cancelled, Index, Mask, totals};
use crate::format;
use crate::model::{NodeId, ProcessId, Site, Trace};
use crate::symbols::ModuleKey;
use crate::units::Interval;

/// Modules that are looked at: those with most frames.
const LOOKED_AT: usize = 64;
/// Modules that are told.
const TOLD: usize = 3;
/// What frames of a module may decide without a doubt, in percent of the bytes.
const TOO_FEW: u128 = 1;

/// Whether an image is a part of Windows, by its path as the kernel names it.
pub fn is_of_windows(image: &str) -> bool {
    let image = image.to_ascii_lowercase();
    image.starts_with(r"\systemroot\") || image.contains(r"\windows\")
}

/// Modules in which frames lie and that have no names.
#[derive(Clone, Debug, Default)]
pub struct Unnamed {
    modules: Vec<UnnamedModule>,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct UnnamedModule {
    /// Which.
    pub key: ModuleKey,
    /// Its file name.
    pub name: String,
    /// Why it has no names.
    pub why: String,
}

/// Which frames of a stack decide an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decides {
    /// Any: a type, a tag, or the text of a frame.
    AnyFrame,
    /// The innermost that is not of Windows: who is named for it.
    Place,
}

/// The module of a frame, and for how long that is so.
type Seen = KeyedMap<(ProcessId, NodeId), (Interval, Module)>;

#[derive(Clone, Copy)]
enum Module {
    Unnamed(usize),
    OfWindows,
    Other,
}

impl Unnamed {
    /// Those with most frames first.
    pub fn new(modules: impl IntoIterator<Item = UnnamedModule>) -> Self {
        Self { modules: modules.into_iter().take(LOOKED_AT).collect() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// A sentence for each module that decides too much of the rows of a mask.
    pub fn doubts(
        &self,
        index: &Index,
        interval: Interval,
        mask: &Mask,
        decides: Decides,
        cancel: &Cancel,
    ) -> Result<Vec<String>, Cancelled> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let trace = index.trace();
        let keys: KeyedMap<&ModuleKey, usize> = self.modules.iter().enumerate().map(|(i, module)| (&module.key, i)).collect();
        let (mut all, mut held) = (0u128, vec![0u128; self.modules.len()]);
        let mut seen = Seen::default();
        for (id, buckets) in totals(index, interval, cancel)?.sites() {
            let size = u128::from(buckets.only(mask.classes(id)).numbers().size);
            all += size;
            if size > 0 {
                let mut bits = deciding(trace, &keys, trace.site(id), decides, &mut seen);
                while bits != 0 {
                    held[bits.trailing_zeros() as usize] += size;
                    bits &= bits - 1;
                }
            }
        }
        let mut told: Vec<(u128, &UnnamedModule)> = held.into_iter().zip(&self.modules).collect();
        told.retain(|(held, _)| held * 100 > all * TOO_FEW);
        told.sort_by_key(|(held, _)| std::cmp::Reverse(*held));
        let more = told.len().saturating_sub(TOLD);
        let sentence = |&(held, module): &(u128, &UnnamedModule)| {
            let part = format::percent(held as f64 / all as f64);
            format!(
                "no names for {}, whose frames decide {part} of the bytes: {}",
                format::plain(&module.name),
                format::plain(&module.why)
            )
        };
        let mut doubts: Vec<String> = told.iter().take(TOLD).map(sentence).collect();
        if more > 0 {
            let modules = if more == 1 { "module" } else { "modules" };
            doubts.push(format!("no names for {more} more {modules}: see highwater symbols check"));
        }
        Ok(doubts)
    }
}

/// The modules without names that decide what is said of a site, a bit each.
fn deciding(trace: &Trace, keys: &KeyedMap<&ModuleKey, usize>, site: &Site, decides: Decides, seen: &mut Seen) -> u64 {
    let mut bits = 0;
    for node in trace.stacks.chain(site.stack) {
        let place = (site.caller, node);
        let known = seen.get(&place).filter(|(during, _)| during.contains(site.first)).map(|(_, module)| *module);
        let module = known.unwrap_or_else(|| {
            let mapped = trace.mapped_at(site.caller, trace.stacks.address(node), site.first);
            let module = match mapped.module {
                Some(_) if mapped.method.is_some() => Module::Other,
                Some(module) if is_of_windows(&module.path) => Module::OfWindows,
                Some(module) => keys.get(&ModuleKey::of(module)).map_or(Module::Other, |&i| Module::Unnamed(i)),
                None => Module::Other,
            };
            seen.insert(place, (mapped.during, module));
            module
        });
        match (module, decides) {
            (Module::Unnamed(i), _) => bits |= 1 << i,
            (Module::Other, Decides::Place) => break,
            _ => {}
        }
        if bits != 0 && decides == Decides::Place {
            break;
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_windows_are_known_by_their_folder() {
        for image in
            [r"\SystemRoot\system32\ntoskrnl.exe", r"\Device\HarddiskVolume3\Windows\System32\ntdll.dll", r"C:\WINDOWS\a.dll"]
        {
            assert!(is_of_windows(image), "{image}");
        }
        for image in [r"\Device\HarddiskVolume3\game\game.exe", r"D:\windows-tools\a.dll", "windows.exe"] {
            assert!(!is_of_windows(image), "{image}");
        }
    }
}
