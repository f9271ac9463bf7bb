//! The jobs for which the window is opened, walked with clicks and keys of the X server. Only on Linux: programs that
//! run under Wine cannot start `xdotool` and Xvfb. There the part "window" of `scripts/windows.sh` looks at the window,
//! and what a click means is the same code.

use std::fs;
use std::path::Path;

use crate::screen::{Screen, Widget};
use crate::seven::{Action, Answer, COMPARISON, JOBS, Job, REPORTS};

/// Does a job, and waits for its answers, which are not there before.
fn walk(screen: &Screen, job: &Job) {
    let before = screen.widgets();
    let is_done = job.answers.iter().all(|answer| before.iter().any(|widget| says(widget, *answer)));
    assert!(!is_done, "{} was done before it began", job.name);
    let mut actions = 0;
    for &action in job.actions {
        actions += 1;
        match action {
            Action::Click(part) => screen.click_what(part, |widget| widget.name.contains(part)),
            Action::Press(key) => screen.key(key),
        }
    }
    for answer in job.answers {
        screen.wait_for(&format!("{answer:?} of {}", job.name), |all| all.iter().any(|widget| says(widget, *answer)));
    }
    job.assert_took(actions);
}

fn says(widget: &Widget, answer: Answer) -> bool {
    match answer {
        Answer::Selected(name) => widget.name.starts_with(name) && widget.name.contains(": count "),
        Answer::Says(part) => widget.name.contains(part),
    }
}

/// Waits for the first screen of the demo, with all that the jobs begin with: findings and peaks arrive after the
/// numbers, and names of functions after those.
fn wait_for_first_screen(screen: &Screen) {
    screen.wait_for("the first screen", |all| {
        let has = |part: &str| all.iter().any(|widget| widget.name.contains(part));
        has("View: 0.000 s to 36.060 s (36.060 s)")
            && !has("Remove filter")
            && has("in InnerLoopOperation (main.cpp:48)")
            && JOBS.iter().flat_map(|job| job.actions).all(|action| match *action {
                Action::Click(part) => has(part),
                Action::Press(_) => true,
            })
    });
}

/// Types a path into the field for it.
fn type_path(screen: &Screen, path: &Path) {
    screen.find("Path");
    screen.xdotool(&["type", &path.display().to_string()]);
    screen.key("Return");
}

#[test]
fn the_jobs_on_one_trace_take_as_many_actions_as_the_guide_says() {
    let Some(mut screen) = Screen::new() else { return };
    screen.start(&["--theme", "dark", "demo:"]);
    for job in JOBS {
        wait_for_first_screen(&screen);
        walk(&screen, job);
        screen.key("BackSpace"); // the next job begins on the first screen, too
    }
    for (job, file, begins) in [(REPORTS[0], "report.html", &b"<!DOCTYPE html>"[..]), (REPORTS[1], "here.highwater", b"PK")] {
        wait_for_first_screen(&screen);
        walk(&screen, &job);
        let file = screen.folder.path().join(file);
        type_path(&screen, &file);
        screen.wait_for(&format!("the file of {}", job.name), |_| fs::read(&file).is_ok_and(|bytes| bytes.starts_with(begins)));
    }
}

/// A trace that takes long enough to write that the window is closed meanwhile.
fn write_large_trace(path: &Path) {
    use highwater_dev::synth::{Options, Scenario, StackForm, generate};
    let options = Options { scenario: Scenario::Heap, events: 1_000_000, stacks: StackForm::None, ..Options::default() };
    generate(&options, fs::File::create(path).expect("the trace is created")).expect("the trace is written");
}

#[test]
fn a_window_that_is_closed_while_it_writes_leaves_the_whole_file() {
    let Some(mut screen) = Screen::new() else { return };
    let [trace, file] = ["large.etl", "all.highwater"].map(|name| screen.folder.path().join(name));
    write_large_trace(&trace);
    screen.start(&["--theme", "dark", &trace.display().to_string()]);
    screen.find("Search"); // the trace is open
    screen.click_on("File");
    screen.click_what("Save investigation with trace", |widget| widget.name.contains("Save investigation with trace"));
    type_path(&screen, &file);
    screen.key("ctrl+p");
    screen.xdotool(&["type", "quit"]);
    screen.key("Return");
    assert!(screen.wait_for_end(), "the program ends well");
    let names: Vec<_> =
        fs::read_dir(screen.folder.path()).expect("the folder").flatten().map(|entry| entry.file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".new")), "a draft stays: {names:?}");
    let report = |file: &Path| {
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_highwater")).arg("report").arg(file).arg("--json").output();
        let answer: serde_json::Value = serde_json::from_slice(&run.expect("the report runs").stdout).expect("JSON");
        answer["groups"].clone()
    };
    let groups = report(&file);
    assert!(groups.as_array().is_some_and(|groups| groups.len() > 3) && groups == report(&trace), "the trace in it is whole");
}

#[test]
fn a_comparison_takes_as_many_actions_as_the_guide_says() {
    let Some(mut screen) = Screen::new() else { return };
    let [before, after] = ["before.etl", "after.etl"].map(|name| screen.folder.path().join(name));
    for file in [&before, &after] {
        fs::write(file, highwater::load::DEMO_TRACE).expect("the file is written");
    }
    screen.start(&["--theme", "dark", &before.display().to_string()]);
    screen.find("Search"); // a key has nothing to do before the table is there
    screen.key("ctrl+shift+o");
    type_path(&screen, &after); // both are open, as a user has them who compares
    screen.wait_for("the second trace", |all| {
        let has = |name: &str| all.iter().any(|widget| widget.name == name);
        has("Search") && all.iter().any(|widget| widget.name.contains("after.etl"))
    });
    walk(&screen, &COMPARISON);
}
