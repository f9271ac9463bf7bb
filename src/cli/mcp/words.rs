//! The arguments of a call as the words of a command line.

use std::ffi::{OsStr, OsString};

use serde_json::{Map, Value};

use super::answer::{MOST, USUAL};
use super::tools::{Argument, Form, Tool};

/// Words that the server adds to those of each call.
#[derive(Clone, Debug)]
pub(super) struct Defaults {
    /// Files for calls that name none.
    pub(super) files: Vec<OsString>,
    /// Options, as far as a command has them.
    pub(super) options: Vec<String>,
}

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Call {
    /// The words of the command line, the program's name first.
    pub(super) words: Vec<OsString>,
    /// Most bytes of the answer.
    pub(super) most: usize,
}

impl Call {
    /// The call of a tool with arguments. The error says which argument is none of the tool's, missing, or of a wrong kind.
    pub(super) fn of(tool: &Tool, mut given: Map<String, Value>, defaults: &Defaults) -> Result<Self, String> {
        given.retain(|_, value| !value.is_null());
        let most = match given.remove("max_bytes") {
            None => USUAL,
            Some(value) => most(&value).ok_or_else(|| format!("max_bytes is a number from 1 to {MOST}"))?,
        };
        let arguments = tool.arguments();
        if let Some(name) = given.keys().find(|name| !arguments.iter().any(|argument| argument.name == **name)) {
            let known: Vec<&str> = arguments.iter().map(|argument| &*argument.name).chain(["max_bytes"]).collect();
            return Err(format!("{} has no argument {}; it has {}", tool.name, cut(name, MOST_ECHOED), known.join(", ")));
        }
        let (mut files, mut options) = (Vec::new(), Vec::new());
        for argument in &arguments {
            match given.remove(&argument.name) {
                None if argument.is_required => return Err(format!("{} needs the argument {}", tool.name, argument.name)),
                None => {}
                Some(value) => argument.add(&value, &mut files, &mut options)?,
            }
        }
        if files.is_empty() && arguments.iter().any(|argument| argument.form == Form::Files) {
            files.clone_from(&defaults.files);
        }
        options.extend(tool.words.iter().map(|word| (*word).to_owned()));
        options.push("--json".to_owned());
        options.extend(tool.known(&defaults.options));
        Ok(Self { words: line(tool.command, files, options), most })
    }
}

impl Tool {
    /// The options, each with its value, that the command has.
    fn known(&self, options: &[String]) -> Vec<String> {
        let has = |option: &str| self.has_option(option.trim_start_matches('-'));
        options.chunks(2).filter(|pair| pair.first().is_some_and(|option| has(option))).flatten().cloned().collect()
    }
}

/// Most bytes of a name that is no tool's or argument's, in an error about it.
pub(super) const MOST_ECHOED: usize = 200;

/// The beginning of a text, of at most so many bytes.
pub(super) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The words of a command. A file that looks like an option comes last, behind `--`.
fn line(command: &str, files: Vec<OsString>, options: Vec<String>) -> Vec<OsString> {
    let is_odd = files.iter().any(|file| file.as_encoded_bytes().starts_with(b"-"));
    let begin = ["highwater", command].map(OsString::from).into_iter();
    let options = options.into_iter().map(OsString::from);
    match is_odd {
        true => begin.chain(options).chain([OsString::from("--")]).chain(files).collect(),
        false => begin.chain(files).chain(options).collect(),
    }
}

impl Argument {
    /// Adds the words for a value.
    fn add(&self, value: &Value, files: &mut Vec<OsString>, options: &mut Vec<String>) -> Result<(), String> {
        let Self { name, option, form, .. } = self;
        let texts = || texts(value).ok_or_else(|| format!("{name} is a text, or a list of texts"));
        match form {
            Form::Files => files.extend(texts()?.into_iter().map(OsString::from)),
            Form::File => files.push(OsStr::new(&text(value).ok_or_else(|| format!("{name} is a text"))?).to_owned()),
            Form::Flag => {
                let is_given = value.as_bool().ok_or_else(|| format!("{name} is true or false"))?;
                options.extend(is_given.then(|| format!("--{option}")));
            }
            Form::Text => options.extend(word_for(option, text(value).ok_or_else(|| format!("{name} is a text"))?)),
            Form::Texts => texts()?.into_iter().for_each(|text| options.extend(word_for(option, text))),
            Form::List => options.extend(word_for(option, texts()?.join(","))),
        }
        Ok(())
    }
}

