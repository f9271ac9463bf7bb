//! Frames of a game and processor samples on the command line, against what the trace was made of.

use highwater::events::{
    ActivityEvent, Adapter, Event, GpuChange, GpuKind, GpuMemory, Present, ProcessChange, ProcessInfo, Record, SegmentGroup,
};
use highwater::units::{Layer, Pid, Tid};
use serde_json::Value;

use crate::common::game;
use crate::common::trace::{session, small, trace};
use crate::common::{highwater, json};
use crate::marks::Game;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn is_near(value: &Value, expected: f64) -> bool {
    (value.as_f64().unwrap() - expected).abs() < 1e-6
}

/// The frames that a command lists.
fn frames(words: &[&str]) -> Vec<Value> {
    let answer = json(["frames", "--json"].iter().chain(words));
    assert_eq!(answer["schema"], "highwater.frames/1");
    let layers = answer["layers"].as_array().unwrap();
    assert!(layers.len() == 1 && layers[0]["layer"] == "heap");
    layers[0]["frames"].as_array().unwrap().clone()
}

#[test]
fn each_frame_has_what_was_allocated_and_freed_in_it() {
    let game = Game::new();
    let all = frames(&[game.word()]);
    assert_eq!(all.len(), game::FRAMES);
    for (n, frame) in all.iter().enumerate() {
        assert_eq!(number(&frame["number"]), n as u64);
        assert_eq!(number(&frame["allocated_count"]), game::blocks(n));
        assert_eq!(number(&frame["allocated_size"]), game::blocks(n) * game::BLOCK);
        assert_eq!(number(&frame["freed_count"]), n.checked_sub(1).map_or(0, game::blocks));
        assert!(is_near(&frame["from_s"], 0.1 + 0.01 * n as f64) && is_near(&frame["to_s"], 0.11 + 0.01 * n as f64));
    }
    let worst = &frames(&[game.word(), "--sort", "allocated", "--top", "1"])[0];
    assert_eq!(number(&worst["number"]), game::WORST.0 as u64);
    assert_eq!(number(&frames(&[game.word(), "--sort", "freed", "--top", "1"])[0]["number"]), game::WORST.0 as u64 + 1);
    // Those that end in the interval, or with it.
    let part = frames(&[game.word(), "--from", "frame:3", "--to", "frame:6"]);
    assert_eq!(part.iter().map(|frame| number(&frame["number"])).collect::<Vec<_>>(), [3, 4, 5]);
    let csv = highwater(["frames", "--csv", game.word(), "--from", "mark:Level 2", "--top", "1"]).out;
    let head = "process,pid,process_start_s,api,swap_chain,layer,number,from_s,to_s,allocated_count,allocated_size,freed_count,freed_size";
    assert_eq!(csv, format!("{head}\r\nGame.exe,4660,0.001,dxgi,0xabc0,heap,5,0.15,0.16,5,500,4,400\r\n"));
}

#[test]
fn swap_chains_are_chosen_by_process_and_address() {
    let game = Game::new();
    let answer = |words: &[&str]| json(["frames", "--json", game.word()].iter().chain(words));
    let chains = answer(&[])["chains"].clone();
    let told = |chain: &Value| (chain["swap_chain"].clone(), number(&chain["frames"]), chain["process"].clone());
    let expected = [("0xabc0", game::FRAMES as u64, "Game.exe"), ("0xdef0", 5, "Other.exe")];
    let expected = expected.map(|(chain, frames, process)| (chain.into(), frames, process.into()));
    assert_eq!(chains.as_array().unwrap().iter().map(told).collect::<Vec<_>>(), expected);
    for words in [&["--process", "Other.exe"][..], &["--swap-chain", "0xdef0"]] {
        let other = answer(words);
        assert_eq!((&other["chain"]["swap_chain"], &other["layers"]), (&"0xdef0".into(), &Value::Array(Vec::new())));
        assert!(is_near(&other["chain"]["mean_s"], 0.04) && is_near(&other["chain"]["max_s"], 0.04));
    }
    let run = highwater(["frames", game.word(), "--swap-chain", "0x1"]);
    assert!(run.code == Some(2) && run.err.contains("0xabc0"), "{}", run.err);
}

