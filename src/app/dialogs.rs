//! The system's own windows: its Open dialog, on a thread of its own so that ours
//! goes on; its page of default programs; a message where there is no window.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;

use eframe::egui;

use crate::symbols::ModuleKey;

/// What the files are wanted for.
#[derive(Clone, Debug)]
pub enum Purpose {
    /// To be opened as traces.
    Traces,
    /// To be compared with the open trace.
    Compared,
    /// Their rules for stacks are added.
    Rules,
    /// As the place for the rules for stacks.
    SaveRules,
    /// As the PDB of a module.
    Pdb(ModuleKey),
    /// As the place for this trace.
    Save(PathBuf),
}

/// An Open dialog that may be showing.
#[derive(Debug, Default)]
pub struct FileDialog(Option<(Purpose, mpsc::Receiver<Vec<PathBuf>>)>);

impl FileDialog {
    /// Shows the dialog, unless there is one already.
    pub fn show(&mut self, ctx: &egui::Context, purpose: Purpose) {
        if self.0.is_some() {
            return;
        }
        let (send, receive) = mpsc::channel();
        self.0 = Some((purpose.clone(), receive));
        let ctx = ctx.clone();
        std::thread::spawn(move || {
            let dialog = rfd::FileDialog::new();
            let chosen = match purpose {
                Purpose::Pdb(_) => {
                    let dialog = dialog.set_title("The program database of the module");
                    let dialog = dialog.add_filter("Program databases", &["pdb", "PDB"]).add_filter("All files", &["*"]);
                    dialog.pick_file().map(|file| vec![file])
                }
                Purpose::Rules => {
                    let dialog = dialog.set_title("Add rules for stacks").add_filter("Rules", &["toml"]);
                    dialog.add_filter("All files", &["*"]).pick_files()
                }
                Purpose::SaveRules => {
                    let dialog = dialog.set_title("Save the rules for stacks").add_filter("Rules", &["toml"]);
                    dialog.set_file_name("stack-rules.toml").save_file().map(|file| vec![file])
                }
                Purpose::Traces | Purpose::Compared => {
                    let is_compared = matches!(purpose, Purpose::Compared);
                    let title = if is_compared { "Open a trace to compare with" } else { "Open a memory trace" };
                    let dialog = dialog.set_title(title);
                    let kinds = ["etl", "ETL", "zip", "ZIP", "diagsession"];
                    let dialog = dialog.add_filter("ETW traces and archives of them", &kinds).add_filter("All files", &["*"]);
                    dialog.pick_files()
                }
                Purpose::Save(file) => {
                    let dialog = dialog.set_title("Save the recorded trace").add_filter("ETW trace", &["etl"]);
                    let name = file.file_name().unwrap_or_default().to_string_lossy();
                    dialog.set_file_name(name).save_file().map(|file| vec![file])
                }
            };
            // The window may be gone by now; then nobody wants the answer.
            let _ = send.send(chosen.unwrap_or_default());
            ctx.request_repaint();
        });
    }

    /// What the user chose, once; nothing if the dialog was cancelled.
    pub fn take_chosen(&mut self) -> Option<(Purpose, Vec<PathBuf>)> {
        let chosen = match self.0.as_ref()?.1.try_recv() {
            Ok(chosen) => chosen,
            Err(mpsc::TryRecvError::Empty) => return None,
            Err(mpsc::TryRecvError::Disconnected) => Vec::new(), // the dialog failed to show
        };
        let (purpose, _) = self.0.take()?;
        (!chosen.is_empty()).then_some((purpose, chosen))
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
