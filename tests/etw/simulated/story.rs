//! What ETW tells of one process, event by event, from now on.

use std::io::Cursor;

use highwater::etl::write::Writer;
use highwater::etl::{SessionHeader, TraceFile};
use highwater::events::encode::{InlineStack, RecordWriter};
use highwater::events::{Event, ProcessChange, ProcessInfo, Record};
use highwater::units::{Pid, Tid};

use super::deliver::ticks;
use super::events::{Lanes, lanes};
use super::state::Etw;

pub struct Story {
    writer: RecordWriter<Cursor<Vec<u8>>>,
    pid: Pid,
    time: i64,
}

const THREAD: Tid = Tid(7);

impl Story {
    /// Of the process with this id.
    pub fn of(pid: u32) -> Self {
        let header = SessionHeader { start_ticks: ticks(), ..SessionHeader::default() };
        let writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), header).unwrap());
        Self { writer, pid: Pid(pid), time: ticks() }
    }

    /// It was started by that one, and is called so.
    pub fn start(&mut self, parent: u32, name: &str) {
        let key = u64::from(self.pid.0) << 16;
        let info = ProcessInfo { key, parent, name: name.to_owned(), command_line: String::new() };
        self.tell(Event::Process(ProcessChange::Start, Box::new(info)));
    }

    fn record(&mut self, event: Event) -> Record {
        self.time += 1;
        Record { time: self.time, pid: self.pid, tid: THREAD, event }
    }

    pub fn tell(&mut self, event: Event) {
        let record = self.record(event);
        self.writer.put(0, &record, &[]).unwrap();
    }

    pub fn tell_with_stack(&mut self, event: Event, frames: &[u64]) {
        let record = self.record(event);
        self.writer.put_with_stack(0, &record, InlineStack::Frames(frames)).unwrap();
    }

    /// The stack of the event before.
    pub fn stack(&mut self, frames: &[u64]) {
        self.writer.put_stack(0, self.time + 1, self.time, (self.pid, THREAD), frames).unwrap();
    }

    /// By session.
    pub fn lanes(self) -> Lanes {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("story.etl");
        std::fs::write(&path, self.writer.finish().unwrap().into_inner()).unwrap();
        lanes(&TraceFile::open(&path).unwrap())
    }
}

impl Etw {
    /// Tells this, too, with the times that it has.
    pub fn go_on(&mut self, story: Lanes) {
        self.clocks = Some((0, 0, 0));
        for (all, more) in self.lanes.iter_mut().zip(story) {
            all.extend(more);
        }
    }
}
