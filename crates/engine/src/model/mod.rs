//! Builds one immutable [`Trace`] from records: processes and their modules over time, heaps, interned
//! stacks, and one row for each allocation.
//!
//! [`Builder`] takes records in time order and can publish a [`Trace`] at any moment; published traces
//! share their sealed parts, so publishing while loading (or live) is cheap. What counts as what is
//! decided only in this room; the rules are those of the machine interface ("Rules of the numbers").
//!
//! Memory: 24 bytes a row, 28 if it was freed, 32 if frees have stacks, plus the interned sites and
//! stacks; a budget bounds it, and a [`Scope`] leaves out what is not wanted. A *site* is who allocated
//! where; every grouping of the product is a grouping of sites, except those by thread, size, lifetime
//! and who freed.

mod activity;
mod allocations;
mod attach;
mod block_batches;
mod builder;
mod by_address;
mod counters;
mod ids;
mod last_deaths;
mod losses;
mod machine;
mod mapped;
mod origin;
mod outline;
pub mod pairing;
mod pid_lives;
pub(crate) mod preorder;
mod ranges;
mod renumbering;
mod row_list;
mod rows;
mod scope;
mod silent_allocators;
mod site;
mod stack;
mod stored;
mod thread_stacks;
mod trace;
mod work_queue;
mod world;

pub use activity::{
    Activity, Chunked, Fault, Faults, GpuSeries, IntervalOrigin, ManagedCode, MappedView, Mark, MarkProvider, Marks, Method,
    OtherWindows, PageRead, PresentLane, Sample, Samples,
};
pub use allocations::{Reservation, Reservations};
pub use block_batches::SliceBlocks;
pub use builder::{BLOCKS_A_ROW, Builder, InputState, OUTLIVING_A_ROW, PREPARED_A_ROW, SUMS_A_ROW};
pub(crate) use by_address::covering_nodes;
pub(crate) use counters::reported_number;
pub use counters::{Counter, CounterId, CounterKind, CounterOwner};
pub use ids::{NodeId, RowId, SiteId};
pub use last_deaths::LastDeaths;
pub use losses::{Loss, LostWhat};
pub use machine::Machine;
pub use mapped::MappedModule;
pub use outline::Outline;
pub use row_list::RowList;
pub use rows::{CHUNK, Chunk, Row, Rows};
pub use scope::{Cut, CutReason, Processes, Scope, WhenFull};
pub(crate) use silent_allocators::MOST_SILENT;
pub use silent_allocators::SilentAllocator;
pub use site::Site;
pub use stack::Stacks;
pub use stored::{BlockSink, BlockSource, Unrestored};
pub use thread_stacks::StackSeen;
pub use trace::{BuilderId, Clock, Quality, Trace, UnmatchedFree};
pub use world::{Heap, HeapId, Module, PdbId, Process, ProcessId, is_process_name, unknown_label};
