//! What CI services take from a check: annotations, SARIF, Markdown and JUnit with places in the repository.

use std::fs;
use std::process::Command;

use super::{Folder, hostile_names, list};
use crate::common::Run;
use crate::common::trace::small;
use serde_json::{Value, json};

/// Two rules, of which the first is broken by a function whose line is known, and one that finds nothing.
const RULES: &str = "# budgets\n[[rule]]\nname = \"Budget, 32M\"\nprocess = \"MemoryTestApp.exe\"\nlayer = \"commit\"\npeak = \"32M\"\n\
                     [[rule]]\nname = \"Well\"\nlayer = \"heap\"\npeak = \"1G\"\n\
                     [[rule]]\nname = \"Nobody\"\nprocess = \"nobody.exe\"\npeak = 1\n";

const BUILT: &str = r"C:\MemoryTestApp";

/// Runs the program as a CI service that names these folders.
fn run(words: &[&str], folders: &[(&str, &str)]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    command.args(words).env_remove("GITHUB_WORKSPACE").env_remove("CI_PROJECT_DIR").envs(folders.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn check(folder: &Folder, capture: &str, rules: &str, words: &[&str]) -> Run {
    let rules = folder.write("rules.toml", rules);
    run(&[&["check", capture, "--rules", &rules], words].concat(), &[])
}

/// The line of the first breach, as text.
fn breach(folder: &Folder) -> String {
    let said = check(folder, "demo:", RULES, &[]);
    assert!(said.code == Some(3) && said.out.lines().count() == 1, "{said:?}");
    said.out.trim_end().to_owned()
}

#[test]
fn annotations_are_at_the_line_of_the_responsible_caller() {
    let folder = Folder::new();
    let line = breach(&folder);
    assert!(
        line.contains(r"most in MemoryTestApp.exe!AllocateWorkingBuffers at C:\MemoryTestApp\main.cpp:33 (10.00 MB)"),
        "{line}"
    );
    let said = check(&folder, "demo:", RULES, &["--annotate", "github", "--source-root", BUILT]);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!((said.code, lines.len()), (Some(3), 3), "{said:?}");
    assert_eq!(lines[0], format!("::error file=main.cpp,line=33,title=Budget%2C 32M::{line}"));
    assert!(lines[1].starts_with("::warning title=Nobody::not checked in full: "), "{said:?}");
    assert!(
        lines[2].starts_with("::warning title=highwater::the numbers may be off: TelemetryService.exe ran before"),
        "{said:?}"
    );
    // The same below the folder that the service names, and quiet leaves them.
    let rules = folder.path("rules.toml");
    let words = ["check", "demo:", "--rules", rules.to_str().unwrap(), "--annotate", "github", "--quiet"];
    for name in ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"] {
        let from_service = run(&words, &[(name, r"c:\memorytestapp\")]);
        assert_eq!((from_service.code, from_service.out, from_service.err.as_str()), (Some(3), said.out.clone(), ""));
    }
    // A file that is not known to be in the repository is not annotated; nothing is guessed from its end.
    for roots in [&[][..], &["--source-root", r"C:\MemoryTestApp2"], &["--source-root", r"D:\MemoryTestApp"]] {
        let said = check(&folder, "demo:", RULES, &[&["--annotate", "github"], roots].concat());
        assert!(said.out.starts_with(&format!("::error title=Budget%2C 32M::{line}\n")), "{said:?}");
    }
    // Of several folders the one in which the file is.
    let said = check(&folder, "demo:", RULES, &["--annotate", "github", "--source-root", "D:/game", "--source-root", "C:/"]);
    assert!(said.out.starts_with("::error file=MemoryTestApp/main.cpp,line=33,"), "{said:?}");
}

#[test]
fn annotations_without_names_have_no_file_and_hostile_names_no_commands() {
    let folder = Folder::new();
    let small = folder.write("small.etl", small(false));
    let said = check(&folder, &small, "[[rule]]\npeak = 0\n", &["--annotate", "github", "--source-root", BUILT]);
    assert!(said.code == Some(3) && !said.out.is_empty(), "{said:?}");
    assert!(said.out.lines().all(|line| line.starts_with("::") && !line.contains("file=")), "{said:?}");
    let hostile = folder.write("hostile.etl", hostile_names());
    let rules = "[[rule]]\nname = \"100%: a,b\"\nby = [\"process\", \"heap\"]\npeak = 10\n";
    let said = check(&folder, &hostile, rules, &["--annotate", "github"]);
    assert_eq!((said.code, said.out.lines().count()), (Some(3), 3), "{said:?}");
    assert!(said.out.lines().all(|line| line.starts_with("::error title=100%25%3A a%2Cb::100%25: a,b: Game")), "{said:?}");
    assert!(!said.out.contains(['\u{1b}', '\u{1}']), "{said:?}");
    // With several captures each annotation names its own.
    let rules = folder.path("rules.toml");
    let said = run(&["check", "demo:", &hostile, "--each", "--rules", rules.to_str().unwrap(), "--annotate", "github"], &[]);
    assert!(said.out.contains("::demo:: 100%25: a,b: ") && said.out.contains("hostile.etl: 100%25: a,b: Game"), "{said:?}");
}

/// The keys of an object.
fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn sarif_has_a_result_a_breach_with_its_place() {
    let folder = Folder::new();
    let line = breach(&folder);
    let out = folder.path("out.sarif");
    fs::write(&out, "of the last night").unwrap();
    let said = check(&folder, "demo:", RULES, &["--sarif", out.to_str().unwrap(), "--source-root", BUILT]);
    assert!(said.code == Some(3) && said.out.trim_end() == line, "{said:?}");
    let sarif: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(keys(&sarif), ["$schema", "runs", "version"]);
    assert_eq!((sarif["version"].as_str(), list(&sarif, "runs").len()), (Some("2.1.0"), 1));
    let driver = &sarif["runs"][0]["tool"]["driver"];
    let rules: Vec<&Value> = list(driver, "rules").iter().map(|rule| &rule["id"]).collect();
    assert_eq!(
        (driver["name"].as_str(), rules),
        (Some("highwater"), vec![&json!("Budget, 32M"), &json!("Well"), &json!("Nobody")])
    );
    assert_eq!(driver["rules"][0]["fullDescription"]["text"], "peak at most 32.00 MB");
    let [result] = list(&sarif["runs"][0], "results") else { panic!("{sarif}") };
    assert_eq!((&result["ruleId"], &result["ruleIndex"], &result["level"]), (&json!("Budget, 32M"), &json!(0), &json!("error")));
    assert_eq!(result["message"]["text"], line);
    assert_eq!(
        result["locations"],
        json!([{"physicalLocation": {"artifactLocation": {"uri": "main.cpp", "uriBaseId": "%SRCROOT%"}, "region": {"startLine": 33}},
            "logicalLocations": [{"fullyQualifiedName": "MemoryTestApp.exe!AllocateWorkingBuffers", "kind": "function"}]}])
    );
    let remarks = list(&sarif["runs"][0]["invocations"][0], "toolExecutionNotifications");
    let begins = |at: usize, text: &str| remarks[at]["message"]["text"].as_str().unwrap().starts_with(text);
    assert!(begins(0, "the numbers may be off: ") && begins(1, "rule Nobody was not checked in full: "), "{sarif}");
    // Without a place in the repository it is at its rule: code scanning takes no result without one.
    let root = folder.folder.path().to_str().unwrap();
    check(&folder, "demo:", RULES, &["--sarif", out.to_str().unwrap(), "--source-root", root]);
    let sarif: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    let expected = json!({"artifactLocation": {"uri": "rules.toml", "uriBaseId": "%SRCROOT%"}, "region": {"startLine": 2}});
    assert_eq!(place, &expected);
    // Nothing broken is a log, too, so that what was there before is closed.
    let said = check(&folder, "demo:", "[[rule]]\npeak = \"1G\"\n", &["--sarif", out.to_str().unwrap()]);
    let sarif: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert!(said.code == Some(0) && list(&sarif["runs"][0], "results").is_empty(), "{said:?} {sarif}");
}

#[test]
fn sarif_has_all_captures_in_one_run() {
    let folder = Folder::new();
    let (one, other) = (folder.write("one.etl", small(false)), "demo:".to_owned());
    let rules = folder.write("rules.toml", "[[rule]]\nname = \"All\"\npeak = 0\n");
    let said = run(&["check", &one, &other, "--each", "--rules", &rules, "--sarif", "-"], &[]);
    let sarif: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    assert_eq!((said.code, list(&sarif, "runs").len()), (Some(3), 1));
    let results = list(&sarif["runs"][0], "results");
    let captures: Vec<&str> = results.iter().map(|result| result["properties"]["capture"].as_str().unwrap()).collect();
    assert!(captures.contains(&one.as_str()) && captures.contains(&other.as_str()), "{captures:?}");
    assert!(results.iter().all(|result| {
        let capture = result["properties"]["capture"].as_str().unwrap();
        result["message"]["text"].as_str().unwrap().starts_with(&format!("{capture}: All: ")) && result["ruleIndex"] == 0
    }));
    assert_eq!(list(&sarif["runs"][0]["tool"]["driver"], "rules").len(), 1);
}

#[test]
fn markdown_and_junit_have_the_place() {
    let folder = Folder::new();
    let [markdown, junit] = ["memory.md", "memory.xml"].map(|name| folder.path(name));
    let words = ["--markdown", markdown.to_str().unwrap(), "--junit", junit.to_str().unwrap(), "--source-root", BUILT];
    let said = check(&folder, "demo:", RULES, &words);
    assert_eq!(said.code, Some(3), "{said:?}");
    let text = fs::read_to_string(&markdown).unwrap();
    for part in [
        "### Memory limits: <code>demo&#58;</code>\n",
        "**1 rule broken**, 1 passed, 1 skipped.\n",
        "| <code>Budget, 32M</code> | ",
        " | peak | **36.00 MB** | 32.00 MB | <code>MemoryTestApp&#46;exe&#33;AllocateWorkingBuffers</code> (10.00 MB) | <code>main&#46;cpp&#58;33</code> |\n",
        "- <code>Nobody</code> was not checked in full: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let xml = fs::read_to_string(&junit).unwrap();
    assert!(xml.contains(r#"file="main.cpp" line="33""#), "{xml}");
    assert_eq!(super::output::testcases(&xml)["Budget, 32M"].0, "failure");
    // Names from traces mean nothing to Markdown, and however many there are, it stays small.
    let hostile = folder.write("hostile.etl", hostile_names());
    check(&folder, &hostile, "[[rule]]\nby = [\"process\", \"heap\"]\npeak = 1\n", &["--markdown", markdown.to_str().unwrap()]);
    let text = fs::read_to_string(&markdown).unwrap();
    assert!(!text.contains("<b>") && !text.contains("<x>") && !text.contains("`@team") && text.contains("&#60;b&#62;"), "{text}");
    let many: String = (0..900).map(|i| format!("[[rule]]\nname = \"{i}\"\nlayer = \"commit\"\npeak = 0\n")).collect();
    check(&folder, "demo:", &many, &["--markdown", markdown.to_str().unwrap(), "--quiet"]);
    let text = fs::read_to_string(&markdown).unwrap();
    assert!(text.len() < 64 << 10 && text.contains("… and ") && text.contains(" more."), "{}", text.len());
}

#[test]
fn what_cannot_be_checked_is_an_annotation_too() {
    let folder = Folder::new();
    let said = check(&folder, "nowhere.etl", RULES, &["--annotate", "github"]);
    assert!(said.code == Some(1) && said.out.lines().count() == 1, "{said:?}");
    assert!(said.out.starts_with("::error title=highwater::nowhere.etl: there is no such file"), "{said:?}");
}

#[test]
fn one_answer_goes_to_standard_output() {
    let folder = Folder::new();
    let only = |words: &[&str]| {
        let said = check(&folder, "demo:", RULES, words);
        assert_eq!(said.code, Some(3), "{words:?}: {said:?}");
        said.out
    };
    assert!(only(&["--markdown", "-"]).starts_with("### Memory limits: "));
    assert!(only(&["--junit", "-"]).starts_with("<?xml") && only(&["--sarif", "-"]).starts_with("{\n"));
    for words in [
        &["--markdown", "-", "--junit", "-"][..],
        &["--annotate", "github", "--markdown", "-"],
        &["--annotate", "github", "--json"],
        &["--sarif", "-", "--ndjson"],
        &["--annotate", "gitlab"],
    ] {
        let said = check(&folder, "demo:", RULES, words);
        assert!(said.code == Some(2) && said.out.is_empty() && said.err.lines().count() == 1, "{words:?}: {said:?}");
    }
    assert!(!std::path::Path::new("-").exists());
    // A file that is read is never a report.
    let trace = folder.write("small.etl", small(false));
    for option in ["--markdown", "--sarif"] {
        let said = check(&folder, &trace, RULES, &[option, &trace]);
        assert!(said.code == Some(2) && said.err.contains("this file is read"), "{said:?}");
    }
    assert_eq!(fs::read(&trace).unwrap(), small(false));
}

#[test]
fn a_comparison_annotates_the_responsible_callers_that_grew() {
    let folder = Folder::new();
    let [markdown, sarif] = ["diff.md", "diff.sarif"].map(|name| folder.path(name));
    let (to_markdown, to_sarif) = (format!("--markdown={}", markdown.display()), sarif.to_str().unwrap());
    let sides = ["diff", "demo:@0..20", "demo:@20..40", "--by", "process,responsible", "--fail-over", "1K"];
    let words = [&sides[..], &["--source-root", BUILT, "--annotate", "github", &to_markdown, "--sarif", to_sarif]].concat();
    let said = run(&words, &[]);
    let breaches: Vec<&str> = said.err.lines().filter_map(|line| line.split_once("highwater: ")).map(|(_, line)| line).collect();
    let breaches: Vec<&str> = breaches.into_iter().filter(|line| line.contains(" is above the limit ")).collect();
    assert!(said.code == Some(3) && !breaches.is_empty() && said.out.lines().count() == breaches.len(), "{said:?}");
    for (line, breach) in said.out.lines().zip(&breaches) {
        assert!(line.starts_with("::error ") && line.ends_with(&format!("title=Memory grew::{breach}")), "{line}");
    }
    assert!(said.out.lines().any(|line| line.starts_with("::error file=") && line.contains("main.cpp,line=")), "{said:?}");
    assert!(fs::read_to_string(&markdown).unwrap().contains("grew by more than the limit"));
    let log: Value = serde_json::from_str(&fs::read_to_string(&sarif).unwrap()).unwrap();
    let placed = said.out.lines().filter(|line| line.contains(" file=")).count();
    assert_eq!(list(&log["runs"][0], "results").len(), placed, "{log}");
    // As before, the Markdown is the answer where it has no file.
    let said = run(&[&sides[..], &["--markdown"]].concat(), &[]);
    assert!(said.out.starts_with("### Memory: "), "{said:?}");
    let said = run(&[&sides[..], &["--markdown", "--annotate", "github"]].concat(), &[]);
    assert!(said.code == Some(2) && said.err.contains("standard output"), "{said:?}");
}
