//! `report --html`: one file with the same numbers as the other answers, which needs nothing else.

use std::path::Path;

use crate::common::hostile_names::{all_called, many_stacks};
use crate::common::{highwater, json};
use crate::pages::{Element, elements};

/// Writes the page and reads it.
fn page(words: &[&str], folder: &Path) -> (String, Vec<Element>) {
    let out = folder.join("out.html");
    let run = highwater([words, &["--html", out.to_str().unwrap(), "--replace"]].concat());
    assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{run:?}");
    let page = std::fs::read_to_string(&out).unwrap();
    let all = elements(&page);
    (page, all)
}

/// The cells of the table, line by line.
fn cells(all: &[Element]) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for element in all.iter().filter(|element| element.is_in("tbody") || element.name == "tr") {
        match element.name.as_str() {
            "tr" if element.is_in("tbody") => lines.push(Vec::new()),
            "span" if element.attribute("class").is_none() => {
                lines.last_mut().into_iter().for_each(|line: &mut Vec<String>| line.push(element.text.clone()));
            }
            _ => {}
        }
    }
    lines
}

fn texts(all: &[Element], name: &str, within: &str) -> Vec<String> {
    all.iter().filter(|element| element.name == name && element.is_in(within)).map(|element| element.text.clone()).collect()
}

#[test]
fn a_page_has_the_table_the_findings_and_the_lanes_of_the_other_answers() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["report", "demo:", "--by", "process,responsible", "--from", "5", "--to", "20"];
    let (text, all) = page(&words, folder.path());
    assert!(text.len() < 2_000_000 && text.starts_with("<!DOCTYPE html>"));

    let report = highwater(words);
    let lines = cells(&all);
    let groups = json([&words[..], &["--json"]].concat())["groups"].as_array().unwrap().clone();
    assert_eq!(lines.len(), groups.len());
    for (line, group) in lines.iter().zip(&groups) {
        assert!(
            line[0].starts_with(group["process"].as_str().unwrap()) && line[1] == group["layer"].as_str().unwrap(),
            "{line:?}"
        );
        assert_eq!(line[2], group["responsible"].as_str().unwrap());
        let count = line[8].replace(',', "").parse::<u64>().unwrap();
        assert_eq!(count, group["count"].as_u64().unwrap());
        assert!(report.out.contains(&line[5]), "{line:?} is in the text");
    }

    let found = json(["findings", "demo:", "--from", "5", "--to", "20", "--json"]);
    let sentences: Vec<String> =
        found["findings"].as_array().unwrap().iter().map(|f| format!("{}.", f["text"].as_str().unwrap())).collect();
    let told: Vec<String> = all
        .iter()
        .filter(|element| element.name == "p" && element.attribute("class") == Some("text"))
        .map(|element| element.text.clone())
        .collect();
    assert_eq!(told, sentences);

    // A lane for each layer of a process, whatever the interval; the interval is marked.
    let layers = json(["report", "demo:", "--by", "process", "--json"])["groups"].as_array().unwrap().len();
    let lanes: Vec<&Element> = all.iter().filter(|element| element.name == "path").collect();
    assert_eq!(lanes.len(), layers);
    let headings = texts(&all, "text", "graph").into_iter().filter(|text| text.contains("peak ")).collect::<Vec<_>>();
    assert_eq!(headings[0], "MemoryTestApp.exe \u{b7} Commit (VirtualAlloc) \u{b7} peak 36.00 MB");
    let selected = all.iter().find(|element| element.attribute("class") == Some("selected")).unwrap();
    let share = |name| selected.attribute(name).unwrap().parse::<f64>().unwrap() / 1000.0;
    assert!((share("x") - 5.0 / 36.06).abs() < 0.001 && (share("width") - 15.0 / 36.06).abs() < 0.001);
    // The highest point of each lane is just below its heading, since its own peak is its scale.
    for (at, lane) in lanes.iter().enumerate() {
        let points = lane.attribute("d").unwrap().split(['M', 'L', 'Z']).filter(|point| !point.is_empty());
        let highest = points.map(|point| point.split_once(',').unwrap().1.parse::<f64>().unwrap()).fold(f64::MAX, f64::min);
        assert_eq!(highest, at as f64 * 74.0 + 18.0);
    }
}

#[test]
fn the_command_in_a_page_gives_the_numbers_of_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let (_, all) = page(&["report", "demo:", "--by", "heap", "--process", "MemoryTestApp.exe"], folder.path());
    let command = all.iter().find(|element| element.name == "pre").unwrap().text.clone();
    assert_eq!(command, "highwater report demo: --by heap --process MemoryTestApp.exe");
    let run = highwater(command.split(' ').skip(1));
    assert!(cells(&all).iter().flatten().all(|cell| run.out.contains(cell.as_str())), "{}", run.out);
}

#[test]
fn no_name_becomes_markup_and_no_trace_makes_a_page_large() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("named.etl");
    for name in ["<script>alert(1)</script>", "\"><b onclick=x>", "a&lt;b\u{1b}[31m\u{202e}", "--><style>*{}</style>"] {
        std::fs::write(&trace, all_called(name, 40)).unwrap();
        let (text, all) = page(&["report", trace.to_str().unwrap(), "--by", "process,heap,stack,type"], folder.path());
        assert_eq!(
            all.iter().filter(|element| ["b", "style"].contains(&element.name.as_str())).count(),
            1,
            "the page's own style"
        );
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    }
    std::fs::write(&trace, many_stacks(3000, 60)).unwrap();
    let (text, all) = page(&["report", trace.to_str().unwrap(), "--by", "stack", "--top", "3000"], folder.path());
    assert!(text.len() < 2_000_000, "{}", text.len());
    let shown = cells(&all).len();
    let groups = json(["report", trace.to_str().unwrap(), "--by", "stack", "--json"])["groups"].as_array().unwrap().len();
    let left_out = texts(&all, "p", "table").into_iter().find(|text| text.contains("more lines"));
    match left_out {
        Some(text) => assert_eq!(text, format!("\u{2026} and {} more lines", highwater::format::count((groups - shown) as u64))),
        None => assert_eq!(shown, groups),
    }
}

#[test]
fn a_page_is_a_file_like_any_other_that_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("kept.html");
    std::fs::write(&out, "mine").unwrap();
    let out = out.to_str().unwrap();
    let run = highwater(["report", "demo:", "--html", out]);
    assert!(run.code == Some(2) && run.err.contains("--replace"), "{run:?}");
    assert_eq!(std::fs::read_to_string(out).unwrap(), "mine");
    assert_eq!(highwater(["report", "demo:", "--html", out, "--json"]).code, Some(2));
    assert_eq!(highwater(["report", "demo:", "--html", out, "--replace", "--each"]).code, Some(2));
    assert_eq!(std::fs::read_to_string(out).unwrap(), "mine");
}
