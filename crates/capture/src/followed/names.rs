//! The image names that are followed.

use crate::events::ProcessInfo;
use crate::events::program_name::{CUT, file_name, of_command_line};

/// File names in lower case.
#[derive(Debug)]
pub(super) struct Names(Vec<String>);

impl Names {
    pub(super) fn new(names: &[String]) -> Self {
        Self(names.iter().map(|name| file_name(name).to_lowercase()).filter(|name| !name.is_empty()).collect())
    }

    /// Whether a process was started from an image of one of these names.
    pub(super) fn have(&self, info: &ProcessInfo) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let name = file_name(&info.name).to_lowercase();
        let is_cut = |wanted: &str| (CUT..=CUT + 1).contains(&name.len()) && wanted.starts_with(&name);
        let started = of_command_line(&info.name, &info.command_line).map(|name| name.to_lowercase());
        let is_called = |wanted: &str| !wanted.is_ascii() && started.as_deref() == Some(wanted);
        self.0.iter().any(|wanted| *wanted == name || is_cut(wanted) || is_called(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_windows_does_and_as_far_as_the_event_has_them() {
        let names =
            Names::new(&["Game.exe".to_owned(), "VeryLongNameOfAGame.exe".to_owned(), "übung.exe".to_owned(), String::new()]);
        let have = |name: &str, line: &str| {
            names.have(&ProcessInfo { name: name.into(), command_line: line.into(), ..Default::default() })
        };
        assert!(have("GAME.EXE", "") && have(r"C:\games\game.exe", "") && have("ÜBUNG.exe", ""));
        assert!(have("VeryLongNameOf", "") && have("verylongnameofa", ""), "cut by an old Windows");
        assert!(!have("VeryLongName", "") && !have("game", "") && !have("game.exe2", "") && !have("", ""));
        assert!(have("\u{81}bung.exe", r#""D:\Spiele und mehr\Übung.exe" -x"#) && have("?bung.exe", r"D:\Übung.exe -x"));
        assert!(!have("other.exe", r"C:\game.exe"), "a command line may say anything");
        assert!(!have("?bung.exe", r#"cmd.exe "übung.exe""#));
    }
}
