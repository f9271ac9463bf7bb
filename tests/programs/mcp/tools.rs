//! Tools answer as their commands do.

use std::path::Path;

use serde_json::{Value, json};

use super::client::{Server, agrees, run, words};

/// Room for whole answers.
const ALL: u64 = 10_000_000;

/// A folder with the demo in a file whose name a shell would not leave alone, and rules.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo.etl");
    std::fs::copy(demo, folder.path().join("it's $HOME.etl")).unwrap();
    std::fs::write(folder.path().join("rules.toml"), "[[tag]]\nname = \"inner\"\nframes = [\"*InnerLoopOperation*\"]\n").unwrap();
    folder
}

#[test]
fn each_tool_answers_what_its_command_prints() {
    let folder = folder();
    let mut server = Server::ready(&["demo:"], folder.path());
    let file = "it's $HOME.etl";
    let cases = [
        ("open", json!({})),
        ("info", json!({"files": [file]})),
        ("findings", json!({})),
        ("findings", json!({"kind": "growth,step", "top": 2})),
        ("report", json!({})),
        ("report", json!({"by": "responsible", "from": 12.5, "to": "20", "layer": "heap", "top": 3})),
        ("report", json!({"files": [file], "by": ["process", "type"], "size": "16..", "process": "MemoryTestApp"})),
        ("report", json!({"allocated": "10..20", "freed": "20..|never", "by": "stack,lifetime", "sources": true})),
        ("report", json!({"from": "-1", "unmatched": true})),
        ("report", json!({"frame": ["Main", "Operation1"], "not_frame": "nothing is called so", "by": "function", "fold": true})),
        ("functions", json!({"of": "InnerLoopOperation", "top": 5})),
        ("diff", json!({"a": "demo:@0..20", "b": "demo:@20..40", "by": "responsible"})),
        ("diff", json!({"a": "demo:", "b": format!("{file}@5.."), "top": 4})),
        ("pages", json!({"at": 30, "layer": "heap"})),
        ("pages", json!({"files": [file], "by": ["process", "thread"], "top": 2})),
        ("stack", json!({"frame": "ManipulateTemporaryBuffer"})),
        ("stack", json!({"frame": "Main", "layer": "commit", "top": 2})),
    ];
    // The second time traces are kept.
    for (tool, arguments) in cases.iter().chain(&cases) {
        let mut arguments = arguments.clone();
        arguments["max_bytes"] = json!(ALL);
        let answer = server.answered(tool, arguments);
        agrees(&answer, folder.path());
    }
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn open_and_stack_are_info_and_report_in_other_words() {
    let folder = folder();
    let mut server = Server::ready(&["demo:"], folder.path());
    assert_eq!(server.answered("open", json!({})), server.answered("info", json!({})));
    let stack = server.answered("stack", json!({"frame": "Operation1", "top": 1}));
    let words = words(stack["command"].as_str().unwrap());
    for pair in [["--by", "process,stack"], ["--frame", "Operation1"]] {
        assert!(words.windows(2).any(|two| two == pair), "{words:?}");
    }
    assert!(words.iter().any(|word| word == "--sources"));
    let group = &stack["groups"][0];
    assert_eq!(group["stack"].as_array().unwrap().len(), group["sources"].as_array().unwrap().len());
    assert!(server.invalid("stack", json!({})).contains("frame"));
}

#[test]
fn unknown_tools_and_arguments_are_errors() {
    let folder = folder();
    let mut server = Server::ready(&["demo:"], folder.path());
    for (tool, arguments, told) in [
        ("leaks", json!({}), "leaks"),
        ("whatif", json!({}), "whatif"),
        ("export", json!({}), "export"),
        ("report", json!({"colour": "red"}), "colour"),
        ("report", json!({"symbols": "."}), "symbols"),
        ("report", json!({"html": "out.html"}), "html"),
        ("report", json!({"memory_limit": 1}), "memory_limit"),
        ("report", json!({"root": "/"}), "root"),
        ("report", json!({"not-frame": "x"}), "not-frame"),
        ("findings", json!({"write_baseline": "out.json"}), "write_baseline"),
        ("open", json!({"by": "stack"}), "by"),
        ("diff", json!({"a": "demo:"}), "b"),
        ("report", json!({"files": 7, "top": []}), "top"),
        ("report", json!({"max_bytes": -1}), "max_bytes"),
    ] {
        let message = server.invalid(tool, arguments.clone());
        assert!(message.contains(told), "{tool} {arguments}: {message}");
    }
    assert_eq!(server.answered("report", json!({"layer": null, "top": 1}))["schema"], "highwater.report/1", "null is nothing");
    assert!(std::fs::read_dir(folder.path()).unwrap().count() == 2, "nothing was written");
}

#[test]
fn what_the_command_line_refuses_is_told_in_its_sentence() {
    let folder = folder();
    std::fs::write(folder.path().join("no trace.etl"), "nothing").unwrap();
    std::fs::write(folder.path().join("bad.toml"), "[[tag]\n").unwrap();
    let mut server = Server::ready(&["demo:"], folder.path());
    for (tool, arguments, line) in [
        ("report", json!({"process": "MemoryTestAp.exe"}), &["report", "demo:", "--process", "MemoryTestAp.exe"][..]),
        ("report", json!({"layer": "roof"}), &["report", "demo:", "--layer", "roof"]),
        ("report", json!({"from": 5, "to": 4}), &["report", "demo:", "--from", "5", "--to", "4"]),
        ("report", json!({"from": 900}), &["report", "demo:", "--from", "900"]),
        ("report", json!({"from": "mark:nowhere"}), &["report", "demo:", "--from", "mark:nowhere"]),
        ("report", json!({"by": "colour"}), &["report", "demo:", "--by", "colour"]),
        ("report", json!({"top": "many"}), &["report", "demo:", "--top", "many"]),
        ("functions", json!({"of": "Nobody"}), &["functions", "demo:", "--of", "Nobody"]),
        ("open", json!({"files": ["none.etl"]}), &["info", "none.etl"]),
        ("open", json!({"files": ["no trace.etl"]}), &["info", "no trace.etl"]),
        ("findings", json!({"stack_rules": "bad.toml"}), &["findings", "demo:", "--stack-rules", "bad.toml"]),
        ("report", json!({"trackers": "bad.toml"}), &["report", "demo:", "--trackers", "bad.toml"]),
        ("diff", json!({"a": "demo:@5..4", "b": "demo:"}), &["diff", "demo:@5..4", "demo:"]),
        ("diff", json!({"a": "demo:", "b": "none.etl"}), &["diff", "demo:", "none.etl"]),
    ] {
        let told = server.refused(tool, arguments.clone());
        let printed = run(line.iter().chain(&["--json"]), folder.path());
        assert!(printed.code == Some(1) || printed.code == Some(2), "{printed:?}");
        // Of Windows' programs the command line knows the whole name.
        let err = printed.err.replace("highwater.exe", "highwater");
        assert_eq!(err, format!("highwater: {told}\n"), "{tool} {arguments}");
    }
    let mut server = Server::ready(&[], folder.path());
    assert!(server.refused("open", json!({})).contains("FILE"), "no file, neither here nor there");
}

/// Bytes of JSON as Python prints it.
fn bytes(value: &Value) -> usize {
    let (text, mut is_text, mut is_escaped) = (value.to_string(), false, false);
    let mut blanks = 0;
    for c in text.chars() {
        blanks += usize::from(!is_text && matches!(c, ',' | ':'));
        (is_text, is_escaped) = match c {
            _ if is_escaped => (is_text, false),
            '\\' => (is_text, is_text),
            '"' => (!is_text, false),
            _ => (is_text, false),
        };
    }
    text.len() + blanks
}

#[test]
fn answers_are_bounded_and_say_what_was_left_out() {
    let folder = folder();
    let mut server = Server::ready(&["demo:"], folder.path());
    let asked = json!({"by": "process,stack,type,thread,size,lifetime"});
    let whole = run(["report", "demo:", "--by", "process,stack,type,thread,size,lifetime", "--json"], folder.path());
    let whole: Value = serde_json::from_str(&whole.out).unwrap();
    let list = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    assert!(bytes(&whole) > 40_000, "{}", bytes(&whole));
    for most in [None, Some(3_000), Some(20_000), Some(50_000)] {
        let mut asked = asked.clone();
        most.iter().for_each(|most: &u64| asked["max_bytes"] = json!(most));
        let message = server.call("report", asked);
        let (value, text) = (&message["result"]["structuredContent"], &message["result"]["content"][0]["text"]);
        let most = most.unwrap_or(20_000) as usize;
        assert!(bytes(value) <= most && text.as_str().unwrap().len() <= most, "{most}: {}", bytes(value));
        assert!(most < 20_000 || bytes(value) > most / 2, "{most}: {}", bytes(value));
        let mut missing = 0;
        for (name, all) in whole.as_object().unwrap() {
            match all {
                Value::Array(all) => {
                    let shown = list(value, name);
                    assert_eq!(shown[..], all[..shown.len()], "{name} begins as it does");
                    missing += all.len() - shown.len();
                }
                Value::Object(_) => missing += shorter(all, &value[name]),
                other => assert_eq!(&value[name], other, "{name}"),
            }
        }
        assert_eq!(value["truncated"].as_u64(), Some(missing as u64), "{most}");
        let keys: Vec<&String> = value.as_object().unwrap().keys().filter(|key| whole.get(key.as_str()).is_none()).collect();
        assert_eq!(keys, ["command", "truncated"]);
    }
    let refused = server.refused("report", json!({"max_bytes": 100}));
    assert!(refused.contains("max_bytes"), "{refused}");
}

/// How many entries the lists of an object have lost.
fn shorter(whole: &Value, shown: &Value) -> usize {
    match whole {
        Value::Object(entries) => entries.iter().map(|(name, value)| shorter(value, &shown[name])).sum(),
        Value::Array(list) => list.len() - shown.as_array().map_or(0, Vec::len),
        _ => 0,
    }
}
