//! One file of a table: columns that are filled row by row or as a whole, and become a row group when there are
//! enough rows.
//!
//! Cost: memory for one row group of a small table, which has at most [`GROUP_ROWS`] rows and about [`GROUP_TEXT`]
//! bytes of text. A caller that fills columns itself ([`TableFile::group`]) needs memory for one column.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::basic::{Compression, Encoding};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnPath;

use super::table::{Kind, Table};

/// Version of the tables, in each file's metadata: another one if a column goes or changes its meaning.
const TABLES_VERSION: &str = "1";

/// Rows of a row group: as many as query engines like to take at a time.
pub(super) const GROUP_ROWS: usize = 1 << 17;
/// Approximate bytes of text in a row group of a small table.
const GROUP_TEXT: usize = 16 << 20;
/// Maximum bytes of a text that statistics keep.
const STATISTICS_TEXT: usize = 64;

/// Bytes that may still be written; tests set less than any disk has, to fill it.
#[derive(Clone, Debug)]
pub struct DiskRoom(Arc<AtomicU64>);

impl DiskRoom {
    /// Room for so many bytes.
    pub fn of(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    fn take(&self, bytes: usize) -> io::Result<()> {
        let left = |room: u64| room.checked_sub(bytes as u64);
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left) {
            Ok(_) => Ok(()),
            Err(_) => Err(io::Error::new(io::ErrorKind::StorageFull, "no space left on the device")),
        }
    }
}

