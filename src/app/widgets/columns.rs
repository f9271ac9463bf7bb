//! Titles and explanations of the tables' columns, and the format of their numbers: the same in every view.

use eframe::egui;

use super::list::{ListColumn, Share, Value, widest};
use crate::app::base::table::{Head, SavedSort, SortKey};
use crate::app::base::theme;
use crate::app::state::settings::Settings;
use crate::format;
use crate::model::Trace;
use crate::query::{ByClass, Column, LifetimeClass, Numbers, Sort, TouchedBytes, layer_label, shows_touches};
use crate::units::{Interval, Layer};

/// Width of the column of source files, in points.
const SOURCE: f32 = 140.0;

/// Header of a column, in WPA's words where it has them.
pub const fn title(column: Column) -> &'static str {
    match column {
        Column::Name => "Process / Heap / Type / Stack",
        Column::Count => "Count",
        Column::Size => "Size",
        Column::Impacting => "Impacting Size",
        Column::OutstandingFrom => "At Start",
        Column::OutstandingTo => "At End",
        Column::Peak => "Peak",
        Column::Touched => "Touched",
        Column::Source => "Source",
        Column::AllocationsPerFrame => "Allocations/frame",
        Column::BytesPerFrame => "Bytes/frame",
        Column::AllocTime => "Alloc/Commit Time",
        Column::FreeTime => "Free/Decommit Time",
        Column::Address => "Address",
        Column::Thread => "Thread",
    }
}

/// The meaning of a column.
pub const fn explanation(column: Column) -> &'static str {
    match column {
        Column::Name => {
            "Process, memory layer, heap or tracker, Impacting Type and Type (lifetime class), call stack from the outermost frame, single allocations"
        }
        Column::Count => "Allocations that were alive at any time in the interval",
        Column::Size => "Total bytes of these allocations, however short-lived (requested bytes in heaps)",
        Column::Impacting => {
            "Change of the outstanding size in the interval: bytes allocated in it and not freed, minus bytes freed in it that were there before"
        }
        Column::OutstandingFrom => "Bytes alive at the start of the interval",
        Column::OutstandingTo => "Bytes alive at the end of the interval",
        Column::Peak => "Largest outstanding size in the interval",
        Column::Touched => {
            "Touched part of the commit: bytes of pages that were committed in the trace, are so at the end of the interval, and have been accessed since (by recorded page faults)"
        }
        Column::Source => "Source file and line of the call",
        Column::AllocationsPerFrame => {
            "Allocations in the interval, divided by the frames that end in it (of the swap chain of the lane of frames)"
        }
        Column::BytesPerFrame => "Bytes allocated in the interval, divided by the frames that end in it",
        Column::AllocTime => "Time of the allocation or commit, since the trace start",
        Column::FreeTime => "Time of the free or decommit; \u{2014} if never",
        Column::Address => "Address of the first byte",
        Column::Thread => "Thread that allocated",
    }
}

/// A column as one of a list.
pub const fn list_column(column: Column) -> ListColumn {
    let (title, hint) = (title(column), explanation(column));
    ListColumn::number(
        title,
        hint,
        match column {
            Column::Name => return ListColumn::tree(title, hint),
            Column::Source => return ListColumn::text(title, hint, SOURCE),
            Column::Count => widest::COUNT,
            Column::Impacting => widest::CHANGE,
            Column::Size
            | Column::OutstandingFrom
            | Column::OutstandingTo
            | Column::Peak
            | Column::Touched
            | Column::BytesPerFrame => widest::BYTES,
            Column::AllocationsPerFrame => widest::COUNT,
            Column::AllocTime | Column::FreeTime => widest::MOMENT,
            Column::Address => widest::ADDRESS,
            Column::Thread => widest::THREAD,
        },
    )
}

impl Head for Column {
    fn head(self) -> ListColumn {
        list_column(self)
    }
}

impl SortKey for Column {
    fn names() -> impl IntoIterator<Item = (Self, &'static str)> {
        Self::ALL.into_iter().map(|column| (column, column.id()))
    }
}

/// The order of a table with these columns, for a file.
pub fn saved(sort: Sort) -> Option<SavedSort> {
    SavedSort::new(sort.column, sort.descending)
}

/// The order of a file, if the table has the column.
pub fn restored(order: Option<&SavedSort>, has: impl Fn(Column) -> bool) -> Option<Sort> {
    let order = order?;
    order.key().filter(|column| has(*column)).map(|column| Sort { column, descending: order.descending })
}

/// A value that is computed after all others, and not while the trace grows.
pub fn late(value: Value, trace: &Trace) -> Value {
    if value == Value::Awaited && !trace.complete { Value::Later } else { value }
}

