//! Real traces against answers that other programs computed: every field of
//! `info --json`, and the numbers of `report --json` for recorded traffic of a game.

use std::path::Path;

use crate::common::{corpus, json};
use highwater::etl::{FileProblem, TraceFile};
use serde_json::{Map, Value};

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

/// Kinds that the answers do not count; dissect.etl does (`scripts/check_writer.py`).
const LATER: [(&str, &str, u64); 2] = [("net.4.5.2.x64.etl", "hard_fault", 153), ("slow-ppt.etl", "hard_fault", 1)];

#[test]
fn info_agrees_with_other_readers_on_every_file() {
    let Some(corpus) = corpus() else { return };
    let expected = read(&corpus.join("expected.json"));
    assert!(object(&expected).len() >= 12);
    for (name, expected) in object(&expected) {
        let info = json(["info".as_ref(), "--json".as_ref(), corpus.join(name).as_os_str()]);
        assert_eq!(info["schema"], "highwater.info/1");
        let mut events = info["events"].clone();
        for (_, kind, count) in LATER.into_iter().filter(|(of, ..)| of == name) {
            assert_eq!(events.as_object_mut().unwrap().remove(kind), Some(count.into()), "{name}: {kind}");
        }
        assert_eq!(events, expected["events"], "{name}");
        assert_eq!(info["events"]["total"], expected["total"], "{name}");
        let file = &info["files"][0];
        for (field, value) in object(expected) {
            if !matches!(field.as_str(), "total" | "events" | "sha256") {
                assert_eq!(&file[field], value, "{name}: {field}");
            }
        }
        // What a report counts is listed here too: that there is nothing to account for.
        let problems = info["problems"].as_array().unwrap().iter().filter(|problem| problem["kind"] != "no_memory_events");
        assert_eq!(problems.count(), 0, "{name} is sound: {}", info["problems"]);
        assert_eq!(file["format"], "etl");
        assert!(file["duration_s"].as_f64().unwrap() >= 0.0, "{name}");
    }
}

/// The header says how many buffers were written. (Some traces lie in the corpus whose numbers nobody computed.)
#[test]
fn no_real_file_lacks_buffers_and_each_that_is_cut_does() {
    let Some(corpus) = corpus() else { return };
    let files = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    let traces: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "etl")).collect();
    assert!(traces.len() > 12);
    for path in traces {
        let whole = TraceFile::open(&path).unwrap();
        assert!(!whole.problems.has(FileProblem::MissingBuffers), "{path:?}: {:?}", whole.problems.list());
        let last = whole.buffers.last().unwrap().offset;
        if whole.buffers.len() < 3 {
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(last as usize);
        let folder = tempfile::tempdir().unwrap();
        let cut = folder.path().join("cut.etl");
        std::fs::write(&cut, bytes).unwrap();
        let problems = TraceFile::open(&cut).unwrap().problems.list();
        assert_eq!(problems.iter().map(|problem| problem.kind).collect::<Vec<_>>(), [FileProblem::MissingBuffers], "{path:?}");
        assert!(problems[0].detail.starts_with("1 of the "), "{}", problems[0].detail);
    }
}

/// The recorded traffic of a game and what a naive scan says of it.
struct Game {
    trace: std::path::PathBuf,
    expected: Value,
}

impl Game {
    fn find() -> Option<Self> {
        let corpus = corpus()?;
        let expected = read(&corpus.join("game-allocations.json"));
        Some(Self { trace: corpus.join("game-allocations.etl"), expected })
    }

    fn intervals(&self) -> &[Value] {
        self.expected["intervals"].as_array().unwrap()
    }

    fn report(&self, interval: &Value, by: &str) -> Value {
        let mut words = vec!["report".into(), "--json".into(), self.trace.as_os_str().to_owned(), "--by".into(), by.into()];
        for (option, field) in [("--from", "from_s"), ("--to", "to_s")] {
            if !interval[field].is_null() {
                words.push(option.into());
                words.push(interval[field].to_string().into());
            }
        }
        json(words)
    }

    /// An address as a report names it, by the list of images.
    fn label(&self, address: &str) -> String {
        let address = hex(address);
        let images = self.expected["images"].as_array().unwrap();
        let inside = |image: &&Value| {
            let base = hex(image["base"].as_str().unwrap());
            (base..base + image["size"].as_u64().unwrap()).contains(&address)
        };
        match images.iter().find(inside) {
            Some(image) => {
                format!("{}!+{:#x}", image["name"].as_str().unwrap(), address - hex(image["base"].as_str().unwrap()))
            }
            None => format!("{address:#x}"),
        }
    }
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap()
}

/// Every number that the naive scan knows is that of the group.
fn assert_same_numbers(group: &Value, expected: &Value, what: &str) {
    for (field, value) in object(expected) {
        if field != "frames" {
            assert_eq!(&group[field], value, "{what}: {field}");
        }
    }
}

#[test]
fn the_game_has_the_expected_events() {
    let Some(game) = Game::find() else { return };
    let info = json(["info".as_ref(), "--json".as_ref(), game.trace.as_os_str()]);
    assert_eq!(info["events"], game.expected["events"]);
    assert_eq!(info["files"][0]["bytes"], game.expected["etl_bytes"]);
    assert_eq!(info["files"][0]["duration_s"], game.expected["last_event_s"]);
    assert_eq!(info["problems"], Value::Array(vec![]));
}

#[test]
fn the_game_has_the_expected_process_and_heaps_in_every_interval() {
    let Some(game) = Game::find() else { return };
    assert_eq!(game.intervals().len(), 8);
    for interval in game.intervals() {
        let label = interval["label"].as_str().unwrap();
        let report = game.report(interval, "process");
        let groups = report["groups"].as_array().unwrap();
        assert_eq!(groups.len(), 1, "{label}");
        assert_eq!(groups[0]["process"], game.expected["process"]);
        assert_eq!(groups[0]["pid"], game.expected["pid"]);
        assert_same_numbers(&groups[0], &interval["all"], label);
        for field in ["unmatched_frees", "superseded_allocations"] {
            assert_eq!(report["quality"][field], game.expected[field], "{label}: {field}");
        }

        let report = game.report(interval, "heap");
        let groups = report["groups"].as_array().unwrap();
        assert_eq!(groups.len(), object(&interval["heaps"]).len(), "{label}");
        for group in groups {
            let heap = group["heap"].as_str().unwrap();
            assert_same_numbers(group, &interval["heaps"][heap], &format!("{label}, heap {heap}"));
        }
    }
}

#[test]
fn the_game_has_the_expected_stacks_in_every_interval() {
    let Some(game) = Game::find() else { return };
    for interval in game.intervals() {
        let label = interval["label"].as_str().unwrap();
        let report = game.report(interval, "stack");
        let groups = report["groups"].as_array().unwrap();
        let stacks = interval["stacks"].as_array().unwrap();
        for stack in stacks {
            let frames: Vec<Value> =
                stack["frames"].as_array().unwrap().iter().map(|frame| game.label(frame.as_str().unwrap()).into()).collect();
            let group = groups.iter().find(|group| group["stack"].as_array() == Some(&frames));
            assert_same_numbers(group.unwrap(), stack, label);
        }
        // They are the first ones, as far as they changed anything.
        let rank = |group: &Value| (group["impacting_size"].as_i64().unwrap().unsigned_abs(), group["size"].as_u64().unwrap());
        let ours: Vec<_> = groups.iter().map(rank).filter(|(impacting, _)| *impacting > 0).take(20).collect();
        assert_eq!(ours, stacks.iter().map(rank).collect::<Vec<_>>(), "{label}");
    }
}
