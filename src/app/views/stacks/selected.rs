//! The selected row of the table. The user selects a node; its index is looked up once for each table, not in every frame.

use super::table::Table;
use crate::query::Path;

/// The selected node, and its row in the latest table.
#[derive(Clone, Debug, Default)]
pub struct SelectedLine {
    path: Option<Path>,
    /// Its row in the latest table, if it is there.
    index: Option<usize>,
    /// Whether the row is to be scrolled into view.
    reveal: bool,
    /// Whether the first match of the search is to be selected as soon as it is known.
    awaits_search: bool,
    /// Whether the row is to be scrolled into view as soon as a table contains it.
    awaits_line: bool,
}

impl SelectedLine {
    /// The path of the selected node.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_ref()
    }

    /// Its row in the table; `None` if the table does not contain it.
    pub fn index(&self) -> Option<usize> {
        self.index
    }

    /// Whether the row is to be scrolled into view; resets the flag.
    pub fn take_reveal(&mut self) -> bool {
        std::mem::take(&mut self.reveal)
    }

    /// Selects a node, or clears the selection.
    pub fn select(&mut self, path: Option<Path>, table: Option<&Table>) {
        (self.path, self.awaits_search, self.awaits_line) = (path, false, false);
        self.find(table);
    }

    /// Selects a node that the next table is expected to contain.
    pub fn await_line(&mut self, path: Path, table: Option<&Table>) {
        self.select(Some(path), table);
        self.awaits_line = true;
    }

    /// Replaces the path of the node: its keys have changed, or it is gone.
    pub fn rename(&mut self, path: Option<Path>, table: Option<&Table>) {
        self.path = path;
        self.find(table);
    }

    /// Selects the row that is `by` rows below the selected one.
    pub fn step(&mut self, by: i64, table: Option<&Table>) {
        let last = table.map_or(0, |table| table.tree.len()).saturating_sub(1) as i64;
        let to = self.index.map_or(0, |index| (index as i64).saturating_add(by).clamp(0, last) as usize);
        self.go_to(to, table);
    }

    /// Selects the first match of a search, and nothing until it is known: the previous selection has nothing
    /// to do with the search.
    pub fn seek(&mut self, search: &str, table: Option<&Table>) {
        self.select(None, table);
        self.awaits_search = true;
        self.look(search, table);
    }

    /// Stops waiting for a match: the search text has changed.
    pub fn stop_seeking(&mut self) {
        self.awaits_search = false;
    }

    /// Takes a new table; `search` is the current search text.
    pub fn look(&mut self, search: &str, table: Option<&Table>) {
        match table.filter(|table| self.awaits_search && table.search == search) {
            Some(Table { found: Some(found), .. }) => self.go_to(*found, table),
            Some(_) => self.awaits_search = false,
            None => self.find(table),
        }
        if self.awaits_line && self.index.is_some() {
            (self.reveal, self.awaits_line) = (true, false);
        }
    }

    fn go_to(&mut self, index: usize, table: Option<&Table>) {
        self.path = table.and_then(|table| table.tree.path(index));
        self.index = self.path.as_ref().map(|_| index);
        (self.reveal, self.awaits_search) = (true, false);
    }

    fn find(&mut self, table: Option<&Table>) {
        self.index = self.path.as_ref().zip(table).and_then(|(path, table)| table.tree.find(&table.trace, path));
    }
}
