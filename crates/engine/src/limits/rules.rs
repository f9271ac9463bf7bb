//! Rules as a TOML file with `[[rule]]` tables. A rule selects rows (as the command line does), groups them, and limits
//! each group.
//!
//! The file is untrusted input: see [`crate::toml_file`]. An error is one sentence with its line.

use std::path::Path;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::amount::Amount;
use crate::format;
use crate::query::{By, Measure, ReportFilter, SiteChoice};
use crate::tables::KeyedSet;
use crate::time_spec::TimeSpec;
use crate::toml_file::{self, BadText};
use crate::units::Layer;

/// Largest file that is read, in bytes; the parsed rules can take some hundred times as much memory.
const MAX_FILE: u64 = 512 << 10;
/// Largest number of rules in a file.
const MAX_RULES: usize = 1_000;
/// Largest number of strings in a list.
const MAX_TEXTS: usize = 100;
/// Longest string, in bytes.
const MAX_TEXT: usize = 1_000;

impl Measure {
    /// Returns its key in a rules file, which is also its name in the machine interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Peak => "peak",
            Self::Outstanding => "outstanding",
            Self::Impacting => "impacting",
            Self::Growth => "growth",
            Self::SizeAtExit => "at_exit_size",
            Self::CountAtExit => "at_exit_count",
            Self::Count => "count",
            Self::Waste => "waste",
            Self::Touched => "touched",
            Self::Unknown => "unknown",
        }
    }

    /// Returns whether it counts blocks or pages rather than bytes.
    pub(super) fn is_count(self) -> bool {
        matches!(self, Self::CountAtExit | Self::Count | Self::Touched)
    }

    /// Returns whether it can be negative.
    fn is_signed(self) -> bool {
        matches!(self, Self::Impacting | Self::Growth)
    }
}

/// An upper limit, which itself is still allowed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limit {
    /// The measure that is limited.
    pub measure: Measure,
    /// Largest value allowed.
    pub most: Amount,
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Name, unique in the file.
    pub name: String,
    /// Line of the file where the rule begins.
    pub line: usize,
    /// The rows that the rule is about.
    pub filter: ReportFilter,
    /// Keys of the groups; the layer is always one of them.
    pub by: Vec<By>,
    /// With groups by function or module, whether the allocator's frames are skipped.
    pub fold: bool,
    /// Start of the interval, if it differs from the command's.
    pub from: Option<TimeSpec>,
    /// End of the interval, if it differs from the command's.
    pub to: Option<TimeSpec>,
    /// The limits of each group, in the order of [`Measure`].
    pub limits: Vec<Limit>,
    /// Whether the rule is broken if there is nothing to check.
    pub required: bool,
}

/// All rules of a file, in file order.
#[derive(Clone, Debug, Default)]
pub struct LimitRules {
    /// The rules.
    pub list: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    rule: Vec<Spanned<WrittenRule>>,
}

type Given = Option<Spanned<Value>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    name: Given,
    process: Given,
    layer: Given,
    heap: Given,
    #[serde(rename = "type")]
    types: Given,
    frame: Given,
    not_frame: Given,
    by: Given,
    fold: Given,
    from: Given,
    to: Given,
    required: Given,
    peak: Given,
    outstanding: Given,
    impacting: Given,
    growth: Given,
    at_exit_size: Given,
    at_exit_count: Given,
    count: Given,
    waste: Given,
    touched: Given,
    unknown: Given,
}

impl LimitRules {
    /// Parses the text of a rules file.
    pub fn parse(text: &str) -> Result<Self, BadText> {
        let written: Written = toml_file::parse(text)?;
        let mut names = KeyedSet::default();
        let mut list = Vec::new();
        for (i, rule) in written.rule.into_iter().enumerate() {
            let span = rule.span();
            if i == MAX_RULES {
                return Err(BadText::at(text, &span, format!("more than {MAX_RULES} rules")));
            }
            let rule = self::rule(text, rule, i + 1)?;
            if !names.insert(rule.name.clone()) {
                return Err(BadText::at(text, &span, format!("another rule is called {:?}", rule.name)));
            }
            list.push(rule);
        }
        Ok(Self { list })
    }

