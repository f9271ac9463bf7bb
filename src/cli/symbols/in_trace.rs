//! Names of addresses in a process of a trace at a time: in the module that is mapped there then, or the method that
//! the .NET runtime has there. They are the names that frames of stacks have in reports.
//!
//! Cost: the trace is loaded, and the PDBs of the modules in which the addresses lie are read.

use std::sync::Arc;

use serde::Serialize;

use super::answer::{Function, describe_frames, functions};
use super::lookup_args::{AddressAt, LookupArgs};
use super::wait::wait_in_sight;
use super::{named_path, sources, without_names};
use crate::cli::asked::load_trace;
use crate::cli::choices::Choices;
use crate::cli::{Failure, output, report_problems_besides_memory, text};
use crate::format::plain;
use crate::model::{Module, ProcessId, Quality, Trace};
use crate::query::doubts;
use crate::symbols::{CodeAddress, Names, Options, Symbols};
use crate::units::Ticks;

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    trace: String,
    pid: u32,
    addresses: Vec<Address<'a>>,
    quality: Quality,
    doubts: Vec<String>,
}

#[derive(Serialize)]
struct Address<'a> {
    address: String,
    at_s: f64,
    process: String,
    /// `None` if it was running before the trace.
    process_start_s: Option<f64>,
    module: Option<&'a str>,
    path: Option<&'a str>,
    rva: Option<String>,
    /// When the module was mapped; `None` if that was before the trace.
    mapped_s: Option<f64>,
    /// When it was unmapped; `None` if it never was.
    unmapped_s: Option<f64>,
    frames: Vec<Function<'a>>,
    /// The managed method (.NET) at the address, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<MethodFound<'a>>,
}

#[derive(Serialize)]
struct MethodFound<'a> {
    name: &'a str,
    signature: &'a str,
    module: &'a str,
    start: String,
    size: u32,
    /// When its code was loaded; `None` if that was before the trace.
    loaded_s: Option<f64>,
    /// When its code was unloaded; `None` if it never was.
    unloaded_s: Option<f64>,
}

pub(super) fn run(args: &LookupArgs, pid: u32) -> Result<(), Failure> {
    let inputs = args.inputs();
    let choices = Choices::of_process(Some(pid.to_string()));
    let trace = load_trace(&inputs, args.memory, &args.providers, &choices, "symbols lookup")?;
    report_problems_besides_memory(&trace.problems);
    let name = inputs.iter().map(crate::load::Input::name).collect::<String>();
    let place = |wanted: &AddressAt| {
        let (process, at) = life(&trace, pid, wanted)?;
        Ok(CodeAddress { process, address: wanted.address, at, is_return: !args.exact })
    };
    let places: Result<Vec<CodeAddress>, String> = args.addresses.iter().map(place).collect();
    let places = places.map_err(|why| Failure::BadArguments(format!("{name}: {why}")))?;
    let options = Options { sources: sources(&trace, named_path(args.symbols.as_deref())), ..Options::default() };
    let symbols = Symbols::start_at(Arc::clone(&trace), options, places.clone(), || {});
    wait_in_sight(&symbols, format!("Symbols of {name}"));
    if let Some(told) = without_names(symbols.modules().iter()) {
        output::message(&told);
    }
    let names = symbols.names().1;
    let addresses = places.iter().map(|place| address(&trace, &names, place)).collect();
    let (quality, doubts) = (trace.quality, doubts(&trace, Ticks::NEVER));
    let answer = Answer { schema: "highwater.symbol_lookup/1", trace: name, pid, addresses, quality, doubts };
    match args.programs.form() {
        Some(form) => output::for_programs(form, &answer, &["addresses"]),
        None => output::answer(&describe(&answer)),
    }
}

/// Finds the process that an id means, and the time to look at. If a time is given, it is the process that is alive
/// then. Otherwise it is the last process with that id, at its end, at the end of the trace, or when something was
/// last mapped at the address.
fn life(trace: &Trace, pid: u32, wanted: &AddressAt) -> Result<(ProcessId, Ticks), String> {
    let seconds = |t| text::seconds(trace.clock.seconds(t));
    let lives = || (0..trace.processes.len() as u32).map(ProcessId).filter(|&id| trace.process(id).pid.0 == pid);
    // Processes are numbered in the order in which they appear; their start times are not always known.
    let Some(latest) = lives().last() else { return Err(format!("no process has the id {pid}")) };
    let at = wanted.at.as_ref().map(|at| at.ticks(trace, Some(&pid.to_string()))).transpose()?;
    let Some(at) = at else {
        return Ok((latest, last_mapped(trace, latest, wanted.address)));
    };
    if at < trace.span.from || at > trace.span.to {
        let (from, to) = (seconds(trace.span.from), seconds(trace.span.to));
        return Err(format!("{} is not in the trace, which goes from {from} to {to}", seconds(at)));
    }
    let is_alive = |id: &ProcessId| {
        let process = trace.process(*id);
        process.start.is_none_or(|start| start <= at) && process.end.is_none_or(|end| at <= end)
    };
    let goes_on = |id: &ProcessId| trace.process(*id).end.is_none_or(|end| at < end);
    let alive = lives().filter(is_alive).find(goes_on).or_else(|| lives().filter(is_alive).last());
    alive.map(|id| (id, at)).ok_or_else(|| format!("process {pid} did not run at {}", seconds(at)))
}

