//! The window's behaviour, driven by the names of its widgets, without a screen.

use std::path::Path;

use crate::driver::{Window, click, drag_on, drop_file, give, has, has_containing, settle, show_tab, window_of, window_set};
use eframe::egui;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};
use highwater::load::Input;

/// The texts of the table's line that begins with `name`.
pub fn line(window: &Window, name: &str) -> Option<Vec<String>> {
    let top = window.get_by_label("Search").rect().bottom();
    let texts: Vec<(egui::Rect, String)> = window
        .root()
        .children_recursive()
        .filter(|node| node.accesskit_node().role() == egui::accesskit::Role::Label)
        .filter_map(|node| Some((node.rect(), node.value().or_else(|| node.accesskit_node().label())?)))
        .filter(|(rect, _)| rect.top() > top)
        .collect();
    let (first, _) = texts.iter().find(|(_, text)| text == name)?;
    let same_line = |rect: &egui::Rect| (rect.center().y - first.center().y).abs() < 3.0 && rect.left() >= first.left();
    let mut cells: Vec<_> = texts.iter().filter(|(rect, _)| same_line(rect)).collect();
    cells.sort_by(|a, b| a.0.left().total_cmp(&b.0.left()));
    Some(cells.into_iter().map(|(_, text)| text.clone()).collect())
}

/// Count, Impacting Size and Size of a line.
fn numbers(window: &Window, name: &str) -> [String; 3] {
    let line = line(window, name).unwrap_or_else(|| panic!("no line {name}"));
    [line[1].clone(), line[2].clone(), line[3].clone()]
}

/// Drags over the graph between two parts of its width, 0 to 1.
fn drag(window: &mut Window, from: f32, to: f32) {
    drag_on(window, "Outstanding size over time", from, to);
}

/// The part of the demo's length at which a second lies.
fn part(seconds: f32) -> f32 {
    seconds / 36.06
}

