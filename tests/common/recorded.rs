//! A recording as it comes to disk: lanes that are flushed each second of it, cut into
//! pieces that a test appends as it likes.

use std::cell::RefCell;
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use highwater::etl::write::Writer;
use highwater::etl::{SessionHeader, mode};
use highwater::events::encode::RecordWriter;
use highwater::events::{Event, FrameRange, PageRange, ProcessChange, ProcessInfo, Record, StackPart, mem};
use highwater::random::Random;
use highwater::units::{Layer, Pid, Tid};

/// Ticks of a second.
pub const SECOND: i64 = 10_000_000;
/// Raw time of the trace start.
pub const START: i64 = 5 * SECOND;

/// What to record.
#[derive(Clone, Copy, Debug)]
pub struct Recorder {
    pub seed: u64,
    pub lanes: usize,
    pub seconds: i64,
    pub events_a_second: i64,
    pub packed: bool,
    /// Cut the last lane into files of so many seconds.
    pub ring: Option<i64>,
}

/// One file of a recording.
#[derive(Clone, Debug)]
pub struct LaneFile {
    pub name: String,
    /// The file when it was complete.
    pub bytes: Vec<u8>,
    /// How its header buffer began.
    pub header: Vec<u8>,
    /// Length after each second of the recording; none before it began.
    pub marks: Vec<Option<usize>>,
}

/// Memory that the writer writes to and we look at.
#[derive(Clone, Debug, Default)]
struct Disk(Rc<RefCell<Cursor<Vec<u8>>>>);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.borrow_mut().seek(to)
    }
}

struct Lane {
    writer: RecordWriter<Disk>,
    disk: Disk,
    file: LaneFile,
}

const PROCESSORS: u64 = 4;

impl Lane {
    fn begin(name: String, packed: bool, second: usize) -> Self {
        let session = SessionHeader {
            processors: PROCESSORS as u32,
            buffer_size: 1024,
            mode: mode::SEQUENTIAL | if packed { mode::COMPRESSED } else { 0 },
            start_ticks: START,
            start_time: 134_116_992_000_000_000,
            ..SessionHeader::default()
        };
        let disk = Disk::default();
        let writer = RecordWriter::new(Writer::new(disk.clone(), session).unwrap());
        let header = disk.0.borrow().get_ref().clone();
        let marks = vec![None; second];
        Self { writer, disk, file: LaneFile { name, bytes: Vec::new(), header, marks } }
    }

    fn flush(&mut self) {
        self.writer.writer().flush().unwrap();
        self.file.marks.push(Some(self.disk.0.borrow().get_ref().len()));
    }

    fn end(self) -> LaneFile {
        let Self { writer, disk, mut file } = self;
        writer.finish().unwrap();
        file.bytes = disk.0.borrow().get_ref().clone();
        file
    }
}

impl Recorder {
    /// The files, those of each lane in their order.
    pub fn record(&self) -> Vec<LaneFile> {
        let mut story = Story::new(self.seed);
        let names = ["kernel", "heap", "user"];
        let in_ring = |lane: usize| self.ring.is_some() && lane + 1 == self.lanes;
        let name = |lane: usize, number: usize| match in_ring(lane) {
            true => format!("{}-{number:04}.etl", names[lane]),
            false => format!("{}.etl", names[lane]),
        };
        let mut lanes: Vec<Lane> = (0..self.lanes).map(|lane| Lane::begin(name(lane, 1), self.packed, 0)).collect();
        let mut done = Vec::new();
        for second in 0..self.seconds {
            for i in 0..self.events_a_second {
                let time = START + second * SECOND + i * SECOND / self.events_a_second;
                let late_processors = second * 2 > self.seconds;
                for (at, record, frames) in story.tell(time, late_processors) {
                    let lane = at.min(self.lanes - 1);
                    let processor = (record.tid.0 % PROCESSORS as u32) as u16;
                    lanes[lane].writer.put(processor, &record, &frames).unwrap();
                }
            }
            lanes.iter_mut().for_each(Lane::flush);
            if self.ring.is_some_and(|each| (second + 1) % each == 0) && second + 1 < self.seconds {
                let next = Lane::begin(name(self.lanes - 1, done.len() + 2), self.packed, second as usize + 1);
                done.push(lanes.pop().unwrap().end());
                lanes.push(next);
            }
        }
        let mut all: Vec<LaneFile> = lanes.into_iter().map(Lane::end).collect();
        let last = all.len() - 1;
        all.splice(last..last, done);
        all
    }
}

/// What happens: processes come and go, blocks and pages are allocated and freed.
struct Story {
    random: Random,
    blocks: Vec<(u32, u64)>,
    pages: Vec<(u32, u64)>,
    next: u64,
}

impl Story {
    fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), blocks: Vec::new(), pages: Vec::new(), next: 0 }
    }

    /// Records and their lanes.
    fn tell(&mut self, time: i64, all_processors: bool) -> Vec<(usize, Record, Vec<u64>)> {
        let random = &mut self.random;
        let tid = Tid(100 + random.below(if all_processors { PROCESSORS } else { 2 }) as u32);
        let pid = 4000 + 4 * random.below(3) as u32;
        let record = |pid: u32, event| Record { time, pid: Pid(pid), tid, event };
        let heap = 0x1D_0000;
        self.next += 1;
        let address = 0x1000 + 0x100 * self.next;
        let frames = |random: &mut Random| vec![0x7000 + random.below(5), 0x7100 + random.below(3), 0x7200];
        let stack = Event::Stack { owner: time, part: StackPart::User, frames: FrameRange::default() };
        if self.next <= 3 {
            let pid = 4000 + 4 * (self.next as u32 - 1);
            let info = ProcessInfo { key: self.next, parent: 4, name: format!("p{pid}.exe"), command_line: String::new() };
            return vec![(0, record(pid, Event::Process(ProcessChange::Start, Box::new(info))), Vec::new())];
        }
        match random.below(12) {
            0 => {
                let range = PageRange { base: address << 20, size: 0x4000, owner: Pid(pid), flags: mem::COMMIT | mem::RESERVE };
                self.pages.push((pid, range.base));
                vec![(0, record(pid, Event::VirtualAlloc(range)), Vec::new())]
            }
            1 if !self.pages.is_empty() => {
                let at = random.below(self.pages.len() as u64) as usize;
                let (pid, base) = self.pages.swap_remove(at);
                let range = PageRange { base, size: 0, owner: Pid(pid), flags: mem::RELEASE };
                vec![(0, record(pid, Event::VirtualFree(range)), Vec::new())]
            }
            2 => {
                let event = Event::Alloc { layer: Layer::Tracker, heap: 0x77, address, size: 16 };
                vec![(2, record(pid, event), Vec::new())]
            }
            3..=6 if !self.blocks.is_empty() => {
                let at = random.below(self.blocks.len() as u64) as usize;
                let (pid, address) = self.blocks.swap_remove(at);
                vec![(1, record(pid, Event::Free { layer: Layer::Heap, heap, address }), Vec::new())]
            }
            7 => {
                // A free of a block that nobody knows.
                vec![(1, record(pid, Event::Free { layer: Layer::Heap, heap, address: 8 }), Vec::new())]
            }
            _ => {
                self.blocks.push((pid, address));
                let size = 1 + random.below(500);
                let event = Event::Alloc { layer: Layer::Heap, heap, address, size };
                let stack_frames = frames(random);
                vec![(1, record(pid, event), Vec::new()), (1, record(pid, stack), stack_frames)]
            }
        }
    }
}

impl LaneFile {
    pub fn path(&self, folder: &Path) -> PathBuf {
        folder.join(&self.name)
    }
}
