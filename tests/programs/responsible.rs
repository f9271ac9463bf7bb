//! Who is responsible, on inputs made after bug reports (beside the repository) and on the demo: the caller in the
//! user's own code with its source line; and what a team knows and accepts.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{highwater, json as answer, skip};

/// A file of the cases; `None` where they are missing.
fn case(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases").join(name);
    if !path.is_file() {
        skip("no cases");
        return None;
    }
    Some(path)
}

/// The symbols of a case, unpacked.
fn unpacked(name: &str, folder: &Path) -> Option<String> {
    let mut archive = zip::ZipArchive::new(std::fs::File::open(case(name)?).unwrap()).unwrap();
    archive.extract(folder).unwrap();
    Some(folder.to_str().unwrap().to_owned())
}

#[test]
fn commit_of_the_heap_is_owned_by_the_heap_where_names_tell() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(symbols), Some(case)) = (unpacked("sym.zip", folder.path()), case("commit-by-heap.zip")) else { return };
    let report =
        answer(["report", case.to_str().unwrap(), "--by", "owner", "--layer", "commit", "--symbols", &symbols, "--json"]);
    let owner = |group: &Value| (group["owner"].clone(), group["count"].clone());
    let owners: Vec<_> = report["groups"].as_array().unwrap().iter().map(owner).collect();
    assert_eq!(owners, [(json!("Windows heap"), json!(4_000))]);
    let run = highwater(["report", case.to_str().unwrap(), "--by", "owner", "--symbols", &symbols]);
    assert!(run.code == Some(0) && run.out.contains("Owner") && run.out.contains("Windows heap"), "{run:?}");
}

/// Responsible caller, its module, and line of each group of a report, by name.
fn groups(case: &Path, symbols: Option<&str>) -> Vec<(String, String, Value, u64)> {
    let mut words = vec!["report", case.to_str().unwrap(), "--by", "responsible,responsible_module", "--json"];
    words.extend(symbols.iter().flat_map(|path| ["--symbols", path]));
    let report = answer(words);
    let text = |group: &Value, key: &str| group[key].as_str().unwrap().to_owned();
    let group =
        |g: &Value| (text(g, "responsible"), text(g, "responsible_module"), g["source"].clone(), g["count"].as_u64().unwrap());
    let mut groups: Vec<_> = report["groups"].as_array().unwrap().iter().map(group).collect();
    groups.sort_by(|a, b| a.0.cmp(&b.0));
    groups
}

#[test]
fn commit_of_the_heap_and_memory_of_com_are_the_callers() {
    let folder = tempfile::tempdir().unwrap();
    let Some(symbols) = unpacked("sym.zip", folder.path()) else { return };
    for name in ["commit-by-heap.zip", "com-allocator.zip"] {
        let Some(case) = case(name) else { return };
        let found = groups(&case, Some(&symbols));
        let callers: Vec<_> = found.iter().map(|(caller, module, _, count)| (caller.as_str(), module.as_str(), *count)).collect();
        let expected = [("game.exe!LoadLevel", "game.exe", 2_000), ("game.exe!SpawnEnemies", "game.exe", 2_000)];
        assert_eq!(callers, expected, "{name}");
        assert!(found.iter().all(|(.., line, _)| line["file"].as_str().unwrap().ends_with("game.c")), "{found:?}");
        let findings = answer(["findings", case.to_str().unwrap(), "--symbols", &symbols, "--json"]);
        for finding in findings["findings"].as_array().unwrap() {
            let caller = finding["function"].as_str().unwrap();
            assert!(expected.iter().any(|(expected, ..)| *expected == caller), "{finding}");
            assert_eq!(finding["stack"].as_array().unwrap().last().unwrap(), caller);
            assert!(finding["source"]["line"].is_u64(), "{finding}");
        }
    }
}

#[test]
fn a_hook_between_ntdll_and_the_c_run_time_takes_no_blame() {
    for name in ["hook-dll-a.zip", "hook-dll-b.zip"] {
        let Some(case) = case(name) else { return };
        let found = groups(&case, None);
        let expected = ["+0x1111", "+0x9999"].map(|at| (format!("game.exe!{at}"), "game.exe".to_owned(), Value::Null, 2_000));
        assert_eq!(found, expected, "{name}");
        let told = answer(["report", case.to_str().unwrap(), "--by", "responsible", "--json"]);
        let doubts = told["doubts"].as_array().unwrap();
        assert!(doubts.iter().all(|doubt| !doubt.as_str().unwrap().contains("Hook")), "{doubts:?}");
    }
}

#[test]
fn a_rust_program_is_responsible_for_its_vectors_and_boxes() {
    let folder = tempfile::tempdir().unwrap();
    let Some(symbols) = unpacked("rust-sym.zip", folder.path()) else { return };
    let Some(case) = case("rust.zip") else { return };
    let found = groups(&case, Some(&symbols));
    let lines: Vec<_> = found.iter().map(|(caller, _, line, count)| (caller.as_str(), line["line"].as_u64(), *count)).collect();
    assert_eq!(lines, [("leak.exe!leak::grow", Some(2), 1_500), ("leak.exe!leak::load_textures", Some(1), 500)]);
    let text = highwater(["findings", case.to_str().unwrap(), "--symbols", &symbols]).out;
    let first: String = text.lines().take(5).collect();
    assert!(first.contains("leak::load_textures") && first.contains("leak.rs:1"), "{text}");
    // Library frames stay where only the allocator's run is left out.
    let folded = highwater(["report", case.to_str().unwrap(), "--symbols", &symbols, "--by", "function", "--fold"]).out;
    assert!(folded.contains("leak.exe!alloc::vec::"), "{folded}");
}

