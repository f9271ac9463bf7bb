//! Marks on the command line: of whom, and as times.

use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::game::{self, game};
use crate::common::{highwater, json};

/// The game on disk.
pub struct Game {
    _folder: TempDir,
    pub path: PathBuf,
}

impl Game {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("game.etl");
        std::fs::write(&path, game()).unwrap();
        Self { _folder: folder, path }
    }

    pub fn word(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

#[test]
fn info_lists_providers_that_can_be_named() {
    let game = Game::new();
    let info = json(["info", "--json", game.word()]);
    let list: Vec<(Value, Value)> =
        info["providers"].as_array().unwrap().iter().map(|p| (p["name"].clone(), p["events"].clone())).collect();
    let presents = 2 * (game::FRAMES + 1 + game::FRAMES.div_ceil(4) + 1);
    let expected =
        [("Microsoft-Windows-DXGI", presents), ("Game.Marks", 1), (game::DESCRIBED, 1), ("Microsoft-Windows-DotNETRuntime", 1)];
    assert_eq!(list, expected.map(|(name, events)| (name.into(), events.into())));
    let text = highwater(["info", game.word()]).out;
    assert!(text.contains("4 providers") && text.contains("Game-Manifest"), "{text}");
}

#[test]
fn a_provider_that_nobody_knows_is_told_and_no_failure() {
    let game = Game::new();
    let run = highwater(["report", game.word(), "--marks", "Nobody*", "--marks", "game.marks", "--json"]);
    assert_eq!(run.code, Some(0));
    assert!(run.err.contains("--marks Nobody*") && !run.err.contains("game.marks"), "{}", run.err);
}

/// Milliseconds of the trace.
fn at(seconds: &Value) -> i64 {
    (seconds.as_f64().unwrap() * 1e3).round() as i64
}

fn interval(words: &[&str]) -> (i64, i64) {
    let report = json(["report", "--json"].iter().chain(words));
    (at(&report["interval"]["from_s"]), at(&report["interval"]["to_s"]))
}

#[test]
fn marks_and_frames_are_times() {
    let game = Game::new();
    let from_to = |from: &str, to: &str| interval(&[game.word(), "--from", from, "--to", to]);
    assert_eq!(from_to("mark:Level 2", "mark:Level 2.5"), (159, 189));
    assert_eq!(from_to("mark:level 2.", "mark:\"from a..b on\""), (189, 209));
    assert_eq!(from_to("frame:12", "frame:13"), (220, 230));
    assert_eq!(from_to("0.15", "frame:20"), (150, 300));
    let manifest = ["--marks", "game-manifest", "--marks", "Game.Ma*"];
    let words = [&[game.word(), "--from", "mark:Loaded: textures", "--to", "mark:Wave: 5"][..], &manifest].concat();
    assert_eq!(interval(&words), (249, 269));
    let words = [game.word(), "--process", "Other.exe", "--from", "frame:1", "--to", "frame:2"];
    assert_eq!(interval(&words), (140, 180), "frames of the process that is asked for");
}

#[test]
fn times_that_the_trace_has_not_are_bad_arguments_that_say_what_there_is() {
    let game = Game::new();
    for (words, told) in [
        (&["report", "--from", "mark:Level 3"][..], &["\"Level 3\"", "nearest", "\"Level 1\"", "\"Level 2\""][..]),
        (&["report", "--to", "frame:21"], &["no frame 21", "0 to 19"]),
        (&["report", "--from", "frame:3", "--process", "nobody.exe"], &["nobody.exe", "nearest"]),
        (&["report", "--from", "mark:Level 2", "--to", "mark:Level 1"], &["swap"]),
        (&["report", "--allocated", "mark:Level 2..mark:Level 1"], &["swap"]),
        (&["report", "--freed", "mark:nothing..|never"], &["\"nothing\""]),
        (&["functions", "--from", "mark:nothing"], &["\"nothing\""]),
        (&["cut", "--from", "mark:nothing", "-o", "cut.etl"], &["\"nothing\""]),
    ] {
        let run = highwater(words.iter().copied().chain([game.word()]));
        assert_eq!(run.code, Some(2), "{words:?}: {}", run.err);
        assert!(told.iter().all(|told| run.err.contains(told)), "{words:?}: {}", run.err);
    }
    let run = highwater(["report", "--from", "mark:", game.word()]);
    assert!(run.code == Some(2) && run.err.contains("text of a mark"), "{}", run.err);
}

#[test]
fn rows_are_chosen_by_marks_and_frames() {
    let game = Game::new();
    let count = |words: &[&str]| {
        let report = json(["report", "--json", game.word()].iter().chain(words));
        report["groups"].as_array().unwrap().iter().map(|group| group["count"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(count(&["--allocated", "frame:12..frame:13"]), game::WORST.1);
    assert_eq!(count(&["--allocated", "mark:Level 2..mark:Level 2.5"]), game::blocks(6) + game::blocks(7) + game::blocks(8));
    assert_eq!(count(&["--freed", "frame:12..frame:13"]), game::blocks(11));
    assert_eq!(count(&["--freed", "mark:from a..b on..|never", "--allocated", "..frame:11"]), game::blocks(10));
}

#[test]
fn diff_cut_check_and_lookup_take_them_too() {
    let game = Game::new();
    let [a, b] = ["frame:3..frame:4", "mark:Level 2..mark:\"from a..b on\""].map(|part| format!("{}@{part}", game.word()));
    let diff = json(["diff", "--json", &a, &b, "--by", "process"]);
    let delta = &diff["groups"][0]["delta"];
    let blocks = |frames: std::ops::Range<usize>| frames.map(game::blocks).sum::<u64>() as i64;
    assert_eq!(delta["allocated_count"], blocks(6..11) - blocks(3..4));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("cut.etl");
    let out = out.to_str().unwrap();
    let run = highwater(["cut", game.word(), "--from", "frame:12", "--to", "frame:13", "-o", out]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let rules = folder.path().join("rules.toml");
    let rule = |from: &str, to: &str, most: u64| format!("[[rule]]\nfrom = \"{from}\"\nto = \"{to}\"\ncount = {most}\n");
    let worst = game::WORST.1 + game::blocks(11);
    let text =
        rule("frame:12", "frame:13", worst) + &rule("mark:nothing", "frame:13", 0) + &rule("frame:12", "frame:13", worst - 1);
    std::fs::write(&rules, text).unwrap();
    let run = highwater(["check", game.word(), "--rules", rules.to_str().unwrap(), "--json"]);
    let answer: Value = serde_json::from_str(&run.out).unwrap();
    let outcomes: Vec<&str> = answer["rules"].as_array().unwrap().iter().map(|rule| rule["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["passed", "skipped", "broken"], "{}", run.err);
    let lookup = json(["symbols", "lookup", game.word(), "--pid", "4660", "7ff700001000@mark:Level 2", "--json"]);
    assert_eq!(at(&lookup["addresses"][0]["at_s"]), 159);
}

#[test]
fn marks_are_listed_and_sought() {
    let game = Game::new();
    let list = |words: &[&str]| {
        let answer = json(["marks", "--json", game.word()].iter().chain(words));
        assert_eq!(answer["schema"], "highwater.marks/1");
        answer["marks"].as_array().unwrap().clone()
    };
    let texts = |words: &[&str]| list(words).iter().map(|mark| mark["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(&[]), ["Level 1", "Level 2", "Level 2.5", "from a..b on"]);
    assert_eq!(texts(&["--text", "LEVEL 2"]), ["Level 2", "Level 2.5"]);
    assert_eq!(texts(&["--from", "mark:Level 2", "--to", "mark:Level 2.5"]), ["Level 2"]);
    assert_eq!(texts(&["--marks", "Game*"])[4..], ["Loaded: textures", "Wave: 5"]);
    assert_eq!(texts(&["--marks", "game.marks", "--text", "game.ma"]), ["Loaded: textures"]);
    assert!(texts(&["--process", "Other.exe"]).is_empty());
    let first = &list(&["--top", "1"])[0];
    assert_eq!((&first["provider"], &first["process"], &first["pid"]), (&"Mark".into(), &"Game.exe".into(), &game::GAME.into()));
    assert_eq!((at(&first["at_s"]), at(&first["to_s"])), (109, 109));
    let csv = highwater(["marks", "--csv", game.word(), "--text", "a..b"]).out;
    assert_eq!(csv, "at_s,from_s,to_s,text,provider,process,pid\r\n0.209,0.209,0.209,from a..b on,Mark,Game.exe,4660\r\n");
    let text = highwater(["marks", game.word(), "--top", "2"]).out;
    assert!(text.contains("Level 2") && text.contains("2 more"), "{text}");
    let report = json(["report", "--json", game.word()]);
    assert_eq!(report["marks"], Value::from(list(&[])));
}
