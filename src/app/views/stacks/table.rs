//! The open rows of the tree, as a worker has made them.

use std::sync::Arc;

use crate::app::views::node_details::NodeDetails;
use crate::app::widgets::columns::Wholes;
use crate::model::Trace;
use crate::query::{Path, SourceLine, TouchedBytes, TouchedLines, Tree, TreeRow};
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::Interval;

/// The open rows of the tree. A growing trace can be newer than they are.
pub struct Table {
    pub interval: Interval,
    pub trace: Arc<Trace>,
    pub tree: Arc<Tree>,
    /// Positions of the rows above the frames.
    pub order: Arc<KeyedMap<Path, u32>>,
    /// Peak sizes of the nodes, as far as they are known.
    pub peaks: Vec<Option<u64>>,
    /// Touched bytes of commit, once they are computed, if the trace shows any.
    pub touched: Option<TouchedLines>,
    /// Totals of the sort column per layer, for the share that each row has.
    pub wholes: Wholes,
    /// Number of frames that end in the interval, if there are any.
    pub frames: Option<u64>,
    /// The search text that `found` is about.
    pub search: String,
    /// The first row with the search text in its name.
    pub found: Option<usize>,
    /// The rows of frames that have the name of another row below the same one.
    pub ambiguous: KeyedSet<usize>,
    /// The details of the requested node, once they are computed.
    pub details: Option<NodeDetails>,
}

impl Table {
    /// The line, or else the offset in the module, of a row that has the name of another one beside it.
    pub fn place(&self, index: usize) -> Option<String> {
        let (frame, level) = self.tree.frame(&self.trace, index).filter(|_| self.ambiguous.contains(&index))?;
        let offset = || Some(format!("+{:#x}", frame.address() - frame.module()?.base));
        SourceLine::of(&frame, level).map(|source| source.short()).or_else(offset)
    }

    /// The touched bytes of a row; `None` until they are computed.
    pub fn touched(&self, index: usize) -> Option<Option<TouchedBytes>> {
        self.touched.as_ref().map(|touched| touched.of(&self.tree, index))
    }

    /// A row with its texts and numbers.
    pub fn row(&self, index: usize) -> Option<TreeRow> {
        self.tree.row(&self.trace, index)
    }
}
