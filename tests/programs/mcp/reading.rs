//! Which files are read, when they are read again, and that nothing is written.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::client::{Server, agrees, program};
use crate::common::trace::{small, without_memory_events};

/// A folder with a root, a folder beside it, and traces in both.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        for name in ["root/sub", "root-2"] {
            std::fs::create_dir_all(desk.path(name)).unwrap();
        }
        for name in ["root/a.etl", "root/sub/b.etl", "root-2/c.etl", "d.etl"] {
            std::fs::write(desk.path(name), small(false)).unwrap();
        }
        std::fs::write(desk.path("root/rules.toml"), "").unwrap();
        std::fs::write(desk.path("rules.toml"), "a secret\n").unwrap();
        desk
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}

/// The sentence of a refusal tells nothing but the name that was given.
fn is_refusal(told: &str, name: &str) {
    let rest = told.strip_prefix(name).unwrap_or_else(|| panic!("{told}"));
    assert_eq!(
        rest,
        ": files are read only in and below the folders that --root names, which this is not; start highwater mcp with --root \
         FOLDER to allow others"
    );
}

#[test]
fn files_are_read_in_and_below_the_roots_only() {
    let desk = Desk::new();
    let mut server = Server::ready(&["--root", "root"], desk.0.path());
    let inside = ["root/a.etl", "root/sub/b.etl", "root/sub/../a.etl", "root-2/../root/a.etl", "./root/./a.etl"];
    for name in inside.map(str::to_owned).into_iter().chain([desk.name("root/a.etl")]) {
        let answer = server.answered("report", json!({"files": [name]}));
        agrees(&answer, desk.0.path());
    }
    assert_eq!(server.answered("open", json!({"files": ["demo:"]}))["files"][0]["path"], "demo:");
    let outside =
        ["d.etl", "root-2/c.etl", "root/../d.etl", "none.etl", "root/../none.etl", "root/none/../../d.etl", "..", "/", ""];
    for name in outside.map(str::to_owned).into_iter().chain([desk.name("d.etl"), desk.name("none.etl")]) {
        is_refusal(&server.refused("report", json!({"files": [name]})), &name);
        is_refusal(&server.refused("open", json!({"files": ["root/a.etl", name]})), &name);
        if !name.is_empty() {
            is_refusal(&server.refused("diff", json!({"a": "root/a.etl", "b": format!("{name}@0..1")})), &name);
        }
    }
    assert!(!server.refused("open", json!({"files": ["root/none.etl"]})).contains("--root"), "what is missing in a root is told");
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn rules_and_trackers_come_under_the_roots_too() {
    let desk = Desk::new();
    let mut server = Server::ready(&["root/a.etl"], desk.0.path());
    for argument in ["stack_rules", "trackers", "baseline"] {
        for name in ["rules.toml", "none.toml"] {
            is_refusal(&server.refused("findings", json!({argument: name})), name);
        }
    }
    for argument in ["stack_rules", "trackers"] {
        agrees(&server.answered("findings", json!({argument: "root/rules.toml"})), desk.0.path());
    }
}

#[test]
fn the_default_is_the_folders_of_the_files_or_the_current_one() {
    let desk = Desk::new();
    let mut server = Server::ready(&["root/sub/b.etl"], desk.0.path());
    assert_eq!(server.answered("open", json!({}))["files"][0]["path"], "root/sub/b.etl");
    is_refusal(&server.refused("open", json!({"files": ["root/a.etl"]})), "root/a.etl");
    for words in [&[][..], &["demo:"]] {
        let mut server = Server::ready(words, &desk.path("root"));
        server.answered("open", json!({"files": ["sub/b.etl"]}));
        is_refusal(&server.refused("open", json!({"files": ["../d.etl"]})), "../d.etl");
    }
    let mut server = Server::ready(&["--root", "root", "--root", "root-2"], desk.0.path());
    let both = json!({"a": "root/a.etl", "b": "root-2/c.etl"});
    agrees(&server.answered("diff", both), desk.0.path());
}

#[test]
#[cfg(unix)]
fn links_are_followed() {
    use std::os::unix::fs::symlink;
    let desk = Desk::new();
    symlink(desk.path("d.etl"), desk.path("root/out.etl")).unwrap();
    symlink(desk.path("none.etl"), desk.path("root/dangling.etl")).unwrap();
    symlink(desk.path("root-2"), desk.path("root/away")).unwrap();
    symlink(desk.path("root/a.etl"), desk.path("in.etl")).unwrap();
    symlink(desk.path("root"), desk.path("same")).unwrap();
    let mut server = Server::ready(&["--root", "same"], desk.0.path());
    for name in ["in.etl", "same/a.etl", "root/a.etl"] {
        server.answered("report", json!({"files": [name]}));
    }
    for name in ["root/out.etl", "root/dangling.etl", "root/away/c.etl", "root/away/none.etl", "root/away/../d.etl"] {
        is_refusal(&server.refused("report", json!({"files": [name]})), name);
    }
}

#[test]
#[cfg(windows)]
fn windows_spellings_of_a_path_are_one_and_shares_and_devices_are_refused_unasked() {
    let desk = Desk::new();
    let mut server = Server::ready(&["--root", r".\ROOT\"], desk.0.path());
    let long = format!(r"\\?\{}", desk.path("root").join("a.etl").display());
    for name in [r"root\a.etl", r"ROOT\A.ETL", r"root\sub\..\a.etl", &long] {
        server.answered("open", json!({"files": [name]}));
    }
    for name in
        [r"\\server\share\a.etl", "//server/share/a.etl", r"\\?\UNC\server\share\a.etl", "NUL", r"root\NUL", r"\\.\pipe\a"]
    {
        is_refusal(&server.refused("open", json!({"files": [name]})), name);
    }
    assert_eq!(server.answered("open", json!({"files": [r"root\*.etl"]}))["files"].as_array().unwrap().len(), 1);
    // Nor is told which files fit.
    for name in ["*.etl", r"root-2\*.etl", r"root-2\?.none", r"root\..\*.etl"] {
        is_refusal(&server.refused("open", json!({"files": [name]})), name);
    }
    is_refusal(&server.refused("diff", json!({"a": "demo:", "b": "*.etl"})), "*.etl");
}

#[test]
fn a_file_that_was_changed_is_read_again() {
    let desk = Desk::new();
    let mut server = Server::ready(&["root/a.etl"], desk.0.path());
    let first = server.answered("report", json!({}));
    assert_eq!(first, server.answered("report", json!({})));
    // Another trace in place of it, which is as long.
    let mut other = without_memory_events();
    other.resize(small(false).len(), 0);
    std::fs::write(desk.path("other"), &other).unwrap();
    std::fs::rename(desk.path("other"), desk.path("root/a.etl")).unwrap();
    let second = server.answered("report", json!({}));
    assert!(second["groups"].as_array().unwrap().is_empty() && !first["groups"].as_array().unwrap().is_empty());
    agrees(&second, desk.0.path());
    std::fs::remove_file(desk.path("root/a.etl")).unwrap();
    assert!(server.refused("report", json!({})).contains("root/a.etl"));
    std::fs::write(desk.path("root/a.etl"), small(false)).unwrap();
    assert_eq!(server.answered("report", json!({})), first);
}

/// Bytes that a process has read, from files and pipes.
#[cfg(target_os = "linux")]
fn bytes_read(process: u32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn a_trace_is_loaded_once_for_many_calls() {
    let desk = Desk::new();
    let bytes = crate::common::hostile_names::many_stacks(20_000, 4);
    std::fs::write(desk.path("root/big.etl"), &bytes).unwrap();
    let bytes = bytes.len() as u64;
    assert!(bytes > 500_000, "{bytes}");
    let mut server = Server::ready(&["--root", "root"], desk.0.path());
    let id = server.id();
    let before = bytes_read(id);
    server.answered("report", json!({"files": ["root/big.etl"], "top": 1}));
    let loaded = bytes_read(id);
    assert!(loaded - before >= bytes, "{} of {bytes}", loaded - before);
    for (tool, arguments) in [
        ("report", json!({"files": ["root/big.etl"], "by": "responsible", "top": 1})),
        ("findings", json!({"files": ["root/big.etl"], "top": 1})),
        ("functions", json!({"files": ["root/big.etl"], "top": 1})),
        ("diff", json!({"a": "root/big.etl@0..0.001", "b": "root/big.etl@0.001..0.002", "top": 1})),
        ("diff", json!({"a": "root/a.etl", "b": "root/big.etl", "top": 1})),
        ("stack", json!({"files": ["root/big.etl"], "frame": "no such frame"})),
    ] {
        server.answered(tool, arguments);
    }
    let again = bytes_read(id);
    assert!(again - loaded < bytes / 2, "{} of {bytes}", again - loaded);
    let open = server.answered("open", json!({"files": ["root/big.etl"]}));
    let opened = bytes_read(id);
    assert_eq!(server.answered("info", json!({"files": ["root/big.etl"]})), open);
    assert!(bytes_read(id) - opened < bytes / 2, "info reads without loading, and once, too");
    // Four are kept.
    for name in ["1", "2", "3", "4"] {
        std::fs::copy(desk.path("root/a.etl"), desk.path("root").join(name)).unwrap();
        server.answered("report", json!({"files": [format!("root/{name}")]}));
    }
    let before = bytes_read(id);
    server.answered("report", json!({"files": ["root/big.etl"], "top": 1}));
    assert!(bytes_read(id) - before >= bytes);
}

/// All files below a folder, with their sizes.
fn listing(folder: &Path) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.append(&mut listing(&path)),
            false => _ = all.insert(path.display().to_string(), path.metadata().unwrap().len()),
        }
        all.insert(format!("{}: a name", path.display()), 0);
    }
    all
}

#[test]
fn nothing_is_written() {
    let desk = Desk::new();
    let mut command = program(&["demo:", "--root", "root"], desk.0.path());
    for (name, folder) in
        [("HIGHWATER_CACHE_DIR", "cache"), ("HOME", "home"), ("XDG_CACHE_HOME", "home/cache"), ("TMPDIR", "temporary")]
    {
        command.env(name, desk.path(folder));
    }
    let before = listing(desk.0.path());
    let mut server = Server::start(command);
    server.introduce("2025-06-18");
    for tool in ["open", "info", "findings", "report", "functions"] {
        server.answered(tool, json!({}));
        server.answered(tool, json!({"files": ["root/a.etl"]}));
    }
    let named = server.answered("stack", json!({"frame": "Operation1"}));
    assert!(!named["groups"].as_array().unwrap().is_empty(), "the demo has names all the same");
    server.answered("diff", json!({"a": "demo:@0..1", "b": "root/a.etl"}));
    server.refused("report", json!({"files": ["d.etl"]}));
    server.invalid("report", json!({"html": "out.html"}));
    assert_eq!(server.end().code, Some(0));
    assert_eq!(listing(desk.0.path()), before);
}

#[test]
fn members_of_archives_and_investigations_are_read_as_on_the_command_line() {
    let desk = Desk::new();
    let zip = crate::common::packed::zip(&[("x.etl", &small(false))], &[zip::CompressionMethod::Deflated]);
    std::fs::write(desk.path("root/p.zip"), zip).unwrap();
    let text = format!("version = 1\n[trace]\nfiles = [{:?}]\n", "../d.etl");
    std::fs::write(desk.path("root/why.highwater"), text).unwrap();
    let mut server = Server::ready(&["--root", "root"], desk.0.path());
    let answer: Value = server.answered("open", json!({"files": ["root/p.zip"]}));
    assert!(answer["files"][0]["path"].as_str().unwrap().ends_with("p.zip!x.etl"), "{answer}");
    agrees(&answer, desk.0.path());
    assert!(server.refused("report", json!({"files": ["root/why.highwater"]})).contains("saved investigation"));
}
