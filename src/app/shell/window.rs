//! Opening the window: the options of the command line, and the choice of a renderer.

use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui;

use super::HighwaterApp;
use crate::app::base::icon;
use crate::app::services::dialogs;
use crate::app::services::names::Given;
use crate::app::state::settings::{Settings, Theme};
use crate::capture::{Manifests, Recorder};
use crate::load::{Input, PreparedTraces};
use crate::paths;

/// Options for opening the window.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Inputs to open at the start.
    pub inputs: Vec<Input>,
    /// Replay the input as if it were being recorded, at this multiple of real time.
    pub speed: Option<f64>,
    /// Follow it while it is being recorded.
    pub follow: bool,
    /// Save a picture of the window to this file once everything is drawn, then quit.
    pub screenshot: Option<PathBuf>,
    /// Whether to replace that file if it exists.
    pub replaces: bool,
    /// Theme for this run only, overriding the settings.
    pub theme: Option<Theme>,
    /// Size of the window for this run only, in points.
    pub size: Option<[f32; 2]>,
    /// Bytes of memory that a trace may use in this run, overriding the settings.
    pub memory_limit: Option<u64>,
    /// Symbol options for this run, in addition to the settings.
    pub symbols: Given,
    /// File of the stack rules in this run, instead of the one beside the settings.
    pub stack_rules: Option<PathBuf>,
    /// File of the mapping of trackers in this run, instead of the one beside the settings.
    pub trackers: Option<PathBuf>,
    /// File of the recent traces in this run, instead of the one beside the settings.
    pub recent: Option<PathBuf>,
    /// Prepared traces, from which files open again; `None` to read all files anew.
    pub prepared: Option<PreparedTraces>,
    /// The recorder, if this machine has one.
    pub recorder: Option<Arc<dyn Recorder>>,
    /// The manifests that are installed, if this system has any.
    pub manifests: Option<Arc<dyn Manifests>>,
    /// Folder for recordings in this run.
    pub recordings: Option<PathBuf>,
    /// The only renderer to try; `None` tries all.
    pub renderer: Option<Renderer>,
}

/// A renderer of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Renderer {
    /// OpenGL.
    Glow,
    /// The backend that wgpu finds: Direct3D, Vulkan, Metal, or software.
    #[cfg(any(windows, feature = "wgpu"))]
    Wgpu,
}

impl Renderer {
    /// All renderers that are built in, the preferred one first.
    const ALL: &[Self] = &[
        Self::Glow,
        #[cfg(any(windows, feature = "wgpu"))]
        Self::Wgpu,
    ];

    /// Name on the command line.
    fn name(self) -> &'static str {
        match self {
            Self::Glow => "glow",
            #[cfg(any(windows, feature = "wgpu"))]
            Self::Wgpu => "wgpu",
        }
    }

    /// The renderer of this name, if it is built in.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|renderer| renderer.name() == name)
    }
}

/// Opens the window and returns when it is closed. The renderer is OpenGL; where it cannot start
/// (remote desktops, virtual machines), it is the backend that wgpu finds, if that is built in.
pub fn run(options: &Options) -> Result<(), String> {
    if !has_display() {
        return Err("there is no display to open a window on; highwater info and highwater report work without one".to_owned());
    }
    let settings = Settings::load();
    let start = |renderer| {
        let native = native_options(options, &settings, renderer);
        let (options, settings) = (options.clone(), settings.clone());
        eframe::run_native(
            "highwater",
            native,
            Box::new(move |cc| {
                #[cfg(windows)]
                introduce(cc, options.recorder.as_deref());
                Ok(Box::new(HighwaterApp::new(&cc.egui_ctx, options, settings)))
            }),
        )
        .map_err(|reason| reason.to_string())
    };
    let renderers = options.renderer.as_ref().map_or(Renderer::ALL, std::slice::from_ref);
    let closed = start_first(renderers, start);
    paths::remove_drafts(); // nothing waits for what was being kept
    closed
        .map_err(|reason| format!("no window could be opened: {reason}"))
        .inspect_err(|reason| dialogs::tell_without_window(reason))
}

/// Tells the recorder in front of which window the system should show its consent prompt.
#[cfg(windows)]
fn introduce(cc: &eframe::CreationContext<'_>, recorder: Option<&dyn Recorder>) {
    use wgpu::rwh::{HasWindowHandle, RawWindowHandle};
    let handle = cc.window_handle().ok().map(|handle| handle.as_raw());
    if let (Some(recorder), Some(RawWindowHandle::Win32(handle))) = (recorder, handle) {
        recorder.set_window(handle.hwnd.get());
    }
}

/// Starts with the first renderer that works; the error lists the reasons of all that do not.
fn start_first(renderers: &[Renderer], start: impl Fn(Renderer) -> Result<(), String>) -> Result<(), String> {
    let mut reasons = Vec::new();
    for &renderer in renderers {
        match start(renderer) {
            Ok(()) => return Ok(()),
            Err(reason) => {
                log::warn!("{} could not start: {reason}", renderer.name());
                reasons.push(reason);
            }
        }
    }
    Err(reasons.join("; "))
}

/// Whether a window can be opened at all, as far as can be known beforehand.
fn has_display() -> bool {
    let names = ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"];
    !cfg!(all(unix, not(target_os = "macos")))
        || names.into_iter().any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()))
}

fn native_options(options: &Options, settings: &Settings, renderer: Renderer) -> eframe::NativeOptions {
    let size = options.size.or(settings.window.size).unwrap_or([1280.0, 800.0]);
    let mut viewport = egui::ViewportBuilder::default()
        .with_title("highwater")
        .with_app_id("highwater")
        .with_inner_size(size)
        .with_min_inner_size([640.0, 420.0])
        .with_drag_and_drop(true)
        .with_icon(Arc::new(icon::icon()));
    if options.size.is_none() && settings.window.maximized {
        viewport = viewport.with_maximized(true);
    }
    let renderer = match renderer {
        Renderer::Glow => eframe::Renderer::Glow,
        #[cfg(any(windows, feature = "wgpu"))]
        Renderer::Wgpu => eframe::Renderer::Wgpu,
    };
    // The window looks for system fonts itself: see `fonts`.
    eframe::NativeOptions { viewport, renderer, system_font_fallback: false, ..eframe::NativeOptions::default() }
}
