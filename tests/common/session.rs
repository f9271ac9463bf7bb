//! A trace told event by event, by processor and time, in small buffers that can be
//! put into another order or left out afterwards.

use std::io::Cursor;
use std::path::PathBuf;

use highwater::etl::write::Writer;
use highwater::etl::{SessionHeader, mode};
use highwater::events::encode::RecordWriter;
use highwater::events::{Event, PageRange, ProcessChange, ProcessInfo, Record, mem};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::Trace;
use highwater::units::{Layer, Pid, Tid};
use tempfile::TempDir;

/// Bytes of a buffer: room for a handful of events, so that a few make many buffers.
pub const BUFFER: usize = 1024;
/// Raw time of the trace start; times in the tests count from it.
pub const START: i64 = 1_000_000;
pub const HEAP: u64 = 0x1D_0000;
pub const PID: u32 = 4660;

/// A trace under construction.
pub struct Session {
    pub writer: RecordWriter<Cursor<Vec<u8>>>,
    pub pid: u32,
    pub heap: u64,
}

impl Session {
    pub fn new(processors: u32, compressed: bool) -> Self {
        let session = SessionHeader {
            processors,
            buffer_size: BUFFER as u32,
            mode: mode::SEQUENTIAL | if compressed { mode::COMPRESSED } else { 0 },
            start_ticks: START,
            ..SessionHeader::default()
        };
        let writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), session).unwrap());
        Self { writer, pid: PID, heap: HEAP }
    }

    pub fn put(&mut self, processor: u16, time: i64, event: Event) {
        let record = Record { time: START + time, pid: Pid(self.pid), tid: Tid(100 + u32::from(processor)), event };
        self.writer.put(processor, &record, &[]).unwrap();
    }

    pub fn alloc(&mut self, processor: u16, time: i64, address: u64, size: u64) {
        self.put(processor, time, Event::Alloc { layer: Layer::Heap, heap: self.heap, address, size });
    }

    pub fn free(&mut self, processor: u16, time: i64, address: u64) {
        self.put(processor, time, Event::Free { layer: Layer::Heap, heap: self.heap, address });
    }

    pub fn create(&mut self, processor: u16, time: i64) {
        self.put(processor, time, Event::HeapOpen { layer: Layer::Heap, heap: self.heap, name: None });
    }

    pub fn destroy(&mut self, processor: u16, time: i64) {
        self.put(processor, time, Event::HeapClose { layer: Layer::Heap, heap: self.heap, name: None });
    }

    pub fn commit(&mut self, processor: u16, time: i64, base: u64, size: u64) {
        let range = PageRange { base, size, owner: Pid(self.pid), flags: mem::COMMIT | mem::RESERVE };
        self.put(processor, time, Event::VirtualAlloc(range));
    }

    pub fn release(&mut self, processor: u16, time: i64, base: u64) {
        let range = PageRange { base, size: 0, owner: Pid(self.pid), flags: mem::RELEASE };
        self.put(processor, time, Event::VirtualFree(range));
    }

    pub fn process(&mut self, time: i64, change: ProcessChange, key: u64, name: &str) {
        let info = ProcessInfo { key, parent: 1, name: name.to_owned(), command_line: String::new() };
        self.put(0, time, Event::Process(change, Box::new(info)));
    }

    pub fn bytes(self) -> Vec<u8> {
        self.writer.finish().unwrap().into_inner()
    }

    pub fn load(self) -> Trace {
        load_bytes(&self.bytes())
    }
}

/// A file on disk for as long as this lives.
pub fn on_disk(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stress.etl");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

pub fn load_bytes(bytes: &[u8]) -> Trace {
    let (_folder, path) = on_disk(bytes);
    load(&Capture::open(&[Input::File(path)]).unwrap(), &mut Unwatched).unwrap()
}

/// Buffers of a file: where each begins and ends.
pub fn buffers(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut all = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let size = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        all.push(at..at + size);
        at += size;
    }
    all
}

/// The same file with its buffers, the first apart, in this order.
pub fn reordered(bytes: &[u8], order: impl FnOnce(&mut Vec<std::ops::Range<usize>>)) -> Vec<u8> {
    let mut rest = buffers(bytes);
    let first = rest.remove(0);
    order(&mut rest);
    let mut new = bytes[first].to_vec();
    rest.into_iter().for_each(|buffer| new.extend_from_slice(&bytes[buffer]));
    new
}
