//! Self and total of each function in each process and layer.
//!
//! Totals are sums over the trie of paths. A recursive function counts at its outermost occurrence, so that each stack
//! counts once. Cost: the sites and their paths; no rows.

use super::part::{Part, Scratch, by_owner};
use super::paths::Functions;
use super::table::FunctionId;
use crate::model::{ProcessId, Trace};
use crate::query::{ByClass, Cancel, Cancelled, Mask, Totals};
use crate::units::Layer;

/// Sums of a function in one process and layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionSums {
    /// Process instance that owns the memory.
    pub process: ProcessId,
    /// Layer.
    pub layer: Layer,
    /// The function.
    pub function: FunctionId,
    /// Rows whose innermost function it is.
    pub own: ByClass,
    /// Rows with the function in their stack; recursion counts once.
    pub total: ByClass,
}

/// Returns the functions that have rows. Rows without a stack belong to none.
pub fn function_sums(
    trace: &Trace,
    functions: &Functions,
    totals: &Totals,
    mask: &Mask,
    cancel: &Cancel,
) -> Result<Vec<FunctionSums>, Cancelled> {
    let mut scratch = Scratch::new(functions);
    let mut place = vec![usize::MAX; functions.len()];
    let mut out: Vec<FunctionSums> = Vec::new();
    for ((process, layer), sites) in by_owner(trace, totals, mask) {
        cancel.check()?;
        let part = Part::of(functions, &sites, &mut scratch);
        let begin = out.len();
        let mut entry = |function: FunctionId, out: &mut Vec<FunctionSums>| {
            let place = &mut place[function.0 as usize];
            if *place == usize::MAX {
                *place = out.len();
                let none = ByClass::default();
                out.push(FunctionSums { process, layer, function, own: none, total: none });
            }
            *place
        };
        let own = part.own(&sites);
        for (&path, own) in part.paths.iter().zip(&own).filter(|(_, own)| !own.is_empty()) {
            let Some(function) = functions.function(path) else { continue };
            let at = entry(function, &mut out);
            out[at].own.add(own);
        }
        let total = part.with_inside(own);
        for (&path, total) in part.paths.iter().zip(&total).filter(|(path, _)| !functions.recurs(**path)) {
            let Some(function) = functions.function(path) else { continue };
            let at = entry(function, &mut out);
            out[at].total.add(total);
        }
        out[begin..].iter().for_each(|sums| place[sums.function.0 as usize] = usize::MAX);
    }
    Ok(out)
}
