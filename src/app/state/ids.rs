//! Names by which the parts of the window refer to each other.

use crate::query::Words;

/// A view: a table or chart below the graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ViewId {
    Stacks,
    Findings,
    Functions,
    Flame,
    Types,
    Allocations,
    FreedBy,
    Frames,
    Marks,
    Generations,
    Histograms,
    Processors,
    Compare,
}

impl ViewId {
    /// All views, in the order of their tabs.
    pub const ALL: [Self; 13] = [
        Self::Stacks,
        Self::Findings,
        Self::Functions,
        Self::Flame,
        Self::Types,
        Self::Allocations,
        Self::FreedBy,
        Self::Frames,
        Self::Marks,
        Self::Generations,
        Self::Histograms,
        Self::Processors,
        Self::Compare,
    ];

    /// The name in saved layouts and settings. It never changes, whatever the tab's caption is.
    pub fn key(self) -> &'static str {
        match self {
            Self::Stacks => "Stacks",
            Self::Findings => "Findings",
            Self::Functions => "Functions",
            Self::Flame => "Flame",
            Self::Types => "Types",
            Self::Allocations => "Allocations",
            Self::FreedBy => "Freed by",
            Self::Frames => "Frames",
            Self::Marks => "Marks",
            Self::Generations => "Generations",
            Self::Histograms => "Histograms",
            Self::Processors => "Processors",
            Self::Compare => "Compare",
        }
    }

    /// The caption of its tab.
    pub fn title(self) -> &'static str {
        self.key() // no view has been renamed yet
    }
}

/// A tab of the lower part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tab {
    /// One of the views.
    View(ViewId),
    /// Modules and their symbols.
    Symbols,
    /// Contents of the files, and their problems.
    Trace,
}

impl Tab {
    /// All tabs, in their order.
    pub fn all() -> impl Iterator<Item = Self> {
        ViewId::ALL.into_iter().map(Self::View).chain([Self::Symbols, Self::Trace])
    }

    /// The name in saved layouts and settings, which never changes.
    pub fn key(self) -> &'static str {
        match self {
            Self::View(view) => view.key(),
            Self::Symbols => "Symbols",
            Self::Trace => "Trace",
        }
    }

    /// Its caption.
    pub fn title(self) -> &'static str {
        match self {
            Self::View(view) => view.title(),
            Self::Symbols => "Symbols",
            Self::Trace => "Trace",
        }
    }
}

/// A place to step to, from the current one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    NextMark,
    PreviousMark,
    NextFrame,
    PreviousFrame,
    /// The longest visible frame.
    WorstFrame,
    /// A mark, by its index.
    Mark(usize),
    /// A frame of the swap chain in scope, by its number.
    Frame(usize),
}

/// The wording and layout of table lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Whether chains of calls without a branch share a line.
    pub chains: bool,
    /// The words for lifetime classes.
    pub words: Words,
}

impl Default for Reading {
    fn default() -> Self {
        Self { chains: true, words: Words::Plain }
    }
}

/// Maximum number of marks in a document: more generations could not be told apart.
pub const MOST_MARKS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tab_has_a_name_of_its_own() {
        let keys: std::collections::BTreeSet<&str> = Tab::all().map(Tab::key).collect();
        assert_eq!(keys.len(), Tab::all().count());
    }
}
