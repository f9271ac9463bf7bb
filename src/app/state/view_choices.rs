//! The user's choices in a view, as an investigation keeps them: order, search, grouping, opened lines of trees, and the
//! sides of a comparison.

use std::sync::Arc;

use crate::app::base::table::SavedSort;
use crate::query::Path;
use crate::units::Interval;

/// The choices in one view. Those that it does not have are empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ViewChoices {
    /// The order of the table, if the user can change it.
    pub order: Option<SavedSort>,
    /// The text in the search field.
    pub search: String,
    /// The kind of lines, by the name that it has in files; `None` if it is the usual one.
    pub grouping: Option<String>,
    /// The lines of trees that the user opened or closed, in any order.
    pub nodes: Vec<OpenedNode>,
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
    /// A node of the tree of processes, layers, heaps and stacks.
    Path(Path),
    /// A node of a call tree, by the names of functions on the path to it, outermost first. If it is open, so is all above it.
    Names { is_inverted: bool, names: Arc<[Arc<str>]> },
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
