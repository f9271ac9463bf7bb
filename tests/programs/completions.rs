//! Completions and the manual's pages, as shells and `man` take them.

use crate::common::highwater;

#[cfg(unix)]
mod shells {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::*;
    use crate::common::skip;

    /// Completions for a shell as a file of this name.
    fn script(folder: &Path, shell: &str, name: &str) -> PathBuf {
        let run = highwater(["completions", shell]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        let file = folder.join(name);
        std::fs::write(&file, run.out).unwrap();
        file
    }

    fn is_there(program: &str) -> bool {
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
    }

    /// What bash offers where these words stand on its line, the last of which is being written.
    fn offered(script: &Path, words: &[&str]) -> Vec<String> {
        const ASK: &str = r#"
            . "$1" && shift
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
            function=$(complete -p highwater | sed 's/.*-F \([^ ]*\).*/\1/')
            "$function" highwater "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\n' "${COMPREPLY[@]}""#;
        let output = Command::new("bash").args(["--norc", "-c", ASK, "bash"]).arg(script).args(words).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn bash_completes_commands_options_and_their_values() {
        if !is_there("bash") {
            return skip("no bash");
        }
        let folder = tempfile::tempdir().unwrap();
        let script = script(folder.path(), "bash", "highwater.bash");
        let offered = |words: &[&str]| offered(&script, words);
        assert_eq!(offered(&["highwater", "repo"]), ["report"]);
        assert_eq!(offered(&["highwater", "symbols", "look"]), ["lookup"]);
        assert_eq!(offered(&["highwater", "report", "--lay"]), ["--layer"]);
        assert_eq!(offered(&["highwater", "report", "--layer", "tr"]), ["tracker"]);
        assert_eq!(offered(&["highwater", "completions", "f"]), ["fish"]);
        assert_eq!(offered(&["highwater", "report", "--by", "process,he"]), ["process,heap"]);
        assert_eq!(offered(&["highwater", "report", "--by", "thr"]), ["thread"]);
        assert_eq!(offered(&["highwater", "report", "de"]), ["demo:"]);
        assert_eq!(offered(&["highwater", "symbols", "check", "de"]), ["demo:"]);
        assert_eq!(offered(&["highwater", "diff", "de"]), ["demo:"]);
        let commands = offered(&["highwater", ""]);
        assert!(["info", "record", "diff", "completions"].iter().all(|name| commands.iter().any(|offer| offer == name)));
        for hidden in ["measure", "man", "--screenshot"] {
            assert!(!commands.iter().any(|offer| offer == hidden), "{hidden} is hidden");
        }
    }

    #[test]
    fn other_shells_understand_theirs() {
        let folder = tempfile::tempdir().unwrap();
        for shell in ["zsh", "fish"] {
            let script = script(folder.path(), shell, shell);
            if !is_there(shell) {
                skip(&format!("no {shell}"));
                continue;
            }
            let output = Command::new(shell).arg("-n").arg(script).output().unwrap();
            assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }

    #[test]
    fn man_shows_each_page_without_a_complaint() {
        let folder = tempfile::tempdir().unwrap();
        let run = highwater(["man".as_ref(), folder.path().as_os_str()]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        if !is_there("groff") {
            return skip("no groff");
        }
        let mut pages = 0;
        for page in std::fs::read_dir(folder.path()).unwrap() {
            let page = page.unwrap().path();
            let output = Command::new("groff").args(["-man", "-ww", "-Wbreak", "-Tutf8", "-P-cbou"]).arg(&page).output().unwrap();
            let (text, complaints) =
                (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr).into_owned());
            assert_eq!(complaints, "", "{}", page.display());
            let name = page.file_stem().unwrap().to_str().unwrap();
            for part in ["NAME", "SYNOPSIS", "EXAMPLES", "EXIT STATUS", name] {
                assert!(text.contains(part), "{}: no {part} in {text}", page.display());
            }
            pages += 1;
        }
        assert!(pages > 8, "{pages} pages");
    }
}

#[test]
fn a_shell_that_nobody_knows_is_a_bad_argument() {
    let run = highwater(["completions", "tea"]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(run.err.lines().count() == 1 && run.err.contains("tea") && run.err.contains("powershell"), "{}", run.err);
}

#[test]
fn a_manual_that_cannot_be_written_is_one_line() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let run = highwater(["man".as_ref(), file.path().as_os_str()]);
    assert_eq!(run.code, Some(1));
    assert!(run.err.lines().count() == 1 && run.err.contains("cannot be written"), "{}", run.err);
}
