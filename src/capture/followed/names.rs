//! Names of images that are followed.

use crate::events::ProcessInfo;

/// As many bytes of a name old versions of Windows give, at least.
const CUT: usize = 14;

/// File names, in lower case.
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
        // The event's name is in a code page that nobody recorded, the command line is in Unicode.
        let is_called = |wanted: &str| !wanted.is_ascii() && file_name(program(&info.command_line)).to_lowercase() == wanted;
        self.0.iter().any(|wanted| *wanted == name || is_cut(wanted) || is_called(wanted))
    }
}

/// What a command line starts.
fn program(command_line: &str) -> &str {
    let line = command_line.trim_start();
    match line.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => line.split_whitespace().next(),
    }
    .unwrap_or_default()
}

fn file_name(path: &str) -> &str {
    path.rsplit(['\\', '/']).next().unwrap_or_default()
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
