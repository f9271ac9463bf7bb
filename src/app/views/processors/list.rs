//! The list of processes that ran. A click draws the flame graph of one.

use std::borrow::Borrow;
use std::sync::Arc;

use eframe::egui::Ui;

use super::{ProcessChoice, UNKNOWN};
use crate::app::base::table::{FlatTable, TypedColumn};
use crate::app::state::filters::Predicate;
use crate::app::views::ViewContext;
use crate::app::widgets::list::{self, ColumnOf, List, ListColumn, Name, Share, Style, Value, widest};
use crate::format;
use crate::model::Trace;
use crate::query::{Key, ProcessSamples};

/// Mark of the column by which the list is sorted; sorting by samples gives the same order.
type BySamples = ();

/// A row.
#[derive(Clone, Debug)]
pub struct Line {
    choice: ProcessChoice,
    name: String,
    /// Whether the trace has memory of the process, so that the views can be filtered to it.
    has_memory: bool,
    count: u64,
    seconds: f64,
    share: f64,
}

/// All rows.
#[derive(Clone, Debug)]
pub struct ProcessList {
    lines: Vec<Line>,
    /// Samples of all processes.
    pub count: u64,
}

impl ProcessList {
    /// A row for each process, after a row for all of them if there are several.
    pub fn new(trace: &Trace, by_process: Vec<ProcessSamples>) -> Self {
        let count = by_process.iter().map(|of| of.count).sum();
        let all = Line {
            choice: ProcessChoice::All,
            name: "All processes".to_owned(),
            has_memory: false,
            count,
            seconds: by_process.iter().map(|of| of.seconds).sum(),
            share: by_process.iter().map(|of| of.share).sum(),
        };
        let several = (by_process.len() > 1).then_some(all);
        let line = |of: ProcessSamples| Line {
            choice: ProcessChoice::One(of.process),
            name: of.process.map_or_else(|| UNKNOWN.to_owned(), |process| trace.process(process).label_with_id()),
            has_memory: of.process.is_some_and(|process| trace.heaps.iter().any(|heap| heap.process == process)),
            count: of.count,
            seconds: of.seconds,
            share: of.share,
        };
        Self { lines: several.into_iter().chain(by_process.into_iter().map(line)).collect(), count }
    }

    /// The name of the chosen row, with its share of a processor.
    pub fn chosen(&self, choice: ProcessChoice) -> Option<String> {
        let line = self.lines.iter().find(|line| line.choice == choice)?;
        Some(format!("{}: {} of a CPU", line.name, format::percent(line.share)))
    }

    /// All rows, with their names and shares.
    pub fn all(&self) -> impl Iterator<Item = (ProcessChoice, String)> + '_ {
        self.lines.iter().map(|line| (line.choice, format!("{}: {}", line.name, format::percent(line.share))))
    }
}

impl FlatTable for ProcessList {
    const TITLE: &'static str = "CPU";
    type Line = Line;
    type Key = BySamples;
    const COLUMNS: &'static [TypedColumn<Self, Line, BySamples>] = &[
        ListColumn::rest("Process", "The process whose threads ran; the filtered one comes first")
            .of(|_, line| Value::text(&*line.name)),
        ListColumn::number("Processor", "CPU time divided by the interval's length: 100 % is one CPU all the time", "1000.0 %")
            .by((), |_, line| Value::Part(line.share)),
        ListColumn::number("Ran for", "CPU time that its samples stand for, on all CPUs together", widest::DURATION)
            .of(|_, line| Value::Duration(line.seconds)),
        ListColumn::number("Samples", "Number of CPU samples in it", widest::COUNT).of(|_, line| Value::Count(line.count)),
    ];

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn line(&self, row: usize) -> Option<impl Borrow<Line>> {
        self.lines.get(row)
    }
}

/// Draws the list; returns the row that the user chose.
pub fn show(
    processes: &Arc<ProcessList>,
    choice: ProcessChoice,
    context: &mut ViewContext<'_>,
    ui: &mut Ui,
) -> Option<ProcessChoice> {
    let mut lines = Lines { processes, choice, did: None, context };
    let pushed = list::show(ui, "processors", processes, &mut lines);
    let did = lines.did;
    context.commands.append(pushed);
    did
}

struct Lines<'a, 'b> {
    processes: &'a Arc<ProcessList>,
    choice: ProcessChoice,
    did: Option<ProcessChoice>,
    context: &'a mut ViewContext<'b>,
}

impl List<ProcessList> for Lines<'_, '_> {
    fn share(&self, row: usize, _: ColumnOf<ProcessList>) -> Option<Share> {
        let line = self.processes.lines.get(row).filter(|line| line.choice != ProcessChoice::All)?;
        Share::of(line.count, self.processes.count, "all samples in this interval")
    }

    fn name<'n>(&'n self, row: usize, text: &'n str) -> Name<'n> {
        let is_one = matches!(self.processes.lines.get(row), Some(Line { choice: ProcessChoice::One(Some(_)), .. }));
        Name::new(text, if is_one { Style::Plain } else { Style::Weak })
    }

    fn is_selected(&self, row: usize) -> bool {
        self.processes.lines.get(row).is_some_and(|line| line.choice == self.choice)
    }

    fn clicked(&mut self, row: usize) {
        self.did = self.processes.lines.get(row).map(|line| line.choice);
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        let Some(line) = self.processes.lines.get(row) else { return };
        if ui.button("Show its flame graph").clicked() {
            self.did = Some(line.choice);
        }
        if let ProcessChoice::One(Some(process)) = line.choice
            && line.has_memory
        {
            self.context.offer_filters(ui, "memory of this process", Predicate::Under([Key::Process(process)].into()));
        }
    }

    fn sorted(&self, column: ColumnOf<ProcessList>) -> Option<bool> {
        column.key.map(|()| true)
    }
}
