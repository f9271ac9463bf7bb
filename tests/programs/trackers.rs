//! `--trackers`: a file that says what events of other allocators mean.

use std::io::Cursor;

use highwater::etl::write::{Descriptor, NewEvent, Writer};
use highwater::etl::{EventId, Guid, HeaderKind, SessionHeader};
use highwater::units::{Pid, PointerSize, Tid};

use crate::common::{highwater, json};

const PROVIDER: &str = "{12345678-1111-2222-3333-444455556666}";

/// A trace of a provider that only a mapping explains: ten blocks of 100 bytes, of which four are freed.
fn trace(folder: &tempfile::TempDir) -> String {
    let session = SessionHeader { buffer_size: 8 << 10, ..SessionHeader::default() };
    let mut writer = Writer::new(Cursor::new(Vec::new()), session).unwrap();
    for n in 0..14u64 {
        let (id, address) = if n < 10 { (1, n) } else { (2, n - 10) };
        let payload: Vec<u8> = [0x1000 + address * 0x100, 100].iter().flat_map(|word| word.to_le_bytes()).collect();
        let event = NewEvent {
            processor: 0,
            time: 1_000 + n as i64,
            kind: HeaderKind::Event,
            pointer: PointerSize::Eight,
            pid: Pid(4660),
            tid: Tid(1),
            id: EventId::Provider { provider: PROVIDER.parse::<Guid>().unwrap(), id },
            version: 0,
            descriptor: Descriptor::default(),
            extended: &[],
            payload: &payload,
        };
        writer.write(&event).unwrap();
    }
    let path = folder.path().join("own.etl");
    std::fs::write(&path, writer.finish().unwrap().into_inner()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn mapping(folder: &tempfile::TempDir, size: &str) -> String {
    let text = format!(
        "[[tracker]]\nprovider = \"{PROVIDER}\"\nname = \"Frame heap\"\n\
         [[tracker.event]]\nid = 1\ndoes = \"allocate\"\nfields = \"address:u64 {size}\"\n\
         [[tracker.event]]\nid = 2\ndoes = \"free\"\nfields = \"address:u64\"\n"
    );
    let path = folder.path().join("own.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn every_command_that_reads_a_trace_reads_it_with_the_mapping() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, mapping) = (trace(&folder), mapping(&folder, "size:u64"));
    let answer = json(["report", &trace, "--trackers", &mapping, "--json"]);
    let group = &answer["groups"][0];
    assert_eq!((&group["heap"], &group["layer"]), (&"Frame heap".into(), &"tracker".into()));
    assert_eq!((&group["count"], &group["freed_count"], &group["outstanding_to"]), (&10.into(), &4.into(), &600.into()));
    let info = json(["info", &trace, "--trackers", &mapping, "--json"]);
    assert_eq!((&info["events"]["tracker_alloc"], &info["events"]["tracker_free"]), (&10.into(), &4.into()));
    let without = json(["report", &trace, "--json"]);
    assert_eq!(without["groups"], serde_json::json!([]));
    for command in
        [&["functions", "--json"][..], &["findings", "--json"], &["export", "--format", "csv", "-o", "-"], &["marks", "--json"]]
    {
        let words = [&command[..1], &[trace.as_str(), "--trackers", mapping.as_str()], &command[1..]].concat();
        let run = highwater(words);
        assert_eq!(run.code, Some(0), "{command:?}: {}", run.err);
    }
    // A part has the blocks without the mapping.
    let part = folder.path().join("part.etl");
    let part = part.to_str().unwrap();
    let run = highwater(["cut", &trace, "--trackers", &mapping, "-o", part]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(json(["report", part, "--json"])["groups"][0]["outstanding_to"], 600);
}

#[test]
fn a_bad_mapping_is_a_bad_argument_with_its_line_and_bad_events_are_problems() {
    let folder = tempfile::tempdir().unwrap();
    let trace = trace(&folder);
    let run = highwater(["report", &trace, "--trackers", &mapping(&folder, "size:u63")]);
    assert!(run.code == Some(2) && run.err.contains("line 7") && run.err.contains("own.toml"), "{}", run.err);
    let run = highwater(["report", &trace, "--trackers", "nowhere.toml"]);
    assert!(run.code == Some(2) && run.err.contains("nowhere.toml"), "{}", run.err);
    let info = json(["info", &trace, "--json", "--trackers", &mapping(&folder, "_:u64 _:u64 size:u64")]);
    let problems: Vec<&str> =
        info["problems"].as_array().unwrap().iter().filter_map(|problem| problem["kind"].as_str()).collect();
    assert!(problems.contains(&"bad_event"), "{problems:?}");
}
