//! One command as it stands in a document or in a help, run without a shell.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex};

use crate::common::{Run, highwater};

/// A command: its words, and the file that its answer goes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The words after the program's name.
    pub words: Vec<String>,
    /// File for the standard output.
    pub out: Option<String>,
    /// The exit code that it ends with.
    pub code: i32,
}

impl Line {
    /// Reads a command. A comment begins with `# ` behind two blanks; only what a shell on any system understands
    /// alike is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (command, comment) = text.split_once("  # ").unwrap_or((text, ""));
        let code = comment.split_once("exit code ").and_then(|(_, code)| code.get(..1)?.parse().ok()).unwrap_or(0);
        let mut words = Vec::new();
        let mut out = None;
        let mut wants_file = false;
        for word in words_of(command.trim())? {
            match word {
                Word::To => wants_file = true,
                Word::Text(text) if wants_file => out = Some(text),
                Word::Text(text) => words.push(text),
            }
        }
        match words.first().map(String::as_str) {
            Some("highwater") => Ok(Self { words: words.split_off(1), out, code }),
            _ => Err(format!("{text} is no command of highwater")),
        }
    }

    /// Runs the command in a folder.
    pub fn run(&self, folder: &Path) -> Run {
        let output = Command::new(env!("CARGO_BIN_EXE_highwater"))
            .args(self.words.iter().flat_map(|word| expanded(word, folder)))
            .current_dir(folder)
            .env("HIGHWATER_CACHE_DIR", folder.join("cache"))
            .env_remove("_NT_SYMBOL_PATH")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let mut run = Run {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n"),
            err: String::from_utf8_lossy(&output.stderr).replace("\r\n", "\n"),
        };
        if let Some(out) = &self.out {
            fs::write(folder.join(out), &output.stdout).unwrap();
            run.out.clear();
        }
        run
    }
}

enum Word {
    Text(String),
    /// `>`
    To,
}

/// The words of a command, with quotation marks of both kinds.
fn words_of(command: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut chars = command.chars().peekable();
    while let Some(&c) = chars.peek() {
        match c {
            ' ' => {
                chars.next();
            }
            '>' => {
                chars.next();
                words.push(Word::To);
            }
            '|' | '&' | '$' | '`' | ';' | '<' => return Err(format!("{command} wants a shell")),
            _ => {
                let mut text = String::new();
                while let Some(c) = chars.next_if(|c| !" >".contains(*c)) {
                    match c {
                        '"' | '\'' => text.extend(chars.by_ref().take_while(|other| *other != c)),
                        '|' | '&' | '$' | '`' | ';' | '<' => return Err(format!("{command} wants a shell")),
                        other => text.push(other),
                    }
                }
                words.push(Word::Text(text));
            }
        }
    }
    Ok(words)
}

/// The files that a pattern stands for where shells expand patterns; else the word itself.
fn expanded(word: &str, folder: &Path) -> Vec<String> {
    let Some((parent, extension)) = word.split_once("/*.").filter(|_| cfg!(unix)) else { return vec![word.to_owned()] };
    let files = fs::read_dir(folder.join(parent)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = files.filter(|name| name.ends_with(extension)).map(|name| format!("{parent}/{name}")).collect();
    files.sort();
    files
}

/// The help of a command, by its words.
fn help(words: &[&str]) -> String {
    static KNOWN: LazyLock<Mutex<BTreeMap<String, String>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap();
    known.entry(words.join(" ")).or_insert_with(|| highwater(words.iter().chain(&["--help"])).out).clone()
}

/// Words of a command in a sentence that are no command or option of the program.
pub fn unknown_words(span: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = span.split_whitespace().skip(1).collect();
    let is_name = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase());
    let lists = |help: &str, name: &str| help.lines().any(|line| line.trim_start().split(' ').next() == Some(name));
    let mut command: Vec<&str> = Vec::new();
    for word in words.iter().take_while(is_name) {
        let help = help(&command);
        if command.is_empty() || help.contains("\nCommands:\n") && lists(&help, word) {
            command.push(word);
        } else {
            break;
        }
    }
    let help = help(&command);
    let mut wrong: Vec<String> = Vec::new();
    if !help.contains("Usage:") {
        wrong.push(command.join(" "));
    }
    let has = |option: &str| help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| word == option);
    let options = words.iter().filter(|word| word.starts_with("--") && word.len() > 2);
    let options = options.map(|word| word.split(['=', '…', ',', ']']).next().unwrap_or(word).to_owned());
    wrong.extend(options.filter(|option| !has(option)));
    wrong.into_iter()
}

#[test]
fn a_line_is_read_as_shells_read_it() {
    let line = Line::parse("highwater report 'a b.etl' --to \"mark:x y\"@'z > 1' > out.txt  # exit code 3: broken").unwrap();
    assert_eq!(line.words, ["report", "a b.etl", "--to", "mark:x y@z > 1"]);
    assert_eq!((line.out.as_deref(), line.code), (Some("out.txt"), 3));
    for bad in ["highwater report a | less", "cargo test", "highwater info $HOME", ""] {
        assert!(Line::parse(bad).is_err(), "{bad}");
    }
    assert_eq!(unknown_words("highwater reprot").count(), 1);
    assert_eq!(unknown_words("highwater symbols check game.etl --fail-missing --no-such").collect::<Vec<_>>(), ["--no-such"]);
}
