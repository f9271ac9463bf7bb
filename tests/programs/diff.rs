//! `highwater diff` for CI: a limit on growth, and Markdown for a comment.

use crate::common::trace::{session, small, trace, without_memory_events};
use crate::common::{Run, highwater, json};
use highwater::events::{Event, ProcessChange, ProcessInfo, Record};
use highwater::format;
use highwater::units::{Layer, Pid, Tid};
use serde_json::Value;

const SIDES: [&str; 3] = ["diff", "demo:@0..20", "demo:@20..40"];

fn diff(words: &[&str]) -> Run {
    highwater(SIDES.iter().chain(words))
}

fn groups(words: &[&str]) -> Vec<Value> {
    json(SIDES.iter().chain(&["--json"]).chain(words))["groups"].as_array().unwrap().clone()
}

/// Lines about groups that grew too much; all others are doubts.
fn breaches(run: &Run) -> usize {
    let (breaches, others): (Vec<&str>, Vec<&str>) = run.err.lines().partition(|line| line.contains(" is above the limit "));
    let is_doubt = |line: &&str| line.contains("the numbers may be off") || line.contains("nothing is known of that time");
    assert!(others.iter().all(is_doubt), "{run:?}");
    breaches.len()
}

fn change(group: &Value) -> i64 {
    group["delta"]["outstanding_to"].as_i64().unwrap()
}

#[test]
fn a_group_may_grow_by_as_much_as_the_limit_and_no_more() {
    let by = ["--by", "process,heap"];
    let all = groups(&by);
    let most = all.iter().map(change).max().unwrap();
    assert!(most > 1 << 10);
    for (limit, code) in [(most, 0), (most - 1, 3)] {
        let limit = limit.to_string();
        let run = diff(&[&by[..], &["--fail-over", &limit]].concat());
        assert_eq!((run.code, breaches(&run)), (Some(code), usize::from(code == 3)), "{run:?}");
        assert_eq!(run.out, diff(&by).out, "the answer is printed all the same");
    }
    // Every group that is above, whatever is shown; what shrank never is.
    let above = all.iter().filter(|group| change(group) > 0).count();
    for top in [&[][..], &["--top", "1"], &["--top", "0"]] {
        let run = diff(&[&by[..], top, &["--fail-over", "0"]].concat());
        assert_eq!((run.code, breaches(&run)), (Some(3), above), "{run:?}");
        let run = diff(&[&by[..], top, &["--fail-over", "0", "--json"]].concat());
        let shown: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!((run.code, shown["groups"].as_array().unwrap().clone()), (Some(3), groups(&[&by[..], top].concat())));
    }
    let run = diff(&["--fail-over", "0", "--quiet"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(3), "", ""));
    for words in [&["--fail-over", "-1"][..], &["--fail-over", "x"], &["--fail-over", "1X"], &["--markdown", "--json"]] {
        assert_eq!(diff(words).code, Some(2), "{words:?}");
    }
}

/// The cells of the lines of the tables.
fn tables(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter(|line| line.starts_with('|') && !line.starts_with("|:") && !line.starts_with("|-"));
    lines.map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()).collect()
}

#[test]
fn markdown_has_the_layers_first_and_then_what_grew_most() {
    let run = diff(&["--markdown", "--by", "process,heap"]);
    assert_eq!(run.code, Some(0));
    let cells = tables(&run.out);
    let all = groups(&["--by", "process,heap"]);
    for layer in ["commit", "heap", "tracker"] {
        let of = |side: &str| -> u64 {
            let groups = all.iter().filter(|group| group["layer"] == layer);
            groups.map(|group| group[side]["outstanding_to"].as_u64().unwrap()).sum()
        };
        let line = cells.iter().find(|line| line[0] == format!("**{layer}**")).unwrap();
        let change = format::signed_bytes(of("b") as i64 - of("a") as i64);
        assert_eq!(line[1..4], [format!("**{change}**"), format::bytes(of("a")), format::bytes(of("b"))], "{layer}");
    }
    let listed: Vec<&str> = cells[5..].iter().map(|line| line[4].as_str()).collect();
    let (mut grew, shrank): (Vec<&Value>, Vec<&Value>) = all.iter().partition(|group| change(group) > 0);
    grew.extend(shrank);
    let expected: Vec<String> = grew.iter().map(|group| format!("**{}**", format::signed_bytes(change(group)))).collect();
    assert_eq!(listed, expected, "{}", run.out);
    assert!(run.out.starts_with("### Memory: <code>demo&#58;<!---->&#64;0&#46;&#46;20</code>"), "{}", run.out);
    // With a limit, what is above it is marked, and the text says how many.
    let run = diff(&["--markdown", "--fail-over", "10K", "--top", "1", "--quiet"]);
    let above = all.iter().filter(|group| change(group) > 10 << 10).count();
    assert!(run.code == Some(3) && run.err.is_empty(), "{run:?}");
    assert!(run.out.contains(&format!("**{above} groups grew by more than the limit, +10.00 KB.**")), "{}", run.out);
    assert!(
        run.out.contains("\n| **!** 1 |") && run.out.contains(&format!("… and {} more groups.", all.len() - 1)),
        "{}",
        run.out
    );
    let run = diff(&["--markdown", "--fail-over", "1G"]);
    assert!(run.code == Some(0) && run.out.contains("No group grew by more than the limit"), "{run:?}");
}

