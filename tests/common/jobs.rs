//! The jobs for which the window is opened, each with its clicks and keys from the first screen and what
//! the window says afterwards. `tests/ui/jobs.rs` walks them in a test window, `tests/window/jobs.rs` in a
//! real one. The guide has the same numbers.
#![allow(dead_code, reason = "each test uses its own part")]

/// An action of the user, which counts.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A click on the first thing whose name has this in it.
    Click(&'static str),
    /// A key, by its name for `xdotool`; egui's is the same in upper case.
    Press(&'static str),
}

/// What the window says in the end.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// The status bar has the numbers of the selected line, whose name begins so.
    Selected(&'static str),
    /// The name of something has this in it.
    Says(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub name: &'static str,
    /// Its line in the guide's table.
    pub guide: &'static str,
    /// How many actions it may take.
    pub most: usize,
    pub actions: &'static [Action],
    pub answers: &'static [Answer],
}

use Action::{Click, Press};
use Answer::{Says, Selected};

/// Jobs on the open demo.
pub const JOBS: &[Job] = &[
    Job {
        name: "a leak",
        guide: "| a leak, a step, spikes | 1 |",
        most: 1,
        actions: &[Click("Finding TelemetryService.exe: steady growth")],
        answers: &[Selected("TelemetryService.exe!+0x104b: "), Says("Selection: ")],
    },
    Job {
        name: "a step",
        guide: "| a leak, a step, spikes | 1 |",
        most: 1,
        actions: &[Click("Finding MemoryTestApp.exe: step of +10.00 MB")],
        answers: &[Selected("MemoryTestApp.exe!Main: "), Says("Selection: ")],
    },
    Job {
        name: "spikes",
        guide: "| a leak, a step, spikes | 1 |",
        most: 1,
        actions: &[Click("Finding MemoryTestApp.exe: 10 spikes")],
        answers: &[Selected("MemoryTestApp.exe!ManipulateTemporaryBuffer: "), Says("Selection: ")],
    },
    Job {
        name: "the worst frame",
        guide: "| the worst frame, a peak | 2 |",
        most: 2,
        actions: &[Press("w")],
        answers: &[Says("Selection: "), Says("10.0")], // what was allocated in it
    },
    Job {
        name: "a peak",
        guide: "| the worst frame, a peak | 2 |",
        most: 2,
        actions: &[Click("On the axis: MemoryTestApp.exe: peak of")],
        answers: &[Says("Alive at "), Says("Remove filter")], // the moment, and what it was made of
    },
];

/// The job on two copies of the demo, *before.etl* and, in front, *after.etl*.
pub const COMPARISON: Job = Job {
    name: "two traces compared",
    guide: "| two traces compared | 3 |",
    most: 3,
    actions: &[Click("File"), Click("Open traces"), Click("Compare with before.etl")],
    answers: &[Says("before.etl"), Says("Change")],
};

/// Jobs on the open demo that hand it on. Only the name of the file is asked for then.
pub const REPORTS: &[Job] = &[
    Job {
        name: "a report for a colleague",
        guide: "| a report for a colleague | 2 |",
        most: 2,
        actions: &[Click("File"), Click("Share as a page")],
        answers: &[Says("Path")],
    },
    Job {
        name: "an investigation for a colleague",
        guide: "| a report for a colleague | 2 |",
        most: 2,
        actions: &[Click("File"), Click("Save investigation with trace")],
        answers: &[Says("Path")],
    },
];

impl Job {
    /// Fails if more actions were needed than are promised.
    pub fn assert_took(&self, actions: usize) {
        assert!(actions <= self.most, "{} took {actions} actions, at most {} are promised", self.name, self.most);
    }
}