/// The words that give an option its value; a value that looks like an option is in one word with it.
fn word_for(option: &str, value: String) -> Vec<String> {
    match value.starts_with('-') {
        true => vec![format!("--{option}={value}")],
        false => vec![format!("--{option}"), value],
    }
}

/// A text of the command line; numbers are texts.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.contains('\0') => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// One text, or a list of them.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(list) => list.iter().map(text).collect(),
        one => text(one).map(|one| vec![one]),
    }
}

/// A number of bytes, also one that is written as a text or with a point.
fn most(value: &Value) -> Option<usize> {
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
    number.filter(|number| (1..=MOST).contains(number))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(tool: &str, arguments: Value, options: &[&str]) -> Result<String, String> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let defaults = Defaults {
            files: vec!["of the server.etl".into()],
            options: options.iter().map(|word| (*word).to_owned()).collect(),
        };
        let call = Call::of(Tool::named(tool).unwrap(), arguments, &defaults)?;
        Ok(call.words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join("|"))
    }

    #[test]
    fn a_call_is_a_line_of_words() {
        let asked = json!({"files": ["a.etl", "b.etl"], "by": "stack", "top": 5, "from": "-1.5", "type": ["A", "B"],
            "unmatched": false, "fold": true, "process": 12, "layer": null});
        assert_eq!(
            words("report", asked, &[]).unwrap(),
            "highwater|report|a.etl|b.etl|--process|12|--type|A|--type|B|--from=-1.5|--by|stack|--top|5|--fold|--json"
        );
        assert_eq!(words("open", json!({}), &[]).unwrap(), "highwater|info|of the server.etl|--json");
        assert_eq!(words("open", json!({"files": []}), &[]).unwrap(), "highwater|info|of the server.etl|--json");
        assert_eq!(words("info", json!({"files": ["-a"]}), &[]).unwrap(), "highwater|info|--json|--|-a");
        assert_eq!(words("diff", json!({"a": "a.etl@1..2", "b": "b"}), &[]).unwrap(), "highwater|diff|a.etl@1..2|b|--json");
        assert_eq!(
            words("stack", json!({"frame": "Load", "files": "a"}), &[]).unwrap(),
            "highwater|report|a|--frame|Load|--by|process,stack|--sources|--json"
        );
    }

    #[test]
    fn options_of_the_server_go_to_commands_that_have_them() {
        let options = ["--memory-limit", "7", "--symbols", "C:\\build"];
        assert_eq!(words("open", json!({}), &options).unwrap(), "highwater|info|of the server.etl|--json|--memory-limit|7");
        let findings = words("findings", json!({}), &options).unwrap();
        assert_eq!(findings, "highwater|findings|of the server.etl|--json|--memory-limit|7|--symbols|C:\\build");
    }

    #[test]
    fn an_error_repeats_only_the_beginning_of_a_name() {
        let refused = words("open", json!({"\u{e9}".repeat(100_000): 1}), &[]).unwrap_err();
        assert!(refused.contains("\u{e9}\u{e9}") && refused.len() < 1_000, "{}", refused.len());
        assert_eq!((cut("a\u{e9}b", 2), cut("a\u{e9}b", 3), cut("ab", 9)), ("a", "a\u{e9}", "ab"));
    }

    #[test]
    fn what_is_no_argument_of_a_tool_is_refused() {
        for (tool, asked, told) in [
            ("report", json!({"symbols": "x"}), "symbols"),
            ("report", json!({"html": "x"}), "html"),
            ("report", json!({"not-frame": "x"}), "not-frame"),
            ("info", json!({"by": "stack"}), "by"),
            ("stack", json!({"frame": "x", "by": "stack"}), "by"),
            ("stack", json!({}), "frame"),
            ("diff", json!({"a": "x"}), "b"),
            ("diff", json!({"a": ["x"], "b": "y"}), "a"),
            ("report", json!({"top": {}}), "top"),
            ("report", json!({"fold": "yes"}), "fold"),
            ("report", json!({"files": [1, []]}), "files"),
            ("report", json!({"process": "a\u{0}b"}), "process"),
            ("report", json!({"max_bytes": 0}), "max_bytes"),
            ("report", json!({"max_bytes": 1e12}), "max_bytes"),
            ("report", json!({"max_bytes": "many"}), "max_bytes"),
        ] {
            let refused = words(tool, asked.clone(), &[]).unwrap_err();
            assert!(refused.contains(told), "{tool} {asked}: {refused}");
        }
    }
}
