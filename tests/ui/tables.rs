//! What all tables of the window have in common: columns that stay, names that take the rest, lines that
//! stay at the top, exports; driven by the names of widgets, without a screen.

use crate::driver::{Window, click, settle, window_set};
use eframe::egui::{self, Rect, accesskit::Role, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};
use highwater::load::Input;

fn demo(size: [f32; 2]) -> Window {
    let mut window = window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, Settings::default());
    window.set_size(size.into());
    settle(&mut window);
    window
}

/// Where the header of a column is, if it is in sight.
fn header(window: &Window, title: &str) -> Option<Rect> {
    let header = window.query_all_by_role_and_label(Role::Button, title).next();
    header.map(|header| header.rect())
}

/// Where the table has lines that begin with this name, from the top.
fn lines(window: &Window, name: &str) -> Vec<f32> {
    let top = header(window, "Count").unwrap().bottom();
    let left = window.get_by_label("Search").rect().left() - 800.0;
    let labels = window.query_all_by_label(name).filter(|node| node.accesskit_node().role() == Role::Label);
    let rects = labels.map(|node| node.rect()).filter(|rect| rect.top() >= top - 1.0 && rect.left() > left);
    let mut at: Vec<f32> = rects.map(|rect| rect.center().y).collect();
    at.sort_by(f32::total_cmp);
    at
}

const SIZES: [[f32; 2]; 3] = [[1024.0, 640.0], [1280.0, 800.0], [1920.0, 1080.0]];

#[test]
fn numbers_stay_where_they_are_and_names_take_the_rest() {
    for size in SIZES {
        let mut window = demo(size);
        let headers =
            |window: &Window| ["Count", "Impacting Size", "Size", "At Start"].map(|title| header(window, title).unwrap());
        let before = headers(&window);
        window.query_all_by_label("Expand Grew (Impacting)").next().unwrap().click();
        settle(&mut window);
        assert_eq!(headers(&window), before, "{size:?}: a node was opened");
        let end = window.get_by_label("Columns").rect();
        assert!(end.right() <= size[0] && end.right() > size[0] - 40.0, "{size:?}: {end}");
        let titles = ["Peak", "Alloc/Commit Time", "Free/Decommit Time", "Address", "Thread"];
        let shown: Vec<Rect> = titles.into_iter().filter_map(|title| header(&window, title)).collect();
        assert!(shown.iter().all(|header| header.right() <= end.left() + 4.0), "{size:?}: {shown:?}");
        let last = ["At Start", "At End", "Peak"].into_iter().filter_map(|title| header(&window, title)).next_back().unwrap();
        assert!((last.right() - end.left()).abs() < 8.0, "{size:?}: no gap behind the last: {last} and {end}");
        // What is not there has no room: not even as many points as the last one has.
        let name = header(&window, "Process / Heap / Type / Stack").unwrap();
        assert!(name.width() >= 0.3 * (end.right() - name.left()), "{size:?}: {name}");
        assert_eq!(shown.len(), usize::from(size[0] > 1200.0), "{size:?}: what only single allocations have is not shown");
    }
}

#[test]
fn an_edge_is_dragged_and_the_other_columns_stay() {
    let mut window = demo([1280.0, 800.0]);
    let (peak, size) = (header(&window, "Peak").unwrap(), header(&window, "Size").unwrap());
    let edge = pos2(size.left(), size.center().y);
    window.drag_at(edge);
    window.step();
    window.hover_at(edge - vec2(30.0, 0.0));
    window.step();
    window.drop_at(edge - vec2(30.0, 0.0));
    settle(&mut window);
    assert_eq!(header(&window, "Peak").unwrap(), peak);
    let wider = header(&window, "Size").unwrap();
    assert_eq!((wider.right(), wider.width().round()), (size.right(), size.width().round() + 30.0));
}

#[test]
fn columns_are_chosen_at_the_end_of_the_headers() {
    let mut window = demo([1024.0, 640.0]);
    assert!(header(&window, "At Start").is_some());
    click(&mut window, "Columns");
    window.get_by_role_and_label(Role::CheckBox, "At Start").click();
    settle(&mut window);
    window.key_press(egui::Key::Escape);
    settle(&mut window);
    assert!(header(&window, "At Start").is_none() && header(&window, "At End").is_some());
}

