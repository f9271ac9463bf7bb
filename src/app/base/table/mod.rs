//! Tables as data: columns, values, and the sources of lines that are copied and exported.

pub mod column;
mod source;
mod value;

pub use column::{ListColumn, Width, widest};
pub use source::{Export, FlatTable, Format, TableSource, write};
pub use value::Value;
