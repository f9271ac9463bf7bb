//! `highwater record`: what it refuses, on which systems, and what it recovers.

use crate::common::lanes::{deliver, later, take_apart};
use crate::common::{highwater, json};
use highwater::capture::Recording;
use highwater_dev::synth::{Options, generate};

#[test]
fn what_cannot_be_recorded_is_refused_with_one_line_that_says_why() {
    let bad = [
        (&["--pid", "10"][..], "--output"),
        (&["-o", "out.etl"], "--pid"),
        (&["--pid", "4", "-o", "out.etl"], "system's own processes"),
        (&["--pid", "10", "--name", "a.exe", "-o", "out.etl"], "cannot be used with"),
        (&["--name", r"C:\a.exe", "-o", "out.etl"], "without its folder"),
        (&["--pid", "10", "--ring", "5 minutes", "-o", "out.etl"], "5m"),
        (&["--pid", "10", "--ring", "1MB", "-o", "out.etl"], "16 MB"),
        (&["--clean-up", "--pid", "10"], "cannot be used with"),
        (&["--pid", "10", "--stop-when", "private<8G", "-o", "out.etl"], "private is compared with >"),
        (&["--pid", "10", "--stop-when", "commit>120%", "-o", "out.etl"], "a percentage or a size"),
    ];
    for (words, told) in bad {
        let run = highwater([&["record"], words].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{words:?}");
        assert!(run.err.lines().count() == 1 && run.err.contains(told), "{words:?}: {}", run.err);
    }
}

#[test]
#[cfg(not(windows))]
fn elsewhere_than_on_windows_one_line_says_that_it_works_there_only() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.etl");
    let run = highwater(["record", "--pid", "10", "-o", out.to_str().unwrap()]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert!(run.err.lines().count() == 1 && run.err.contains("recording works on Windows only"), "{}", run.err);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn what_a_recording_left_becomes_the_trace_that_it_would_have_been() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = Options { events: 3_000, ..Options::default() };
    generate(&options, std::fs::File::create(path("made.etl")).unwrap()).unwrap();
    let apart = take_apart(&path("made.etl"));
    let recording = Recording::create(&path("lanes"), &apart.session, None).unwrap();
    deliver(&recording, &apart.events, [0; 4], |_, _| {});
    recording.flush_if_due(later()).unwrap();
    drop(recording); // as a crash does

    let run = highwater([
        "record".as_ref(),
        "--recover".as_ref(),
        path("lanes").as_os_str(),
        "-o".as_ref(),
        path("out.etl").as_os_str(),
    ]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let groups = |name: &str| json(["report".as_ref(), "--json".as_ref(), path(name).as_os_str()])["groups"].clone();
    assert_eq!(groups("made.etl"), groups("out.etl"));
    assert!(!path("lanes").exists());

    let again =
        highwater(["record".as_ref(), "--recover".as_ref(), path("lanes").as_os_str(), "-o".as_ref(), path("b.etl").as_os_str()]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("lanes"), "{}", again.err);
}

#[test]
fn a_profile_for_wpr_is_printed_on_every_system() {
    let run = highwater(["record", "--pid", "4660", "--stacks", "--free-stacks", "--print-wprp"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    for part in ["<HeapProcessId Value=\"4660\"/>", "<Stack Value=\"HeapFree\"/>", "</WindowsPerformanceRecorder>"] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    let run = highwater(["record", "--pid", "4660", "--faults", "--print-wprp"]);
    for part in ["<Keyword Value=\"AllFaults\"/>", "<Stack Value=\"PagefaultDemandZero\"/>", "<Stack Value=\"HardFault\"/>"] {
        assert!(run.code == Some(0) && run.out.contains(part), "{part}: {run:?}");
    }
    for refused in [&["--ring", "5m"][..], &["-o", "out.etl"], &["--estimate"]] {
        assert_eq!(highwater(["record", "--pid", "4660", "--print-wprp"].iter().chain(refused)).code, Some(2), "{refused:?}");
    }
    // A file of mappings is recorded whatever the layers, and chooses none.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.toml");
    std::fs::write(&file, crate::mapped::mapping("size:u64")).unwrap();
    let run = highwater(["record", "--pid", "4660", "--heap", "--print-wprp", "--trackers", file.to_str().unwrap()]);
    let provider = crate::mapped::PROVIDER.trim_matches(['{', '}']);
    assert!(run.out.contains(provider) && !run.out.to_lowercase().contains("988917c5"), "{run:?}");
}
