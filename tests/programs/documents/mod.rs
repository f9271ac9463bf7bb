//! Commands in documents run as they are written, and print what the documents show.
//!
//! A block ` ```sh ` has commands, one per line, and a block ` ```console ` commands after `$ ` with what they
//! print. In it a line `...` stands for any lines. `# exit code 3` behind a command is its exit code (else 0). The
//! commands of a document run in one folder, in their order.
//!
//! With the environment variable UPDATE_DOCUMENTS=1 the documents are changed to show what the commands print.

mod folder;
mod line;
mod markdown;
mod shown;

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub use folder::Folder;
pub use line::Line;
pub use markdown::{Block, blocks};

/// Commands in documents that are not run here, by their beginnings, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("highwater record", "records: needs Windows and an administrator"),
    ("highwater demo", "opens the window"),
    ("highwater game.etl", "opens the window"),
    ("highwater kernel.etl", "opens the window"),
    ("highwater replay", "opens the window"),
    ("highwater --follow", "opens the window"),
    ("highwater symbols fetch", "needs a network"),
    ("highwater completions bash >", "writes into a home folder; tests of completions run it"),
    ("reg ", "changes the registry of Windows"),
    ("wpr ", "records: needs Windows and an administrator"),
    ("rem ", "is a remark"),
    ("cargo ", "builds the program, or takes hours"),
    ("./scripts/", "builds the program; scripts/test.sh runs the same scripts"),
    ("sha256sum ", "checks a download"),
    ("Get-FileHash ", "checks a download"),
];

/// The documents for users.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let docs = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut all: Vec<PathBuf> = docs.chain([root.join("README.md")]).collect();
    all.sort();
    all
}

/// Why a command is not run, if it is not. Marks the entry of the list as used.
pub fn not_run(command: &str, used: &mut BTreeSet<&str>) -> Option<&'static str> {
    let (begin, why) = NOT_RUN.iter().find(|(begin, _)| command.starts_with(begin))?;
    used.insert(begin);
    Some(why)
}

/// Whether a block has commands.
fn is_shell(block: &Block) -> bool {
    ["sh", "bat", "powershell", "console"].contains(&block.language.as_str())
}

#[test]
fn each_command_of_the_documents_runs_and_prints_what_they_show() {
    let (mut ran, mut wrong, mut used) = (0, Vec::new(), BTreeSet::new());
    for path in documents() {
        let (text, folder) = (fs::read_to_string(&path).unwrap().replace("\r\n", "\n"), LazyCell::new(Folder::new));
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut updated = text.clone();
        for block in blocks(&text) {
            if block.language == "toml" {
                folder.write_named(&block);
            } else if is_shell(&block) {
                for step in shown::steps(&block) {
                    if not_run(&step.command, &mut used).is_some() {
                        continue;
                    }
                    ran += 1;
                    let printed = match step.run(&folder) {
                        Ok(printed) => printed,
                        Err(why) => {
                            wrong.push(format!("{name}:{}: {why}", step.line));
                            continue;
                        }
                    };
                    if let Err(difference) = step.compare(&printed) {
                        wrong.push(format!("{name}:{}: {}\n{difference}", step.line, step.command));
                        updated = step.updated(&updated, &printed);
                    }
                }
            } else {
                let hidden = block.lines.iter().find(|line| line.starts_with("highwater "));
                wrong.extend(hidden.map(|line| format!("{name}: {line} stands in a block that is not run")));
            }
        }
        if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
            fs::write(&path, updated).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(ran > 50, "{ran} commands");
    let unused: Vec<&str> = NOT_RUN.iter().map(|(begin, _)| *begin).filter(|begin| !used.contains(begin)).collect();
    assert_eq!(unused, [""; 0], "no document has such a command");
}

/// Commands in the running text have options that exist.
#[test]
fn each_command_named_in_a_sentence_exists_with_its_options() {
    let mut wrong = Vec::new();
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
        for span in markdown::spans(&text).filter(|span| span.starts_with("highwater ")) {
            wrong.extend(line::unknown_words(&span).map(|word| format!("{}: {word} in {span}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Links to other documents, and to their parts, lead somewhere.
#[test]
fn each_link_between_documents_leads_somewhere() {
    let mut wrong = Vec::new();
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        for link in markdown::links(&text).filter(|link| !link.contains(':') && !link.ends_with("releases/latest")) {
            let (file, part) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            let has_part = || part.is_empty() || markdown::anchors(&fs::read_to_string(&target).unwrap()).any(|it| it == part);
            if !target.exists() || !has_part() {
                wrong.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