    /// Reads a rules file. An error is one sentence with the file's name and the line.
    pub fn read(path: &Path) -> Result<Self, String> {
        toml_file::read(path, MAX_FILE, Self::parse)
    }
}

fn rule(text: &str, written: Spanned<WrittenRule>, number: usize) -> Result<Rule, BadText> {
    let span = written.span();
    let written = written.into_inner();
    let name = one(text, &written.name, |value| string(value).map(str::to_owned))?.unwrap_or_else(|| format!("rule {number}"));
    let layer = one(text, &written.layer, layer)?;
    let sites = SiteChoice {
        types: one(text, &written.types, strings)?.unwrap_or_default(),
        frames: one(text, &written.frame, strings)?.unwrap_or_default(),
        not_frames: one(text, &written.not_frame, strings)?.unwrap_or_default(),
    };
    let filter =
        ReportFilter { process: one(text, &written.process, process)?, layer, heap: one(text, &written.heap, heap)?, sites };
    let (from, to) = (one(text, &written.from, moment)?, one(text, &written.to, moment)?);
    if let (Some(a), Some(b), Some(place)) = (&from, &to, &written.to)
        && a > b
    {
        return Err(BadText::at(text, &place.span(), "to is earlier than from; swap them"));
    }
    let limits = limits(text, &written)?;
    let by = one(text, &written.by, keys)?.unwrap_or_default();
    if let Some(limit) = limits.iter().find(|limit| limit.measure.is_of_whole_heaps()) {
        let is_whole = filter.sites.is_all() && by.iter().all(|key| [By::Process, By::Heap].contains(key));
        if !is_whole {
            let name = limit.measure.name();
            let what =
                format!("{name} is of whole heaps: leave out type, frame and not_frame, and group by process or heap only");
            return Err(BadText::at(text, &span, what));
        }
    }
    let required = one(text, &written.required, flag)?.unwrap_or(false);
    if limits.is_empty() && !required {
        let keys = MEASURES.map(Measure::name).join(", ");
        return Err(BadText::at(text, &span, format!("the rule has no limit; give one or more of {keys}")));
    }
    Ok(Rule {
        name,
        line: BadText::at(text, &span, "").line.unwrap_or(1),
        filter,
        by,
        fold: one(text, &written.fold, flag)?.unwrap_or(false),
        from,
        to,
        limits,
        required,
    })
}

/// All measures that can be limited, in order.
const MEASURES: [Measure; 10] = [
    Measure::Peak,
    Measure::Outstanding,
    Measure::Impacting,
    Measure::Growth,
    Measure::SizeAtExit,
    Measure::CountAtExit,
    Measure::Count,
    Measure::Waste,
    Measure::Touched,
    Measure::Unknown,
];

fn limits(text: &str, written: &WrittenRule) -> Result<Vec<Limit>, BadText> {
    let mut limits = Vec::new();
    for measure in MEASURES {
        let given = match measure {
            Measure::Peak => &written.peak,
            Measure::Outstanding => &written.outstanding,
            Measure::Impacting => &written.impacting,
            Measure::Growth => &written.growth,
            Measure::SizeAtExit => &written.at_exit_size,
            Measure::CountAtExit => &written.at_exit_count,
            Measure::Count => &written.count,
            Measure::Waste => &written.waste,
            Measure::Touched => &written.touched,
            Measure::Unknown => &written.unknown,
        };
        let most = one(text, given, |value| if measure.is_count() { count(value, measure) } else { size(value, measure) })?;
        limits.extend(most.map(|most| Limit { measure, most: Amount::Exact(most) }));
    }
    Ok(limits)
}

/// Reads the value of one key; `None` if the key is absent.
fn one<'a, T>(text: &str, given: &'a Given, read: impl FnOnce(&'a Value) -> Result<T, String>) -> Result<Option<T>, BadText> {
    let Some(value) = given else { return Ok(None) };
    read(value.get_ref()).map(Some).map_err(|what| BadText::at(text, &value.span(), what))
}

