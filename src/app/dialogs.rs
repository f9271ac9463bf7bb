//! The system's own windows: its Open dialog, on a thread of its own so that ours
//! goes on; its page of default programs; a message where there is no window.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;

use eframe::egui;

/// An Open dialog that may be showing.
#[derive(Debug, Default)]
pub struct FileDialog(Option<mpsc::Receiver<Vec<PathBuf>>>);

impl FileDialog {
    /// Shows the dialog, unless it is there already.
    pub fn show(&mut self, ctx: &egui::Context) {
        if self.0.is_some() {
            return;
        }
        let (send, receive) = mpsc::channel();
        self.0 = Some(receive);
        let ctx = ctx.clone();
        std::thread::spawn(move || {
            let chosen = rfd::FileDialog::new()
                .set_title("Open a memory trace")
                .add_filter("ETW traces and archives of them", &["etl", "ETL", "zip", "ZIP", "diagsession"])
                .add_filter("All files", &["*"])
                .pick_files();
            // The window may be gone by now; then nobody wants the answer.
            let _ = send.send(chosen.unwrap_or_default());
            ctx.request_repaint();
        });
    }

    /// What the user chose, once; nothing if the dialog was cancelled.
    pub fn take_chosen(&mut self) -> Option<Vec<PathBuf>> {
        let chosen = match self.0.as_ref()?.try_recv() {
            Ok(chosen) => chosen,
            Err(mpsc::TryRecvError::Empty) => return None,
            Err(mpsc::TryRecvError::Disconnected) => Vec::new(), // the dialog failed to show
        };
        self.0 = None;
        (!chosen.is_empty()).then_some(chosen)
    }
}

/// Shows the page of Windows' settings on which the user says what opens a type of
/// file. No program may decide that by itself.
pub fn show_default_programs() -> io::Result<()> {
    let page = "ms-settings:defaultapps?registeredAppUser=highwater";
    Command::new("rundll32.exe").args(["url.dll,FileProtocolHandler", page]).spawn().map(drop)
}

/// Tells why there is no window to somebody who would see no text: on Windows, a
/// program started from Explorer has nowhere to print.
pub fn tell_without_window(reason: &str) {
    if crate::platform::has_stderr() {
        return; // whoever called prints it
    }
    rfd::MessageDialog::new().set_level(rfd::MessageLevel::Error).set_title("highwater").set_description(reason).show();
}