#[test]
fn the_start_page_offers_the_ways_in() {
    let window = window_of(Vec::new());
    for label in ["Where did the memory go?", "Open\u{2026}", "Demo trace"] {
        assert!(has(&window, label), "{label}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_its_reason() {
    for (path, reason) in [("/nowhere/a.etl", "there is no such file"), ("/", "this is a directory")] {
        let mut window = window_of(vec![Input::File(path.into())]);
        assert!(has_containing(&window, reason), "{path}");
        assert!(has(&window, "Demo trace"), "the start page is still there");
        click(&mut window, "Dismiss");
        assert!(!has_containing(&window, reason));
    }
}

#[test]
fn the_demo_reads_as_the_exercise_says() {
    let mut window = window_of(vec![Input::Demo]);
    click(&mut window, "Source MemoryTestApp.exe (4660)");
    assert!(line(&window, "TelemetryService.exe (5120)").is_none());
    assert_eq!(numbers(&window, "Commit (VirtualAlloc)"), ["35", "0 B", "126.00 MB"]);
    assert_eq!(numbers(&window, "Windows NT heap 0x1d0000 (default)"), ["1,200", "+130.00 KB", "130.00 KB"]);

    drag(&mut window, part(17.4), part(19.4));
    assert_eq!(numbers(&window, "Commit (VirtualAlloc)")[1], "+10.00 MB");
    window.key_press(egui::Key::Z);
    settle(&mut window);
    assert!(has_containing(&window, "View: 17.4"));
    window.key_press(egui::Key::Backspace);
    settle(&mut window);
    assert!(has_containing(&window, "Selection: 17.4"), "what was selected there comes back");
    window.key_press(egui::Key::Escape);
    settle(&mut window);
    assert!(has_containing(&window, "View: 0.000 s to 36.060 s"));

    // The last four spikes: what came and went.
    click(&mut window, "Source MemoryTestApp.exe: Commit (VirtualAlloc)");
    drag(&mut window, part(22.6), part(34.5));
    assert_eq!(numbers(&window, "Came and went (Transient)"), ["4", "0 B", "40.00 MB"]);
}

#[test]
fn layers_are_never_added_up() {
    let mut window = window_of(vec![Input::Demo]);
    window.set_size(egui::vec2(1280.0, 1400.0)); // room for the lines of all processes
    settle(&mut window);
    assert_eq!(line(&window, "MemoryTestApp.exe (4660)").unwrap().len(), 1, "a process with several layers has no numbers");
}

#[test]
fn selected_lines_filter_and_escape_goes_back() {
    let mut window = window_of(vec![Input::Demo]);
    click(&mut window, "Windows NT heap 0x2a40000");
    click(&mut window, "Filter to this line");
    assert!(line(&window, "Commit (VirtualAlloc)").is_none());
    assert!(line(&window, "Windows NT heap 0x2a40000").is_some());
    for _ in 0..3 {
        window.key_press(egui::Key::Escape);
        settle(&mut window);
    }
    assert!(line(&window, "Commit (VirtualAlloc)").is_some());
}

#[test]
fn a_filter_to_a_class_says_what_the_table_says() {
    for (is_wpa, line) in [(false, "Grew (Impacting)"), (true, "Impacting \u{203a} AIFO")] {
        let mut settings = Settings::default();
        settings.wpa_words = is_wpa;
        let mut window = window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, settings);
        click(&mut window, "Source MemoryTestApp.exe: Commit (VirtualAlloc)");
        drag(&mut window, part(17.4), part(19.4));
        click(&mut window, line);
        click(&mut window, "Filter to this line");
        assert!(
            has(&window, &format!("Remove filter MemoryTestApp.exe \u{203a} Commit (VirtualAlloc) \u{203a} {line}")),
            "{line}"
        );
    }
}

#[test]
fn headers_sort_and_columns_hide() {
    let mut window = window_of(vec![Input::Demo]);
    click(&mut window, "Hide findings"); // more room for the table
    // A line that is scrolled out of sight is below all others.
    let top = |window: &Window, name: &str| window.query_all_by_label(name).last().map_or(f32::INFINITY, |n| n.rect().top());
    let order = |window: &Window| top(window, "TelemetryService.exe (5120)") < top(window, "MemoryTestApp.exe (4660)");
    assert!(order(&window), "more changed in the service");
    click(&mut window, "Size");
    assert!(!order(&window), "the test program allocated more");
    click(&mut window, "Source MemoryTestApp.exe (4660)");
    click(&mut window, "View");
    // The menu's, not the table's own.
    let menus = window.query_all_by_label_contains("Columns").min_by(|a, b| a.rect().top().total_cmp(&b.rect().top()));
    menus.unwrap().click();
    settle(&mut window);
    window.get_by_role_and_label(egui::accesskit::Role::CheckBox, "Count").click();
    settle(&mut window);
    window.key_press(egui::Key::Escape);
    settle(&mut window);
    assert_eq!(line(&window, "Commit (VirtualAlloc)").unwrap()[1], "0 B", "the count is gone");
}

#[test]
fn the_peak_sorts_too() {
    let mut window = window_of(vec![Input::Demo]);
    click(&mut window, "Peak");
    let top = |window: &Window, name: &str| window.query_all_by_label(name).last().map_or(f32::INFINITY, |n| n.rect().top());
    let heaps = ["Windows NT heaps", "Custom trackers"];
    // Of the test program: commit 36 MB, the tracker 1.66 MB, its heaps 131 KB.
    assert!(top(&window, "MemoryTestApp.exe (4660)") < top(&window, "TelemetryService.exe (5120)"));
    click(&mut window, "Source MemoryTestApp.exe (4660)");
    assert!(top(&window, heaps[1]) < top(&window, heaps[0]));
    click(&mut window, "Peak");
    assert!(top(&window, heaps[0]) < top(&window, heaps[1]), "once more turns the order round");
}

#[test]
fn dropped_files_open() {
    let mut window = window_of(Vec::new());
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo.etl");
    drop_file(&mut window, &demo);
    assert!(has(&window, "Source MemoryTestApp.exe (4660)"));
}

#[test]
fn a_source_that_is_filtered_away_stays_in_the_list_without_numbers() {
    let mut window = window_of(vec![Input::Demo]);
    let source = "Source TelemetryService.exe: Commit (VirtualAlloc)";
    let numbers = |window: &Window| window.get_by_label(source).value().unwrap();
    let all = numbers(&window);
    assert!(all.ends_with("impacting size +3.00 MB"), "{all}");
    click(&mut window, "Source MemoryTestApp.exe (4660)");
    assert_eq!(numbers(&window), "filtered out");
    drag(&mut window, part(17.4), part(19.4));
    assert_eq!(numbers(&window), "filtered out");
    click(&mut window, "Clear filter");
    let selected = numbers(&window);
    assert!(selected.contains(" at the end") && selected != all, "that of the interval: {selected}");
    show_tab(&mut window, "Types");
    click(&mut window, "RigidBody");
    assert_eq!(numbers(&window), "filtered out", "it has none of that type");
}

#[test]
fn nodes_open_down_to_single_allocations() {
    let mut window = window_of(vec![Input::Demo]);
    click(&mut window, "Hide findings"); // more room for the table
    click(&mut window, "Source MemoryTestApp.exe: PhysicsHeap");
    drag(&mut window, part(34.0), part(35.0));
    // Open whatever is closed until single allocations are there, with address and times.
    for _ in 0..40 {
        let next = window.query_all_by_label_contains("Expand ").last().map(|n| n.rect().center());
        let Some(_) = next else { break };
        if has_containing(&window, " s") && window.query_all_by_label_contains("0x").any(|n| n.rect().left() > 900.0) {
            break;
        }
        window.query_all_by_label_contains("Expand ").last().unwrap().click();
        settle(&mut window);
    }
    let allocation = window
        .root()
        .children_recursive()
        .filter_map(|n| n.value())
        .find(|text| text.starts_with("0x") && text.len() > 6 && !text.contains('!'));
    assert!(allocation.is_some());
}

#[test]
fn the_table_works_from_the_keyboard() {
    let mut window = window_of(vec![Input::Demo]);
    let press = |window: &mut Window, key| {
        window.key_press(key);
        settle(window);
    };
    press(&mut window, egui::Key::ArrowDown);
    press(&mut window, egui::Key::ArrowDown);
    // The second line is the commit of the process that changed most.
    assert!(has_containing(&window, "Commit (VirtualAlloc): count 26"), "its numbers are in the status bar");
    assert!(line(&window, "Stayed (Persistent)").is_some());
    press(&mut window, egui::Key::ArrowLeft);
    assert!(line(&window, "Stayed (Persistent)").is_none(), "closed");
    press(&mut window, egui::Key::ArrowRight);
    assert!(line(&window, "Stayed (Persistent)").is_some(), "open again");
    window.event(egui::Event::Copy);
    let mut copied = None;
    for _ in 0..4 {
        window.step();
        let commands = &window.output().platform_output.commands;
        copied = copied.or(commands.iter().find_map(|command| match command {
            egui::OutputCommand::CopyText(text) => Some(text.clone()),
            _ => None,
        }));
    }
    assert!(copied.is_some_and(|text| text.starts_with("Commit (VirtualAlloc)\t26\t+3.00 MB\t19.50 MB")));
    press(&mut window, egui::Key::Enter);
    assert!(line(&window, "MemoryTestApp.exe (4660)").is_none(), "filtered to the selected line");
}

/// A generated trace in a file of its own.
pub fn generated(folder: &tempfile::TempDir, options: &highwater_dev::synth::Options) -> Vec<Input> {
    let path = folder.path().join("generated.etl");
    highwater_dev::synth::generate(options, std::fs::File::create(&path).unwrap()).unwrap();
    vec![Input::File(path)]
}

pub fn heap_options() -> highwater_dev::synth::Options {
    highwater_dev::synth::Options { events: 30_000, distinct_stacks: 50, live: 1000, ..Default::default() }
}

#[test]
fn counters_are_off_until_they_are_switched_on() {
    let folder = tempfile::tempdir().unwrap();
    let options = highwater_dev::synth::Options { counters: true, heaps: 1, processes: 1, ..heap_options() };
    let mut window = window_of(generated(&folder, &options));
    let switch = "Counter Commit charge of all processes";
    let is_on = |window: &Window| {
        use egui::accesskit::Toggled;
        window.get_by_label(switch).accesskit_node().toggled() == Some(Toggled::True)
    };
    assert!(has(&window, "Counter app0.exe (6000): Working set"));
    assert!(!is_on(&window), "the lines of the heaps are drawn");
    click(&mut window, switch);
    assert!(is_on(&window));
    assert!(has(&window, "Lane Commit charge of all processes"), "it has a lane");
    click(&mut window, "Together");
    assert!(has(&window, "Line of Commit charge of all processes"));
    click(&mut window, switch);
    assert!(!is_on(&window) && !has(&window, "Line of Commit charge of all processes"));
}

#[test]
fn numbers_that_a_program_reports_have_lines_with_a_scale_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let options = highwater_dev::synth::Options { pix: true, heaps: 1, processes: 1, ..heap_options() };
    let mut window = window_of(generated(&folder, &options));
    let switch = "Counter app0.exe (6000): Heaps (MB)";
    click(&mut window, switch);
    assert!(has(&window, "Lane Heaps (MB)") || has_containing(&window, "Lane app0.exe (6000): Heaps (MB)"));
    click(&mut window, "Together");
    let graph = window.get_by_label("Outstanding size over time").rect();
    window.hover_at(graph.center());
    window.step();
    window.step();
    let line = window.get_by_label("Line of app0.exe (6000): Heaps (MB)");
    let value = line.accesskit_node().value().unwrap_or_default();
    assert!(!value.contains('B') && value.parse::<f32>().is_ok(), "a number and no bytes: {value}");
}

