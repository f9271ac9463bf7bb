//! The seven jobs for which the window is opened, each with the largest number of clicks and keys that it may take
//! from the first screen. The guide has the same numbers. `tests/window/jobs.rs` walks them in a real window.

use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use highwater::load::Input;

use crate::driver::{Window, demo, drop_file, press, settle, wait_for, window_of};
use crate::seven::{Action, Answer, COMPARISON, JOBS, Job, REPORTS};

/// Does a job, and looks for its answers.
fn walk(window: &mut Window, job: &Job) {
    let mut actions = 0;
    for &action in job.actions {
        actions += 1;
        match action {
            Action::Click(part) => {
                let first = window.get_all_by_label_contains(part).next();
                first.unwrap_or_else(|| panic!("no {part}")).click();
                settle(window);
            }
            Action::Press(key) => press(window, Modifiers::NONE, Key::from_name(&key.to_uppercase()).unwrap()),
        }
    }
    for answer in job.answers {
        match *answer {
            Answer::Selected(name) => {
                let selected = window.get_by_label_contains(": count ").value().unwrap_or_default();
                assert!(selected.starts_with(name), "{}: {selected}", job.name);
            }
            Answer::Says(part) => wait_for(window, part),
        }
    }
    job.assert_took(actions);
}

#[test]
fn each_job_on_one_trace_takes_as_many_actions_as_are_promised() {
    for job in JOBS {
        walk(&mut demo(), job);
    }
}

#[test]
fn a_comparison_takes_as_many_actions_as_are_promised() {
    let folder = tempfile::tempdir().unwrap();
    let before = folder.path().join("before.etl");
    std::fs::write(&before, highwater::load::DEMO_TRACE).unwrap();
    let mut window = window_of(vec![Input::File(before)]);
    let after = folder.path().join("after.etl");
    std::fs::write(&after, highwater::load::DEMO_TRACE).unwrap();
    drop_file(&mut window, &after); // both are open, as a user has them who compares
    walk(&mut window, &COMPARISON);
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn a_report_for_a_colleague_takes_as_many_actions_as_are_promised_and_a_name() {
    for job in REPORTS {
        walk(&mut demo(), job);
    }
}

#[test]
fn the_guide_says_how_many_actions_each_job_takes() {
    let guide = include_str!("../../docs/guide.md");
    for job in JOBS.iter().chain([&COMPARISON]).chain(REPORTS) {
        assert!(guide.contains(job.guide), "{}", job.guide);
        assert!(job.guide.ends_with(&format!("| {} |", job.most)), "{}: {}", job.name, job.guide);
    }
}
