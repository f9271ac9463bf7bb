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
    let expected = [
        ("Microsoft-Windows-DXGI", presents),
        ("Game.Marks", 1),
        (game::DESCRIBED, 1),
        ("Microsoft-Windows-DotNETRuntime", 1),
    ];
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
