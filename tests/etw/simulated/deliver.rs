//! ProcessTrace: events of a session go to a callback, in batches, until the session has
//! been stopped and holds no more, or the consumer is closed.
#![allow(unsafe_code, reason = "C structures are filled in, and callbacks called")]

use std::ffi::c_void;
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Diagnostics::Etw::{EVENT_HEADER_EXTENDED_DATA_ITEM, EVENT_RECORD, PROCESSTRACE_HANDLE};
use windows_sys::Win32::System::Performance::QueryPerformanceCounter;
use windows_sys::Win32::System::SystemInformation::GetSystemTimeAsFileTime;
use windows_sys::core::GUID;

use super::calls::FIRST_CONSUMER;
use super::events::{KERNEL, Told};
use super::files::deliver;
use super::state::{CHANGED, Consumer, Drain, Etw, Session, lock};
use crate::constants::RAW_TIMESTAMP;

/// What a consumer gets next.
enum Next {
    /// What of so many events it is told, and the clocks.
    Events(usize, Vec<Told>, (i64, i64, i64)),
    Wait,
    End,
}

pub unsafe extern "system" fn process_trace(
    handles: *const PROCESSTRACE_HANDLE,
    count: u32,
    _: *const FILETIME,
    _: *const FILETIME,
) -> u32 {
    assert_eq!(count, 1, "one session a call");
    // SAFETY: as Windows, this believes what it is given.
    let index = (unsafe { (*handles).Value } - FIRST_CONSUMER) as usize;
    let mut at = 0;
    loop {
        let mut guard = lock();
        let etw = guard.as_mut().expect("a test must be running");
        // A consumer of a test that has ended.
        let Some(consumer) = etw.consumers.get(index).copied() else { return 0 };
        if let Some(file) = consumer.file {
            let path = etw.files[file].clone();
            drop(guard);
            deliver(&path, consumer);
            return 0;
        }
        match etw.next(consumer, at) {
            Next::End => return 0,
            Next::Wait => drop(CHANGED.wait_timeout(guard, Duration::from_millis(20))),
            Next::Events(count, batch, clocks) => {
                drop(guard);
                at += count;
                batch.iter().for_each(|told| hand_over(told, consumer, clocks));
            }
        }
    }
}

impl Etw {
    fn next(&mut self, consumer: Consumer, at: usize) -> Next {
        let session = &self.sessions[consumer.session];
        let all = self.lanes[session.lane].len();
        if consumer.is_closed {
            return Next::End;
        }
        let due = if !session.has_begun() {
            0
        } else if session.is_running {
            let held = match self.drain {
                Drain::Over(_) => all / 10,
                _ if session.lane == KERNEL => self.held,
                _ => 0,
            };
            (all - held).min(self.pause_after)
        } else {
            self.due_after_the_stop(session, all)
        };
        if at < due {
            let all = &self.lanes[session.lane][at..due.min(at + 1000)];
            let asked = session.asked();
            let traced = asked.traced(&self.lanes);
            let admitted = all.iter().filter(|told| asked.admits(session.lane, told, &traced));
            let batch: Vec<Told> = admitted.map(|told| asked.as_it_comes(told)).collect();
            return Next::Events(all.len(), batch, self.clocks());
        }
        let is_over = !session.is_running && (at >= all || self.pause_after < all || !session.has_begun());
        if is_over && !self.still_drains(session) { Next::End } else { Next::Wait }
    }

    /// So many events have come by now of a session that was stopped.
    fn due_after_the_stop(&self, session: &Session, all: usize) -> usize {
        let stopped = session.stopped_at.unwrap_or_else(Instant::now);
        let before = all.min(self.pause_after);
        match self.drain {
            Drain::AtOnce => before,
            Drain::Stuck => before.saturating_sub(1),
            Drain::Over(time) => {
                let part = (stopped.elapsed().as_secs_f64() / time.as_secs_f64()).min(1.0);
                // The last tenth is what comes late.
                before - before / 10 + (before as f64 / 10.0 * part) as usize
            }
        }
    }

    fn still_drains(&self, session: &Session) -> bool {
        match self.drain {
            Drain::AtOnce => false,
            Drain::Stuck => true,
            Drain::Over(time) => session.stopped_at.is_some_and(|at| at.elapsed() < time),
        }
    }

    /// The trace begins when the first event is told.
    fn clocks(&mut self) -> (i64, i64, i64) {
        *self.clocks.get_or_insert_with(|| (self.trace_start, ticks(), system_time()))
    }
}

pub fn ticks() -> i64 {
    let mut ticks = 0;
    // SAFETY: it fills in what is ours.
    unsafe { QueryPerformanceCounter(&raw mut ticks) };
    ticks
}

/// The system's clock as it would be if nobody had set it.
pub fn system_time() -> i64 {
    let mut time = FILETIME::default();
    // SAFETY: it fills in what is ours.
    unsafe { GetSystemTimeAsFileTime(&raw mut time) };
    i64::from(time.dwHighDateTime) << 32 | i64::from(time.dwLowDateTime)
}

pub fn hand_over(told: &Told, consumer: Consumer, (start, ticks, time): (i64, i64, i64)) {
    let mut payload = told.payload.clone();
    if told.names_a_time {
        let named = i64::from_le_bytes(payload[..8].try_into().unwrap()) - start + ticks;
        payload[..8].copy_from_slice(&named.to_le_bytes());
    }
    let mut items: Vec<EVENT_HEADER_EXTENDED_DATA_ITEM> = told
        .items
        .iter()
        .map(|(kind, data)| EVENT_HEADER_EXTENDED_DATA_ITEM {
            ExtType: *kind,
            DataSize: data.len() as u16,
            DataPtr: data.as_ptr() as u64,
            ..EVENT_HEADER_EXTENDED_DATA_ITEM::default()
        })
        .collect();
    let mut record = EVENT_RECORD::default();
    let header = &mut record.EventHeader;
    header.Flags = told.flags;
    (header.ProcessId, header.ThreadId) = (told.pid, told.tid);
    // Both clocks have 10 MHz, here and in generated traces. Whoever wants the system's time gets
    // that of the session's start and what the counter has gone on since.
    header.TimeStamp = told.time - start + if consumer.mode & RAW_TIMESTAMP != 0 { ticks } else { time };
    header.ProviderId = guid(told.provider.to_bytes());
    header.EventDescriptor.Id = told.id;
    header.EventDescriptor.Version = told.version;
    header.EventDescriptor.Opcode = told.opcode;
    (header.EventDescriptor.Level, header.EventDescriptor.Keyword) = (told.level, told.keyword);
    record.BufferContext.Anonymous.ProcessorIndex = told.processor;
    (record.ExtendedData, record.ExtendedDataCount) = (items.as_mut_ptr(), items.len() as u16);
    (record.UserData, record.UserDataLength) = (payload.as_mut_ptr().cast(), payload.len() as u16);
    record.UserContext = consumer.context as *mut c_void;
    if let Some(callback) = consumer.callback {
        // SAFETY: the record and what it points to live until the callback returns.
        unsafe { callback(&raw mut record) };
    }
}

fn guid(b: [u8; 16]) -> GUID {
    GUID {
        data1: u32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        data2: u16::from_le_bytes([b[4], b[5]]),
        data3: u16::from_le_bytes([b[6], b[7]]),
        data4: [b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]],
    }
}
