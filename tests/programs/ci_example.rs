//! `docs/ci-example.md` runs as it is written, passes, and fails with 3 when its rule is tightened.
//! Commands and rules are taken out of the document's fenced blocks; no shell is needed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::Run;

const DOCUMENT: &str = include_str!("../../docs/ci-example.md");

/// The text of the fenced blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = DOCUMENT.lines();
    while let Some(line) = lines.next() {
        if let Some(of) = line.strip_prefix("```") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if of == language {
                found.push(text.join("\n") + "\n");
            }
        }
    }
    found
}

/// The lines of the document's blocks for a shell.
fn commands() -> Vec<String> {
    let blocks = blocks("sh");
    let lines = blocks.iter().flat_map(|block| block.lines());
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
    assert!(lines.iter().all(|line| line.starts_with("highwater ")), "{lines:#?}");
    lines
}

/// Runs a line as a shell would: words between spaces, and where the answer goes.
fn run(folder: &Path, line: &str) -> Run {
    let (words, out) = line.split_once(" > ").map_or((line, None), |(words, out)| (words, Some(out)));
    assert!(!words.contains(['"', '\'', '$', '\\', '|', '>', '&', '*']), "{line} wants a shell");
    let words = words.split_whitespace().skip(1);
    let output = Command::new(env!("CARGO_BIN_EXE_highwater")).args(words).current_dir(folder).output().unwrap();
    if let Some(out) = out {
        fs::write(folder.join(out), &output.stdout).unwrap();
    }
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn the_example_passes_and_fails_with_3_when_its_rule_is_tightened() {
    let folder = tempfile::tempdir().unwrap();
    let rules = blocks("toml");
    let [rules] = &rules[..] else { panic!("{rules:?}") };
    let name = rules.lines().next().unwrap().strip_prefix("# ").unwrap();
    fs::write(folder.path().join(name), rules).unwrap();
    let commands = commands();
    assert_eq!(commands.len(), 4);
    for line in &commands {
        let run = run(folder.path(), line);
        assert_eq!(run.code, Some(0), "{line}: {run:?}");
    }
    let junit = fs::read_to_string(folder.path().join("memory-junit.xml")).unwrap();
    assert!(junit.contains("tests=\"3\" skipped=\"0\" failures=\"0\""), "{junit}");
    let comment = fs::read_to_string(folder.path().join("memory.md")).unwrap();
    assert!(comment.starts_with("### Memory: ") && comment.contains("No group grew by more than the limit"), "{comment}");

    // Tightened as the text says, it says what the text shows.
    let (_, said) = DOCUMENT.split_once("Now tighten a rule, `").unwrap();
    let (from, said) = said.split_once("` to `").unwrap();
    let (to, _) = said.split_once('`').unwrap();
    assert!(rules.contains(from));
    fs::write(folder.path().join(name), rules.replace(from, to)).unwrap();
    let check = commands.iter().find(|line| line.contains("--junit")).unwrap();
    let failed = run(folder.path(), check);
    assert_eq!((failed.code, &failed.out), (Some(3), &blocks("text")[0]), "{failed:?}");
    let junit = fs::read_to_string(folder.path().join("memory-junit.xml")).unwrap();
    assert!(junit.contains("failures=\"1\"") && junit.contains("<failure message=\"Budget of the program: "), "{junit}");

    let diff = commands.iter().find(|line| line.contains("--fail-over 1M")).unwrap();
    let failed = run(folder.path(), &diff.replace("--fail-over 1M", "--fail-over 10K"));
    assert!(failed.code == Some(3) && failed.out.contains("grew by more than the limit"), "{failed:?}");
}

#[test]
fn the_workflow_runs_the_same_lines() {
    let workflow = blocks("yaml");
    let lines = workflow.iter().flat_map(|block| block.lines()).filter_map(|line| line.trim().strip_prefix("run: highwater "));
    let lines: Vec<String> = lines.map(|line| format!("highwater {line}")).collect();
    assert_eq!(lines, commands()[2..], "the check and the comparison");
}
