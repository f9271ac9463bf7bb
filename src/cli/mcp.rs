//! `highwater mcp`: the commands as tools for agents, over the Model Context Protocol on stdin and stdout.
//!
//! A call becomes the words of a command line ([`words`]), which clap parses and the command itself answers
//! ([`calls`]); so a tool has the options, the sentences and the numbers of its command. The protocol is that of the
//! crate `rmcp` ([`server`], [`transport`]).
//!
//! Nothing but the protocol is on stdout: what the answering thread would print there is taken
//! ([`super::output::taken`]). Files are read only in and below the roots ([`roots`]), symbols too unless `--symbols` is
//! given. Without it nothing is written and no server asked.

mod answer;
mod calls;
mod roots;
mod server;
mod tools;
mod transport;
mod words;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::Args;

use super::asked::inputs;
use super::memory::Memory;
use super::{Failure, kept, output, symbols};
use roots::roots;
use words::Defaults;

#[derive(Args, Debug)]
pub(super) struct McpArgs {
    /// Traces that tools answer for unless a call names others; `demo:` is the built-in demo trace
    #[arg(value_name = "FILE")]
    files: Vec<OsString>,

    /// Read files in and below this folder only; repeatable [default: the folders of FILE, or the current folder]
    #[arg(long, value_name = "FOLDER")]
    root: Vec<PathBuf>,

    /// Symbol path: folders, stores and servers with PDBs, as in _NT_SYMBOL_PATH; without this option that variable is ignored
    #[arg(long, value_name = "PATH")]
    symbols: Option<String>,

    #[command(flatten)]
    memory: Memory,
}

pub(super) fn run(args: &McpArgs) -> Result<(), Failure> {
    let roots = roots(&args.root, &inputs(&args.files))?;
    kept::keep_traces();
    if args.symbols.is_none() {
        symbols::confine(roots.clone());
    }
    if io::stdin().is_terminal() {
        output::message(
            "waiting for a client that speaks the Model Context Protocol on stdin; docs/agents.md says how to set one up",
        );
    }
    let mut options = args.memory.words();
    options.extend(args.symbols.iter().flat_map(|path| ["--symbols".to_owned(), path.clone()]));
    server::serve(Defaults { files: args.files.clone(), options }, roots)
}
