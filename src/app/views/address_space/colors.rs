//! The colours of the map: one for each heap, as on the graph; for each caller; or by age.

use eframe::egui::{Color32, Visuals};

use super::Mapped;
use crate::app::base::theme;
use crate::app::document::Document;
use crate::app::state::graph::LineOf;
use crate::model::HeapId;
use crate::query::{AddressMap, FunctionId, NO_STACK_KEY, Sums, heap_label};
use crate::tables::KeyedMap;
use crate::units::Ticks;

/// The group of blocks without a stack.
pub const NO_FUNCTION: u32 = u32::MAX;

/// What a colour stands for.
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
            Self::Age => "The time since the oldest block in a cell was allocated",
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

/// Ages in seconds, each up to the next, with their names.
const AGES: [(f64, &str); 5] = [
    (0.0, "under 0.1 s"),
    (0.1, "0.1 to 1 s"),
    (1.0, "1 to 10 s"),
    (10.0, "10 to 100 s"),
    (100.0, "over 100 s, or from before the trace"),
];

/// An entry of the legend.
pub struct Entry {
    pub name: String,
    pub color: Color32,
}

/// The groups of a map's cells with the bytes in cells of each, the largest first.
pub fn groups(map: &AddressMap) -> Vec<(u32, u64)> {
    let mut bytes: KeyedMap<u32, u64> = KeyedMap::default();
    for sums in map.cells.iter().map(|cell| &cell.sums) {
        let counted = if sums.live > 0 { sums.live } else { sums.committed };
        let sum = sums.group.map(|group| bytes.entry(group).or_default());
        sum.into_iter().for_each(|sum| *sum = sum.saturating_add(counted));
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
    at: Ticks,
    ticks_a_second: f64,
}

impl Palette {
    pub fn of(mapped: &Mapped, document: &Document) -> Self {
        let groups = || mapped.groups.iter().map(|(group, _)| *group);
        let numbers = match mapped.color_by {
            ColorBy::Heap => of_heaps(groups(), document),
            ColorBy::Responsible => groups().filter(|group| *group != NO_FUNCTION).take(theme::DISTINCT).zip(0..).collect(),
            ColorBy::Age => Vec::new(),
        };
        let ticks_a_second = mapped.kept.trace.clock.frequency as f64;
        Self { by: mapped.color_by, numbers, at: mapped.kept.at, ticks_a_second }
    }

    /// The colour of a group whose oldest block has this birth.
    pub fn color(&self, group: Option<u32>, oldest: Ticks, visuals: &Visuals) -> Color32 {
        let Some(group) = group else { return theme::flame_rest(visuals) };
        match self.by {
            ColorBy::Age => theme::age(self.age(oldest) as f32 / (AGES.len() - 1) as f32, visuals),
            ColorBy::Heap | ColorBy::Responsible => theme::line(self.number(group), visuals),
        }
    }

    /// The colour of the blocks in a cell, paler the fewer of its bytes they fill.
    pub fn of_cell(&self, sums: &Sums, bytes: u64, visuals: &Visuals) -> Color32 {
        let filled = if sums.largest.is_some() && sums.live > 0 { sums.live } else { sums.committed.max(sums.others) };
        let part = (filled as f64 / bytes.max(1) as f64).clamp(0.0, 1.0) as f32;
        visuals.extreme_bg_color.lerp_to_gamma(self.color(sums.group, sums.oldest, visuals), 0.3 + 0.7 * part)
    }

    fn number(&self, group: u32) -> Option<usize> {
        self.numbers.iter().find(|(of, _)| *of == group).map(|(_, number)| *number)
    }

    fn age(&self, birth: Ticks) -> usize {
        if birth == Ticks::BEFORE_TRACE {
            return AGES.len() - 1;
        }
        let seconds = self.at.0.saturating_sub(birth.0) as f64 / self.ticks_a_second;
        AGES.iter().rposition(|(from, _)| *from <= seconds).unwrap_or(0)
    }

    /// The entries of the legend; the last stands for all other groups.
    pub fn legend(&self, mapped: &Mapped, visuals: &Visuals) -> Vec<Entry> {
        if self.by == ColorBy::Age {
            let part = |i: usize| i as f32 / (AGES.len() - 1) as f32;
            let entry =
                |(i, (_, name)): (usize, &(f64, &str))| Entry { name: (*name).to_owned(), color: theme::age(part(i), visuals) };
            return AGES.iter().enumerate().map(entry).collect();
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

/// Heaps have the colours of their lines on the graph; others get those that no line on the graph has.
fn of_heaps(groups: impl Iterator<Item = u32>, document: &Document) -> Vec<(u32, usize)> {
    let lanes = document.lanes().iter().filter_map(|lane| document.color_of(&LineOf::Layer(lane.of.0, lane.of.1)));
    let heaps: Vec<u32> = groups.collect();
    let of_line = |heap: &u32| document.color_of(&LineOf::Heap(HeapId(*heap)));
    let taken: Vec<usize> = lanes.chain(heaps.iter().filter_map(of_line)).collect();
    let mut free = (0..theme::DISTINCT).filter(|number| !taken.contains(number));
    heaps.iter().filter_map(|heap| Some((*heap, of_line(heap).or_else(|| free.next())?))).collect()
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
