//! Workflow commands of GitHub Actions: lines of output that the runner shows as annotations.
//!
//! Format: `::error file=…,line=…,title=…::message` (GitHub Docs, "Workflow commands for GitHub Actions", *Setting an
//! error message*). Escaping: the functions `escapeData` and `escapeProperty` of `packages/core/src/command.ts` in
//! `actions/toolkit`, which the runner undoes: `%`, CR and LF everywhere, `:` and `,` in properties as well.

use super::{Annotation, Severity};
use crate::format::plain;

/// Returns the command for an annotation, one line.
pub(super) fn workflow_command(annotation: &Annotation) -> String {
    let Annotation { severity, title, text, at } = annotation;
    let command = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let at = at.iter().map(|(file, line)| format!("file={},line={line},", property(file))).collect::<String>();
    format!("::{command} {at}title={}::{}", property(title), data(text))
}

/// Escapes a message.
fn data(text: &str) -> String {
    escaped(text, &['%', '\r', '\n'])
}

/// Escapes a property.
fn property(text: &str) -> String {
    escaped(text, &['%', '\r', '\n', ':', ','])
}

fn escaped(text: &str, special: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    // Line breaks are kept for the escaping; everything else that a terminal interprets is replaced.
    for c in text.chars() {
        match c {
            c if special.contains(&c) => out += &format!("%{:02X}", u32::from(c)),
            c => out += &plain(c.encode_utf8(&mut [0; 4])),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_line_whatever_is_in_names() {
        let annotation = Annotation {
            severity: Severity::Error,
            title: "50%: a,b\r\n::error::x".to_owned(),
            text: "100% of a,b: \r\n::warning::y\u{1b}[1m".to_owned(),
            at: Some(("src/a,b:c%.cpp".to_owned(), 7)),
        };
        let expected = "::error file=src/a%2Cb%3Ac%25.cpp,line=7,title=50%25%3A a%2Cb%0D%0A%3A%3Aerror%3A%3Ax::\
                        100%25 of a,b: %0D%0A::warning::y\u{fffd}[1m";
        assert_eq!(workflow_command(&annotation), expected);
        let warning = Annotation { severity: Severity::Warning, at: None, title: "t".to_owned(), text: String::new() };
        assert_eq!(workflow_command(&warning), "::warning title=t::");
    }
}