#[test]
fn the_lines_that_one_is_under_stay_at_the_top() {
    let mut window = demo([1280.0, 800.0]);
    click(&mut window, "All frames"); // so that there is something to scroll
    window.query_all_by_label_contains("10 spikes of 10.00 MB").next().unwrap().click();
    settle(&mut window);
    let name = "MemoryTestApp.exe (4660)";
    let top = lines(&window, name);
    assert_eq!(top.len(), 1);
    let below = header(&window, "Count").unwrap();
    window.hover_at(pos2(below.center().x, below.bottom() + 100.0));
    for _ in 0..4 {
        window.event(egui::Event::MouseWheel {
            unit: egui::MouseWheelUnit::Line,
            delta: vec2(0.0, -1.0),
            phase: egui::TouchPhase::Move,
            source: egui::MouseWheelSource::Wheel,
            modifiers: egui::Modifiers::NONE,
        });
        settle(&mut window);
    }
    assert_eq!(lines(&window, name), top, "the process of the first line in sight");
    let transient = lines(&window, "Came and went (Transient)");
    assert!(transient.len() == 1 && transient[0] - top[0] < 60.0, "{transient:?}");
    assert!(lines(&window, "Grew (Impacting)").is_empty(), "what it is not under is scrolled away");
    window.query_all_by_label(name).find(|node| (node.rect().center().y - top[0]).abs() < 1.0).unwrap().click();
    settle(&mut window);
    assert_eq!(lines(&window, "Grew (Impacting)").len(), 1, "a click goes there");
}

#[test]
fn right_enters_an_open_line_and_left_leaves_it() {
    let mut window = demo([1280.0, 800.0]);
    let says = |window: &Window, text: &str| window.query_all_by_label_contains(text).next().is_some();
    for key in [egui::Key::ArrowDown, egui::Key::ArrowDown, egui::Key::ArrowRight] {
        window.key_press(key);
        settle(&mut window);
    }
    assert!(says(&window, "Grew (Impacting): count 9"), "the first line under the commit");
    window.key_press(egui::Key::ArrowLeft);
    settle(&mut window);
    assert!(says(&window, "Commit (VirtualAlloc): count 26"));
}

#[test]
fn lines_keep_their_places_while_the_user_drags() {
    let mut window = demo([1280.0, 1400.0]);
    let is_first =
        |window: &Window| lines(window, "TelemetryService.exe (5120)")[0] < lines(window, "MemoryTestApp.exe (4660)")[0];
    assert!(is_first(&window), "it changed most");
    let plot = window.get_by_label("Outstanding size over time").rect();
    let at = |seconds: f32| pos2(plot.left() + plot.width() * seconds / 36.06, plot.center().y);
    window.drag_at(at(17.4));
    window.step();
    for seconds in [18.0, 18.8, 19.4] {
        window.hover_at(at(seconds));
        settle(&mut window);
    }
    let grew = "+10.00 MB";
    assert!(window.query_all_by_label_contains(grew).next().is_some(), "the numbers follow");
    assert!(is_first(&window));
    window.drop_at(at(19.4));
    settle(&mut window);
    assert!(!is_first(&window), "the order is due");
}

#[test]
fn a_table_is_copied_whole_and_as_it_reads() {
    let mut window = demo([1280.0, 800.0]);
    click(&mut window, "Functions");
    click(&mut window, "Export");
    window.get_by_label("Copy table as text").click();
    let mut copied = None;
    for _ in 0..2000 {
        window.step();
        let commands = &window.output().platform_output.commands;
        copied = commands.iter().find_map(|command| match command {
            egui::OutputCommand::CopyText(text) => Some(text.clone()),
            _ => None,
        });
        if copied.is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let text = copied.unwrap();
    let rows: Vec<&str> = text.lines().collect();
    // The last two are there because the program shows frames, and are not on the screen.
    assert_eq!(rows[0], "Function\tCount\tImpacting Size\tSize\tAt Start\tAt End\tPeak\tAllocations/frame\tBytes/frame");
    assert!(rows.len() > 2 && rows[1..].iter().all(|row| row.split('\t').count() == 9), "{text}");
    // The first line's numbers are those on the screen.
    let cells: Vec<&str> = rows[1].split('\t').collect();
    for cell in &cells[1..7] {
        assert!(window.query_all_by_label(cell).next().is_some(), "{cell}");
    }
}

#[test]
fn wpas_words_can_stand_alone() {
    let settings: Settings = toml::from_str("wpa_words = true\nopen_chains = true").unwrap();
    let mut window = window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, settings);
    assert!(!lines(&window, "Impacting").is_empty() && lines(&window, "Grew (Impacting)").is_empty());
    window.query_all_by_label("Expand Impacting").next().unwrap().click();
    settle(&mut window);
    assert!(!lines(&window, "AIFO").is_empty(), "each level has a line");
}

