//! `packaging/ci`: the shell parts of the GitHub action and the GitLab template run as they are written, on the demo.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Run, skip};

const ACTION: &str = include_str!("../../packaging/ci/github/action.yml");
const WORKFLOW: &str = include_str!("../../packaging/ci/github/workflow.yml");
const TEMPLATE: &str = include_str!("../../packaging/ci/gitlab/highwater.gitlab-ci.yml");

const RULES: &str = "[[rule]]\nname = \"Budget\"\nprocess = \"MemoryTestApp.exe\"\nlayer = \"commit\"\npeak = \"32M\"\n";

/// The blocks of text (`|`) of a file whose line before them ends with this, without their indentation.
fn blocks(text: &str, before: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.trim_start().starts_with(before) || !line.ends_with('|') {
            continue;
        }
        let indent = lines.peek().map_or(0, |line| line.len() - line.trim_start().len());
        let mut block = String::new();
        while let Some(line) = lines.next_if(|line| line.trim().is_empty() || line.len() - line.trim_start().len() >= indent) {
            block += line.get(indent..).unwrap_or_default();
            block.push('\n');
        }
        found.push(block);
    }
    found
}

/// Runs a step as the services do (bash, which stops at the first failure), with the program on the PATH.
fn step(folder: &Path, script: &str, variables: &BTreeMap<&str, &str>) -> Option<Run> {
    let program = Path::new(env!("CARGO_BIN_EXE_highwater")).parent().unwrap();
    let path =
        std::env::join_paths([program.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH")?))).ok()?;
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(folder).env("PATH", path);
    bash.env_remove("CI_PROJECT_DIR")
        .env("GITHUB_WORKSPACE", r"C:\MemoryTestApp")
        .env("GITHUB_STEP_SUMMARY", folder.join("summary.md"));
    let output = bash.envs(variables).output().ok()?;
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Some(Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) })
}

fn has_bash() -> bool {
    let has = cfg!(unix) && Command::new("bash").arg("--version").output().is_ok();
    if !has {
        skip("no bash");
    }
    has
}

#[test]
fn the_steps_of_the_action_run_as_they_are_written() {
    if !has_bash() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rules.toml"), RULES).unwrap();
    let steps = blocks(ACTION, "run: ");
    let [record, check, compare, summary] = &steps[..] else { panic!("{steps:#?}") };
    let variables = |fail_over| {
        BTreeMap::from([
            ("CAPTURE", "demo:"),
            ("RULES", "rules.toml"),
            ("SYMBOLS", ""),
            ("SOURCE_ROOT", ""),
            ("BASELINE", "demo:@0..20"),
            ("FAIL_OVER", fail_over),
            ("LAUNCH", "game.exe"),
        ])
    };
    let run = |script: &str, fail_over| step(folder.path(), script, &variables(fail_over)).unwrap();
    // Recording needs Windows: here the line is understood, and refused for that.
    let said = run(record, "");
    assert!(said.code == Some(1) && said.err.contains("recording works on Windows only"), "{said:?}");
    let said = run(check, "");
    assert!(said.code == Some(3) && said.out.starts_with("::error file=main.cpp,line=33,title=Budget::Budget: "), "{said:?}");
    assert_eq!(run(compare, "").code, Some(0));
    let said = run(compare, "1K");
    assert!(said.code == Some(3) && said.out.contains("title=Memory grew::"), "{said:?}");
    assert_eq!(run(summary, "").code, Some(0));
    let summary = fs::read_to_string(folder.path().join("summary.md")).unwrap();
    assert!(summary.contains("### Memory limits: ") && summary.contains("### Memory: "), "{summary}");
    for (name, begin) in [("memory.xml", "<?xml"), ("memory.sarif", "{"), ("memory-diff.md", "### Memory: ")] {
        assert!(fs::read_to_string(folder.path().join(name)).unwrap().starts_with(begin), "{name}");
    }
    // A build that is well.
    fs::write(folder.path().join("rules.toml"), RULES.replace("32M", "48M")).unwrap();
    let said = run(check, "");
    assert!(said.code == Some(0) && !said.out.contains("::error"), "{said:?}");
    // Other options are taken as well.
    let mut all = variables("");
    all.extend([("SYMBOLS", "."), ("SOURCE_ROOT", r"C:\")]);
    for script in [check, compare] {
        assert_eq!(step(folder.path(), script, &all).unwrap().code, Some(0));
    }
}

#[test]
fn the_script_of_the_template_runs_as_it_is_written() {
    if !has_bash() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rules.toml"), RULES).unwrap();
    let scripts = blocks(TEMPLATE, "- ");
    let [script] = &scripts[..] else { panic!("{scripts:#?}") };
    let run = |more: &[(&'static str, &'static str)]| {
        let mut variables = BTreeMap::from([
            ("HIGHWATER_CAPTURE", "demo:"),
            ("HIGHWATER_RULES", "rules.toml"),
            ("HIGHWATER_BASELINE", ""),
            ("HIGHWATER_FAIL_OVER", ""),
            ("HIGHWATER_SYMBOLS", ""),
            ("HIGHWATER_SOURCE_ROOT", ""),
        ]);
        variables.extend(more.iter().copied());
        step(folder.path(), script, &variables).unwrap()
    };
    let there = |name: &str| folder.path().join(name).exists();
    let said = run(&[]);
    assert!(said.code == Some(3) && said.out.starts_with("Budget: ") && !there("memory-diff.md"), "{said:?}");
    assert!(fs::read_to_string(folder.path().join("memory.xml")).unwrap().contains("file=\"main.cpp\""));
    // The comparison is made whatever came of the check, whose exit code counts first.
    assert_eq!(run(&[("HIGHWATER_BASELINE", "demo:@0..20"), ("HIGHWATER_FAIL_OVER", "1G")]).code, Some(3));
    assert!(there("memory-diff.md") && there("memory-check.md") && there("memory.sarif"));
    fs::write(folder.path().join("rules.toml"), RULES.replace("32M", "48M")).unwrap();
    assert_eq!(run(&[("HIGHWATER_SYMBOLS", "."), ("HIGHWATER_SOURCE_ROOT", "/")]).code, Some(0));
    assert_eq!(run(&[("HIGHWATER_BASELINE", "demo:@0..20"), ("HIGHWATER_FAIL_OVER", "1K")]).code, Some(3));
    assert_eq!(run(&[("HIGHWATER_CAPTURE", "missing.etl")]).code, Some(1));
}

#[test]
fn files_and_inputs_are_those_of_the_steps() {
    // What the steps write is what is uploaded.
    for name in ["memory.xml", "memory-check.md", "memory-diff.md", "memory.sarif"] {
        assert!(ACTION.contains(&format!("\n          {name}\n")), "{name}");
    }
    assert!(TEMPLATE.contains("    reports:\n      junit: memory.xml\n"));
    // The example gives inputs that there are.
    let inputs: Vec<&str> = WORKFLOW.lines().skip_while(|line| *line != "        with:").skip(1).collect();
    assert!(!inputs.is_empty());
    for input in inputs {
        let name = input.trim().split(':').next().unwrap();
        assert!(ACTION.contains(&format!("\n  {name}:\n    description: ")), "{name}");
    }
}
