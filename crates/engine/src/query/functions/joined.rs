//! Functions of two traces merged into one set. Functions with the same name are one function, wherever their modules
//! were loaded; the sites of the second trace follow those of the first.
//!
//! Cost: a look at the functions, paths and sites of both.

use super::paths::{Functions, PathId, SitePaths};
use super::table::{FunctionId, FunctionTable};
use super::trie::Trie;
use crate::model::{HeapId, SiteId};
use crate::query::{Cancel, Cancelled};

impl Functions {
    /// Merges the functions of two traces, for [`super::Forest::top_down`] and weights that know both
    /// ([`crate::query::FlameWeights::across`]). Heaps remain those of each side.
    pub fn joined(sides: [&Self; 2], cancel: &Cancel) -> Result<Self, Cancelled> {
        let mut table = FunctionTable::new(sides[0].rules());
        let mut paths = Trie::new(sides[0].paths() + sides[1].paths());
        let (mut of_site, mut heaps): (Vec<SitePaths>, Vec<HeapId>) = Default::default();
        for side in sides {
            cancel.check()?;
            let number = |id| table.intern(side.name(FunctionId(id)));
            let functions: Vec<FunctionId> = (0..side.len() as u32).map(number).collect();
            // Callers have smaller numbers than callees.
            let mut moved = vec![0; side.paths()];
            for path in (1..side.paths() as u32).map(PathId) {
                let around = moved[side.parent(path).0 as usize];
                if let Some(function) = side.function(path) {
                    moved[path.0 as usize] = paths.child(around, functions[function.0 as usize]);
                }
            }
            let there = |path: PathId| PathId(moved[path.0 as usize]);
            of_site.extend(side.sites().map(|site| {
                let SitePaths { whole, behind_run, responsible } = side.paths_of(site);
                SitePaths { whole: there(whole), behind_run: there(behind_run), responsible: there(responsible) }
            }));
            heaps.extend(side.sites().map(|site: SiteId| side.heap(site)));
        }
        Ok(Self::of_parts(table, paths, of_site, heaps))
    }
}
