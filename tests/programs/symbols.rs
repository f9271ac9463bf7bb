//! `highwater symbols`: what addresses of a trace are called, of which modules names are
//! there, and fetching what is missing. Servers are in `tests/symbols/fetching.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use crate::common::Run;
use crate::common::trace::{session, small, trace};
use highwater::events::{Event, ImageChange, ImageInfo, ProcessChange, ProcessInfo, Record};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::units::{Pid, Tid};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a cache of its own, and no symbol path.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Run {
        self.run_with(words, &[])
    }

    /// Runs the program with these environment variables.
    fn run_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Run {
        let output = Command::new(env!("CARGO_BIN_EXE_highwater"))
            .args(words)
            .envs(variables.iter().copied())
            .env("HIGHWATER_CACHE_DIR", self.path("cache"))
            .env("_NT_SYMBOL_PATH", "")
            .env("_NT_ALT_SYMBOL_PATH", "")
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    fn json(&self, words: &[&str]) -> Value {
        let run = self.run(&[words, &["--json"]].concat());
        assert_eq!(run.code, Some(0), "{}", run.err);
        serde_json::from_str(&run.out).unwrap()
    }

    /// One line on stderr, exit code 2 and no answer.
    fn refuses(&self, words: &[&str]) -> String {
        let run = self.run(words);
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(2), "", 1), "{words:?}: {run:?}");
        run.err
    }
}

fn list<'a>(answer: &'a Value, of: &str) -> &'a [Value] {
    answer[of].as_array().unwrap()
}

fn names(answer: &Value) -> Vec<&str> {
    list(answer, "modules").iter().map(|module| module["module"].as_str().unwrap()).collect()
}

/// What the frames of an address are called in a stack, outermost first.
fn printed(address: &Value) -> Vec<String> {
    let frames = list(address, "frames").iter().rev();
    let (module, rva) = (address["module"].as_str(), address["rva"].as_str());
    let Some(module) = module else { return vec![address["address"].as_str().unwrap().to_owned()] };
    let named: Vec<String> = frames.map(|frame| format!("{module}!{}", frame["function"].as_str().unwrap())).collect();
    if named.is_empty() { vec![format!("{module}!+{}", rva.unwrap())] } else { named }
}

#[test]
fn an_address_of_a_trace_is_called_what_reports_call_it() {
    let desk = Desk::new();
    let demo = load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap();
    for name in ["MemoryTestApp.exe", "TelemetryService.exe"] {
        let reports = desk.json(&["report", "demo:", "--by", "stack", "--process", name]);
        let reported: BTreeSet<Vec<String>> =
            list(&reports, "groups").iter().map(|group| serde_json::from_value(group["stack"].clone()).unwrap()).collect();
        // All addresses of its stacks, when they were first seen, in the process whose code it was.
        let sites = demo.sites.iter().filter(|site| demo.process(demo.process_of(site)).is_called(name));
        let stacks: Vec<(String, Vec<String>)> = sites
            .map(|site| {
                let asked = |node| format!("{:#x}@{}", demo.stacks.address(node), ticks(site.first.0));
                let pid = demo.process(site.caller).pid.0.to_string();
                (pid, demo.stacks.path(site.stack).into_iter().map(asked).collect())
            })
            .collect();
        let mut asked: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (pid, stack) in &stacks {
            asked.entry(pid).or_default().extend(stack.iter().map(String::as_str));
        }
        assert!(asked.values().map(BTreeSet::len).sum::<usize>() > 50);
        let mut called: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        for (pid, asked) in &asked {
            let asked: Vec<&str> = asked.iter().copied().collect();
            let answer = desk.json(&[&["symbols", "lookup", "demo:", "--pid", pid], &asked[..]].concat());
            let addresses = list(&answer, "addresses");
            assert_eq!(addresses.len(), asked.len());
            called.extend(asked.into_iter().map(|address| (*pid, address)).zip(addresses.iter().map(printed)));
        }
        let looked_up: BTreeSet<Vec<String>> = stacks
            .iter()
            .map(|(pid, stack)| stack.iter().flat_map(|address| called[&(pid.as_str(), address.as_str())].clone()).collect())
            .collect();
        assert_eq!(looked_up, reported, "{name}");
    }
}

