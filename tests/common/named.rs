//! A trace in which modules of the corpus are mapped, so that its frames have names.

use std::path::Path;

use highwater::events::{Event, FrameRange, ImageChange, ImageId, ImageInfo, PageRange, Record, StackPart, mem};
use highwater::symbols::{Stop, identify};
use highwater::units::{Layer, Pid, Tid};

pub const USER: u64 = 0x7FF7_0000_0000;
pub const KERNEL: u64 = 0xFFFF_F800_0000_0000;
pub const LOST: u64 = 0x7FF8_0000_0000;
pub const CRASH: u64 = 0x7FF9_0000_0000;

/// One library, then another program at the same place; a driver; and one of which
/// there is no PDB.
pub fn story(corpus: &Path) -> Vec<(Record, Vec<u64>)> {
    let mut records = Vec::new();
    let mut tell = |time: i64, pid: u32, event: Event, frames: &[u64]| {
        records.push((Record { time: 1_000 + time, pid: Pid(pid), tid: Tid(2), event }, frames.to_vec()));
    };
    let pid = 4660;
    let image = |file: &str, base: u64| {
        Box::new(ImageInfo { base, size: 0x4_2000, checksum: 0, time_stamp: 7, path: format!(r"\Device\Volume1\{file}") })
    };
    let (load, unload) = (ImageChange::Load, ImageChange::Unload);
    for (time, owner, file, pdb, base) in [
        (10, pid, "softokn3.dll", "softokn3.pdb", USER),
        (11, 4, "driver.sys", "WriteArgument.pdb", KERNEL),
        (12, pid, "lost.dll", "lost.pdb", LOST),
        (600, pid, "CrashWithException.exe", "CrashWithException.pdb", USER),
    ] {
        tell(time, owner, Event::Image(load, image(file, base)), &[]);
        tell(time, owner, id(corpus, pdb, base), &[]);
        if time == 12 {
            tell(500, pid, Event::Image(unload, image("softokn3.dll", USER)), &[]);
        }
    }
    let heap = 0x1D_0000;
    let stack = |owner: i64, part: StackPart| Event::Stack { owner: 1_000 + owner, part, frames: FrameRange::default() };
    // Behind the call that allocates an SDBStr; behind a call in an inlined function.
    for (time, frames) in [
        (100, [USER + 0x2_8A07, USER + 0x3EB8, LOST + 0x1234]),
        (700, [USER + 0x112E, USER + 0x1057, LOST + 0x1234]),
        (710, [USER + 0x1057, USER + 0x1057, 0x10]),
    ] {
        tell(time, pid, Event::Alloc { layer: Layer::Heap, heap, address: 0x1000 + time as u64, size: 40 }, &[]);
        tell(time, pid, stack(time, StackPart::User), &frames);
    }
    // The first byte of a function: where the processor was, and where nothing returns to.
    let pages = PageRange { base: 0x10_0000, size: 0x4000, owner: Pid(pid), flags: mem::COMMIT | mem::RESERVE };
    tell(300, pid, Event::VirtualAlloc(pages), &[]);
    tell(300, pid, stack(300, StackPart::Kernel), &[KERNEL + 0x1070, KERNEL + 0x1037]);
    // By a thread that is not seen to leave the kernel.
    records.iter_mut().filter(|(record, _)| record.time == 1_300).for_each(|(record, _)| record.tid = Tid(3));
    records.sort_by_key(|(record, _)| record.time);
    records
}

/// Stacks that lead through the allocator: into it, out of it again, from nowhere
/// into it, and by functions that were inlined. Innermost frame first.
pub const THROUGH_ALLOCATORS: [&[u64]; 6] = [
    &[MALLOC, NEW, USER + 0x112E, USER + 0x1057, LOST + 0x1234],
    &[NEW, USER + 0x112E, USER + 0x1057, LOST + 0x1234],
    &[USER + 0x112E, USER + 0x1057, LOST + 0x1234],
    &[USER + 0x112E, MALLOC, NEW, USER + 0x1057, LOST + 0x1234],
    &[NEW, MALLOC],
    &[CRASH + 0x12B4, CRASH + 0x259C, LOST + 0x1234],
];

/// Behind calls in `malloc` and in `operator new` of the program.
const MALLOC: u64 = USER + 0x1FDB;
const NEW: u64 = USER + 0x11C2;

/// A trace of allocations with these stacks; one of each is freed again, and so is a
/// block that nobody allocated.
pub fn allocators(corpus: &Path) -> Vec<(Record, Vec<u64>)> {
    let mut records = Vec::new();
    let mut tell = |time: i64, event: Event, frames: &[u64]| {
        records.push((Record { time: 1_000 + time, pid: Pid(4660), tid: Tid(2), event }, frames.to_vec()));
    };
    let modules = [("CrashWithException", ".exe", USER), ("crash", ".dll", CRASH), ("lost", ".dll", LOST)];
    for (file, kind, base) in modules {
        let path = format!(r"\Device\Volume1\{file}{kind}");
        tell(
            10,
            Event::Image(ImageChange::Load, Box::new(ImageInfo { base, size: 0x4_2000, checksum: 0, time_stamp: 7, path })),
            &[],
        );
        tell(10, id(corpus, &format!("{file}.pdb"), base), &[]);
    }
    let heap = 0x1D_0000;
    let stack = |owner: i64| Event::Stack { owner: 1_000 + owner, part: StackPart::User, frames: FrameRange::default() };
    for (i, frames) in THROUGH_ALLOCATORS.iter().enumerate() {
        for (n, size) in [(0, 100), (1, 1_000)] {
            let time = 100 + 20 * i as i64 + 5 * n;
            let address = 0x1000 + time as u64;
            tell(time, Event::Alloc { layer: Layer::Heap, heap, address, size: size + i as u64 }, &[]);
            tell(time + 1, stack(time), frames);
            if n == 1 {
                tell(time + 2, Event::Free { layer: Layer::Heap, heap, address }, &[]);
            }
        }
    }
    tell(500, Event::Free { layer: Layer::Heap, heap, address: 0x9999 }, &[]);
    tell(501, stack(500), THROUGH_ALLOCATORS[1]);
    records
}

/// What names the PDB of an image; of one that is not there something made up.
fn id(corpus: &Path, pdb: &str, base: u64) -> Event {
    let (guid, age) = match identify(&corpus.join(pdb), &Stop::default()) {
        Ok(key) => (key.guid, key.age),
        Err(_) => (highwater::etl::Guid::from_bytes([9; 16]), 3),
    };
    Event::ImageId(Box::new(ImageId { base, guid, age, pdb: format!(r"D:\build\{pdb}") }))
}
