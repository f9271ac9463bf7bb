//! `highwater check`: numbers, verdicts, what is said of them, and rules to begin with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::trace::{session, small, trace, without_memory_events};
use crate::common::{Run, highwater, json};
use highwater::events::{Event, ProcessChange, ProcessInfo, Record};
use highwater::load::{Capture, Input, Plan, load_planned};
use highwater::model::Trace;
use highwater::units::{Layer, Pid, Ticks, Tid};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with traces and rules.
struct Folder {
    folder: TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }

    fn check(&self, capture: &str, rules: &str, words: &[&str]) -> Run {
        let rules = self.write("rules.toml", rules);
        highwater(["check", capture, "--rules", &rules].iter().chain(words))
    }

    /// The JSON, and the exit code.
    fn checked(&self, capture: &str, rules: &str, words: &[&str]) -> (Value, Option<i32>) {
        let run = self.check(capture, rules, &[words, &["--json"]].concat());
        (serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{run:?}")), run.code)
    }
}

/// Two programs of one name, one of which comes back under its id; one leaves blocks behind.
fn namesakes() -> Vec<u8> {
    let mut records = Vec::new();
    let mut tell = |time: i64, pid: u32, event: Event| {
        records.push((Record { time: 1_000 + time, pid: Pid(pid), tid: Tid(2), event }, Vec::new()));
    };
    let info = |name: &str| Box::new(ProcessInfo { key: 0xA000, parent: 1, name: name.into(), command_line: String::new() });
    let alloc = |address, size| Event::Alloc { layer: Layer::Heap, heap: 0x1_0000, address, size };
    let free = |address| Event::Free { layer: Layer::Heap, heap: 0x1_0000, address };
    for pid in [10, 20] {
        tell(10, pid, Event::Process(ProcessChange::Start, info("Game.exe")));
        tell(11, pid, Event::HeapOpen { layer: Layer::Heap, heap: 0x1_0000, name: None });
    }
    for i in 0..3 {
        tell(100 + i, 10, alloc(0x1000 * (i as u64 + 1), 100));
    }
    tell(200, 20, alloc(0x1000, 1000));
    tell(300, 10, free(0x1000));
    tell(500, 10, Event::Process(ProcessChange::End, info("Game.exe")));
    tell(600, 10, Event::Process(ProcessChange::Start, info("Game.exe")));
    tell(601, 10, Event::HeapOpen { layer: Layer::Heap, heap: 0x1_0000, name: None });
    tell(610, 10, alloc(0x9000, 50));
    tell(650, 10, free(0x9000));
    tell(700, 10, Event::Process(ProcessChange::End, info("Game.exe")));
    trace(session(false), &records)
}

/// A trace whose names are meant to break what they are written into.
fn hostile_names() -> Vec<u8> {
    let mut records = Vec::new();
    let mut tell = |time: i64, event: Event| {
        records.push((Record { time: 1_000 + time, pid: Pid(10), tid: Tid(2), event }, Vec::new()));
    };
    let name = "Game\u{1b}[31m\n<b>&\"']]>.exe".to_owned();
    let info = Box::new(ProcessInfo { key: 0xA000, parent: 1, name, command_line: String::new() });
    tell(10, Event::Process(ProcessChange::Start, info));
    for (heap, name) in
        [(0x77, "a\u{1}]]><x>&amp;\"\n\u{fffe}|`@team"), (0x78, "b = \"x\"\n[[rule]]"), (0x79, "it's \\ \"quoted\"")]
    {
        tell(20, Event::HeapOpen { layer: Layer::Tracker, heap, name: Some(name.into()) });
        tell(30, Event::Alloc { layer: Layer::Tracker, heap, address: 0x1000, size: 4096 });
    }
    trace(session(false), &records)
}

fn loaded(input: Input) -> Trace {
    struct Silent;
    impl highwater::load::Watch for Silent {
        fn progress(&mut self, _: u64, _: u64) -> bool {
            true
        }
        fn publish(&mut self, _: Trace) {}
        fn wants_trace(&self) -> bool {
            false
        }
    }
    load_planned(&Capture::open(&[input]).unwrap(), &Plan::default(), &mut Silent).unwrap_or_else(|_| panic!("stopped"))
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap()
}

