//! Opens a line of a source file in the user's editor. Debug information has the paths of the build machine; [`place`]
//! finds the files on this machine.
//!
//! Independent of traces and of the window. No argument goes through a shell.

mod place;
mod text;

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::platform;

pub use place::{FolderMap, find};
pub use text::{Excerpt, excerpt, excerpt_of};

/// The program that shows source files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Editor {
    /// Visual Studio Code, by its links (`vscode://file/PATH:LINE`; its documentation, "Opening VS Code with URLs").
    #[default]
    VsCode,
    /// Visual Studio (`devenv /Edit FILE /Command "Edit.GoTo LINE"`; its documentation, "Devenv command-line switches").
    VisualStudio,
    /// Rider (`rider64 --line LINE FILE`; its documentation, "Open files from the command line").
    Rider,
    /// A custom command.
    Own,
}

impl Editor {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::VsCode, Self::VisualStudio, Self::Rider, Self::Own];

    /// Its display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::VsCode => "Visual Studio Code",
            Self::VisualStudio => "Visual Studio",
            Self::Rider => "Rider",
            Self::Own => "Another command",
        }
    }
}

/// Settings for opening source files.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceSettings {
    /// The program.
    pub editor: Editor,
    /// The command of [`Editor::Own`]: words separated by spaces, with `"…"` around words that contain spaces; `{file}`
    /// and `{line}` are replaced.
    pub command: String,
    /// Folders of build machines and the corresponding folders here.
    pub folders: Vec<FolderMap>,
    /// Source servers that may be asked for the files that symbols say they have.
    pub servers: Vec<String>,
}

/// A program and its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Call {
    program: String,
    words: Vec<String>,
}

/// Opens a line, counted from 1, of a file of this machine. An error is a sentence.
pub fn open(settings: &SourceSettings, file: &Path, line: u32) -> Result<(), String> {
    let call = call(settings, &file.to_string_lossy(), line)?;
    let started = Command::new(program_path(&call.program))
        .args(&call.words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let fault = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("{} was not found: choose another editor under View, Source files\u{2026}.", call.program)
        }
        _ => format!("{} did not start: {error}.", call.program),
    };
    let mut child = started.map_err(fault)?;
    std::thread::spawn(move || child.wait()); // otherwise some systems keep a zombie until we exit
    Ok(())
}

fn call(settings: &SourceSettings, file: &str, line: u32) -> Result<Call, String> {
    let call = |program: &str, words: &[String]| Call { program: program.to_owned(), words: words.to_vec() };
    let file = file.to_owned();
    Ok(match settings.editor {
        Editor::VsCode => link(format!("vscode://file/{}:{line}", encoded(&file))),
        Editor::VisualStudio => call("devenv", &["/Edit".into(), file, "/Command".into(), format!("Edit.GoTo {line}")]),
        Editor::Rider => call("rider64", &["--line".into(), line.to_string(), file]),
        Editor::Own => {
            let mut words = words(&settings.command).into_iter();
            let program = words.next().ok_or("No command is set: see View, Source files\u{2026}.")?;
            let has_file = settings.command.contains("{file}");
            let words = words.map(|word| word.replace("{line}", &line.to_string()).replace("{file}", &file));
            Call { program, words: words.chain((!has_file).then(|| file.clone())).collect() }
        }
    })
}

/// Opens a link with the program that is registered for it.
fn link(url: String) -> Call {
    let (program, first) = platform::opener();
    Call { program: program.to_owned(), words: first.map(str::to_owned).into_iter().chain([url]).collect() }
}

/// Encodes a path for a link (RFC 3986): `C:/a%20b.cpp`.
fn encoded(path: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/').remove(b':');
    utf8_percent_encode(path.replace('\\', "/").trim_start_matches('/'), ESCAPED).to_string()
}

/// Splits a command into words.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
    for letter in command.chars() {
        match letter {
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' | '\t' if !is_quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// The path of a program that is registered by its name (registry, "App Paths"), otherwise the name.
fn program_path(name: &str) -> String {
    #[cfg(windows)]
    for hive in [winreg::enums::HKEY_CURRENT_USER, winreg::enums::HKEY_LOCAL_MACHINE] {
        let key = format!(r"SOFTWARE\Microsoft\Windows\CurrentVersion\App Paths\{name}.exe");
        let known = winreg::RegKey::predef(hive).open_subkey(key).and_then(|key| key.get_value::<String, _>(""));
        if let Ok(path) = known {
            return path.trim_matches('"').to_owned();
        }
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(editor: Editor, command: &str, file: &str) -> Result<(String, Vec<String>), String> {
        let settings = SourceSettings { editor, command: command.to_owned(), ..SourceSettings::default() };
        call(&settings, file, 12).map(|call| (call.program, call.words))
    }

    #[test]
    fn each_editor_gets_file_and_line_in_its_own_way() {
        let file = r"C:\my game\lev#l.cpp";
        let (_, words) = called(Editor::VsCode, "", file).unwrap();
        assert_eq!(words.last().unwrap(), "vscode://file/C:/my%20game/lev%23l.cpp:12");
        let (_, words) = called(Editor::VsCode, "", "/home/me/a.cpp").unwrap();
        assert_eq!(words.last().unwrap(), "vscode://file/home/me/a.cpp:12");
        let (program, words) = called(Editor::VisualStudio, "", file).unwrap();
        assert_eq!(
            (program.as_str(), words),
            ("devenv", ["/Edit", file, "/Command", "Edit.GoTo 12"].map(str::to_owned).to_vec())
        );
        let (program, words) = called(Editor::Rider, "", file).unwrap();
        assert_eq!((program.as_str(), words), ("rider64", ["--line", "12", file].map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_command_of_ones_own_is_words_and_no_shell() {
        let of = |command: &str, file: &str| called(Editor::Own, command, file).map(|(_, words)| words.join("|"));
        assert_eq!(of(r#""C:\Program Files\vim\gvim.exe" +{line} {file}"#, "a b.cpp"), Ok("+12|a b.cpp".to_owned()));
        assert_eq!(of("edit -n {line}", "x;rm *.cpp"), Ok("-n|12|x;rm *.cpp".to_owned()));
        // A placeholder in the name of a file is not replaced.
        assert_eq!(of("edit {file}", "{line}.cpp"), Ok("{line}.cpp".to_owned()));
        assert!(of(" ", "a.cpp").unwrap_err().contains("No command is set"));
        assert_eq!(called(Editor::Own, r#""a b" c"#, "f").unwrap().0, "a b");
    }
}
