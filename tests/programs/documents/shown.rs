//! Answers to commands as documents show them.

use super::folder::Folder;
use super::line::Line;
use super::markdown::Block;
use crate::common::Run;

/// Stands for any lines.
const ANY: &str = "...";

/// One command of a block, and what the block shows below it.
pub struct Step {
    /// The command.
    pub command: String,
    /// Its line in the document, from 1.
    pub line: usize,
    /// Lines that the block shows for it; `None` where the block shows no answers.
    shown: Option<Vec<String>>,
}

/// The commands of a block.
pub fn steps(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (line, text) in (block.first..).zip(&block.lines) {
        let is_console = block.language == "console";
        match (is_console, text.strip_prefix("$ ")) {
            (true, Some(command)) => steps.push(Step { command: command.to_owned(), line, shown: Some(Vec::new()) }),
            (true, None) => steps.last_mut().and_then(|step| step.shown.as_mut()).unwrap().push(text.clone()),
            (false, _) if text.is_empty() || text.starts_with("# ") => {}
            (false, _) => steps.push(Step { command: text.clone(), line, shown: None }),
        }
    }
    steps
}

impl Step {
    /// Runs the command and returns the lines that it prints: the answer, then messages.
    pub fn run(&self, folder: &Folder) -> Result<Vec<String>, String> {
        let line = Line::parse(&self.command)?;
        let Run { code, out, err } = line.run(folder.path());
        match code == Some(line.code) {
            true => Ok(out.lines().chain(err.lines()).map(|line| line.trim_end().to_owned()).collect()),
            false => Err(format!("{} ends with {code:?}: {err}", self.command)),
        }
    }

    /// Compares what was printed with what the document shows.
    pub fn compare(&self, printed: &[String]) -> Result<(), String> {
        match &self.shown {
            Some(shown) if !is_like(shown, printed) => {
                Err(format!("shows:\n{}\nprints:\n{}", shown.join("\n"), printed.join("\n")))
            }
            _ => Ok(()),
        }
    }

    /// The document with what was printed in place of what it shows. Of an answer that ends with `...` as many lines
    /// are shown as before.
    pub fn updated(&self, document: &str, printed: &[String]) -> String {
        let Some(shown) = &self.shown else { return document.to_owned() };
        let kept = shown.iter().position(|line| line == ANY).filter(|kept| *kept < printed.len());
        let mut new: Vec<String> = printed.iter().take(kept.unwrap_or(usize::MAX)).cloned().collect();
        new.extend(kept.map(|_| ANY.to_owned()));
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let of = |lines: &[String]| format!("$ {}\n{}", self.command, text(lines));
        document.replacen(&of(shown), &of(&new), 1)
    }
}

/// Whether lines are those of a pattern.
fn is_like(pattern: &[String], lines: &[String]) -> bool {
    match pattern.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == ANY => (0..=lines.len()).any(|skipped| is_like(rest, &lines[skipped..])),
        Some((first, rest)) => lines.first() == Some(first) && is_like(rest, &lines[1..]),
    }
}

#[test]
fn dots_stand_for_any_lines_and_an_update_keeps_them() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(is_like(&lines("a\n...\nd"), &lines("a\nb\nc\nd")) && is_like(&lines("a\n..."), &lines("a")));
    assert!(!is_like(&lines("a\n..."), &lines("b\na")) && !is_like(&lines("a"), &lines("a\nb")));
    let document = "```console\n$ highwater x\none\n...\n$ highwater y\n```\n";
    let steps = steps(&super::blocks(document)[0]);
    assert_eq!((steps[0].line, steps[1].line), (2, 5));
    let new = steps[0].updated(document, &lines("1\n2\n3"));
    assert_eq!(new, document.replace("one", "1"));
    assert_eq!(steps[1].updated(&new, &lines("said")), "```console\n$ highwater x\n1\n...\n$ highwater y\nsaid\n```\n");
}
