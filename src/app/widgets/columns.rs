//! Titles and explanations of the tables' columns, and the format of their numbers: the same in every view.

use eframe::egui;

use super::list::{ListColumn, Value, widest};
use crate::app::base::table::Head;
use crate::app::base::theme;
use crate::app::state::settings::Settings;
use crate::query::{Column, Numbers};
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
            "Process, layer of memory, heap or tracker, Impacting Type, Type (lifetime class), call stack from the thread's start inwards, single allocations"
        }
        Column::Count => "Allocations alive at some moment of the interval",
        Column::Size => "Their bytes in all, however short they lived (requested bytes in heaps)",
        Column::Impacting => {
            "Change of the outstanding size between the edges of the interval: what was allocated in it and stayed, minus what was freed in it and was there before"
        }
        Column::OutstandingFrom => "Outstanding size: bytes alive at the interval's left edge",
        Column::OutstandingTo => "Outstanding size: bytes alive at the interval's right edge",
        Column::Peak => "Largest outstanding size in the interval",
        Column::Source => "Source file and line of the call",
        Column::AllocationsPerFrame => {
            "Allocations in the interval, divided by the frames that end in it (of the swap chain of the lane of frames)"
        }
        Column::BytesPerFrame => "Bytes of what was allocated in the interval, divided by the frames that end in it",
        Column::AllocTime => "When a block was allocated or a range committed, since the trace start",
        Column::FreeTime => "When it was freed or decommitted; \u{2014} if never",
        Column::Address => "First byte",
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
            Column::Size | Column::OutstandingFrom | Column::OutstandingTo | Column::Peak | Column::BytesPerFrame => {
                widest::BYTES
            }
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
        Column::Name | Column::Source | Column::AllocTime | Column::FreeTime | Column::Address | Column::Thread => Value::Nothing,
    }
}

/// Whether a table of an interval shows a column. The size alive at an instant is always shown.
pub fn is_shown(column: Column, interval: Interval, settings: &Settings) -> bool {
    let is_needed = interval.is_empty() && column == Column::OutstandingTo;
    is_needed || (settings.shows(column) && column.says_something(interval))
}

/// The totals of each layer, of which numbers are shares; layers are never added.
#[derive(Clone, Debug, Default)]
pub struct Wholes([u64; Layer::ALL.len()]);

impl Wholes {
    pub fn add(&mut self, layer: Layer, number: u64) {
        let sum = &mut self.0[layer as usize];
        *sum = sum.saturating_add(number);
    }

    pub fn of(&self, layer: Layer) -> u64 {
        self.0[layer as usize]
    }
}

/// Colour of a change in a text.
pub fn number_color(change: i64, visuals: &egui::Visuals) -> egui::Color32 {
    theme::change(change, visuals).unwrap_or(visuals.text_color())
}
