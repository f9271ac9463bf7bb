//! PDBs against answers of other programs: functions, inlined frames, files, lines,
//! and types of allocations.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::common::{corpus, highwater};
use highwater::etl::Guid;
use highwater::symbols::{ModuleNames, PdbError, PdbKey, Request, Stop, facts, identify, resolve};
use serde_json::Value;

/// What is expected of one PDB.
struct Expected {
    path: PathBuf,
    answers: Value,
}

fn expected() -> Vec<Expected> {
    let Some(corpus) = corpus() else { return Vec::new() };
    let all: Value = serde_json::from_str(&std::fs::read_to_string(corpus.join("pdb-expected.json")).unwrap()).unwrap();
    let all = all.as_object().unwrap().clone();
    assert!(all.len() >= 5);
    all.into_iter().map(|(name, answers)| Expected { path: corpus.join(name), answers }).collect()
}

fn hex(value: &Value) -> u32 {
    u32::from_str_radix(value.as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap()
}

/// Names as the expectations are to be compared: without blanks and words of C++.
fn plain(name: &str) -> String {
    let words = ["class ", "struct ", "enum ", "union "];
    words.iter().fold(name.to_owned(), |name, word| name.replace(word, "")).replace(' ', "")
}

fn ends_with_path(path: &str, end: &str) -> bool {
    path.replace('\\', "/").to_lowercase().ends_with(&end.to_lowercase())
}

fn ask(path: &Path, rvas: &[u32]) -> Result<ModuleNames, PdbError> {
    let request = Request { all: rvas.to_vec(), ..Request::default() };
    Ok(resolve(path, request, &Stop::default(), |_| {})?.names)
}

#[test]
fn every_listed_address_has_the_frames_that_other_programs_find() {
    for Expected { path, answers } in expected() {
        let lists = ["addresses", "addresses_inside_an_inlined_row"];
        let addresses: Vec<&Value> = lists.iter().filter_map(|list| answers[list].as_array()).flatten().collect();
        let rvas: Vec<u32> = addresses.iter().map(|address| hex(&address["rva"])).collect();
        let names = ask(&path, &rvas).unwrap();
        for (address, rva) in addresses.iter().zip(rvas) {
            let found: Vec<_> = names.frames(rva).unwrap().collect();
            let wanted = address["frames"].as_array().unwrap();
            let place = format!("{} {rva:#x}: {found:?}", path.display());
            assert_eq!(found.len(), wanted.len(), "{place}");
            for (found, wanted) in found.iter().zip(wanted) {
                assert_eq!(plain(found.function), plain(wanted["function"].as_str().unwrap()), "{place}");
                assert_eq!(found.line.map(u64::from), wanted["line"].as_u64(), "{place}");
                let file = wanted["file"].as_str().unwrap();
                assert!(found.file.is_some_and(|path| ends_with_path(path, file)), "{place}");
            }
        }
    }
}

#[test]
fn identity_and_number_of_allocation_sites_are_those_that_other_programs_find() {
    for Expected { path, answers } in expected() {
        let facts = facts(&path, &Stop::default()).unwrap();
        assert_eq!(facts.key.guid.to_string(), answers["guid"].as_str().unwrap());
        assert_eq!(u64::from(facts.key.age), answers["age"].as_u64().unwrap());
        assert_eq!(facts.heap_allocation_sites as u64, answers["heapallocsite"].as_u64().unwrap());
        assert_eq!(facts.fastlink, path.ends_with("CppConsoleApp.pdb"));
        assert_eq!(identify(&path, &Stop::default()), Ok(facts.key));
    }
}

#[test]
fn a_call_that_allocates_has_its_type_and_void_is_no_type() {
    for Expected { path, answers } in expected() {
        let sites = answers["heap_alloc_sites"].as_array().unwrap();
        let back = |site: &Value| hex(&site["rva"]) + site["call_size"].as_u64().unwrap() as u32;
        // What is recorded is where the call returns to; it is looked up one byte before.
        let rvas: Vec<u32> = sites.iter().map(|site| back(site) - 1).collect();
        let names = ask(&path, &rvas).unwrap();
        for site in sites {
            let found = names.allocated_type(back(site));
            let wanted = site["type"].as_str().unwrap();
            assert_eq!(found, (wanted != "void").then_some(wanted), "{} {site}", path.display());
        }
    }
}

#[test]
fn what_is_looked_at_comes_first_and_what_is_known_stays() {
    let Some(Expected { path, .. }) = expected().into_iter().find(|pdb| pdb.path.ends_with("softokn3.pdb")) else { return };
    let published = Arc::new(Mutex::new(Vec::new()));
    let publish = {
        let published = Arc::clone(&published);
        move |names: ModuleNames| published.lock().unwrap().push(names)
    };
    let request = Request { first: vec![0x28a06], all: vec![0x2e30, 0x28a06, 0x28a26], ..Request::default() };
    let all = resolve(&path, request, &Stop::default(), publish).unwrap().names;
    let published = std::mem::take(&mut *published.lock().unwrap());
    let [first] = published.as_slice() else { panic!("{} answers", published.len()) };
    assert_eq!((first.len(), all.len()), (1, 3));
    assert_eq!(first.allocated_type(0x28a07), Some("SDBStr"));
    assert_eq!(all.allocated_type(0x28a07), Some("SDBStr"));
    assert_eq!(all.allocated_type(0x28a27), Some("SDBPrivateStr"), "of a compiland that was read before");
    let request = Request { all: vec![0x3eb7], known: Some(Arc::new(all.clone())), ..Request::default() };
    let more = resolve(&path, request, &Stop::default(), |_| {}).unwrap().names;
    assert_eq!(more.len(), 4);
    assert_eq!(more.frames(0x2e30).unwrap().collect::<Vec<_>>(), all.frames(0x2e30).unwrap().collect::<Vec<_>>());
    assert_eq!(more.allocated_type(0x28a27), Some("SDBPrivateStr"));
}

#[test]
fn a_pdb_of_another_build_is_refused_with_both_identities() {
    for Expected { path, .. } in expected() {
        let found = identify(&path, &Stop::default()).unwrap();
        let other = [PdbKey { age: found.age + 1, ..found }, PdbKey { guid: Guid::from_bytes([7; 16]), ..found }];
        for wanted in other {
            let request = Request { key: Some(wanted), ..Request::default() };
            let result = resolve(&path, request, &Stop::default(), |_| {});
            assert_eq!(result, Err(PdbError::OtherBuild { wanted, found }));
        }
        let request = Request { key: Some(found), ..Request::default() };
        assert!(resolve(&path, request, &Stop::default(), |_| {}).is_ok());
    }
}

#[test]
fn what_is_no_pdb_or_ends_too_early_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.pdb");
    let reason = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        ask(&file, &[0x1000]).unwrap_err().to_string()
    };
    assert_eq!(reason(b""), "it is not a PDB");
    assert_eq!(reason(&[0; 5000]), "it is not a PDB");
    assert!(reason(b"BSJB and more").contains(".NET"));
    assert!(reason(b"Microsoft MSFZ Container and more").contains("MSFZ"));
    assert!(reason(b"Microsoft C/C++ program database 2.00\r\n\x1aJG\0\0").contains("before Visual C++ 7"));
    assert!(ask(&folder.path().join("none.pdb"), &[1]).unwrap_err().to_string().starts_with("it cannot be read"));
    assert_eq!(ask(folder.path(), &[1]), Err(PdbError::NoPdb));
    for Expected { path, .. } in expected() {
        let bytes = std::fs::read(&path).unwrap();
        for part in [0, 1, 2, 3, 5, 7] {
            let reason = reason(&bytes[..bytes.len() * part / 8]);
            assert!(reason.contains("damaged") || reason.contains("not a PDB"), "{part}/8: {reason}");
        }
    }
}

