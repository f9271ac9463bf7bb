//! Export of tables to files and to text: all lines in their current order. Files contain raw numbers
//! (bytes, seconds). Pictures are written in the same way.
//!
//! Workers write them line by line, so that a table of millions of lines takes no more memory than a
//! small one; a file is written completely or not at all. A text to copy has at most [`MOST_COPIED`]
//! lines.

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Map, json};

use super::Value;
use crate::export::{csv_cell, csv_line};
use crate::format;
use crate::units::Ticks;

/// A table as it was when the export was requested.
pub trait TableSource: Send + Sync {
    /// Title of the table.
    fn title(&self) -> &'static str;
    /// Titles of its columns.
    fn columns(&self) -> Vec<&'static str>;
    /// Number of lines.
    fn len(&self) -> usize;
    /// The depth of a line in the tree, and its values.
    fn line(&self, row: usize) -> (usize, Vec<Value>);
    /// Whether the table is a tree.
    fn is_tree(&self) -> bool {
        false
    }
}

/// Format of an exported table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Values as on the screen, for the clipboard.
    Text,
    Csv,
    Json,
}

impl Format {
    /// File extension of the format.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }

    /// Label of its button.
    pub fn label(self) -> &'static str {
        match self {
            Self::Text => "Copy table as text",
            Self::Csv => "Export as CSV\u{2026}",
            Self::Json => "Export as JSON\u{2026}",
        }
    }

    pub const ALL: [Self; 3] = [Self::Text, Self::Csv, Self::Json];
}

/// A table to be written.
#[derive(Clone)]
pub struct Export {
    pub table_source: Arc<dyn TableSource>,
    pub format: Format,
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} as {:?}", self.table_source.title(), self.format)
    }
}

/// Lines of a text for the clipboard: few programs can paste more.
pub const MOST_COPIED: usize = 200_000;

/// Writes a table.
pub fn write(table_source: &dyn TableSource, format: Format, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Text => as_text(table_source, out),
        Format::Csv => as_csv(table_source, out),
        Format::Json => as_json(table_source, out),
    }
}

fn as_text(table_source: &dyn TableSource, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{}", table_source.columns().join("\t"))?;
    for row in 0..table_source.len().min(MOST_COPIED) {
        let (depth, values) = table_source.line(row);
        let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
        write!(out, "\n{}{}", "  ".repeat(depth), texts.join("\t"))?;
    }
    if table_source.len() > MOST_COPIED {
        write!(out, "\n\u{2026} and {} more lines", format::count((table_source.len() - MOST_COPIED) as u64))?;
    }
    Ok(())
}

fn as_csv(table_source: &dyn TableSource, out: &mut dyn Write) -> io::Result<()> {
    let level = table_source.is_tree().then_some("Level");
    csv_line(out, level.into_iter().chain(table_source.columns()).map(csv_cell))?;
    for row in 0..table_source.len() {
        let (depth, values) = table_source.line(row);
        let level = level.map(|_| depth.to_string());
        csv_line(out, level.into_iter().chain(values.iter().map(raw_in_csv)))?;
    }
    Ok(())
}

fn raw_in_csv(value: &Value) -> String {
    match value {
        Value::Text(text) => csv_cell(text),
        _ => match raw(value) {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => csv_cell(&text),
            number => number.to_string(),
        },
    }
}

fn as_json(table_source: &dyn TableSource, out: &mut dyn Write) -> io::Result<()> {
    let keys: Vec<String> = table_source.columns().into_iter().map(key).collect();
    write!(out, "[")?;
    for row in 0..table_source.len() {
        let (depth, values) = table_source.line(row);
        let mut line = Map::new();
        if table_source.is_tree() {
            line.insert("level".to_owned(), json!(depth));
        }
        line.extend(keys.iter().cloned().zip(values.iter().map(raw)).filter(|(_, value)| !value.is_null()));
        write!(out, "{}\n  ", if row > 0 { "," } else { "" })?;
        serde_json::to_writer(&mut *out, &line)?;
    }
    writeln!(out, "\n]")
}

/// A title as a key: `Alloc/Commit Time` becomes `alloc_commit_time`.
fn key(title: &str) -> String {
    title.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

/// A number in bytes or seconds, without formatting.
fn raw(value: &Value) -> serde_json::Value {
    match value {
        Value::Nothing | Value::Awaited | Value::Later => serde_json::Value::Null,
        Value::Moment(Ticks::NEVER | Ticks::BEFORE_TRACE, _) => serde_json::Value::Null,
        Value::Text(text) => json!(text),
        Value::Count(n) | Value::Bytes(n) | Value::Number(n) => json!(n),
        Value::CountChange(n) | Value::Change(n) => json!(n),
        Value::Moment(_, number) | Value::Duration(number) | Value::Average(number) | Value::Part(number) => json!(number),
        Value::Address(_) => json!(value.to_string()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]
mod tests {
    use super::*;

    struct Two;

    impl TableSource for Two {
        fn title(&self) -> &'static str {
            "Two"
        }

        fn columns(&self) -> Vec<&'static str> {
            vec!["Function", "Impacting Size", "Alloc/Commit Time", "Processor"]
        }

        fn len(&self) -> usize {
            2
        }

        fn line(&self, row: usize) -> (usize, Vec<Value>) {
            match row {
                0 => (
                    0,
                    vec![
                        Value::text("=a.exe!f<\"x\", y>"),
                        Value::Change(-1536),
                        Value::Moment(Ticks(5), 0.5),
                        Value::Part(0.763),
                    ],
                ),
                _ => {
                    (1, vec![Value::text("b\n\u{e4}"), Value::Change(1 << 40), Value::Moment(Ticks::NEVER, 0.0), Value::Nothing])
                }
            }
        }

        fn is_tree(&self) -> bool {
            true
        }
    }

    fn written(format: Format) -> String {
        let mut out = Vec::new();
        write(&Two, format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn files_have_numbers_as_they_are_and_texts_that_stay_texts() {
        let csv = "Level,Function,Impacting Size,Alloc/Commit Time,Processor\r\n\
                   0,\"'=a.exe!f<\"\"x\"\", y>\",-1536,0.5,0.763\r\n1,b\u{fffd}\u{e4},1099511627776,,\r\n";
        assert_eq!(written(Format::Csv), csv);
        let read: serde_json::Value = serde_json::from_str(&written(Format::Json)).unwrap();
        let expected = json!([
            {"level": 0, "function": "=a.exe!f<\"x\", y>", "impacting_size": -1536, "alloc_commit_time": 0.5, "processor": 0.763},
            {"level": 1, "function": "b\n\u{e4}", "impacting_size": 1u64 << 40},
        ]);
        assert_eq!(read, expected);
    }

    #[test]
    fn a_copied_table_reads_as_on_the_screen() {
        let text = "Function\tImpacting Size\tAlloc/Commit Time\tProcessor\n=a.exe!f<\"x\", y>\t\u{2212}1.50 KB\t0.500000 s\t76.3 %\n  b\u{fffd}\u{e4}\t+1.00 TB\t\u{2014}\t";
        assert_eq!(written(Format::Text), text);
    }
}