fn is_not(value: &Value, wanted: &str) -> String {
    format!("expected {wanted}, found {}", value.type_str())
}

fn string(value: &Value) -> Result<&str, String> {
    let text = value.as_str().ok_or_else(|| is_not(value, "a text"))?;
    match text {
        _ if text.trim().is_empty() => Err("the text is empty".to_owned()),
        _ if text.len() > MAX_TEXT => Err(format!("the text has more than {MAX_TEXT} bytes")),
        _ if text.contains(char::is_control) => Err("a control character in a text".to_owned()),
        _ => Ok(text),
    }
}

/// Reads one string or a list of strings.
fn strings(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(list) if list.len() > MAX_TEXTS => Err(format!("more than {MAX_TEXTS} texts")),
        Value::Array(list) => list.iter().map(|value| string(value).map(str::to_owned)).collect(),
        one => string(one).map(|text| vec![text.to_owned()]),
    }
}

fn flag(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| is_not(value, "true or false"))
}

/// Reads a process name or id.
fn process(value: &Value) -> Result<String, String> {
    match value {
        Value::Integer(id) => u32::try_from(*id).map(|id| id.to_string()).map_err(|_| "not a process id".to_owned()),
        Value::String(_) => string(value).map(str::to_owned),
        _ => Err(is_not(value, "the name or id of a process")),
    }
}

/// Reads a heap name, or a handle, which becomes hexadecimal text.
fn heap(value: &Value) -> Result<String, String> {
    match value {
        Value::Integer(handle) => Ok(format!("{handle:#x}")),
        Value::String(_) => string(value).map(str::to_owned),
        _ => Err(is_not(value, "the handle or name of a heap")),
    }
}

fn layer(value: &Value) -> Result<Layer, String> {
    let text = string(value)?;
    let layer = Layer::ALL.into_iter().find(|layer| layer.name().eq_ignore_ascii_case(text));
    layer.ok_or_else(|| format!("there is no layer {text:?}; layers are heap, tracker and commit"))
}

/// The keys that rules can group by: those that depend on the allocation site.
const KEYS: [(&str, By); 10] = [
    ("process", By::Process),
    ("heap", By::Heap),
    ("type", By::Type),
    ("stack", By::Stack),
    ("function", By::Function),
    ("module", By::Module),
    ("tag", By::Tag),
    ("responsible", By::Responsible),
    ("responsible_module", By::ResponsibleModule),
    ("owner", By::Owner),
];

fn keys(value: &Value) -> Result<Vec<By>, String> {
    let mut by = Vec::new();
    for text in strings(value)? {
        // The layer is always part of the key.
        if text == "layer" {
            continue;
        }
        let key = KEYS.into_iter().find(|(name, _)| *name == text).map(|(_, key)| key);
        let known = || KEYS.map(|(name, _)| name).join(", ");
        let key = key.ok_or_else(|| format!("cannot group by {text:?}; the keys are {}", known()))?;
        if !by.contains(&key) {
            by.push(key);
        }
    }
    Ok(by)
}

/// Reads a size in bytes, negative only for signed measures.
fn size(value: &Value, measure: Measure) -> Result<i128, String> {
    let n = match value {
        Value::Integer(n) => i128::from(*n),
        Value::String(text) => {
            let (sign, digits) = text.strip_prefix('-').map_or((1, text.as_str()), |digits| (-1, digits));
            sign * i128::from(format::parse_bytes(digits)?)
        }
        _ => return Err(is_not(value, "a number of bytes, such as 100 or \"64K\", \"5M\", \"1G\",")),
    };
    if n < 0 && !measure.is_signed() {
        return Err(format!("{} cannot be negative", measure.name()));
    }
    Ok(n)
}

fn count(value: &Value, measure: Measure) -> Result<i128, String> {
    let things = if measure == Measure::Touched { "pages" } else { "blocks" };
    let n = value.as_integer().ok_or_else(|| is_not(value, &format!("a whole number of {things}")))?;
    if n < 0 { Err(format!("a number of {things} cannot be negative")) } else { Ok(n.into()) }
}

