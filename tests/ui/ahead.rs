//! What the user will probably ask next is computed while nothing is asked: then the answer is there at once, and it is the
//! one that the window would have computed.

use std::time::{Duration, Instant};

use crate::driver::{Window, choose, click, demo, drag_on, labels, painted_texts, press, settle, window_of};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use highwater::load::Input;

/// A step of the user that can be foreseen.
type Step = (&'static str, fn(&mut Window));

const LEAK: &str = "Finding MemoryTestApp.exe: steady growth of about 1.25 KB/s in InnerLoopOperation";
/// The lines of the table come after the lanes.
const NODE: &str = "Expand ";

/// Steps until nothing is computed any more, asked or not.
fn rest(window: &mut Window) {
    settle(window);
    let start = Instant::now();
    while window.state().queries().works_ahead() {
        std::thread::sleep(Duration::from_millis(2));
        window.step();
        assert!(start.elapsed() < Duration::from_secs(300), "the work ahead does not end");
    }
}

/// Puts the pointer on something, and waits until its click is foreseen.
fn point_at(window: &mut Window, label: &str) {
    let at = window.query_all_by_label_contains(label).last().unwrap().rect().center();
    window.hover_at(at);
    window.step();
    window.step();
    rest(window);
}

fn click_last(window: &mut Window, label: &str) {
    window.query_all_by_label_contains(label).last().unwrap().click();
    settle(window);
}

fn select(window: &mut Window) {
    drag_on(window, "Outstanding size over time", 0.3, 0.6);
}

fn zoom(window: &mut Window) {
    press(window, Modifiers::NONE, Key::Z);
}

/// The steps, each from the state after those before.
const STEPS: [Step; 13] = [
    ("select an interval, which nobody foresees", select),
    ("tab Functions", |window| click(window, "Functions")),
    ("tab Flame", |window| click(window, "Flame")),
    ("tab Allocations", |window| click(window, "Allocations")),
    ("tab Stacks", |window| click(window, "Stacks")),
    ("zoom to the selection", zoom),
    ("back", |window| click(window, "Back")),
    ("forward", |window| click(window, "Forward")),
    ("the whole trace", |window| click(window, "Whole trace")),
    ("back again", |window| click(window, "Back")),
    ("escape", |window| press(window, Modifiers::NONE, Key::Escape)),
    ("a node under the pointer", |window| click_last(window, NODE)),
    ("a finding under the pointer", |window| click_last(window, LEAK)),
];

/// What is on the screen.
fn seen(window: &mut Window) -> (Vec<String>, Vec<String>) {
    window.remove_cursor();
    settle(window);
    (labels(window), painted_texts(window).into_iter().map(|(text, _)| text).collect())
}

#[test]
fn steps_that_are_foreseen_are_answered_without_computing() {
    let mut window = demo();
    for (name, step) in STEPS {
        rest(&mut window);
        match name {
            "a node under the pointer" => point_at(&mut window, NODE),
            "a finding under the pointer" => point_at(&mut window, LEAK),
            _ => {}
        }
        let [ahead, made] = window.state().queries().parts();
        step(&mut window);
        let [ahead, made] = [window.state().queries().parts()[0] - ahead, window.state().queries().parts()[1] - made];
        let is_as_expected = match name {
            "select an interval, which nobody foresees" => made > 0,
            // Which lanes a finding shows follows from the sizes in its interval, so their lines are a second question.
            "a finding under the pointer" => ahead > 0 && made <= 3,
            _ => ahead > 0 && made == 0,
        };
        assert!(is_as_expected, "{name}: {ahead} parts were there, {made} were not");
    }
}

#[test]
fn answers_made_ahead_are_those_that_would_have_been_computed() {
    let more: [Step; 6] = [
        ("a filter", |window| click(window, "Source MemoryTestApp.exe: 0x1d0000 (default)")),
        ("other names", |window| crate::driver::give(window, "All frames")),
        ("the tab Functions", |window| click(window, "Functions")),
        ("another grouping", |window| choose(window, "Top-down", "By function")),
        ("the tab Flame", |window| click(window, "Flame")),
        ("back", |window| click(window, "Back")),
    ];
    let (mut foreseen, mut plain) = (demo(), demo());
    for (name, step) in STEPS.into_iter().chain(more) {
        rest(&mut foreseen);
        step(&mut foreseen);
        step(&mut plain);
        assert_eq!(seen(&mut foreseen), seen(&mut plain), "{name}");
    }
}

/// A step with the one that leads to it.
type Prepared = (&'static str, fn(&mut Window), fn(&mut Window));

const PREPARED: [Prepared; 7] = [
    ("tab Functions", select, |window| click(window, "Functions")),
    ("tab Flame", select, |window| click(window, "Flame")),
    ("tab Allocations", select, |window| click(window, "Allocations")),
    ("zoom to selection", select, zoom),
    ("back", |window| (select(window), zoom(window)).1, |window| click(window, "Back")),
    ("escape", select, |window| press(window, Modifiers::NONE, Key::Escape)),
    ("node", select, |window| click_last(window, NODE)),
];

/// The trace that `HIGHWATER_AHEAD` names, in a window.
fn measured() -> Window {
    let Some(file) = std::env::var_os("HIGHWATER_AHEAD") else { panic!("HIGHWATER_AHEAD names a trace") };
    window_of(vec![Input::File(file.into())])
}

/// Milliseconds from the last question to what is shown first, and to everything.
fn took(window: &Window) -> [f64; 2] {
    let times = window.state().queries().last_times().unwrap();
    let shown = times.shown.unwrap_or(times.ended) - times.asked;
    [shown, times.ended - times.asked].map(|time| time.as_secs_f64() * 1000.0)
}

fn median(mut all: Vec<[f64; 2]>) -> [f64; 2] {
    [0, 1].map(|at| {
        all.sort_by(|a, b| a[at].total_cmp(&b[at]));
        all[all.len() / 2][at]
    })
}

fn undo(window: &mut Window) {
    click(window, "Stacks");
    press(window, Modifiers::NONE, Key::Escape);
    click(window, "Whole trace");
}

/// Prints how long each step takes with and without work ahead.
#[test]
#[ignore = "it measures"]
#[allow(clippy::print_stdout, reason = "for whoever measures")]
fn cost_of_steps() {
    let mut window = measured();
    println!("step\tplain: shown, all (ms)\tahead: shown, all (ms)");
    for (name, before, step) in PREPARED {
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..10 {
            undo(&mut window);
            rest(&mut window);
            before(&mut window);
            if round % 2 == 1 {
                rest(&mut window);
                if name == "node" {
                    point_at(&mut window, NODE);
                }
            }
            step(&mut window);
            times[round % 2].push(took(&window));
            if name == "node" {
                click_last(&mut window, "Collapse ");
            }
        }
        let [plain, ahead] = times.map(median);
        println!("{name}\t{:.1}, {:.1}\t{:.1}, {:.1}", plain[0], plain[1], ahead[0], ahead[1]);
    }
}

/// Prints how long a step that nobody foresees takes at rest, and while something is computed ahead.
#[test]
#[ignore = "it measures"]
#[allow(clippy::print_stdout, reason = "for whoever measures")]
fn cost_during_work_ahead() {
    let mut window = measured();
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..40 {
        undo(&mut window);
        let is_at_rest = round % 2 == 1;
        if is_at_rest {
            rest(&mut window);
        } else {
            let start = Instant::now();
            while !window.state().queries().works_ahead() && start.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(1));
                window.step();
            }
            std::thread::sleep(Duration::from_millis(130 + 37 * round % 200)); // some of that work is done
        }
        let works_ahead = window.state().queries().works_ahead();
        let from = 0.1 + 0.01 * round as f32;
        drag_on(&mut window, "Outstanding size over time", from, from + 0.3);
        if works_ahead != is_at_rest {
            times[usize::from(is_at_rest)].push(took(&window));
        }
    }
    let counts = times.each_ref().map(Vec::len);
    let [busy, idle] = times.map(median);
    println!("selection (ms)\tat rest, {} times: {:.1}, {:.1}", counts[1], idle[0], idle[1]);
    println!("\tduring work ahead, {} times: {:.1}, {:.1}", counts[0], busy[0], busy[1]);
}
