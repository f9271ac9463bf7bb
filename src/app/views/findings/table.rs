//! The findings as a table, for copies and exports.

use std::borrow::Borrow;
use std::sync::Arc;

use crate::app::base::table::{FlatTable, ListColumn, TypedColumn, Value, widest};
use crate::model::Trace;
use crate::query::Finding;
use crate::units::Ticks;

/// The reported findings of a trace.
pub(super) struct Reported {
    trace: Arc<Trace>,
    list: Vec<Finding>,
}

impl Reported {
    pub(super) fn of(trace: &Arc<Trace>, list: &[Finding]) -> Self {
        Self { trace: Arc::clone(trace), list: list.to_vec() }
    }

    fn at(&self, at: Ticks) -> Value {
        Value::moment(at, &self.trace.clock)
    }
}

type Column = TypedColumn<Reported, Finding>;

static COLUMNS: [Column; 11] = [
    ListColumn::rest("Finding", "").of(|_, finding| Value::text(&finding.text)),
    ListColumn::text("Kind", "", 80.0).of(|_, finding| Value::text(finding.kind.name())),
    ListColumn::text("Habit", "", 80.0).of(|_, finding| finding.habit.map_or(Value::Nothing, |habit| Value::text(habit.name()))),
    ListColumn::text("Process", "", 120.0).of(|table: &Reported, finding| Value::Text(table.trace.process_name(finding.process))),
    ListColumn::text("Layer", "", 80.0).of(|_, finding| Value::text(finding.layer.name())),
    ListColumn::text("Function", "", 200.0).of(|_, finding| finding.function.as_ref().map_or(Value::Nothing, Value::text)),
    ListColumn::text("Source", "", 120.0)
        .of(|_, finding| finding.source.as_ref().map_or(Value::Nothing, |line| Value::Text(line.to_string()))),
    ListColumn::number("From", "", widest::MOMENT).of(|table: &Reported, finding| table.at(finding.interval.from)),
    ListColumn::number("To", "", widest::MOMENT).of(|table: &Reported, finding| table.at(finding.interval.to)),
    ListColumn::number("Bytes", "", widest::BYTES).of(|_, finding| Value::Bytes(finding.bytes)),
    ListColumn::number("Count", "", widest::COUNT).of(|_, finding| Value::Count(finding.count)),
];

impl FlatTable for Reported {
    const TITLE: &'static str = "Findings";
    type Line = Finding;
    type Key = ();
    const COLUMNS: &'static [Column] = &COLUMNS;

    fn len(&self) -> usize {
        self.list.len()
    }

    fn line(&self, row: usize) -> Option<impl Borrow<Finding>> {
        self.list.get(row)
    }
}
