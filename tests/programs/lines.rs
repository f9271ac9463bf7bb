//! Answers as lines of JSON, what every answer says of its trustworthiness, and addresses that `symbols lookup` takes.

use std::fs::File;
use std::io::Cursor;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::common::trace::small;
use crate::common::{Run, highwater, json as answer};

/// Questions, each with the lists of its answer: `outer.inner` for lists in lists.
const QUESTIONS: [(&[&str], &[&str]); 15] = [
    (
        &["report", "demo:", "--by", "process,stack", "--with", "commit"],
        &["groups", "marks", "frames", "gpu_memory", "counters", "commit"],
    ),
    (&["report", "demo:", "--unmatched"], &["groups"]),
    (&["functions", "demo:", "--of", "InnerLoopOperation"], &["functions"]),
    (&["findings", "demo:"], &["findings"]),
    (&["marks", "demo:"], &["marks"]),
    (&["pages", "demo:"], &["heaps", "pinning"]),
    (&["whatif", "demo:"], &["models"]),
    (&["scopes", "demo:"], &["layers.scopes"]),
    (&["frames", "demo:"], &["layers.frames"]),
    (&["processors", "demo:"], &["processes"]),
    (&["processors", "demo:", "--by", "function"], &["processes", "functions"]),
    (&["processors", "demo:", "--by", "stack"], &["processes", "stacks"]),
    (&["diff", "demo:@0..20", "demo:@20..40", "--by", "process,stack"], &["groups"]),
    (&["symbols", "check", "demo:"], &["modules"]),
    (&["symbols", "lookup", "demo:", "--pid", "4660", "0x7ff63a4015e6"], &["addresses"]),
];

fn lines(run: &Run) -> Vec<Map<String, Value>> {
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    run.out.lines().map(read).collect()
}

#[test]
fn lines_have_all_that_the_object_has() {
    for (words, lists) in QUESTIONS {
        let mut whole: Map<String, Value> = answer(words.iter().chain(&["--json"])).as_object().unwrap().clone();
        let mut lines = lines(&highwater(words.iter().chain(&["--ndjson"]))).into_iter();
        let head = lines.next().unwrap();
        let mut entries: Vec<Map<String, Value>> = lines.collect();
        for list in lists {
            let (outer, inner) = list.split_once('.').map_or((*list, None), |(outer, inner)| (outer, Some(inner)));
            let name = inner.unwrap_or(outer);
            let (of_list, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry["list"] == json!(name));
            entries = others;
            let expected: Vec<Map<String, Value>> = match (whole.remove(outer), inner) {
                (None, _) => Vec::new(),
                (Some(list), None) => list.as_array().unwrap().iter().map(|entry| entry.as_object().unwrap().clone()).collect(),
                (Some(list), Some(inner)) => {
                    let around = list.as_array().unwrap().iter().map(|entry| entry.as_object().unwrap());
                    around.flat_map(|around| of_layer(around, inner)).collect()
                }
            };
            let told: Vec<Map<String, Value>> = of_list.into_iter().map(|entry| without(&entry, "list")).collect();
            assert!(told == expected, "{words:?} {list}: {told:?} {expected:?}");
        }
        assert_eq!(head, whole, "{words:?}");
        assert!(entries.is_empty(), "{words:?}: {entries:?}");
    }
}

/// The entries of a list in an entry, with the keys around them.
fn of_layer(around: &Map<String, Value>, inner: &str) -> Vec<Map<String, Value>> {
    let outer = without(around, inner);
    let entries = around[inner].as_array().unwrap().iter();
    entries.map(|entry| outer.iter().chain(entry.as_object().unwrap()).map(|(k, v)| (k.clone(), v.clone())).collect()).collect()
}

fn without(map: &Map<String, Value>, key: &str) -> Map<String, Value> {
    map.iter().filter(|(k, _)| *k != key).map(|(k, v)| (k.clone(), v.clone())).collect()
}

#[test]
fn lines_come_capture_by_capture_and_in_one_form_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.etl");
    std::fs::write(&path, small(false)).unwrap();
    let run = highwater(["report", "demo:", path.to_str().unwrap(), "--each", "--ndjson"]);
    let lines = lines(&run);
    let heads: Vec<&Map<String, Value>> = lines.iter().filter(|line| !line.contains_key("list")).collect();
    assert_eq!((run.code, heads.len(), &heads[0]["files"]), (Some(0), 2, &json!(["demo:"])), "{run:?}");
    assert!(heads.iter().all(|head| head["schema"] == "highwater.report/1" && !head.contains_key("groups")));
    for words in [
        &["report", "demo:", "--json", "--ndjson"][..],
        &["report", "demo:", "--ndjson", "--html", "x.html"],
        &["marks", "demo:", "--ndjson", "--csv"],
        &["frames", "demo:", "--ndjson", "--csv"],
        &["diff", "demo:@0..1", "demo:@1..2", "--ndjson", "--markdown"],
    ] {
        let run = highwater(words);
        assert!(run.code == Some(2) && run.err.lines().count() == 1, "{words:?}: {run:?}");
    }
    let rules = folder.path().join("rules.toml");
    std::fs::write(&rules, "[[rule]]\npeak = \"1G\"\n[[rule]]\npeak = 0\n").unwrap();
    let run = highwater(["check", "demo:", "--rules", rules.to_str().unwrap(), "--ndjson"]);
    let lines = self::lines(&run);
    assert_eq!((run.code, lines.len(), &lines[0]["broken"], &lines[2]["list"]), (Some(3), 3, &json!(true), &json!("rules")));
}

