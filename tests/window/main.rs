//! The real program in a real window under Xvfb, used as a person would: start
//! page, demo, drag over the step, zoom, open the stacks, unzoom. What it reads is
//! what a screen reader would be told (`HIGHWATER_UI_DUMP`). It leaves the pictures
//! that the README shows.
//!
//! Needs Xvfb, xdotool and ImageMagick's `import`; says "skipped" without them.
#![cfg(all(feature = "gui", target_os = "linux"))]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test says what it expects and why it was skipped"
)]

#[path = "../common/mod.rs"]
mod common;
mod jobs;
mod screen;
#[path = "../common/jobs.rs"]
mod seven;

use std::fs;

use crate::screen::{Screen, Widget};

#[test]
fn a_user_finds_the_step_of_the_demo() {
    let Some(mut screen) = Screen::new() else { return };
    screen.start(&["--theme", "dark"]);
    screen.find("Where did the memory go?");
    screen.picture("start.png");
    screen.click_on("Demo trace");
    screen.click_on("Source MemoryTestApp.exe (4660)");
    screen.wait_for("the other process to be filtered away", |all| {
        screen.line(all, "MemoryTestApp.exe (4660)").is_some() && screen.line(all, "TelemetryService.exe (5120)").is_none()
    });
    // All that the program committed is gone in the end.
    screen.wait_for_line("Commit (VirtualAlloc)", "35", "0 B", "126.00 MB");
    screen.picture("overview.png");

    // Drag over the step, about half way.
    let graph = screen.find("Outstanding size over time");
    let y = graph.center().1;
    let (_, _, end) = screen.interval();
    let x_of = |seconds: f64| graph.x + (seconds / end * f64::from(graph.width)).round() as i32;
    screen.drag((x_of(17.4), y), (x_of(19.4), y));
    screen.wait_for_line("Commit (VirtualAlloc)", "22", "+10.00 MB", "25.95 MB");
    screen.picture("step.png");
    screen.key("z");
    screen.wait_for("the zoom", |all| all.iter().any(|w| w.name.starts_with("View: 17.")));
    screen.wait_for_line("Commit (VirtualAlloc)", "22", "+10.00 MB", "25.95 MB");

    // The step is one VirtualAlloc of Main; its stack opens by itself down to the call.
    screen.click_on("Expand Grew (Impacting)");
    screen.wait_for_line("Grew (Impacting)", "1", "+10.00 MB", "10.00 MB");
    screen.wait_for("names of the program's functions", |all| all.iter().any(|w| w.name.contains("Main")));
    screen.picture("zoomed.png");

    screen.key("BackSpace");
    screen.wait_for("the selection on the whole trace", |all| all.iter().any(|w| w.name.starts_with("Selection: 17.")));
    screen.key("Escape");
    screen.wait_for("the whole trace", |all| all.iter().any(|w| w.name.starts_with("View: 0.000 s")));
    screen.wait_for_line("Commit (VirtualAlloc)", "35", "0 B", "126.00 MB");
    let (what, from, to) = screen.interval();
    assert_eq!((what.as_str(), from), ("View", 0.0));
    assert!(to > 36.0, "{to}");

    // The spikes are the transient commits: selecting them paints their lives.
    screen.click_on("Source MemoryTestApp.exe: Commit (VirtualAlloc)");
    screen.drag((x_of(22.6), y), (x_of(34.5), y));
    screen.click_on("Size");
    screen.wait_for("the order by size", |all| {
        let y = |name: &str| all.iter().find(|w| w.name == name && w.role == "Label").map(|w| w.y);
        y("Came and went (Transient)").zip(y("Grew (Impacting)")).is_some_and(|(came, grew)| came < grew)
    });
    screen.click_on("Came and went (Transient)");
    screen.wait_for_line("Came and went (Transient)", "4", "0 B", "40.00 MB");
    screen.wait_for("its numbers in the status bar", |all| {
        all.iter().any(|w| w.name.starts_with("Came and went (Transient): count 4, size 40.00 MB"))
    });
    screen.picture("spikes.png");
    screen.key("Escape");

    screen.click_on("Clear filter");
    screen.wait_for("no filter any more", |all| !all.iter().any(|w| w.name == "Show all"));

    // The leak by hand: ten seconds of the first heap hold some 320 blocks that nobody frees.
    screen.click_on("Source MemoryTestApp.exe: 0x1d0000 (default)");
    screen.click_on("Impacting Size");
    screen.drag((x_of(12.0), y), (x_of(22.0), y));
    screen.wait_for("what grew", |all| {
        let count = screen.line(all, "Grew (Impacting)").and_then(|line| line.get(1)?.parse::<u32>().ok());
        let y = |name: &str| all.iter().find(|w| w.name == name && w.role == "Label").map(|w| w.y);
        let is_first = y("Grew (Impacting)").zip(y("Stayed (Persistent)")).is_some_and(|(grew, stayed)| grew < stayed);
        is_first && count.is_some_and(|count| (315..326).contains(&count))
    });
    screen.click_on("Expand Grew (Impacting)");
    screen.wait_for("their stack", |all| all.iter().any(|w| w.role == "Label" && w.name.contains("InnerLoopOperation")));
    screen.picture("growth.png");
}