/// A time of the demo in seconds: its ticks are 100 ns.
fn ticks(ticks: i64) -> String {
    format!("{}.{:07}", ticks / 10_000_000, ticks % 10_000_000)
}

#[test]
fn a_looked_up_address_says_where_and_when_it_is() {
    let desk = Desk::new();
    let run = desk.run(&["symbols", "lookup", "demo:", "--pid", "4660", "0x7FF63A4015E6", "10@5.5", "--json"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let keys = ["schema", "trace", "pid", "addresses", "address", "at_s", "process", "process_start_s", "module", "path", "rva"];
    let keys = keys.into_iter().chain(["mapped_s", "unmapped_s", "frames", "function", "file", "line"]);
    let places: Vec<usize> = keys.map(|key| run.out.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key}"))).collect();
    assert!(places.is_sorted(), "{}", run.out);
    let answer: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&answer["schema"], &answer["trace"]), (&"highwater.symbol_lookup/1".into(), &"demo:".into()));
    let [named, nowhere] = list(&answer, "addresses") else { panic!("{answer}") };
    // When its process ended the module was unmapped already: it is the last time at which it was there.
    let at = (&named["at_s"], &named["unmapped_s"], &named["process_start_s"], &named["rva"]);
    assert_eq!(at, (&35.615_499_9.into(), &35.6155.into(), &1.0.into(), &"0x15e6".into()));
    assert_eq!(named["frames"][0]["function"], "Array<Setting>::Grow");
    assert_eq!((&nowhere["address"], &nowhere["at_s"]), (&"0x10".into(), &5.5.into()));
    assert!(nowhere["module"].is_null() && nowhere["rva"].is_null() && list(nowhere, "frames").is_empty());
    // The byte behind the call is in another line, or the next function.
    let line = |words: &[&str]| {
        let answer = desk.json(&[&["symbols", "lookup", "demo:", "--pid", "4660"], words].concat());
        answer["addresses"][0]["frames"].clone()
    };
    assert_eq!(line(&["7FF6`3A4015E5", "--exact"]), named["frames"]);
    let text = desk.run(&["symbols", "lookup", "demo:", "--pid", "4660", "7FF63A4015E6@35.62", "0x10"]).out;
    for part in ["MemoryTestApp.exe!+0x15e6", "unmapped at 35.6155 s", "Array<Setting>::Grow  ", "system.h:61", "in no module"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // What has no names is told why.
    let modules = desk.json(&["report", "demo:", "--by", "stack", "--process", "4660"]);
    let frame = modules.to_string();
    let rva = frame.split("ntoskrnl.exe!+0x").nth(1).expect("the demo has frames of the kernel");
    let rva = u64::from_str_radix(rva.split('"').next().unwrap(), 16).unwrap();
    let trace = load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap();
    let kernel = trace.processes.iter().flat_map(|process| &process.modules).find(|module| module.name() == "ntoskrnl.exe");
    let address = format!("{:#x}", kernel.unwrap().base + rva);
    let run = desk.run(&["symbols", "lookup", "demo:", "--pid", "4660", &address]);
    assert!(run.code == Some(0) && run.err.contains("no names for ntoskrnl.exe: "), "{run:?}");
    assert!(run.out.contains(&format!("ntoskrnl.exe!+{rva:#x}\n    no name\n")), "{run:?}");
}

#[test]
fn without_a_time_it_is_what_was_mapped_there_last() {
    let mut records = Vec::new();
    let mut tell = |time: i64, event: Event| {
        records.push((Record { time: 1_000 + time, pid: Pid(70), tid: Tid(2), event }, Vec::new()));
    };
    let info = ProcessInfo { key: 1, parent: 1, name: "host.exe".into(), command_line: String::new() };
    tell(10, Event::Process(ProcessChange::Start, Box::new(info.clone())));
    for (i, name) in ["first.dll", "second.dll", "third.dll"].into_iter().enumerate() {
        let path = format!(r"\Device\Volume1\{name}");
        let image = || Box::new(ImageInfo { base: 0x40_0000, size: 0x1_0000, checksum: 0, time_stamp: 7, path: path.clone() });
        tell(1_000_000 * (i as i64 + 1), Event::Image(ImageChange::Load, image()));
        tell(1_000_000 * (i as i64 + 1) + 500_000, Event::Image(ImageChange::Unload, image()));
    }
    tell(5_000_000, Event::Process(ProcessChange::End, Box::new(info)));
    let desk = Desk::new();
    let file = desk.file("plugins.etl", &trace(session(false), &records));
    let answer = desk.json(&["symbols", "lookup", &file, "--pid", "70", "0x401000", "0x401000@0.12", "0x401000@0.22"]);
    let modules: Vec<_> = list(&answer, "addresses").iter().map(|address| address["module"].as_str().unwrap()).collect();
    assert_eq!(modules, ["third.dll", "first.dll", "second.dll"]);
}

/// Two lives of one id, each with an image of its own at the same place.
fn two_lives() -> Vec<u8> {
    let mut records = Vec::new();
    let mut tell = |time: i64, event: Event| {
        records.push((Record { time: 1_000 + time, pid: Pid(70), tid: Tid(2), event }, Vec::new()));
    };
    for (from, name) in [(1_000_000, "first.exe"), (5_000_000, "second.exe")] {
        let info = ProcessInfo { key: from as u64, parent: 1, name: name.into(), command_line: String::new() };
        let path = format!(r"\Device\Volume1\{name}");
        let image = || Box::new(ImageInfo { base: 0x40_0000, size: 0x1_0000, checksum: 0, time_stamp: 7, path: path.clone() });
        tell(from, Event::Process(ProcessChange::Start, Box::new(info.clone())));
        tell(from + 10, Event::Image(ImageChange::Load, image()));
        tell(from + 2_000_000, Event::Image(ImageChange::Unload, image()));
        tell(from + 2_000_010, Event::Process(ProcessChange::End, Box::new(info)));
    }
    trace(session(false), &records)
}

#[test]
fn of_several_lives_of_an_id_the_one_is_asked_that_runs_then() {
    let desk = Desk::new();
    let file = desk.file("two.etl", &two_lives());
    let answer = desk.json(&["symbols", "lookup", &file, "--pid", "70", "0x401000@0.2", "0x401000@0.6", "0x401000"]);
    let modules: Vec<_> = list(&answer, "addresses").iter().map(|address| address["module"].as_str().unwrap()).collect();
    assert_eq!(modules, ["first.exe", "second.exe", "second.exe"]);
    let between = desk.refuses(&["symbols", "lookup", &file, "--pid", "70", "0x401000@0.4"]);
    assert!(between.contains("process 70 did not run at 0.4 s"), "{between}");
    let run = desk.run(&["symbols", "lookup", &file, "--pid", "70", "0x401000@0.2"]);
    assert!(run.err.contains("no names for first.exe: ") && run.err.lines().count() == 1, "{}", run.err);
    assert!(run.out.contains("first.exe!+0x1000\n    no name\n"), "{}", run.out);
}

#[test]
fn wrong_questions_are_refused_in_one_line() {
    let desk = Desk::new();
    let file = desk.file("small.etl", &small(false));
    let pid = desk.refuses(&["symbols", "lookup", &file, "--pid", "99", "0x10"]);
    assert!(pid.contains("small.etl") && pid.contains("no process has the id 99"), "{pid}");
    let late = desk.refuses(&["symbols", "lookup", &file, "--pid", "4660", "0x10@7"]);
    assert!(late.contains("7 s is not in the trace"), "{late}");
    for address in ["main", "", "0x", "0x1@", "0x1@x", "0x1@1@2", "10000000000000000"] {
        desk.refuses(&["symbols", "lookup", &file, "--pid", "4660", address]);
    }
    for words in [&["demo:", "0x10"][..], &[&file, "0x10"], &[&file, "0x7FF700001000"], &["x.pdb", "0x10@5"]] {
        let why = desk.refuses(&[&["symbols", "lookup"], words].concat());
        assert!(why.contains("--pid"), "{words:?}: {why}");
    }
    for words in [&["0x10", "--exact"][..], &["0x10", "--symbols", "x"], &["0x10", "--pid", "x"], &["--pid", "1"]] {
        desk.refuses(&[&["symbols", "lookup", "x.pdb"], words].concat());
    }
    desk.refuses(&["symbols", "check"]);
    desk.refuses(&["symbols", "fetch"]);
    let run = desk.run(&["symbols", "lookup", "nowhere.etl", "--pid", "1", "0x10"]);
    assert_eq!((run.code, run.err.lines().count()), (Some(1), 1));
}

#[test]
fn a_check_lists_what_is_there_and_what_is_missing_and_why() {
    let desk = Desk::new();
    let answer = desk.json(&["symbols", "check", "demo:"]);
    assert_eq!(answer["schema"], "highwater.symbol_check/1");
    let all = list(&answer, "modules");
    let mut fields: Vec<&str> = all[0].as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort();
    let expected = ["age", "bytes", "file", "frames", "guid", "module", "named", "notes", "path", "reason", "source", "state"];
    assert_eq!(fields, expected);
    assert!(all.is_sorted_by_key(|module| std::cmp::Reverse(module["frames"].as_u64())), "those with most frames first");
    let of = |name: &str| all.iter().find(|module| module["module"] == name).unwrap();
    let app = of("MemoryTestApp.exe");
    assert_eq!((&app["state"], &app["source"]), (&"ready".into(), &"part of highwater".into()));
    assert_eq!((&app["reason"], &app["age"], &app["named"]), (&Value::Null, &1.into(), &app["frames"]));
    let ntdll = of("ntdll.dll");
    assert_eq!((&ntdll["state"], &ntdll["source"], &ntdll["named"]), (&"missing".into(), &Value::Null, &0.into()));
    assert!(ntdll["reason"].as_str().unwrap().contains("there is no symbol path"), "{ntdll}");
    assert_eq!(of("smss.exe")["state"], "unused");
    // Of one process: what its memory asks for and what was mapped in it.
    let one = desk.json(&["symbols", "check", "demo:", "--process", "memorytestapp.exe"]);
    assert!(names(&one).contains(&"MemoryTestApp.exe") && !names(&one).contains(&"TelemetryService.exe"), "{one}");

    let run = desk.run(&["symbols", "check", "demo:"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    for part in ["MemoryTestApp.exe", "part of highwater", "ntdll.pdb is neither", "9 modules with frames, 8 without names"] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    let run = desk.run(&["symbols", "check", "demo:", "--fail-missing", "--json"]);
    assert_eq!((run.code, run.err.as_str()), (Some(3), ""));
    assert_eq!(serde_json::from_str::<Value>(&run.out).unwrap(), answer, "the answer is given all the same");
    let run = desk.run(&["symbols", "check", "demo:", "--process", "nobody", "--fail-missing"]);
    assert_eq!(run.code, Some(0));
    assert!(run.err.contains("no process is called \"nobody\""), "{}", run.err);
}

#[test]
fn a_fetch_wants_a_symbol_path() {
    let desk = Desk::new();
    let why = desk.refuses(&["symbols", "fetch", "demo:"]);
    assert!(why.contains("--symbols") && why.contains("_NT_SYMBOL_PATH"), "{why}");
    assert!(!desk.path("cache").exists(), "nothing was done");
}

#[test]
fn what_cannot_be_fetched_is_listed_and_a_job_learns_of_it() {
    let desk = Desk::new();
    let folder = desk.path("symbols").display().to_string();
    let fetch = |words: &[&str]| desk.run(&[&["symbols", "fetch", "demo:", "--symbols", &folder], words].concat());
    let run = fetch(&[]);
    assert_eq!(run.code, Some(1));
    assert_eq!(run.out, "9 modules: 0 fetched from servers (0 B), 1 there already, 8 missing\n");
    assert_eq!(run.err.lines().filter(|line| line.contains("no symbols for ")).count(), 8, "{}", run.err);
    assert!(run.err.ends_with("8 of 9 modules missing\n"), "{}", run.err);
    let run = fetch(&["--json", "--quiet"]);
    let answer: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &answer["schema"]), (Some(1), &"highwater.symbol_fetch/1".into()));
    assert_eq!(list(&answer, "modules").len(), 9);
    assert!(list(&answer, "modules").iter().all(|module| module["named"].is_null()));
    // Modules that no stack leads through, and one process's alone.
    let run = fetch(&["--all"]);
    assert!(run.err.contains("no symbols for smss.exe: ") && run.out.starts_with("16 modules: "), "{run:?}");
    let run = fetch(&["--process", "MemoryTestApp.exe"]);
    assert!(!run.err.contains("TelemetryService"), "{run:?}");
}

#[cfg(feature = "symsrv")]
#[test]
fn a_server_that_wants_a_login_gets_that_of_the_netrc_file_or_of_the_environment() {
    use crate::common::server::{Reply, Server};
    let server = Server::start();
    server.put("*", Reply::Login("Basic bWU6c2VjcmV0"));
    let desk = Desk::new();
    let netrc = desk.file("netrc", b"machine 127.0.0.1 login me password secret\nmachine other login x password y\n");
    let wrong = desk.file("wrong", b"machine 127.0.0.1 login me password other\n");
    let none = desk.file("none", b"");
    let given = format!("{} Basic bWU6c2VjcmV0", server.url.strip_prefix("http://").unwrap());
    let fetch = |variables: &[(&str, &str)]| {
        let path = format!("srv*{}*{}", desk.path("store").display(), server.url);
        let run = desk.run_with(&["symbols", "fetch", "demo:", "--symbols", &path], variables);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(!run.err.contains("secret") && !run.err.contains("bWU6"), "{run:?}");
        run.err
    };
    let wants = "wants a login: name one in your netrc file";
    assert!(fetch(&[("NETRC", &none)]).contains(wants));
    assert!(fetch(&[("NETRC", &wrong)]).contains("does not accept the login"));
    for known in [[("NETRC", &*netrc), ("X", "")], [("NETRC", &*none), ("HIGHWATER_SYMBOL_AUTHORIZATION", &*given)]] {
        let told = fetch(&known);
        assert!(!told.contains("login") && told.contains("no symbols for"), "{told}");
    }
}

#[test]
fn each_file_is_a_trace_of_its_own_and_a_bad_one_holds_up_no_other() {
    let desk = Desk::new();
    let (small, bad) = (desk.file("small.etl", &small(false)), desk.file("bad.etl", b"no trace at all"));
    let run = desk.run(&["symbols", "check", &bad, "demo:", &small, "--json"]);
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("bad.etl") && run.err.contains("1 trace not readable"), "{}", run.err);
    let answer: Value = serde_json::from_str(&run.out).unwrap();
    let names = names(&answer);
    assert!(names.contains(&"MemoryTestApp.exe") && names.contains(&"Game.exe"), "{names:?}");
    // Frames add up.
    let frames = |words: &[&str]| {
        let answer = desk.json(&[&["symbols", "check"], words].concat());
        let all: BTreeMap<String, u64> = list(&answer, "modules")
            .iter()
            .map(|module| (module["path"].as_str().unwrap().to_owned(), module["frames"].as_u64().unwrap()))
            .collect();
        all
    };
    let (once, twice) = (frames(&["demo:"]), frames(&["demo:", "demo:"]));
    assert!(twice.iter().all(|(path, frames)| *frames == 2 * once[path]), "{once:?} {twice:?}");
    let run = desk.run(&["symbols", "check", &bad]);
    assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(1), "", 1));
}

#[cfg(not(windows))] // whose command lines are not that long
#[test]
fn a_symbol_path_of_thousands_of_parts_is_cut_with_a_sentence_and_costs_little() {
    let desk = Desk::new();
    let path = (0..3_000).map(|n| format!("cache*/none/c{n};/none/{n}")).collect::<Vec<_>>().join(";");
    let start = std::time::Instant::now();
    let run = desk.run(&["symbols", "check", "demo:", "--symbols", &path]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.err.matches("the symbol path is too long; its last").count(), 1, "{}", run.err);
    assert!(start.elapsed() < std::time::Duration::from_secs(60), "each of eight modules is asked for in all of it");
}
