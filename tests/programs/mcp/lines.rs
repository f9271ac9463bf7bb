//! Lines that no client should send.

use std::path::Path;

use serde_json::json;

use super::client::{Server, program};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Lines that are no messages.
fn odd_lines() -> Vec<Vec<u8>> {
    let texts: [&str; 20] = [
        "",
        " ",
        "hello",
        "{",
        "}",
        "[]",
        "[1,2]",
        "null",
        "7",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"1.0","id":900,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":901}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":902,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":903,"error":{"code":1,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/none","params":{"a":[]}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"[{"jsonrpc":"2.0","id":904,"method":"ping"}]"#,
        "\u{feff}\u{202e}",
    ];
    let mut lines: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    lines.push(b"\xff\xfe\x00{\x80".to_vec());
    lines.push(b"\r".to_vec());
    lines.push([&b"{\"a\":"[..], &b"[".repeat(100_000)].concat());
    lines.push(b"{\"jsonrpc\":\"2.0\",\"id\":905,\"method\":\"ping\xc3\x28\"}".to_vec());
    lines
}

#[test]
fn what_is_no_message_is_passed_over_before_and_after_the_handshake() {
    let mut server = Server::start(program(&["demo:"], here()));
    for _ in 0..2 {
        for line in odd_lines() {
            server.write(&[&line[..], b"\n"].concat());
        }
        server.introduce("2025-06-18");
        assert_eq!(server.ask("ping", json!({}))["result"], json!({}));
        assert_eq!(server.answered("report", json!({"top": 1}))["schema"], "highwater.report/1");
    }
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn requests_in_another_form_are_errors() {
    let mut server = Server::ready(&["demo:"], here());
    for (method, params, code) in [
        ("tools/none", json!({}), -32601),
        ("resources/list", json!({}), -32601),
        ("tools/call", json!({"name": "none"}), -32602),
        ("tools/call", json!({"name": "report", "arguments": []}), -32602),
        ("tools/call", json!({"name": "report", "arguments": "by"}), -32602),
        ("tools/call", json!({"name": 7}), -32602),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": "report", "arguments": {"by": {"a": 1}}}), -32602),
    ] {
        let answer = server.ask(method, params.clone());
        let acceptable = if method == "resources/list" { answer.get("error").is_none() } else { false };
        assert!(acceptable || answer["error"]["code"] == json!(code), "{method} {params}: {answer}");
    }
    assert_eq!(server.ask("tools/call", json!({"name": "open"}))["result"]["isError"], json!(false), "arguments may be left out");
    assert_eq!(server.end().code, Some(0));
}

/// The most memory that a process has used, where the system tells it.
fn peak(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

#[test]
fn a_line_without_an_end_takes_no_memory() {
    const MEGABYTES: usize = 256;
    let mut server = Server::ready(&["demo:"], here());
    let before = peak(server.id());
    let much = vec![b'['; 1 << 20];
    server.write(br#"{"jsonrpc":"2.0","id":77,"method":"ping","params":{"a":""#);
    for _ in 0..MEGABYTES {
        server.write(&much);
    }
    server.write(b"\n");
    assert_eq!(server.ask("ping", json!({}))["result"], json!({}), "and the next line counts");
    if let (Some(before), Some(after)) = (before, peak(server.id())) {
        assert!(after - before < 64 << 20, "{} MB for {MEGABYTES} MB", (after - before) >> 20);
    }
    // One that is never ended.
    server.write(&much);
    assert_eq!(server.end().code, Some(0));
}
