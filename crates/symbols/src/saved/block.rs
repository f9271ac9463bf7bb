//! One block of saved names: some consecutive addresses, their frames, the types that they allocate, and all their strings.
//!
//! ```text
//! numbers of addresses, frames and strings
//! addresses:  RVA, end of its frames, type allocated by its call or NO_TEXT
//! frames:     function, file or NO_TEXT, line
//! strings:    the end of each, then their text
//! ```

use std::ops::Range;

use super::form::Reader;
use crate::names::{ModuleNames, NO_TEXT, NameTables, RawFrame};
use crate::tables::KeyedMap;

/// Bytes of an address or a frame.
const ROW: usize = 12;

/// Appends the block of some addresses, by their numbers; there is at least one. Returns the first and the last address.
pub(super) fn encode(names: &ModuleNames, range: Range<usize>, out: &mut Vec<u8>) -> (u32, u32) {
    let tables = names.tables();
    let mut strings = Strings::default();
    let (mut rows, mut frames) = (Vec::new(), Vec::new());
    let mut begin = range.start.checked_sub(1).map_or(0, |before| tables.addresses[before].1);
    for &(rva, end) in &tables.addresses[range] {
        for frame in &tables.frames[begin as usize..end as usize] {
            frames.push([strings.number(tables, frame.function), strings.number(tables, frame.file), frame.line]);
        }
        begin = end;
        let called = rva.checked_add(1).and_then(|next| tables.sites.binary_search_by_key(&next, |&(rva, _)| rva).ok());
        let of_type = called.map_or(NO_TEXT, |site| strings.number(tables, tables.sites[site].1));
        rows.push([rva, frames.len() as u32, of_type]);
    }
    let counts = [rows.len(), frames.len(), strings.ends.len()].map(|count| count as u32);
    let numbers = counts.iter().chain(rows.iter().flatten()).chain(frames.iter().flatten()).chain(&strings.ends);
    numbers.for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    out.extend_from_slice(strings.text.as_bytes());
    (rows.first().map_or(0, |row| row[0]), rows.last().map_or(0, |row| row[0]))
}

/// The strings of a block.
#[derive(Default)]
struct Strings {
    numbers: KeyedMap<u32, u32>,
    ends: Vec<u32>,
    text: String,
}

impl Strings {
    /// The number in the block of a string of the module.
    fn number(&mut self, tables: &NameTables, of_module: u32) -> u32 {
        if of_module == NO_TEXT {
            return NO_TEXT;
        }
        *self.numbers.entry(of_module).or_insert_with(|| {
            self.text.push_str(tables.string(of_module));
            self.ends.push(self.text.len() as u32);
            self.ends.len() as u32 - 1
        })
    }
}

/// A block of a file, all of whose indices are valid.
pub(super) struct Block<'a> {
    addresses: &'a [u8],
    frames: &'a [u8],
    ends: &'a [u8],
    text: &'a str,
}

impl<'a> Block<'a> {
    /// The block in these bytes; `None` if it is not sound, or does not reach from the first to the last address.
    pub(super) fn of(bytes: &'a [u8], first: u32, last: u32) -> Option<Self> {
        let mut reader = Reader(bytes);
        let [addresses, frames, strings] = reader.numbers()?;
        let addresses = reader.take((addresses as usize).checked_mul(ROW)?)?;
        let frames = reader.take((frames as usize).checked_mul(ROW)?)?;
        let ends = reader.take((strings as usize).checked_mul(4)?)?;
        let block = Self { addresses, frames, ends, text: std::str::from_utf8(reader.0).ok()? };
        let is_from_to = !addresses.is_empty()
            && block.row(addresses, 0)[0] == first
            && block.row(addresses, addresses.len() / ROW - 1)[0] == last;
        (is_from_to && block.is_sound()).then_some(block)
    }

    fn is_sound(&self) -> bool {
        let strings = (self.ends.len() / 4) as u32;
        let is_text = |text: u32| text < strings || text == NO_TEXT;
        let (mut before, mut frames) = (None, 0);
        let are_addresses = (0..self.addresses.len() / ROW).map(|i| self.row(self.addresses, i)).all(|[rva, end, of_type]| {
            let is_next = before.is_none_or(|before| before < rva) && frames <= end && is_text(of_type);
            (before, frames) = (Some(rva), end);
            is_next
        });
        let are_frames = (0..self.frames.len() / ROW)
            .map(|i| self.row(self.frames, i))
            .all(|[function, file, _]| function < strings && is_text(file));
        let mut start = 0;
        let are_strings = (0..strings).all(|text| {
            let end = self.end(text);
            let is_next = start <= end && self.text.is_char_boundary(end as usize);
            start = end;
            is_next
        });
        are_addresses && frames as usize == self.frames.len() / ROW && are_frames && are_strings
    }

    fn row(&self, rows: &[u8], number: usize) -> [u32; 3] {
        Reader(rows.get(number * ROW..).unwrap_or_default()).numbers().unwrap_or_default()
    }

    fn end(&self, text: u32) -> u32 {
        Reader(self.ends.get(text as usize * 4..).unwrap_or_default()).numbers().map_or(0, |[end]| end)
    }

    fn string(&self, text: u32) -> &'a str {
        let start = text.checked_sub(1).map_or(0, |before| self.end(before));
        self.text.get(start as usize..self.end(text) as usize).unwrap_or_default()
    }

    /// Appends these addresses to the tables, as far as they are in the block, or all; `None` if the tables have no room.
    pub(super) fn add_to(&self, tables: &mut NameTables, asked: Option<&[u32]>) -> Option<()> {
        let mut numbers = vec![NO_TEXT; self.ends.len() / 4];
        let (mut begin, mut asked) = (0, asked.map(|asked| asked.iter().copied().peekable()));
        for [rva, end, of_type] in (0..self.addresses.len() / ROW).map(|i| self.row(self.addresses, i)) {
            let frames = begin..end as usize;
            begin = end as usize;
            if let Some(asked) = &mut asked {
                while asked.next_if(|&asked| asked < rva).is_some() {}
                if asked.next_if_eq(&rva).is_none() {
                    continue;
                }
            }
            for [function, file, line] in frames.map(|i| self.row(self.frames, i)) {
                let function = self.add_text(function, &mut numbers, tables)?;
                let file = self.add_text(file, &mut numbers, tables)?;
                tables.frames.push(RawFrame { function, file, line });
            }
            tables.addresses.push((rva, u32::try_from(tables.frames.len()).ok()?));
            if of_type != NO_TEXT {
                let of_type = self.add_text(of_type, &mut numbers, tables)?;
                tables.sites.push((rva.checked_add(1)?, of_type));
            }
        }
        Some(())
    }

    /// The number in the tables of a string of the block, which is added if it is new.
    fn add_text(&self, text: u32, numbers: &mut [u32], tables: &mut NameTables) -> Option<u32> {
        let Some(number) = numbers.get_mut(text as usize) else { return Some(NO_TEXT) };
        if *number == NO_TEXT {
            tables.text.push_str(self.string(text));
            *number = u32::try_from(tables.ends.len()).ok().filter(|&number| number != NO_TEXT)?;
            tables.ends.push(u32::try_from(tables.text.len()).ok()?);
        }
        Some(*number)
    }
}