#[test]
fn a_report_has_frames_means_and_processors() {
    let game = Game::new();
    let report = json(["report", "--json", game.word(), "--by", "process", "--top", "2"]);
    let chain = &report["frames"][0];
    assert_eq!((&chain["api"], number(&chain["frames"])), (&"dxgi".into(), game::FRAMES as u64));
    let heap = &chain["layers"][0];
    let all: u64 = (0..game::FRAMES).map(game::blocks).sum();
    assert!(is_near(&heap["allocated_size_per_frame"], (all * game::BLOCK) as f64 / game::FRAMES as f64));
    assert!(is_near(&heap["freed_count_per_frame"], (all - game::blocks(game::FRAMES - 1)) as f64 / game::FRAMES as f64));
    let worst: Vec<u64> = heap["worst"].as_array().unwrap().iter().map(|frame| number(&frame["number"])).collect();
    assert_eq!(worst, [game::WORST.0 as u64, game::FRAMES as u64 - 1]);
    let group = &report["groups"][0];
    assert!(is_near(&group["allocated_count_per_frame"], all as f64 / (game::FRAMES + 1) as f64), "by presents");
    let frame = json(["report", "--json", game.word(), "--by", "process", "--from", "frame:12", "--to", "frame:13"]);
    assert!(is_near(&frame["groups"][0]["allocated_count_per_frame"], game::WORST.1 as f64));
    let processors = &report["processors"];
    let samples = |process: &Value| (number(&process["pid"]), number(&process["samples"]));
    let of_processes: Vec<_> = processors["processes"].as_array().unwrap().iter().map(samples).collect();
    assert_eq!(of_processes, [(game::GAME.into(), 2 * game::FRAMES as u64), (game::OTHER.into(), game::FRAMES as u64 / 2)]);
    assert_eq!(number(&processors["idle"]), game::FRAMES as u64);
    assert!(is_near(&processors["sampling_interval_s"], 0.001));
    let asked = ["report", game.word(), "--with", "marks,frames,processors"];
    let text = highwater(asked).out;
    let without = highwater(["report", game.word()]).out;
    assert!(!without.contains("mark") && !without.contains("frame") && !without.contains("processor"), "{without}");
    for told in ["4 marks", "20 frames", "Allocated/frame", "50 CPU samples"] {
        assert!(text.contains(told), "{told}: {text}");
    }
}

/// A game without presents of Direct3D, with its local GPU memory: two windows, and a usage that grows.
fn vulkan_game() -> Vec<u8> {
    let adapter = Adapter { address: 0xFFFF_B50C_1E2A_5000, number: 0 };
    let usage = |new, old| {
        let change = GpuChange { kind: GpuKind::Usage, adapter, group: SegmentGroup::Local, new, old };
        ActivityEvent::Gpu(GpuMemory::Changed(change))
    };
    let taken = |window| ActivityEvent::Present(Present::Taken { window });
    let info = ProcessInfo { key: 0xA000, parent: 1, name: "Game.exe".into(), command_line: String::new() };
    let mut events = vec![(1_i64, Event::Process(ProcessChange::Start, Box::new(info)))];
    events.push((2, Event::HeapOpen { layer: Layer::Heap, heap: 1, name: None }));
    events.push((15, Event::Alloc { layer: Layer::Heap, heap: 1, address: 0x5000, size: 16 }));
    let activities = [
        (10, taken(0x70)),
        (12, taken(0x71)),
        (18, usage(5 << 20, 0)),
        (20, taken(0x70)),
        (24, usage(3 << 20, 0)),
        (30, taken(0x70)),
    ];
    events.extend(activities.into_iter().map(|(time, event)| (time, Event::Activity(Box::new(event)))));
    events.sort_by_key(|(time, _)| *time);
    let record = |(time, event)| (Record { time: 1_000 + time, pid: Pid(8), tid: Tid(2), event }, Vec::new());
    trace(session(false), &events.into_iter().map(record).collect::<Vec<_>>())
}

#[test]
fn a_game_that_only_the_graphics_kernel_reports_has_frames_of_one_window_and_its_gpu_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vulkan.etl");
    std::fs::write(&path, vulkan_game()).unwrap();
    let word = path.to_str().unwrap();
    let answer = json(["frames", "--json", word]);
    let chain = &answer["chain"];
    assert_eq!((&chain["api"], &chain["swap_chain"]), (&"dxgkrnl".into(), &"0x70".into()));
    let numbers = ["frames", "other_presents", "other_windows"].map(|key| number(&chain[key]));
    assert_eq!(numbers, [2, 1, 1]);
    assert_eq!(answer["chains"].as_array().unwrap().len(), 1);
    let text = highwater(["frames", word]).out;
    assert!(text.contains("window 0x70") && text.contains("1 present of 1 other window are no frames"), "{text}");
    let listed = frames(&[word]);
    assert_eq!(listed.iter().map(|frame| number(&frame["allocated_size"])).collect::<Vec<_>>(), [16, 0]);

    let report = json(["report", "--json", word]);
    let gpu = &report["gpu_memory"];
    assert_eq!(gpu.as_array().unwrap().len(), 1, "{gpu}");
    assert_eq!((&gpu[0]["process"], &gpu[0]["segment_group"]), (&"Game.exe".into(), &"local".into()));
    assert_eq!(gpu[0]["adapter"], "0xffffb50c1e2a5000");
    assert_eq!(gpu[0]["usage"], serde_json::json!({"from": 0, "to": 3 << 20, "peak": 5 << 20}));
    assert!(gpu[0]["budget"].is_null() && gpu[0]["commitment"].is_null());
    let text = highwater(["report", word, "--with", "gpu"]).out;
    assert!(text.contains("GPU memory\n") && text.contains("3.00 MB  5.00 MB"), "{text}");
    let info = json(["info", "--json", word]);
    assert_eq!(number(&info["events"]["gpu_usage"]), 2);
    assert_eq!(info["providers"][0]["name"], "Microsoft-Windows-DxgKrnl");
}

