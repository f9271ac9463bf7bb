//! The two programs of Windows: one for Explorer, one for shells, told apart by one
//! field of their files; and what the one for shells hands on. Only what hands on is
//! tested on other systems.

use std::process::{Command, Output};

const CONSOLE: &str = env!("CARGO_BIN_EXE_highwater-console");

fn console(words: &[&str]) -> Output {
    Command::new(CONSOLE).args(words).output().unwrap()
}

#[test]
fn output_and_words_pass_through() {
    let version = console(&["--version"]);
    assert_eq!(String::from_utf8(version.stdout).unwrap().trim(), concat!("highwater ", env!("CARGO_PKG_VERSION")));
    let name = "spaces and \"quotes\" é.etl";
    let refused = console(&["info", name]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains(name), "{message}");
    assert!(refused.stdout.is_empty());
}

#[test]
fn exit_codes_pass_through() {
    for (words, code) in [(&["info", "demo:"][..], 0), (&["info", "no-such.etl"], 1), (&["report"], 2)] {
        assert_eq!(console(words).status.code(), Some(code), "{words:?}");
    }
}

/// What clients of the Model Context Protocol start: pipes on both sides.
#[test]
#[cfg(feature = "mcp")]
fn pipes_pass_through() {
    use std::io::Write;
    let mut child = Command::new(CONSOLE)
        .args(["mcp", "demo:"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let client = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}"#;
    let lines = [
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{client}}}"#),
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"open","arguments":{}}}"#.to_owned(),
    ];
    child.stdin.take().unwrap().write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<serde_json::Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[1]["result"]["structuredContent"]["command"], "highwater info demo: --json", "{answers:?}");
}

/// The field Subsystem of a program file: 0x5C behind the signature "PE\0\0", whose
/// place stands at 0x3C (Microsoft's PE format, optional header).
#[cfg(windows)]
fn subsystem(file: &str) -> u16 {
    let bytes = std::fs::read(file).unwrap();
    let header = u32::from_le_bytes(bytes[0x3C..0x40].try_into().unwrap()) as usize;
    assert_eq!(&bytes[header..header + 4], b"PE\0\0");
    u16::from_le_bytes(bytes[header + 0x5C..header + 0x5E].try_into().unwrap())
}

#[test]
#[cfg(windows)]
fn explorer_gets_a_program_without_a_console_and_shells_one_with() {
    const WINDOWS: u16 = 2;
    const CONSOLE_SUBSYSTEM: u16 = 3;
    assert_eq!(subsystem(env!("CARGO_BIN_EXE_highwater")), WINDOWS);
    assert_eq!(subsystem(CONSOLE), CONSOLE_SUBSYSTEM);
}

#[test]
#[cfg(windows)]
fn nothing_has_to_be_installed_beside_the_programs() {
    for file in [env!("CARGO_BIN_EXE_highwater"), CONSOLE] {
        let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).to_lowercase();
        for runtime in ["vcruntime140", "msvcp140", "libgcc_s", "libwinpthread", "libstdc++"] {
            assert!(!text.contains(&format!("{runtime}.dll")) && !text.contains(&format!("{runtime}-")), "{file}: {runtime}");
        }
    }
}
