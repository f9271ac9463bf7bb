//! `--trackers`: a file that says what events of other allocators mean.

use crate::common::{highwater, json};
use crate::mapped;

fn trace(folder: &tempfile::TempDir) -> String {
    mapped::trace(folder.path())
}

fn mapping(folder: &tempfile::TempDir, size: &str) -> String {
    let path = folder.path().join("own.toml");
    std::fs::write(&path, mapped::mapping(size)).unwrap();
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
    assert!(run.code == Some(2) && run.err.contains("own.toml:7: "), "{}", run.err);
    let run = highwater(["report", &trace, "--trackers", "nowhere.toml"]);
    assert!(run.code == Some(2) && run.err.contains("nowhere.toml"), "{}", run.err);
    let info = json(["info", &trace, "--json", "--trackers", &mapping(&folder, "_:u64 _:u64 size:u64")]);
    let problems: Vec<&str> =
        info["problems"].as_array().unwrap().iter().filter_map(|problem| problem["kind"].as_str()).collect();
    assert!(problems.contains(&"bad_event"), "{problems:?}");
}

#[test]
fn a_mapping_that_no_event_matches_is_reported_with_what_the_trace_has() {
    let folder = tempfile::tempdir().unwrap();
    let trace = trace(&folder);
    let said = |from: &str, to: &str| {
        let path = mapping(&folder, "size:u64");
        let text = std::fs::read_to_string(&path).unwrap().replace(from, to);
        std::fs::write(&path, text).unwrap();
        let run = highwater(["report", &trace, "--trackers", &path]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        run.err
    };
    assert!(!said("none", "none").contains("--trackers"), "it matches");
    let other = said("12345678", "12345679");
    assert!(other.contains("own.toml: the trace has no event of the provider {12345679-"), "{other}");
    let ids = said("id = ", "id = 1");
    assert!(ids.contains("with the ids 11 and 12; its events have the ids 1 and 2"), "{ids}");
}
