//! The selected line of the table. The user selects a node; where it stands is found once
//! for each table, not in every frame.

use super::Table;
use crate::query::Path;

/// See the module.
#[derive(Debug, Default)]
pub struct SelectedLine {
    path: Option<Path>,
    /// Where it stands in the latest table, if it is there.
    index: Option<usize>,
    /// Whether the line shall be scrolled into sight.
    reveal: bool,
    /// Whether the first line that the search finds shall be selected when it is known.
    awaits_search: bool,
    /// Whether the line shall be scrolled into sight once there is a table with it.
    awaits_line: bool,
}

impl SelectedLine {
    /// The node.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_ref()
    }

    /// Where it stands in the table; `None` if it is not to be seen there.
    pub fn index(&self) -> Option<usize> {
        self.index
    }

    /// Whether it shall be scrolled into sight; once.
    pub fn take_reveal(&mut self) -> bool {
        std::mem::take(&mut self.reveal)
    }

    /// Selects a node, or nothing.
    pub fn select(&mut self, path: Option<Path>, table: Option<&Table>) {
        (self.path, self.awaits_search, self.awaits_line) = (path, false, false);
        self.find(table);
    }

    /// Selects a node that the next table shall show.
    pub fn await_line(&mut self, path: Path, table: Option<&Table>) {
        self.select(Some(path), table);
        self.awaits_line = true;
    }

    /// The node is called otherwise from now on, or is gone.
    pub fn rename(&mut self, path: Option<Path>, table: Option<&Table>) {
        self.path = path;
        self.find(table);
    }

    /// Selects the line that stands so many lines below.
    pub fn step(&mut self, by: i64, table: Option<&Table>) {
        let last = table.map_or(0, |table| table.tree.len()).saturating_sub(1) as i64;
        let to = self.index.map_or(0, |index| (index as i64).saturating_add(by).clamp(0, last) as usize);
        self.go_to(to, table);
    }

    /// Selects the first line that a search finds, and nothing until that is known: what
    /// was selected before has nothing to do with the search.
    pub fn seek(&mut self, search: &str, table: Option<&Table>) {
        self.select(None, table);
        self.awaits_search = true;
        self.look(search, table);
    }

    /// Something else is searched for.
    pub fn stop_seeking(&mut self) {
        self.awaits_search = false;
    }

    /// There is another table; `search` is what is searched for by now.
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
