//! The job of `docs/ci-example.md` fails with 3 when its rule is tightened. That it passes as it is written, a test of
//! all documents shows.

use std::fs;

use crate::documents::{Folder, Line, blocks};

const DOCUMENT: &str = include_str!("../../docs/ci-example.md");

/// The text of the blocks of a language.
fn texts(language: &str) -> Vec<String> {
    let blocks = blocks(&DOCUMENT.replace("\r\n", "\n")).into_iter();
    blocks.filter(|block| block.language == language).map(|block| block.text()).collect()
}

/// The lines of the document's blocks for a shell.
fn commands() -> Vec<String> {
    let lines = texts("sh").concat();
    lines.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn the_example_passes_and_fails_with_3_when_its_rule_is_tightened() {
    let folder = Folder::new();
    let blocks = blocks(DOCUMENT).into_iter().filter(|block| block.language == "toml").collect::<Vec<_>>();
    let [rules] = &blocks[..] else { panic!("{blocks:?}") };
    folder.write_named(rules);
    let run = |line: &str| Line::parse(line).unwrap().run(folder.path());
    let commands = commands();
    assert_eq!(commands.len(), 5);
    for line in &commands {
        let run = run(line);
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
    assert!(rules.text().contains(from));
    fs::write(folder.path().join("memory-rules.toml"), rules.text().replace(from, to)).unwrap();
    let check = commands.iter().find(|line| line.contains("--junit")).unwrap();
    let failed = run(check);
    assert_eq!((failed.code, &failed.out), (Some(3), &texts("text")[0]), "{failed:?}");
    let junit = fs::read_to_string(folder.path().join("memory-junit.xml")).unwrap();
    assert!(junit.contains("failures=\"1\"") && junit.contains("<failure message=\"Budget of the program: "), "{junit}");

    let annotated = commands.iter().find(|line| line.contains("--annotate")).unwrap();
    let failed = run(annotated);
    assert_eq!((failed.code, &failed.out), (Some(3), &texts("text")[1]), "{failed:?}");

    let diff = commands.iter().find(|line| line.contains("--fail-over 1M")).unwrap();
    assert_eq!(run(&diff.replace("--fail-over 1M", "--fail-over 10K")).code, Some(3));
    let comment = fs::read_to_string(folder.path().join("memory.md")).unwrap();
    assert!(comment.contains("grew by more than the limit"), "{comment}");
}

#[test]
fn the_workflow_runs_the_same_lines() {
    let workflow = texts("yaml").concat();
    let lines = workflow.lines().map(|line| line.trim().trim_start_matches("run: "));
    let lines: Vec<&str> = lines.filter(|line| line.starts_with("highwater ")).collect();
    assert_eq!(lines, commands()[2..4], "the check and the comparison");
}
