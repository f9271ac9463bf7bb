//! `highwater symbols lookup`: looks up addresses in one PDB, or in a process of a trace ([`in_trace`]).

use std::ffi::OsString;
use std::path::Path;
use std::str::FromStr;

use clap::Args;
use serde::Serialize;

use super::in_trace;
use crate::cli::mark_providers::MarkProvidersAsked;
use crate::cli::memory::Memory;
use crate::cli::text::plural;
use crate::cli::{Failure, output};
use crate::format::plain;
use crate::load::{Capture, Input};
use crate::moment::Moment;
use crate::symbols::{Frame, ModuleNames, PdbError, Request, Resolved, Stop, facts, resolve};

#[derive(Args, Debug)]
pub(in crate::cli) struct LookupArgs {
    /// Program database, or with --pid a trace; `demo:` names the built-in demo trace
    #[arg(value_name = "PDB|FILE")]
    pub(super) file: OsString,

    /// Addresses in hex: in a PDB from the base of the image; in a trace those of its stacks, and when: seconds
    /// since the trace start, mark:TEXT or frame:N [default: the end of the process or of the trace]
    #[arg(value_name = "RVA|ADDRESS[@T]", required = true)]
    pub(super) addresses: Vec<AddressAt>,

    /// The addresses are those of this process of a trace
    #[arg(long, value_name = "N")]
    pub(super) pid: Option<u32>,

    /// Look at the addresses themselves, not at the calls that return there
    #[arg(long, requires = "pid")]
    pub(super) exact: bool,

    /// Where to find the PDBs of a trace: folders, stores and servers as in _NT_SYMBOL_PATH
    #[arg(long, value_name = "PATH", requires = "pid")]
    pub(super) symbols: Option<String>,

    /// Print JSON for programs
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) marks: MarkProvidersAsked,

    #[command(flatten)]
    pub(super) memory: Memory,
}

impl LookupArgs {
    pub(in crate::cli) fn inputs(&self) -> Vec<Input> {
        vec![Input::from_arg(&self.file)]
    }
}

/// An address, and optionally a time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AddressAt {
    pub(super) address: u64,
    pub(super) at: Option<Moment>,
}

/// Message about a malformed address.
const LIKE: &str = "not an address like 0x2e30";

impl FromStr for AddressAt {
    type Err = String;

    /// Parses an address, which may have a backtick in its middle as debuggers write it: ``7ff6`12345678``.
    fn from_str(text: &str) -> Result<Self, String> {
        let (address, at) = text.split_once('@').map_or((text, None), |(address, at)| (address, Some(at)));
        let digits = address.strip_prefix("0x").or_else(|| address.strip_prefix("0X")).unwrap_or(address);
        let digits = digits.replacen('`', "", 1);
        let is_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let address = is_hex.then(|| u64::from_str_radix(&digits, 16).ok()).flatten().ok_or(LIKE)?;
        Ok(Self { address, at: at.map(str::parse).transpose()? })
    }
}

/// The JSON answer about a PDB; its field names are the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    pdb: Pdb,
    addresses: Vec<Address<'a>>,
}

#[derive(Serialize)]
struct Pdb {
    path: String,
    guid: String,
    age: u32,
    heap_allocation_sites: usize,
}

#[derive(Serialize)]
struct Address<'a> {
    rva: String,
    frames: Vec<Function<'a>>,
}

/// One frame of an answer.
#[derive(Serialize)]
pub(super) struct Function<'a> {
    pub(super) function: &'a str,
    pub(super) file: Option<&'a str>,
    pub(super) line: Option<u32>,
}

/// Converts frames to those of an answer.
pub(super) fn functions<'a>(frames: Option<impl Iterator<Item = Frame<'a>>>) -> Vec<Function<'a>> {
    let function = |Frame { function, file, line }| Function { function, file, line };
    frames.into_iter().flatten().map(function).collect()
}

/// Looks up the addresses.
pub(in crate::cli) fn run(args: &LookupArgs) -> Result<(), Failure> {
    match args.pid {
        Some(pid) => in_trace::run(args, pid),
        None => in_pdb(args),
    }
}

