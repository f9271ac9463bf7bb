//! Buffer headers that are read at several places of a file at once, before the walk comes to them.
//!
//! One small read after the other makes a disk wait for each of them: on one SSD 20,000 headers took 3.0 s one by one and 0.4 s
//! from 32 places. A file in the system's cache needs no such help, and threads would take longer than its reads; so it begins where a
//! read was slow. Only where buffers have had one size for a while is it known where the next ones stand, so as many headers are
//! read ahead as there were buffers of this size in a row. So a file whose chain breaks often costs at most twice the reads.
//!
//! What was read ahead is what a read at that place gives: no result depends on it. (Windows carries out one read of a handle after
//! the other; there it gains little.)

use std::thread;
use std::time::{Duration, Instant};

use super::walk::{Stands, Walker};
use super::{BUFFER_HEADER, Source};

/// Buffers of one size in a row before anything is read ahead.
const LEAST: usize = 64;

/// Most headers that are read ahead: 1.4 MiB.
const MOST: usize = 1 << 14;

/// A read that takes longer than this had to wait for a disk: one from the cache takes some microseconds.
const SLOW: Duration = Duration::from_micros(50);

/// Places at which is read at once.
const PLACES: usize = 32;

/// The start of a place in the file, and how many bytes there were.
type Head = ([u8; BUFFER_HEADER], usize);

/// Headers that were read ahead.
#[derive(Debug)]
pub(super) struct Ahead {
    /// Where the first of `heads` stands, and their distance. Those that no thread could read are missing.
    start: u64,
    size: u64,
    heads: Vec<Option<Head>>,
    /// Where the next buffer stands if it follows in the row, and the number of buffers in it so far.
    next: u64,
    row: usize,
    /// The time from which on a read is slow, and whether the latest one was.
    slow: Duration,
    is_slow: bool,
}

impl Default for Ahead {
    fn default() -> Self {
        Self::after(SLOW)
    }
}

impl Ahead {
    /// Reads nothing ahead until a read takes so long.
    fn after(slow: Duration) -> Self {
        let (start, size, next, row, is_slow) = Default::default();
        Self { start, size, heads: Vec::new(), next, row, slow, is_slow }
    }

    /// Looks at a place, where a buffer of this size is due if there is a usual one.
    pub(super) fn look(&mut self, walker: &Walker<'_>, offset: u64, usual: Option<u64>) -> Stands {
        let Some(size) = usual.filter(|_| !matches!(walker.source, Source::Memory(_))) else { return walker.look(offset) };
        self.row = if offset == self.next && size == self.size { self.row + 1 } else { 0 };
        if self.row == 0 {
            self.heads.clear();
        }
        (self.next, self.size) = (offset.saturating_add(size), size);
        if self.row >= LEAST && self.head(offset).is_none() && std::mem::take(&mut self.is_slow) {
            self.read(walker, offset);
        }
        if let Some(Some((head, n))) = self.head(offset) {
            return Walker::stands(&head[..*n], offset);
        }
        let begun = Instant::now();
        let found = walker.look(offset);
        self.is_slow = begun.elapsed() >= self.slow;
        found
    }

    fn head(&self, offset: u64) -> Option<&Option<Head>> {
        let behind = offset.checked_sub(self.start)?.checked_div(self.size)?;
        self.heads.get(usize::try_from(behind).ok()?)
    }

