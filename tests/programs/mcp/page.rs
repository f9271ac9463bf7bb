//! `docs/agents.md`: the calls of its session are sent as they stand there, and answered as it shows.

use std::path::Path;

use serde_json::Value;

use super::client::{Server, agrees};

const DOCUMENT: &str = include_str!("../../../docs/agents.md");

/// The blocks of JSON in the session.
fn blocks() -> Vec<Value> {
    let (_, session) = DOCUMENT.split_once("\n## A session\n").unwrap();
    let (session, _) = session.split_once("\n## ").unwrap();
    let parts: Vec<&str> = session.split("```").collect();
    let blocks = parts.iter().skip(1).step_by(2).map(|block| block.strip_prefix("json\n").unwrap());
    blocks.map(|block| serde_json::from_str(block).unwrap()).collect()
}

/// Whether an answer has what the page shows of it: each key with its value, each list entry for entry.
fn shows(answer: &Value, shown: &Value) -> bool {
    match (answer, shown) {
        (Value::Object(answer), Value::Object(shown)) => {
            shown.iter().all(|(key, value)| answer.get(key).is_some_and(|answer| shows(answer, value)))
        }
        (Value::Array(answer), Value::Array(shown)) => {
            answer.len() == shown.len() && answer.iter().zip(shown).all(|(answer, shown)| shows(answer, shown))
        }
        (answer, shown) => answer == shown,
    }
}

#[test]
fn the_session_of_the_page_finds_the_leak_in_four_calls() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut server = Server::ready(&[], folder);
    let blocks = blocks();
    let calls: Vec<&[Value]> = blocks.chunks(2).collect();
    assert!(calls.len() <= 4 && blocks.len() == 2 * calls.len());
    let mut bytes = 0;
    for call in &calls {
        let [asked, shown] = call else { panic!("{call:?}") };
        let answer = server.answered(asked["name"].as_str().unwrap(), asked["arguments"].clone());
        assert!(shows(&answer, shown), "{asked}: {answer}");
        bytes += answer.to_string().len();
        agrees(&answer, folder);
    }
    assert!(bytes < 10_000, "{bytes}");
    assert_eq!(server.end().code, Some(0));
    // What the page concludes is in the answers.
    for part in ["InnerLoopOperation", "main.cpp:48", "43,520 bytes in 1,088 blocks"] {
        assert!(DOCUMENT.split_once("The answer: ").unwrap().1.contains(part), "{part}");
    }
    assert_eq!((&calls[1][1]["findings"][0]["bytes"], &calls[3][1]["groups"][0]["count"]), (&43_520.into(), &1_088.into()));
}

#[test]
fn the_page_names_each_tool_and_the_settings_are_read_by_clients() {
    let (_, tools) = DOCUMENT.split_once("\n## Tools\n").unwrap();
    let rows = tools.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut named: Vec<&str> = rows.take_while(|name| !name.contains(' ')).collect();
    named.sort_unstable();
    assert_eq!(named, ["diff", "findings", "functions", "info", "open", "pages", "report", "stack"]);
    let (setup, _) = DOCUMENT.split_once("\n## Tools\n").unwrap();
    let blocks = setup.split("```").skip(1).step_by(2);
    let mut read = 0;
    for block in blocks {
        let (language, text) = block.split_once('\n').unwrap();
        let arguments = match language {
            "json" => {
                let settings: Value = serde_json::from_str(text).unwrap();
                let servers = settings.as_object().unwrap().values().next().unwrap();
                serde_json::from_value(servers["highwater"]["args"].clone()).unwrap()
            }
            "toml" => {
                let settings: toml::Table = text.parse().unwrap();
                let arguments = settings["mcp_servers"]["highwater"]["args"].as_array().unwrap();
                arguments.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
            }
            _ => text.trim().split_once(" -- highwater ").unwrap().1.split(' ').map(str::to_owned).collect::<Vec<String>>(),
        };
        assert_eq!(arguments, ["mcp", "--root", r"C:\traces"], "{block}");
        read += 1;
    }
    assert_eq!(read, 4);
}
