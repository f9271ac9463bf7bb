//! Which build an image is: a trace that does not name PDBs is told by stamps and checksums
//! of its images whether the file on disk is the one that was mapped; where it has neither,
//! that is said. And what real traces have of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::corpus;
use crate::common::trace::{session, trace};
use highwater::events::{Event, FrameRange, ImageChange, ImageFile, ImageInfo, Record, StackPart};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{Module, Trace};
use highwater::pe::{self, Build};
use highwater::symbols::{ModuleNote, ModuleReport, ModuleState, Options, Sources, Symbols};
use highwater::units::{Layer, Pid, Tid};
use tempfile::TempDir;

const BASE: u64 = 0x7FF7_0000_0000;
const IMAGE: &str = "WriteArgument.exe";

/// The stamp in the image.
const STAMP: u32 = 1_589_281_187;
/// A checksum that the test writes into it, as release builds have one.
const CHECKSUM: u32 = 0x0001_2345;

/// A copy of an image of the corpus with its PDB beside it.
struct Disk {
    folder: TempDir,
}

impl Disk {
    fn new() -> Option<Self> {
        let (corpus, folder) = (corpus()?, tempfile::tempdir().unwrap());
        std::fs::copy(corpus.join("WriteArgument.pdb"), folder.path().join("WriteArgument.pdb")).unwrap();
        let mut bytes = std::fs::read(corpus.join(IMAGE)).unwrap();
        let headers = u32::from_le_bytes(bytes[60..64].try_into().unwrap()) as usize;
        let at = headers + 24 + 64;
        bytes[at..at + 4].copy_from_slice(&CHECKSUM.to_le_bytes());
        std::fs::write(folder.path().join(IMAGE), bytes).unwrap();
        Some(Self { folder })
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join(IMAGE)
    }

    /// What is said of the image in a trace whose rundown has this stamp and checksum, and
    /// into which merging wrote the stamp of the file that it found.
    fn report(&self, stamp: u32, checksum: u32, merged: Option<u32>) -> ModuleReport {
        let mut records = Vec::new();
        let mut tell = |time: i64, event: Event, frames: &[u64]| {
            records.push((Record { time: 1_000 + time, pid: Pid(4660), tid: Tid(2), event }, frames.to_vec()));
        };
        let path = self.image().display().to_string();
        tell(10, Event::Alloc { layer: Layer::Heap, heap: 0x1D_0000, address: 0x1000, size: 40 }, &[]);
        let stack = Event::Stack { owner: 1_010, part: StackPart::User, frames: FrameRange::default() };
        tell(11, stack, &[BASE + 0x1071, BASE + 0x1038]);
        if let Some(time_stamp) = merged {
            let file = ImageFile { base: BASE, size: 0x7000, time_stamp, name: IMAGE.to_owned() };
            tell(20, Event::ImageFile(Box::new(file)), &[]);
        }
        let info = ImageInfo { base: BASE, size: 0x7000, checksum, time_stamp: stamp, path };
        tell(20, Event::Image(ImageChange::Rundown, Box::new(info)), &[]);
        let file = self.folder.path().join("trace.etl");
        std::fs::write(&file, trace(session(false), &records)).unwrap();
        let sources = Sources { where_linked: false, ..Sources::default() };
        let options = Options { sources, saved: None, workers: 1, frees: false, ..Options::default() };
        let symbols = Symbols::start(Arc::new(open(&file)), options, |_| true, || {});
        symbols.wait();
        symbols.modules().remove(0)
    }
}

fn open(file: &Path) -> Trace {
    load(&Capture::open(&[Input::File(file.to_owned())]).unwrap(), &mut Unwatched).unwrap()
}

#[test]
fn an_image_on_disk_is_compared_with_what_the_trace_knows_of_its_build() {
    let Some(disk) = Disk::new() else { return };
    let read = pe::read(&disk.image()).unwrap();
    assert_eq!(read.build, Build { time_stamp: STAMP, size: 0x7000, checksum: CHECKSUM });
    for (stamp, checksum, merged) in [
        (0, CHECKSUM, None),
        (STAMP, 0, None),
        (0, 0, Some(STAMP)),
        (0, CHECKSUM, Some(STAMP)),
        (7, CHECKSUM, Some(STAMP)), // rundowns may have a wrong one
    ] {
        let report = disk.report(stamp, checksum, merged);
        assert_eq!((report.state, report.named), (ModuleState::Ready, 2), "{stamp} {checksum:#x} {merged:?}");
        assert_eq!(report.notes, []);
    }
    for (stamp, checksum, merged) in [(0, CHECKSUM + 1, None), (0, 0, Some(7)), (0, CHECKSUM, Some(7)), (0, 7, Some(STAMP))] {
        let report = disk.report(stamp, checksum, merged);
        let is_other = matches!(&report.state, ModuleState::Failed(why) if why.contains("of another build"));
        assert!(is_other, "{stamp} {checksum:#x} {merged:?}: {report:?}");
    }
}

#[test]
fn where_neither_stamp_nor_checksum_decides_that_is_said() {
    let Some(disk) = Disk::new() else { return };
    let report = disk.report(0, 0, None);
    assert_eq!((report.state, report.named), (ModuleState::Ready, 2));
    assert_eq!(report.notes, [ModuleNote::PathAndSizeOnly]);
    assert!(report.notes[0].to_string().contains("by path and size only"));
}

/// Images without a stamp and without a checksum, and all.
fn counts(file: &str) -> Option<[usize; 3]> {
    let trace = open(&corpus()?.join(file));
    let count =
        |is_counted: fn(&&Module) -> bool| trace.processes.iter().flat_map(|process| &process.modules).filter(is_counted).count();
    Some([count(|module| module.build.time_stamp == 0), count(|module| module.build.checksum == 0), count(|_| true)])
}

/// Counted by a walk over the events that is not of this program. Merging found no file for eleven
/// images of the first trace and three of the second, and two files have a stamp of zero; the second
/// names some images with their volume and, when they go, without.
#[test]
fn merged_traces_have_stamps_of_nearly_all_images() {
    for (file, expected) in [("TraceLoggingTester.etl", [13, 275, 23_395]), ("slow-ppt.etl", [3, 111, 4_690])] {
        let Some(counted) = counts(file) else { return };
        assert_eq!(counted, expected, "without a stamp, without a checksum, and all of {file}");
    }
}
