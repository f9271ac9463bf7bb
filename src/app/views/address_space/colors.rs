//! The colours of the map: one for each heap, as on the graph; for each caller; or by age.

use eframe::egui::{Color32, Visuals};

use super::Mapped;
use crate::app::base::theme;
use crate::app::document::Document;
use crate::app::state::graph::LineOf;
use crate::model::{Clock, HeapId};
use crate::query::{AddressMap, FunctionId, NO_STACK_KEY, Sums, heap_label};
use crate::tables::KeyedMap;
use crate::units::{Interval, Ticks};

/// The group of blocks without a stack.
pub const NO_FUNCTION: u32 = u32::MAX;

/// Number of groups with a colour of their own: the last of the distinct colours is too near to the neutral one.
const DISTINCT: usize = theme::DISTINCT - 1;

/// The property of memory that colours show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ColorBy {
    #[default]
    Heap,
    Responsible,
    Age,
}

impl ColorBy {
    pub const ALL: [Self; 3] = [Self::Heap, Self::Responsible, Self::Age];

    pub fn label(self) -> &'static str {
        match self {
            Self::Heap => "Heap",
            Self::Responsible => "Responsible caller",
            Self::Age => "Age",
        }
    }

    pub fn hint(self) -> &'static str {
        match self {
            Self::Heap => "The heap or tracker with most bytes in a cell",
            Self::Responsible => "The function that wanted most bytes in a cell",
            Self::Age => "The time at which the oldest block in a cell was allocated",
        }
    }

    /// The name in files, which never changes.
    pub fn key(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Responsible => "responsible",
            Self::Age => "age",
        }
    }
}

/// Number of stretches of time whose blocks have a colour each; those from before the trace have one more.
const AGES: usize = 4;

/// An entry of the legend.
pub struct Entry {
    pub name: String,
    pub color: Color32,
}

/// The groups of a map's cells with the bytes in cells of each, the largest first.
pub fn groups(map: &AddressMap) -> Vec<(u32, u64)> {
    let mut bytes: KeyedMap<u32, u64> = KeyedMap::default();
    for of in &map.regions {
        // Pages without blocks are hatched, except in a region that the program committed itself.
        let is_bare = !of.region.has_blocks();
        for sums in map.cells[of.cells.clone()].iter().map(|cell| &cell.sums).filter(|sums| is_bare || sums.has_blocks()) {
            let counted = if is_bare { sums.committed } else { sums.live };
            let sum = sums.group.map(|group| bytes.entry(group).or_default());
            sum.into_iter().for_each(|sum| *sum = sum.saturating_add(counted));
        }
    }
    let mut groups: Vec<(u32, u64)> = bytes.into_iter().collect();
    groups.sort_unstable_by_key(|&(group, bytes)| (std::cmp::Reverse(bytes), group));
    groups
}

/// The colours of a map on the screen.
pub struct Palette {
    by: ColorBy,
    /// Numbers of the groups that have a colour of their own, the largest first.
    numbers: Vec<(u32, usize)>,
    /// The time from the start of the trace to the moment of the map.
    time: Interval,
    clock: Clock,
}

impl Palette {
    pub fn of(mapped: &Mapped, document: &Document) -> Self {
        let groups = || mapped.groups.iter().map(|(group, _)| *group);
        let numbers = match mapped.color_by {
            ColorBy::Heap => of_heaps(groups(), document),
            ColorBy::Responsible => groups().filter(|group| *group != NO_FUNCTION).take(DISTINCT).zip(0..).collect(),
            ColorBy::Age => Vec::new(),
        };
        let span = mapped.kept.trace.span;
        let time = Interval { from: span.from, to: mapped.kept.at.clamp(span.from, span.to) };
        Self { by: mapped.color_by, numbers, time, clock: mapped.kept.trace.clock }
    }

    /// The colour of a group whose oldest block has this birth.
    pub fn color(&self, group: Option<u32>, oldest: Ticks, visuals: &Visuals) -> Color32 {
        let Some(group) = group else { return theme::flame_rest(visuals) };
        match self.by {
            ColorBy::Age => theme::age(self.age(oldest) as f32 / AGES as f32, visuals),
            ColorBy::Heap | ColorBy::Responsible => theme::line(self.number(group), visuals),
        }
    }

