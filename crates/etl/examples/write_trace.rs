//! Writes a small trace: a session of one processor with ten events of one provider.
//!
//! `cargo run --example write_trace -- OUT.etl`
#![allow(clippy::print_stderr, reason = "the usage of a command")]

use std::error::Error;
use std::fs::File;

use highwater_etl::write::{Descriptor, NewEvent, Writer};
use highwater_etl::{EventId, Guid, HeaderKind, Pid, PointerSize, SessionHeader, Tid};

/// The provider of the events.
const PROVIDER: Guid = Guid::new(0x8F5B_2C01, 0x11A3, 0x4E5D, [0x90, 0x11, 0x3A, 0x5C, 0x7E, 0x22, 0x41, 0x06]);

fn main() -> Result<(), Box<dyn Error>> {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: write_trace OUT.etl");
        std::process::exit(2);
    };
    let session = SessionHeader {
        start_time: 133_800_000_000_000_000, // 2024-12-29, as FILETIME
        logger: "example".to_owned(),
        ..SessionHeader::default()
    };
    let ticks_a_second = session.frequency as i64;
    let mut writer = Writer::new(File::create_new(path)?, session)?;
    for n in 0..10 {
        writer.write(&NewEvent {
            processor: 0,
            time: i64::from(n) * ticks_a_second / 100,
            kind: HeaderKind::Event,
            pointer: PointerSize::Eight,
            pid: Pid(4711),
            tid: Tid(42),
            id: EventId::Provider { provider: PROVIDER, id: 1 },
            version: 0,
            descriptor: Descriptor { level: 4, keyword: 1, ..Descriptor::default() },
            extended: &[],
            payload: &u32::to_le_bytes(n),
        })?;
    }
    writer.finish()?;
    Ok(())
}