#[test]
fn the_frames_of_a_stack_have_their_lines_if_they_are_asked_for() {
    let report = answer(["report", "demo:", "--process", "MemoryTestApp.exe", "--by", "stack", "--json", "--sources"]);
    let mut known = 0;
    for group in report["groups"].as_array().unwrap() {
        let (stack, sources) = (group["stack"].as_array().unwrap(), group["sources"].as_array().unwrap());
        assert_eq!(stack.len(), sources.len());
        let of_main = stack.iter().zip(sources).filter(|(frame, _)| *frame == "MemoryTestApp.exe!Main");
        known += of_main.filter(|(_, line)| line.as_str().is_some_and(|line| line.contains("main.cpp:"))).count();
    }
    assert!(known > 0, "{report}");
    let without = answer(["report", "demo:", "--by", "stack", "--json", "--top", "1"]);
    assert!(without["groups"][0].get("sources").is_none());
}

#[test]
fn functions_and_differences_tell_a_line() {
    let functions = answer(["functions", "demo:", "--process", "MemoryTestApp.exe", "--json"]);
    let leak = |f: &&Value| f["function"] == "MemoryTestApp.exe!InnerLoopOperation" && f["layer"] == "heap";
    let source = &functions["functions"].as_array().unwrap().iter().find(leak).unwrap()["source"];
    assert_eq!(*source, json!({"file": r"C:\MemoryTestApp\main.cpp", "line": 48}));
    let diff = answer(["diff", "demo:@0..10", "demo:@0..20", "--by", "responsible", "--json"]);
    let leak = |g: &&Value| g["responsible"] == "MemoryTestApp.exe!InnerLoopOperation";
    assert_eq!(diff["groups"].as_array().unwrap().iter().find(leak).unwrap()["source"], *source);
    let csv = highwater(["export", "demo:", "--format", "csv", "--by", "responsible", "-o", "-"]).out;
    assert!(csv.lines().any(|line| line.contains("InnerLoopOperation") && line.contains("main.cpp:48")), "{csv}");
}

#[test]
fn what_a_baseline_accepts_stays_silent_until_it_holds_more() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("known.json");
    let path = file.to_str().unwrap();
    let all = answer(["findings", "demo:", "--json", "--write-baseline", path]);
    assert!(all.get("accepted").is_none());
    let count = all["findings"].as_array().unwrap().len();
    let silent = answer(["findings", "demo:", "--json", "--baseline", path]);
    assert_eq!((silent["findings"].as_array().unwrap().len(), silent["accepted"].as_u64()), (0, Some(count as u64)));
    assert_eq!(silent["unused"], json!([]));
    let text = highwater(["findings", "demo:", "--baseline", path]).out;
    assert!(text.contains(&format!("{count} findings accepted by the baseline.")), "{text}");
    // It is not written over unasked, and never while it is read.
    assert_eq!(highwater(["findings", "demo:", "--write-baseline", path]).code, Some(2));
    assert_eq!(highwater(["findings", "demo:", "--baseline", path, "--write-baseline", path, "--replace"]).code, Some(2));
    let mut known: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let entries = known["accepted"].as_array_mut().unwrap();
    let leak = entries.iter_mut().find(|entry| entry["kind"] == "growth" && entry["process"] == "MemoryTestApp.exe").unwrap();
    leak["most_bytes"] = json!(1);
    leak["reason"] = json!("cache");
    let gone = json!({"process": "old.exe", "layer": "heap", "kind": "growth", "responsible": null, "most_bytes": 5});
    entries.push(gone);
    std::fs::write(&file, known.to_string()).unwrap();
    let more = answer(["findings", "demo:", "--json", "--baseline", path]);
    let told: Vec<_> = more["findings"].as_array().unwrap().iter().map(|f| f["function"].as_str().unwrap()).collect();
    assert_eq!(told, ["MemoryTestApp.exe!InnerLoopOperation"]);
    assert_eq!((more["unused"][0]["process"].as_str(), more["unused"].as_array().unwrap().len()), (Some("old.exe"), 1));
    for bad in ["", "[]", "{\"schema\":\"other\",\"accepted\":[]}", "{\"schema\":\"highwater.baseline/1\",\"accepted\":[{}]}"] {
        std::fs::write(&file, bad).unwrap();
        let run = highwater(["findings", "demo:", "--baseline", path]);
        assert!(run.code == Some(2) && run.err.contains("known.json") && run.err.lines().count() == 1, "{run:?}");
    }
}

#[test]
fn a_teams_rules_say_what_is_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.toml");
    let leaks = |rules: &str| {
        std::fs::write(&file, rules).unwrap();
        let words = ["report", "demo:", "--process", "MemoryTestApp.exe", "--heap", "0x1d0000", "--by", "responsible", "--json"];
        let report = answer([&words[..], &["--stack-rules", file.to_str().unwrap()]].concat());
        let names = report["groups"].as_array().unwrap().iter().map(|group| group["responsible"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let has = |names: &[String], name: &str| names.iter().any(|other| other == name);
    assert!(has(&leaks(""), "MemoryTestApp.exe!InnerLoopOperation"));
    assert!(!has(&leaks("[[allocator]]\nframe = 'InnerLoop*'\n"), "MemoryTestApp.exe!InnerLoopOperation"));
    let own = leaks("[[own]]\nsource = '\\MemoryTestApp\\main.cpp'\n");
    assert!(
        has(&own, "MemoryTestApp.exe!InnerLoopOperation") && !own.iter().any(|name| name.contains("Array<Setting>")),
        "{own:?}"
    );
}