const KEYS: [&str; 14] = [
    "process",
    "pid",
    "process_start_s",
    "layer",
    "heap",
    "stack",
    "freed_stack",
    "type",
    "thread",
    "function",
    "module",
    "tag",
    "size_bucket",
    "lifetime_bucket",
];

/// The keys of a group as text.
fn keys(group: &Value) -> String {
    KEYS.map(|key| group[key].to_string()).join(" ")
}

/// Values of a rule's groups by their keys.
fn values(checked: &Value, rule: usize, measure: &str) -> BTreeMap<String, Value> {
    let groups = list(&checked["rules"][rule], "groups").iter().filter(|group| group["measure"] == measure);
    groups.map(|group| (keys(group), group["value"].clone())).collect()
}

/// A rule with limits that nothing breaks.
const ROOMY: &str = "peak = \"1G\"\noutstanding = \"1G\"\nimpacting = \"1G\"\ngrowth = \"1G\"\ncount = 1_000_000\n";

#[test]
fn values_are_those_of_reports_of_the_same_rows() {
    let folder = Folder::new();
    let cases: [(&str, &[&str]); 8] = [
        ("", &["--by", ""]),
        ("by = [\"process\"]\n", &["--by", "process"]),
        ("by = [\"process\", \"heap\"]\nfrom = 5\nto = 20.5\n", &["--by", "process,heap", "--from", "5", "--to", "20.5"]),
        ("by = \"function\"\nlayer = \"heap\"\nfold = true\n", &["--by", "function", "--layer", "heap", "--fold"]),
        ("by = [\"module\"]\nprocess = 5120\n", &["--by", "module", "--process", "5120"]),
        ("by = [\"type\"]\nprocess = \"memorytestapp.EXE\"\n", &["--by", "type", "--process", "MemoryTestApp.exe"]),
        (
            "by = [\"stack\"]\nheap = 0x1d0000\nframe = [\"!Main\", \"Setting\"]\n",
            &["--by", "stack", "--heap", "0x1D0000", "--frame", "!main", "--frame", "setting"],
        ),
        (
            "by = [\"process\"]\nnot_frame = \"Main\"\ntype = \"*(unknown*\"\n",
            &["--by", "process", "--not-frame", "main", "--type", "*(unknown*"],
        ),
    ];
    let rules: String = cases.iter().map(|(rule, _)| format!("[[rule]]\n{rule}{ROOMY}\n")).collect();
    // Rows chosen by the command hold for all rules.
    for choice in [&[][..], &["--size", "1K..", "--process", "MemoryTestApp.exe"]] {
        let (checked, code) = folder.checked("demo:", &rules, choice);
        assert_eq!((code, &checked["broken"]), (Some(0), &false.into()));
        for (i, (rule, words)) in cases.iter().enumerate() {
            let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
            let by = words.iter().position(|word| *word == "--by").unwrap();
            // A report by nothing has no words: the sums of one by process have to do.
            let is_whole = words.get(by + 1).is_none_or(|word| word.starts_with("--"));
            let report: Vec<&str> = if is_whole { vec!["--by", "process"] } else { words.clone() };
            let twice = choice.contains(&"--process") && report.contains(&"--process");
            if twice {
                continue;
            }
            let report = json(["report", "demo:", "--json"].iter().chain(&report).chain(choice));
            for (measure, field) in
                [("peak", "peak"), ("outstanding", "outstanding_to"), ("impacting", "impacting_size"), ("count", "count")]
            {
                let found = values(&checked, i, measure);
                let mut expected: BTreeMap<String, Value> = BTreeMap::new();
                if is_whole {
                    for group in list(&report, "groups").iter().filter(|_| measure != "peak") {
                        let layer = group["layer"].as_str().unwrap();
                        let sum = expected.entry(layer.to_owned()).or_insert(0.into());
                        *sum = (sum.as_i64().unwrap() + group[field].as_i64().unwrap()).into();
                    }
                    let layers = found.iter().filter(|_| measure != "peak").map(|(key, value)| {
                        (
                            ["commit", "heap", "tracker"].into_iter().find(|layer| key.contains(layer)).unwrap().to_owned(),
                            value.clone(),
                        )
                    });
                    assert_eq!(layers.collect::<BTreeMap<_, _>>(), expected, "{rule}");
                    continue;
                }
                expected.extend(list(&report, "groups").iter().map(|group| (keys(group), group[field].clone())));
                assert_eq!(found, expected, "{rule} {measure} {choice:?}");
            }
            assert!(!list(&checked["rules"][i], "groups").is_empty() || !choice.is_empty(), "{rule}");
        }
    }
}

