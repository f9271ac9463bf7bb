//! `highwater completions`: shell completion scripts, generated from the description of the command line that parses it.
//!
//! Hidden commands and options (those that `--help` leaves out) are not offered. The generators would offer them, so
//! they get a description without them, which parses nothing.

use clap::{Arg, Args, Command};
use clap_complete::{Generator, Shell};

use super::{Failure, output};

#[derive(Args, Debug)]
pub(super) struct CompletionsArgs {
    /// The shell that they are for
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

/// Prints the script for a command line.
pub(super) fn run(args: &CompletionsArgs, line: &Command) -> Result<(), Failure> {
    output::document(&script(args.shell, line)?)
}

fn script(shell: Shell, line: &Command) -> Result<String, Failure> {
    let mut command = visible(line);
    command.set_bin_name("highwater");
    command.build();
    let mut script = Vec::new();
    shell.try_generate(&command, &mut script).map_err(|e| Failure::Failed(format!("no completions for {shell}: {e}")))?;
    let script = String::from_utf8(script).map_err(|e| Failure::Failed(format!("no completions for {shell}: {e}")))?;
    Ok(if shell == Shell::Bash { in_bash(&script, &command) } else { script })
}

/// Adds what the generator for bash lacks: values behind a comma, and `demo:` where traces are named.
fn in_bash(script: &str, command: &Command) -> String {
    const WORD: &str = r#"    prev="$3""#;
    const LISTED: &str = r#"
    local listed=""
    [[ "${cur}" == *,* ]] && listed="${cur%,*},""#;
    let mut script = script.replacen(WORD, &format!("{WORD}{LISTED}"), 1);
    let mut lists: Vec<String> = Vec::new();
    visit(command, "highwater", &mut |command, name| {
        // Traces of all commands, and the two sides of `diff`.
        if command.get_positionals().any(|arg| matches!(arg.get_id().as_str(), "files" | "a" | "b")) {
            let head = format!("        {name})\n            opts=\"");
            script = script.replacen(&head, &format!("{head}demo: "), 1);
        }
        for arg in command.get_arguments().filter(|arg| arg.get_value_delimiter() == Some(',')) {
            let words: Vec<String> = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
            lists.push(words.join(" "));
        }
    });
    lists.sort();
    lists.dedup();
    for words in lists.iter().filter(|words| !words.is_empty()) {
        let plain = format!("compgen -W \"{words}\" -- \"${{cur}}\"");
        let behind_a_comma = format!("compgen -P \"${{listed}}\" -W \"{words}\" -- \"${{cur##*,}}\"");
        script = script.replace(&plain, &behind_a_comma);
    }
    script
}

/// Visits a command and its subcommands with the names that the script for bash gives them.
fn visit(command: &Command, name: &str, visitor: &mut impl FnMut(&Command, &str)) {
    visitor(command, name);
    command.get_subcommands().for_each(|sub| visit(sub, &format!("{name}__subcmd__{}", sub.get_name()), visitor));
}

/// A copy of a command without hidden subcommands and options.
fn visible(command: &Command) -> Command {
    let shown = Command::new(command.get_name().to_owned())
        .args(command.get_arguments().filter(|arg| !arg.is_hide_set()).map(alone))
        .subcommands(command.get_subcommands().filter(|command| !command.is_hide_set()).map(visible))
        .disable_help_subcommand(command.is_disable_help_subcommand_set());
    let shown = match command.get_version() {
        Some(version) => shown.version(version.to_owned()),
        None => shown,
    };
    match command.get_about() {
        Some(about) => shown.about(about.clone()),
        None => shown,
    }
}

/// A copy of an argument without its relations to other arguments: those may be hidden.
fn alone(arg: &Arg) -> Arg {
    let mut alone = Arg::new(arg.get_id().clone())
        .short(arg.get_short())
        .index(arg.get_index())
        .action(arg.get_action().clone())
        .value_hint(arg.get_value_hint())
        .value_parser(arg.get_value_parser().clone());
    if let Some(long) = arg.get_long() {
        alone = alone.long(long.to_owned());
    }
    if let Some(help) = arg.get_help() {
        alone = alone.help(help.clone());
    }
    if let Some(delimiter) = arg.get_value_delimiter() {
        alone = alone.value_delimiter(delimiter);
    }
    if let Some(count) = arg.get_num_args() {
        alone = alone.num_args(count);
    }
    if let Some(names) = arg.get_value_names() {
        alone = alone.value_names(names);
    }
    alone
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, ValueEnum};

    use crate::cli::args::CommandLine;

    fn text(shell: Shell) -> String {
        script(shell, &CommandLine::command()).ok().unwrap()
    }

    #[test]
    fn each_shell_is_offered_each_command_and_nothing_that_is_hidden() {
        let whole = CommandLine::command();
        for &shell in Shell::value_variants() {
            let text = text(shell);
            for command in whole.get_subcommands() {
                let name = command.get_name();
                let is_offered = match shell {
                    Shell::Fish => text.contains(&format!("-a \"{name}\"")),
                    Shell::Zsh => text.contains(&format!("'{name}:")),
                    Shell::Bash => text.contains(&format!("highwater__subcmd__{name})")),
                    _ => text.contains(&format!("'{name}'")) || text.contains(&format!("cand {name} ")),
                };
                assert_eq!(is_offered, !command.is_hide_set(), "{shell}: {name}");
            }
            assert!(text.contains("memory-limit") && !text.contains("screenshot"), "{shell}");
        }
    }

    #[test]
    fn options_offer_their_values() {
        let bash = text(Shell::Bash);
        assert!(bash.contains("commit heap tracker") && bash.contains("bash elvish fish powershell zsh"), "{bash}");
    }
}
