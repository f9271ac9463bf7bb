//! The common options of commands about the blocks of heaps and trackers in their pages.

use clap::Args;

use super::asked::{Asked, Edges, Files, RulesFile};
use super::choices::Choices;
use super::each::Each;
use super::memory::Memory;
use super::providers::ProvidersAsked;
use super::words::one_of;
use crate::units::Layer;

/// Files, and places whose blocks count.
#[derive(Args, Debug)]
pub(super) struct BlocksAsked {
    #[command(flatten)]
    pub(super) files: Files,

    /// Only this process
    #[arg(long, value_name = "NAME|PID")]
    process: Option<String>,

    /// Only this layer: heap (Windows NT heaps) or tracker (custom allocators)
    #[arg(long, value_parser = one_of(&BLOCKS, Layer::name), ignore_case = true)]
    layer: Option<Layer>,

    /// Only this heap or tracker
    #[arg(long, value_name = "HANDLE|NAME")]
    heap: Option<String>,

    /// Symbol path: folders, stores and servers with PDBs, as in _NT_SYMBOL_PATH
    #[arg(long, value_name = "PATH")]
    symbols: Option<String>,

    #[command(flatten)]
    rules: RulesFile,

    #[command(flatten)]
    providers: ProvidersAsked,

    #[command(flatten)]
    each: Each,

    #[command(flatten)]
    memory: Memory,
}

/// Layers of blocks, which lie in the pages of the third.
const BLOCKS: [Layer; 2] = [Layer::Heap, Layer::Tracker];

impl BlocksAsked {
    /// The question as other commands have it.
    pub(super) fn asked(&self) -> Asked {
        Asked {
            files: self.files.clone(),
            choices: Choices::of_places(self.process.clone(), self.layer, self.heap.clone()),
            edges: Edges::default(),
            symbols: self.symbols.clone(),
            rules: self.rules.clone(),
            providers: self.providers.clone(),
            each: self.each,
            memory: self.memory,
        }
    }
}
