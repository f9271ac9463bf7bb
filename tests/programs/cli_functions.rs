//! `highwater functions`, and reports by function and module, as the contract has them.

use crate::common::{Run, highwater};
use serde_json::Value;

/// What the program says of the demo, whose names it carries.
fn demo(words: &[&str]) -> Value {
    let Run { code, out, err } = highwater([&words[..1], &["--json", "demo:"], &words[1..]].concat());
    assert_eq!((code, err.as_str()), (Some(0), ""));
    serde_json::from_str(&out).unwrap()
}

fn list<'a>(answer: &'a Value, of: &str) -> &'a [Value] {
    answer[of].as_array().unwrap()
}

/// The names of an object's fields, by name.
fn fields(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

const NUMBERS: [&str; 14] = [
    "outstanding_from",
    "outstanding_to",
    "peak",
    "count",
    "size",
    "allocated_count",
    "allocated_size",
    "freed_count",
    "freed_size",
    "impacting_size",
    "aifi",
    "aifo",
    "aofi",
    "aofo",
];

fn sorted<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort();
    names
}

#[test]
fn functions_have_the_fields_of_the_contract_and_its_order() {
    let of = "MemoryTestApp.exe!Main";
    let answer = demo(&["functions", "--of", of]);
    assert_eq!(sorted(fields(&answer)), ["doubts", "functions", "quality", "schema"]);
    assert_eq!(answer["schema"], "highwater.functions/1");
    let functions = list(&answer, "functions");
    let plain = ["process", "pid", "process_start_s", "layer", "function", "source", "address", "self", "total"];
    for group in functions {
        let asked = if group["function"] == of { &["callers", "callees"][..] } else { &[] };
        assert_eq!(sorted(fields(group)), sorted(plain.into_iter().chain(asked.iter().copied())));
        assert_eq!(sorted(fields(&group["self"])), sorted(NUMBERS));
        assert_eq!(sorted(fields(&group["total"])), sorted(NUMBERS));
        for neighbour in asked.iter().flat_map(|list| group[*list].as_array().unwrap()) {
            assert_eq!(sorted(fields(neighbour)), sorted(NUMBERS.into_iter().chain(["function"])));
        }
    }
    let rank = |group: &Value| {
        let total = &group["total"];
        let impacting = total["impacting_size"].as_i64().unwrap().unsigned_abs();
        let name = group["function"].as_str().unwrap().to_owned();
        (std::cmp::Reverse((impacting, total["size"].as_u64().unwrap())), name)
    };
    assert!(functions.is_sorted_by_key(rank));
    assert_eq!(functions.iter().filter(|group| group["function"] == of).count(), 3, "one for each layer");
    // The order of fields in the text, too.
    let text = highwater(["functions", "--json", "demo:", "--top", "1"]).out;
    let places: Vec<usize> = plain.iter().map(|name| text.find(&format!("\"{name}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn functions_are_of_the_interval_and_filter_that_reports_are() {
    let words = ["--process", "MemoryTestApp.exe", "--layer", "heap", "--from", "5", "--to", "20"];
    let functions = demo(&[&["functions"], &words[..]].concat());
    let reports = demo(&[&["report", "--by", "process,stack"], &words[..]].concat());
    let sum = |frame: &dyn Fn(&[Value]) -> bool, number: &str| -> u64 {
        let groups = list(&reports, "groups").iter();
        let stacks = groups.filter(|group| frame(group["stack"].as_array().unwrap()));
        stacks.map(|group| group[number].as_u64().unwrap()).sum()
    };
    assert!(list(&functions, "functions").len() > 10);
    for group in list(&functions, "functions") {
        assert_eq!((&group["process"], &group["layer"]), (&"MemoryTestApp.exe".into(), &"heap".into()));
        for number in ["outstanding_from", "outstanding_to", "count", "size", "allocated_size", "freed_count"] {
            let function = &group["function"];
            assert_eq!(group["total"][number], sum(&|stack| stack.contains(function), number), "{group}");
            assert_eq!(group["self"][number], sum(&|stack| stack.last() == Some(function), number), "{group}");
        }
    }
    let all = list(&functions, "functions");
    let top = demo(&[&["functions", "--top", "3"], &words[..]].concat());
    assert_eq!(list(&top, "functions"), &all[..3]);
    let last = all.last().unwrap()["function"].as_str().unwrap();
    let asked = demo(&[&["functions", "--top", "3", "--of", &last.to_uppercase()], &words[..]].concat());
    assert_eq!(list(&asked, "functions").len(), 4, "what is asked for is listed, in any case");
    assert!(!list(list(&asked, "functions").last().unwrap(), "callers").is_empty());
}

#[test]
fn people_get_tables_and_a_word_about_what_is_not_there() {
    let run = highwater(["functions", "demo:", "--top", "2", "--of", "MemoryTestApp.exe!Main", "--layer", "tracker"]);
    assert!(run.code == Some(0) && run.err.lines().all(|line| line.contains("--symbols FOLDER")), "{}", run.err);
    for part in
        ["Self size", "MemoryTestApp.exe!Main\n", "Callers of MemoryTestApp.exe!Main in ", "Callees of ", " more functions"]
    {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    let run = highwater(["functions", "demo:", "--of", "nobody"]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(run.err.contains("nobody") && run.err.lines().count() == 1, "{}", run.err);
    let run = highwater(["functions", "demo:", "--size", "1..1"]);
    assert!(run.out.contains("No matching allocations with a stack"), "{}", run.out);
    let run = highwater(["functions", "demo:", "--of", "MemoryTestApp.exe!Main", "--from", "0", "--to", "0"]);
    assert!(run.code == Some(0) && run.err.contains("no stack in the interval has"), "{run:?}");
    assert_eq!(highwater(["functions", "demo:", "--from", "3", "--to", "2"]).code, Some(2));
    assert_eq!(highwater(["functions", "nowhere.etl"]).code, Some(1));
    assert_eq!(highwater(["functions"]).code, Some(2));
}

#[test]
fn reports_go_by_function_and_module_and_fold_the_allocator() {
    let counts = |words: &[&str], key: &str, layer: &str| -> Vec<(String, u64)> {
        let answer = demo(&[&["report", "--process", "MemoryTestApp.exe"], words].concat());
        let groups = list(&answer, "groups").iter().filter(|group| group["layer"] == layer);
        groups.map(|group| (group[key].as_str().unwrap_or("").to_owned(), group["count"].as_u64().unwrap())).collect()
    };
    let of = |counts: &[(String, u64)], name: &str| counts.iter().find(|(other, _)| other == name).map(|(_, count)| *count);
    let plain = counts(&["--by", "function"], "function", "heap");
    let folded = counts(&["--by", "function", "--fold"], "function", "heap");
    assert_eq!(of(&plain, "MemoryTestApp.exe!InnerLoopOperation"), None);
    assert_eq!(of(&folded, "MemoryTestApp.exe!InnerLoopOperation"), Some(1_088));
    let sum = |counts: &[(String, u64)]| counts.iter().map(|(_, count)| count).sum::<u64>();
    assert_eq!(sum(&plain), sum(&folded));
    let modules = counts(&["--by", "module"], "module", "heap");
    assert_eq!(sum(&modules), sum(&plain));
    assert!(of(&modules, "ntdll.dll").is_some(), "{modules:?}");
    let folded = counts(&["--by", "module", "--fold"], "module", "heap");
    assert!(of(&folded, "MemoryTestApp.exe") > of(&modules, "MemoryTestApp.exe"), "{folded:?} {modules:?}");
    // Keys that are not asked for are null; both at once are groups of both.
    let answer = demo(&["report", "--by", "function,module", "--fold"]);
    let groups = list(&answer, "groups");
    assert!(groups.iter().all(|group| group["stack"].is_null() && group["thread"].is_null()));
    for group in groups {
        let (function, module) = (group["function"].as_str(), group["module"].as_str());
        assert_eq!(function.and_then(|name| name.split_once('!')).map(|(module, _)| module), module, "{group}");
    }
    let answer = demo(&["report"]);
    assert!(list(&answer, "groups").iter().all(|group| group["function"].is_null() && group["module"].is_null()));
    let text = highwater(["report", "demo:", "--by", "function,module"]).out;
    assert!(text.contains("Function") && text.contains("Module") && text.contains("ntdll.dll"), "{text}");
}