#[test]
fn the_commit_charge_is_drawn_where_nothing_else_is() {
    use highwater::etl::{SessionHeader, write::Writer};
    use highwater::events::{CounterEvent, Event, ProcessMemory, Record, encode::RecordWriter};
    use highwater::units::{Pid, Tid};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counters.etl");
    let file = std::fs::File::create(&path).unwrap();
    let mut w = RecordWriter::new(Writer::new(file, SessionHeader::default()).unwrap());
    for second in 0..20u64 {
        let pages = 1000 + second % 7 * 100;
        let one = |pid| ProcessMemory { pid: Pid(pid), working_set: 10, commit: pages, virtual_size: 9, private_working_set: 5 };
        let event = Event::Counter(Box::new(CounterEvent::Processes(vec![one(4), one(8)])));
        w.put(0, &Record { time: second as i64 * 10_000_000, pid: Pid(4), tid: Tid(8), event }, &[]).unwrap();
    }
    w.finish().unwrap();
    let window = window_of(vec![Input::File(path)]);
    let switch = window.get_by_label("Counter Commit charge of all processes");
    assert_eq!(switch.accesskit_node().toggled(), Some(egui::accesskit::Toggled::True));
    assert!(has(&window, "Counter Unknown (8): Commit charge"), "all are listed");
}

