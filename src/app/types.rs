//! The allocated types: which one is chosen, how they are sorted, and their numbers.

use crate::query::{Column, Sort, TypeGroup, TypeKey};
use crate::units::Interval;

/// What is asked about types.
#[derive(Clone, PartialEq, Debug)]
pub struct TypesQuery {
    /// Whether their table is shown.
    pub is_listed: bool,
    /// What their names contain.
    pub search: String,
    /// Its order.
    pub sort: Sort,
    /// The one that everything is filtered to.
    pub chosen: Option<TypeKey>,
}

/// The table of types.
#[derive(Debug)]
pub struct TypeTable {
    pub interval: Interval,
    pub groups: Vec<TypeGroup>,
    /// Largest sizes of the groups, once they are known.
    pub peaks: Option<Vec<u64>>,
}

/// State of the types of a document.
#[derive(Debug, Default)]
pub struct Types {
    pub chosen: Option<TypeKey>,
    pub search: String,
    pub sort: Sort,
    pub table: Option<TypeTable>,
}

impl Types {
    /// Sorts by a column, or turns its order round.
    pub fn sort_by(&mut self, column: Column) {
        self.sort = self.sort.by(column);
    }

    pub fn query(&self, is_listed: bool) -> TypesQuery {
        TypesQuery { is_listed, search: self.search.clone(), sort: self.sort, chosen: self.chosen.clone() }
    }
}