    /// Reads the next headers from here on.
    fn read(&mut self, walker: &Walker<'_>, offset: u64) {
        let left = walker.bytes.saturating_sub(offset).div_ceil(self.size.max(1));
        let count = self.row.min(MOST).min(usize::try_from(left).unwrap_or(MOST));
        self.start = offset;
        self.heads.clear();
        self.heads.resize(count, None);
        let (source, size) = (walker.source, self.size);
        let each = count.div_ceil(PLACES).max(1);
        let fill = |heads: &mut [Option<Head>], mut at: u64| {
            for head in heads {
                let mut bytes = [0; BUFFER_HEADER];
                let n = source.read_at(&mut bytes, at).unwrap_or(0);
                *head = Some((bytes, n));
                at += size;
            }
        };
        thread::scope(|scope| {
            for (number, heads) in (0..).zip(self.heads.chunks_mut(each)) {
                let at = offset + number * each as u64 * size;
                if thread::Builder::new().spawn_scoped(scope, move || fill(heads, at)).is_err() {
                    return; // the walk reads these itself
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::index::walk_with;
    use crate::{Expandable, Problems, SessionHeader};

    /// Bytes of a usual buffer.
    const SIZE: usize = 128;

    #[derive(Clone, Debug)]
    enum Piece {
        /// Buffers of the usual size, with numbers that go up or down.
        Row(usize, bool),
        /// A buffer that claims another size.
        Odd(u32),
        Zeros(usize),
        Garbage(u8),
        /// The first bytes of a buffer.
        Cut(usize),
    }

    fn piece() -> impl Strategy<Value = Piece> {
        prop_oneof![
            4 => (1usize..400, any::<bool>()).prop_map(|(count, up)| Piece::Row(count, up)),
            1 => (80u32..400).prop_map(Piece::Odd),
            1 => (1usize..300).prop_map(Piece::Zeros),
            1 => any::<u8>().prop_map(Piece::Garbage),
            1 => (1usize..SIZE).prop_map(Piece::Cut),
        ]
    }

    fn buffer(size: u32, number: i64) -> Vec<u8> {
        let mut bytes = vec![0; SIZE];
        bytes[0..4].copy_from_slice(&size.to_le_bytes());
        bytes[0x18..0x20].copy_from_slice(&number.to_le_bytes());
        bytes[0x28] = (number % 3) as u8;
        bytes[0x30..0x34].copy_from_slice(&(SIZE as u32).to_le_bytes());
        bytes
    }

    fn file(pieces: &[Piece]) -> Vec<u8> {
        let (mut bytes, mut number) = (buffer(SIZE as u32, 0), 0);
        for piece in pieces {
            match *piece {
                Piece::Row(count, up) => {
                    let numbers = number + 1..=number + count as i64;
                    number = *numbers.end();
                    let all = numbers.clone().zip(numbers.rev()).map(|(a, b)| if up { a } else { b });
                    all.for_each(|number| bytes.extend(buffer(SIZE as u32, number)));
                }
                Piece::Odd(size) => bytes.extend(buffer(size, number)),
                Piece::Zeros(count) => bytes.resize(bytes.len() + count, 0),
                Piece::Garbage(value) => bytes.resize(bytes.len() + SIZE, value),
                Piece::Cut(count) => bytes.extend(&buffer(SIZE as u32, number)[..count]),
            }
        }
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Nothing is read ahead of a trace in memory.
        #[test]
        fn what_is_read_ahead_is_what_stands_there(pieces in prop::collection::vec(piece(), 0..8)) {
            let bytes = file(&pieces);
            let mut on_disk = tempfile::tempfile().unwrap();
            on_disk.write_all(&bytes).unwrap();
            let length = bytes.len() as u64;
            let first = SessionHeader::default();
            let found = |source: &Source, ahead: Ahead| {
                let mut problems = Problems::new();
                let walker = Walker { source, bytes: length, first: &first, expandable: Expandable::PLAIN };
                let index = walk_with(ahead, walker, "a.etl", &mut problems);
                (index.buffers, index.met, index.more_lost, format!("{problems:?}"))
            };
            let in_memory = found(&Source::Memory(bytes.leak()), Ahead::default());
            let on_disk = Source::File(Arc::new(on_disk));
            prop_assert_eq!(&found(&on_disk, Ahead::default()), &in_memory);
            prop_assert_eq!(found(&on_disk, Ahead::after(Duration::ZERO)), in_memory);
        }
    }
}