#[test]
fn the_leak_and_the_step_take_one_click_from_the_first_screen() {
    let Some(mut screen) = Screen::new() else { return };
    screen.start(&["--theme", "dark", "demo:"]);
    // With names, that is: they come a moment later.
    let leak = "Finding MemoryTestApp.exe: steady growth of about 1.25 KB/s in InnerLoopOperation (main.cpp:48), heap 0x1d0000: 42.50 KB";
    let is_leak = |widget: &Widget| widget.name.starts_with(leak);
    screen.wait_for(leak, |all| all.iter().any(is_leak));
    screen.picture("findings.png");
    screen.click_what(leak, is_leak);
    screen.wait_for("the leak", |all| {
        all.iter().any(|w| w.name.starts_with("MemoryTestApp.exe!InnerLoopOperation: count 1,088, size 42.50 KB"))
    });
    screen.picture("leak.png");
    screen.click_on("Back");
    screen.click_what("the step's card", |widget| widget.name.starts_with("Finding MemoryTestApp.exe: step of +10.00 MB"));
    screen.wait_for("the step", |all| all.iter().any(|w| w.name.starts_with("MemoryTestApp.exe!Main: count 1, size 10.00 MB")));
    screen.click_on("Back");
    screen.click_on("Source MemoryTestApp.exe: Commit (VirtualAlloc)");
    screen.click_on("Flame");
    screen.find("Flame graph of Commit (VirtualAlloc)");
    screen.picture("flame.png");
}

#[test]
fn the_findings_of_a_fragmented_heap_name_who_pins_its_pages_and_a_habit() {
    let Some(mut screen) = Screen::new() else { return };
    screen.start(&["--theme", "dark", "demo:"]);
    screen.click_on("Source ThumbnailServer.exe (5632)");
    screen.click_on("Findings");
    for finding in
        ["ThumbnailServer.exe: 400 nearly empty pages", "ThumbnailServer.exe: 1,200 blocks (1.37 MB, 100 % of its blocks)"]
    {
        screen.wait_for(finding, |all| all.iter().any(|w| w.role == "Label" && w.name.starts_with(finding)));
    }
    screen.picture("fragmented.png");
}

#[test]
fn models_of_other_allocators_stand_side_by_side_with_the_best_pool() {
    let Some(mut screen) = Screen::new() else { return };
    screen.start(&["--theme", "dark", "demo:"]);
    screen.click_on("Hide findings");
    screen.click_on("More tabs");
    screen.click_on("What if");
    let sentence = "A pool for ThumbnailServer.dll!FolderIndex.Add would take the peak from 3.12 MB to 2.62 MB.";
    screen.wait_for(sentence, |all| all.iter().any(|w| w.name == sentence));
    screen.picture("what-if.png");
}

