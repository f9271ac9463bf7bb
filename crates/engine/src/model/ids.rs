//! Numbers of rows, sites and nodes of stacks.

use crate::stored::stored;

/// Index of a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SiteId(pub u32);

stored!(number SiteId);

/// Index of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowId(pub u32);

stored!(number RowId);

/// A node of the trie: a frame and all frames around it. [`NodeId::ROOT`] is "no stack".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

stored!(number NodeId);

impl NodeId {
    /// No frame at all.
    pub const ROOT: Self = Self(0);
}
