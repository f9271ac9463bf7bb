//! Source lines: for each group of sites, the line of its responsible callers with the largest share of the memory.

use std::fmt;

use serde::Serialize;

use super::callers::{CallerFinder, CallerFrame};
use super::{Cancel, Cancelled, Mask, Recorded, Totals};
use crate::model::{NodeId, ProcessId, SiteId, Trace};
use crate::names::{FrameKind, Names};
use crate::tables::KeyedMap;

/// A line of a source file, printed as `file:line` with the file as the compiler recorded it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct SourceLine {
    /// Path, as the compiler recorded it.
    pub file: String,
    /// Line number, counted from 1.
    pub line: u32,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl SourceLine {
    /// Formats the line with the file name only, to fit into tables.
    pub fn short(&self) -> String {
        let name = self.file.rsplit(['\\', '/']).next().unwrap_or(&self.file);
        format!("{name}:{}", self.line)
    }

    /// Returns the line of a recorded frame's function.
    pub fn of(frame: &Recorded<'_>, level: u16) -> Option<Self> {
        let (file, line) = frame.source(level)?;
        Some(Self { file: file.to_owned(), line })
    }
}

/// Sums by group and line.
#[derive(Default)]
pub(super) struct LineSums {
    numbers: KeyedMap<SourceLine, u32>,
    lines: Vec<SourceLine>,
    /// Bytes by group and line.
    sums: KeyedMap<(u32, u32), u64>,
}

impl LineSums {
    /// Adds the bytes of sites in an interval; `of_site` has their groups.
    pub(super) fn add(
        &mut self,
        (trace, names): (&Trace, &Names),
        (totals, mask): (&Totals, &Mask),
        of_site: &[Option<u32>],
        cancel: &Cancel,
    ) -> Result<(), Cancelled> {
        if names.is_empty() {
            return Ok(());
        }
        let mut looks = CallerFinder::new(trace, names, FrameKind::Innermost);
        let mut known: KeyedMap<(ProcessId, CallerFrame), Option<u32>> = KeyedMap::default();
        for (n, (id, buckets)) in totals.sites().enumerate() {
            if n.is_multiple_of(1024) {
                cancel.check()?;
            }
            let size = buckets.only(mask.classes(id)).numbers().size;
            let Some(group) = of_site[id.0 as usize].filter(|_| size > 0) else { continue };
            let site = trace.site(id);
            let frame = looks.caller(site).responsible;
            let line = *known.entry((site.caller, frame)).or_insert_with(|| {
                let recorded = (frame.node != NodeId::ROOT).then(|| frame.recorded(trace, names, site))?;
                let line = SourceLine::of(&recorded, frame.level)?;
                Some(*self.numbers.entry(line.clone()).or_insert_with(|| {
                    self.lines.push(line);
                    self.lines.len() as u32 - 1
                }))
            });
            if let Some(line) = line {
                let sum = self.sums.entry((group, line)).or_default();
                *sum = sum.saturating_add(size);
            }
        }
        Ok(())
    }

    /// Returns for each group the line with most bytes; of equal ones the first by file and line.
    pub(super) fn largest(&self, groups: usize) -> Vec<Option<SourceLine>> {
        let mut best: Vec<Option<(u64, &SourceLine)>> = vec![None; groups];
        let mut all: Vec<((u32, &SourceLine), u64)> =
            self.sums.iter().map(|(&(group, line), &sum)| ((group, &self.lines[line as usize]), sum)).collect();
        all.sort_unstable();
        for ((group, line), sum) in all {
            let best = &mut best[group as usize];
            if best.is_none_or(|(most, _)| sum > most) {
                *best = Some((sum, line));
            }
        }
        best.into_iter().map(|best| best.map(|(_, line)| line.clone())).collect()
    }
}

/// Returns for each group the line of its responsible callers with the largest share; `of_site` has the groups of
/// sites.
pub fn source_lines(
    of: (&Trace, &Names),
    held: (&Totals, &Mask),
    of_site: &[Option<u32>],
    groups: usize,
    cancel: &Cancel,
) -> Result<Vec<Option<SourceLine>>, Cancelled> {
    let mut sums = LineSums::default();
    sums.add(of, held, of_site, cancel)?;
    Ok(sums.largest(groups))
}

/// Lines of groups, for the sites of one side.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    /// Line of each group.
    pub(super) of_group: &'a [Option<SourceLine>],
    /// Group of each site.
    pub(super) of_site: &'a [Option<u32>],
}

impl Lines<'_> {
    pub(super) fn of(&self, site: SiteId) -> Option<SourceLine> {
        let group = (*self.of_site.get(site.0 as usize)?)?;
        self.of_group.get(group as usize)?.clone()
    }
}
