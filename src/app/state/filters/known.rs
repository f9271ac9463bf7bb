//! Evaluation of filters on a trace, done by a worker with the names known so far.
//!
//! Cost: a pass over the sites for each predicate; those about functions also take one over the paths.

use std::sync::Arc;

use super::{Chip, Filters, Predicate};
use crate::model::Trace;
use crate::query::{Cancel, Cancelled, Filter, FunctionId, Functions, Mask, PathId, RowChoice, RowSet, SiteNames, Types};
use crate::units::Interval;

/// The data derived from names that filters need.
#[derive(Clone, Default)]
pub struct Known {
    pub types: Option<Arc<Types>>,
    pub functions: Option<Arc<Functions>>,
    pub tags: Option<Arc<SiteNames>>,
    pub owners: Option<Arc<SiteNames>>,
}

impl Filters {
    /// The sites that meet all predicates about places for which `counts` is true.
    pub fn mask(&self, trace: &Trace, known: &Known, counts: impl Fn(&Chip) -> bool) -> Mask {
        let mut mask = Mask::all(trace);
        for chip in self.chips.iter().filter(|chip| !chip.is_about_rows() && counts(chip)) {
            let meets = match (&chip.what, &known.types, &known.functions) {
                (Predicate::Under(path), ..) => Filter::under(path.clone()).mask(trace),
                (Predicate::Type(key), Some(types), _) => types.mask(trace, key),
                (Predicate::Function(name), _, Some(functions)) => with_function(trace, functions, name),
                (Predicate::Module(name), _, Some(functions)) => of_module(trace, functions, name),
                (Predicate::Owner(name), ..) => match &known.owners {
                    Some(owners) => owners.mask(trace, name),
                    None => continue,
                },
                (Predicate::Tag(name), ..) => match &known.tags {
                    Some(tags) => tags.mask(trace, name),
                    None => continue,
                },
                _ => continue, // it cannot be evaluated yet
            };
            if chip.is_excluded { mask.but(&meets) } else { mask.and(&meets) }
        }
        mask
    }

    /// The rows that meet all predicates about single rows while the tables show an interval; `None` if
    /// there is no such predicate.
    pub fn rows(&self, trace: &Trace, interval: Interval, cancel: &Cancel) -> Result<Option<Arc<RowSet>>, Cancelled> {
        let mut chips = self.chips.iter().filter(|chip| chip.is_about_rows()).peekable();
        if chips.peek().is_none() {
            return Ok(None);
        }
        let all = |conditions| RowSet::of(trace, &RowChoice { all: conditions }, cancel);
        let condition = |chip: &Chip| match &chip.what {
            Predicate::Row(condition, _) if !chip.is_excluded => Some(condition.clone()),
            _ => None,
        };
        // All of these are applied in one pass.
        let mut rows = all(self.chips.iter().filter_map(condition).collect())?;
        for chip in chips {
            let meet = match &chip.what {
                Predicate::Row(condition, _) if chip.is_excluded => all(vec![condition.clone()])?,
                Predicate::Under(path) => RowSet::under(trace, path, interval, cancel)?,
                _ => continue,
            };
            if chip.is_excluded { rows.remove_all(&meet) } else { rows.keep_all(&meet) }
        }
        Ok(Some(Arc::new(rows)))
    }
}

/// The sites with a function of this name anywhere in the stack.
fn with_function(trace: &Trace, functions: &Functions, name: &str) -> Mask {
    let wanted = functions.called(name);
    let mut is_inside = vec![false; functions.paths()];
    for path in (1..functions.paths() as u32).map(PathId) {
        let is_it = functions.function(path).is_some_and(|function| wanted.contains(&function));
        is_inside[path.0 as usize] = is_it || is_inside[functions.parent(path).0 as usize];
    }
    Mask::of_sites(trace, |site, _| is_inside[functions.path(site).0 as usize])
}

/// The sites whose responsible function, apart from allocators, is in this module.
fn of_module(trace: &Trace, functions: &Functions, name: &str) -> Mask {
    let is_it = |function: FunctionId| {
        functions.module(function).is_some_and(|module| functions.module_name(module).eq_ignore_ascii_case(name))
    };
    let of_function: Vec<bool> = (0..functions.len() as u32).map(|function| is_it(FunctionId(function))).collect();
    Mask::of_sites(trace, |site, _| {
        functions.function(functions.responsible(site)).is_some_and(|function| of_function[function.0 as usize])
    })
}