/// The slope by least squares of what is outstanding in a span, from its steps in order.
fn slope(lives: &[(f64, f64, u64)], (from, to): (f64, f64)) -> f64 {
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for &(birth, death, size) in lives {
        let (birth, death) = (birth.clamp(from, to), death.clamp(from, to));
        steps.extend([(birth, size as f64), (death, -(size as f64))]);
    }
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    steps.push((to, 0.0));
    let (mut integral, mut level, mut at) = (0.0, 0.0, from);
    let middle = (from + to) / 2.0;
    for (time, change) in steps {
        let (a, b) = (at - middle, time - middle);
        integral += level * (b * b - a * a) / 2.0;
        (level, at) = (level + change, time);
    }
    integral * 12.0 / (to - from).powi(3)
}

#[test]
fn growth_and_blocks_at_exit_are_what_the_rows_say() {
    let folder = Folder::new();
    let path = folder.write("namesakes.etl", namesakes());
    for capture in ["demo:", &path] {
        let trace = loaded(Input::from_arg(std::ffi::OsStr::new(capture)));
        let rules = "[[rule]]\nby = [\"process\"]\ngrowth = \"1G\"\nat_exit_size = \"1G\"\nat_exit_count = 100_000\n";
        let (checked, _) = folder.checked(capture, rules, &[]);
        let mut looked = 0;
        for group in list(&checked["rules"][0], "groups") {
            let start = group["process_start_s"].as_f64();
            let process = (0..trace.processes.len()).find(|&i| {
                let process = &trace.processes[i];
                u64::from(process.pid.0) == group["pid"].as_u64().unwrap()
                    && process.start.map(|t| trace.clock.seconds(t)) == start
            });
            let process = highwater::model::ProcessId(process.unwrap() as u32);
            let end = trace.process(process).end;
            let (mut lives, mut left) = (Vec::new(), (0, 0));
            for (_, row) in trace.rows.chunks().flat_map(|chunk| chunk.rows()) {
                let heap = trace.heap(trace.site(row.site).heap);
                if heap.process != process || heap.layer.name() != group["layer"] {
                    continue;
                }
                let time = |t: Ticks| if t == Ticks::NEVER { f64::INFINITY } else { trace.clock.seconds(t) };
                lives.push((time(row.birth), time(row.death), row.size));
                if end.is_some_and(|end| row.birth < end && row.death >= end) {
                    left = (left.0 + row.size, left.1 + 1);
                }
            }
            let seconds = |t: Ticks| trace.clock.seconds(t);
            let span = (start.unwrap_or(seconds(trace.span.from)), seconds(end.unwrap_or(trace.span.to)));
            match group["measure"].as_str().unwrap() {
                "growth" => {
                    let (found, expected) = (group["value"].as_f64().unwrap(), slope(&lives, span));
                    assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{group}: {expected}");
                }
                "at_exit_size" => assert_eq!(group["value"], left.0, "{group}"),
                "at_exit_count" => assert_eq!(group["value"], left.1, "{group}"),
                other => panic!("{other}"),
            }
            assert!(group["measure"] == "growth" || (end.is_some() && group["layer"] != "commit"), "{group}");
            looked += 1;
        }
        assert!(looked >= 6, "{checked}");
    }
}

