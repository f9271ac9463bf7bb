//! Assigns colours to lines: each drawn line has a number that no other drawn line has, and keeps it
//! while it is drawn, even if its rank changes while the trace grows.

use super::graph::LineOf;
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
#[derive(Debug, Default)]
pub struct LineColors(KeyedMap<LineOf, Slot>);

impl LineColors {
    /// Sets the lines that are drawn from now on. Lines that were drawn before keep their numbers.
    /// Others get their earlier number back if it is free, else the lowest free one, preferably one
    /// that no line has had.
    pub fn assign(&mut self, drawn: impl IntoIterator<Item = LineOf>) {
        let was_drawn: KeyedSet<LineOf> = self.0.iter().filter(|(_, slot)| slot.is_drawn).map(|(of, _)| of.clone()).collect();
        let mut drawn: Vec<LineOf> = drawn.into_iter().collect();
        drawn.sort_by_key(|of| !was_drawn.contains(of)); // stable, so the others keep their order
        self.0.values_mut().for_each(|slot| slot.is_drawn = false);
        if self.0.len() > REMEMBERED + drawn.len() {
            self.0.retain(|of, _| was_drawn.contains(of));
        }
        let mut taken: Vec<bool> = Vec::new();
        for of in drawn {
            let is_free = |number: usize| !taken.get(number).copied().unwrap_or(false);
            let known = self.0.get(&of).map(|slot| slot.number).filter(|&number| is_free(number));
            let number = known.unwrap_or_else(|| self.free(is_free));
            if taken.len() <= number {
                taken.resize(number + 1, false);
            }
            taken[number] = true;
            self.0.insert(of, Slot { number, is_drawn: true });
        }
    }

    /// A number for a new line: one of the first, most distinct colours that no line has had, else the lowest free one.
    fn free(&self, is_free: impl Fn(usize) -> bool) -> usize {
        let is_new = |number: &usize| self.0.values().all(|slot| slot.number != *number);
        let fresh = (0..crate::app::base::theme::DISTINCT).filter(|&number| is_free(number)).find(is_new);
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
