//! The tab *Trace*: on which machine, when and how long the trace was recorded.

use std::io::Cursor;

use crate::common::session::on_disk;
use crate::common::trace::{session, story};
use crate::driver::{labels, show_tab, window_of};
use highwater::etl::write::{Descriptor, NewEvent, Writer};
use highwater::etl::{EventId, HeaderKind, PointerSize, SessionHeader};
use highwater::events::encode::RecordWriter;
use highwater::load::Input;
use highwater::units::{Pid, Tid};

/// A small trace, in which the kernel describes this machine.
fn recorded_on(machine: &str) -> Vec<u8> {
    let about = SessionHeader { os: (10, 0, 19045), processors: 2, ..session(false) };
    let mut writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), about).unwrap());
    let mut last = 0;
    for (record, frames) in story() {
        last = record.time;
        writer.put((record.tid.0 % 2) as u16, &record, &frames).unwrap();
    }
    // Five words, and room for 256 characters.
    let mut payload = vec![0; 20 + 512];
    let name: Vec<u8> = machine.encode_utf16().flat_map(u16::to_le_bytes).collect();
    payload[20..20 + name.len()].copy_from_slice(&name);
    let event = NewEvent {
        processor: 0,
        time: last,
        kind: HeaderKind::System,
        pointer: PointerSize::Eight,
        pid: Pid(4),
        tid: Tid(8),
        id: EventId::Hook(0x0B0A),
        version: 2,
        descriptor: Descriptor::default(),
        extended: &[],
        payload: &payload,
    };
    writer.writer().write(&event).unwrap();
    writer.finish().unwrap().into_inner()
}

#[test]
fn the_tab_says_the_machine_the_windows_version_the_date_and_the_duration() {
    let (_folder, path) = on_disk(&recorded_on("RENDER-07"));
    let mut window = window_of(vec![Input::File(path.clone())]);
    show_tab(&mut window, "trace");
    let told = labels(&window);
    let value = |name: &str| told.iter().skip_while(|text| *text != name).nth(1).cloned().unwrap_or_default();
    assert_eq!(value("Machine"), "RENDER-07", "{told:?}");
    assert_eq!(value("Windows"), "10.0.19045, 64 bits");
    assert_eq!(value("Processors"), "2");
    let info = crate::common::json(["info", path.to_str().unwrap(), "--json"]);
    let file = &info["files"][0];
    let recorded = value("Recorded").replace(" UTC", "Z").replace(' ', "T");
    assert_eq!(file["start_utc"], recorded, "as `info` says");
    let microseconds = file["duration_s"].as_f64().unwrap() * 1e6;
    let duration = value("Duration");
    let told: f64 = duration.strip_suffix(" \u{b5}s").unwrap_or_else(|| panic!("{duration}")).parse().unwrap();
    assert!((told - microseconds).abs() < 0.2, "as `info` says: {duration} {microseconds}");
}