#[test]
fn blocks_at_exit_are_those_of_findings() {
    let found = json(["findings", "demo:", "--json", "--top", "100"]);
    let mut expected: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for finding in list(&found, "findings").iter().filter(|finding| finding["kind"] == "at_exit") {
        // Where there is no name other frames are passed over.
        if !finding["function"].as_str().unwrap().starts_with("MemoryTestApp.exe!") {
            continue;
        }
        let key = format!("{} {} {}", finding["pid"], finding["heap"], finding["function"]);
        let sum = expected.entry(key).or_default();
        *sum = (sum.0 + finding["bytes"].as_u64().unwrap(), sum.1 + finding["count"].as_u64().unwrap());
    }
    let rules = "[[rule]]\nby = [\"process\", \"heap\", \"function\"]\nfold = true\nat_exit_size = 0\nat_exit_count = 0\n";
    let (checked, code) = Folder::new().checked("demo:", rules, &[]);
    let mut values: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for group in list(&checked["rules"][0], "groups") {
        let key = format!("{} {} {}", group["pid"], group["heap"], group["function"]);
        let value = group["value"].as_u64().unwrap();
        let sum = values.entry(key).or_default();
        *sum = if group["measure"] == "at_exit_size" { (value, sum.1) } else { (sum.0, value) };
    }
    assert!(expected.len() >= 2 && code == Some(3));
    for (key, sum) in expected {
        assert_eq!(values.get(&key), Some(&sum), "{key}");
    }
}

#[test]
fn growth_is_the_rate_that_findings_tell_of_a_steady_climb() {
    let found = json(["findings", "demo:", "--json", "--top", "100"]);
    let growth = list(&found, "findings").iter().find(|finding| finding["kind"] == "growth").unwrap();
    let [from, to] = ["from_s", "to_s"].map(|key| growth[key].as_f64().unwrap());
    let frames: Vec<String> = list(growth, "stack").iter().map(Value::to_string).collect();
    let rules = format!(
        "[[rule]]\nprocess = {}\nheap = {}\nframe = [{}]\nfrom = {from}\nto = {to}\ngrowth = 0\n",
        growth["process"],
        growth["heap"],
        frames.join(", ")
    );
    let (checked, _) = Folder::new().checked("demo:", &rules, &[]);
    let value = checked["rules"][0]["groups"][0]["value"].as_f64().unwrap();
    let rate = growth["rate_bytes_per_s"].as_f64().unwrap();
    assert!((value / rate - 1.0).abs() < 0.05, "{value} {rate}");
}

#[test]
fn as_much_as_the_limit_is_allowed_and_no_byte_more() {
    let folder = Folder::new();
    let rows = "process = \"MemoryTestApp.exe\"\nlayer = \"heap\"\n";
    let measures = ["peak", "outstanding", "impacting", "growth", "at_exit_size", "at_exit_count", "count"];
    let of = |limits: &[String]| -> String {
        let rule = |(i, limit): (usize, &String)| format!("[[rule]]\nname = \"r{i}\"\n{rows}{limit}\n");
        limits.iter().enumerate().map(rule).collect()
    };
    let (checked, _) = folder.checked("demo:", &of(&measures.map(|measure| format!("{measure} = 0"))), &[]);
    let value = |i: usize| checked["rules"][i]["groups"][0]["value"].as_f64().unwrap();
    assert!((0..7).all(|i| value(i) >= 1.0), "{checked}");
    let exact = (0..7).map(|i| format!("{} = {}", measures[i], value(i).ceil()));
    let (checked, code) = folder.checked("demo:", &of(&exact.collect::<Vec<_>>()), &[]);
    assert_eq!((code, &checked["broken"]), (Some(0), &false.into()));
    let less = (0..7).map(|i| format!("{} = {}", measures[i], value(i).ceil() - 1.0));
    let rules = of(&less.collect::<Vec<_>>());
    let (checked, code) = folder.checked("demo:", &rules, &[]);
    assert_eq!(code, Some(3));
    for rule in list(&checked, "rules") {
        assert_eq!((&rule["outcome"], &rule["groups"][0]["broken"]), (&"broken".into(), &true.into()), "{rule}");
        let holder = &rule["groups"][0]["holder"];
        assert!(holder["function"].as_str().unwrap().starts_with("MemoryTestApp.exe!"), "{rule}");
        assert!(holder["value"].as_f64().unwrap() <= rule["groups"][0]["value"].as_f64().unwrap(), "{rule}");
    }
    let run = folder.check("demo:", &rules, &[]);
    assert_eq!((run.code, run.out.lines().count()), (Some(3), 7), "{run:?}");
    for (line, (i, measure)) in run.out.lines().zip(measures.iter().enumerate()) {
        assert!(line.starts_with(&format!("r{i}: heap: {measure} ")) && line.contains(" is above the limit "), "{line}");
        let (is, may_be) = line.split_once(" is above the limit ").unwrap();
        assert!(line.contains("; most in MemoryTestApp.exe!") && !may_be.starts_with(is.rsplit(": ").next().unwrap()), "{line}");
    }
}

