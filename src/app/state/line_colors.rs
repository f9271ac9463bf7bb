//! Assigns colours to lines: each drawn line has a number that no other drawn line has, and keeps it
//! while it is drawn, even if its rank changes while the trace grows. A source (layer, heap, counter) keeps it also when it
//! was not drawn for some time: as long as there are enough colours, no other source gets its number.

use super::graph::LineOf;
use crate::app::base::theme::{COLORS, DISTINCT};
use crate::query::KeyMap;
use crate::tables::{KeyedMap, KeyedSet};

/// Number of lines no longer drawn whose colours are remembered.
const REMEMBERED: usize = 256;

#[derive(Clone, Copy, Debug)]
struct Slot {
    number: usize,
    is_drawn: bool,
}

/// The number of each line's colour.
#[derive(Clone, Debug, Default)]
pub struct LineColors(KeyedMap<LineOf, Slot>);

impl LineColors {
    /// Sets the lines that are drawn from now on. Lines that were drawn before keep their numbers, unless a source
    /// that comes back has that number. Others get their earlier number back if it is free, else a new one.
    pub fn assign(&mut self, drawn: impl IntoIterator<Item = LineOf>) {
        let was_drawn: KeyedSet<LineOf> = self.0.iter().filter(|(_, slot)| slot.is_drawn).map(|(of, _)| of.clone()).collect();
        let mut drawn: Vec<LineOf> = drawn.into_iter().collect();
        drawn.sort_by_key(|of| (!is_source(of), !was_drawn.contains(of))); // stable, so the others keep their order
        self.0.values_mut().for_each(|slot| slot.is_drawn = false);
        if self.0.len() > REMEMBERED + drawn.len() {
            self.0.retain(|of, _| was_drawn.contains(of));
        }
        let mut taken: Vec<bool> = Vec::new();
        for of in drawn {
            let is_free = |number: usize| !taken.get(number).copied().unwrap_or(false);
            let known = self.0.get(&of).map(|slot| slot.number).filter(|&number| is_free(number));
            let number = known.unwrap_or_else(|| self.free(&of, is_free, &was_drawn));
            if taken.len() <= number {
                taken.resize(number + 1, false);
            }
            taken[number] = true;
            self.0.insert(of, Slot { number, is_drawn: true });
        }
    }

    /// A number for a new line: the first one that no source has had and no drawn line has, for a source among all colours, else
    /// among the most distinct ones, which also no other line must have had; if there is none, the lowest free one.
    fn free(&self, new: &LineOf, is_free: impl Fn(usize) -> bool, was_drawn: &KeyedSet<LineOf>) -> usize {
        let is_in_the_way = |of: &LineOf| !is_source(new) || is_source(of) || was_drawn.contains(of);
        let is_new = |number: &usize| self.0.iter().all(|(of, slot)| slot.number != *number || !is_in_the_way(of));
        let all = if is_source(new) { COLORS } else { DISTINCT };
        let fresh = (0..all).filter(|&number| is_free(number)).find(is_new);
        fresh.unwrap_or_else(|| (0..).find(|&number| is_free(number)).unwrap_or(0))
    }

    /// The number of a line's colour, if it is drawn.
    pub fn of(&self, line: &LineOf) -> Option<usize> {
        self.0.get(line).filter(|slot| slot.is_drawn).map(|slot| slot.number)
    }

    /// Renumbers heaps, processes and counters; lines that are gone are dropped.
    pub fn renumber(&mut self, map: &KeyMap) {
        self.0 = self.0.iter().filter_map(|(of, slot)| Some((of.renumbered(map)?, *slot))).collect();
    }
}

/// Whether a line is of a source of memory or a counter, and not of a part that comes and goes with what is shown.
fn is_source(line: &LineOf) -> bool {
    matches!(line, LineOf::Layer(..) | LineOf::Heap(_) | LineOf::Counter(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HeapId;

    fn heap(n: u32) -> LineOf {
        LineOf::Heap(HeapId(n))
    }

    fn numbers(colors: &LineColors, heaps: impl IntoIterator<Item = u32>) -> Vec<usize> {
        heaps.into_iter().map(|n| colors.of(&heap(n)).unwrap()).collect()
    }

    #[test]
    fn a_line_keeps_its_colour_while_others_come_and_go() {
        let mut colors = LineColors::default();
        colors.assign([7, 3, 9].map(heap));
        assert_eq!(numbers(&colors, [7, 3, 9]), [0, 1, 2]);
        colors.assign([1, 9, 3].map(heap));
        assert_eq!(numbers(&colors, [9, 3]), [2, 1]);
        assert_eq!(colors.of(&heap(7)), None, "it is not drawn");
        assert_eq!(numbers(&colors, [1]), [3], "that of one that went may come back");
        colors.assign([1, 9, 3, 7].map(heap));
        assert_eq!(numbers(&colors, [1, 9, 3, 7]), [3, 2, 1, 0]);
    }

    #[test]
    fn a_source_keeps_its_colour_after_others_were_drawn_in_its_place() {
        let part = |n: usize| LineOf::Part(crate::model::ProcessId(1), crate::units::Layer::Heap, format!("f{n}").into());
        let mut colors = LineColors::default();
        colors.assign((0..6).map(heap));
        colors.assign((0..1).map(heap).chain((0..6).map(part)));
        colors.assign((6..12).map(heap));
        colors.assign((0..12).map(heap).chain((0..6).map(part)));
        assert_eq!(numbers(&colors, 0..6), [0, 1, 2, 3, 4, 5]);
        let others = numbers(&colors, 6..12);
        assert!(others.iter().all(|number| *number > 5), "{others:?}");
        colors.assign((6..12).map(heap));
        assert_eq!(numbers(&colors, 6..12), others);
    }

    #[test]
    fn no_two_drawn_lines_share_one() {
        let mut colors = LineColors::default();
        for from in 0..400 {
            colors.assign((from..from + 20).map(heap));
            let mut all = numbers(&colors, from..from + 20);
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 20);
            assert!(all[19] < 40, "few are enough: {all:?}");
            assert!(colors.0.len() <= REMEMBERED + 40, "and few are remembered");
        }
    }
}
