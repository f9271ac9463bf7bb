//! `highwater symbols` with stores and servers: fetching fills a store so that names need no
//! server any more, what does not come is told, servers are asked only where they were named,
//! and one of no use costs a bounded time. And addresses of a trace against the answers that
//! other programs give for its PDBs. The server is a real one on loopback.

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::named::{KERNEL, LOST, USER, story};
use crate::common::server::{Reply, Server};
use crate::common::sought::files;
use crate::common::trace::{session, trace};
use crate::common::{Run, corpus};
use highwater::events::{Event, ImageChange, Record};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::symbols::{ModuleState, Options, Seek, ServerAnswers, Sources, Stop, SymbolPath, Symbols, identify};
use serde_json::Value;
use tempfile::TempDir;

/// A trace in which modules of the corpus are mapped, and a cache of its own.
struct Case {
    folder: TempDir,
    corpus: PathBuf,
    trace: String,
}

const PDBS: [&str; 3] = ["softokn3.pdb", "WriteArgument.pdb", "CrashWithException.pdb"];

impl Case {
    /// With a module of which nobody has the PDB.
    fn with_lost() -> Option<Self> {
        Self::of(|_| true)
    }

    /// With names for every module.
    fn complete() -> Option<Self> {
        Self::of(|event| match event {
            Event::Image(_, image) => image.base != LOST,
            Event::ImageId(id) => id.base != LOST,
            _ => true,
        })
    }

    fn of(keep: impl Fn(&Event) -> bool) -> Option<Self> {
        let corpus = corpus()?;
        let folder = tempfile::tempdir().unwrap();
        let records: Vec<(Record, Vec<u64>)> = story(&corpus).into_iter().filter(|(record, _)| keep(&record.event)).collect();
        let file = folder.path().join("trace.etl");
        std::fs::write(&file, trace(session(false), &records)).unwrap();
        Some(Self { trace: file.display().to_string(), folder, corpus })
    }

    /// Where a PDB of the corpus stands on a server.
    fn place(&self, pdb: &str) -> String {
        let key = identify(&self.corpus.join(pdb), &Stop::default()).unwrap();
        format!("/{pdb}/{}/{pdb}", key.folder())
    }

