//! The start page: what was open before, and the walks through the demo.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::session::{Session, on_disk};
use crate::driver::{Window, click, has, has_containing, window_set};
use egui_kittest::kittest::Queryable;
use highwater::app::{Options, Settings};
use highwater::events::ProcessChange;
use highwater::load::Input;

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo.etl")
}

/// A window that remembers in that folder.
fn window(folder: &Path, inputs: Vec<Input>) -> Window {
    let recent = Some(folder.join("recent.toml"));
    window_set(Options { inputs, recent, ..Options::default() }, Settings::default())
}

#[test]
fn what_was_open_is_offered_with_its_picture_and_opens_again() {
    let folder = tempfile::tempdir().unwrap();
    let copies = ["a.etl", "b.etl"].map(|name| folder.path().join(name));
    copies.iter().for_each(|copy| _ = fs::copy(demo(), copy).unwrap());
    drop(window(folder.path(), vec![Input::File(copies[1].clone())]));
    drop(window(folder.path(), vec![Input::File(copies[0].clone())]));
    let kept = fs::read_to_string(folder.path().join("recent.toml")).unwrap();
    assert!(kept.contains("MemoryTestApp.exe: Commit (VirtualAlloc)") && kept.contains("peak = 37748736"), "{kept}");

    let mut again = window(folder.path(), Vec::new());
    let top = |window: &Window, name: &str| window.get_by_label(name).rect().top();
    assert!(top(&again, "Open recent a.etl") < top(&again, "Open recent b.etl"), "the latest first");
    click(&mut again, "Open recent b.etl");
    assert!(has(&again, "Source MemoryTestApp.exe (4660)"));
    drop(again);

    let mut again = window(folder.path(), Vec::new());
    assert!(top(&again, "Open recent b.etl") < top(&again, "Open recent a.etl"));
    click(&mut again, "Forget recent b.etl");
    assert!(!has(&again, "Open recent b.etl") && has(&again, "Open recent a.etl"));
    click(&mut again, "Clear");
    assert!(!has(&again, "Open recent a.etl"));
    drop(again);
    assert!(!has(&window(folder.path(), Vec::new()), "Clear"), "and it stays so");
}

#[test]
fn the_peak_of_a_recent_trace_is_that_of_the_largest_process_and_layer_and_says_so() {
    const MB: u64 = 1 << 20;
    let mut session = Session::new(1, false);
    for (time, pid, name, heaps) in [(10, 1000, "one.exe", &[10][..]), (20, 2000, "two.exe", &[6, 7][..])] {
        session.pid = pid;
        session.process(time, ProcessChange::Start, u64::from(pid), name);
        for (place, &size) in (1..).zip(heaps) {
            session.heap = place << 20;
            session.alloc(0, time + place as i64, place << 32, size * MB);
        }
    }
    let (_files, path) = on_disk(&session.bytes());
    let folder = tempfile::tempdir().unwrap();
    drop(window(folder.path(), vec![Input::File(path.clone())]));
    let told = |window: &Window| window.get_by_label("Open recent stress.etl").value().unwrap();
    let again = told(&window(folder.path(), Vec::new()));
    assert!(again.ends_with("peak 13.00 MB, two.exe: Windows NT heaps"), "{again}");

    // As earlier versions kept it: of one heap, or of nobody knows what.
    let old = |picture: &str| {
        let text =
            format!("[[trace]]\nfiles = [{:?}]\nopened = 1800000000\n[trace.picture]\n{picture}", path.display().to_string());
        fs::write(folder.path().join("recent.toml"), text).unwrap();
        window(folder.path(), Vec::new())
    };
    assert_eq!(told(&old("seconds = 2.0\npeak = 1048576\nvalues = [1, 2]\n")), "2.0 s", "no peak that is nobody's");
    let mut window = old("seconds = 2.0\nof = \"one.exe: 0x100000\"\npeak = 10485760\nvalues = [1, 255]\n");
    assert!(told(&window).ends_with("peak 10.00 MB, one.exe: 0x100000"));
    click(&mut window, "Open recent stress.etl");
    assert!(has(&window, "Source two.exe (2000)"), "and it opens");
}

#[test]
fn each_walk_leads_through_all_of_its_steps() {
    for (walk, steps, seen) in [("Growth", 4, "Grew (Impacting)"), ("Spike", 4, "Alive at"), ("Leak", 5, "Findings")] {
        let folder = tempfile::tempdir().unwrap();
        let mut window = window(folder.path(), Vec::new());
        click(&mut window, &format!("Walk: {walk}"));
        assert!(has(&window, "Source MemoryTestApp.exe (4660)"), "the demo is open");
        for step in 1..=steps {
            assert!(has(&window, &format!("{step} of {steps}")), "{walk} {step}");
            click(&mut window, "Show me");
            if step < steps {
                click(&mut window, "Next");
            }
        }
        assert!(has_containing(&window, seen), "{walk}");
        click(&mut window, "Previous");
        assert!(has(&window, &format!("{} of {steps}", steps - 1)));
        click(&mut window, "Next");
        click(&mut window, "Done");
        assert!(!has(&window, "Show me"));
    }
}

#[test]
fn the_tours_say_that_they_open_the_demo_and_where_to_begin_in_a_trace_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let window = window(folder.path(), Vec::new());
    let heading = window.get_by_label("Learn with the demo trace").rect();
    let advice = window.get_by_label_contains("In a trace of your own, start with the tab Findings").rect();
    for walk in ["Growth", "Spike", "Leak"] {
        let card = window.get_by_label(&format!("Walk: {walk}")).rect();
        assert!(heading.bottom() <= advice.top() && advice.bottom() <= card.top(), "{walk}: said before it is clicked");
    }
}

#[test]
fn the_walk_to_the_step_shows_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window(folder.path(), Vec::new());
    click(&mut window, "Walk: Growth");
    click(&mut window, "Next");
    click(&mut window, "Show me");
    assert!(has_containing(&window, "Selection: 17.400 s to 19.400 s"));
    assert!(has(&window, "+10.00 MB"));
}

#[test]
fn settings_that_cannot_be_used_leave_the_window_as_it_is_at_a_new_start_and_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    let open = |text: &str| {
        fs::write(&file, text).unwrap();
        let options = Options { inputs: vec![Input::Demo], ..Options::default() };
        window_set(options, Settings::load_from(Some(file.clone())))
    };
    let window = open("sources_width = -1e30\n[window]\nsize = [nan, -5.0]\n");
    let sources = window.get_by_label("Source MemoryTestApp.exe (4660)").rect();
    let graph = window.get_by_label("Outstanding size over time").rect();
    assert!(sources.width() > 20.0 && graph.width() > 400.0, "{sources:?}, {graph:?}");
    let window = open("theme = \"light\"\nsources_width = \n");
    assert!(has_containing(&window, "settings.toml:2: "));
    drop(window);
    assert_eq!(fs::read_to_string(&file).unwrap(), "theme = \"light\"\nsources_width = \n", "what is in it is not lost");
}
