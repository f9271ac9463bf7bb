//! Peaks of functions. A stack is part of the total of each of its functions, so a change climbs from path to path, but
//! only to the requested functions, which are few. Cost: a pass over the events of the interval, with one step per
//! requested function in the event's stack.

use super::part::{Owner, Part, Scratch, by_owner};
use super::paths::Functions;
use super::sums::FunctionSums;
use super::table::FunctionId;
use crate::model::SiteId;
use crate::query::line_tree::{LineTree, NOBODY};
use crate::query::peaks::{ByClassLines, line_tree_peaks};
use crate::query::{Cancel, Cancelled, Index, LifetimeClass, Mask, Totals};
use crate::tables::KeyedMap;

/// Returns the peaks of `own` and of `total` for each of `wanted`, which must be of the same totals and mask.
pub(crate) fn function_peaks(
    index: &Index,
    functions: &Functions,
    totals: &Totals,
    mask: &Mask,
    wanted: &[FunctionSums],
    cancel: &Cancel,
) -> Result<Vec<(u64, u64)>, Cancelled> {
    let trace = index.trace();
    let mut lines: KeyedMap<Owner, KeyedMap<FunctionId, u32>> = KeyedMap::default();
    for (i, sums) in (0..).zip(wanted) {
        lines.entry((sums.process, sums.layer)).or_default().insert(sums.function, i);
    }
    let mut climb = Climb { above: Vec::new(), line: Vec::new() };
    let mut of_site: Vec<ByClassLines> = vec![[NOBODY; 4]; trace.sites.len()];
    let mut scratch = Scratch::new(functions);
    for (owner, sites) in by_owner(trace, totals, mask) {
        cancel.check()?;
        let Some(lines) = lines.get(&owner) else { continue };
        let part = Part::of(functions, &sites, &mut scratch);
        let steps = climb.add(functions, &part, lines);
        for ((site, _), &at) in sites.iter().zip(&part.at) {
            let Some(&step) = steps.get(at as usize) else { continue };
            of_site[site.0 as usize] = by_class(*site, step, mask);
        }
    }
    let now = wanted.iter().flat_map(|sums| [&sums.own, &sums.total]).map(|sums| sums.numbers().outstanding_from);
    let now: Vec<u64> = now.collect();
    let line_tree = LineTree::shared(now.len(), climb.above, climb.line);
    let peaks = line_tree_peaks(index, totals.interval, &now, &of_site, &line_tree, cancel)?;
    Ok(peaks.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

fn by_class(site: SiteId, step: u32, mask: &Mask) -> ByClassLines {
    LifetimeClass::ALL.map(|class| if mask.has(site, class) { step } else { NOBODY })
}

/// Steps that stand for lines, each with the next step that receives its changes.
struct Climb {
    above: Vec<u32>,
    line: Vec<u32>,
}

impl Climb {
    /// Adds the steps of a part. Returns for each path the step at which changes of its own sites enter.
    fn add(&mut self, functions: &Functions, part: &Part, lines: &KeyedMap<FunctionId, u32>) -> Vec<u32> {
        let mut total: Vec<u32> = Vec::with_capacity(part.paths.len());
        let mut own = Vec::with_capacity(part.paths.len());
        let mut has_sites = vec![false; part.paths.len()];
        part.at.iter().filter(|&&at| at != Part::OUTSIDE).for_each(|&at| has_sites[at as usize] = true);
        for (at, (&path, &parent)) in part.paths.iter().zip(&part.parent).enumerate() {
            let mut step = total.get(parent as usize).copied().unwrap_or(NOBODY);
            let line = functions.function(path).and_then(|function| lines.get(&function));
            if let Some(line) = line.filter(|_| !functions.recurs(path)) {
                step = self.step(2 * line + 1, step);
            }
            total.push(step);
            own.push(match line {
                Some(line) if has_sites[at] => self.step(2 * line, step),
                _ => step,
            });
        }
        own
    }

    fn step(&mut self, line: u32, above: u32) -> u32 {
        self.above.push(above);
        self.line.push(line);
        self.above.len() as u32 - 1
    }
}