#[test]
fn names_and_types_of_the_demo_appear_by_themselves() {
    let Some(mut screen) = Screen::new() else { return };
    screen.start(&["--theme", "dark", "demo:"]);
    screen.click_on("Source MemoryTestApp.exe: Commit (VirtualAlloc)");
    screen.wait_for("the filter", |all| screen.line(all, "TelemetryService.exe (5120)").is_none());
    screen.click_on("Search");
    screen.xdotool(&["type", "manipulate"]);
    // The spikes: the way from the program's entry down to what made them.
    let way = "Main \u{203a} Operation1 \u{203a} ManipulateTemporaryBuffer";
    screen.wait_for("the way in one line", |all| all.iter().any(|w| w.role == "Label" && w.name.ends_with(way)));
    screen.picture("names.png");
    screen.click_on("Clear search");
    screen.click_on("Clear filter");
    screen.click_on("More tabs");
    screen.click_on("Types");
    screen.click_on("RigidBody");
    screen.wait_for("the filter to one type", |all| all.iter().any(|w| w.name == "RigidBody (Custom trackers)"));
    screen.click_on("Clear filter");
    screen.click_on("Graph by source");
    screen.click_on("Types stacked: Windows NT heaps");
    screen.find("(unknown type)");
    screen.picture("types.png");
    screen.click_on("More tabs");
    screen.click_on("Symbols");
    screen.find("part of highwater");
    screen.click_on("Stacks");
    screen.find("Collapse all");
}

#[test]
fn a_symbol_path_in_the_environment_names_frames_with_no_click() {
    let (Some(corpus), Some(mut screen)) = (common::corpus(), Screen::new()) else { return };
    let file = screen.folder.path().join("named.etl");
    let bytes = common::trace::trace(common::trace::session(false), &common::named::story(&corpus));
    fs::write(&file, bytes).expect("the file is written");
    let path = file.display().to_string();
    screen.start_in(&[&path], &[("_NT_SYMBOL_PATH", corpus.as_os_str())]);
    screen.find("Search"); // a key has nothing to do before the table is there
    screen.key("ctrl+f");
    screen.xdotool(&["type", "crashing_func"]);
    screen.wait_for("its name", |all| all.iter().any(|w| w.role == "Label" && w.name.contains("crashing_function")));
    assert!(!screen.widgets().iter().any(|w| w.name.contains("Only names and ids")), "of folders nobody is asked");
}

#[test]
fn a_recording_is_played_as_if_it_were_live() {
    let Some(mut screen) = Screen::new() else { return };
    screen.start(&["replay", "demo:", "--speed", "10", "--theme", "dark"]);
    let seconds = |all: &[Widget]| {
        let text = all.iter().find_map(|w| w.name.strip_prefix("Playing at "))?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    let early = screen.wait("its beginning", |all| seconds(all).filter(|&at| at > 1.0));
    screen.wait_for("more of it", |all| seconds(all).is_some_and(|at| at > early + 2.0));
    screen.wait_for("the step", |all| seconds(all).is_some_and(|at| at > 18.5));
    screen.key("space");
    screen.wait_for("the pause", |all| all.iter().any(|w| w.name.starts_with("Paused at")));
    let (what, from, to) = screen.interval();
    assert!(what == "View" && from == 0.0 && to > 18.0 && to < 36.0, "{what} {from} {to}");
    screen.picture("live.png");
    screen.click_on("To the End");
    screen.wait_for("everything", |all| all.iter().any(|w| w.name == "View: 0.000 s to 36.060 s (36.060 s)"));
}

#[test]
fn a_file_that_is_no_trace_is_refused_in_the_window() {
    let Some(mut screen) = Screen::new() else { return };
    let path = screen.folder.path().join("letter.pdf");
    fs::write(&path, "%PDF-1.7 not a trace at all").expect("the file is written");
    screen.start(&["--theme", "light", &path.display().to_string()]);
    screen.wait_for("the reason", |all| all.iter().any(|w| w.name.contains("letter.pdf") && w.name.contains("a PDF document")));
    screen.click_on("Dismiss");
    screen.wait_for("no reason any more", |all| !all.iter().any(|w| w.name.contains("letter.pdf")));
    screen.click_on("Demo trace");
    screen.find("Source MemoryTestApp.exe (4660)");
    screen.wait_for("peaks", |all| all.iter().any(|w| w.name == "10.50 MB") && !all.iter().any(|w| w.name == "\u{2026}"));
    screen.picture("light.png");
}
