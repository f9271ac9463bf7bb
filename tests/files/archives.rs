//! Traces in archives: `.zip` and both kinds of `.diagsession` give the same numbers
//! as their files, and what cannot be read is told in one line.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::packed::{self, compound};
use crate::common::trace::{session, small, story, trace};
use crate::common::{corpus, highwater, json};
use highwater::etl::SessionHeader;
use highwater::load::{Capture, Input};
use highwater::open_error::OpenError;
use serde_json::{Value, json as value};
use tempfile::TempDir;
use zip::CompressionMethod;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn with(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

/// Both ways of keeping a member in each archive.
fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    packed::zip(members, &[CompressionMethod::Deflated, CompressionMethod::Stored])
}

/// One capture in two files: processes, images and heaps, then all that happens to them.
fn halves() -> [Vec<u8>; 2] {
    let records = story();
    let (setup, rest) = records.split_at(4);
    [trace(session(false), setup), trace(session(true), rest)]
}

fn info(path: &Path) -> Value {
    json(["info".as_ref(), "--json".as_ref(), path.as_os_str()])
}

fn report(paths: &[&PathBuf]) -> Value {
    let words = ["report", "--json", "--by", "process,heap,stack,thread"].map(Into::into);
    json(words.into_iter().chain(paths.iter().map(|path| path.as_os_str().to_owned())))
}

#[test]
fn all_traces_of_an_archive_are_one_capture() {
    let folder = Folder::new();
    let [kernel, heap] = halves();
    let files = [folder.with("kernel.etl", &kernel), folder.with("heap.etl", &heap)];
    let expected = report(&[&files[0], &files[1]]);
    assert!(expected["groups"].as_array().unwrap().len() > 3);

    let members: [(&str, &[u8]); 3] = [("kernel.etl", &kernel), ("readme.txt", b"two files"), ("sub/HEAP.ETL", &heap)];
    let archives = [
        (folder.with("a.zip", &zip(&members)), "zip", ["kernel.etl", "sub/HEAP.ETL"]),
        // By its content, whatever it is called, and the other way round.
        (folder.with("b.etl", &zip(&members)), "zip", ["kernel.etl", "sub/HEAP.ETL"]),
        (folder.with("c.diagsession", &zip(&members)), "diagsession", ["kernel.etl", "sub/HEAP.ETL"]),
        (
            folder
                .with("d.zip", &zip(&[&members[..], &[("metadata.xml", b"<Package/>"), ("[Content_Types].xml", b"")]].concat())),
            "diagsession",
            ["kernel.etl", "sub/HEAP.ETL"],
        ),
        (folder.with("e.diagsession", &compound(&[("/F1", &kernel), ("/F2", &heap)])), "diagsession", ["F1", "F2"]),
    ];
    for (path, format, names) in &archives {
        let info = info(path);
        assert_eq!(info["problems"], value!([]), "{path:?}");
        let files = info["files"].as_array().unwrap();
        assert_eq!(files.len(), 2);
        for ((file, name), bytes) in files.iter().zip(names).zip([&kernel, &heap]) {
            assert_eq!(file["path"], format!("{}!{name}", path.display()));
            assert_eq!(file["format"], *format);
            assert_eq!(file["bytes"], bytes.len());
        }
        let report = report(&[path]);
        assert_eq!(report["groups"], expected["groups"], "{path:?}");
        assert_eq!(report["quality"], expected["quality"], "{path:?}");
    }
    let plain = folder.with("plain.zip", &kernel);
    assert_eq!(info(&plain)["files"][0]["format"], "etl");
    assert_eq!(info(&plain)["files"][0]["path"], plain.to_str().unwrap());
    // An archive and a file may be one capture, too.
    let half = folder.with("half.zip", &zip(&[("kernel.etl", &kernel)]));
    assert_eq!(report(&[&half, &files[1]])["groups"], expected["groups"]);
}

