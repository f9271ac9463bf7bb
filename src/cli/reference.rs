//! The tables of options in `docs/cli.md`, generated from the description of the command line that parses it.
//!
//! With the environment variable UPDATE_DOCUMENTS=1 the test writes them into the document.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory};

use super::args::CommandLine;

/// An option of this many commands, with the same meaning in each, is described once.
const COMMON: usize = 4;

/// The words of a command and its description.
type Described<'a> = (String, &'a Command);

/// All visible commands with their words.
fn commands<'a>(command: &'a Command, words: &str, all: &mut Vec<Described<'a>>) {
    all.push((words.to_owned(), command));
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        commands(sub, &format!("{words} {}", sub.get_name()), all);
    }
}

/// The arguments that help shows, apart from those that every program has.
fn arguments(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_everywhere = |arg: &Arg| ["help", "version", "wide"].contains(&arg.get_id().as_str());
    command.get_arguments().filter(move |arg| !arg.is_hide_set() && !is_everywhere(arg))
}

/// An argument as it is typed.
fn typed(arg: &Arg) -> String {
    let names = || arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ");
    let takes_value = arg.get_action().takes_values();
    match (arg.get_long(), arg.get_short()) {
        (None, None) => {
            let more = if arg.get_num_args().is_some_and(|range| range.max_values() > 1) { "\u{2026}" } else { "" };
            format!("{}{more}", names())
        }
        (long, short) => {
            let both = short.map(|short| format!("-{short}")).into_iter().chain(long.map(|long| format!("--{long}")));
            let both = both.collect::<Vec<_>>().join(", ");
            if takes_value { format!("{both} {}", names()) } else { both }
        }
    }
}

/// The help of an argument as a cell of a table.
fn described(arg: &Arg) -> String {
    let help = arg.get_help().map(StyledStr::to_string).unwrap_or_default();
    // Builds differ in their renderers.
    let values = if arg.get_id() == "renderer" { Vec::new() } else { arg.get_possible_values() };
    let values: Vec<&str> = values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect();
    let mut text = help;
    if arg.get_action().takes_values() && !values.is_empty() {
        let _ = write!(text, " [values: {}]", values.join(", "));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if arg.get_action().takes_values() && !defaults.is_empty() && !defaults.concat().is_empty() {
        let _ = write!(text, " [default: {}]", defaults.join(","));
    }
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

fn row(arg: &Arg) -> String {
    format!("| `{}` | {} |\n", typed(arg).replace('|', "\\|"), described(arg))
}

/// The rows of options that several commands share.
fn common(all: &[Described<'_>]) -> Vec<String> {
    let mut rows: Vec<(String, usize)> = Vec::new();
    for arg in all.iter().flat_map(|(_, command)| arguments(command)).filter(|arg| !arg.is_positional()) {
        let row = row(arg);
        match rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, count)) => *count += 1,
            None => rows.push((row, 1)),
        }
    }
    rows.into_iter().filter(|(_, count)| *count >= COMMON).map(|(row, _)| row).collect()
}

const HEADING: &str = "| option | |\n|-|-|\n";

/// The generated parts of the document, by name: `common`, and one for each command.
fn sections() -> BTreeMap<String, String> {
    let mut line = CommandLine::command();
    line.build();
    let mut all = Vec::new();
    commands(&line, "highwater", &mut all);
    let common = common(&all);
    let mut sections = BTreeMap::from([("common".to_owned(), format!("{HEADING}{}", common.concat()))]);
    for (words, command) in all.iter().filter(|(_, command)| arguments(command).next().is_some()) {
        let usage = (*command).clone().render_usage().to_string();
        let rows: Vec<(String, &Arg)> = arguments(command).map(|arg| (row(arg), arg)).collect();
        let own: String = rows.iter().filter(|(row, _)| !common.contains(row)).map(|(row, _)| row.as_str()).collect();
        let shared: Vec<String> = rows.iter().filter(|(row, _)| common.contains(row)).map(|(_, arg)| name(arg)).collect();
        let mut text = format!("```text\n{usage}\n```\n");
        if !own.is_empty() {
            let _ = write!(text, "\n{HEADING}{own}");
        }
        if !shared.is_empty() {
            let _ = write!(text, "\n[Common options](#common-options): {}.\n", shared.join(", "));
        }
        sections.insert(words.clone(), text);
    }
    sections
}

/// An option without its value.
fn name(arg: &Arg) -> String {
    arg.get_long().map_or_else(|| format!("`{}`", typed(arg)), |long| format!("`--{long}`"))
}

#[test]
fn the_reference_has_the_options_of_each_command_as_its_help_has_them() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let text = std::fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let (mut updated, mut missing) = (text.clone(), Vec::new());
    for (name, section) in sections() {
        let (begin, end) = (format!("<!-- options: {name} -->\n"), "<!-- end of options -->\n");
        let Some((before, rest)) = updated.split_once(&begin) else {
            missing.push(name);
            continue;
        };
        let (_, after) = rest.split_once(end).unwrap();
        updated = format!("{before}{begin}\n{section}\n{end}{after}");
    }
    assert!(missing.is_empty(), "docs/cli.md has no section <!-- options: \u{2026} --> for {missing:?}");
    if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
        std::fs::write(&path, &updated).unwrap();
    }
    assert!(updated == text, "docs/cli.md is not what the commands' help says; UPDATE_DOCUMENTS=1 changes it");
}
