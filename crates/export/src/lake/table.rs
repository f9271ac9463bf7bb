//! The tables as they are written: names of columns, what they hold and in which unit. The schema of the files is
//! made from this list, and a test compares it with `docs/fleet.md`.

use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::Type;

/// The type of a column's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Yes or no.
    Bool,
    /// A whole number with a sign, 64 bits.
    Long,
    /// A number with a fraction, 64 bits.
    Double,
    /// Text, UTF-8.
    Text,
    /// A time in microseconds since 1970, UTC.
    Timestamp,
    /// Several texts.
    TextList,
    /// A map from text to text.
    TextMap,
}

impl Kind {
    /// The name in the document.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "boolean",
            Self::Long => "bigint",
            Self::Double => "double",
            Self::Text => "string",
            Self::Timestamp => "timestamp",
            Self::TextList => "list of string",
            Self::TextMap => "map of string to string",
        }
    }

    /// Number of columns that it takes in the file.
    pub(super) fn leaves(self) -> usize {
        if self == Self::TextMap { 2 } else { 1 }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// Whether it can be null.
    pub nullable: bool,
}

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Name, also that of its folder.
    pub name: &'static str,
    /// Its columns in order.
    pub columns: &'static [Column],
}

const fn always(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, nullable: false }
}

const fn maybe(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, nullable: true }
}

use Kind::{Bool, Double, Long, Text, TextList, TextMap, Timestamp};

/// One row per capture. Only captures in this table count.
pub(crate) static CAPTURES: Table = Table {
    name: "captures",
    columns: &[
        always("name", Text),
        always("files", TextList),
        always("bytes", Long),
        maybe("machine", Text),
        always("os", Text),
        always("processors", Long),
        maybe("build", Text),
        maybe("start_time", Timestamp),
        always("duration_s", Double),
        always("from_s", Double),
        always("to_s", Double),
        always("allocations", Long),
        always("events_lost", Long),
        always("buffers_lost", Long),
        maybe("exact_until_s", Double),
        maybe("cut_s", Double),
        always("unmatched_frees", Long),
        always("superseded_allocations", Long),
        always("inferred_frees", Long),
        always("duplicate_events", Long),
        always("problems", Long),
        always("highwater", Text),
        always("tags", TextMap),
    ],
};

/// One row per process; an id that is used again has several.
pub static PROCESSES: Table = Table {
    name: "processes",
    columns: &[
        always("process_id", Long),
        maybe("pid", Long),
        always("name", Text),
        maybe("command_line", Text),
        maybe("parent_pid", Long),
        maybe("start_s", Double),
        maybe("end_s", Double),
    ],
};

/// One row per mapping of an image.
pub static MODULES: Table = Table {
    name: "modules",
    columns: &[
        always("process_id", Long),
        always("name", Text),
        always("path", Text),
        always("base", Long),
        always("size", Long),
        maybe("load_s", Double),
        maybe("unload_s", Double),
        always("time_stamp", Long),
        maybe("pdb", Text),
        maybe("pdb_guid", Text),
        maybe("pdb_age", Long),
    ],
};

/// One row per heap, per tracker, and per process for its committed memory.
pub static HEAPS: Table = Table {
    name: "heaps",
    columns: &[
        always("heap_id", Long),
        always("process_id", Long),
        always("layer", Text),
        maybe("name", Text),
        always("handle", Long),
        always("is_default", Bool),
        always("outstanding_from", Long),
        always("outstanding_to", Long),
        always("peak", Long),
    ],
};

/// One row per call stack.
pub static STACKS: Table = Table {
    name: "stacks",
    columns: &[
        always("stack_id", Long),
        always("stack_key", Long),
        always("depth", Long),
        maybe("function", Text),
        maybe("module", Text),
        always("text", Text),
        maybe("responsible", Text),
        maybe("responsible_module", Text),
    ],
};

/// One row per frame of a call stack.
pub static FRAMES: Table = Table {
    name: "frames",
    columns: &[
        always("stack_id", Long),
        always("depth", Long),
        always("frame", Text),
        maybe("module", Text),
        maybe("function", Text),
        maybe("file", Text),
        maybe("line", Long),
        always("address", Long),
        maybe("rva", Long),
        always("is_inlined", Bool),
        always("is_allocator", Bool),
    ],
};