    /// A server that has all PDBs.
    fn server(&self) -> Server {
        let server = Server::start();
        for pdb in PDBS {
            server.put(&self.place(pdb), Reply::File(std::fs::read(self.corpus.join(pdb)).unwrap()));
        }
        server
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn run(&self, words: &[&str], environment: &str) -> Run {
        let output = Command::new(env!("CARGO_BIN_EXE_highwater"))
            .args(words)
            .env("HIGHWATER_CACHE_DIR", self.cache())
            .env("_NT_SYMBOL_PATH", environment)
            .env("_NT_ALT_SYMBOL_PATH", "")
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    fn fetch(&self, path: &str) -> Run {
        self.run(&["symbols", "fetch", &self.trace, "--symbols", path], "")
    }

    /// What `check` says of each module: name, state and reason.
    fn check(&self, words: &[&str], environment: &str) -> Vec<(String, String, String)> {
        let run = self.run(&[&["symbols", "check", &self.trace, "--json"], words].concat(), environment);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        let answer: Value = serde_json::from_str(&run.out).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let modules = answer["modules"].as_array().unwrap().iter();
        modules.map(|module| (text(&module["module"]), text(&module["state"]), text(&module["reason"]))).collect()
    }
}

fn cabinet(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut builder = cab::CabinetBuilder::new();
    builder.add_folder(cab::CompressionType::MsZip).add_file(name);
    let mut writer = builder.build(Cursor::new(Vec::new())).unwrap();
    while let Some(mut file) = writer.next_file().unwrap() {
        file.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn what_was_fetched_is_there_without_a_server_and_without_a_path() {
    let Some(case) = Case::complete() else { return };
    let server = case.server();
    let softokn = case.place("softokn3.pdb");
    // One of them as Microsoft's server has them.
    let bytes = std::fs::read(case.corpus.join("softokn3.pdb")).unwrap();
    server.replies.lock().unwrap().remove(&softokn);
    let packed = format!("{}_", softokn.strip_suffix('b').unwrap());
    server.put(&packed, Reply::File(cabinet("softokn3.pdb", &bytes)));

    let run = case.fetch(&server.url);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    assert!(run.out.starts_with("3 modules: 3 fetched from servers ("), "{}", run.out);
    assert!(run.out.ends_with("), 0 there already, 0 missing\n"), "{}", run.out);
    let mut expected: Vec<&str> = PDBS.to_vec();
    expected.sort();
    assert_eq!(files(&case.cache().join("symbols")), expected, "whole, expanded, and nothing else");
    assert!(server.asked().contains(&packed));

    let run = case.fetch(&server.url);
    assert_eq!(run.out, "3 modules: 0 fetched from servers (0 B), 3 there already, 0 missing\n");
    assert_eq!(server.asked(), Vec::<String>::new(), "the second run asks nothing");

    let report = case.run(&["report", &case.trace, "--by", "stack", "--json"], "");
    assert!(report.out.contains("softokn3.dll!freebl_RunLoaderOnce"), "{}", report.out);
    // Another path is no reason to ask for what is there.
    let states = case.check(&["--symbols", &format!("srv*{}*{}", case.folder.path().join("near").display(), server.url)], "");
    assert!(states.iter().all(|(_, state, _)| state == "ready"), "{states:?}");
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[test]
fn the_environment_s_servers_are_asked_by_a_fetch_and_by_nothing_else() {
    let Some(case) = Case::complete() else { return };
    let server = case.server();
    let store = case.folder.path().join("store").display().to_string();
    let environment = format!("srv*{store}*{}", server.url);
    let address = format!("{:#x}@0.00003", USER + 0x3EB8);
    let run = case.run(&["symbols", "lookup", &case.trace, "--pid", "4660", &address], &environment);
    assert!(run.code == Some(0) && run.out.contains("softokn3.dll!+0x3eb8") && run.err.contains("no names for"), "{run:?}");
    assert_eq!(case.run(&["symbols", "check", &case.trace], &environment).code, Some(0));
    // Nor by one that names another path.
    let run = case.run(&["symbols", "fetch", &case.trace, "--symbols", &store], &environment);
    assert_eq!(run.code, Some(1));
    assert_eq!(server.asked(), Vec::<String>::new());
    let run = case.run(&["symbols", "fetch", &case.trace], &environment);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    assert_eq!(files(Path::new(&store)).len(), 3, "in the store that the environment names");
    server.asked();
    let states = case.check(&[], &environment);
    assert!(states.iter().all(|(_, state, _)| state == "ready"), "{states:?}");
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[test]
fn what_several_traces_have_is_asked_for_once_and_what_is_missing_too() {
    let Some(case) = Case::with_lost() else { return };
    let server = case.server();
    let copy = case.folder.path().join("copy.etl").display().to_string();
    std::fs::copy(&case.trace, &copy).unwrap();
    let run = case.run(&["symbols", "fetch", &case.trace, &copy, "--symbols", &server.url], "");
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("no symbols for lost.dll") && run.err.ends_with("1 of 4 modules missing\n"), "{}", run.err);
    assert!(run.out.starts_with("4 modules: 3 fetched from servers ("), "{}", run.out);
    let mut asked = server.asked();
    let count = asked.len();
    asked.sort();
    asked.dedup();
    assert_eq!(asked.len(), count, "{asked:?}");
    assert!(PDBS.iter().all(|pdb| asked.contains(&case.place(pdb))), "{asked:?}");
}

#[test]
fn a_damaged_download_is_told_and_not_kept() {
    let Some(case) = Case::complete() else { return };
    let server = case.server();
    let bytes = std::fs::read(case.corpus.join("softokn3.pdb")).unwrap();
    let cut = bytes[..bytes.len() - 4096].to_vec();
    let other = std::fs::read(case.corpus.join("crash.pdb")).unwrap();
    for (bad, reason) in [(cut, "damaged"), (other, "of another build"), (b"<html>login".to_vec(), "web page")] {
        server.put(&case.place("softokn3.pdb"), Reply::File(bad));
        let run = case.fetch(&server.url);
        assert_eq!(run.code, Some(1), "{reason}");
        let told = run.err.lines().find(|line| line.contains("no symbols for softokn3.dll")).unwrap();
        assert!(told.contains(reason), "{reason}: {told}");
        assert_eq!(files(&case.cache().join("symbols")).len(), 2, "the others came");
    }
}

#[test]
fn a_server_that_says_nothing_costs_a_bounded_time_for_all_traces_together() {
    let Some(case) = Case::with_lost() else { return };
    let server = Server::start();
    server.put("*", Reply::Mute);
    let capture = Capture::open(&[Input::File(case.trace.clone().into())]).unwrap();
    let trace = Arc::new(load(&capture, &mut Unwatched).unwrap());
    let (answers, patience) = (ServerAnswers::default(), Duration::from_millis(400));
    let fetch = || {
        let store = Some(case.cache().join("symbols"));
        let path = SymbolPath::parse(&server.url, store.as_deref());
        let sources = Sources { path, network: true, store, patience, ..Sources::default() };
        let seek = Seek::Files(trace.processes.iter().flat_map(|p| &p.modules).map(highwater::symbols::ModuleKey::of).collect());
        let options = Options { sources, seek, answers: answers.clone(), saved: None, ..Options::default() };
        let symbols = Symbols::start(Arc::clone(&trace), options, |_| true, || {});
        let (start, mut looks) = (Instant::now(), 0);
        symbols.wait_watched(Duration::from_millis(20), |modules| {
            looks += 1;
            assert_eq!(modules.len(), 4);
        });
        let reasons = symbols.modules().into_iter().map(|module| module.state);
        let is_told = |state: &ModuleState| matches!(state, ModuleState::Failed(why) if why.contains("silent for too long"));
        assert!(reasons.clone().all(|state| is_told(&state)), "{:?}", reasons.collect::<Vec<_>>());
        (start.elapsed(), looks)
    };
    let (first, looks) = fetch();
    assert!(first < 8 * patience && looks > 2, "{first:?}, {looks} looks");
    server.asked();
    let (second, _) = fetch();
    assert_eq!(server.asked(), Vec::<String>::new(), "it is known to be of no use");
    assert!(second < patience, "{second:?}");
}

#[test]
fn where_the_trace_names_no_pdb_the_image_is_fetched_that_does() {
    const STAMP: u32 = 1_589_281_187;
    const SIZE: u64 = 0x7000;
    let Some(corpus) = corpus() else { return };
    let records: Vec<(Record, Vec<u64>)> = story(&corpus)
        .into_iter()
        .filter(|(record, _)| !matches!(record.event, Event::ImageId(_)))
        .filter(|(record, _)| !matches!(&record.event, Event::Image(_, image) if image.base != KERNEL))
        .map(|(mut record, frames)| {
            if let Event::Image(ImageChange::Load, image) = &mut record.event {
                (image.size, image.time_stamp) = (SIZE, STAMP);
                image.path = r"\Device\Volume1\WriteArgument.exe".to_owned();
            }
            (record, frames)
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.etl");
    std::fs::write(&file, trace(session(false), &records)).unwrap();
    let case = Case { trace: file.display().to_string(), folder, corpus };

    let server = case.server();
    let place = format!("/WriteArgument.exe/{STAMP:08X}{SIZE:x}/WriteArgument.exe");
    let image = std::fs::read(case.corpus.join("WriteArgument.exe")).unwrap();
    let store = case.cache().join("symbols");
    // Of another build, and not whole.
    let other = std::fs::read(case.corpus.join("crash.exe")).unwrap();
    for (bad, reason) in [(other, "an image of another build"), (image[..image.len() - 600].to_vec(), "it ends too early")] {
        server.put(&place, Reply::File(bad));
        let run = case.fetch(&server.url);
        assert!(run.code == Some(1) && run.err.contains(reason), "{reason}: {}", run.err);
        assert_eq!(files(&store), Vec::<String>::new());
    }
    assert!(case.check(&[], "")[0].2.contains("the trace does not name its PDB"));
    server.put(&place, Reply::File(image));
    let run = case.fetch(&server.url);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    assert_eq!(files(&store), ["WriteArgument.exe", "WriteArgument.pdb"]);
    server.asked();
    assert_eq!(case.check(&[], "")[0].1, "ready");
    assert_eq!(case.fetch(&server.url).code, Some(0));
    assert_eq!(server.asked(), Vec::<String>::new());
}

/// The addresses of a list of expectations.
fn expected(answers: &Value) -> Vec<&Value> {
    let lists = ["addresses", "addresses_inside_an_inlined_row"];
    lists.iter().filter_map(|list| answers[list].as_array()).flatten().collect()
}

#[test]
fn addresses_of_a_trace_are_called_what_other_programs_call_them() {
    let Some(case) = Case::complete() else { return };
    let all: Value = serde_json::from_str(&std::fs::read_to_string(case.corpus.join("pdb-expected.json")).unwrap()).unwrap();
    let path = case.corpus.display().to_string();
    // Two programs at one place, one after the other: the time tells which is meant.
    for (pdb, module, base, at) in [
        ("softokn3.pdb", "softokn3.dll", USER, "0.00003"),
        ("CrashWithException.pdb", "CrashWithException.exe", USER, "0.00007"),
        ("WriteArgument.pdb", "driver.sys", KERNEL, "0.00007"),
    ] {
        let addresses = expected(&all[pdb]);
        let rva = |address: &Value| u64::from_str_radix(address["rva"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
        let asked: Vec<String> = addresses.iter().map(|address| format!("{:#x}@{at}", base + rva(address))).collect();
        let words: Vec<&str> = ["symbols", "lookup", &case.trace, "--pid", "4660", "--exact", "--json", "--symbols", &path]
            .into_iter()
            .chain(asked.iter().map(String::as_str))
            .collect();
        let run = case.run(&words, "");
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        let answer: Value = serde_json::from_str(&run.out).unwrap();
        let found = answer["addresses"].as_array().unwrap();
        assert!(found.len() == addresses.len() && found.len() > 10);
        for (found, wanted) in found.iter().zip(addresses) {
            assert_eq!((&found["module"], &found["rva"]), (&module.into(), &wanted["rva"]));
            let lines = |frames: &Value| frames.as_array().unwrap().iter().map(|f| f["line"].clone()).collect::<Vec<_>>();
            assert_eq!(lines(&found["frames"]), lines(&wanted["frames"]), "{found} {wanted}");
        }
    }
    // As a stack has it: behind the call.
    let address = format!("{:#x}@0.00003", USER + 0x3EB8);
    let run = case.run(&["symbols", "lookup", &case.trace, "--pid", "4660", &address], "");
    let frames = "    freebl_RunLoaderOnce  ";
    assert!(run.out.contains(frames) && run.out.contains("loader.c:86\n    SSLv3_MAC_ConstantTime  "), "{}", run.out);
}
