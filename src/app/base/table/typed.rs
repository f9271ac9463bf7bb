//! Typed tables: the columns of a table describe it once, and the window, copies and exports take titles, values and
//! sort keys from them.

use std::borrow::Borrow;

use super::{ListColumn, TableSource, Value};

/// A column as a table names it: an item of an enum, or a reference to a [`TypedColumn`].
pub trait Head: Copy {
    /// The header.
    fn head(self) -> ListColumn;
}

/// A table with typed columns.
pub trait TypedTable {
    type Column: Head;
    /// Title of the table.
    fn title(&self) -> &'static str;
    /// Its columns.
    fn columns(&self) -> impl IntoIterator<Item = Self::Column>;
    /// Number of lines.
    fn len(&self) -> usize;
    /// The value of a cell.
    fn value(&self, row: usize, column: Self::Column) -> Value;
    /// The number of a line's ancestors in a tree.
    fn depth(&self, _row: usize) -> usize {
        0
    }
    /// The depth of a line, and all its values.
    fn line(&self, row: usize) -> (usize, Vec<Value>) {
        (self.depth(row), self.columns().into_iter().map(|column| self.value(row, column)).collect())
    }
    /// Whether the table is a tree.
    fn is_tree(&self) -> bool {
        false
    }
}

/// A column of a table.
pub type ColumnOf<T> = <T as TypedTable>::Column;

impl<T: TypedTable + Send + Sync> TableSource for T {
    fn title(&self) -> &'static str {
        TypedTable::title(self)
    }

    fn columns(&self) -> Vec<&'static str> {
        TypedTable::columns(self).into_iter().map(|column| column.head().title).collect()
    }

    fn len(&self) -> usize {
        TypedTable::len(self)
    }

    fn line(&self, row: usize) -> (usize, Vec<Value>) {
        TypedTable::line(self, row)
    }

    fn is_tree(&self) -> bool {
        TypedTable::is_tree(self)
    }
}

/// A table whose columns are constant and whose lines are values of one type.
pub trait FlatTable: Sized + 'static {
    /// Title of the table.
    const TITLE: &'static str;
    type Line;
    /// The sort keys, and marks of cells that the table draws itself.
    type Key: 'static;
    /// All its columns.
    const COLUMNS: &'static [TypedColumn<Self, Self::Line, Self::Key>];
    /// Whether the table has a column with this key: some are for a part of the traces.
    fn has(&self, _key: Option<&Self::Key>) -> bool {
        true
    }
    /// Number of lines.
    fn len(&self) -> usize;
    /// A line, if it exists.
    fn line(&self, row: usize) -> Option<impl Borrow<Self::Line>>;
}

impl<T: FlatTable> TypedTable for T {
    type Column = &'static TypedColumn<T, T::Line, T::Key>;

    fn title(&self) -> &'static str {
        T::TITLE
    }

    fn columns(&self) -> impl IntoIterator<Item = Self::Column> {
        T::COLUMNS.iter().filter(|column| self.has(column.key.as_ref()))
    }

    fn len(&self) -> usize {
        FlatTable::len(self)
    }

    fn value(&self, row: usize, column: Self::Column) -> Value {
        FlatTable::line(self, row).map_or(Value::Nothing, |line| (column.value)(self, line.borrow()))
    }
}

/// A column of a table `T` that has a value for each line `L`.
pub struct TypedColumn<T, L, K = ()> {
    pub head: ListColumn,
    /// The sort key of the column, or the mark of a cell that the table draws itself.
    pub key: Option<K>,
    pub value: fn(&T, &L) -> Value,
}

impl<T, L, K> Head for &'static TypedColumn<T, L, K> {
    fn head(self) -> ListColumn {
        self.head
    }
}

impl ListColumn {
    /// Makes a column of these values.
    pub const fn of<T, L, K>(self, value: fn(&T, &L) -> Value) -> TypedColumn<T, L, K> {
        TypedColumn { head: self, key: None, value }
    }

    /// Makes a column of these values with a key.
    pub const fn by<T, L, K>(self, key: K, value: fn(&T, &L) -> Value) -> TypedColumn<T, L, K> {
        TypedColumn { head: self, key: Some(key), value }
    }
}
