//! Groups of blocks by responsible caller: the blocks of one function in one heap or tracker, whatever way led to it.

use rayon::prelude::*;

use super::question::Question;
use super::source::Sources;
use crate::query::{Cancelled, FrameName};
use crate::tables::KeyedMap;
use crate::units::Layer;

/// The blocks of one function in one source.
pub(super) struct FunctionGroup {
    /// Index of the source.
    pub(super) source: usize,
    /// Places in the source at which the function is the responsible caller.
    pub(super) places: Vec<usize>,
}

/// All groups of the sources that have blocks: heaps and trackers.
pub(super) struct FunctionGroups {
    pub(super) list: Vec<FunctionGroup>,
    /// The group of each site; `None` for commit, and for sites outside of the question.
    pub(super) of_site: Vec<Option<u32>>,
}

impl FunctionGroups {
    /// Forms the groups. Cost: the function of each place, on all workers, and a look at a table for each.
    pub(super) fn new(question: &Question<'_>, sources: &Sources) -> Result<Self, Cancelled> {
        let trace = question.index.trace();
        let mut list: Vec<FunctionGroup> = Vec::new();
        let mut of_site = vec![None; trace.sites.len()];
        let blocks = sources.list.iter().enumerate().filter(|(_, source)| source.layer != Layer::Commit);
        for (number, source) in blocks {
            question.cancel.check()?;
            let name = |place: usize| {
                let (caller, site) = sources.caller(source, place)?;
                Some(caller.recorded(trace, question.names, trace.site(site)).name(caller.level))
            };
            let names: Vec<Option<FrameName<'_>>> = (0..source.places.list.len()).into_par_iter().map(name).collect();
            let mut known: KeyedMap<FrameName<'_>, usize> = KeyedMap::default();
            for (place, name) in names.into_iter().enumerate() {
                let Some(name) = name else { continue };
                let group = *known.entry(name).or_insert_with(|| {
                    list.push(FunctionGroup { source: number, places: Vec::new() });
                    list.len() - 1
                });
                list[group].places.push(place);
                source.places.own(place).iter().for_each(|site| of_site[site.0 as usize] = Some(group as u32));
            }
        }
        Ok(Self { list, of_site })
    }
}
