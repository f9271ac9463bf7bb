//! Tables of a folder, read: whole rows of the small ones, chosen columns of the large one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use highwater_engine::units::Layer;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use thiserror::Error;

/// The reason why a folder of tables gives no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BisectError {
    /// The folder or a file in it cannot be read.
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, io::Error),
    /// A file is damaged, or not of the kind that it should be.
    #[error("{}: {}", .0.display(), .1)]
    Damaged(PathBuf, String),
    /// There is no such folder.
    #[error("{}: there is no such folder; highwater export --format parquet writes one", .0.display())]
    NoFolder(PathBuf),
    /// The folder has no tables of captures.
    #[error("{}: no tables of captures (highwater export --format parquet writes them)", .0.display())]
    NoTables(PathBuf),
    /// The folder lacks something that the question names; the reason is a sentence without its full stop.
    #[error("{0}")]
    Missing(String),
    /// The work was stopped.
    #[error("stopped")]
    Stopped,
}

type Result<T> = std::result::Result<T, BisectError>;

/// Names of the captures that count, in order: those with a part in the table `captures`.
pub(crate) fn captures(lake: &Path) -> Result<Vec<String>> {
    let folder = lake.join("captures");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let none = if lake.is_dir() { BisectError::NoTables } else { BisectError::NoFolder };
            return Err(none(lake.to_owned()));
        }
        Err(error) => return Err(BisectError::Io(if lake.is_dir() { folder } else { lake.to_owned() }, error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| BisectError::Io(folder.clone(), error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_prefix("capture=").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// The files of a capture in a table, in order.
fn parts(lake: &Path, table: &str, capture: &str) -> Result<Vec<PathBuf>> {
    let folder = lake.join(table).join(format!("capture={capture}"));
    let error = |error| BisectError::Io(folder.clone(), error);
    let mut parts = Vec::new();
    for entry in fs::read_dir(&folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.extension().is_some_and(|extension| extension == "parquet") {
            parts.push(path);
        }
    }
    parts.sort();
    Ok(parts)
}

fn open(path: &Path) -> Result<SerializedFileReader<File>> {
    let file = File::open(path).map_err(|error| BisectError::Io(path.to_owned(), error))?;
    SerializedFileReader::new(file).map_err(damaged(path))
}

fn damaged(path: &Path) -> impl Fn(ParquetError) -> BisectError {
    let path = path.to_owned();
    move |error| BisectError::Damaged(path.clone(), error.to_string())
}

/// Goes through the rows of a table of one capture; `columns` are read, all of them if there are none.
pub(crate) fn each_row(lake: &Path, table: &str, capture: &str, columns: &[&str], mut see: impl FnMut(&Row)) -> Result<()> {
    for path in parts(lake, table, capture)? {
        let file = open(&path)?;
        let schema = file.metadata().file_metadata().schema();
        for column in columns {
            if !schema.get_fields().iter().any(|field| field.name() == *column) {
                let why = format!("no column {column}: another version of highwater wrote it; export --replace writes it again");
                return Err(BisectError::Damaged(path, why));
            }
        }
        let fields = schema.get_fields().iter().filter(|field| columns.is_empty() || columns.contains(&field.name()));
        let chosen = Type::group_type_builder(schema.name()).with_fields(fields.cloned().collect()).build();
        for row in file.get_row_iter(Some(chosen.map_err(damaged(&path))?)).map_err(damaged(&path))? {
            see(&row.map_err(damaged(&path))?);
        }
    }
    Ok(())
}

/// A column of a row; null if the row has no such column.
pub(crate) fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(other, _)| *other == name).map_or(&Field::Null, |(_, field)| field)
}

/// A text of a row.
pub(crate) fn text(row: &Row, name: &str) -> Option<String> {
    if let Field::Str(text) = field(row, name) { Some(text.clone()) } else { None }
}

/// A whole number of a row.
pub(crate) fn long(row: &Row, name: &str) -> Option<i64> {
    match field(row, name) {
        Field::Long(number) | Field::TimestampMicros(number) => Some(*number),
        _ => None,
    }
}

/// A number of a row.
pub(crate) fn double(row: &Row, name: &str) -> Option<f64> {
    if let Field::Double(number) = field(row, name) { Some(*number) } else { None }
}

/// Allocations of a capture, some at a time, column by column.
#[derive(Debug, Default)]
pub(crate) struct Allocations {
    pub(crate) layers: Vec<Option<Layer>>,
    pub(crate) sizes: Vec<Option<i64>>,
    pub(crate) births: Vec<Option<f64>>,
    pub(crate) deaths: Vec<Option<f64>>,
    pub(crate) processes: Vec<Option<i64>>,
    pub(crate) stacks: Vec<Option<i64>>,
}

/// Rows that are read at a time.
const AT_A_TIME: usize = 1 << 16;

/// Goes through the allocations of a capture. Memory is bounded, however many there are. `see` returns whether to go on.
pub(crate) fn each_allocations(lake: &Path, capture: &str, mut see: impl FnMut(&Allocations) -> bool) -> Result<()> {
    for path in parts(lake, "allocations", capture)? {
        let file = open(&path)?;
        let damaged = damaged(&path);
        for group in 0..file.num_row_groups() {
            let group = file.get_row_group(group).map_err(&damaged)?;
            let column = |name: &str| -> Result<(ColumnReader, bool)> {
                let columns = group.metadata().columns();
                let at = columns.iter().position(|column| column.column_path().string() == name);
                let at = at.ok_or_else(|| BisectError::Damaged(path.clone(), format!("no column {name}")))?;
                let nullable = columns[at].column_descr().max_def_level() > 0;
                Ok((group.get_column_reader(at).map_err(&damaged)?, nullable))
            };
            let wrong = |name: &str| BisectError::Damaged(path.clone(), format!("the column {name} has another type"));
            let mut layers = bytes(column("layer")?).ok_or_else(|| wrong("layer"))?;
            let mut sizes = longs(column("size")?).ok_or_else(|| wrong("size"))?;
            let mut births = doubles(column("birth_s")?).ok_or_else(|| wrong("birth_s"))?;
            let mut deaths = doubles(column("death_s")?).ok_or_else(|| wrong("death_s"))?;
            let mut processes = longs(column("process_id")?).ok_or_else(|| wrong("process_id"))?;
            let mut stacks = longs(column("stack_id")?).ok_or_else(|| wrong("stack_id"))?;
            loop {
                let rows = Allocations {
                    layers: layers.some().map_err(&damaged)?.into_iter().map(|layer| layer_named(layer?.data())).collect(),
                    sizes: sizes.some().map_err(&damaged)?,
                    births: births.some().map_err(&damaged)?,
                    deaths: deaths.some().map_err(&damaged)?,
                    processes: processes.some().map_err(&damaged)?,
                    stacks: stacks.some().map_err(&damaged)?,
                };
                if rows.sizes.is_empty() {
                    break;
                }
                if !see(&rows) {
                    return Err(BisectError::Stopped);
                }
            }
        }
    }
    Ok(())
}

/// The layer of this name.
fn layer_named(name: &[u8]) -> Option<Layer> {
    Layer::ALL.into_iter().find(|layer| layer.name().as_bytes() == name)
}

/// A column that is being read.
struct Values<T: DataType> {
    reader: ColumnReaderImpl<T>,
    nullable: bool,
}

impl<T: DataType> Values<T> {
    /// The next values; none at the end.
    fn some(&mut self) -> std::result::Result<Vec<Option<T::T>>, ParquetError> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        self.reader.read_records(AT_A_TIME, Some(&mut levels), None, &mut values)?;
        if !self.nullable {
            return Ok(values.into_iter().map(Some).collect());
        }
        let mut values = values.into_iter();
        Ok(levels.into_iter().map(|level| if level > 0 { values.next() } else { None }).collect())
    }
}

fn longs((reader, nullable): (ColumnReader, bool)) -> Option<Values<Int64Type>> {
    if let ColumnReader::Int64ColumnReader(reader) = reader { Some(Values { reader, nullable }) } else { None }
}

fn doubles((reader, nullable): (ColumnReader, bool)) -> Option<Values<DoubleType>> {
    if let ColumnReader::DoubleColumnReader(reader) = reader { Some(Values { reader, nullable }) } else { None }
}

fn bytes((reader, nullable): (ColumnReader, bool)) -> Option<Values<ByteArrayType>> {
    if let ColumnReader::ByteArrayColumnReader(reader) = reader { Some(Values { reader, nullable }) } else { None }
}
