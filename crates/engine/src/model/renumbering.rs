//! New numbers of rows after others were dropped: those that stay keep their order.
//!
//! Memory: 1.5 bits a row. Cost: a look at two words for each number.

use super::RowId;

/// Which rows stay.
#[derive(Debug, Default)]
pub(super) struct Renumbering {
    /// A bit for each row.
    stays: Vec<u64>,
    /// Rows that stay before each word.
    before: Vec<u32>,
    stay: u32,
}

impl Renumbering {
    /// Notes whether the next row stays.
    pub(super) fn push(&mut self, row: RowId, stays: bool) {
        if row.0.is_multiple_of(u64::BITS) {
            self.stays.push(0);
            self.before.push(self.stay);
        }
        if let (true, Some(word)) = (stays, self.stays.last_mut()) {
            *word |= 1 << (row.0 % u64::BITS);
            self.stay += 1;
        }
    }

    /// The new number of a row, if it stays.
    pub(super) fn of(&self, row: RowId) -> Option<RowId> {
        let word = self.stays.get((row.0 / u64::BITS) as usize)?;
        (word >> (row.0 % u64::BITS) & 1 != 0).then(|| RowId(self.first_from(row.0)))
    }

    /// The new number of the first row from this one on that stays.
    pub(super) fn first_from(&self, row: u32) -> u32 {
        let (word, bit) = ((row / u64::BITS) as usize, row % u64::BITS);
        match self.stays.get(word) {
            Some(stays) => self.before[word] + (stays & ((1 << bit) - 1)).count_ones(),
            None => self.stay,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_that_stay_are_counted_through(rows in proptest::collection::vec(any::<bool>(), 0..300)) {
            let mut renumbering = Renumbering::default();
            rows.iter().enumerate().for_each(|(row, stays)| renumbering.push(RowId(row as u32), *stays));
            let mut next = 0;
            for (row, stays) in rows.iter().enumerate() {
                prop_assert_eq!(renumbering.first_from(row as u32), next);
                prop_assert_eq!(renumbering.of(RowId(row as u32)), stays.then_some(RowId(next)));
                next += u32::from(*stays);
            }
            prop_assert_eq!(renumbering.first_from(rows.len() as u32), next);
            prop_assert_eq!(renumbering.of(RowId(1000)), None);
        }
    }
}
