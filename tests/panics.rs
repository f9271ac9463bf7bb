//! A fault of a worker is told and survived: in the window with what a report of it
//! needs, on the command line in one line. The faults are built in, in debug builds.
#![cfg(debug_assertions)]
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

#[cfg(feature = "gui")]
#[path = "common/window.rs"]
mod driver;

use std::process::Command;

#[test]
fn a_fault_on_the_command_line_is_one_line_and_exit_code_1() {
    for fault in ["report", "report pool"] {
        for machine in [false, true] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
            command.args(["report", "demo:"]).args(machine.then_some("--json"));
            let output = command.env("HIGHWATER_FAULT", fault).env("RUST_BACKTRACE", "1").output().unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{err}");
            assert_eq!(err.lines().count(), 1, "{err}");
            for part in [
                "highwater: an internal error stopped the work on demo: (",
                "a fault for tests in report at ",
                "panics.rs:",
                "report it",
            ] {
                assert!(err.contains(part), "{part} is not in: {err}");
            }
        }
    }
}

#[cfg(feature = "gui")]
mod window {
    use std::sync::{Mutex, PoisonError};

    use eframe::egui;
    use egui_kittest::kittest::Queryable;
    use highwater::app::{Options, Settings};
    use highwater::load::Input;
    use highwater::panics::fault;

    use super::driver::{Window, settle, window_set};

    /// Faults are the whole process's: one test at a time.
    static TURN: Mutex<()> = Mutex::new(());

    fn window(inputs: Vec<Input>) -> Window {
        window_set(Options { inputs, ..Options::default() }, Settings::default())
    }

    fn count(window: &Window, label: &str) -> usize {
        window.query_all_by_label_contains(label).count()
    }

    fn copied(window: &mut Window, button: &str) -> String {
        window.get_by_label(button).click();
        for _ in 0..4 {
            window.step();
            let commands = &window.output().platform_output.commands;
            let text = commands.iter().find_map(|command| match command {
                egui::OutputCommand::CopyText(text) => Some(text.clone()),
                _ => None,
            });
            if let Some(text) = text {
                return text;
            }
        }
        panic!("nothing was copied");
    }

    fn assert_report(text: &str, doing: &str, place: &str) {
        let version = concat!("highwater ", env!("CARGO_PKG_VERSION"));
        let said = format!("a fault for tests in {place} at crates");
        for part in
            [version, std::env::consts::OS, &format!("stopped the {doing} of demo:"), &said, "panics.rs:", "rust_begin_unwind"]
        {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }

    #[test]
    fn a_fault_while_loading_is_shown_and_the_window_goes_on() {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        for fault in ["load", "load pool"] {
            fault::arm(fault);
            let mut window = window(vec![Input::Demo]);
            fault::arm("");
            assert_eq!(count(&window, "An internal error stopped the loading of demo:"), 1);
            assert_report(&copied(&mut window, "Copy details"), "loading", "load");
            // The same again, without the fault.
            window.get_by_label("Demo trace").click();
            settle(&mut window);
            assert_eq!(count(&window, "An internal error"), 0, "what is opened next begins without old errors");
            assert_eq!(count(&window, "Source MemoryTestApp.exe (4660)"), 1);
        }
    }

    #[test]
    fn a_fault_in_a_query_is_shown_once_and_the_next_query_answers() {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        for fault in ["query", "query pool"] {
            fault::arm(fault);
            let mut window = window(vec![Input::Demo]);
            assert_eq!(count(&window, "An internal error stopped the computing of demo:"), 1);
            assert_report(&copied(&mut window, "Copy details"), "computing", "query");
            assert_eq!((count(&window, "Nothing could be computed"), count(&window, "Computing")), (1, 0));
            window.key_press(egui::Key::Home);
            settle(&mut window);
            assert_eq!(count(&window, "An internal error"), 1, "the same again says nothing new");
            fault::arm("");
            window.get_by_label("Dismiss").click();
            window.key_press(egui::Key::Home);
            settle(&mut window);
            assert_eq!(count(&window, "An internal error"), 0);
            assert_eq!(count(&window, "Source MemoryTestApp.exe (4660)"), 1);
            assert!(count(&window, "Windows NT heap 0x1d0000 (default)") > 0, "the table is there");
        }
    }

    #[test]
    fn what_the_user_can_act_on_has_no_details_to_copy() {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let window = window(vec![Input::File("/nowhere/a.etl".into())]);
        assert_eq!(count(&window, "there is no such file"), 1);
        assert_eq!(count(&window, "Copy details"), 0);
    }
}
