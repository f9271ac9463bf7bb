//! The part of the address space in view: a way of ever smaller ranges, from the whole process.

use crate::query::AddressMap;

/// A range of addresses, first and last byte.
pub type Range = (u64, u64);

/// All addresses.
pub const WHOLE: Range = (0, u64::MAX);

/// How much finer one step of the wheel or a key makes the map.
const STEP: usize = 4;

/// Fewest cells that a step leaves in view.
const FEWEST: usize = 64;

/// Movement of the wheel that makes a step, as a factor.
const NOTCH: f32 = 1.25;

/// The part in view, and the larger parts around it.
#[derive(Clone, Default, Debug)]
pub struct Zoom {
    way: Vec<Range>,
    /// Movement of the wheel since the last step, as a logarithm.
    wheel: f32,
    /// The address that comes into view when the next answer is drawn.
    pub aim: Option<u64>,
}

impl Zoom {
    /// The range in view.
    pub fn range(&self) -> Range {
        self.way.last().copied().unwrap_or(WHOLE)
    }

    /// The ranges from the largest, without the whole process.
    pub fn way(&self) -> &[Range] {
        &self.way
    }

    /// Shows a range inside the present one.
    pub fn enter(&mut self, range: Range) {
        if range != self.range() {
            self.way.push(range);
            self.aim = Some(range.0);
        }
    }

    /// Goes back to the whole process, or the first ranges of the way. Returns whether anything has changed.
    pub fn back_to(&mut self, steps: usize) -> bool {
        self.aim = self.way.get(steps).map(|range| range.0);
        let has_changed = steps < self.way.len();
        self.way.truncate(steps);
        has_changed
    }

    /// Takes a movement of the wheel, as a factor. Returns the direction of a step once there is enough of it.
    pub fn turn(&mut self, factor: f32) -> Option<Direction> {
        self.wheel += factor.max(f32::MIN_POSITIVE).ln();
        if self.wheel.abs() < NOTCH.ln() {
            return None;
        }
        let direction = if self.wheel > 0.0 { Direction::In } else { Direction::Out };
        self.wheel = 0.0;
        Some(direction)
    }

    /// Makes a step towards an address, or back. Returns whether anything has changed.
    pub fn step(&mut self, direction: Direction, map: &AddressMap, address: u64) -> bool {
        let before = self.way.len();
        match direction {
            Direction::In => {
                if let Some(range) = closer(map, address) {
                    self.enter(range);
                    self.aim = Some(address);
                }
                self.way.len() > before
            }
            Direction::Out => {
                let has_changed = self.back_to(before.saturating_sub(1));
                self.aim = Some(address);
                has_changed
            }
        }
    }
}

/// Where a step leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    In,
    Out,
}

/// The range of the cells around an address, a part of those in view; `None` if cells cannot become smaller.
fn closer(map: &AddressMap, address: u64) -> Option<Range> {
    let count = (map.cells.len() / STEP).max(FEWEST);
    if count >= map.cells.len() {
        return None;
    }
    let middle = map.cells.partition_point(|cell| cell.number < address / map.cell);
    let from = middle.saturating_sub(count / 2).min(map.cells.len() - count);
    let (first, last) = (map.cells[from].number, map.cells[from + count - 1].number);
    Some((first.saturating_mul(map.cell), last.saturating_mul(map.cell).saturating_add(map.cell - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{MapCell, Sums};
    use crate::units::Ticks;

    fn map(cells: u64) -> AddressMap {
        let sums =
            Sums { live: 1, others: 0, committed: 0, blocks: 1, group: None, oldest: Ticks(0), newest: Ticks(0), largest: None };
        let cells = (0..cells).map(|number| MapCell { number, sums }).collect();
        AddressMap { cell: 4096, cells, ..AddressMap::default() }
    }

    #[test]
    fn steps_lead_to_a_part_around_the_pointer_and_back_on_the_same_way() {
        let mut zoom = Zoom::default();
        assert!(zoom.step(Direction::In, &map(1024), 512 * 4096));
        assert_eq!(zoom.range(), (384 * 4096, 640 * 4096 - 1));
        assert!(zoom.step(Direction::In, &map(1024), 0));
        assert_eq!(zoom.range(), (0, 256 * 4096 - 1), "at the beginning no less");
        assert!(zoom.step(Direction::Out, &map(1024), 0));
        assert_eq!(zoom.range(), (384 * 4096, 640 * 4096 - 1));
        assert!(zoom.back_to(0));
        assert_eq!(zoom.range(), WHOLE);
        assert!(!zoom.step(Direction::Out, &map(1024), 0) && !zoom.step(Direction::In, &map(64), 0));
    }

    #[test]
    fn small_movements_of_the_wheel_add_up() {
        let mut zoom = Zoom::default();
        let turned: Vec<_> = [1.1, 1.1, 1.1, 0.99, 0.7].map(|factor| zoom.turn(factor)).into();
        assert_eq!(turned, [None, None, Some(Direction::In), None, Some(Direction::Out)]);
    }
}