/// A file of which only as much is written as there is room for.
pub(super) struct Bounded {
    file: File,
    room: Option<DiskRoom>,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(room) = &self.room {
            room.take(bytes.len())?;
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'a> {
    Null,
    Bool(bool),
    Long(i64),
    Double(f64),
    Text(&'a str),
    Texts(&'a [String]),
    Map(&'a [(String, String)]),
}

impl Cell<'_> {
    pub(super) fn long(value: Option<i64>) -> Self {
        value.map_or(Self::Null, Self::Long)
    }

    pub(super) fn double(value: Option<f64>) -> Self {
        value.map_or(Self::Null, Self::Double)
    }
}

impl<'a> Cell<'a> {
    pub(super) fn text(value: Option<&'a str>) -> Self {
        value.map_or(Self::Null, Self::Text)
    }

    /// A count or size; one above the maximum of the column becomes that maximum.
    pub(super) fn count(value: u64) -> Self {
        Self::Long(clamped(value))
    }
}

/// A number as a column holds it: at most `i64::MAX`.
pub(super) fn clamped(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// One column of the file: the values that are not null, and the levels that tell where nulls and lists are.
#[derive(Debug, Default)]
pub(super) struct Leaf {
    pub(super) bools: Vec<bool>,
    pub(super) longs: Vec<i64>,
    pub(super) doubles: Vec<f64>,
    pub(super) texts: Vec<ByteArray>,
    /// 1 where there is a value; only for columns that can be null, lists and maps.
    pub(super) definition: Vec<i16>,
    /// 1 where a list or map continues.
    pub(super) repetition: Vec<i16>,
}

impl Leaf {
    pub(super) fn clear(&mut self) {
        self.bools.clear();
        self.longs.clear();
        self.doubles.clear();
        self.texts.clear();
        self.definition.clear();
        self.repetition.clear();
    }

    fn texts<'a>(&mut self, texts: impl Iterator<Item = &'a str>) -> usize {
        let mut bytes = 0;
        for (i, text) in texts.enumerate() {
            self.texts.push(text.as_bytes().to_vec().into());
            self.definition.push(1);
            self.repetition.push(i16::from(i > 0));
            bytes += text.len();
        }
        bytes
    }

    /// Adds an empty list or map.
    fn nothing(&mut self) {
        self.definition.push(0);
        self.repetition.push(0);
    }
}

/// A file that is being written.
pub(super) struct TableFile {
    table: &'static Table,
    writer: SerializedFileWriter<Bounded>,
    /// The values of the current row group, by column of the file.
    leaves: Vec<Leaf>,
    rows: usize,
    text: usize,
}

impl TableFile {
    pub(super) fn create(path: &Path, table: &'static Table, room: Option<DiskRoom>) -> Result<Self, ParquetError> {
        let file = Bounded { file: File::create_new(path)?, room };
        let writer = SerializedFileWriter::new(file, table.schema()?, Arc::new(properties(table)))?;
        let leaves = table.columns.iter().map(|column| column.kind.leaves()).sum();
        Ok(Self { table, writer, leaves: std::iter::repeat_with(Leaf::default).take(leaves).collect(), rows: 0, text: 0 })
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), ParquetError> {
        debug_assert_eq!(cells.len(), self.table.columns.len(), "{}", self.table.name);
        let mut leaves = self.leaves.iter_mut();
        for (column, cell) in self.table.columns.iter().zip(cells) {
            let Some(leaf) = leaves.next() else { break };
            match *cell {
                Cell::Bool(value) => leaf.bools.push(value),
                Cell::Long(value) => leaf.longs.push(value),
                Cell::Double(value) => leaf.doubles.push(value),
                Cell::Text(value) => {
                    self.text += value.len();
                    leaf.texts.push(value.as_bytes().to_vec().into());
                }
                Cell::Texts([]) => leaf.nothing(),
                Cell::Texts(list) => self.text += leaf.texts(list.iter().map(String::as_str)),
                Cell::Map(map) => {
                    let Some(values) = leaves.next() else { break };
                    if map.is_empty() {
                        leaf.nothing();
                        values.nothing();
                    }
                    self.text += leaf.texts(map.iter().map(|(key, _)| key.as_str()));
                    self.text += values.texts(map.iter().map(|(_, value)| value.as_str()));
                    continue;
                }
                Cell::Null => {}
            }
            if column.nullable {
                leaf.definition.push(i16::from(!matches!(cell, Cell::Null)));
            }
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS || self.text >= GROUP_TEXT { self.flush() } else { Ok(()) }
    }

    /// Writes the added rows as a row group.
    fn flush(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        let kinds = self.table.columns.iter().flat_map(|column| std::iter::repeat_n(column.kind, column.kind.leaves()));
        for (kind, leaf) in kinds.zip(&mut self.leaves) {
            put(&mut group, kind, leaf)?;
            leaf.clear();
        }
        group.close()?;
        (self.rows, self.text) = (0, 0);
        Ok(())
    }

    /// Writes a row group of columns that `fill` fills one after the other; it gets the place of each. For tables
    /// without lists.
    pub(super) fn group(&mut self, mut fill: impl FnMut(usize, &mut Leaf)) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        let mut leaf = std::mem::take(&mut self.leaves[0]);
        for (place, column) in self.table.columns.iter().enumerate() {
            leaf.clear();
            fill(place, &mut leaf);
            put(&mut group, column.kind, &leaf)?;
        }
        leaf.clear();
        self.leaves[0] = leaf;
        group.close()?;
        Ok(())
    }

    /// Ends the file. Only if this succeeds, the file is complete and on its disk.
    pub(super) fn finish(mut self) -> Result<(), ParquetError> {
        self.flush()?;
        self.writer.finish()?;
        // Network file systems, and those with quotas, report only now that there was no room.
        Ok(self.writer.inner().file.sync_all()?)
    }
}

/// Writes the next column of a row group.
fn put(group: &mut SerializedRowGroupWriter<'_, Bounded>, kind: Kind, leaf: &Leaf) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("a column too many".to_owned()));
    };
    let definition = Some(leaf.definition.as_slice()).filter(|levels| !levels.is_empty());
    let repetition = Some(leaf.repetition.as_slice()).filter(|levels| !levels.is_empty());
    match kind {
        Kind::Bool => column.typed::<BoolType>().write_batch(&leaf.bools, definition, repetition)?,
        Kind::Long | Kind::Timestamp => column.typed::<Int64Type>().write_batch(&leaf.longs, definition, repetition)?,
        Kind::Double => column.typed::<DoubleType>().write_batch(&leaf.doubles, definition, repetition)?,
        Kind::Text | Kind::TextList | Kind::TextMap => {
            column.typed::<ByteArrayType>().write_batch(&leaf.texts, definition, repetition)?
        }
    };
    column.close()
}

/// The encoding of a table. Dictionaries are for values that recur; addresses and ascending ids are small as differences.
fn properties(table: &Table) -> WriterProperties {
    let differences: &[&str] = match table.name {
        "allocations" => &["address"],
        "frames" => &["stack_id", "address", "rva"],
        "stacks" => &["stack_id"],
        _ => &[],
    };
    let plain: &[&str] = match table.name {
        "allocations" => &["birth_s", "death_s"],
        "stacks" => &["text", "stack_key"],
        _ => &[],
    };
    let mut properties = WriterProperties::builder()
        .set_key_value_metadata(Some(vec![KeyValue::new("highwater.tables".to_owned(), TABLES_VERSION.to_owned())]))
        .set_created_by(concat!("highwater ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_statistics_truncate_length(Some(STATISTICS_TEXT))
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(GROUP_ROWS));
    for name in differences.iter().chain(plain) {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(*name), false);
    }
    for name in differences {
        properties = properties.set_column_encoding(ColumnPath::from(*name), Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}
