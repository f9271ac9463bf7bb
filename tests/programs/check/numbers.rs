//! Values are those of reports, findings and the rows themselves, and limits are held to the byte.

use std::collections::BTreeMap;

use super::{Folder, list, namesakes};
use crate::common::json;
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::Trace;
use highwater::units::Ticks;
use serde_json::Value;

fn loaded(input: Input) -> Trace {
    load(&Capture::open(&[input]).unwrap(), &mut Unwatched).unwrap()
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
        assert!(holder["source"]["file"].as_str().unwrap().starts_with(r"C:\MemoryTestApp\"), "{rule}");
        assert!(holder["value"].as_f64().unwrap() <= rule["groups"][0]["value"].as_f64().unwrap(), "{rule}");
    }
    let run = folder.check("demo:", &rules, &[]);
    assert_eq!((run.code, run.out.lines().count()), (Some(3), 7), "{run:?}");
    for (line, (i, measure)) in run.out.lines().zip(measures.iter().enumerate()) {
        assert!(line.starts_with(&format!("r{i}: heap: {measure} ")) && line.contains(" is above the limit "), "{line}");
        let (is, may_be) = line.split_once(" is above the limit ").unwrap();
        let (_, value) = is.split_once(&format!(": {measure} ")).unwrap();
        assert!(
            line.contains("; most in MemoryTestApp.exe!")
                && line.contains(r" at C:\MemoryTestApp\")
                && !may_be.starts_with(value),
            "{line}"
        );
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

/// Growth of the groups of a rule, by process and start, and why there is none.
fn growth(folder: &Folder, path: &str, rule: &str) -> (Vec<f64>, Value) {
    let (checked, _) = folder.checked(path, &format!("[[rule]]\n{rule}growth = \"1G\"\n"), &[]);
    let rule = &checked["rules"][0];
    let values = list(rule, "groups").iter().filter(|group| group["measure"] == "growth");
    (values.map(|group| group["value"].as_f64().unwrap()).collect(), rule["reason"].clone())
}

#[test]
fn growth_is_that_of_the_time_that_was_recorded_and_in_which_processes_lived() {
    let folder = Folder::new();
    let path = folder.write("namesakes.etl", namesakes());
    // Nobody knows what was behind the end of the trace, or before its begin.
    let (known, _) = growth(&folder, &path, "process = 20\nfrom = 0.00001\n");
    assert!(known[0] > 0.0, "{known:?}");
    assert_eq!(growth(&folder, &path, "process = 20\nfrom = 0.00001\nto = 100\n").0, known);
    let (whole, _) = growth(&folder, &path, "process = 20\n");
    assert_eq!(growth(&folder, &path, "process = 20\nfrom = -100\nto = 100\n").0, whole);
    // The first life of 10 ends before this, the second begins in it: its time is that of the second alone, and what
    // the first has left is a level.
    let (of_each, _) = growth(&folder, &path, "process = 10\nby = \"process\"\nfrom = 0.000055\n");
    let (of_both, _) = growth(&folder, &path, "process = 10\nfrom = 0.000055\n");
    assert_eq!((of_each.len(), of_both.len()), (1, 1));
    assert!((of_each[0] - of_both[0]).abs() <= 1e-6 * of_both[0].abs() && of_both[0] != 0.0, "{of_each:?} {of_both:?}");
}

#[test]
fn where_no_process_lived_there_is_no_growth_to_keep_a_limit() {
    let folder = Folder::new();
    let path = folder.write("namesakes.etl", namesakes());
    let rule = "process = 10\nfrom = 0.000052\nto = 0.000058\n";
    let (values, reason) = growth(&folder, &path, rule);
    assert!(values.is_empty() && reason.as_str().unwrap().starts_with("growth: no process that it is about lived"), "{reason}");
    let run = folder.check(&path, &format!("[[rule]]\n{rule}growth = \"1G\"\nrequired = true\n"), &[]);
    assert!(run.code == Some(3) && run.out.contains("required, but growth: "), "{run:?}");
    // Other limits of the rule are held against what was left behind.
    let (checked, code) = folder.checked(&path, &format!("[[rule]]\n{rule}growth = \"1G\"\npeak = 199\n"), &[]);
    assert_eq!((code, &checked["rules"][0]["groups"][0]["value"]), (Some(3), &200.into()), "{checked}");
    let run = folder.check(&path, &format!("[[rule]]\n{rule}growth = \"1G\"\npeak = 199\n"), &[]);
    assert!(run.err.contains("rule rule 1 was not checked in full: growth: "), "{run:?}");
}
