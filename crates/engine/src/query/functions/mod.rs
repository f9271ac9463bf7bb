//! Functions instead of return addresses: two calls in one function are two lines of a tree of stacks, but one
//! function.
//!
//! [`Functions`] holds the stack of each site as interned functions, for one state of the names. All trees over them
//! are a [`Forest`]: callers at the top (top-down), innermost functions at the top (inverted), or one level by function
//! or module. [`function_sums`] are self and total of each function, [`Butterfly`] its callers and callees.
//!
//! The same exists for the stacks that freed memory ([`freed_sums`]) and for CPU samples ([`sampled_functions`]).
//!
//! Layers nest, so each sum is for one layer.

mod butterfly;
mod forest;
mod forest_sums;
mod freed;
mod joined;
mod listing;
mod part;
mod paths;
mod peaks;
mod places;
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
pub use sampled::{SampledFunction, sampled_functions};
pub use sums::{FunctionSums, function_sums};
pub use table::{FunctionId, ModuleName};