#[test]
fn lookup_answers_in_the_form_of_the_contract() {
    let Some(Expected { path, answers }) = expected().into_iter().find(|pdb| pdb.path.ends_with("softokn3.pdb")) else { return };
    let path = path.to_str().unwrap();
    let run = highwater(["symbols", "lookup", path, "0x3eb7", "2E30", "0xFFFFFFFF", "--json"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let answer: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(answer["schema"], "highwater.symbols/1");
    let pdb = &answer["pdb"];
    assert_eq!((&pdb["path"], &pdb["guid"], &pdb["age"]), (&Value::from(path), &answers["guid"], &answers["age"]));
    assert_eq!(pdb["heap_allocation_sites"], 4);
    let addresses = answer["addresses"].as_array().unwrap();
    let rvas: Vec<_> = addresses.iter().map(|address| address["rva"].as_str().unwrap()).collect();
    assert_eq!(rvas, ["0x3eb7", "0x2e30", "0xffffffff"], "in the order of the question");
    let functions = |address: &Value| -> Vec<String> {
        let frames = address["frames"].as_array().unwrap().iter();
        frames.map(|frame| format!("{} {}", frame["function"].as_str().unwrap(), frame["line"])).collect()
    };
    assert_eq!(functions(&addresses[0]), ["freebl_RunLoaderOnce 86", "SSLv3_MAC_ConstantTime 1846"]);
    assert_eq!(functions(&addresses[1]), ["SHA384_Begin 1074"]);
    assert_eq!(functions(&addresses[2]), Vec::<String>::new());
    let text = highwater(["symbols", "lookup", path, "0x2e30"]).out;
    assert!(text.contains("SHA384_Begin") && text.contains("loader.c:1074"), "{text}");
}

#[test]
fn lookup_tells_what_it_cannot_read_and_what_it_was_asked_wrongly() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.pdb");
    std::fs::write(&file, b"Microsoft MSFZ Container and more").unwrap();
    let run = highwater(["symbols", "lookup", file.to_str().unwrap(), "0x1000"]);
    assert_eq!((run.code, run.err.lines().count()), (Some(1), 1));
    assert!(run.err.contains("x.pdb") && run.err.contains("MSFZ"), "{}", run.err);
    assert_eq!(highwater(["symbols", "lookup", "none.pdb", "0x1000"]).code, Some(1));
    for words in [&["x.pdb"][..], &["x.pdb", "main"], &["x.pdb", "-1"], &["x.pdb", "0x123456789"], &["x.pdb", ""]] {
        assert_eq!(highwater([&["symbols", "lookup"], words].concat()).code, Some(2), "{words:?}");
    }
}
