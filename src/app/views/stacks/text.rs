//! The texts of the cells and of copied rows.

use super::table::Table;
use crate::app::base::table::TypedTable;
use crate::app::widgets::columns::{all, in_words, late, touched, value};
use crate::app::widgets::list::Value;
use crate::format;
use crate::model::{Row, Trace};
use crate::query::{Column, Key, SourceLine, TreeRow, thread_label};
use crate::units::{Layer, Ticks};

/// The layer of a row below a process.
pub fn layer(row: &TreeRow) -> Option<Layer> {
    row.path.iter().find_map(|key| if let Key::Layer(layer) = key { Some(*layer) } else { None })
}

/// The value of a cell.
pub fn of_cell(table: &Table, row: &TreeRow, index: usize, column: Column) -> Value {
    if row.mixes_layers && column != Column::Name {
        return Value::Nothing;
    }
    let trace = &table.trace;
    match column {
        Column::Name => match table.place(index) {
            Some(place) => Value::Text(format!("{}  {place}", row.label)),
            None => Value::text(&row.label),
        },
        Column::Touched if layer(row).is_some_and(|layer| layer != Layer::Commit) => Value::Nothing,
        Column::Touched => touched(table.touched(index), trace),
        Column::Source => {
            let source = table.tree.frame(trace, index).and_then(|(frame, level)| SourceLine::of(&frame, level));
            source.map_or(Value::Nothing, |source| Value::Text(source.short()))
        }
        Column::AllocTime | Column::FreeTime | Column::Address | Column::Thread => {
            let Some((_, allocation)) = &row.allocation else { return Value::Nothing };
            let time = |t: Ticks| Value::Moment(t, trace.clock.seconds(t));
            match column {
                Column::AllocTime => time(allocation.birth),
                Column::FreeTime => time(allocation.death),
                Column::Address => Value::Address(allocation.address),
                _ => {
                    let site = trace.site(allocation.site);
                    Value::Text(thread_label(trace, site.caller, allocation.thread))
                }
            }
        }
        _ => late(value(column, &row.numbers, table.tree.peak(trace, &table.peaks, index), table.frames), trace),
    }
}

/// The lifetime of a block and the thread that allocated it.
pub fn of_life(trace: &Trace, row: &Row) -> String {
    let time = |t: Ticks| format::moment(t, trace.clock.seconds(t));
    let until = if row.death == Ticks::NEVER { "never freed".to_owned() } else { format!("to {}", time(row.death)) };
    match thread_label(trace, trace.site(row.site).caller, row.thread) {
        thread if thread.is_empty() => format!("{} {until}", time(row.birth)),
        thread => format!("{} {until}, thread {thread}", time(row.birth)),
    }
}

/// A row with all its columns, separated by tabs.
pub fn of_line(table: &Table, row: &TreeRow, index: usize) -> String {
    let cells: Vec<String> = all(&table.trace).map(|column| of_cell(table, row, index, column).to_string()).collect();
    cells.join("\t")
}

/// The selected row in one sentence; `None` if its numbers would mix layers.
pub fn of_selected(table: &Table, index: usize) -> Option<String> {
    let row = table.row(index)?;
    let innermost = table.tree.shared_frames(&table.trace, index).pop();
    let numbers = in_words(&row.numbers, table.interval);
    (!row.mixes_layers).then(|| format!("{}: {numbers}", innermost.unwrap_or(row.label)))
}

impl TypedTable for Table {
    type Column = Column;

    fn title(&self) -> &'static str {
        "Stacks"
    }

    fn columns(&self) -> impl IntoIterator<Item = Column> {
        all(&self.trace)
    }

    fn len(&self) -> usize {
        self.tree.len()
    }

    fn value(&self, row: usize, column: Column) -> Value {
        self.row(row).map_or(Value::Nothing, |line| of_cell(self, &line, row, column))
    }

    fn depth(&self, row: usize) -> usize {
        self.row(row).map_or(0, |line| line.depth)
    }

    fn line(&self, row: usize) -> (usize, Vec<Value>) {
        // Makes the row once for all its cells.
        let Some(line) = self.row(row) else { return (0, Vec::new()) };
        (line.depth, all(&self.trace).map(|column| of_cell(self, &line, row, column)).collect())
    }

    fn is_tree(&self) -> bool {
        true
    }
}
