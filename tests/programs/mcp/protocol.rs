//! The handshake, the list of tools, and how the server ends.

use std::path::Path;

use serde_json::{Value, json};

use super::client::{Server, program};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn versions_from_2024_on_are_spoken_and_others_are_offered_one_of_them() {
    let versions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
    for (asked, is_known) in
        versions.map(|version| (version, true)).into_iter().chain([("1999-01-01", false), ("2099-01-01", false)])
    {
        let mut server = Server::start(program(&["demo:"], here()));
        let answer = server.introduce(asked);
        let version = answer["protocolVersion"].as_str().unwrap();
        assert!(if is_known { version == asked } else { versions.contains(&version) }, "{asked}: {answer}");
        assert_eq!(answer["serverInfo"]["name"], "highwater");
        assert!(answer["capabilities"]["tools"].is_object() && answer["instructions"].is_string(), "{answer}");
        assert_eq!(server.ask("ping", json!({}))["result"], json!({}));
        let open = server.answered("open", json!({}));
        assert_eq!(open["schema"], "highwater.info/1", "{asked}");
        assert_eq!(server.end().code, Some(0), "{asked}");
    }
}

/// Clients of 2026-07-28 begin without a handshake; each request says who asks.
#[test]
fn the_version_without_a_handshake_is_spoken_too() {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let mut server = Server::start(program(&["demo:"], here()));
    let found = server.ask("server/discover", json!({"_meta": meta}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2024-11-05")), "{found}");
    let call = json!({"_meta": meta, "name": "findings", "arguments": {"top": 1}});
    let answer = server.ask("tools/call", call);
    assert_eq!(answer["result"]["structuredContent"]["schema"], "highwater.findings/1", "{answer}");
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn tools_are_listed_with_what_they_take() {
    let mut server = Server::ready(&["demo:"], here());
    let list = server.ask("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    let mut names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["diff", "findings", "functions", "info", "open", "pages", "report", "stack"]);
    for tool in tools {
        let schema = &tool["inputSchema"];
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)), "{tool}");
        assert_eq!((&tool["annotations"]["readOnlyHint"], &tool["annotations"]["openWorldHint"]), (&json!(true), &json!(false)));
        let properties = schema["properties"].as_object().unwrap();
        for never in ["json", "symbols", "html", "write_baseline", "replace", "memory_limit", "root", "wide", "quiet", "each"] {
            assert!(!properties.contains_key(never), "{never}: {tool}");
        }
        assert!(properties.contains_key("max_bytes") && properties.contains_key("trackers"), "{tool}");
        let files = if tool["name"] == "diff" { "a" } else { "files" };
        assert!(properties.contains_key(files), "{tool}");
    }
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn calls_that_are_sent_together_are_all_answered_before_the_end() {
    let mut server = Server::ready(&["demo:"], here());
    let tools = ["report", "findings", "open", "functions", "diff", "nothing"];
    let asked = json!({"report": {"top": 1}, "findings": {"top": 1}, "open": {}, "functions": {"top": 1},
        "diff": {"a": "demo:@0..1", "b": "demo:@1..2", "top": 1}, "nothing": {}});
    // More than wait at a time.
    let ids: Vec<u64> = (0..72)
        .map(|i| tools[i % tools.len()])
        .map(|tool| server.request("tools/call", json!({"name": tool, "arguments": asked[tool]})))
        .collect();
    let ended = server.end();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let mut answered: Vec<u64> = ended.answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, ids);
    let failed = |answer: &&Value| answer.get("error").is_some();
    assert_eq!(ended.answers.iter().filter(failed).count(), ids.len() / tools.len(), "those of no tool");
}

#[test]
fn the_end_of_stdin_is_the_end() {
    let server = Server::start(program(&[], here()));
    let ended = server.end();
    assert_eq!((ended.code, ended.err.as_str(), ended.answers.len()), (Some(0), "", 0));
    let mut server = Server::start(program(&["demo:"], here()));
    server.introduce("2025-06-18");
    // The last line has no end.
    server.write(br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#);
    let ended = server.end();
    assert_eq!((ended.code, &ended.answers[0]["id"]), (Some(0), &json!("last")));
}

#[test]
fn a_call_that_is_cancelled_does_not_keep_the_server() {
    let mut server = Server::ready(&["demo:"], here());
    let ids: Vec<u64> =
        (0..8).map(|_| server.request("tools/call", json!({"name": "findings", "arguments": {"top": 1}}))).collect();
    for id in &ids[4..] {
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    for &id in &ids[..4] {
        assert!(server.answer(id)["result"].is_object());
    }
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn bad_words_are_told_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.etl"), "").unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    for (words, code, told) in [
        (&["none.etl"][..], 1, "none.etl"),
        (&["--root", "none"], 2, "--root none"),
        (&["--root", "a.etl"], 2, "not a folder"),
        (&["a.etl", "--root", "sub"], 2, "--root"),
        (&["--port", "7"], 2, "--port"),
    ] {
        let ended = Server::start(program(words, folder.path())).end();
        assert_eq!((ended.code, ended.err.lines().count(), ended.answers.len()), (Some(code), 1, 0), "{words:?}: {}", ended.err);
        assert!(ended.err.contains(told), "{words:?}: {}", ended.err);
    }
}

/// A panic in a tool is an error of that call; only debug builds can be made to panic.
#[test]
#[cfg(debug_assertions)]
fn a_panic_is_an_error_of_its_call() {
    for fault in ["report", "report pool"] {
        let mut command = program(&["demo:"], here());
        command.env("HIGHWATER_FAULT", fault);
        let mut server = Server::start(command);
        server.introduce("2025-06-18");
        for _ in 0..2 {
            let told = server.refused("report", json!({}));
            assert!(told.contains("internal error") && told.contains("a fault for tests"), "{told}");
            assert_eq!(server.answered("findings", json!({"top": 1}))["schema"], "highwater.findings/1");
        }
        assert_eq!(server.end().code, Some(0), "{fault}");
    }
}