    /// The colour of the blocks in a cell, paler the fewer of its bytes they fill; without blocks that of its committed pages.
    pub fn of_cell(&self, sums: &Sums, bytes: u64, visuals: &Visuals) -> Color32 {
        let filled = match sums.group {
            _ if !sums.has_blocks() => sums.committed,
            Some(_) => sums.live,
            None => sums.others,
        };
        let part = (filled as f64 / bytes.max(1) as f64).clamp(0.0, 1.0) as f32;
        visuals.extreme_bg_color.lerp_to_gamma(self.color(sums.group, sums.oldest, visuals), 0.3 + 0.7 * part)
    }

    fn number(&self, group: u32) -> Option<usize> {
        self.numbers.iter().find(|(of, _)| *of == group).map(|(_, number)| *number)
    }

    /// The stretch of time in which a block was allocated, the latest first.
    fn age(&self, birth: Ticks) -> usize {
        if birth == Ticks::BEFORE_TRACE {
            return AGES;
        }
        let part = self.time.to.0.saturating_sub(birth.0) as f64 / self.time.len().max(1) as f64;
        ((part * AGES as f64) as usize).min(AGES - 1)
    }

    /// The time from the start of the trace to the moment of the map, in seconds.
    fn seconds(&self) -> f64 {
        self.clock.seconds(self.time.to) - self.clock.seconds(self.time.from)
    }

    /// The entries of the legend; the last stands for all other groups.
    pub fn legend(&self, mapped: &Mapped, visuals: &Visuals) -> Vec<Entry> {
        if self.by == ColorBy::Age {
            let edge = |age: usize| self.clock.seconds(self.time.to) - self.seconds() * age as f64 / AGES as f64;
            let name = |age| match age {
                AGES => "before the trace".to_owned(),
                _ => format!("{:.3} to {:.3} s", edge(age + 1), edge(age)),
            };
            let entry = |age| Entry { name: name(age), color: theme::age(age as f32 / AGES as f32, visuals) };
            return (0..=AGES).map(entry).collect();
        }
        let entry = |&(group, number): &(u32, usize)| Entry { name: mapped.name(group), color: theme::series(number, visuals) };
        let mut entries: Vec<Entry> = self.numbers.iter().map(entry).collect();
        if mapped.groups.len() > self.numbers.len() {
            let name = if self.by == ColorBy::Heap { "other heaps" } else { "other callers" };
            entries.push(Entry { name: name.to_owned(), color: theme::line(None, visuals) });
        }
        entries
    }
}

/// Heaps have the colours of their lines on the graph. Of those without a line, the first of each layer has the colour of the
/// layer's line; others get colours that no line on the graph has.
fn of_heaps(groups: impl Iterator<Item = u32>, document: &Document) -> Vec<(u32, usize)> {
    let lanes = document.lanes().iter().filter_map(|lane| document.color_of(&LineOf::Layer(lane.of.0, lane.of.1)));
    let heaps: Vec<u32> = groups.collect();
    let of_line = |heap: &u32| document.color_of(&LineOf::Heap(HeapId(*heap)));
    let of_layer = |heap: &u32| {
        let heap = document.trace.heaps.get(*heap as usize)?;
        document.color_of(&LineOf::Layer(heap.process, heap.layer))
    };
    let mut used: Vec<usize> = heaps.iter().filter_map(of_line).collect();
    let taken: Vec<usize> = lanes.chain(used.iter().copied()).collect();
    let mut free = (0..DISTINCT).filter(|number| !taken.contains(number));
    let mut number = |heap: &u32| {
        if let Some(own) = of_line(heap) {
            return Some(own);
        }
        let number = of_layer(heap).filter(|number| !used.contains(number)).or_else(|| free.next())?;
        used.push(number);
        Some(number)
    };
    heaps.iter().filter_map(|heap| Some((*heap, number(heap)?))).collect()
}

impl Mapped {
    /// The name of a group.
    pub fn name(&self, group: u32) -> String {
        match self.color_by {
            ColorBy::Heap | ColorBy::Age => heap_label(self.kept.trace.heap(HeapId(group))),
            ColorBy::Responsible if group == NO_FUNCTION => NO_STACK_KEY.to_owned(),
            ColorBy::Responsible => self.functions.name(FunctionId(group)).to_string(),
        }
    }
}
