//! Every view of the window says what the command line says, of the demo's leaking heap. The program itself is asked for JSON, the window
//! by what a screen reader is told.

use std::process::Command;

use crate::driver::{Window, click, settle, show_tab, wait_for, window_set};
use eframe::egui;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};
use highwater::format;
use highwater::load::Input;
use serde_json::Value;

/// The heap with the leak, and which rows of the report it is.
const HEAP: &str = "Source MemoryTestApp.exe: 0x1d0000 (default)";
const FILTER: [&str; 6] = ["--process", "MemoryTestApp.exe", "--layer", "heap", "--heap", "0x1d0000"];

/// What the program answers.
fn told(words: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_highwater")).args(words).arg("--json").output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The groups of a report, or what else a list is called.
fn list(words: &[&str], of: &str) -> Vec<Value> {
    told(&[words, &FILTER].concat())[of].as_array().unwrap().clone()
}

fn demo() -> Window {
    let mut window = window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, Settings::default());
    click(&mut window, "Hide findings");
    click(&mut window, HEAP);
    window
}

/// Lines of a table: what stands side by side, from left to right.
fn lines(window: &Window) -> Vec<Vec<String>> {
    let top = window.get_by_label("Stacks").rect().bottom() + 20.0;
    let nodes = window.root().children_recursive().filter(|n| n.accesskit_node().role() == egui::accesskit::Role::Label);
    let text = |n: egui_kittest::Node<'_>| Some((n.rect(), n.value().or_else(|| n.accesskit_node().label())?));
    let mut all: Vec<(egui::Rect, String)> = nodes.filter_map(text).filter(|(rect, _)| rect.top() > top).collect();
    all.sort_by(|a, b| a.0.center().y.total_cmp(&b.0.center().y));
    let mut lines: Vec<(f32, Vec<(f32, String)>)> = Vec::new();
    for (rect, text) in all {
        match lines.last_mut() {
            Some((y, line)) if (rect.center().y - *y).abs() < 4.0 => line.push((rect.left(), text)),
            _ => lines.push((rect.center().y, vec![(rect.left(), text)])),
        }
    }
    let texts = |(_, mut line): (f32, Vec<(f32, String)>)| {
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        line.into_iter().map(|(_, text)| text).collect()
    };
    lines.into_iter().map(texts).collect()
}

/// Whether a line has all of these cells.
fn has_line(window: &Window, cells: &[String]) -> bool {
    lines(window).iter().any(|line| cells.iter().all(|cell| line.contains(cell)))
}

fn number(group: &Value, of: &str) -> u64 {
    group[of].as_u64().unwrap()
}

/// Count, Impacting Size, Size, At Start, At End, Peak as the tables print them.
fn columns(group: &Value) -> Vec<String> {
    let bytes = |of| format::bytes(number(group, of));
    vec![
        format::count(number(group, "count")),
        format::signed_bytes(group["impacting_size"].as_i64().unwrap()),
        bytes("size"),
        bytes("outstanding_from"),
        bytes("outstanding_to"),
        bytes("peak"),
    ]
}

/// A size as it is printed, in bytes.
fn bytes(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let factor = match unit {
        "B" => 1.0,
        "KB" => 1024.0,
        "MB" => 1024.0 * 1024.0,
        _ => return None,
    };
    Some(number.replace(',', "").parse::<f64>().ok()? * factor)
}

fn assert_line(window: &Window, name: &str, group: &Value) {
    let expected: Vec<String> = [name.to_owned()].into_iter().chain(columns(group)).collect();
    assert!(has_line(window, &expected), "no line {expected:?} in {:?}", lines(window));
}