/// Reads a moment as on the command line; a number is seconds.
fn moment(value: &Value) -> Result<TimeSpec, String> {
    match value {
        Value::String(text) if text.starts_with("mark:") || text.starts_with("frame:") => text.parse(),
        Value::Integer(n) => n.to_string().parse(),
        // The shortest decimal that identifies a float is the text that was written.
        Value::Float(n) => format!("{n}").parse(),
        _ => Err(is_not(value, "a number of seconds, or a text such as \"mark:Level 2\" or \"frame:812\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bad(text: &str) -> String {
        LimitRules::parse(text).map_or_else(|bad| bad.to_string(), |rules| panic!("{text:?}: {rules:?}"))
    }

    #[test]
    fn rules_say_which_rows_which_groups_and_how_much() {
        let text = "# ours\n[[rule]]\nname = \"all\"\nprocess = 4660\nlayer = \"Heap\"\nheap = 0x1d0000\ntype = \"Node*\"\n\
                    frame = [\"a\", \"b\"]\nnot_frame = \"c\"\nby = [\"process\", \"layer\", \"type\"]\nfrom = 1\nto = 2.000000001\n\
                    peak = \"64M\"\nimpacting = \"-1K\"\ngrowth = 10\nat_exit_count = 0\ncount = 1_000\n\n[[rule]]\nrequired = true\n";
        let rules = LimitRules::parse(text).unwrap().list;
        let [all, second] = &rules[..] else { panic!("{rules:?}") };
        assert_eq!((all.name.as_str(), all.line, second.name.as_str(), second.line), ("all", 2, "rule 2", 19));
        assert_eq!((all.filter.process.as_deref(), all.filter.layer), (Some("4660"), Some(Layer::Heap)));
        assert_eq!(all.filter.heap.as_deref(), Some("0x1d0000"));
        assert_eq!((all.filter.sites.types.len(), all.filter.sites.frames.len(), all.filter.sites.not_frames.len()), (1, 2, 1));
        assert_eq!(all.by, [By::Process, By::Type]);
        assert_eq!((&all.from, &all.to), (&"1".parse().ok(), &"2.000000001".parse().ok()));
        let limits: Vec<_> = all.limits.iter().map(|limit| (limit.measure.name(), limit.most)).collect();
        let expected = [("peak", 64 << 20), ("impacting", -1024), ("growth", 10), ("at_exit_count", 0), ("count", 1000)];
        assert_eq!(limits, expected.map(|(name, n)| (name, Amount::Exact(n))));
        assert!(LimitRules::parse("").unwrap().list.is_empty());
        assert!(LimitRules::parse("# nothing\n").unwrap().list.is_empty());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, parts) in [
            ("[[rule]]\npeek = 1", &["line 2: ", "`peek`", "`peak`"][..]),
            ("\n[[rules]]\npeak = 1", &["line 2: ", "`rules`"]),
            ("rule = 3", &["line 1: "]),
            ("\n\n[[rule]]\nname = \"a\"\n", &["line 3: ", "no limit", "at_exit_count"]),
            ("[[rule]]\npeak = 1\n[[rule]]\nrequired = false\n", &["line 3: ", "no limit"]),
            ("[[rule]]\npeak = 1.5\n", &["line 2: ", "bytes", "float"]),
            ("[[rule]]\npeak = \"1.5X\"\n", &["line 2: ", "64K"]),
            ("[[rule]]\npeak = \"M\"\n", &["line 2: ", "64K"]),
            ("[[rule]]\npeak = \"99999999999G\"\n", &["line 2: ", "larger"]),
            ("[[rule]]\npeak = -1\n", &["line 2: ", "cannot be negative"]),
            ("[[rule]]\noutstanding = \"-1\"\n", &["line 2: ", "cannot be negative"]),
            ("[[rule]]\nimpacting = \"--1\"\n", &["line 2: "]),
            ("[[rule]]\ncount = \"1K\"\n", &["line 2: ", "whole number", "string"]),
            ("[[rule]]\ncount = -1\n", &["line 2: "]),
            ("[[rule]]\ntouched = \"1M\"\n", &["line 2: ", "whole number of pages"]),
            ("[[rule]]\nwaste = 1\nby = [\"function\"]\n", &["line 1: ", "waste", "whole heaps"]),
            ("[[rule]]\nunknown = 1\nby = [\"function\"]\n", &["line 1: ", "unknown", "whole heaps"]),
            ("[[rule]]\ntouched = 1\nframe = \"Load\"\n", &["line 1: ", "touched", "whole heaps"]),
            ("[[rule]]\nat_exit = 0\n", &["line 2: ", "`at_exit`", "`at_exit_count`"]),
            ("[[rule]]\npeak = 1\nname = \"a\"\n[[rule]]\nname = \"a\"\npeak = 2\n", &["line 4: ", "another rule", "a"]),
            ("[[rule]]\npeak = 1\nname = \"\"\n", &["line 3: ", "empty"]),
            ("[[rule]]\npeak = 1\nname = \"a\\u001b[1m\"\n", &["line 3: ", "control character"]),
            ("[[rule]]\npeak = 1\nprocess = true\n", &["line 3: ", "process", "boolean"]),
            ("[[rule]]\npeak = 1\nprocess = -4\n", &["line 3: ", "process id"]),
            ("[[rule]]\npeak = 1\nlayer = \"stack\"\n", &["line 3: ", "stack", "commit"]),
            ("[[rule]]\npeak = 1\nframe = \" \"\n", &["line 3: ", "empty"]),
            ("[[rule]]\npeak = 1\nframe = [\"a\", 3]\n", &["line 3: ", "integer"]),
            ("[[rule]]\npeak = 1\nby = [\"process\", \"thread\"]\n", &["line 3: ", "thread", "process, heap"]),
            ("[[rule]]\npeak = 1\nby = { a = 1 }\n", &["line 3: ", "table"]),
            ("[[rule]]\npeak = 1\nfold = 1\n", &["line 3: ", "true or false"]),
            ("[[rule]]\npeak = 1\nfrom = 2\nto = 1\n", &["line 4: ", "earlier"]),
            ("[[rule]]\npeak = 1\nfrom = \"1\"\n", &["line 3: ", "seconds"]),
            ("[[rule]]\npeak = 1\nfrom = nan\n", &["line 3: ", "seconds"]),
            ("[[rule]]\npeak = 1\nto = 1e-10\n", &["line 3: ", "nine decimals"]),
            ("[[rule]]\npeak = 1\npeak = 2\n", &["line 3: ", "duplicate"]),
            ("[[rule]]\npeak = \n", &["line 2: "]),
            ("[[rule]]\n\npeak = 1\nname = \"a\n", &["line 4: "]),
            ("\u{0}", &["line 1: "]),
        ] {
            let said = bad(text);
            assert!(parts.iter().all(|part| said.contains(part)), "{text:?}: {said}");
            assert!(!said.contains('\n'), "{said:?}");
        }
        let many = "[[rule]]\npeak = 1\n".repeat(MAX_RULES + 1);
        assert!(bad(&many).starts_with(&format!("line {}: more", 2 * MAX_RULES + 1)), "{}", bad(&many));
        let long = format!("[[rule]]\npeak = 1\nframe = \"{}\"", "a".repeat(MAX_TEXT + 1));
        assert!(bad(&long).starts_with("line 3: "));
        let texts = format!("[[rule]]\npeak = 1\nframe = [{}]", "\"a\",".repeat(MAX_TEXTS + 1));
        assert!(bad(&texts).starts_with("line 3: "));
        assert!(bad(&format!("a = {}", "[".repeat(1 << 20))).starts_with("line 1"), "no room for all that");
    }

    proptest! {
        #[test]
        fn any_text_is_rules_or_a_line(text in "(\\[\\[rule\\]\\]\n|peak = |by = |from = |\"a\"|\"1M\"|\\[|\\]|-?[0-9.]{1,3}\n|\n|.){0,12}") {
            if let Err(bad) = LimitRules::parse(&text) {
                prop_assert!(!bad.what.is_empty() && !bad.what.contains('\n'));
                prop_assert!(bad.line.is_none_or(|line| line <= text.lines().count().max(1) + 1));
            }
        }
    }
}