#[test]
fn impacting_sizes_have_a_sign() {
    let rule =
        |limit: &str| format!("[[rule]]\nprocess = 4660\nlayer = \"commit\"\nfrom = 20\nto = 36.06\nimpacting = \"{limit}\"\n");
    let folder = Folder::new();
    let (checked, code) = folder.checked("demo:", &rule("0"), &[]);
    let value = checked["rules"][0]["groups"][0]["value"].as_i64().unwrap();
    assert!(code == Some(0) && value < -(1 << 20), "{checked}");
    assert_eq!(folder.check("demo:", &rule(&value.to_string()), &[]).code, Some(0));
    let run = folder.check("demo:", &rule(&(value - 1).to_string()), &[]);
    assert!(
        run.code == Some(3) && run.out.contains(&format!("impacting {value} B is above the limit {} B", value - 1)),
        "{run:?}"
    );
}

#[test]
fn lives_of_one_name_and_id_are_groups_of_their_own() {
    let folder = Folder::new();
    let path = folder.write("namesakes.etl", namesakes());
    let rules = "[[rule]]\nname = \"leaks\"\nprocess = \"game.exe\"\nby = [\"process\"]\nat_exit_count = 0\npeak = 100\n";
    let run = folder.check(&path, rules, &[]);
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!((run.code, lines.len()), (Some(3), 3), "{run:?}");
    for part in [
        "Game.exe (20) \u{b7} heap: peak 1000 B is above the limit 100 B",
        "Game.exe (10, from 0.000001 s) \u{b7} heap: peak 300 B is above the limit 100 B",
        "Game.exe (10, from 0.000001 s) \u{b7} heap: at_exit_count 2 blocks is above the limit 0 blocks",
    ] {
        assert!(lines.iter().any(|line| line.starts_with("leaks: ") && line.contains(part)), "{part}: {lines:#?}");
    }
    // All of a name together: the peak is that of the sum.
    let (checked, _) =
        folder.checked(&path, "[[rule]]\nprocess = \"Game.exe\"\npeak = 1300\nat_exit_count = 2\ncount = 5\n", &[]);
    let values: Vec<u64> = list(&checked["rules"][0], "groups").iter().map(|group| group["value"].as_u64().unwrap()).collect();
    assert_eq!(values, [1300, 2, 5]);
}

