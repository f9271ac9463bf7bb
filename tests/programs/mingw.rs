//! Programs built with MinGW, which have no PDB: their names are in the image. Built here, where the compiler is.

use std::path::{Path, PathBuf};
use std::process::Command;

use highwater::events::{Event, FrameRange, ImageChange, ImageInfo, ProcessChange, ProcessInfo, Record, StackPart};
use highwater::pe;
use highwater::units::{Layer, Pid, Tid};

use crate::common::trace::{session, trace};
use crate::common::{highwater, json, skip};

const SOURCE: &str = r#"
#include <stdlib.h>
static inline __attribute__((always_inline)) void *grab(unsigned n) { return malloc(n); }
__attribute__((noinline)) void *load_level(unsigned n) { void *p = grab(n + 1); return p ? p : (void *)1; }
int main(int n, char **words) { (void)words; return load_level(n) == 0; }
"#;

/// The program, and the rva of `load_level`.
fn built(folder: &Path) -> Option<(PathBuf, u32)> {
    let (source, program) = (folder.join("leak.c"), folder.join("m.exe"));
    std::fs::write(&source, SOURCE).unwrap();
    let build = Command::new("x86_64-w64-mingw32-gcc").args(["-g", "-O1", "-o"]).args([&program, &source]).status();
    if !build.is_ok_and(|status| status.success()) {
        skip("no MinGW");
        return None;
    }
    let names = Command::new("x86_64-w64-mingw32-nm").arg(&program).output().unwrap().stdout;
    let names = String::from_utf8(names).unwrap();
    let line = names.lines().find(|line| line.contains("load_level")).unwrap();
    let address = u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
    let base = pe::debug_sections(&program).unwrap().image_base;
    Some((program, (address - base) as u32))
}

/// A trace of it with an allocation whose innermost frame is in the middle of `load_level`.
fn traced(program: &Path, rva: u32) -> Vec<u8> {
    let build = pe::read(program).unwrap().build;
    let base = 0x7FF6_0000_0000;
    let mut records = Vec::new();
    let mut tell = |time: i64, event: Event, frames: &[u64]| {
        records.push((Record { time: 1_000 + time, pid: Pid(8), tid: Tid(2), event }, frames.to_vec()));
    };
    let info = ProcessInfo { key: 0xA000, parent: 1, name: "m.exe".into(), command_line: String::new() };
    tell(1, Event::Process(ProcessChange::Start, Box::new(info)), &[]);
    let path = r"\Device\HarddiskVolume3\x\m.exe".into();
    let image = ImageInfo { base, size: build.size, checksum: build.checksum, time_stamp: build.time_stamp, path };
    tell(2, Event::Image(ImageChange::Load, Box::new(image)), &[]);
    tell(10, Event::HeapOpen { layer: Layer::Heap, heap: 1, name: None }, &[]);
    tell(11, Event::Alloc { layer: Layer::Heap, heap: 1, address: 0x5000, size: 16 }, &[]);
    let stack = Event::Stack { owner: 1_011, part: StackPart::User, frames: FrameRange::default() };
    tell(12, stack, &[base + u64::from(rva) + 13]);
    trace(session(false), &records)
}

#[test]
fn functions_inlined_frames_and_lines_come_from_the_image() {
    let folder = tempfile::tempdir().unwrap();
    let Some((program, rva)) = built(folder.path()) else { return };
    let file = folder.path().join("m.etl");
    std::fs::write(&file, traced(&program, rva)).unwrap();
    let (file, symbols) = (file.to_str().unwrap(), folder.path().to_str().unwrap());
    let report = json(["report", file, "--json", "--by", "stack", "--symbols", symbols]);
    let stack = report["groups"][0]["stack"].to_string();
    assert!(stack.contains("m.exe!load_level"), "{stack}");
    let check = json(["symbols", "check", file, "--json", "--symbols", symbols]);
    assert_eq!(check["modules"][0]["state"], "ready", "{check}");
    assert!(check["modules"][0]["source"].as_str().unwrap().contains("DWARF"), "{check}");
    let lookup = highwater([
        "symbols",
        "lookup",
        file,
        &format!("{:#x}", 0x7FF6_0000_0000u64 + u64::from(rva) + 13),
        "--pid",
        "8",
        "--symbols",
        symbols,
    ]);
    assert!(lookup.out.contains("leak.c:4"), "{lookup:?}");
    // Without the image it is said where the names are.
    let none = json(["symbols", "check", file, "--json"]);
    assert!(none["modules"][0]["reason"].as_str().unwrap().contains("DWARF"), "{none}");
}

#[test]
fn a_damaged_image_is_a_reason_and_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let Some((program, rva)) = built(folder.path()) else { return };
    let file = folder.path().join("m.etl");
    std::fs::write(&file, traced(&program, rva)).unwrap();
    let whole = std::fs::read(&program).unwrap();
    let sections = pe::debug_sections(&program).unwrap().list;
    for section in &sections {
        for (step, byte) in [(1, 0xFF), (3, 0x80), (7, 0)] {
            let mut bytes = whole.clone();
            let range = section.offset as usize..(section.offset + section.bytes) as usize;
            range.step_by(step).for_each(|at| bytes[at] = byte);
            std::fs::write(&program, bytes).unwrap();
            let run =
                highwater(["report", file.to_str().unwrap(), "--by", "stack", "--symbols", folder.path().to_str().unwrap()]);
            assert_eq!(run.code, Some(0), "{} {step} {byte}: {run:?}", section.name);
        }
    }
}
