//! Numbers per source line of a function, so that the source of one call also shows the memory of the other lines.
//!
//! Cost: for each site of the mask one step per frame down to the function's callers, and a look at each of its calls.

use super::{ByClass, Cancel, Cancelled, Mask, Numbers, Recorded, Totals};
use crate::model::{NodeId, Site, Trace};
use crate::names::Names;
use crate::tables::KeyedMap;

/// Numbers per source line of a function, for calls with the same callers.
#[derive(Clone, PartialEq, Debug)]
pub struct CallLines {
    /// Source file, as the compiler recorded it.
    pub file: String,
    /// Numbers by line; lines count from 1.
    pub lines: Vec<(u32, Numbers)>,
}

impl CallLines {
    /// Adds up the sites in the mask by line of a frame's function; the frame is a node and a level in the stack of a
    /// site. `None` if the function's file or line is unknown.
    pub fn of(
        (trace, names): (&Trace, &Names),
        (totals, mask): (&Totals, &Mask),
        (node, level): (NodeId, u16),
        cancel: &Cancel,
    ) -> Result<Option<Self>, Cancelled> {
        let callers = trace.stacks.parent(node);
        let call = |site: &Site| trace.stacks.chain(site.stack).find(|&frame| trace.stacks.parent(frame) == callers);
        // All calls from the same callers, with their line if they are in the function.
        let mut line_of: KeyedMap<NodeId, Option<u32>> = KeyedMap::default();
        let mut sums: KeyedMap<u32, ByClass> = KeyedMap::default();
        let sites = || totals.sites().filter(|(site, _)| mask.classes(*site) != 0);
        let same = sites().map(|(site, _)| trace.site(site)).find(|site| call(site) == Some(node));
        let wanted = same.and_then(|site| functions(&Recorded::in_tree(trace, names, node, site), level));
        let Some(wanted) = wanted else { return Ok(None) };
        for (i, (site, buckets)) in sites().enumerate() {
            if i.is_multiple_of(1 << 10) {
                cancel.check()?;
            }
            let Some(frame) = call(trace.site(site)) else { continue };
            let line = *line_of.entry(frame).or_insert_with(|| {
                let recorded = Recorded::in_tree(trace, names, frame, trace.site(site));
                let is_it = functions(&recorded, level).is_some_and(|found| found == wanted);
                recorded.source(level).filter(|_| is_it).map(|(_, line)| line)
            });
            if let Some(line) = line {
                sums.entry(line).or_default().add(&buckets.only(mask.classes(site)));
            }
        }
        let mut lines: Vec<(u32, Numbers)> = sums.into_iter().map(|(line, sums)| (line, sums.numbers())).collect();
        lines.sort_unstable_by_key(|(line, _)| *line);
        Ok(wanted.last().map(|(_, file)| Self { file: (*file).to_owned(), lines }))
    }

    /// Returns the numbers of a line.
    pub fn at(&self, line: u32) -> Option<&Numbers> {
        let at = self.lines.binary_search_by_key(&line, |(line, _)| *line).ok()?;
        Some(&self.lines[at].1)
    }
}

/// Returns the functions of a frame down to a level, each with its file.
fn functions<'a>(frame: &Recorded<'a>, level: u16) -> Option<Vec<(&'a str, &'a str)>> {
    let of_level = |level| frame.function(level).and_then(|frame| Some((frame.function, frame.file?)));
    (0..=level).map(of_level).collect()
}