#[test]
fn every_answer_about_a_capture_says_how_far_to_trust_it() {
    for (words, _) in QUESTIONS.iter().filter(|(words, _)| !words.starts_with(&["symbols", "check"])) {
        let told = answer(words.iter().chain(&["--json"]));
        assert!(told["doubts"].is_array(), "{words:?}");
        let quality = &told["quality"];
        let of_one = if words[0] == "diff" { &quality["b"] } else { quality };
        assert!(of_one["unmatched_frees"].is_u64() && of_one["events_lost"] == 0, "{words:?}: {quality}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lossy.etl");
    let path = path.to_str().unwrap();
    highwater_dev::command::synth(["heap", "--events", "20000", "--lost-buffers", "3", "-o", path]).unwrap();
    for command in ["functions", "findings", "pages", "whatif", "marks", "scopes", "frames", "processors"] {
        let told = answer([command, path, "--json"]);
        let doubts = told["doubts"].as_array().unwrap();
        assert!(doubts.iter().any(|doubt| doubt.as_str().unwrap().contains("buffers were lost")), "{command}: {doubts:?}");
        assert_eq!(told["quality"]["buffers_lost"], 3, "{command}");
    }
}

/// The PDB of the demo's program, which the program has in a cabinet.
fn unpack(pdb: &Path) {
    let mut cabinet = cab::Cabinet::new(Cursor::new(highwater::demo::symbols().cabinet)).unwrap();
    let name = cabinet.folder_entries().flat_map(|folder| folder.file_entries()).next().unwrap().name().to_owned();
    std::io::copy(&mut cabinet.read_file(&name).unwrap(), &mut File::create(pdb).unwrap()).unwrap();
}

/// Functions at addresses of the demo's program as its PDB has them, outermost first.
fn looked_up(rvas: &[String]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let pdb = folder.path().join("MemoryTestApp.pdb");
    unpack(&pdb);
    let words = ["symbols", "lookup", pdb.to_str().unwrap()];
    let told = answer(words.into_iter().chain(rvas.iter().map(String::as_str)).chain(["--json"]));
    let name = |frame: &Value| format!("MemoryTestApp.exe!{}", frame["function"].as_str().unwrap());
    let frames = |address: &Value| address["frames"].as_array().unwrap().iter().rev().map(name).collect();
    told["addresses"].as_array().unwrap().iter().map(frames).collect()
}

/// Whether the frames of stacks are at the addresses beside them, by the program's PDB; returns how many addresses
/// were looked up.
fn compare(entries: &[Value]) -> usize {
    let (mut rvas, mut names) = (Vec::new(), Vec::new());
    for entry in entries {
        let list = |key: &str| entry[key].as_array().unwrap_or_else(|| panic!("{entry}")).clone();
        let (stack, addresses) = (list("stack"), list("addresses"));
        assert_eq!(stack.len(), addresses.len(), "{entry}");
        let frames: Vec<(Value, String)> =
            addresses.into_iter().zip(stack).map(|(address, frame)| (address, frame.as_str().unwrap().to_owned())).collect();
        for chunk in frames.chunk_by(|a, b| a.0 == b.0) {
            let (address, frame) = &chunk[0];
            match address {
                // Code that .NET's runtime compiled is in no image.
                Value::Null => assert!(frame.starts_with("0x") || frame.starts_with("ThumbnailServer.dll!"), "{frame}"),
                address => {
                    assert!(frame.starts_with(&format!("{}!", address["module"].as_str().unwrap())), "{address} {frame}");
                    if address["module"] == "MemoryTestApp.exe" {
                        rvas.push(address["rva"].as_str().unwrap().to_owned());
                        names.push(chunk.iter().map(|(_, frame)| frame.clone()).collect::<Vec<_>>());
                    }
                }
            }
        }
    }
    for (at, (found, names)) in looked_up(&rvas).iter().zip(&names).enumerate() {
        // A finding's stack ends at its place, which can be in the middle of inlined functions.
        assert!(found.starts_with(names), "{}: {found:?} {names:?}", rvas[at]);
    }
    rvas.len()
}

#[test]
fn addresses_beside_names_are_those_that_symbols_lookup_takes() {
    let report = answer(["report", "demo:", "--by", "process,stack", "--json"]);
    assert!(compare(report["groups"].as_array().unwrap()) > 50);
    let findings = answer(["findings", "demo:", "--json"]);
    let findings: Vec<Value> =
        findings["findings"].as_array().unwrap().iter().filter(|f| f["stack"] != json!([])).cloned().collect();
    assert!(compare(&findings) > 3);
    // A function has one where all its calls are at one address.
    let functions = answer(["functions", "demo:", "--json"]);
    let functions = functions["functions"].as_array().unwrap();
    let of_program = |function: &&Value| function["address"]["module"] == "MemoryTestApp.exe";
    let with_address: Vec<&Value> = functions.iter().filter(of_program).collect();
    let rvas: Vec<String> = with_address.iter().map(|of| of["address"]["rva"].as_str().unwrap().to_owned()).collect();
    assert!(rvas.len() > 5 && rvas.len() < functions.len(), "{rvas:?}");
    for (found, function) in looked_up(&rvas).iter().zip(with_address) {
        assert!(found.iter().any(|name| function["function"] == json!(name)), "{found:?} {function}");
    }
    // Without stacks among the keys there are none.
    let report = answer(["report", "demo:", "--json"]);
    assert!(report["groups"].as_array().unwrap().iter().all(|group| group.get("addresses").is_none()));
}