#[test]
fn what_a_process_had_before_the_recording_is_said_below_its_name() {
    use highwater::etl::{SessionHeader, write::Writer};
    use highwater::events::{CounterEvent, Event, ProcessChange, ProcessInfo, ProcessMemory, Record, encode::RecordWriter};
    use highwater::units::{Layer, Pid, Tid};
    const MB: u64 = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let trace = |has_counters: bool, change: ProcessChange| {
        let path = folder.path().join(format!("{has_counters} {change:?}.etl"));
        let mut w = RecordWriter::new(Writer::new(std::fs::File::create(&path).unwrap(), SessionHeader::default()).unwrap());
        let mut put = |milliseconds: i64, event| {
            w.put(0, &Record { time: milliseconds * 10_000, pid: Pid(7), tid: Tid(8), event }, &[]).unwrap();
        };
        let name = "game.exe".to_owned();
        put(0, Event::Process(change, Box::new(ProcessInfo { key: 1, parent: 1, name, command_line: String::new() })));
        for second in 1..=10 {
            let address = 0x10_0000_0000 + second as u64 * 0x1000_0000;
            put(second * 1000, Event::Alloc { layer: Layer::Heap, heap: 0x1000, address, size: 31 * MB });
            let commit = (1946 * MB + second as u64 * 31 * MB) / 4096;
            let memory = ProcessMemory { pid: Pid(7), working_set: 1, commit, virtual_size: 0, private_working_set: 0 };
            if has_counters {
                put(second * 1000 + 100, Event::Counter(Box::new(CounterEvent::Chosen(vec![memory]))));
            }
        }
        w.finish().unwrap();
        window_of(vec![Input::File(path)])
    };
    let window = trace(true, ProcessChange::Rundown);
    let told = "1.9 GB were allocated before the recording began: unknown here. Known: 310 MB of 2.2 GB (14 %).";
    assert!(has(&window, told));
    assert!(has(&window, "Counter game.exe (7): Commit charge") && !has_containing(&window, "of all processes"));
    let window = trace(false, ProcessChange::Rundown);
    assert!(has(&window, "What was allocated before the recording began is unknown here."));
    let window = trace(true, ProcessChange::Start);
    assert!(has_containing(&window, "Source game.exe") && !has_containing(&window, "before the recording"));
}

