//! Comparing in the window says what `query::diff` says, in one trace and across two.

use std::sync::Arc;

use crate::driver::{Window, choose, click, demo, has, has_containing, settle, wait_for};
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::format;
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::Trace;
use highwater::query::{By, Cancel, Compared, DiffSide, Filter, Group, Index, diff};
use highwater::symbols::Names;
use highwater::units::{Interval, Ticks};

fn trace() -> Arc<Trace> {
    Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap())
}

fn groups(traces: [&Arc<Trace>; 2], intervals: [Interval; 2], by: &[By]) -> Vec<Group<Compared>> {
    let (index, names) = (traces.map(|trace| Index::scan(Arc::clone(trace))), Names::default());
    let masks = traces.map(|trace| Filter::all().mask(trace));
    let side = |i: usize| DiffSide {
        index: &index[i],
        interval: intervals[i],
        mask: &masks[i],
        names: &names,
        functions: None,
        totals: None,
    };
    diff([side(0), side(1)], by, None, &Cancel::default()).unwrap()
}

/// The lines of the table, from the top: what their cells say from the left.
fn lines(window: &Window) -> Vec<Vec<String>> {
    let top = window.get_by_label("Change").rect().bottom();
    let left = window.get_by_label("Findings").rect().left() - 4.0;
    let bottom = 776.0; // the status bar
    let mut cells = Vec::new();
    for node in window.root().children_recursive() {
        let Some(text) = node.accesskit_node().value().or(node.accesskit_node().label()) else { continue };
        if node.accesskit_node().bounding_box().is_none() {
            continue;
        }
        let rect = node.rect();
        if rect.top() > top && rect.left() > left && rect.bottom() < bottom && !text.is_empty() {
            cells.push((rect.center().y.round() as i64, rect.left() as i64, text));
        }
    }
    cells.sort();
    let mut lines: Vec<(i64, Vec<String>)> = Vec::new();
    for (y, _, text) in cells {
        match lines.last_mut() {
            Some((of, line)) if (y - *of).abs() < 6 => line.push(text),
            _ => lines.push((y, vec![text])),
        }
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

/// The numbers of the table as the window prints them.
fn printed(groups: &[Group<Compared>]) -> Vec<Vec<String>> {
    let count = |n: i64| match n {
        0 => "0".to_owned(),
        1.. => format!("+{}", format::count(n.unsigned_abs())),
        _ => format!("\u{2212}{}", format::count(n.unsigned_abs())),
    };
    let line = |Compared { a, b, delta }: &Compared| {
        vec![
            format::bytes(a.outstanding_to),
            format::bytes(b.outstanding_to),
            format::signed_bytes(delta.outstanding_to),
            format::signed_bytes(delta.allocated_size),
            count(delta.count),
        ]
    };
    groups.iter().map(|group| line(&group.numbers)).collect()
}

#[track_caller]
fn assert_lines(window: &Window, expected: &[Group<Compared>], keys: usize) {
    let lines = lines(window);
    let expected = printed(expected);
    assert!(!lines.is_empty() && lines.len() <= expected.len(), "{lines:?}");
    for (line, expected) in lines.iter().zip(&expected) {
        assert_eq!(&line[keys + 1..keys + 6], expected, "{line:?}");
    }
}

#[test]
fn halves_of_the_view_are_what_diff_says() {
    let mut window = demo();
    let trace = trace();
    click(&mut window, "Compare");
    assert!(has_containing(&window, "A 0 s to 18.03 s") && has_containing(&window, "B 18.03 s to 36.06 s"));
    let span = trace.span;
    let middle = Ticks(span.from.0 + span.len() / 2);
    let halves = [Interval { from: span.from, to: middle }, Interval { from: middle, to: span.to }];
    let expected = groups([&trace; 2], halves, &[By::Process, By::Heap]);
    assert_eq!(lines(&window).len(), expected.len());
    assert_lines(&window, &expected, 2);
    // The order of another column, and back by the same.
    click(&mut window, "B");
    let first = lines(&window).remove(0);
    let most = expected.iter().map(|group| group.numbers.b.outstanding_to).max().unwrap();
    assert_eq!(first[4], format::bytes(most));
}

#[test]
fn lines_filter_to_their_heap_type_and_thread() {
    let mut window = demo();
    click(&mut window, "Compare");
    for (from, to, cell, name) in
        [("", "", 1, "heap"), ("By process and heap", "By type", 0, "type"), ("By type", "By thread", 1, "thread")]
    {
        if !from.is_empty() {
            window.get_by_value(from).click();
            settle(&mut window);
            click(&mut window, to);
        }
        let line =
            lines(&window).into_iter().find(|line| !["(unknown type)", "\u{2014}"].contains(&line[cell].as_str())).unwrap();
        window.query_all_by_label(&line[cell]).last().unwrap().click_secondary();
        settle(&mut window);
        click(&mut window, &format!("Filter to this {name}"));
        assert!(has_containing(&window, "Remove filter "), "{line:?}");
        assert!(lines(&window).iter().all(|of| of[..=cell] == line[..=cell]), "{name}: {:?} of {line:?}", lines(&window));
        click(&mut window, "Clear filter");
    }
}

#[test]
fn a_click_on_a_changed_function_goes_to_it() {
    let mut window = demo();
    click(&mut window, "Compare");
    choose(&mut window, "By process and heap", "By function");
    let names: Vec<String> = lines(&window).into_iter().map(|mut line| line.remove(0)).collect();
    let name = names.iter().find(|name| name.contains("AllocateWorkingBuffers")).unwrap_or_else(|| panic!("{names:?}"));
    window.query_all_by_label(name).last().unwrap().click();
    settle(&mut window);
    assert!(has(&window, "Expand heaviest path"), "the tab Functions");
    assert!(has_containing(&window, &format!("{name}: count ")), "the status bar tells the selected line");
    click(&mut window, "Compare");
    choose(&mut window, "By function", "By process and heap");
    window.query_all_by_label("0x1d0000").last().unwrap().click();
    settle(&mut window);
    assert!(has_containing(&window, "Windows NT heap 0x1d0000 (default): count "), "a heap is a line of Stacks");
}

#[test]
fn the_difference_as_a_flame_graph_takes_the_place_of_the_table_and_gives_it_back() {
    let mut window = demo();
    click(&mut window, "Compare");
    let before = lines(&window);
    click(&mut window, "Flame graph");
    assert!(has_containing(&window, "Flame graph of ") && window.query_by_label("Change").is_none());
    click(&mut window, "Flame graph");
    assert!(!has_containing(&window, "Flame graph of "));
    assert_eq!(lines(&window), before);
}

#[test]
fn a_selection_is_compared_with_what_comes_before() {
    let mut window = demo();
    window.get_by_label_contains("Finding MemoryTestApp.exe: step of +10.00 MB").click();
    settle(&mut window);
    click(&mut window, "Clear filter");
    click(&mut window, "Compare");
    let texts: Vec<String> = ["A ", "B "]
        .into_iter()
        .map(|side| {
            let mut sides = window.query_all_by_label_contains(side).filter_map(|node| node.accesskit_node().label());
            sides.find(|text| text.starts_with(side) && text.ends_with(" s")).unwrap()
        })
        .collect();
    assert_eq!(texts[0].rsplit(' ').nth(1), texts[1].split(' ').nth(1), "A ends where B begins: {texts:?}");
    let main = lines(&window).into_iter().find(|line| line[0] == "MemoryTestApp.exe").unwrap();
    assert!(main[5].starts_with("+10."), "{main:?}");
    // What is put on a side stays there when the selection goes.
    click(&mut window, "Use selection as A");
    let of_b = texts[1].replacen('B', "A", 1);
    assert!(has_containing(&window, &of_b));
    window.key_press(eframe::egui::Key::Escape);
    settle(&mut window);
    click(&mut window, "Use view as B");
    assert!(has_containing(&window, &of_b) && !has_containing(&window, &texts[1]));
}

#[test]
fn another_trace_is_a_and_what_is_shown_is_b() {
    let mut window = demo();
    let traces = [trace(), trace()];
    click(&mut window, "Compare");
    let context = window.ctx.clone();
    window.state_mut().open_comparison(&context, vec![Input::Demo]);
    wait_for(&mut window, "Close A");
    settle(&mut window);
    assert!(has_containing(&window, "A Demo trace") && has_containing(&window, "B Demo trace, 0 s to 36.06 s"));
    let spans = [traces[0].span; 2];
    let expected = groups([&traces[0], &traces[1]], spans, &[By::Process, By::Heap]);
    assert!(expected.iter().all(|group| group.numbers.delta == Default::default()));
    assert_lines(&window, &expected, 2);
    click(&mut window, "Close A");
    assert!(has_containing(&window, "A 0 s to 18.03 s"), "within the trace again");
}

#[test]
fn a_trace_that_cannot_be_read_is_a_sentence() {
    let mut window = demo();
    click(&mut window, "Compare");
    let context = window.ctx.clone();
    window.state_mut().open_comparison(&context, vec![Input::File("no such file.etl".into())]);
    wait_for(&mut window, "no such file.etl");
    settle(&mut window);
    let left = |label: &str| window.query_all_by_label_contains(label).next().unwrap().rect().left();
    assert!(left("no such file.etl") < left("Dismiss"), "first what is wrong");
    assert!(has_containing(&window, "A 0 s to 18.03 s"));
}

#[test]
fn a_and_b_stay_in_a_small_window_and_heaps_are_told_apart() {
    let mut window = demo();
    crate::driver::give(&mut window, "tabs: compare");
    window.set_size(eframe::egui::vec2(1024.0, 640.0));
    settle(&mut window);
    for column in ["A", "B", "Change", "Process"] {
        assert!(has(&window, column), "{column}");
    }
    assert!(!has(&window, "Layer") && !has(&window, "Handle"), "they go first");
    assert!(has_containing(&window, "PhysicsHeap, MemoryTestApp.exe"), "the first column tells heaps apart");
}