/// One row per allocation.
pub(crate) static ALLOCATIONS: Table = Table {
    name: "allocations",
    columns: &[
        always("layer", Text),
        always("size", Long),
        maybe("birth_s", Double),
        maybe("death_s", Double),
        always("address", Long),
        maybe("thread", Long),
        always("process_id", Long),
        always("heap_id", Long),
        always("stack_id", Long),
        maybe("freed_stack_id", Long),
        maybe("type", Text),
    ],
};

/// Outstanding bytes of each heap at evenly spread moments.
pub static SERIES: Table = Table {
    name: "series",
    columns: &[
        always("heap_id", Long),
        always("process_id", Long),
        always("layer", Text),
        always("time_s", Double),
        always("outstanding", Long),
    ],
};

/// One row per mark.
pub static MARKS: Table = Table {
    name: "marks",
    columns: &[
        maybe("process_id", Long),
        maybe("thread", Long),
        always("provider", Text),
        always("text", Text),
        always("at_s", Double),
        always("from_s", Double),
        always("to_s", Double),
    ],
};

/// One row per frame of a game: the time between two presents of a swap chain.
pub(crate) static GAME_FRAMES: Table = Table {
    name: "game_frames",
    columns: &[
        always("process_id", Long),
        always("api", Text),
        always("swap_chain", Long),
        always("number", Long),
        always("from_s", Double),
        always("to_s", Double),
    ],
};

/// All tables; `captures` is the last, because a capture counts once it is there.
pub static TABLES: [&Table; 10] =
    [&PROCESSES, &MODULES, &HEAPS, &FRAMES, &STACKS, &ALLOCATIONS, &SERIES, &MARKS, &GAME_FRAMES, &CAPTURES];

impl Table {
    /// The schema of its files.
    pub(super) fn schema(&self) -> Result<Arc<Type>, ParquetError> {
        let fields: String = self.columns.iter().map(field).collect();
        parse_message_type(&format!("message {} {{ {fields} }}", self.name)).map(Arc::new)
    }
}

fn field(column: &Column) -> String {
    let Column { name, kind, nullable } = *column;
    let repetition = if nullable { "OPTIONAL" } else { "REQUIRED" };
    match kind {
        Bool => format!("{repetition} BOOLEAN {name}; "),
        Long => format!("{repetition} INT64 {name}; "),
        Double => format!("{repetition} DOUBLE {name}; "),
        Text => format!("{repetition} BYTE_ARRAY {name} (UTF8); "),
        Timestamp => format!("{repetition} INT64 {name} (TIMESTAMP(MICROS, true)); "),
        TextList => {
            format!("{repetition} group {name} (LIST) {{ REPEATED group list {{ REQUIRED BYTE_ARRAY element (UTF8); }} }} ")
        }
        TextMap => format!(
            "{repetition} group {name} (MAP) {{ REPEATED group key_value \
             {{ REQUIRED BYTE_ARRAY key (UTF8); REQUIRED BYTE_ARRAY value (UTF8); }} }} "
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_a_schema_with_its_columns() {
        for table in TABLES {
            let schema = table.schema().unwrap();
            let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
            assert_eq!(names, table.columns.iter().map(|column| column.name).collect::<Vec<_>>());
        }
        assert_eq!(TABLES.last().unwrap().name, "captures");
    }

    #[test]
    fn the_document_has_every_column_with_its_kind() {
        let document = include_str!("../../../../docs/fleet.md");
        for table in TABLES {
            let start = document.find(&format!("### `{}`", table.name)).unwrap_or_else(|| panic!("{} is missing", table.name));
            let section = &document[start..];
            let section = &section[..section[4..].find("\n#").map_or(section.len(), |at| at + 4)];
            let lines: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
            assert_eq!(lines.len(), table.columns.len(), "{}", table.name);
            for (line, column) in lines.iter().zip(table.columns) {
                let null = if column.nullable { ", null" } else { "" };
                let start = format!("| `{}` | {}{null} |", column.name, column.kind.name());
                assert!(line.starts_with(&start), "{}: {line} should begin {start}", table.name);
            }
        }
    }
}
