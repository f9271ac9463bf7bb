//! The contents of the table that are asked for.

use std::sync::Arc;

use super::{Sort, Trimmed};
use crate::names::Names;
use crate::query::{Filter, Fold, Mask, Path, Words};
use crate::tables::KeyedMap;

/// The contents of the table.
#[derive(Clone, Debug, Default)]
pub struct TreeRequest {
    /// The rows to show.
    pub filter: Filter,
    /// Text of a search: only lines with it in their name, or in the name of a node above or below, in any case.
    pub search: String,
    /// Sort order.
    pub sort: Sort,
    /// Names of frames; frames without a name are shown by address.
    pub names: Arc<Names>,
    /// The frames that are folded away. With [`Fold::Foreign`] they form one line, below the frame that has their
    /// bytes.
    pub fold: Fold,
    /// The sites in the order that folding gives them, if kept from an earlier request with the same names; computed if
    /// absent.
    pub trimmed: Option<Arc<Trimmed>>,
    /// An additional selection of sites, for example those of one allocated type.
    pub only: Option<Arc<Mask>>,
    /// Nodes that the user opened (true) or closed (false).
    pub toggled: Arc<KeyedMap<Path, bool>>,
    /// Whether a frame with one child and no allocations of its own shares the child's line; likewise an impacting type
    /// with its only lifetime class.
    pub chains: bool,
    /// Whether the levels of types are left out at an instant, where only one class has rows: a heap, or the commit of a
    /// process, shares the line of its only class.
    pub joins_at_instants: bool,
    /// The vocabulary for lifetime classes.
    pub words: Words,
    /// Positions of the lines above the frames, for lines that must keep them (see [`Tree::order`](super::Tree::order)).
    pub held: Arc<KeyedMap<Path, u32>>,
}