#[test]
fn nothing_is_said_of_what_is_not_in_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.etl");
    std::fs::write(&path, small(false)).unwrap();
    let word = path.to_str().unwrap();
    let report = json(["report", "--json", word]);
    assert!(["marks", "frames", "processors", "gpu_memory", "marks_left_out"].iter().all(|key| report.get(key).is_none()));
    assert!(report["groups"][0].get("allocated_size_per_frame").is_none());
    for (command, told) in [("marks", "No marks"), ("frames", "No frames"), ("processors", "No CPU samples")] {
        let run = highwater([command, word]);
        assert!(run.code == Some(0) && run.out.contains(told), "{command}: {} {}", run.out, run.err);
        assert_eq!(highwater([command, word, "--json"]).code, Some(0));
    }
}

#[test]
fn processors_are_told_by_process_function_and_stack() {
    let game = Game::new();
    let answer = |words: &[&str]| json(["processors", "--json", game.word()].iter().chain(words));
    let functions = answer(&["--by", "function", "--process", "game.exe"])["functions"].clone();
    let find = |name: &str| {
        let found = functions.as_array().unwrap().iter().find(|of| of["function"].as_str().unwrap().ends_with(name));
        found.map(|of| (number(&of["self"]["samples"]), number(&of["total"]["samples"])))
    };
    let n = game::FRAMES as u64;
    assert_eq!(find("Game.World.Update"), Some((n, n)), "{functions}");
    assert_eq!(find("Game.exe!+0x3000"), Some((n / 2, n + n / 2)));
    assert_eq!(find("Game.exe!+0x3100"), Some((n / 2, n / 2)));
    assert_eq!(find("Game.exe!+0x2000"), Some((0, 2 * n)));
    let stacks = answer(&["--by", "stack"])["stacks"].clone();
    let all: u64 = stacks.as_array().unwrap().iter().map(|of| number(&of["samples"])).sum();
    assert_eq!(all, 2 * n + n / 2);
    let first = &stacks[0]["stack"];
    assert!(first[0] == "Game.exe!+0x2000" && first.as_array().unwrap().len() == 3, "{first}");
    let part = answer(&["--from", "frame:3", "--to", "frame:4"]);
    assert_eq!(part["processes"][0]["samples"], 2);
    assert!(is_near(&part["processes"][0]["share"], 0.2) && is_near(&part["processes"][0]["seconds"], 0.002));
    let text = highwater(["processors", game.word(), "--by", "function", "--top", "1"]).out;
    assert!(text.contains("Game.exe!+0x2000") && text.contains("more; --top"), "{text}");
}

#[test]
fn lookup_names_methods_of_the_runtime() {
    let game = Game::new();
    let (start, size, _) = game::METHOD;
    let ask =
        |address: String| json(["symbols", "lookup", game.word(), "--pid", "4660", &address, "--json"])["addresses"][0].clone();
    let inside = ask(format!("{:x}@0.2", start + 8));
    let method = &inside["method"];
    assert_eq!((&method["name"], &method["signature"]), (&"Game.World.Update".into(), &"instance void  (float32)".into()));
    assert_eq!((&method["start"], number(&method["size"])), (&"0x7ffe10000000".into(), size.into()));
    assert!(is_near(&method["loaded_s"], 0.05) && method["unloaded_s"].is_null());
    assert_eq!(inside["frames"], serde_json::json!([{"function": "Game.World.Update", "file": null, "line": null}]));
    assert!(ask(format!("{:x}", start + 8))["method"].is_object(), "also at the end");
    assert!(ask(format!("{:x}@0.04", start + 8)).get("method").is_none(), "before it was made");
    assert!(ask(format!("{:x}@0.2", start + u64::from(size))).get("method").is_none(), "behind it");
    let text = highwater(["symbols", "lookup", game.word(), "--pid", "4660", &format!("{start:x}@0.2")]).out;
    assert!(text.contains("managed code of") && text.contains("Game.World.Update"), "{text}");
}
