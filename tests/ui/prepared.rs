//! Prepared traces in the window: the same numbers when a trace opens again, and nothing kept once it is switched off.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::driver::{Window, labels, settle, window_set};
use highwater::app::{Options, Settings};
use highwater::load::{DEMO_TRACE, Input, PreparedTraces};

fn window(file: &Path, cache: &Path, settings: Settings) -> (Window, PreparedTraces) {
    let prepared = PreparedTraces::new(cache.to_owned(), 1 << 30).of_any_size();
    let options = Options { inputs: vec![Input::File(file.to_owned())], prepared: Some(prepared.clone()), ..Options::default() };
    let mut window = window_set(options, settings);
    settle(&mut window);
    let start = Instant::now();
    while prepared.is_at_work() {
        std::thread::sleep(Duration::from_millis(2));
        assert!(start.elapsed() < Duration::from_secs(60));
    }
    (window, prepared)
}

fn files(cache: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(cache).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_trace_that_opens_again_shows_what_it_showed_before() {
    let folder = tempfile::tempdir().unwrap();
    let (file, cache) = (folder.path().join("demo.etl"), folder.path().join("cache"));
    std::fs::write(&file, DEMO_TRACE).unwrap();
    let mut off = Settings::default();
    off.reads_anew = true;
    let (anew, _) = window(&file, &cache, off);
    assert!(files(&cache).is_empty(), "it is switched off");
    let (first, _) = window(&file, &cache, Settings::default());
    let [kept] = &files(&cache)[..] else { panic!("one is kept: {:?}", files(&cache)) };
    let written = kept.metadata().unwrap().modified().unwrap();
    let (again, _) = window(&file, &cache, Settings::default());
    assert_eq!(labels(&again), labels(&first));
    assert_eq!(labels(&again), labels(&anew));
    assert!(kept.metadata().unwrap().modified().unwrap() >= written, "it was used");
    // One that is damaged shows nothing else, and is kept anew.
    let mut bytes = std::fs::read(kept).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(kept, &bytes).unwrap();
    let (repaired, _) = window(&file, &cache, Settings::default());
    assert_eq!(labels(&repaired), labels(&first));
    assert!(std::fs::read(kept).unwrap() != bytes);
}
