//! Source files of a build: where its PDB says that they are, and what comes from there. The linker is a real one, and
//! so is the server, on loopback.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{corpus, skip};
use highwater::symbols::{SourceOrigin, Stop, source_origin};

/// A PDB with these named streams, made by the linker that comes with Rust; `None` where it did not come.
fn pdb(folder: &Path, streams: &[(&str, &str)]) -> Option<PathBuf> {
    let rustc = Command::new("rustc").args(["--print", "sysroot"]).output().ok().filter(|run| run.status.success());
    let root = rustc.map(|run| PathBuf::from(String::from_utf8(run.stdout).unwrap().trim().to_owned()));
    let hosts = root.and_then(|root| std::fs::read_dir(root.join("lib").join("rustlib")).ok()).into_iter().flatten().flatten();
    let linker = hosts.map(|host| host.path().join("bin").join(format!("rust-lld{}", std::env::consts::EXE_SUFFIX)));
    let Some(linker) = linker.into_iter().find(|path| path.is_file()) else {
        skip("no rust-lld");
        return None;
    };
    // The header of an object file for x64 without any section.
    let object = [&[0x64, 0x86][..], &[0; 18]].concat();
    std::fs::write(folder.join("empty.obj"), object).unwrap();
    let mut words: Vec<String> = [
        "-flavor",
        "link",
        "/nologo",
        "/dll",
        "/noentry",
        "/machine:x64",
        "/debug",
        "/pdb:game.pdb",
        "/out:game.dll",
        "empty.obj",
    ]
    .map(str::to_owned)
    .to_vec();
    for (name, text) in streams {
        std::fs::write(folder.join(name), text).unwrap();
        words.push(format!("/pdbstream:{name}={name}"));
    }
    let run = Command::new(linker).args(&words).current_dir(folder).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    Some(folder.join("game.pdb"))
}

const LINK: &str = r#"{"documents": {"D:\\build\\*": "https://example.com/raw/42/*"}}"#;
const INDEX: &str = "SRCSRV: ini ---\r
VERSION=2\r
SRCSRV: variables ---\r
SRCSRVTRG=https://old.example.com/%var2%\r
SRCSRV: source files ---\r
D:\\build\\src\\main.cpp*src/main.cpp\r
D:\\tools\\gen.cpp*tools/gen.cpp\r
SRCSRV: end ---\r
";

