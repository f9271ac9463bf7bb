//! The list of processes that ran. A click draws the flame graph of one.

use std::sync::Arc;

use eframe::egui::Ui;

use super::{UNKNOWN, Whose};
use crate::app::base::table::{FlatTable, Sheet};
use crate::app::commands::Command;
use crate::app::state::filters::Predicate;
use crate::app::views::Around;
use crate::app::widgets::list::{self, List, ListColumn, Name, Share, Style, Value, widest};
use crate::format;
use crate::model::{ProcessId, Trace};
use crate::query::{Key, ProcessSamples};

pub const COLUMNS: [ListColumn; 4] = [
    ListColumn::rest("Process", "Whose threads processors ran; that to which everything is filtered comes first"),
    ListColumn::number("Processor", "Share of one processor in the interval: more than 100 % if several ran it", "1000.0 %"),
    ListColumn::number("Ran for", "Seconds that its samples stand for, of all processors together", widest::DURATION),
    ListColumn::number("Samples", "How often a processor was found running it", widest::COUNT),
];

/// The column by which the list is sorted; sorting by samples gives the same order.
const SHARE: usize = 1;

/// A row.
#[derive(Clone, Debug)]
struct Line {
    whose: Whose,
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
            whose: Whose::All,
            name: "All processes".to_owned(),
            has_memory: false,
            count,
            seconds: by_process.iter().map(|of| of.seconds).sum(),
            share: by_process.iter().map(|of| of.share).sum(),
        };
        let several = (by_process.len() > 1).then_some(all);
        let line = |of: ProcessSamples| Line {
            whose: Whose::One(of.process),
            name: of.process.map_or_else(|| UNKNOWN.to_owned(), |process| name(trace, process)),
            has_memory: of.process.is_some_and(|process| trace.heaps.iter().any(|heap| heap.process == process)),
            count: of.count,
            seconds: of.seconds,
            share: of.share,
        };
        Self { lines: several.into_iter().chain(by_process.into_iter().map(line)).collect(), count }
    }

    /// The name of the chosen row, with its share of a processor.
    pub fn chosen(&self, whose: Whose) -> Option<String> {
        let line = self.lines.iter().find(|line| line.whose == whose)?;
        Some(format!("{}: {} of a processor", line.name, format::percent(line.share)))
    }

    /// All rows, with their names and shares.
    pub fn all(&self) -> impl Iterator<Item = (Whose, String)> + '_ {
        self.lines.iter().map(|line| (line.whose, format!("{}: {}", line.name, format::percent(line.share))))
    }
}

impl FlatTable for ProcessList {
    const TITLE: &'static str = "Processors";

    fn columns() -> impl AsRef<[ListColumn]> {
        COLUMNS
    }

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn value(&self, row: usize, column: usize) -> Value {
        let Some(line) = self.lines.get(row) else { return Value::Nothing };
        match column {
            0 => Value::text(&*line.name),
            1 => Value::Part(line.share),
            2 => Value::Duration(line.seconds),
            _ => Value::Count(line.count),
        }
    }
}

/// The name of a process with its id, because several processes can have the same name.
fn name(trace: &Trace, process: ProcessId) -> String {
    let process = trace.process(process);
    let label = process.label();
    if process.name.is_empty() { label } else { format!("{label} ({})", process.pid) }
}

/// Draws the list; returns the row that the user chose.
pub fn show(processes: &Arc<ProcessList>, whose: Whose, around: &mut Around<'_>, ui: &mut Ui) -> Option<Whose> {
    let mut lines = Lines { processes, whose, did: None, around };
    list::show(ui, "processors", &COLUMNS, processes.lines.len(), &mut lines);
    lines.did
}

struct Lines<'a, 'b> {
    processes: &'a Arc<ProcessList>,
    whose: Whose,
    did: Option<Whose>,
    around: &'a mut Around<'b>,
}

impl List for Lines<'_, '_> {
    fn value(&self, row: usize, column: usize) -> Value {
        self.processes.value(row, column)
    }

    fn share(&self, row: usize, column: usize) -> Option<Share> {
        let line = self.processes.lines.get(row).filter(|line| column == SHARE && line.whose != Whose::All)?;
        Share::of(line.count, self.processes.count)
    }

    fn whole(&self, _: usize, _: usize) -> String {
        "all samples in this interval".to_owned()
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, column: usize) {
        let Some(line) = self.processes.lines.get(row) else { return };
        let style = match line.whose {
            Whose::All | Whose::One(None) => Style::Weak,
            Whose::One(Some(_)) => Style::Plain,
        };
        match column {
            0 => _ = list::name(ui, Name::new(&line.name, style)),
            _ => list::plain(self, ui, row, column),
        }
    }

    fn is_selected(&self, row: usize) -> bool {
        self.processes.lines.get(row).is_some_and(|line| line.whose == self.whose)
    }

    fn clicked(&mut self, row: usize) {
        self.did = self.processes.lines.get(row).map(|line| line.whose);
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        let Some(line) = self.processes.lines.get(row) else { return };
        if ui.button("Draw what it ran").clicked() {
            self.did = Some(line.whose);
        }
        if let Whose::One(Some(process)) = line.whose
            && line.has_memory
        {
            self.around.offer_filters(ui, "memory of this process", Predicate::Under([Key::Process(process)].into()));
        }
    }

    fn push(&mut self, command: Command) {
        self.around.commands.push(command);
    }

    fn sheet(&self) -> Option<Arc<dyn Sheet>> {
        Some(Arc::clone(self.processes) as Arc<dyn Sheet>)
    }

    fn sorted_by(&self) -> Option<(usize, bool)> {
        Some((SHARE, true))
    }
}