#[test]
fn every_view_says_what_the_command_line_says() {
    let mut window = demo();
    wait_for(&mut window, "Windows NT heap 0x1d0000 (default)");

    let heap = &list(&["report", "demo:", "--by", "process,heap"], "groups")[0];
    assert_line(&window, "Windows NT heap 0x1d0000 (default)", heap);

    show_tab(&mut window, "Types");
    for group in list(&["report", "demo:", "--by", "type"], "groups") {
        assert_line(&window, group["type"].as_str().unwrap(), &group);
    }

    click(&mut window, "Functions");
    window.get_by_value("Top-down").click();
    settle(&mut window);
    click(&mut window, "By function");
    for group in list(&["report", "demo:", "--by", "function", "--fold", "--top", "4"], "groups") {
        let (module, function) = group["function"].as_str().unwrap().split_once('!').unwrap();
        let shown = lines(&window);
        let has_numbers = |line: &[String]| columns(&group).iter().all(|cell| line.contains(cell));
        let is_it = |line: &Vec<String>| line.iter().any(|cell| cell.contains(function)) && has_numbers(line);
        assert!(shown.iter().any(is_it), "no line of {module}!{function} {:?} in {shown:?}", columns(&group));
    }

    for (from, to, by, key) in [("By function", "By heap", "heap", "heap"), ("By heap", "By type", "type", "type")] {
        window.get_by_value(from).click();
        settle(&mut window);
        click(&mut window, to);
        let of_layer = |group: &Value| group["layer"] == "heap";
        let groups: Vec<Value> = list(&["report", "demo:", "--by", by], "groups").into_iter().filter(of_layer).collect();
        assert!(!groups.is_empty());
        for group in groups {
            let (name, shown) = (group[key].as_str().unwrap(), lines(&window));
            let is_it = |line: &Vec<String>| line[0].contains(name) && columns(&group).iter().all(|cell| line.contains(cell));
            assert!(shown.iter().any(is_it), "no line of {name} {:?} in {shown:?}", columns(&group));
        }
    }

    click(&mut window, "Allocations");
    let mut buckets = list(&["report", "demo:", "--by", "size"], "groups");
    buckets.sort_by_key(|group| std::cmp::Reverse(group["size_bucket"][0].as_u64()));
    let of_bucket = |group: &Value| vec![group["size_bucket"][0].as_f64().unwrap(); number(group, "count") as usize];
    let least: Vec<f64> = buckets.iter().flat_map(of_bucket).collect();
    let shown: Vec<f64> = lines(&window).iter().filter_map(|line| bytes(line.get(1)?)).collect();
    assert!(shown.len() > 5);
    // The largest first: each is in the bucket that the report has it in.
    for (size, least) in shown.iter().zip(&least) {
        assert!((*least..2.0 * least).contains(size), "{size} in the bucket from {least}");
    }

    show_tab(&mut window, "Histograms");
    for group in list(&["report", "demo:", "--by", "size"], "groups") {
        let [from, to] = [0, 1].map(|i| group["size_bucket"][i].as_u64().unwrap());
        let (bytes, count) = (format::bytes(number(&group, "size")), format::count(number(&group, "count")));
        let bar = window.root().children_recursive().find(|n| {
            let label = n.accesskit_node().label().unwrap_or_default();
            label.contains(&bytes) && label.contains(&count)
        });
        assert!(bar.is_some(), "no bar of {from} to {to}: {bytes}, count {count}");
    }

    show_tab(&mut window, "Generations");
    click(&mut window, "Cut evenly");
    let left = list(&["report", "demo:", "--allocated", "0..", "--freed", "never", "--by", "responsible"], "groups");
    for group in left {
        let caller = group["responsible"].as_str().unwrap().to_owned();
        let cells = [caller, format::bytes(number(&group, "outstanding_to")), format::count(number(&group, "count"))];
        assert!(has_line(&window, &cells), "no line {cells:?} in {:?}", lines(&window));
    }
    click(&mut window, "Remove marks");

    click(&mut window, "Findings");
    let found = list(&["findings", "demo:"], "findings");
    assert!(!found.is_empty());
    for finding in found.iter().take(5) {
        let text = finding["text"].as_str().unwrap().to_owned();
        assert!(has_line(&window, std::slice::from_ref(&text)), "no finding {text:?} in {:?}", lines(&window));
    }
}
