//! What is said of rules: JUnit, JSON, lines, and nothing.

use std::collections::BTreeMap;
use std::fs;

use super::{Folder, hostile_names, list};
use crate::common::highwater;
use crate::common::trace::small;
use serde_json::Value;

/// The testcases of a JUnit file by name: how each ended, and what is said of it. Strict: tags
/// must nest, and nothing may stand in it that XML does not allow.
pub(super) fn testcases(xml: &str) -> BTreeMap<String, (String, String)> {
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(xml.chars().all(is_allowed), "{xml:?}");
    let unescaped = |text: &str| {
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
        let text = text.replace("&#10;", "\n").replace("&#9;", "\t").replace("&#13;", "\r");
        assert_eq!(text.matches('&').count(), text.matches("&amp;").count(), "{text}");
        text.replace("&amp;", "&")
    };
    let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").unwrap();
    let (mut open, mut cases): (Vec<String>, BTreeMap<String, (String, String)>) = Default::default();
    let mut case = String::new();
    while let Some(at) = rest.find('<') {
        let text = unescaped(&rest[..at]);
        assert!(!open.is_empty() || text.trim().is_empty(), "{xml}");
        let end = at + rest[at..].find('>').unwrap();
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "{xml}");
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap().to_owned();
        let attributes: Vec<&str> = tag[name.len()..].trim_end_matches('/').split('"').collect();
        let attribute = |key: &str| {
            let at = attributes.iter().position(|part| part.trim() == format!("{key}="));
            at.map(|at| unescaped(attributes[at + 1]))
        };
        match name.as_str() {
            "testcase" => {
                case = attribute("name").unwrap();
                cases.insert(case.clone(), ("passed".to_owned(), String::new()));
            }
            "failure" | "skipped" => {
                cases.insert(case.clone(), (name.clone(), attribute("message").unwrap()));
            }
            "testsuites" | "testsuite" | "system-out" => {}
            other => panic!("{other}: {xml}"),
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{xml}");
    cases
}

#[test]
fn junit_has_a_testcase_a_rule_whatever_is_in_names() {
    let folder = Folder::new();
    let path = folder.write("hostile.etl", hostile_names());
    let junit = folder.path("out.xml");
    let rules = "[[rule]]\nname = \"<a & b>\"\nby = [\"process\", \"heap\"]\npeak = 10\n[[rule]]\nname = \"well\"\npeak = \"1M\"\n\
                 [[rule]]\nname = \"none\"\nlayer = \"commit\"\npeak = 1\n";
    let run = folder.check(&path, rules, &["--junit", junit.to_str().unwrap()]);
    assert_eq!((run.code, run.out.lines().count()), (Some(3), 3), "{run:?}");
    assert!(!run.out.contains(['\u{1b}', '\u{1}']), "{run:?}");
    let xml = fs::read_to_string(&junit).unwrap();
    let cases = testcases(&xml);
    let ends: Vec<_> = cases.iter().map(|(name, (end, _))| (name.as_str(), end.as_str())).collect();
    assert_eq!(ends, [("<a & b>", "failure"), ("none", "skipped"), ("well", "passed")]);
    assert!(cases["<a & b>"].1.contains("<a & b>: Game"), "{cases:?}");
    assert!(xml.contains("tests=\"3\" skipped=\"1\" failures=\"1\""), "{xml}");
    // JSON keeps the names as they are.
    let (checked, _) = folder.checked(&path, rules, &[]);
    assert!(list(&checked["rules"][0], "groups").iter().any(|group| group["heap"].as_str().unwrap().contains("\u{1}]]>")));
}

#[test]
fn a_junit_file_that_cannot_be_written_is_a_failure_and_leaves_nothing() {
    let folder = Folder::new();
    // The draft can be written there, and get no name.
    let taken = folder.path("out.xml");
    fs::create_dir(&taken).unwrap();
    for out in [folder.path("nowhere").join("out.xml"), taken] {
        let run = folder.check("demo:", "[[rule]]\npeak = 0\n", &["--junit", out.to_str().unwrap()]);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.out.lines().count() == 3 && run.err.contains("out.xml cannot be written"), "{run:?}");
        let mut files: Vec<_> = fs::read_dir(folder.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        files.sort();
        assert_eq!(files, ["out.xml", "rules.toml"]);
    }
}

#[test]
fn quiet_says_nothing_but_with_its_exit_code_and_json() {
    let folder = Folder::new();
    let rules = "[[rule]]\npeak = 0\n[[rule]]\nname = \"none\"\nprocess = \"nobody\"\npeak = 0\n";
    let run = folder.check("demo:", rules, &["--quiet"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(3), "", ""));
    let run = folder.check("demo:", rules, &["--quiet", "--json"]);
    assert!(run.code == Some(3) && run.out.starts_with("{\"schema\":\"highwater.check/1\"") && run.err.is_empty(), "{run:?}");
}

#[test]
fn losses_are_said() {
    let folder = Folder::new();
    let path = folder.path("lossy.etl");
    let path = path.to_str().unwrap();
    let words = ["heap", "--events", "20000", "--lost-buffers", "3", "-o", path];
    highwater_dev::command::synth(words).unwrap();
    let run = folder.check(path, "[[rule]]\npeak = \"1G\"\n", &[]);
    assert!(
        run.code == Some(0) && run.err.contains("the numbers may be off") && run.err.contains("buffers were lost"),
        "{run:?}"
    );
    let (checked, _) = folder.checked(path, "[[rule]]\npeak = \"1G\"\n", &[]);
    let losses = |checked: &Value| {
        let doubts = list(checked, "doubts");
        doubts.iter().filter(|doubt| doubt.as_str().unwrap().contains("buffers were lost")).count()
    };
    assert!(checked["quality"]["buffers_lost"] == 3 && losses(&checked) == 1, "{}", checked["doubts"]);
    // Before the first loss nothing is off.
    let (checked, _) = folder.checked(path, "[[rule]]\npeak = \"1G\"\nto = 0.000001\n", &[]);
    assert_eq!(losses(&checked), 0, "{}", checked["doubts"]);
}

#[test]
fn what_is_missing_of_a_capture_or_has_no_names_is_said_wherever_numbers_are() {
    let folder = Folder::new();
    let junit = folder.path("out.xml");
    let small = folder.write("small.etl", small(false));
    let rules = folder.write("rules.toml", "[[rule]]\npeak = \"1G\"\n");
    let missing = folder.path("missing.etl");
    let words = ["check", &small, missing.to_str().unwrap(), "--rules", &rules, "--junit", junit.to_str().unwrap(), "--json"];
    let run = highwater(words);
    assert!(run.code == Some(0) && run.err.contains("the numbers may be off: A part of the capture is missing"), "{run:?}");
    let checked: Value = serde_json::from_str(&run.out).unwrap();
    assert!(list(&checked, "doubts")[0].as_str().unwrap().contains("missing.etl"), "{checked}");
    assert!(fs::read_to_string(&junit).unwrap().contains("The numbers may be off: A part of the capture is missing"));
    // A rule about names, in a trace whose modules have none.
    let (checked, _) = folder.checked(&small, "[[rule]]\nframe = \"Load\"\npeak = \"1G\"\n", &[]);
    let doubts = list(&checked, "doubts");
    assert!(doubts.len() == 1 && doubts[0].as_str().unwrap().contains("no names for Game.exe"), "{checked}");
    assert!(list(&folder.checked(&small, "[[rule]]\npeak = \"1G\"\n", &[]).0, "doubts").is_empty());
}

#[test]
fn json_has_its_fields_in_order() {
    let run = Folder::new().check("demo:", "[[rule]]\npeak = \"1G\"\n", &["--json"]);
    let places = |names: &[&str]| -> Vec<usize> {
        names.iter().map(|name| run.out.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{name}"))).collect()
    };
    assert!(places(&["schema", "broken", "rules", "quality", "doubts"]).is_sorted(), "{}", run.out);
    let rule = [
        "name", "line", "outcome", "reason", "interval", "groups", "process", "layer", "measure", "value", "limit", "accepted",
        "holder",
    ];
    assert!(places(&rule).is_sorted(), "{}", run.out);
}

#[test]
fn what_a_baseline_accepts_breaks_no_limit_until_there_is_more() {
    let folder = Folder::new();
    let known = folder.path("known.json");
    let known = known.to_str().unwrap();
    let rules = "[[rule]]\nname = \"leaks\"\nby = [\"process\"]\nlayer = \"heap\"\noutstanding = 10\npeak = 1\n";
    let (before, code) = folder.checked("demo:", rules, &["--write-baseline", known]);
    let broken = |checked: &Value| {
        let groups = list(&checked["rules"][0], "groups");
        groups.iter().filter(|group| group["broken"] == true && group["accepted"] == false).count()
    };
    assert_eq!(code, Some(3));
    assert!(broken(&before) >= 2 && before.get("accepted").is_none(), "{before}");
    let (after, code) = folder.checked("demo:", rules, &["--baseline", known]);
    assert_eq!((code, broken(&after), after["accepted"].as_u64()), (Some(0), 0, Some(broken(&before) as u64)), "{after}");
    assert_eq!((&after["broken"], &after["rules"][0]["outcome"]), (&false.into(), &"passed".into()));
    let run = folder.check("demo:", rules, &["--baseline", known]);
    assert!(run.out.is_empty() && run.err.contains("accepted by the baseline"), "{run:?}");
    // More than was accepted is told; an entry that fits nothing is, too.
    let text = fs::read_to_string(known).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    file["accepted"][0]["most_bytes"] = 1.into();
    file["accepted"][1]["process"] = "old.exe".into();
    fs::write(known, file.to_string()).unwrap();
    let run = folder.check("demo:", rules, &["--baseline", known]);
    assert_eq!((run.code, run.out.lines().count()), (Some(3), 2), "{run:?}");
    assert!(run.err.contains("unused baseline entry") && run.err.contains("old.exe"), "{run:?}");
    // It is not written over unasked.
    assert_eq!(folder.check("demo:", rules, &["--write-baseline", known]).code, Some(2));
}