/// Cells of a column from the top: the name of their line, their text, and where they are.
fn cells(window: &Window, column: &str) -> Vec<(String, String, Rect)> {
    let header = header(window, column).unwrap();
    let bottom = window.ctx.content_rect().bottom() - 24.0; // the status bar
    let labels: Vec<(Rect, String)> = window
        .root()
        .children_recursive()
        .filter(|node| node.accesskit_node().role() == Role::Label && node.accesskit_node().bounding_box().is_some())
        .filter_map(|node| Some((node.rect(), node.value().or_else(|| node.accesskit_node().label())?)))
        .filter(|(rect, _)| rect.top() > header.bottom() - 1.0 && rect.bottom() < bottom)
        .collect();
    let is_its = |rect: &Rect| header.x_range().contains(rect.center().x);
    let mut cells: Vec<(String, String, Rect)> = labels
        .iter()
        .filter(|(rect, _)| is_its(rect))
        .filter_map(|(rect, text)| {
            let beside = labels.iter().filter(|(name, _)| (name.center().y - rect.center().y).abs() < 4.0 && name.left() > 290.0);
            let (_, name) = beside.min_by(|a, b| a.0.left().total_cmp(&b.0.left()))?;
            Some((name.clone(), text.clone(), *rect))
        })
        .collect();
    cells.sort_by(|a, b| a.2.top().total_cmp(&b.2.top()));
    cells
}

/// The bytes of a text such as `1.50 MB`.
fn bytes_of(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap();
    let shift = ["B", "KB", "MB", "GB"].iter().position(|other| *other == unit).unwrap() as i32;
    number.parse::<f64>().unwrap() * 1024f64.powi(shift)
}

/// The text beside a cell, after the pointer has rested on it.
fn tooltip(window: &mut Window, at: egui::Pos2) -> String {
    for at in [at + vec2(0.0, 60.0), at] {
        window.hover_at(at);
        (0..6).for_each(|_| window.step());
    }
    let values = window.root().children_recursive().filter_map(|node| node.value());
    values.filter(|text| text.contains(" % of ")).last().unwrap_or_default()
}

#[test]
fn bars_of_the_impacting_size_are_shares_of_one_whole_growth_and_what_was_given_back() {
    let mut window = demo([1280.0, 1400.0]); // all lines
    crate::driver::drag_on(&mut window, "Outstanding size over time", 0.6, 1.0);
    // The types of all sources: at first only those of the first one are open.
    let closed = ["Expand Commit (VirtualAlloc)", "Expand Windows NT heap 0x", "Expand PhysicsHeap"];
    for _ in 0..8 {
        let line = closed.iter().find_map(|label| window.query_all_by_label_contains(label).next());
        let Some(line) = line else { break };
        line.click();
        settle(&mut window);
    }
    // By whole: the bytes of which each cell is a share, the sum of those shares, and whether there are both signs.
    let mut wholes: std::collections::BTreeMap<String, (Vec<f64>, f64, [bool; 2])> = Default::default();
    for (name, text, rect) in cells(&window, "Impacting Size") {
        let Some(bytes) = text.strip_prefix(['+', '\u{2212}']) else { continue }; // a zero has no bar
        let told = tooltip(&mut window, rect.center());
        let (percent, whole) = told.split_once(" % of ").unwrap_or_else(|| panic!("{name} {text}: {told}"));
        assert!(whole.starts_with("all change in ") && whole.ends_with(", growth and what was given back together"), "{told}");
        let percent: f64 = percent.parse().unwrap();
        let (all, sum, signs) = wholes.entry(whole.to_owned()).or_default();
        if percent >= 5.0 {
            all.push(bytes_of(bytes) * 100.0 / percent);
        }
        if name.ends_with("(Impacting)") {
            *sum += percent;
            signs[usize::from(text.starts_with('+'))] = true;
        }
    }
    assert!(wholes.values().any(|(.., signs)| *signs == [true; 2]), "growth and what was given back in one layer: {wholes:?}");
    for (whole, (all, sum, _)) in &wholes {
        assert!(*sum <= 101.0, "{whole}: they do not exceed it: {wholes:?}");
        let (least, most) = all.iter().fold((f64::MAX, 0.0f64), |(least, most), &bytes| (least.min(bytes), most.max(bytes)));
        assert!(most <= least * 1.12, "{whole}: one for all cells: {all:?}");
    }
}