#[test]
fn losses_make_totals_bounds_from_their_time_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window_of(generated(&folder, &highwater_dev::synth::Options { lost_buffers: 1, ..heap_options() }));
    assert!(has_containing(&window, "1 buffer lost") && has_containing(&window, "numbers after 0.0"));
    assert!(has(&window, "Size *") && has(&window, "At End *"));
    assert!(has(&window, "At Start"), "before the loss");
    drag(&mut window, 0.0, 0.1);
    assert!(has(&window, "Size") && !has(&window, "Size *"), "an interval before the loss is exact");
    let graph = window.get_by_label("Outstanding size over time").rect();
    let is_told = (100..300).any(|part| {
        window.hover_at(egui::pos2(graph.left() + graph.width() * part as f32 / 400.0, graph.center().y));
        window.step();
        window.step();
        has_containing(&window, "Buffers lost between 0.0")
    });
    assert!(is_told, "the cursor tells of it where it is");
    window.hover_at(egui::pos2(0.0, 0.0));
    settle(&mut window);
    assert!(!has_containing(&window, "Buffers lost between"));
    show_tab(&mut window, "Trace");
    assert!(has(&window, "Losses") && has_containing(&window, "Buffers lost between 0.0"));
    assert!(has(&window, "Frees without a known allocation"));
    give(&mut window, "tabs: freed before");
    assert!(has_containing(&window, "Freed here, allocated before"));
    assert!(has(&window, "Bytes") && has(&window, "app0.exe"));
    window.get_all_by_label("(no stack)").next().unwrap().click();
    settle(&mut window);
    assert!(has_containing(&window, "came without a call stack"), "the generator gives frees none");
}

#[test]
fn without_losses_nothing_is_a_bound() {
    let window = window_of(vec![Input::Demo]);
    assert!(has(&window, "Size") && !has_containing(&window, "bounds") && !has_containing(&window, " *"));
}

#[test]
fn a_drag_on_the_overview_makes_a_view() {
    let mut window = window_of(vec![Input::Demo]);
    drag_on(&mut window, "Overview of the whole trace", 0.5, 0.75);
    assert!(!has_containing(&window, "View: 0.000 s to 36.060 s"));
    assert!(has_containing(&window, "View: "));
    window.key_press(egui::Key::Backspace);
    settle(&mut window);
    assert!(has_containing(&window, "View: 0.000 s to 36.060 s"));
}
