//! `highwater bisect`: shifts that were planted in the nights of several machines.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{highwater, json};

const MACHINES: u32 = 3;
const BUILDS: u32 = 9;
/// The first build that leaks more.
const SHIFTED: u32 = 6;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder of tables in this folder: a capture of each build on each machine. From one build on the program leaks 400 samples and not 100,
/// and one machine has ten times as many settings as the others, in all builds.
pub fn write_lake(folder: &Path) -> PathBuf {
    let lake = folder.join("lake");
    for build in 0..BUILDS {
        for machine in 0..MACHINES {
            let trace = folder.join("trace.etl");
            let leaks = if build < SHIFTED { 100 } else { 400 } + machine;
            let settings = if machine == 1 { 200 } else { 20 } + (build * 7 + machine * 3) % 4;
            let nightly = format!("{},{},{leaks},{settings},300,40", build + 1, build * MACHINES + machine);
            highwater_dev::command::synth(["nightly", "-o", text(&trace), "--nightly", &nightly]).unwrap();
            // Names in another order than the builds were made.
            let (build, machine) = (format!("build=b{}", 9 - build), format!("machine=m{machine}"));
            let run = highwater([
                "export",
                text(&trace),
                "--format",
                "parquet",
                "-o",
                text(&lake),
                "--tag",
                &build,
                "--tag",
                &machine,
                "--tag",
                "branch=main",
            ]);
            assert_eq!(run.code, Some(0), "{}", run.err);
            std::fs::remove_file(trace).unwrap();
        }
    }
    lake
}

fn shifts(answer: &Value) -> Vec<(&str, &str, &str, &str, u64, u64)> {
    let all = answer["shifts"].as_array().unwrap().iter();
    all.map(|shift| {
        let numbers = |key: &str| shift[key].as_u64().unwrap();
        let [responsible, layer, from, to] =
            ["responsible", "layer", "from_build", "to_build"].map(|key| shift[key].as_str().unwrap());
        (responsible, layer, from, to, numbers("before"), numbers("after"))
    })
    .collect()
}

#[test]
fn the_build_that_leaks_more_is_named_with_function_line_and_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let lake = write_lake(folder.path());
    let answer = json(["bisect", text(&lake), "--json"]);
    assert_eq!(answer["schema"], "highwater.bisect/1");
    // 40 bytes each, on the average machine: one, two or three more of them.
    let expected = ("MemoryTestApp.exe!InnerLoopOperation", "heap", "b4", "b3", 4040, 16040);
    assert_eq!(shifts(&answer), [expected], "the machine with more settings is no shift");
    let shift = &answer["shifts"][0];
    assert_eq!(shift["process"], "MemoryTestApp.exe");
    let source = &shift["source"];
    assert_eq!((&source["file"], &source["line"]), (&Value::from(r"C:\MemoryTestApp\main.cpp"), &Value::from(48)));
    assert_eq!(shift["kind"], "step");
    assert!(shift["p"].as_f64().unwrap() <= 0.01);
    let frames = shift["stack"].as_array().unwrap();
    assert!(frames.contains(&Value::from("MemoryTestApp.exe!InnerLoopOperation")), "{frames:?}");
    let means: Vec<(&str, u64, f64)> = shift["builds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| (of["build"].as_str().unwrap(), of["captures"].as_u64().unwrap(), of["bytes"].as_f64().unwrap()))
        .collect();
    let expected: Vec<(String, u64, f64)> =
        (0..BUILDS).map(|build| (format!("b{}", 9 - build), 3, if build < SHIFTED { 4040.0 } else { 16040.0 })).collect();
    assert_eq!(means, expected.iter().map(|(name, captures, bytes)| (name.as_str(), *captures, *bytes)).collect::<Vec<_>>());
    assert_eq!(answer["doubts"], Value::Array(Vec::new()));
    assert_eq!((&answer["captures"], &answer["machines"]), (&Value::from(27), &Value::from(3)));

    // For people, with what was compared.
    let run = highwater(["bisect", text(&lake), "--process", "memorytestapp"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    for part in
        ["MemoryTestApp.exe!InnerLoopOperation", "b4 → b3", "+11.72 KB", "main.cpp:48", "27 captures of 9 builds on 3 machines"]
    {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    // Other layers, other sizes and other tags have their own answers.
    let none = |words: &[&str]| {
        let answer = json(["bisect", text(&lake), "--json"].iter().chain(words));
        answer["shifts"].as_array().unwrap().is_empty()
    };
    assert!(none(&["--layer", "tracker"]) && none(&["--at-least", "12K"]) && !none(&["--at-least", "11K"]));
    let one_build = json(["bisect", text(&lake), "--tag", "branch", "--json"]);
    let doubt = one_build["doubts"][0].as_str().unwrap();
    assert!(doubt.starts_with("MemoryTestApp.exe: too few captures to find shifts with one false alarm in 100"), "{doubt}");

    for (words, said) in [
        (&["--process", "MemoryTestAp.exe"][..], "nearest: \"MemoryTestApp.exe\""),
        (&["--tag", "nope"], "no capture has the tag nope"),
        (&["--per", "frame"], "no capture has frames of a game"),
        (&["--per", "mark:Level"], "no capture has the mark Level"),
        (&["--per", "second"], "not one of end, frame, mark:TEXT"),
        (&["--rate", "2"], "not a rate"),
    ] {
        let run = highwater(["bisect", text(&lake)].iter().chain(words));
        assert!(run.code == Some(2) && run.err.contains(said), "{words:?}: {run:?}");
    }
}

#[test]
fn bytes_in_a_mark_are_those_of_its_average() {
    let folder = tempfile::tempdir().unwrap();
    let lake = folder.path().join("lake");
    for build in ["1", "2"] {
        let tag = format!("build={build}");
        let demo = folder.path().join(format!("{build}.etl"));
        std::fs::write(&demo, highwater::load::DEMO_TRACE).unwrap();
        let run = highwater(["export", text(&demo), "--format", "parquet", "-o", text(&lake), "--tag", &tag]);
        assert_eq!(run.code, Some(0), "{}", run.err);
    }
    for words in [["--per", "frame"], ["--per", "mark:*"]] {
        let answer = json(["bisect", text(&lake), "--json"].iter().chain(&words));
        assert_eq!(answer["shifts"], Value::Array(Vec::new()), "both builds are the same");
        assert!(answer["compared"].as_u64().unwrap() > 0, "{words:?}");
    }
}

#[test]
fn a_folder_without_tables_and_a_damaged_one_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let run = highwater(["bisect", text(folder.path())]);
    assert!(run.code == Some(1) && run.err.contains("no tables of captures"), "{}", run.err);
    let run = highwater(["bisect", text(&folder.path().join("none"))]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    let part = folder.path().join("captures").join("capture=a-1");
    std::fs::create_dir_all(&part).unwrap();
    std::fs::write(part.join("part-0000.parquet"), b"PAR1 no table at all PAR1").unwrap();
    let run = highwater(["bisect", text(folder.path())]);
    assert!(run.code == Some(1) && run.err.contains("part-0000.parquet"), "{}", run.err);
}