#[test]
fn what_finds_nothing_is_skipped_and_says_so() {
    let folder = Folder::new();
    let empty = folder.write("empty.etl", without_memory_events());
    let small = folder.write("small.etl", small(false));
    let rules = "[[rule]]\nname = \"anything\"\npeak = 0\n";
    for (capture, rules, words, why) in [
        (empty.as_str(), rules, &[][..], "nothing was alive or happened"),
        (&small, rules, &["--process", "nobody"], "nothing was alive or happened"),
        (&small, rules, &["--from", "0", "--to", "0.000001"], "nothing was alive or happened"),
        (&small, rules, &["--from", "0", "--to", "0"], "nothing was alive or happened"),
        (&small, "[[rule]]\nname = \"anything\"\npeak = 0\nfrom = 500\n", &[], "outside of what was read"),
        (&small, "[[rule]]\nname = \"anything\"\nlayer = \"commit\"\nat_exit_count = 0\n", &[], "at_exit_count: no process"),
        (&small, "[[rule]]\nname = \"anything\"\nto = 0.0001\nat_exit_size = 0\n", &[], "at_exit_size: no process"),
    ] {
        let junit = folder.path("out.xml");
        let run = folder.check(capture, rules, &[words, &["--junit", junit.to_str().unwrap()]].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{run:?}");
        assert!(run.err.lines().any(|line| line.contains("rule anything") && line.contains(why)), "{why}: {run:?}");
        assert!(run.err.contains("0 passed, 0 broken, 1 skipped"), "{run:?}");
        let cases = testcases(&fs::read_to_string(&junit).unwrap());
        assert!(cases["anything"].0 == "skipped" && cases["anything"].1.contains(why), "{cases:?}");
        let (checked, _) = folder.checked(capture, rules, words);
        assert_eq!(checked["rules"][0]["outcome"], "skipped");
        // What is required is broken then.
        let run = folder.check(capture, &format!("{rules}required = true\n"), words);
        assert!(run.code == Some(3) && run.out.contains("anything: required, but ") && run.out.contains(why), "{run:?}");
        assert_eq!(run.out.lines().count(), 1, "{run:?}");
    }
    for text in ["", "# nothing\n"] {
        let run = folder.check(&small, text, &[]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{run:?}");
    }
    assert_eq!(folder.check(&small, "[[rule]]\nrequired = true\n", &[]).code, Some(0));
}

#[test]
fn bad_rules_are_one_line_with_file_and_line() {
    let folder = Folder::new();
    for (rules, line) in [("[[rule]]\npeak = 1\nfrom = 3\nto = 2\n", 4), ("[[rule]]\npeek = 1\n", 2), ("\n\n[[rule]]\n", 3)] {
        let run = folder.check("demo:", rules, &[]);
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(2), "", 1), "{run:?}");
        assert!(run.err.contains(&format!("rules.toml:{line}: ")), "{run:?}");
    }
    let missing = highwater(["check", "demo:", "--rules", folder.path("none.toml").to_str().unwrap()]);
    assert!(missing.code == Some(2) && missing.err.contains("none.toml cannot be read") && missing.err.lines().count() == 1);
    for words in [
        &["check", "demo:"][..],
        &["check"],
        &["check", "demo:", "--rules", "a", "--force"],
        &["check", "demo:", "--init", "--json"],
    ] {
        assert_eq!(highwater(words).code, Some(2), "{words:?}");
    }
    // A capture that is not there is another failure.
    assert_eq!(folder.check("nowhere.etl", "", &[]).code, Some(1));
}

/// The testcases of a JUnit file by name: how each ended, and what is said of it. Strict: tags
/// must nest, and nothing may stand in it that XML does not allow.
fn testcases(xml: &str) -> BTreeMap<String, (String, String)> {
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(xml.chars().all(is_allowed), "{xml:?}");
    let unescaped = |text: &str| {
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
        let text = text.replace("&#10;", "\n").replace("&#9;", "\t").replace("&#13;", "\r");
        assert_eq!(text.matches('&').count(), text.matches("&amp;").count(), "{text}");
        text.replace("&amp;", "&")
    };
    let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").unwrap();
    let (mut open, mut cases): (Vec<String>, BTreeMap<String, (String, String)>) = Default::default();
    let mut case = String::new();
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains('>') || !open.is_empty(), "{xml}");
        let end = at + rest[at..].find('>').unwrap();
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "{xml}");
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap().to_owned();
        let attributes: Vec<&str> = tag[name.len()..].trim_end_matches('/').split('"').collect();
        let attribute = |key: &str| {
            let at = attributes.iter().position(|part| part.trim() == format!("{key}="));
            at.map(|at| unescaped(attributes[at + 1]))
        };
        match name.as_str() {
            "testcase" => {
                case = attribute("name").unwrap();
                cases.insert(case.clone(), ("passed".to_owned(), String::new()));
            }
            "failure" | "skipped" => {
                cases.insert(case.clone(), (name.clone(), attribute("message").unwrap()));
            }
            "testsuites" | "testsuite" | "system-out" => {}
            other => panic!("{other}: {xml}"),
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{xml}");
    cases
}

