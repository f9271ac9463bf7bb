//! Where names come from: from nowhere but the program unless `--symbols` is given.

use std::path::{Path, PathBuf};

use highwater::events::Event;
use serde_json::{Value, json};

use super::client::{Server, program, run, words};
use crate::common::named::story;
use crate::common::server::Server as SymbolServer;
use crate::common::trace::{session, trace};
use crate::common::{corpus, skip};

/// A folder with a trace whose modules have PDBs in the corpus; `None` without it.
fn desk() -> Option<(tempfile::TempDir, PathBuf)> {
    let Some(corpus) = corpus() else {
        skip("no corpus");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.etl"), trace(session(false), &story(&corpus))).unwrap();
    Some((folder, corpus))
}

/// A server in a folder with an environment that names a folder and a server.
fn start(words: &[&str], folder: &Path, path: &str) -> Server {
    let mut command = program(words, folder);
    command.env("_NT_SYMBOL_PATH", path).env("HIGHWATER_CACHE_DIR", folder.join("cache"));
    let mut server = Server::start(command);
    server.introduce("2025-06-18");
    server
}

/// Whether some frame of an answer has the name of a function of the corpus.
fn is_named(answer: &Value) -> bool {
    answer.to_string().contains("softokn3.dll!") && !answer.to_string().contains("softokn3.dll!+")
}

#[test]
fn the_environment_alone_gives_no_names_and_no_server_is_asked() {
    let Some((folder, corpus)) = desk() else { return };
    let servers = SymbolServer::start();
    let path = format!("{};srv*{}", corpus.display(), servers.url);
    let mut server = start(&["a.etl"], folder.path(), &path);
    let asked = json!({"by": "stack,type,responsible"});
    let answer = server.answered("report", asked.clone());
    assert!(!is_named(&answer), "{answer}");
    server.answered("findings", json!({}));
    assert_eq!(server.end().code, Some(0));
    assert_eq!((servers.asked().len(), folder.path().join("cache").exists()), (0, false));

    // With the option the environment counts as in other commands.
    let symbols = format!("srv*{}", servers.url);
    let mut server = start(&["a.etl", "--symbols", &symbols], folder.path(), "");
    server.answered("report", asked);
    assert_eq!(server.end().code, Some(0));
    assert!(!servers.asked().is_empty());
}

#[test]
fn a_symbol_path_of_the_server_gives_names_and_is_part_of_the_command() {
    let Some((folder, corpus)) = desk() else { return };
    let corpus = corpus.display().to_string();
    let mut server = start(&["a.etl", "--symbols", &corpus], folder.path(), "");
    let answer = server.answered("report", json!({"by": "stack,type"}));
    assert!(is_named(&answer), "{answer}");
    let words = words(answer["command"].as_str().unwrap());
    assert!(words.windows(2).any(|two| two == ["--symbols", &corpus]), "{words:?}");
    let printed: Value = serde_json::from_str(&run(&words[1..], folder.path()).out).unwrap();
    assert_eq!(printed["groups"], answer["groups"]);
    let open = server.answered("open", json!({}));
    assert_eq!(open["command"], "highwater info a.etl --json");
    assert_eq!(server.end().code, Some(0));
    let written: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(written.iter().all(|name| ["a.etl", "cache"].contains(&name.as_str())), "{written:?}");
}

/// Traces name paths on their own, which others have chosen.
#[test]
fn a_pdb_where_the_linker_wrote_it_is_read_below_the_roots_only() {
    let Some((folder, corpus)) = desk() else { return };
    let folder = folder.path();
    std::fs::create_dir(folder.join("root")).unwrap();
    for (place, is_read) in [("root", true), ("beside", false)] {
        let place = folder.join(place);
        std::fs::create_dir_all(&place).unwrap();
        let mut records = story(&corpus);
        for (record, _) in &mut records {
            let Event::ImageId(id) = &mut record.event else { continue };
            let name = id.pdb.rsplit('\\').next().unwrap().to_owned();
            if corpus.join(&name).exists() {
                std::fs::copy(corpus.join(&name), place.join(&name)).unwrap();
            }
            id.pdb = place.join(name).display().to_string();
        }
        std::fs::write(folder.join("root/b.etl"), trace(session(false), &records)).unwrap();
        let asked = ["report", "root/b.etl", "--by", "stack", "--json"];
        let printed: Value = serde_json::from_str(&run(asked, folder).out).unwrap();
        assert!(is_named(&printed), "the command line reads it: {printed}");
        let mut server = start(&["root/b.etl"], folder, "");
        assert_eq!(is_named(&server.answered("report", json!({"by": "stack"}))), is_read, "{}", place.display());
        assert_eq!(server.end().code, Some(0));
    }
}