/// The value of a cell with a number. The peak and the number of frames are passed separately, if they are known.
pub fn value(column: Column, n: &Numbers, peak: Option<u64>, frames: Option<u64>) -> Value {
    let average = |sum: u64| frames.filter(|&frames| frames > 0).map(|frames| sum as f64 / frames as f64);
    match column {
        Column::Count => Value::Count(n.count),
        Column::Size => Value::Bytes(n.size),
        Column::Impacting => Value::Change(n.impacting),
        Column::OutstandingFrom => Value::Bytes(n.outstanding_from),
        Column::OutstandingTo => Value::Bytes(n.outstanding_to),
        Column::Peak => peak.map_or(Value::Awaited, Value::Bytes),
        Column::AllocationsPerFrame => average(n.allocated.count).map_or(Value::Nothing, Value::Average),
        Column::BytesPerFrame => average(n.allocated.size).map_or(Value::Nothing, |bytes| Value::Bytes(bytes.round() as u64)),
        Column::Name
        | Column::Touched
        | Column::Source
        | Column::AllocTime
        | Column::FreeTime
        | Column::Address
        | Column::Thread => Value::Nothing,
    }
}

/// The value of a cell with touched bytes of commit; `bytes` is `None` until they are computed.
pub fn touched(bytes: Option<Option<TouchedBytes>>, trace: &Trace) -> Value {
    match bytes {
        Some(bytes) => bytes.map_or(Value::Nothing, |bytes| Value::Bytes(bytes.touched)),
        None if shows_touches(trace) => late(Value::Awaited, trace),
        None => Value::Nothing,
    }
}

/// The touched share of what a line committed.
pub fn touched_share(bytes: TouchedBytes) -> Option<Share> {
    let committed = format::bytes(bytes.committed);
    Share::of(bytes.touched, bytes.committed, format!("{committed} of this line that were committed in the trace"))
}

/// The columns that a table of a trace can have: touched bytes only where the trace shows any.
pub fn all(trace: &Trace) -> impl Iterator<Item = Column> {
    let has_touched = shows_touches(trace);
    Column::ALL.into_iter().filter(move |column| has_touched || *column != Column::Touched)
}

/// Whether a trace has numbers for a column. Averages need `frames`.
pub fn has_numbers(column: Column, trace: &Trace, frames: Option<u64>) -> bool {
    match column {
        Column::AllocationsPerFrame | Column::BytesPerFrame => frames.is_some(),
        Column::Touched => shows_touches(trace),
        _ => true,
    }
}

/// Whether a table of an interval shows a column. The size alive at an instant is always shown.
pub fn is_shown(column: Column, interval: Interval, settings: &Settings) -> bool {
    let is_needed = interval.is_empty() && column == Column::OutstandingTo;
    is_needed || (settings.shows(column) && column.says_something(interval))
}

/// The title of a column for an interval. At an instant the tree has no level of lifetime classes.
pub fn title_at(column: Column, interval: Interval) -> &'static str {
    if column == Column::Name && interval.is_empty() { "Process / Heap / Stack" } else { title(column) }
}

/// The numbers of a line in words; at an instant only what is alive.
pub fn in_words(n: &Numbers, interval: Interval) -> String {
    let count = format::count(n.count);
    if interval.is_empty() {
        return format!("count {count}, {} alive", format::bytes(n.outstanding_to));
    }
    format!("count {count}, size {}, impacting size {}", format::bytes(n.size), format::signed_bytes(n.impacting))
}

/// The whole of which a change is a share: growth and what was given back do not cancel out in it.
pub fn all_change(layer: Layer) -> String {
    format!("all change in {}, growth and what was given back together", layer_label(layer))
}

/// The totals of each layer, of which numbers are shares; layers are never added.
#[derive(Clone, Debug, Default)]
pub struct Wholes([u64; Layer::ALL.len()]);

impl Wholes {
    pub fn add(&mut self, layer: Layer, number: u64) {
        let sum = &mut self.0[layer as usize];
        *sum = sum.saturating_add(number);
    }

    /// Adds the change of some rows: what they grew by and what they gave back, by their magnitude.
    pub fn add_change(&mut self, layer: Layer, sums: &ByClass) {
        for class in [LifetimeClass::Aifo, LifetimeClass::Aofi] {
            self.add(layer, sums.get(class).size);
        }
    }

    pub fn of(&self, layer: Layer) -> u64 {
        self.0[layer as usize]
    }
}

/// Colour of a change in a text.
pub fn number_color(change: i64, visuals: &egui::Visuals) -> egui::Color32 {
    theme::change(change, visuals).unwrap_or(visuals.text_color())
}