#[test]
fn junit_has_a_testcase_a_rule_whatever_is_in_names() {
    let folder = Folder::new();
    let path = folder.write("hostile.etl", hostile_names());
    let junit = folder.path("out.xml");
    let rules = "[[rule]]\nname = \"<a & b>\"\nby = [\"process\", \"heap\"]\npeak = 10\n[[rule]]\nname = \"well\"\npeak = \"1M\"\n\
                 [[rule]]\nname = \"none\"\nlayer = \"commit\"\npeak = 1\n";
    let run = folder.check(&path, rules, &["--junit", junit.to_str().unwrap()]);
    assert_eq!((run.code, run.out.lines().count()), (Some(3), 3), "{run:?}");
    assert!(!run.out.contains(['\u{1b}', '\u{1}']), "{run:?}");
    let xml = fs::read_to_string(&junit).unwrap();
    let cases = testcases(&xml);
    let ends: Vec<_> = cases.iter().map(|(name, (end, _))| (name.as_str(), end.as_str())).collect();
    assert_eq!(ends, [("<a & b>", "failure"), ("none", "skipped"), ("well", "passed")]);
    assert!(cases["<a & b>"].1.contains("<a & b>: Game"), "{cases:?}");
    assert!(xml.contains("tests=\"3\" skipped=\"1\" failures=\"1\""), "{xml}");
    // JSON keeps the names as they are.
    let (checked, _) = folder.checked(&path, rules, &[]);
    assert!(list(&checked["rules"][0], "groups").iter().any(|group| group["heap"].as_str().unwrap().contains("\u{1}]]>")));
}

#[test]
fn a_junit_file_that_cannot_be_written_is_a_failure_and_leaves_nothing() {
    let folder = Folder::new();
    let out = folder.path("nowhere").join("out.xml");
    let run = folder.check("demo:", "[[rule]]\npeak = 0\n", &["--junit", out.to_str().unwrap()]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.out.lines().count() == 3 && run.err.contains("out.xml cannot be written"), "{run:?}");
    let files: Vec<_> = fs::read_dir(folder.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["rules.toml"]);
}

#[test]
fn quiet_says_nothing_but_with_its_exit_code_and_json() {
    let folder = Folder::new();
    let rules = "[[rule]]\npeak = 0\n[[rule]]\nname = \"none\"\nprocess = \"nobody\"\npeak = 0\n";
    let run = folder.check("demo:", rules, &["--quiet"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(3), "", ""));
    let run = folder.check("demo:", rules, &["--quiet", "--json"]);
    assert!(run.code == Some(3) && run.out.starts_with("{\"schema\":\"highwater.check/1\"") && run.err.is_empty(), "{run:?}");
}

#[test]
fn losses_are_said() {
    let folder = Folder::new();
    let path = folder.path("lossy.etl");
    let path = path.to_str().unwrap();
    let words = ["synth", "heap", "--events", "20000", "--lost-buffers", "3", "-o", path];
    assert_eq!(highwater(words).code, Some(0));
    let run = folder.check(path, "[[rule]]\npeak = \"1G\"\n", &[]);
    assert!(
        run.code == Some(0) && run.err.contains("the numbers may be off") && run.err.contains("buffers were lost"),
        "{run:?}"
    );
    let (checked, _) = folder.checked(path, "[[rule]]\npeak = \"1G\"\n", &[]);
    assert!(checked["quality"]["buffers_lost"] == 3 && list(&checked, "doubts").len() == 1, "{}", checked["doubts"]);
    // Before the first loss nothing is off.
    let (checked, _) = folder.checked(path, "[[rule]]\npeak = \"1G\"\nto = 0.000001\n", &[]);
    assert!(list(&checked, "doubts").is_empty());
}