#[test]
fn members_of_two_boots_are_two_captures_which_are_told() {
    let folder = Folder::new();
    let session = session(false);
    let later = trace(SessionHeader { start_time: session.start_time + 86_400 * 10_000_000, ..session }, &story());
    let path = folder.with("two.zip", &zip(&[("first.etl", &small(false)), ("later.etl", &later)]));
    let name = |member: &str| format!("{}!{member}", path.display());
    let run = highwater(["info".as_ref(), path.as_os_str()]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{run:?}");
    let lines: Vec<&str> = run.err.lines().filter_map(|line| line.strip_prefix("highwater: ")).collect();
    let [said, first, second] = lines.as_slice() else { panic!("{run:?}") };
    assert!(said.contains("2 captures"), "{said}");
    assert!(first.starts_with(&name("first.etl")) && first.contains("2026-01-01T"), "{first}");
    assert!(second.starts_with(&name("later.etl")) && second.contains("another boot"), "{second}");
    // One of them is a trace like any other.
    let all = Capture::open_all(&[Input::File(path.clone())], &mut |_, _| true).unwrap();
    assert_eq!(all.iter().map(|opened| opened.capture.files.len()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!((all[0].why_apart.as_deref(), all[1].capture.problems.total()), (None, 0));
}

#[test]
fn what_cannot_be_opened_is_refused_in_one_line() {
    let folder = Folder::new();
    let inner = zip(&[("a.etl", &small(false))]);
    let mut secret = zip(&[("secret.etl", &small(false))]);
    let directory = secret.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    secret[6] |= 1;
    secret[directory + 8] |= 1;
    for (name, bytes, what) in [
        ("empty.zip", zip(&[]), "empty"),
        ("text.zip", zip(&[("readme.txt", b"hello")]), "holds no ETW trace"),
        ("nested.zip", zip(&[("inner.zip", &inner)]), "another archive, inner.zip"),
        ("cut.zip", inner[..inner.len() / 2].to_vec(), "directory of this zip archive is damaged"),
        ("secret.zip", secret, "encrypted"),
        ("fake.zip", zip(&[("fake.etl", b"hello, this is no trace at all")]), "not an ETW trace"),
        ("office.doc", compound(&[("/WordDocument", b"hello")]), "holds no ETW trace"),
    ] {
        let path = folder.with(name, &bytes);
        for command in ["info", "report"] {
            let run = highwater([command.as_ref(), path.as_os_str()]);
            assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(1), "", 1), "{}", run.err);
            assert!(run.err.contains(path.to_str().unwrap()) && run.err.contains(what), "{name}: {}", run.err);
        }
    }
}

#[test]
fn damaged_members_beside_sound_ones_are_problems() {
    let folder = Folder::new();
    let whole = small(false);
    let mut bytes = zip(&[("hurt.etl", &whole), ("whole.etl", &whole), ("fake.etl", b"no trace")]);
    bytes[700..760].fill(0xFF);
    let path = folder.with("hurt.zip", &bytes);
    let info = info(&path);
    let told = |kind: &str, member: &str| {
        let file = format!("{}!{member}", path.display());
        info["problems"].as_array().unwrap().iter().any(|p| p["kind"] == kind && p["file"] == file)
    };
    assert!(told("damaged_archive", "hurt.etl") && told("unreadable_file", "fake.etl"), "{}", info["problems"]);
    let names: Vec<_> = info["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert!(names.last().unwrap().ends_with("!whole.etl"), "{names:?}");
}

#[test]
fn expanding_can_be_stopped() {
    let folder = Folder::new();
    let path = folder.with("a.zip", &zip(&[("a.etl", &small(false))]));
    let mut told = Vec::new();
    let opened = Capture::open_watched(&[Input::File(path)], &mut |done, total| {
        told.push((done, total));
        false
    });
    assert!(matches!(opened, Err(OpenError::Stopped)));
    assert_eq!(told.len(), 1);
    assert!(told[0].0 > 0 && told[0].0 <= told[0].1, "{told:?}");
}

#[test]
fn real_traces_of_one_session_open_as_its_archive() {
    let Some(corpus) = corpus() else { return };
    let names = ["diaghub.kernel.1.etl", "diaghub.user_injected.1.etl"];
    let files = names.map(|name| fs::read(corpus.join(name)).unwrap());
    let folder = Folder::new();
    let members = [(names[0], files[0].as_slice()), (names[1], files[1].as_slice())];
    let streams: [(&str, &[u8]); 2] = [("/F1", &files[0]), ("/F2", &files[1])];
    let apart = names.map(|name| corpus.join(name));
    let words = ["info".into(), "--json".into(), apart[0].clone().into_os_string(), apart[1].clone().into_os_string()];
    let expected = json(words);
    for bytes in [zip(&members), compound(&streams)] {
        let together = info(&folder.with("real.diagsession", &bytes));
        assert_eq!(together["events"], expected["events"]);
        // All but the names of the files, which are those of members here.
        let kinds = |info: &Value| {
            let problems = info["problems"].as_array().unwrap();
            problems.iter().map(|problem| (problem["kind"].clone(), problem["detail"].clone())).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&together), kinds(&expected));
        assert_eq!(together["files"][1]["duration_s"], expected["files"][1]["duration_s"]);
    }
}
