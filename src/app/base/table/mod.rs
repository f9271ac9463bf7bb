//! Tables as data: columns, values, and the sources of lines that are copied and exported.

pub mod column;
mod sort;
mod source;
mod typed;
mod value;

pub use column::{Goes, ListColumn, widest};
pub use sort::{SavedSort, Sort, SortKey};
pub use source::{Export, Format, TableSource, write};
pub use typed::{ColumnOf, FlatTable, Head, TypedColumn, TypedTable};
pub use value::Value;
