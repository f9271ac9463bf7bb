//! Which rules can be held against a trace, which files are no rules, and rules to begin with.

use std::fs;
use std::path::Path;

use super::output::testcases;
use super::{Folder, hostile_names, list, namesakes, quoted_names};
use crate::common::trace::{small, without_memory_events};
use crate::common::{Run, highwater};
use serde_json::Value;

#[test]
fn what_finds_nothing_is_skipped_and_says_so() {
    let folder = Folder::new();
    let empty = folder.write("empty.etl", without_memory_events());
    let small = folder.write("small.etl", small(false));
    let rules = "[[rule]]\nname = \"anything\"\npeak = 0\n";
    for (capture, rules, words, why) in [
        (empty.as_str(), rules, &[][..], "no matching allocations"),
        (&small, rules, &["--size", "1..1"], "no matching allocations"),
        (&small, "[[rule]]\nname = \"anything\"\npeak = 0\nprocess = \"nobody\"\n", &[], "no process is called"),
        (&small, rules, &["--from", "0", "--to", "0.000001"], "no matching allocations"),
        (&small, rules, &["--from", "0", "--to", "0"], "no matching allocations"),
        (&small, "[[rule]]\nname = \"anything\"\npeak = 0\nfrom = 500\n", &[], "outside of what was read"),
        (&small, "[[rule]]\nname = \"anything\"\nlayer = \"commit\"\nat_exit_count = 0\n", &[], "at_exit_count: no process"),
        (&small, "[[rule]]\nname = \"anything\"\nto = 0.0001\nat_exit_size = 0\n", &[], "at_exit_size: no process"),
    ] {
        let junit = folder.path("out.xml");
        let run = folder.check(capture, rules, &[words, &["--junit", junit.to_str().unwrap()]].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{run:?}");
        assert!(run.err.lines().any(|line| line.contains("rule anything") && line.contains(why)), "{why}: {run:?}");
        assert!(run.err.contains("0 passed, 0 broken, 1 skipped"), "{run:?}");
        let cases = testcases(&fs::read_to_string(&junit).unwrap());
        assert!(cases["anything"].0 == "skipped" && cases["anything"].1.contains(why), "{cases:?}");
        let (checked, _) = folder.checked(capture, rules, words);
        assert_eq!(checked["rules"][0]["outcome"], "skipped");
        // What is required is broken then.
        let run = folder.check(capture, &format!("{rules}required = true\n"), words);
        assert!(run.code == Some(3) && run.out.contains("anything: required, but ") && run.out.contains(why), "{run:?}");
        assert_eq!(run.out.lines().count(), 1, "{run:?}");
    }
    for text in ["", "# nothing\n"] {
        let run = folder.check(&small, text, &[]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{run:?}");
    }
    assert_eq!(folder.check(&small, "[[rule]]\nrequired = true\n", &[]).code, Some(0));
}

#[test]
fn bad_rules_are_one_line_with_file_and_line() {
    let folder = Folder::new();
    for (rules, line) in [("[[rule]]\npeak = 1\nfrom = 3\nto = 2\n", 4), ("[[rule]]\npeek = 1\n", 2), ("\n\n[[rule]]\n", 3)] {
        let run = folder.check("demo:", rules, &[]);
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(2), "", 1), "{run:?}");
        assert!(run.err.contains(&format!("rules.toml:{line}: ")), "{run:?}");
    }
    let missing = highwater(["check", "demo:", "--rules", folder.path("none.toml").to_str().unwrap()]);
    assert!(missing.code == Some(2) && missing.err.contains("none.toml cannot be read") && missing.err.lines().count() == 1);
    for words in [
        &["check", "demo:"][..],
        &["check"],
        &["check", "demo:", "--rules", "a", "--force"],
        &["check", "demo:", "--init", "--json"],
    ] {
        assert_eq!(highwater(words).code, Some(2), "{words:?}");
    }
    // A capture that is not there is another failure.
    assert_eq!(folder.check("nowhere.etl", "", &[]).code, Some(1));
}

fn init(capture: &str, out: &Path, words: &[&str]) -> Run {
    highwater(["check", capture, "--init", "-o", out.to_str().unwrap()].iter().chain(words))
}

