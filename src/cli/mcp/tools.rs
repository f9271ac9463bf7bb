//! The tools: which command answers, and its options as arguments. Names, kinds and descriptions of arguments are those of
//! clap's definition of the command, so a new option of a command is a new argument of its tool.
//!
//! Not offered are options that name a file, unless it is one that is read ([`FILES_READ`]), and those of [`NOT_OFFERED`].

use std::any::TypeId;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, CommandFactory};
use serde_json::{Map, Value, json};

use super::answer::{MOST, USUAL};
use crate::cli::args::CommandLine;

/// A tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// The command that answers.
    pub(super) command: &'static str,
    /// Words that the tool adds to the command.
    pub(super) words: &'static [&'static str],
    /// Arguments that those words decide.
    decided: &'static [&'static str],
    /// Options of the command that the tool cannot do without.
    required: &'static [&'static str],
    /// The purpose, for who chooses a tool.
    pub(super) about: &'static str,
}

/// All tools, in the order in which they are useful.
pub(super) const TOOLS: [Tool; 8] = [
    Tool { about: "Open a trace: files, times, counts of events, losses and problems. Begin here.", ..Tool::of("open", "info") },
    Tool {
        about: "List what stands out, best first: growth (leaks), steps, spikes, blocks left at exit, churn, peaks; each with \
                bytes, the responsible function and its source line. The shortest way to a leak.",
        ..Tool::of("findings", "findings")
    },
    Tool {
        about: "Memory of an interval in groups (argument by: responsible, process, heap, stack, type, thread, size, …), \
                largest impacting size first. A leak between two moments: allocated A..B with freed B..|never.",
        ..Tool::of("report", "report")
    },
    Tool {
        about: "List functions with what they allocated themselves and with their callees; with of also callers and callees of one.",
        ..Tool::of("functions", "functions")
    },
    Tool {
        words: &["--by", "process,stack", "--sources"],
        decided: &["by", "sources", "unmatched"],
        required: &["frame"],
        about: "Call stacks that have a frame with a text, with the source line of each frame, largest impacting size first.",
        ..Tool::of("stack", "report")
    },
    Tool {
        about: "Compare two traces, or two parts of one (game.etl@0..10, game.etl@10..30): what changed from a to b.",
        ..Tool::of("diff", "diff")
    },
    Tool {
        about: "Pages that live blocks touch at a moment (argument at): fragmentation and waste of each heap, and who keeps \
                nearly empty pages in use. For memory that grows though nothing leaks.",
        ..Tool::of("pages", "pages")
    },
    Tool {
        about: "What the files hold: sessions, times, losses, counts of events by kind, providers, problems. The same answer as open.",
        ..Tool::of("info", "info")
    },
];

/// Options without a use for tools: the form of the answer, the machine's limits, where names come from, exit codes.
const NOT_OFFERED: [&str; 13] = [
    "json",
    "ndjson",
    "markdown",
    "with",
    "wide",
    "quiet",
    "replace",
    "each",
    "symbols",
    "memory-limit",
    "fail-over",
    "annotate",
    "source-root",
];

/// Options that name a file to be read.
pub(super) const FILES_READ: [&str; 3] = ["stack_rules", "trackers", "baseline"];

/// The form of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// A list of files, without an option's name.
    Files,
    /// A file, without an option's name.
    File,
    /// Whether the option is given.
    Flag,
    /// The text of the option.
    Text,
    /// Texts; the option is given once for each.
    Texts,
    /// Texts in one word, with commas.
    List,
}

/// An argument of a tool.
#[derive(Debug)]
pub(super) struct Argument {
    /// The name in a call.
    pub(super) name: String,
    /// The option on the command line; empty for files.
    pub(super) option: String,
    pub(super) form: Form,
    pub(super) is_required: bool,
    schema: Value,
}

impl Tool {
    const fn of(name: &'static str, command: &'static str) -> Self {
        Self { name, command, words: &[], decided: &[], required: &[], about: "" }
    }

    /// The tool of a name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// The arguments, in the order of the command's help.
    pub(super) fn arguments(&self) -> Vec<Argument> {
        let line = CommandLine::command();
        let args = line.find_subcommand(self.command).into_iter().flat_map(Command::get_arguments);
        args.filter(|arg| self.offers(arg)).map(|arg| self.argument(arg)).collect()
    }

    fn offers(&self, arg: &Arg) -> bool {
        let (id, long) = (arg.get_id().as_str(), arg.get_long());
        let is_file = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        let is_offered = long.is_none_or(|long| !NOT_OFFERED.contains(&long));
        is_offered && !arg.is_hide_set() && !self.decided.contains(&id) && (!is_file || FILES_READ.contains(&id))
    }

    /// Whether the command has an option.
    pub(super) fn has_option(&self, long: &str) -> bool {
        let line = CommandLine::command();
        line.find_subcommand(self.command).is_some_and(|command| command.get_arguments().any(|arg| arg.get_long() == Some(long)))
    }

    fn argument(&self, arg: &Arg) -> Argument {
        let form = match (arg.get_long(), arg.get_action()) {
            (None, ArgAction::Append) => Form::Files,
            (None, _) => Form::File,
            (_, ArgAction::SetTrue) => Form::Flag,
            _ if arg.get_value_delimiter().is_some() => Form::List,
            (_, ArgAction::Append) => Form::Texts,
            _ => Form::Text,
        };
        let option = arg.get_long().unwrap_or_default().to_owned();
        let name = if option.is_empty() { arg.get_id().to_string() } else { option.replace('-', "_") };
        let is_required = form == Form::File || self.required.contains(&name.as_str());
        Argument { schema: schema(arg, form), name, option, form, is_required }
    }

