//! The table of models.

use std::borrow::Borrow;
use std::sync::Arc;

use super::About;
use crate::app::base::table::{FlatTable, TypedColumn};
use crate::app::widgets::list::{ColumnOf, List, ListColumn, Name, Share, Style, Value, widest};
use crate::model::{Clock, Trace};
use crate::query::{ModelNumbers, layer_label, pool_sentence};

/// The models of a question.
pub struct ModelTable {
    pub(super) about: About,
    clock: Clock,
    pub(super) lines: Vec<Line>,
    /// A sentence on the best pool, for each layer that has one.
    pub(super) sentences: Vec<String>,
    /// Why the numbers of arenas say little, if they do.
    pub(super) doubt: Option<&'static str>,
}

/// A model.
pub struct Line {
    name: String,
    is_recorded: bool,
    numbers: ModelNumbers,
    /// Bytes of its peak less those of the recorded peak.
    difference: i64,
    /// The largest peak of its layer.
    largest: u64,
}

/// The column with bars.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Special {
    Peak,
}

impl ModelTable {
    pub(super) fn new(about: About, trace: &Trace, models: &[ModelNumbers]) -> Self {
        let (request, mut lines) = (about.request, Vec::with_capacity(models.len()));
        let mut sentences = Vec::new();
        for layer in models.chunk_by(|a, b| a.layer == b.layer) {
            let peaks = || layer.iter().map(|of| of.peak_touched_bytes);
            let (recorded, largest) = (peaks().next().unwrap_or(0), peaks().max().unwrap_or(0));
            sentences.extend(pool_sentence(layer, request));
            lines.extend(layer.iter().enumerate().map(|(i, of)| Line {
                name: of.model.name(request) + if of.model.is_approximate() { " (approximate)" } else { "" },
                is_recorded: i == 0,
                numbers: of.clone(),
                difference: change(recorded, of.peak_touched_bytes),
                largest,
            }));
        }
        Self { about, clock: trace.clock, lines, sentences, doubt: request.doubt(trace) }
    }
}

/// Returns `to` minus `from`, at most as much as fits.
fn change(from: u64, to: u64) -> i64 {
    let larger = i64::try_from(from.abs_diff(to)).unwrap_or(i64::MAX);
    if to >= from { larger } else { -larger }
}

impl FlatTable for ModelTable {
    const TITLE: &'static str = "What if";
    type Line = Line;
    type Key = Special;
    const COLUMNS: &'static [TypedColumn<Self, Line, Special>] = &[
        ListColumn::rest(
            "Model",
            "The allocator that serves the recorded requests; approximate: its rules are only roughly known",
        )
        .of(|_, line| Value::text(&line.name)),
        ListColumn::text("Layer", "Windows NT heaps or custom trackers", 150.0)
            .of(|_, line| Value::text(layer_label(line.numbers.layer))),
        ListColumn::number(
            "Peak touched",
            "Bytes of the pages of 4 KB in which a live block has a byte, of all processes together, when they are most",
            widest::BYTES,
        )
        .by(Special::Peak, |_, line| Value::Bytes(line.numbers.peak_touched_bytes)),
        ListColumn::number("Difference", "Difference of the peak to that of what was recorded", widest::CHANGE)
            .of(|_, line| if line.is_recorded { Value::Nothing } else { Value::Change(line.difference) }),
        ListColumn::number("Waste", "Bytes of these pages outside of live blocks", widest::BYTES)
            .of(|_, line| Value::Bytes(line.numbers.waste)),
        ListColumn::number(
            "Pinned pages",
            "Such pages less than a tenth in use, by blocks of one responsible caller",
            widest::COUNT,
        )
        .of(|_, line| Value::Count(line.numbers.pinned)),
        ListColumn::number("At", "When the touched pages are most", widest::MOMENT)
            .of(|table, line| Value::moment(line.numbers.at, &table.clock)),
    ];

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn line(&self, row: usize) -> Option<impl Borrow<Line>> {
        self.lines.get(row)
    }
}

/// The table, while it is drawn.
pub struct Lines<'a>(pub &'a Arc<ModelTable>);

impl List<ModelTable> for Lines<'_> {
    fn name<'n>(&'n self, row: usize, text: &'n str) -> Name<'n> {
        let is_recorded = self.0.lines.get(row).is_some_and(|line| line.is_recorded);
        Name::new(text, if is_recorded { Style::Strong } else { Style::Plain })
    }

    fn has_bars(&self, column: ColumnOf<ModelTable>) -> bool {
        column.key == Some(Special::Peak)
    }

    fn share(&self, row: usize, column: ColumnOf<ModelTable>) -> Option<Share> {
        let line = self.0.lines.get(row).filter(|_| self.has_bars(column))?;
        let whole = format!("the largest peak in {}", layer_label(line.numbers.layer));
        Share::of(line.numbers.peak_touched_bytes, line.largest, whole)
    }
}