#[test]
fn rules_to_begin_with_hold_for_their_trace() {
    let folder = Folder::new();
    let mut captures = vec![
        "demo:".to_owned(),
        folder.write("small.etl", small(false)),
        folder.write("namesakes.etl", namesakes()),
        folder.write("hostile.etl", hostile_names()),
        folder.write("empty.etl", without_memory_events()),
        folder.write("quoted.etl", quoted_names()),
    ];
    for scenario in ["heap", "commit", "trackers"] {
        let path = folder.path(&format!("{scenario}.etl"));
        let words = [scenario, "--events", "5000", "--processes", "3", "-o", path.to_str().unwrap()];
        highwater_dev::command::synth(words).unwrap();
        captures.push(path.to_str().unwrap().to_owned());
    }
    for (i, capture) in captures.iter().enumerate() {
        let out = folder.path(&format!("{i}.toml"));
        let run = init(capture, &out, &["--quiet"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{capture}");
        let text = fs::read_to_string(&out).unwrap();
        let run = highwater(["check", capture, "--rules", out.to_str().unwrap(), "--json"]);
        assert_eq!(run.code, Some(0), "{capture}: {run:?}\n{text}");
        let checked: Value = serde_json::from_str(&run.out).unwrap();
        let rules = list(&checked, "rules");
        assert!(rules.iter().all(|rule| rule["outcome"] == "passed"), "{capture}: {checked}");
        let is_bare = capture.ends_with("hostile.etl") || capture.ends_with("empty.etl");
        assert_eq!(rules.is_empty(), is_bare, "{capture}: {text}");
        // Printed they are the same.
        assert_eq!(highwater(["check", capture, "--init", "--quiet"]).out, text);
    }
}

#[test]
fn rules_to_begin_with_are_about_the_part_that_they_are_made_from() {
    let folder = Folder::new();
    let out = folder.path("rules.toml");
    assert_eq!(init("demo:", &out, &["--from", "5.25", "--to", "12", "--process", "MemoryTestApp.exe"]).code, Some(0));
    let text = fs::read_to_string(&out).unwrap();
    assert!(text.contains("\nfrom = 5.25\nto = 12\n") && !text.contains("TelemetryService"), "{text}");
    let run = highwater(["check", "demo:", "--rules", out.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{run:?}\n{text}");
    // Conditions that the rules do not have.
    for words in [["--size", "1K.."], ["--heap", "0x1d0000"], ["--not-frame", "main"], ["--freed", "never"]] {
        let run = init("demo:", &folder.path("other.toml"), &words);
        assert!(run.code == Some(2) && run.err.contains(words[0]) && run.err.lines().count() == 1, "{run:?}");
    }
    assert!(!folder.path("other.toml").exists());
    // A minus is the standard output, as it is for exports.
    let run = highwater(["check", "demo:", "--init", "-o", "-", "--quiet"]);
    assert!(run.code == Some(0) && run.out.contains("[[rule]]") && !Path::new("-").exists(), "{run:?}");
}

#[test]
fn no_file_that_is_read_is_written_to() {
    let folder = Folder::new();
    let trace = folder.write("small.etl", small(false));
    let rules = folder.write("rules.toml", "[[rule]]\npeak = \"1G\"\n");
    let before = fs::read(&trace).unwrap();
    for words in [
        ["check", &trace, "--rules", &rules, "--junit", &trace],
        ["check", &trace, "--rules", &rules, "--junit", &rules],
        ["check", &trace, "--init", "--force", "-o", &trace],
    ] {
        let run = highwater(words);
        assert!(run.code == Some(2) && run.err.contains("this file is read"), "{run:?}");
    }
    assert_eq!((fs::read(&trace).unwrap(), fs::read_dir(folder.folder.path()).unwrap().count()), (before, 2));
    assert_eq!(fs::read_to_string(&rules).unwrap(), "[[rule]]\npeak = \"1G\"\n");
}

#[test]
fn rules_to_begin_with_overwrite_nothing_unasked() {
    let folder = Folder::new();
    let rules = folder.write("mine.toml", "# mine\n");
    for words in [["-o", &rules], ["--rules", &rules]] {
        let run = highwater(["check", "demo:", "--init"].iter().chain(&words));
        assert!(run.code == Some(2) && run.err.contains("--force") && run.err.lines().count() == 1, "{run:?}");
        assert_eq!(fs::read_to_string(&rules).unwrap(), "# mine\n");
    }
    assert_eq!(init("nowhere.etl", Path::new(&rules), &["--force"]).code, Some(1));
    assert_eq!(fs::read_to_string(&rules).unwrap(), "# mine\n");
    assert_eq!(init("demo:", Path::new(&rules), &["--force"]).code, Some(0));
    assert!(fs::read_to_string(&rules).unwrap().contains("[[rule]]"));
    assert_eq!(fs::read_dir(folder.folder.path()).unwrap().count(), 1, "no draft stays");
    assert_eq!(init("demo:", &folder.path("no").join("a.toml"), &[]).code, Some(1));
}
