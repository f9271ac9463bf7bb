//! `highwater man`: the manual's pages, one per command as other programs with commands have them
//! (highwater-report(1)), generated from the description of the command line that parses it. Hidden, because it is
//! for package maintainers.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::outputs::{Replace, check_out, write_out};
use super::{Failure, examples};

#[derive(Args, Debug)]
pub(super) struct ManualArgs {
    /// Folder for the pages
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,

    #[command(flatten)]
    replace: Replace,
}

/// The exit codes and their meanings, the same for all commands.
const EXIT_CODES: [(&str, &str); 4] = [
    ("0", "Done. Problems in the data are reported but do not fail the command."),
    ("1", "Nothing could be read, or the output could not be written."),
    ("2", "Bad arguments, or a bad rules file."),
    (
        "3",
        "A limit is exceeded (highwater check, highwater diff --fail-over), or symbols are missing (highwater symbols check --fail-missing).",
    ),
];

/// Writes the pages of a command line.
pub(super) fn run(args: &ManualArgs, line: Command) -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::Failed(format!("{} cannot be written: {e}", args.folder.display()));
    let pages = pages(line).map_err(failed)?;
    std::fs::create_dir_all(&args.folder).map_err(failed)?;
    for (name, _) in &pages {
        check_out(&args.folder.join(name), args.replace.existing())?;
    }
    pages.iter().try_for_each(|(name, page)| {
        let write = |draft: &mut std::fs::File| draft.write_all(page.as_bytes());
        write_out(&args.folder.join(name), args.replace.existing(), "the page", write)
    })
}

/// File names and texts of all pages.
fn pages(mut command: Command) -> io::Result<Vec<(String, String)>> {
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, &mut pages)?;
    Ok(pages)
}

fn add_pages(command: &Command, pages: &mut Vec<(String, String)>) -> io::Result<()> {
    let man = Man::new(command.clone()).manual("User Commands").source(concat!("highwater ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render(&mut page)?;
    ending(command).to_writer(&mut page)?;
    let page = String::from_utf8(page).map_err(io::Error::other)?;
    pages.push((man.get_filename(), page));
    command.get_subcommands().filter(|command| !command.is_hide_set()).try_for_each(|command| add_pages(command, pages))
}

/// The sections at the end of every page.
fn ending(command: &Command) -> Roff {
    let mut roff = Roff::new();
    let words = command.get_display_name().unwrap_or(command.get_name()).replace('-', " ");
    let examples = examples::of(&words);
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
    }
    for (line, does) in examples {
        roff.control("TP", []).text([bold(*line)]).text([roman(*does)]);
    }
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in EXIT_CODES {
        roff.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
    if command.get_name() != "highwater" {
        roff.control("SH", ["SEE ALSO"]).text([bold("highwater"), roman("(1)")]);
    }
    roff
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::args::CommandLine;

    #[test]
    fn each_visible_command_has_a_page_and_a_line_on_the_first() {
        let pages = pages(CommandLine::command()).unwrap();
        let (first, text) = &pages[0];
        assert_eq!(first, "highwater.1");
        for command in CommandLine::command().get_subcommands() {
            let name = format!("highwater-{}.1", command.get_name());
            let is_there = pages.iter().any(|(page, _)| *page == name);
            let is_listed = text.contains(&format!("highwater\\-{}(1)", command.get_name()));
            assert_eq!((is_there, is_listed), (!command.is_hide_set(), !command.is_hide_set()), "{name}: {text}");
        }
        assert!(pages.iter().any(|(page, _)| page == "highwater-symbols-lookup.1"));
        assert!(pages.iter().all(|(_, text)| !text.contains("screenshot")));
    }
}
