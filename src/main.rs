//! The program: the command line of the library, and the window if it is built in.

#![cfg_attr(windows, windows_subsystem = "windows")] // no console window beside the window; see console.rs

use std::process::ExitCode;

use highwater::cli::Look;
use highwater::load::Input;

fn main() -> ExitCode {
    highwater::cli::run(std::env::args_os(), open_window)
}

/// Opens the window; returns when it is closed.
#[cfg(feature = "gui")]
fn open_window(inputs: Vec<Input>, look: Look) -> Result<(), String> {
    use highwater::app::{Options, Renderer, Theme};
    let theme = look.theme.as_deref().map(|name| if name == "dark" { Theme::Dark } else { Theme::Light });
    let renderer = look.renderer.as_deref().and_then(Renderer::named);
    let memory_limit = look.memory_limit();
    let symbols = highwater::app::Given { path: look.symbols, cache: None };
    let (speed, follow) = (look.speed, look.follow);
    highwater::app::run(&Options {
        recorder: recorder(),
        manifests: highwater::windows_reader::installed_manifests(),
        recordings: None,
        recent: None,
        prepared: highwater::cli::prepared_traces(),
        inputs,
        speed,
        follow,
        screenshot: look.screenshot,
        replaces: look.replace,
        theme,
        size: look.size,
        memory_limit,
        symbols,
        stack_rules: look.stack_rules,
        trackers: look.trackers,
        renderer,
    })
}

/// The recorder of this system, if there is one.
#[cfg(feature = "gui")]
fn recorder() -> Option<std::sync::Arc<dyn highwater::capture::Recorder>> {
    #[cfg(windows)]
    {
        let recorder = highwater::capture::windows::SystemRecorder::with_notes(highwater::app::recordings_that_run());
        let manifests = std::sync::Arc::new(highwater::windows_reader::InstalledManifests);
        return Some(std::sync::Arc::new(recorder.with_manifests(manifests)));
    }
    #[cfg(not(windows))]
    None
}

/// Reports that this build has no window.
#[cfg(not(feature = "gui"))]
fn open_window(_inputs: Vec<Input>, _look: Look) -> Result<(), String> {
    Err("built without the window; use highwater info or highwater report".to_owned())
}
