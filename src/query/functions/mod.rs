//! Functions instead of return addresses: two calls in one function are two lines of a
//! stack's tree and one function.
//!
//! [`Functions`] has, for one state of the names, the stack of each site as interned
//! functions. All trees over them are a [`Forest`]: callers outside (top-down), innermost
//! outside (inverted), one level by function or module. [`function_sums`] are self and
//! total of each function, [`Butterfly`] its callers and callees.
//!
//! The same is there for who freed what died ([`freed_sums`]), and for what processors ran ([`sampled_functions`]).
//!
//! Layers nest, so each sum is of one layer.

mod butterfly;
mod forest;
mod forest_sums;
mod freed;
mod joined;
mod lines;
mod listing;
mod part;
mod paths;
mod peaks;
mod sampled;
mod sums;
mod table;
mod trie;

pub use butterfly::{Butterfly, FunctionNodes, FunctionPlaces, Neighbour};
pub(super) use forest::innermost;
pub use forest::{Forest, NodeKey};
pub use forest_sums::{Amount, ForestSums, NodeSums};
pub use freed::freed_sums;
pub use listing::{FunctionGroup, FunctionsRequest, NeighbourGroup, functions};
pub use paths::{Functions, PathId};
pub use peaks::function_peaks;
pub use sampled::{SampledFunction, sampled_functions};
pub use sums::{FunctionSums, function_sums};
pub use table::{FunctionId, ModuleName};
