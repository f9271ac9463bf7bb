//! Names that are known at one moment: functions, inlined frames, source lines and C++ types of the addresses in a
//! trace, by module. Immutable and shared.
//!
//! Does not know where names come from: `symbols` finds them and makes a new [`Names`] whenever there are more.

mod code_address;
mod identity;
mod known;
mod module_names;

pub use code_address::{CodeAddress, FrameKind, KERNEL, lookup_address};
pub use identity::{ModuleKey, PdbKey};
pub use known::Names;
pub use module_names::{Frame, ModuleNames, NO_TEXT, NameTables, NamesBuilder, RawFrame};
