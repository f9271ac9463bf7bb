//! Groups of blocks by responsible caller: the blocks of one function in one heap or tracker, whatever way led to it.

use super::question::Question;
use super::source::Sources;
use crate::names::FrameKind;
use crate::query::Cancelled;
use crate::query::callers::CallerFinder;
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
    /// Forms the groups. Cost: the callers of a site of each place, and their names.
    pub(super) fn new(question: &Question<'_>, sources: &Sources) -> Result<Self, Cancelled> {
        let trace = question.index.trace();
        let mut finder = CallerFinder::new(trace, question.names, FrameKind::Innermost);
        let mut list: Vec<FunctionGroup> = Vec::new();
        let mut of_site = vec![None; trace.sites.len()];
        let blocks = sources.list.iter().enumerate().filter(|(_, source)| source.layer != Layer::Commit);
        for (number, source) in blocks {
            question.cancel.check()?;
            let mut known: KeyedMap<String, usize> = KeyedMap::default();
            for place in 0..source.places.list.len() {
                let own = source.places.own(place);
                let Some(site) = own.first().map(|&site| trace.site(site)) else { continue };
                let caller = finder.caller(site).responsible;
                let name = caller.recorded(trace, question.names, site).name(caller.level).to_string();
                let group = *known.entry(name).or_insert_with(|| {
                    list.push(FunctionGroup { source: number, places: Vec::new() });
                    list.len() - 1
                });
                list[group].places.push(place);
                own.iter().for_each(|site| of_site[site.0 as usize] = Some(group as u32));
            }
        }
        Ok(Self { list, of_site })
    }
}
