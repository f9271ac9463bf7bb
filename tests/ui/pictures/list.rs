//! All pictures of the window, and the steps to each.

use std::path::Path;

use crate::driver::{Window, choose, click, give, palette, press, settle, wait_for};
use crate::first_use::{generated, heap_options};
use eframe::egui::{Key, Modifiers, pos2};
use egui_kittest::kittest::Queryable;
use highwater::capture::{CaptureError, Program, Recorder, Request, Running};
use highwater::load::Input;
use tempfile::TempDir;

/// A picture: how the window comes to be so.
pub struct Picture {
    pub name: &'static str,
    /// The traces, as files in this folder: the first is opened, the others are dropped on the window.
    pub traces: fn(&TempDir) -> Vec<Input>,
    /// Whether this machine can record.
    pub records: bool,
    /// Whether it is kept in both themes and all sizes; else only dark and in the usual size.
    pub has_all_sizes: bool,
    pub steps: fn(&mut Window),
}

impl Picture {
    /// Whether it is kept in the set whose names end so.
    pub fn is_kept(&self, ends: &str) -> bool {
        self.has_all_sizes || ends.is_empty()
    }
}

const fn start(name: &'static str, steps: fn(&mut Window)) -> Picture {
    Picture { name, traces: |_| Vec::new(), records: false, has_all_sizes: true, steps }
}

pub const fn demo(name: &'static str, steps: fn(&mut Window)) -> Picture {
    Picture { name, traces: |_| vec![Input::Demo], records: false, has_all_sizes: true, steps }
}

const fn recorder(name: &'static str, steps: fn(&mut Window)) -> Picture {
    Picture { name, traces: |_| Vec::new(), records: true, has_all_sizes: true, steps }
}

/// A picture of a trace that is made for it.
const fn made(name: &'static str, traces: fn(&TempDir) -> Vec<Input>, steps: fn(&mut Window)) -> Picture {
    Picture { name, traces, records: false, has_all_sizes: true, steps }
}

/// A picture in the usual size only, dark: it has little that other pictures do not have in all sizes.
const fn usual(name: &'static str, traces: fn(&TempDir) -> Vec<Input>, steps: fn(&mut Window)) -> Picture {
    Picture { has_all_sizes: false, ..made(name, traces, steps) }
}

/// A machine on which these programs run.
#[derive(Debug)]
pub struct Machine;

impl Recorder for Machine {
    fn programs(&self) -> Result<Vec<Program>, CaptureError> {
        let program = |pid, name: &str, title: &str, megabytes: u64, user: &str| Program {
            pid,
            name: name.to_owned(),
            title: title.to_owned(),
            user: user.to_owned(),
            private_bytes: Some(megabytes << 20),
            is_32_bit: Some(name == "launcher.exe"),
            is_in_front: name == "game.exe",
        };
        Ok(vec![
            program(4660, "game.exe", "Game \u{2013} level 2", 3_120, "ada"),
            program(5120, "browser.exe", "News", 812, "ada"),
            program(1244, "svchost.exe", "", 96, "SYSTEM"),
            program(7004, "launcher.exe", "", 61, "ada"),
        ])
    }

    fn start(&self, _: &Request, _: &Path) -> Result<Box<dyn Running>, CaptureError> {
        Err(CaptureError::NotWindows)
    }
}

