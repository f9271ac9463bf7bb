//! Copies by file: how many records of a file are copies, and whether all of them are.
//!
//! Stacks are not counted themselves, but with the event that they belong to.
//!
//! Memory: a counter for each set of files that share a record, with at most [`MOST_IN_SETS`] files in
//! all sets.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::call_stack::is_stack;
use crate::events::Batch;
use crate::stored::stored;

/// Most files in all sets that are counted apart.
const MOST_IN_SETS: usize = 1 << 14;

/// Copies that were left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Copied {
    /// Records that a file repeats itself, by file.
    pub(super) again: BTreeMap<u64, u64>,
    /// Records that several files have in common, by these files.
    shared: BTreeMap<Box<[u64]>, u64>,
    in_sets: usize,
    /// Records that earlier files have as well, by file; only for sets that are not in `shared`.
    others: BTreeMap<u64, u64>,
}

impl Copied {
    /// Adds records that these files have in common; `files` are in order.
    pub(super) fn share(&mut self, files: &[u64], records: u64) {
        if let Some(count) = self.shared.get_mut(files) {
            *count += records;
        } else if self.in_sets + files.len() <= MOST_IN_SETS {
            self.in_sets += files.len();
            self.shared.insert(files.into(), records);
        } else {
            files.iter().skip(1).for_each(|&file| *self.others.entry(file).or_default() += records);
        }
    }

    fn add(&mut self, more: &Self) {
        more.shared.iter().for_each(|(files, &records)| self.share(files, records));
        for (own, more) in [(&mut self.again, &more.again), (&mut self.others, &more.others)] {
            more.iter().for_each(|(&file, records)| *own.entry(file).or_default() += records);
        }
    }
}

/// Copies among all files of a capture.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// Name and number of records, by the file's place among all files.
    files: BTreeMap<u64, (String, u64)>,
    copied: Copied,
}

/// Copies in one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileCopies {
    /// Its name.
    pub file: String,
    /// Records that it repeats, or that a file with more records has as well.
    pub duplicate_events: u64,
    /// Number of the file that has all records of this one, if there is one.
    pub copy_of: Option<usize>,
    /// Whether that file has more.
    pub is_part: bool,
}

stored!(struct FileCopies { file, duplicate_events, copy_of, is_part });

impl Copies {
    /// Names the file at a place.
    pub(super) fn name(&mut self, place: u64, name: &str) {
        self.files.entry(place).or_insert_with(|| (name.to_owned(), 0));
    }

    /// Counts more records of the file at a place.
    pub(super) fn count(&mut self, place: u64, batch: &Batch) {
        let stacks = batch.records.iter().filter(|record| is_stack(&record.event)).count();
        self.files.entry(place).or_default().1 += (batch.entries.len() - stacks) as u64;
    }

    pub(super) fn add(&mut self, copied: &Copied) {
        self.copied.add(copied);
    }

    /// Number of records that are copies of others.
    pub fn total(&self) -> u64 {
        let Copied { again, shared, others, .. } = &self.copied;
        let of_others: u64 = shared.iter().map(|(files, records)| (files.len() as u64 - 1) * records).sum();
        of_others + again.values().chain(others.values()).sum::<u64>()
    }

    /// The copies in each file, in the order of files.
    pub fn by_file(&self) -> Vec<FileCopies> {
        let Copied { again, shared, others, .. } = &self.copied;
        let number: BTreeMap<u64, usize> = self.files.keys().copied().zip(0..).collect();
        let of = |map: &BTreeMap<u64, u64>, place: &u64| map.get(place).copied().unwrap_or(0);
        // Records of each file without those that it repeats.
        let own: Vec<u64> = self.files.iter().map(|(place, (_, records))| records.saturating_sub(of(again, place))).collect();
        let mut list: Vec<FileCopies> = self
            .files
            .iter()
            .map(|(place, (name, _))| FileCopies {
                file: name.clone(),
                duplicate_events: of(again, place) + of(others, place),
                copy_of: None,
                is_part: false,
            })
            .collect();
        // Number of records that two files have in common.
        let mut common: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for (files, records) in shared {
            let files: Vec<usize> = files.iter().filter_map(|place| number.get(place).copied()).collect();
            let original = files.iter().copied().min_by_key(|&file| (Reverse(own[file]), file));
            for &file in files.iter().filter(|&&file| Some(file) != original) {
                list[file].duplicate_events += records;
            }
            for &file in &files {
                files
                    .iter()
                    .filter(|&&other| other != file)
                    .for_each(|&other| *common.entry((file, other)).or_default() += records);
            }
        }
        for (&(file, other), &records) in &common {
            let is_first = (Reverse(own[other]), other) < (Reverse(own[file]), file);
            let is_better = list[file].copy_of.is_none_or(|known| (Reverse(own[other]), other) < (Reverse(own[known]), known));
            if records == own[file] && is_first && is_better {
                (list[file].copy_of, list[file].is_part) = (Some(other), own[other] > own[file]);
            }
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copies(files: &[(&str, u64)], shared: &[(&[u64], u64)]) -> Copies {
        let mut copies = Copies::default();
        for (place, &(name, records)) in (0..).zip(files) {
            copies.files.insert(place, (name.to_owned(), records));
        }
        shared.iter().for_each(|(files, records)| copies.copied.share(files, *records));
        copies
    }

    fn told(copies: &Copies) -> Vec<(String, u64, Option<usize>, bool)> {
        copies.by_file().into_iter().map(|it| (it.file, it.duplicate_events, it.copy_of, it.is_part)).collect()
    }

    #[test]
    fn parts_are_of_the_largest_file_and_copies_of_the_first() {
        let all = copies(
            &[("kernel", 3), ("heap", 67), ("merged", 70), ("again", 70), ("other", 5)],
            &[(&[0, 2, 3], 3), (&[1, 2, 3], 67), (&[2, 3, 4], 0)],
        );
        let expected = [
            ("kernel", 3, Some(2), true),
            ("heap", 67, Some(2), true),
            ("merged", 0, None, false),
            ("again", 70, Some(2), false),
            ("other", 0, None, false),
        ];
        assert_eq!(told(&all), expected.map(|(name, records, of, part)| (name.to_owned(), records, of, part)));
        assert_eq!(all.total(), 3 + 67 + 70);
    }

    #[test]
    fn files_that_share_some_records_are_no_copies() {
        let some = copies(&[("a", 10), ("b", 11)], &[(&[0, 1], 9)]);
        assert_eq!(told(&some), [("a".to_owned(), 9, None, false), ("b".to_owned(), 0, None, false)]);
    }

    #[test]
    fn very_many_sets_of_files_are_counted_all_the_same() {
        let files: Vec<(&str, u64)> = (0..300).map(|_| ("a", 1_000)).collect();
        let mut many = copies(&files, &[]);
        let sets = (0..300u64).flat_map(|a| (a + 1..300).map(move |b| [a, b]));
        let count = sets.map(|set| many.copied.share(&set, 1)).count() as u64;
        assert!(many.copied.in_sets <= MOST_IN_SETS && count > MOST_IN_SETS as u64);
        assert_eq!(many.total(), count);
        assert_eq!(many.by_file().iter().map(|file| file.duplicate_events).sum::<u64>(), count);
    }
}
