//! A page for a browser that shows what the window shows: the graph, the findings and the tables in sight.

use std::io::{self, Write};
use std::sync::Arc;

use crate::app::base::table::{TableSource, Value};
use crate::export::html::{Cell, Column, Line, Page, Table, write};

/// Largest number of lines of a table: nobody reads more of them, and the page stays small.
const LINES: usize = 1000;

/// The contents of the window when the page was asked for. The tables are made into text when the page is written.
pub struct SharedPage {
    /// Everything but the tables in sight.
    pub page: Page,
    /// The tables in sight.
    pub tables: Vec<Arc<dyn TableSource>>,
}

impl std::fmt::Debug for SharedPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedPage").field("title", &self.page.title).finish_non_exhaustive()
    }
}

impl SharedPage {
    /// Writes the page.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let tables = self.tables.iter().map(|table| of_source(&**table)).chain(self.page.tables.iter().cloned()).collect();
        write(&Page { tables, ..self.page.clone() }, out)
    }
}

/// The part of a page that stands for a view of which nothing can be shown, as one that is still being computed.
pub fn left_out(title: &str) -> Table {
    let if_empty = format!("{title} is not part of this page.");
    Table { title: title.to_owned(), if_empty, columns: Vec::new(), lines: Vec::new(), left_out: 0 }
}

/// The first lines of a table as text.
fn of_source(source: &dyn TableSource) -> Table {
    let shown = source.len().min(LINES);
    let lines: Vec<(usize, Vec<Value>)> = (0..shown).map(|row| source.line(row)).collect();
    let is_number = |at: usize| {
        let values = lines.iter().filter_map(|(_, values)| values.get(at));
        values.clone().any(|value| !matches!(value, Value::Nothing | Value::Awaited | Value::Later))
            && values.into_iter().all(|value| !matches!(value, Value::Text(_)))
    };
    let columns = source.columns().into_iter().enumerate();
    let columns = columns.map(|(at, name)| Column { name: name.to_owned(), is_number: is_number(at) }).collect();
    let line = |(depth, values): &(usize, Vec<Value>)| Line {
        depth: u8::try_from(*depth).unwrap_or(u8::MAX),
        cells: values.iter().map(cell).collect(),
        notes: Vec::new(),
    };
    Table {
        title: source.title().to_owned(),
        if_empty: "Nothing to show.".to_owned(),
        columns,
        lines: lines.iter().map(line).collect(),
        left_out: (source.len() - shown) as u64,
    }
}

fn cell(value: &Value) -> Cell {
    let share = if let Value::Part(share) = value { Some(*share) } else { None };
    Cell { text: value.to_string(), share }
}