    /// The JSON schema of the arguments.
    pub(super) fn schema(&self) -> Map<String, Value> {
        let arguments = self.arguments();
        let required: Vec<&str> =
            arguments.iter().filter(|argument| argument.is_required).map(|argument| &*argument.name).collect();
        let required = json!(required);
        let mut properties: Map<String, Value> = arguments.into_iter().map(|argument| (argument.name, argument.schema)).collect();
        let most = json!({"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL, "description":
            "Most bytes of the answer; entries that do not fit are left out from the ends of its lists, and truncated counts them"});
        properties.insert("max_bytes".to_owned(), most);
        let object = [("type", json!("object")), ("properties", Value::Object(properties)), ("required", required)];
        let object = object.into_iter().chain([("additionalProperties", json!(false))]);
        object.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// The JSON schema of one argument.
fn schema(arg: &Arg, form: Form) -> Value {
    let value = arg.get_value_names().and_then(<[_]>::first).filter(|_| !matches!(form, Form::Files | Form::File | Form::Flag));
    let words: Vec<String> = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let written = match (form, value) {
        (Form::List, _) if !words.is_empty() => format!(" (a comma list of: {})", words.join(", ")),
        (Form::Files, _) => " [default: the files that the server was started with]".to_owned(),
        (_, Some(value)) => format!(" ({value})"),
        _ => String::new(),
    };
    let parser = arg.get_value_parser().type_id();
    let is_number = [TypeId::of::<usize>(), TypeId::of::<u32>(), TypeId::of::<u64>()].iter().any(|number| parser == *number);
    let one = match form {
        _ if is_number => json!({"type": ["integer", "string"]}),
        Form::Text | Form::Texts if !words.is_empty() => json!({"type": "string", "enum": words}),
        Form::Flag => json!({"type": "boolean"}),
        _ => json!({"type": "string"}),
    };
    let mut schema = match form {
        Form::Files => json!({"type": "array", "items": one}),
        Form::Texts => json!({"anyOf": [one, {"type": "array", "items": one}]}),
        _ => one,
    };
    schema["description"] = Value::String(help + &written);
    schema
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn names(tool: &Tool) -> Vec<String> {
        tool.arguments().into_iter().map(|argument| argument.name).collect()
    }

    #[test]
    fn arguments_are_the_long_names_of_the_commands() {
        let report = names(Tool::named("report").unwrap());
        for name in
            ["files", "process", "not_frame", "type", "from", "by", "top", "stack_rules", "trackers", "marks", "unmatched"]
        {
            assert!(report.iter().any(|known| known == name), "{name}: {report:?}");
        }
        assert_eq!(names(Tool::named("diff").unwrap())[..2], ["a", "b"]);
        assert_eq!(names(Tool::named("open").unwrap()), names(Tool::named("info").unwrap()));
        let stack = Tool::named("stack").unwrap();
        assert!(!names(stack).iter().any(|name| stack.decided.contains(&name.as_str())));
        assert_eq!(stack.schema()["required"], json!(["frame"]));
    }

    #[test]
    fn no_argument_writes_a_file_or_says_where_names_come_from() {
        let mut files = Vec::new();
        let line = CommandLine::command();
        for tool in &TOOLS {
            let command = line.find_subcommand(tool.command).unwrap();
            for argument in tool.arguments() {
                assert!(
                    !["html", "write_baseline", "symbols", "memory_limit", "json", "ndjson", "annotate", "source_root", "root"]
                        .contains(&&*argument.name)
                );
                let arg = command.get_arguments().find(|arg| arg.get_long() == Some(&argument.option));
                if arg.is_some_and(|arg| arg.get_value_parser().type_id() == TypeId::of::<PathBuf>()) {
                    files.push(argument.name);
                }
            }
        }
        files.sort();
        files.dedup();
        assert_eq!(files, ["baseline", "stack_rules", "trackers"], "a new option that names a file is decided about here");
    }

    #[test]
    fn positional_arguments_are_files_and_nothing_else() {
        let line = CommandLine::command();
        for tool in &TOOLS {
            for arg in line.find_subcommand(tool.command).unwrap().get_positionals() {
                assert!(arg.get_value_parser().type_id() == TypeId::of::<OsString>(), "{}: {arg:?}", tool.name);
            }
        }
    }

    #[test]
    fn schemas_say_what_an_argument_takes() {
        let schema = Tool::named("report").unwrap().schema();
        let of = |name: &str| &schema["properties"][name];
        assert_eq!((&of("files")["type"], &of("unmatched")["type"]), (&json!("array"), &json!("boolean")));
        assert_eq!(of("layer")["enum"], json!(["commit", "heap", "tracker"]));
        assert_eq!(of("top")["type"], json!(["integer", "string"]));
        assert!(of("by")["description"].as_str().unwrap().contains("responsible_module"), "{}", of("by"));
        assert_eq!(of("max_bytes")["default"], json!(20_000));
        assert_eq!(schema["additionalProperties"], json!(false));
    }
}
