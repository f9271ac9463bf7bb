//! Page faults: the text of a report, and what `cut` keeps of them.

use std::path::Path;

use highwater_dev::synth::{Options, Scenario, generate};
use serde_json::Value;

use crate::common::{highwater, json};

/// A generated trace with page faults.
fn trace(folder: &Path) -> String {
    let options = Options { scenario: Scenario::Commit, events: 2000, faults: true, ..Options::default() };
    let path = folder.join("faults.etl");
    generate(&options, std::fs::File::create(&path).unwrap()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The page faults of an interval.
fn faults(file: &str) -> Value {
    json(["report", file, "--from", "0.3", "--to", "0.6", "--with", "faults", "--json"])["faults"].clone()
}

fn number(of: &Value, key: &str) -> u64 {
    of[key].as_u64().unwrap_or(0)
}

/// The lines of a table below a heading, each as the words of its cells.
fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip_while(|line| *line != heading).skip(2).take_while(|line| !line.is_empty());
    lines.map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()).collect()
}

#[test]
fn the_text_has_the_numbers_of_the_json_in_three_tables() {
    let folder = tempfile::tempdir().unwrap();
    let file = trace(folder.path());
    let told = faults(&file);
    let run = highwater(["report", &file, "--from", "0.3", "--to", "0.6", "--with", "faults"]);
    assert_eq!(run.code, Some(0), "{}", run.err);

    let by_process = table(&run.out, "Page faults");
    let processes = told["processes"].as_array().unwrap();
    assert!(processes.len() == by_process.len() && processes.len() > 1, "{by_process:?}");
    for (entry, cells) in processes.iter().zip(&by_process) {
        let plain = |n: u64| highwater::format::count(n);
        assert_eq!(cells[0], plain(number(entry, "hard")));
        assert_eq!(cells[1], highwater::format::bytes(number(entry, "hard_bytes")));
        assert_eq!(cells[3..6], ["demand_zero", "copy_on_write", "transition"].map(|key| plain(number(entry, key))));
        if entry["committed_bytes"].is_u64() {
            let bytes = ["committed_bytes", "touched_bytes"].map(|key| highwater::format::bytes(number(entry, key)));
            assert_eq!(cells[6..8], bytes);
        }
        assert!(cells.last().unwrap().starts_with(entry["process"].as_str().unwrap()));
    }

    let committed = table(&run.out, "Committed in the trace and still at the end, by responsible caller");
    let callers = told["commit"].as_array().unwrap();
    assert!(committed.len() >= 10 && callers.len() >= 10);
    for (entry, cells) in callers.iter().zip(committed.iter().take(10)) {
        let (all, touched) = (number(entry, "committed_bytes"), number(entry, "touched_bytes"));
        assert_eq!(cells[..3], [all, touched, all - touched].map(highwater::format::bytes));
        assert_eq!(cells[4], entry["responsible"].as_str().unwrap());
    }
    assert!(run.out.contains(&format!("\u{2026} and {} more callers\n", callers.len() - 10)), "{}", run.out);

    let first = table(&run.out, "First touches of committed memory, by responsible caller");
    for (entry, cells) in told["first_touches"].as_array().unwrap().iter().zip(first.iter().take(10)) {
        let pages = number(entry, "count");
        assert_eq!(cells[..2], [highwater::format::count(pages), highwater::format::bytes(4096 * pages)]);
    }
    assert!(run.out.contains("Touched bytes are those whose first touch was recorded"), "{}", run.out);
}

#[test]
fn a_cut_has_the_same_page_faults_and_the_same_touched_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (trace(folder.path()), folder.path().join("part.etl"));
    let out = out.to_str().unwrap();
    let cut = ["cut", &file, "--from", "0.3", "--to", "0.6", "--replace", "-o", out];
    assert_eq!(highwater(cut).code, Some(0));
    let whole = faults(&file);
    assert!(whole["processes"].as_array().unwrap().iter().map(|of| number(of, "touched_bytes")).sum::<u64>() > 0);
    assert_eq!(faults(out), whole);

    // With other names: as many of each kind, and the same bytes, in each process.
    assert_eq!(highwater(cut.iter().chain(&["--anonymise"])).code, Some(0));
    let anonymous = faults(out);
    let nameless = |of: &Value| {
        let mut of = of["processes"].clone();
        of.as_array_mut().unwrap().iter_mut().for_each(|entry| entry["process"] = Value::Null);
        of
    };
    assert_eq!(nameless(&anonymous), nameless(&whole));
    let sum =
        |of: &Value, list: &str, key: &str| of[list].as_array().unwrap().iter().map(|entry| number(entry, key)).sum::<u64>();
    for (list, key) in [("commit", "committed_bytes"), ("commit", "touched_bytes"), ("first_touches", "count")] {
        assert_eq!(sum(&anonymous, list, key), sum(&whole, list, key), "{list} {key}");
    }
    let bytes = std::fs::read(out).unwrap().to_ascii_lowercase();
    for name in ["app0", "app1", "engine"] {
        let wide: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for name in [name.as_bytes(), &wide] {
            assert!(!bytes.windows(name.len()).any(|part| part == name), "{name:?}");
        }
    }
}