fn init(capture: &str, out: &Path, words: &[&str]) -> Run {
    highwater(["check", capture, "--init", "-o", out.to_str().unwrap()].iter().chain(words))
}

#[test]
fn rules_to_begin_with_hold_for_their_trace() {
    let folder = Folder::new();
    let mut captures = vec![
        "demo:".to_owned(),
        folder.write("small.etl", small(false)),
        folder.write("namesakes.etl", namesakes()),
        folder.write("hostile.etl", hostile_names()),
        folder.write("empty.etl", without_memory_events()),
    ];
    for scenario in ["heap", "commit", "trackers"] {
        let path = folder.path(&format!("{scenario}.etl"));
        let words = ["synth", scenario, "--events", "5000", "--processes", "3", "-o", path.to_str().unwrap()];
        assert_eq!(highwater(words).code, Some(0));
        captures.push(path.to_str().unwrap().to_owned());
    }
    for (i, capture) in captures.iter().enumerate() {
        let out = folder.path(&format!("{i}.toml"));
        let run = init(capture, &out, &["--quiet"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{capture}");
        let text = fs::read_to_string(&out).unwrap();
        let run = highwater(["check", capture, "--rules", out.to_str().unwrap(), "--json"]);
        assert_eq!(run.code, Some(0), "{capture}: {run:?}\n{text}");
        let checked: Value = serde_json::from_str(&run.out).unwrap();
        let rules = list(&checked, "rules");
        assert!(rules.iter().all(|rule| rule["outcome"] == "passed"), "{capture}: {checked}");
        let is_bare = capture.ends_with("hostile.etl") || capture.ends_with("empty.etl");
        assert_eq!(rules.is_empty(), is_bare, "{capture}: {text}");
        // Printed they are the same.
        assert_eq!(highwater(["check", capture, "--init", "--quiet"]).out, text);
    }
}

#[test]
fn rules_to_begin_with_overwrite_nothing_unasked() {
    let folder = Folder::new();
    let rules = folder.write("mine.toml", "# mine\n");
    for words in [["-o", &rules], ["--rules", &rules]] {
        let run = highwater(["check", "demo:", "--init"].iter().chain(&words));
        assert!(run.code == Some(2) && run.err.contains("--force") && run.err.lines().count() == 1, "{run:?}");
        assert_eq!(fs::read_to_string(&rules).unwrap(), "# mine\n");
    }
    assert_eq!(init("nowhere.etl", Path::new(&rules), &["--force"]).code, Some(1));
    assert_eq!(fs::read_to_string(&rules).unwrap(), "# mine\n");
    assert_eq!(init("demo:", Path::new(&rules), &["--force"]).code, Some(0));
    assert!(fs::read_to_string(&rules).unwrap().contains("[[rule]]"));
    assert_eq!(fs::read_dir(folder.folder.path()).unwrap().count(), 1, "no draft stays");
    assert_eq!(init("demo:", &folder.path("no").join("a.toml"), &[]).code, Some(1));
}

#[test]
fn json_has_its_fields_in_order() {
    let run = Folder::new().check("demo:", "[[rule]]\npeak = \"1G\"\n", &["--json"]);
    let places = |names: &[&str]| -> Vec<usize> {
        names.iter().map(|name| run.out.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{name}"))).collect()
    };
    assert!(places(&["schema", "broken", "rules", "quality", "doubts"]).is_sorted(), "{}", run.out);
    let rule =
        ["name", "line", "outcome", "reason", "interval", "groups", "process", "layer", "measure", "value", "limit", "holder"];
    assert!(places(&rule).is_sorted(), "{}", run.out);
}