/// The end of a process or of the trace. If nothing is mapped at the address then, the last tick at which something
/// was: images are unloaded before their process ends.
fn last_mapped(trace: &Trace, id: ProcessId, address: u64) -> Ticks {
    let process = trace.process(id);
    let end = process.end.unwrap_or(trace.span.to);
    let covers = |start: u64, size: u64| address.checked_sub(start).is_some_and(|offset| offset < size);
    let modules = process.modules.iter().filter(|module| covers(module.base, module.size)).map(|module| module.unload);
    let methods = trace.activity.managed.methods(id).iter();
    let methods = methods.filter(|method| covers(method.start, method.size.into())).map(|method| method.unload);
    match modules.chain(methods).max() {
        Some(unload) if unload <= end => Ticks(unload.0.saturating_sub(1)),
        _ => end,
    }
}

fn address<'a>(trace: &'a Trace, names: &'a Names, place: &CodeAddress) -> Address<'a> {
    let process = trace.process(place.process);
    let module = place.module(trace);
    let method = trace.mapped_at(place.process, place.address, place.at).method;
    let seconds = |t: Ticks| trace.clock.seconds(t);
    let ordinary = |t: &Ticks| *t != Ticks::BEFORE_TRACE && *t != Ticks::NEVER;
    let when = |edge: fn(&Module) -> Ticks| module.map(edge).filter(ordinary).map(seconds);
    let in_image = || functions(names.frames_at(trace, place));
    Address {
        address: format!("{:#x}", place.address),
        at_s: seconds(place.at),
        process: process.label(),
        process_start_s: process.start.map(seconds),
        module: module.map(Module::name),
        path: module.map(|module| &*module.path),
        rva: module.map(|module| format!("{:#x}", place.address.wrapping_sub(module.base))),
        mapped_s: when(|module| module.load),
        unmapped_s: when(|module| module.unload),
        frames: method.map_or_else(in_image, |method| vec![Function { function: &method.name, file: None, line: None }]),
        method: method.map(|method| MethodFound {
            name: &method.name,
            signature: &method.signature,
            module: &method.module_name,
            start: format!("{:#x}", method.start),
            size: method.size,
            loaded_s: Some(method.load).filter(ordinary).map(seconds),
            unloaded_s: Some(method.unload).filter(ordinary).map(seconds),
        }),
    }
}

/// The answer as text.
fn describe(answer: &Answer<'_>) -> String {
    let mut lines = String::new();
    for address in &answer.addresses {
        let process = plain(&address.process);
        let process = match address.process_start_s {
            Some(start) => format!("{process} ({}, from {})", answer.pid, text::seconds(start)),
            None => format!("{process} ({})", answer.pid),
        };
        lines += &format!("{} in {process} at {}: ", address.address, text::seconds(address.at_s));
        if let Some(method) = &address.method {
            lines += &describe_method(method);
            continue;
        }
        let (Some(module), Some(rva)) = (address.module, &address.rva) else {
            lines += "in no module\n";
            continue;
        };
        let away = match (address.mapped_s, address.unmapped_s) {
            (Some(from), _) if address.at_s < from => format!(", which was mapped at {}", text::seconds(from)),
            (_, Some(to)) if address.at_s >= to => format!(", which was unmapped at {}", text::seconds(to)),
            _ => String::new(),
        };
        lines += &format!("{}!+{rva}{away}\n{}", plain(module), describe_frames(&address.frames));
    }
    lines
}

/// Describes a managed method (.NET), and from when until when its code was there.
fn describe_method(method: &MethodFound<'_>) -> String {
    let MethodFound { name, signature, module, start, size, loaded_s, unloaded_s } = method;
    let since = loaded_s.map_or_else(String::new, |at| format!(", since {}", text::seconds(at)));
    let until = unloaded_s.map_or_else(String::new, |at| format!(", until {}", text::seconds(at)));
    let [name, signature, module] = [name, signature, module].map(|text| plain(text));
    let signature = if signature.is_empty() { String::new() } else { format!("    {signature}\n") };
    format!("managed code of {module}, {size} bytes at {start}{since}{until}\n    {name}\n{signature}")
}
