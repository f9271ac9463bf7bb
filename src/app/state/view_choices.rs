//! The user's choices in a view, as an investigation keeps them: order, search, grouping, layer, opened lines of trees, the
//! selected row, the part of a flame graph, and the sides of a comparison.

use std::sync::Arc;

use crate::app::base::table::SavedSort;
use crate::query::Path;
use crate::units::{Interval, Layer};

/// The choices in one view. Those that it does not have are empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ViewChoices {
    /// The order of the table, if the user can change it.
    pub order: Option<SavedSort>,
    /// The text in the search field.
    pub search: String,
    /// The kind of lines, by the name that it has in files; `None` if it is the usual one.
    pub grouping: Option<String>,
    /// The layer, if the user chose one.
    pub layer: Option<Layer>,
    /// The lines of trees that the user opened or closed, in any order.
    pub nodes: Vec<OpenedNode>,
    /// The selected row.
    pub selected: Option<NodePlace>,
    /// The function between its callers and callees, if the view shows one.
    pub middle: Option<Arc<str>>,
    /// Whether details stand beside the table, if the user chose.
    pub details: Option<bool>,
    /// The number that makes boxes of a flame graph wide, by the name that it has in files; `None` if it is the usual one.
    pub weight: Option<String>,
    /// The direction of a flame graph and its focus, by names; `None` if the whole of it is shown top-down.
    pub focus: Option<NodePlace>,
    /// The parts of the trace that are compared, if the user chose them.
    pub sides: Option<SidesChoice>,
    /// Whether the user swapped the two traces of a comparison.
    pub is_swapped: bool,
}

/// A line of a tree that the user opened or closed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenedNode {
    pub place: NodePlace,
    pub is_open: bool,
}

/// The place of a line in a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodePlace {
    /// A node of the tree of processes, layers, heaps, stacks and single allocations.
    Path(Path),
    /// A node of a call tree, by the names of functions on the path to it, outermost first. If it is open, so is all above it.
    Names { is_inverted: bool, names: Arc<[Arc<str>]> },
    /// A mark, by its index in the list of the trace.
    Mark(usize),
}

/// The source of the parts of one trace that are compared, A and B.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SidesChoice {
    /// The time before the selection, and the selection.
    Selection,
    /// The halves of the view.
    Halves,
    /// The intervals between the first three marks.
    Marks,
    /// Intervals that the user has set.
    Own([Interval; 2]),
}