/// All pictures, most of them in both themes and all sizes.
pub const PICTURES: &[Picture] = &[
    start("start", |_| {}),
    start("glossary", |w| give(w, "glossary")),
    start("walk", |w| {
        for button in ["Walk: Growth", "Next", "Show me"] {
            click(w, button);
        }
    }),
    recorder("record", |w| {
        give(w, "record");
        wait_for(w, "browser.exe");
        settle(w);
    }),
    recorder("record-launcher", |w| {
        give(w, "record");
        wait_for(w, "browser.exe");
        click(w, "Start a program");
    }),
    demo("overview", |_| {}),
    demo("commit-lane", |w| give(w, "lane of commit")),
    demo("selection", |w| select(w, 17.4, 19.4)),
    demo("together", |w| give(w, "graph: together")),
    demo("findings", |w| tab(w, "findings")),
    demo("finding", |w| {
        tab(w, "findings");
        w.get_by_label_contains("Show MemoryTestApp.exe: step of +10.00 MB").click();
        settle(w);
    }),
    demo("details", |w| {
        click(w, "Details");
        click_lowest(w, "Grew (Impacting)");
    }),
    demo("source", |w| {
        tab(w, "findings");
        w.get_by_label_contains("Show MemoryTestApp.exe: steady growth of about 1.25 KB/s").click();
        settle(w);
        click(w, "Details");
    }),
    demo("commands", |w| palette(w, "tabs")),
    demo("side-by-side", |w| give(w, "layout spike")),
    demo("functions", |w| tab(w, "functions")),
    demo("butterfly", |w| {
        tab(w, "functions");
        click(w, "Expand heaviest path");
        press(w, Modifiers::NONE, Key::B);
    }),
    demo("freed-by", |w| {
        click(w, "Source MemoryTestApp.exe: PhysicsHeap");
        tab(w, "freed by");
    }),
    demo("flame", |w| {
        click(w, "Source MemoryTestApp.exe: Commit (VirtualAlloc)");
        tab(w, "flame");
    }),
    demo("allocations", |w| tab(w, "allocations")),
    demo("histograms", |w| tab(w, "histograms")),
    demo("address-space", |w| {
        tab(w, "address space");
        choose(w, "MemoryTestApp.exe (4660)", "TelemetryService.exe (5120)");
    }),
    demo("frames", |w| {
        tab(w, "frames");
        give(w, "worst frame in view");
    }),
    demo("marks", |w| {
        tab(w, "marks");
        click(w, "Level 2");
    }),
    demo("generations", |w| {
        tab(w, "generations");
        click(w, "Cut evenly");
    }),
    demo("processors", |w| tab(w, "cpu")),
    demo("flames", |w| {
        select(w, 6.2, 6.6);
        press(w, Modifiers::NONE, Key::Z);
        click(w, "Source MemoryTestApp.exe: Commit (VirtualAlloc)");
        give(w, "layout flame graphs");
    }),
    demo("compare", |w| tab(w, "compare")),
    demo("notes", |w| {
        for (at, text) in
            [(0.06, "start-up"), (0.35, "ten spikes begin here: the buffer of Operation1"), (0.5, "level 2"), (0.52, "cache")]
        {
            write_note(w, at, text);
        }
        w.remove_cursor();
        settle(w);
    }),
    made("compared", two_runs, |w| {
        click(w, "Stay offline");
        click(w, "File");
        click(w, "Open traces");
        click(w, "Compare with monday.etl");
        w.remove_cursor();
        settle(w);
    }),
    made("system-memory", counted, |w| click(w, "Stay offline")),
    usual("page-faults", faulting, |w| {
        click(w, "Stay offline");
        click(w, "Expand Grew (Impacting)");
    }),
    usual(
        "what-if",
        |_| vec![Input::Demo],
        |w| {
            tab(w, "what if");
            wait_for(w, "mimalloc");
            settle(w);
        },
    ),
    demo("symbols", |w| tab(w, "symbols")),
    demo("trace", |w| tab(w, "trace")),
];

fn tab(window: &mut Window, name: &str) {
    give(window, &format!("tabs: {name}"));
}

/// Clicks on what stands lowest of all that is called so.
fn click_lowest(window: &mut Window, label: &str) {
    let lowest = window.query_all_by_label(label).max_by(|a, b| a.rect().top().total_cmp(&b.rect().top()));
    lowest.unwrap().click();
    settle(window);
}

/// Writes a note at a part of the graph's width.
fn write_note(window: &mut Window, part: f32, text: &str) {
    let graph = window.get_by_label("Outstanding size over time").rect();
    window.hover_at(pos2(graph.left() + graph.width() * part, graph.center().y));
    settle(window);
    press(window, Modifiers::SHIFT, Key::M);
    window.get_by_label("Note").type_text(text);
    settle(window);
    press(window, Modifiers::NONE, Key::Enter);
}

/// Two runs of a program that differ.
fn two_runs(folder: &TempDir) -> Vec<Input> {
    let run = |name: &str, seed: u64, live: u32| {
        let options = highwater_dev::synth::Options { seed, live, heaps: 2, processes: 1, ..heap_options() };
        let file = folder.path().join(name);
        highwater_dev::synth::generate(&options, std::fs::File::create(&file).unwrap()).unwrap();
        Input::File(file)
    };
    vec![run("monday.etl", 1, 700), run("tuesday.etl", 2, 1000)]
}

/// A trace with what the system gave its process.
fn counted(folder: &TempDir) -> Vec<Input> {
    let options = highwater_dev::synth::Options { counters: true, heaps: 2, processes: 1, ..heap_options() };
    generated(folder, &options)
}

/// A trace with page faults.
fn faulting(folder: &TempDir) -> Vec<Input> {
    let scenario = highwater_dev::synth::Scenario::Commit;
    generated(folder, &highwater_dev::synth::Options { scenario, faults: true, events: 400, processes: 1, ..heap_options() })
}

/// Drags over seconds of the demo.
fn select(window: &mut Window, from: f32, to: f32) {
    let graph = window.get_by_label("Outstanding size over time").rect();
    let at = |seconds: f32| pos2(graph.left() + graph.width() * seconds / 36.06, graph.center().y);
    window.drag_at(at(from));
    window.step();
    window.hover_at(at(to));
    window.step();
    window.drop_at(at(to));
    window.remove_cursor();
    settle(window);
}
