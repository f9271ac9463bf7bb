//! Names by which the parts of the window refer to each other.

use std::sync::Arc;

use crate::model::HeapId;
use crate::query::Words;
use crate::units::Layer;

/// Makes the enum of views from their list.
macro_rules! views {
    ($($view:ident, $key:literal, $subject:ident, $questions:literal;)*) => {
        /// A view: a table or chart below the graph.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ViewId {
            $($view),*
        }

        impl ViewId {
            /// All views, in the order of their tabs.
            pub const ALL: [Self; [$($key),*].len()] = [$(Self::$view),*];

            /// The name in saved layouts and settings. It never changes, whatever the tab's caption is.
            pub fn key(self) -> &'static str {
                match self {
                    $(Self::$view => $key),*
                }
            }

            /// The events that it is about.
            fn subject(self) -> Subject {
                match self {
                    $(Self::$view => Subject::$subject),*
                }
            }

            /// The words of questions that it answers, under which the palette finds its tab.
            fn questions(self) -> &'static str {
                match self {
                    $(Self::$view => $questions),*
                }
            }
        }
    };
}

/// The events that a tab is about: it is dimmed where a trace has none of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// It has something to say of every trace.
    AnyTrace,
    Allocations,
    FreeStacks,
    UnmatchedFrees,
    Frames,
    Marks,
    Samples,
}

/// Number of views whose tabs always have a place in a row of many tabs: the first ones. The others are behind *More*.
const MAIN: usize = 6;

// In the order of the tabs: the name in the program, the key, the subject, and the words of questions.
views! {
    Findings, "Findings", AnyTrace, "leak growth step spike peak problems summary";
    Stacks, "Stacks", Allocations, "who allocated call tree callers backtrace heap";
    Functions, "Functions", Allocations, "who allocated hot callers callees butterfly";
    Flame, "Flame", Allocations, "flame graph flamegraph icicle";
    Allocations, "Allocations", Allocations, "blocks list addresses rows";
    Compare, "Compare", AnyTrace, "diff before after baseline regression";
    Types, "Types", Allocations, "classes objects";
    FreedBy, "Freed by", FreeStacks, "who freed free deallocated";
    FreedBefore, "Freed before", UnmatchedFrees, "unmatched frees late attach earlier allocated before";
    Frames, "Frames", Frames, "fps frame times stutter hitch";
    Marks, "Marks", Marks, "events regions";
    Generations, "Generations", Allocations, "leak what stays snapshots heap diff";
    Histograms, "Histograms", Allocations, "sizes lifetimes distribution";
    AddressSpace, "Address space", Allocations, "map regions pages heaps fragmentation reserved committed virtual memory layout";
    WhatIf, "What if", Allocations, "other allocators models mimalloc jemalloc segment heap pool arena fragmentation waste";
    Processors, "Processors", Samples, "processors samples profile usage";
}

impl ViewId {
    /// The caption of its tab.
    pub fn title(self) -> &'static str {
        if self == Self::Processors { "CPU" } else { self.key() }
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

    /// Whether it always has a place in a row of many tabs; the others are behind *More*.
    pub fn is_main(self) -> bool {
        matches!(self, Self::View(view) if (view as usize) < MAIN)
    }

    /// The events that it is about.
    pub fn subject(self) -> Subject {
        match self {
            Self::View(view) => view.subject(),
            Self::Symbols | Self::Trace => Subject::AnyTrace,
        }
    }

    /// The words of questions that it answers, under which the palette finds it.
    pub fn questions(self) -> &'static str {
        match self {
            Self::View(view) => view.questions(),
            Self::Symbols => "names pdb functions missing",
            Self::Trace => "info quality problems losses providers",
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

/// A line that another tab has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    Heap(HeapId),
    Function(Layer, Arc<str>),
    Module(Layer, Arc<str>),
    Type(Layer, Arc<str>),
    Tag(Layer, Arc<str>),
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
