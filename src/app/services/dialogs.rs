//! The system's own windows: file dialogs, on a thread of their own so that the window stays
//! responsive; the settings page for default programs; and a message box for when there is no window.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use eframe::egui;

use super::investigation::Snapshot;
use super::picture::Picture;
use super::saving::as_file_name;
use super::shared_page::SharedPage;
use crate::app::base::table::Export;
use crate::load::INVESTIGATION;
use crate::symbols::ModuleKey;

/// The purpose of the files that a dialog asks for.
#[derive(Clone, Debug)]
pub enum Purpose {
    /// Traces to open.
    Traces,
    /// A trace to compare with the open one.
    Compared,
    /// Files with stack rules to add.
    Rules,
    /// The file to save the stack rules to.
    SaveRules,
    /// The file to export a table to.
    Export(Export),
    /// The file to save a picture to.
    Picture(Arc<Picture>),
    /// The file to save a page for a browser to.
    Page(Arc<SharedPage>),
    /// The file to save an investigation to.
    Investigation(Arc<Snapshot>),
    /// The PDB of a module.
    Pdb(ModuleKey),
    /// The file to save this trace to.
    Save(PathBuf),
}

impl Purpose {
    /// The title of the dialog.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Traces => "Open a memory trace",
            Self::Compared => "Open a trace to compare with",
            Self::Rules => "Add rules for stacks",
            Self::SaveRules => "Save the rules for stacks",
            Self::Export(_) => "Export the table",
            Self::Picture(_) => "Export the picture",
            Self::Page(_) => "Share as a page",
            Self::Investigation(_) => "Save the investigation",
            Self::Pdb(_) => "The program database of the module",
            Self::Save(_) => "Save the recorded trace",
        }
    }

    /// Suggested name and extension of the file to save; `None` for files that are read.
    pub fn saved_as(&self) -> Option<(String, &'static str)> {
        match self {
            Self::SaveRules => Some(("stack-rules".to_owned(), "toml")),
            Self::Export(Export { table_source, format }) => Some((table_source.title().to_lowercase(), format.extension())),
            Self::Picture(picture) => Some((picture.subject.name(), picture.format().extension())),
            Self::Page(shared) => Some((as_file_name(shared.page.title.trim_end_matches(".etl")), "html")),
            Self::Investigation(snapshot) => Some((as_file_name(snapshot.name.trim_end_matches(".etl")), INVESTIGATION)),
            Self::Save(file) => Some((file.file_stem().unwrap_or_default().to_string_lossy().into_owned(), "etl")),
            Self::Traces | Self::Compared | Self::Rules | Self::Pdb(_) => None,
        }
    }

    /// The label of the button that confirms the choice.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Traces | Self::Compared => "Open",
            Self::Rules | Self::Pdb(_) => "Use",
            Self::SaveRules | Self::Export(_) | Self::Picture(_) | Self::Page(_) | Self::Investigation(_) | Self::Save(_) => {
                "Save"
            }
        }
    }
}

/// A path that the user types instead of choosing it in a dialog.
#[derive(Clone, Debug)]
pub struct TypedPath {
    pub purpose: Purpose,
    pub text: String,
    /// Whether it is typed because the system shows no dialog.
    pub is_instead: bool,
    /// Why the previous path did not work.
    pub complaint: Option<String>,
}

impl TypedPath {
    pub fn new(purpose: Purpose) -> Self {
        Self { purpose, text: String::new(), is_instead: false, complaint: None }
    }
}

/// The outcome of a dialog.
#[derive(Debug)]
pub enum Chosen {
    Files(Purpose, Vec<PathBuf>),
    /// The system could not show the dialog.
    NoDialog(Purpose),
}

/// No user closes a dialog this fast. Without a desktop portal it returns at once, and its result looks
/// the same as after a cancel.
const TOO_FAST: Duration = Duration::from_millis(400);

/// A dialog for files that may be showing.
#[derive(Debug, Default)]
pub struct FileDialog(Option<(Purpose, mpsc::Receiver<Option<Vec<PathBuf>>>)>);

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
            let asked = Instant::now();
            let dialog = rfd::FileDialog::new().set_title(purpose.title());
            let saved_as = purpose.saved_as();
            let chosen = match purpose {
                _ if saved_as.is_some() => saved_as.and_then(|(name, kind)| save_as(dialog, kind, &name)),
                Purpose::Pdb(_) => {
                    let dialog = dialog.add_filter("Program databases", &["pdb", "PDB"]).add_filter("All files", &["*"]);
                    dialog.pick_file().map(|file| vec![file])
                }
                Purpose::Rules => {
                    let dialog = dialog.add_filter("Rules, and stack tags of WPA", &["toml", "stacktags"]);
                    dialog.add_filter("All files", &["*"]).pick_files()
                }
                _ => {
                    let kinds = ["etl", "ETL", "zip", "ZIP", "diagsession", INVESTIGATION];
                    let dialog = dialog
                        .add_filter("ETW traces, archives of them, and investigations", &kinds)
                        .add_filter("All files", &["*"]);
                    dialog.pick_files()
                }
            };
            let can_be_missing = cfg!(all(unix, not(target_os = "macos")));
            let is_missing = can_be_missing && chosen.is_none() && asked.elapsed() < TOO_FAST;
            // The window may be gone by now; then nobody needs the answer.
            let _ = send.send((!is_missing).then(|| chosen.unwrap_or_default()));
            ctx.request_repaint();
        });
    }

    /// Takes the user's choice, once; nothing if the dialog was cancelled.
    pub fn take_chosen(&mut self) -> Option<Chosen> {
        let chosen = match self.0.as_ref()?.1.try_recv() {
            Ok(chosen) => chosen,
            Err(mpsc::TryRecvError::Empty) => return None,
            Err(mpsc::TryRecvError::Disconnected) => None, // the dialog failed to show
        };
        let (purpose, _) = self.0.take()?;
        match chosen {
            None => Some(Chosen::NoDialog(purpose)),
            Some(files) => (!files.is_empty()).then_some(Chosen::Files(purpose, files)),
        }
    }
}

/// Asks the user for the name of a file of this kind.
fn save_as(dialog: rfd::FileDialog, kind: &str, name: &str) -> Option<Vec<PathBuf>> {
    let dialog = dialog.add_filter(kind.to_uppercase(), &[kind]).set_file_name(format!("{name}.{kind}"));
    dialog.save_file().map(|file| vec![file])
}

/// Opens the page of Windows' settings on which the user chooses the program for a file type. No
/// program may decide that by itself.
pub fn show_default_programs() -> io::Result<()> {
    let page = "ms-settings:defaultapps?registeredAppUser=highwater";
    let (program, first) = crate::platform::opener();
    Command::new(program).args(first.into_iter().chain([page])).spawn().map(drop)
}

/// Shows why there is no window to users who would see no text: on Windows, a program started from
/// Explorer has no console.
pub fn tell_without_window(reason: &str) {
    if crate::platform::has_stderr() {
        return; // the caller prints it
    }
    rfd::MessageDialog::new().set_level(rfd::MessageLevel::Error).set_title("highwater").set_description(reason).show();
}