fn in_pdb(args: &LookupArgs) -> Result<(), Failure> {
    let path = args.file.display().to_string();
    if Input::from_arg(&args.file) == Input::Demo {
        return Err(no_pid(&path));
    }
    let rvas = args.addresses.iter().map(rva).collect::<Result<Vec<u32>, _>>().map_err(Failure::BadArguments)?;
    let failed = |error: PdbError| match error {
        PdbError::NoPdb if Capture::open(&args.inputs()).is_ok() => no_pid(&path),
        error => Failure::Failed(format!("{path}: {error}")),
    };
    let (pdb, stop) = (Path::new(&args.file), Stop::default());
    let facts = facts(pdb, &stop).map_err(failed)?;
    let request = Request { all: rvas.clone(), ..Request::default() };
    let Resolved { names, fastlink } = resolve(pdb, request, &stop, |_| {}).map_err(failed)?;
    if fastlink {
        output::message(&format!("{path}: linked with /DEBUG:FASTLINK, so only public names and lines are in it"));
    }
    let pdb =
        Pdb { guid: facts.key.guid.to_string(), age: facts.key.age, heap_allocation_sites: facts.heap_allocation_sites, path };
    let addresses: Vec<_> = rvas.iter().map(|&rva| address(&names, rva)).collect();
    if args.json {
        return output::json(&Answer { schema: "highwater.symbols/1", pdb, addresses });
    }
    output::answer(&describe(&pdb, &addresses))
}

/// An address as an offset from the base of an image.
fn rva(AddressAt { address, at }: &AddressAt) -> Result<u32, String> {
    let of_trace = "of a trace say with --pid which process is meant";
    match (u32::try_from(*address), at) {
        (Ok(rva), None) => Ok(rva),
        (Ok(_), Some(_)) => Err(format!("{address:#x}: a PDB knows no times; {of_trace}")),
        (Err(_), _) => Err(format!("{address:#x} is {LIKE}, from the base of an image; {of_trace}")),
    }
}

fn no_pid(path: &str) -> Failure {
    Failure::BadArguments(format!("{path} is a trace: say with --pid which process the addresses are of"))
}

fn address(names: &ModuleNames, rva: u32) -> Address<'_> {
    Address { rva: format!("{rva:#x}"), frames: functions(names.frames(rva)) }
}

fn describe(pdb: &Pdb, addresses: &[Address<'_>]) -> String {
    let sites = plural(pdb.heap_allocation_sites as u64, "heap allocation site");
    let mut text = format!("{}: {} age {}, {sites}\n", plain(&pdb.path), pdb.guid, pdb.age);
    for Address { rva, frames } in addresses {
        text += &format!("{rva}\n{}", describe_frames(frames));
    }
    text
}

/// The frames as text, a line each.
pub(super) fn describe_frames(frames: &[Function<'_>]) -> String {
    if frames.is_empty() {
        return "    nothing is known of it\n".to_owned();
    }
    let line = |Function { function, file, line }: &Function<'_>| match (file, line) {
        (Some(file), Some(line)) => format!("{function}  {file}:{line}"),
        (Some(file), None) => format!("{function}  {file}"),
        _ => (*function).to_owned(),
    };
    frames.iter().map(|frame| format!("    {}\n", plain(&line(frame)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_hex_and_may_have_a_time() {
        let parse = |text: &str| text.parse::<AddressAt>().ok().map(|a| (a.address, a.at.is_some()));
        assert_eq!(parse("0x2e30"), Some((0x2E30, false)));
        assert_eq!(parse("2E30@12.5"), Some((0x2E30, true)));
        assert_eq!(parse("fffff800`12345678@-1"), Some((0xFFFF_F800_1234_5678, true)));
        assert_eq!(parse("0XFFFFFFFFFFFFFFFF"), Some((u64::MAX, false)));
        for bad in ["", "0x", "main", "-1", "+1", "0x1_0", "1`2`3", "10000000000000000", "0x1@", "0x1@x", "@1", "0x1@1@2"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
