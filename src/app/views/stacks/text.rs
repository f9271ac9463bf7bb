//! What stands in the cells, and what is copied of them.

use super::Table;
use crate::app::panels::columns::title;
use crate::format;
use crate::query::{Column, TreeRow, thread_label};
use crate::units::Ticks;

/// The text of a cell.
pub fn of_cell(table: &Table, row: &TreeRow, index: usize, column: Column) -> String {
    if row.mixes_layers && column != Column::Name {
        return String::new();
    }
    let n = &row.numbers;
    let trace = &table.trace;
    match column {
        Column::Name => row.label.clone(),
        Column::Count => format::count(n.count),
        Column::Size => format::bytes(n.size),
        Column::Impacting => format::signed_bytes(n.impacting),
        Column::OutstandingFrom => format::bytes(n.outstanding_from),
        Column::OutstandingTo => format::bytes(n.outstanding_to),
        Column::Peak => {
            let peak = table.tree.peak(trace, &table.peaks, index);
            peak.map_or_else(|| "\u{2026}".to_owned(), format::bytes)
        }
        Column::AllocTime | Column::FreeTime | Column::Address | Column::Thread => {
            let Some((_, allocation)) = &row.allocation else { return String::new() };
            let time = |t: Ticks| format::moment(t, trace.clock.seconds(t));
            match column {
                Column::AllocTime => time(allocation.birth),
                Column::FreeTime => time(allocation.death),
                Column::Address => format!("{:#x}", allocation.address),
                _ => {
                    let site = trace.site(allocation.site);
                    thread_label(trace, site.caller, allocation.thread)
                }
            }
        }
    }
}

/// One line with all columns, separated by tabs.
pub fn of_line(table: &Table, row: &TreeRow, index: usize) -> String {
    Column::ALL.map(|column| of_cell(table, row, index, column)).join("\t")
}

/// The whole table with its header, for a spreadsheet.
pub fn of_table(table: &Table) -> String {
    let mut text = Column::ALL.map(title).join("\t");
    for (index, row) in table.tree.rows(&table.trace).enumerate() {
        text.push('\n');
        text.push_str(&"  ".repeat(row.depth));
        text.push_str(&of_line(table, &row, index));
    }
    text
}

/// The selected line in one sentence; nothing where its numbers would mix layers.
pub fn of_selected(row: &TreeRow) -> Option<String> {
    let n = &row.numbers;
    (!row.mixes_layers).then(|| {
        format!(
            "{}: count {}, size {}, impacting size {}",
            row.label,
            format::count(n.count),
            format::bytes(n.size),
            format::signed_bytes(n.impacting)
        )
    })
}
