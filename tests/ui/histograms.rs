//! Histograms that filter, and questions with markers, in the window.

use crate::driver::{Window, click, demo, has_containing, settle, show_tab};
use egui_kittest::kittest::{NodeT, Queryable};

/// Clicks a bar, after it told what is in it.
fn click_bar(window: &mut Window, bucket: &str) -> String {
    let label = format!("Bar {bucket}: ");
    let bar = window.get_by_label_contains(&label);
    let text = bar.accesskit_node().label().unwrap();
    bar.click();
    settle(window);
    text.split_once(": ").unwrap().1.to_owned()
}

/// What all bars of a histogram say.
fn bars(window: &Window, kind: &str) -> Vec<String> {
    let label = format!("Bar {kind} ");
    let bars = window.query_all_by_label_contains(&label);
    bars.map(|bar| bar.accesskit_node().label().unwrap()).collect()
}

fn chips(window: &Window) -> Vec<String> {
    let chips = window.query_all_by_label_contains("Remove filter ");
    chips.map(|chip| chip.accesskit_node().label().unwrap().replace("Remove filter ", "")).collect()
}

/// What the table says of the layer of a process that is alone in it.
fn table(window: &mut Window, layer: &str) -> String {
    click(window, "Stacks");
    let lines: Vec<_> = window.query_all_by_label(layer).collect();
    let line = lines.iter().max_by(|a, b| a.rect().left().total_cmp(&b.rect().left())).unwrap();
    line.click();
    settle(window);
    let told = window.get_by_label_contains(": count ").value().unwrap();
    show_tab(window, "Histograms");
    told
}

#[test]
fn a_bar_filters_everything_to_its_bucket_and_gives_it_back() {
    let mut window = demo();
    show_tab(&mut window, "Histograms");
    let before = (bars(&window, "size"), bars(&window, "lifetime"));
    let told = click_bar(&mut window, "size 8 MB to 16 MB");
    assert_eq!(told, "120.00 MB, count 12");
    assert_eq!(chips(&window), ["size 8 MB to 16 MB"]);
    assert_eq!(bars(&window, "size"), before.0, "another size can be chosen");
    assert!(bars(&window, "lifetime").len() < before.1.len(), "the other histogram is filtered");
    let table = table(&mut window, "Commit (VirtualAlloc)");
    assert!(table.contains("count 12,") && table.contains("size 120.00 MB"), "{table}");
    click_bar(&mut window, "size 8 MB to 16 MB");
    assert!(chips(&window).is_empty());
    assert_eq!((bars(&window, "size"), bars(&window, "lifetime")), before);
}

#[test]
fn buckets_of_both_kinds_are_one_choice_each() {
    let mut window = demo();
    show_tab(&mut window, "Histograms");
    click_bar(&mut window, "size 1 MB to 2 MB");
    click_bar(&mut window, "size 8 MB to 16 MB");
    assert_eq!(chips(&window), ["size 8 MB to 16 MB"], "it takes the place of the other");
    let both = click_bar(&mut window, "lifetime 10 s to 100 s");
    assert_eq!(chips(&window), ["size 8 MB to 16 MB", "lifetime 10 s to 100 s"]);
    let lit = window.get_by_label_contains("Bar size 8 MB to 16 MB: ").accesskit_node().label().unwrap();
    assert!(lit.ends_with(&both), "{lit} is what is left by the lifetime: {both}");
    let table = table(&mut window, "Commit (VirtualAlloc)");
    assert!(both.starts_with("20.00 MB") && table.contains("size 20.00 MB"), "{both}; {table}");
    click(&mut window, "Back");
    click(&mut window, "Back");
    assert_eq!(chips(&window), ["size 1 MB to 2 MB"]);
}

#[test]
fn a_bucket_can_be_left_out() {
    let mut window = demo();
    show_tab(&mut window, "Histograms");
    window.get_by_label_contains("Bar lifetime without an end").click_secondary();
    settle(&mut window);
    click(&mut window, "Exclude this bucket");
    assert_eq!(chips(&window), ["without lifetime without an end"]);
    assert!(bars(&window, "size").iter().all(|bar| !bar.contains("2 MB to 4 MB: 5.00 MB")));
    click_bar(&mut window, "lifetime without an end");
    assert!(chips(&window).is_empty());
}

#[test]
fn a_question_is_one_step_and_takes_the_place_of_the_one_before() {
    let mut window = demo();
    show_tab(&mut window, "Generations");
    click(&mut window, "Cut evenly");
    click(&mut window, "Allocations");
    let ask = |window: &mut Window, question| {
        click(window, "Between marks");
        assert!(has_containing(window, "1 = 4.508 s, 2 = 9.015 s, 3 = 13.523 s"), "the user's marks");
        click(window, question);
    };
    ask(&mut window, "Growth between 1 and 2");
    assert_eq!(chips(&window), ["growth 4.508 s to 9.015 s"]);
    ask(&mut window, "Short-lived between 1 and 2");
    assert_eq!(chips(&window), ["short-lived 4.508 s to 9.015 s"]);
    click(&mut window, "Stacks");
    assert!(
        has_containing(&window, "Came and went (Transient)") && !has_containing(&window, "Stayed (Persistent)"),
        "nothing else is left"
    );
    click(&mut window, "Back");
    assert_eq!(chips(&window), ["growth 4.508 s to 9.015 s"]);
    click(&mut window, "Back");
    assert!(chips(&window).is_empty());
}
