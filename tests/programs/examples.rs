//! The examples in the help of each command do what they say.

use std::collections::BTreeSet;

use crate::common::highwater;
use crate::documents::{Folder, Line, not_run};

/// The commands that a help lists.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

/// The examples of a command and its subcommands.
fn examples(words: &[String], all: &mut Vec<String>) {
    let help = highwater(words.iter().map(String::as_str).chain(["--help"])).out;
    let found = help.lines().skip_while(|line| *line != "Examples:").filter_map(|line| line.strip_prefix("  highwater"));
    all.extend(found.map(|line| format!("highwater{line}")));
    for command in commands(&help) {
        examples(&[words, &[command]].concat(), all);
    }
}

#[test]
fn each_example_of_the_help_runs_as_it_is_written() {
    let folder = Folder::new();
    let mut all = Vec::new();
    examples(&[], &mut all);
    assert!(all.len() > 25, "{all:?}");
    let mut ran = 0;
    for line in all.iter().filter(|line| not_run(line, &mut BTreeSet::new()).is_none()) {
        let run = Line::parse(line).unwrap().run(folder.path());
        assert_eq!(run.code, Some(0), "{line}: {run:?}");
        ran += 1;
    }
    assert!(ran > 20, "{ran} of {}", all.len());
    for written in ["out.html", "budget.toml", "memory.xml", "game.pb.gz", "blocks.csv", "lake", "spike.etl"] {
        assert!(folder.path().join(written).exists(), "{written}");
    }
    let blocks = std::fs::read_to_string(folder.path().join("blocks.csv")).unwrap();
    let report = highwater(["report", "demo:", "--layer", "heap", "--json", "--by", "process"]).out;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let count: u64 = report["groups"].as_array().unwrap().iter().map(|group| group["count"].as_u64().unwrap()).sum();
    assert_eq!(blocks.lines().count() as u64 - 1, count, "a line for each block of the report");
}
