//! `highwater symbols lookup`: looks up addresses in one PDB, or in a process of a trace ([`in_trace`]).

use std::path::Path;

use serde::Serialize;

use super::answer::{Function, describe_frames, functions};
use super::in_trace;
use super::lookup_args::{AddressAt, LIKE, LookupArgs};
use crate::cli::{Failure, output};
use crate::format::{plain, plural};
use crate::load::{Capture, Input};
use crate::symbols::{ModuleNames, PdbError, Request, Resolved, Stop, facts, resolve};

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
    if let Some(form) = args.programs.form() {
        return output::for_programs(form, &Answer { schema: "highwater.symbols/1", pdb, addresses }, &["addresses"]);
    }
    output::answer(&describe(&pdb, &addresses))
}

/// An address as an offset from the base of an image.
fn rva(AddressAt { address, at }: &AddressAt) -> Result<u32, String> {
    let of_trace = "for a trace, name the process with --pid";
    match (u32::try_from(*address), at) {
        (Ok(rva), None) => Ok(rva),
        (Ok(_), Some(_)) => Err(format!("{address:#x}: a PDB knows no times; {of_trace}")),
        (Err(_), _) => Err(format!("{address:#x} is {LIKE}, from the base of an image; {of_trace}")),
    }
}

fn no_pid(path: &str) -> Failure {
    Failure::BadArguments(format!("{path} is a trace: name the process with --pid"))
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
