//! Lines of source files: of each group of sites the one where its responsible callers asked for most memory.

use std::fmt;

use serde::Serialize;

use super::callers::{CallerFinder, CallerFrame};
use super::{Cancel, Cancelled, Mask, Recorded, Totals};
use crate::model::{NodeId, ProcessId, SiteId, Trace};
use crate::symbols::{FrameKind, Names};
use crate::tables::KeyedMap;

/// A line of a source file. It is printed as `file:line`, the file as the compiler wrote it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct SourceLine {
    /// Path, as the compiler wrote it.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl SourceLine {
    /// With the name of the file alone, as tables have room for.
    pub fn short(&self) -> String {
        let name = self.file.rsplit(['\\', '/']).next().unwrap_or(&self.file);
        format!("{name}:{}", self.line)
    }

    /// The line of a recorded frame's function.
    pub fn of(frame: &Recorded<'_>, level: u16) -> Option<Self> {
        let (file, line) = frame.source(level)?;
        Some(Self { file: file.to_owned(), line })
    }
}

/// What lines of groups hold.
#[derive(Default)]
pub(super) struct LineSums {
    numbers: KeyedMap<SourceLine, u32>,
    lines: Vec<SourceLine>,
    /// Bytes by group and line.
    sums: KeyedMap<(u32, u32), u64>,
}

impl LineSums {
    /// Adds what sites hold in an interval; `of_site` tells their groups.
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

    /// Of each group the line that holds most; of lines that hold as much the first by file and line.
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

/// By group the line where its responsible callers asked for most of what sites hold; `of_site` tells their groups.
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
    /// By group.
    pub(super) of_group: &'a [Option<SourceLine>],
    /// The group of a site.
    pub(super) of_site: &'a [Option<u32>],
}

impl Lines<'_> {
    pub(super) fn of(&self, site: SiteId) -> Option<SourceLine> {
        let group = (*self.of_site.get(site.0 as usize)?)?;
        self.of_group.get(group as usize)?.clone()
    }
}