fn url(pdb: &Path, file: &str) -> Option<String> {
    match source_origin(pdb, file, &Stop::default()).unwrap() {
        Some(SourceOrigin::Url(url)) => Some(url.as_str().to_owned()),
        None => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pdb_says_where_its_sources_are_by_source_link_and_by_a_source_server() {
    let folder = tempfile::tempdir().unwrap();
    let Some(both) = pdb(folder.path(), &[("sourcelink", LINK), ("srcsrv", INDEX)]) else { return };
    assert_eq!(url(&both, r"D:\build\src\main.cpp").as_deref(), Some("https://example.com/raw/42/src/main.cpp"));
    assert_eq!(url(&both, r"D:\tools\gen.cpp").as_deref(), Some("https://old.example.com/tools/gen.cpp"));
    assert_eq!(url(&both, r"D:\elsewhere\main.cpp"), None);
    let none = pdb(folder.path(), &[]).unwrap();
    assert_eq!(url(&none, r"D:\build\src\main.cpp"), None);
    for rubbish in ["", "{", "\u{0}\u{0}", "SRCSRV: variables", &"SRCSRVTRG=%a%\nA=%a%\n".repeat(1_000)] {
        let odd = pdb(folder.path(), &[("sourcelink", rubbish), ("srcsrv", rubbish)]).unwrap();
        assert_eq!(url(&odd, r"D:\build\src\main.cpp"), None, "{rubbish:.20}");
    }
    assert!(source_origin(&folder.path().join("game.dll"), "a", &Stop::default()).is_err(), "no PDB");
}

#[test]
fn pdbs_of_real_builds_say_where_their_sources_are() {
    let Some(corpus) = corpus() else { return };
    let file = "/builds/worker/checkouts/gecko/uriloader/exthandler/tests/WriteArgument.cpp";
    let expected = "https://hg.mozilla.org/mozilla-central/raw-file/1706d4d54ec68fae1280305b70a02cb24c16ff68/uriloader/exthandler/tests/WriteArgument.cpp";
    assert_eq!(url(&corpus.join("WriteArgument.pdb"), file).as_deref(), Some(expected));
    assert_eq!(url(&corpus.join("crash.pdb"), file), None);
}

#[cfg(feature = "symsrv")]
mod fetched {
    use super::*;
    use crate::common::server::{Reply, Server};
    use highwater::symbols::{PlaceTrouble, SourceStore, SourceUrl};

    fn files(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
    }

    #[test]
    fn a_source_file_comes_once_and_is_kept_under_its_name() {
        let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
        server.put("/src/main.cpp?v=1", Reply::File(b"int main() {}\n".to_vec()));
        let url = SourceUrl::parse(&format!("{}/src/main.cpp?v=1", server.url)).unwrap();
        let store = SourceStore::new(Some(folder.path())).unwrap();
        assert_eq!(store.kept(&url), None);
        let path = store.fetch(&url, &Stop::default()).unwrap();
        assert_eq!(
            (std::fs::read(&path).unwrap().as_slice(), path.file_name().unwrap()),
            (&b"int main() {}\n"[..], "main.cpp".as_ref())
        );
        assert_eq!(store.kept(&url), Some(path));
        assert_eq!(server.asked(), ["/src/main.cpp?v=1"]);
        let other = SourceUrl::parse(&format!("{}/src/main.cpp?v=2", server.url)).unwrap();
        assert_eq!(store.kept(&other), None, "another version is another file");
    }

    #[test]
    fn what_is_no_source_file_is_not_kept() {
        let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
        let store = SourceStore::new(Some(folder.path())).unwrap();
        let why = |reply: Option<Reply>| {
            reply.into_iter().for_each(|reply| server.put("/a.cpp", reply));
            store.fetch(&SourceUrl::parse(&format!("{}/a.cpp", server.url)).unwrap(), &Stop::default()).unwrap_err()
        };
        assert!(matches!(why(None), PlaceTrouble::Status(_)));
        assert_eq!(why(Some(Reply::Page("200 OK", "<!DOCTYPE html><p>Log in".to_owned()))), PlaceTrouble::WebPage);
        assert!(matches!(why(Some(Reply::Cut(vec![b'x'; 100_000], 50_000))), PlaceTrouble::BrokeOff { .. }));
        assert!(matches!(why(Some(Reply::File(vec![b'x'; 9 << 20]))), PlaceTrouble::TooMuch(8)));
        let plain = Reply::Redirect("http://127.0.0.1:1/a.cpp".to_owned());
        assert!(matches!(why(Some(plain)), PlaceTrouble::Refused(_) | PlaceTrouble::Protocol(_)));
        assert_eq!(files(folder.path()), 0);
    }

    #[test]
    fn names_that_lead_elsewhere_stay_in_the_folder() {
        let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
        server.put("*", Reply::File(b"text".to_vec()));
        let store = SourceStore::new(Some(folder.path())).unwrap();
        for path in ["/..", "/a/NUL", "/%2e%2e%2fx", "/..%5C..%5Cx.cpp", "/", "/con.cpp", "/a:b", "/x."] {
            let url = SourceUrl::parse(&format!("{}{path}", server.url)).unwrap();
            let kept = store.fetch(&url, &Stop::default()).unwrap();
            let inside = kept.strip_prefix(folder.path().join("sources")).unwrap();
            assert!(inside.components().all(|part| matches!(part, std::path::Component::Normal(_))), "{kept:?}");
            assert_eq!(inside.components().count(), 3);
        }
    }
}
