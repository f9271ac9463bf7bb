//! Lists the events of one provider, or all that have a provider: time, processor, process, thread, provider, event, bytes.
//!
//! `cargo run --example list_events -- FILE.etl [PROVIDER]`
//!
//! The events of each processor are in the order of time; those of several processors are interleaved by buffer.
#![allow(clippy::print_stderr, reason = "a command says what is wrong")]

use std::error::Error;
use std::io::{BufWriter, Write, stdout};
use std::path::Path;

use highwater_etl::{BufferInfo, EventId, Guid, Problems, ReadBuffer, TraceFile};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let Some(path) = words.next() else {
        eprintln!("usage: list_events FILE.etl [PROVIDER]");
        std::process::exit(2);
    };
    let wanted: Option<Guid> = words.next().map(|text| text.parse()).transpose()?;

    let mut file = TraceFile::open(Path::new(&path))?;
    file.buffers.sort_by_key(BufferInfo::order);
    let mut problems = std::mem::take(&mut file.problems);
    let (mut memory, mut out) = (ReadBuffer::default(), BufWriter::new(stdout().lock()));
    for buffer in &file.buffers {
        file.read_buffer(buffer, &mut memory, &mut problems);
        for event in memory.events() {
            let (provider, what) = match event.id {
                EventId::Provider { provider, id } => (provider, format!("event {id}")),
                EventId::Class { class, opcode } => (class, format!("type {opcode}")),
                EventId::Hook(_) | EventId::Opaque => continue,
            };
            if wanted.is_none_or(|wanted| wanted == provider) {
                let seconds = event.time.saturating_sub(file.header.start_ticks) as f64 / file.header.frequency as f64;
                let (processor, pid, tid, bytes) = (buffer.processor, event.pid, event.tid, event.payload.len());
                writeln!(out, "{seconds:.6}\t{processor}\t{pid}\t{tid}\t{provider}\t{what}\t{bytes}")?;
            }
        }
    }
    out.flush()?;
    print_problems(&problems);
    Ok(())
}

fn print_problems(problems: &Problems) {
    for problem in problems.list() {
        eprintln!("{}, byte {}: {}", problem.file, problem.offset, problem.detail);
    }
}
