//! The lines of the map: rows of cells, those of a region one below the other, and what is left out between them.

use std::ops::Range;

use crate::query::AddressMap;

/// A line on the screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// Cells of a region.
    Cells {
        /// The region, by its place in the map.
        region: usize,
        /// Address of the first column, divided by the bytes of a line.
        row: u64,
        /// The cells, by place in the map.
        cells: Range<usize>,
        /// Whether it is the region's first line.
        is_first: bool,
    },
    /// Lines of a region in which nothing is committed.
    Gap {
        /// The region, by its place in the map.
        region: usize,
        bytes: u64,
    },
}

/// All lines of a map.
#[derive(Clone, Debug)]
pub struct Lines {
    /// Cells in a line, a power of two.
    pub columns: u64,
    pub all: Vec<Line>,
}

impl Lines {
    /// Lays out a map. Cost: a step for each cell.
    pub fn of(map: &AddressMap, columns: u64) -> Self {
        let mut all = Vec::new();
        for (place, region) in map.regions.iter().enumerate() {
            let mut before: Option<u64> = None;
            let mut from = region.cells.start;
            for cells in map.cells[region.cells.clone()].chunk_by(|a, b| a.number / columns == b.number / columns) {
                let row = cells.first().map_or(0, |cell| cell.number / columns);
                match before.map(|before| row - before - 1) {
                    None | Some(0) => {}
                    Some(1) => all.push(Line::Cells { region: place, row: row - 1, cells: from..from, is_first: false }),
                    Some(rows) => {
                        let bytes = rows.saturating_mul(columns).saturating_mul(map.cell);
                        all.push(Line::Gap { region: place, bytes });
                    }
                }
                let to = from + cells.len();
                all.push(Line::Cells { region: place, row, cells: from..to, is_first: before.is_none() });
                (before, from) = (Some(row), to);
            }
        }
        Self { columns, all }
    }

    /// The line with the first cell that does not end before an address.
    pub fn with(&self, map: &AddressMap, address: u64) -> usize {
        let ends_before = |line: &Line| match line {
            Line::Cells { row, .. } => row.saturating_add(1).saturating_mul(self.columns * map.cell) <= address,
            Line::Gap { .. } => false,
        };
        let at = |line: &Line| matches!(line, Line::Cells { .. }) && !ends_before(line);
        self.all.iter().position(at).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{MapCell, MapRegion, Region, Sums};
    use crate::units::Ticks;

    #[test]
    fn rows_without_cells_are_one_line_from_two_of_them_on() {
        let sums = Sums {
            live: 0,
            others: 0,
            committed: 4096,
            blocks: 0,
            group: None,
            oldest: Ticks(0),
            newest: Ticks(0),
            largest: None,
        };
        let cells: Vec<MapCell> = [3, 4, 9, 10, 100].map(|number| MapCell { number, sums }).into();
        let region = Region { first: 0, last: 200 * 4096 - 1, is_reserved: true, owner: None, sums };
        let regions = vec![MapRegion { region, cells: 0..5 }];
        let map = AddressMap { cell: 4096, regions, cells, blocks: Vec::new(), cut_at: None };
        let lines = Lines::of(&map, 4);
        let row = |row, cells, is_first| Line::Cells { region: 0, row, cells, is_first };
        let expected = [
            row(0, 0..1, true),
            row(1, 1..2, false),
            row(2, 2..4, false),
            Line::Gap { region: 0, bytes: 22 * 4 * 4096 },
            row(25, 4..5, false),
        ];
        assert_eq!(lines.all, expected);
        assert_eq!(Lines::of(&map, 8).all.len(), 4, "a line without cells between two with some is drawn");
        assert_eq!([0, 9 * 4096, 20 * 4096].map(|address| lines.with(&map, address)), [0, 2, 4]);
    }
}