#[test]
fn stacks_are_folded_away_below_the_table() {
    let run = diff(&["--markdown", "--by", "process,stack"]);
    let details = run.out.matches("<details>").count();
    assert!(details == 10 && details == run.out.matches("</details>").count(), "{}", run.out);
    assert_eq!(run.out.matches("<pre>").count(), run.out.matches("</pre>").count());
    let all = groups(&["--by", "process,stack"]);
    let first = all.iter().filter(|group| change(group) > 0).max_by_key(|group| change(group)).unwrap();
    let innermost = first["stack"].as_array().unwrap().last().unwrap().as_str().unwrap();
    let shown =
        innermost.replace('!', "&#33;").replace(':', "&#58;").replace('.', "&#46;").replace('<', "&#60;").replace('>', "&#62;");
    assert!(
        run.out.contains(&format!("<summary>Stack of 1: {}</summary>\n\n<pre>\n{shown}\n", format::signed_bytes(change(first)))),
        "{}",
        run.out
    );
}

/// Trackers with such names, each with a block.
fn trackers(names: impl Iterator<Item = String>) -> Vec<u8> {
    let mut records = Vec::new();
    let mut tell = |time: i64, event: Event| {
        records.push((Record { time: 1_000 + time, pid: Pid(10), tid: Tid(2), event }, Vec::new()));
    };
    let info = ProcessInfo { key: 0xA000, parent: 1, name: "a|b`<img src=x>`@all.exe".into(), command_line: String::new() };
    tell(10, Event::Process(ProcessChange::Start, Box::new(info)));
    for (i, name) in (0u64..).zip(names) {
        tell(20 + i as i64, Event::HeapOpen { layer: Layer::Tracker, heap: 0x1000 + i, name: Some(name.into()) });
        tell(20 + i as i64, Event::Alloc { layer: Layer::Tracker, heap: 0x1000 + i, address: 0x1000, size: 64 + i });
    }
    trace(session(false), &records)
}

#[test]
fn markdown_is_bounded_and_names_in_it_are_only_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.etl");
    std::fs::write(&path, trackers((0..900).map(|i| format!("{i}|**x**\n</details>[a](http://b){}", "<>&|".repeat(100)))))
        .unwrap();
    let path = path.to_str().unwrap();
    let run = highwater(["diff", &format!("{path}@..0"), path, "--markdown", "--top", "1000", "--fail-over", "0", "--quiet"]);
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert!(run.out.len() < 65_000 && run.out.len() > 40_000, "{}", run.out.len());
    assert!(run.out.contains("more groups."), "what has no room is counted");
    let cells = tables(&run.out);
    assert!(cells[2..].iter().all(|line| line.len() == cells[2].len()), "no name breaks a line or a cell");
    for bad in ["<img", "</details>", "[a]", "@all", "http:", "`", "\\"] {
        assert!(!run.out.contains(bad), "{bad}");
    }
    let same = highwater(["diff", &format!("{path}@..0"), &format!("{path}@..0"), "--markdown"]);
    assert!(same.code == Some(0) && same.out.contains("No matching allocations"), "{same:?}");
}

#[test]
fn a_side_without_anything_and_losses_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: Vec<u8>| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (full, empty) = (write("full.etl", small(false)), write("empty.etl", without_memory_events()));
    let run = highwater(["diff", &full, &empty, "--fail-over", "1M", "--markdown"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    for text in [&run.err, &run.out] {
        assert!(text.contains("B") && text.contains("no matching allocations"), "{run:?}");
    }
    assert_eq!(json(["diff", &full, &full, "--json"])["doubts"].as_array().unwrap().len(), 0);
    let lossy = folder.path().join("lossy.etl");
    let words = ["heap", "--events", "20000", "--lost-buffers", "3", "-o", lossy.to_str().unwrap()];
    highwater_dev::command::synth(words).unwrap();
    let answer = json(["diff", &full, lossy.to_str().unwrap(), "--json"]);
    let doubts: Vec<&str> = answer["doubts"].as_array().unwrap().iter().map(|doubt| doubt.as_str().unwrap()).collect();
    let losses: Vec<&str> = doubts.iter().copied().filter(|doubt| doubt.contains("buffers were lost")).collect();
    assert!(losses.len() == 1 && losses[0].starts_with("B: "), "{doubts:?}");
}
