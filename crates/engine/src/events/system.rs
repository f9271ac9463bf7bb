//! Process, thread, image and volume payloads (PerfView's parsers and Microsoft's
//! event classes; versions 2 to 5 checked on public traces).

use std::ops::Range;

use super::hooks::hook;
use super::names;
use super::{Event, ImageChange, ImageFile, ImageId, ImageInfo, ProcessChange, ProcessInfo, Record, ThreadStack};
use crate::etl::{RawEvent, address_at, ansi_at, guid_at, u8_at, u32_at, utf16z_at};
use crate::units::{Pid, PointerSize, Tid};

fn record(raw: &RawEvent<'_>, pid: Pid, event: Event) -> Record {
    Record { time: raw.time, pid, tid: raw.tid, event }
}

/// Start, end and rundown of processes; versions 0 and 1 (before Vista) are not read.
pub(super) fn process(hook: u16, raw: &RawEvent<'_>) -> Option<Record> {
    let bytes = raw.payload;
    let p = raw.pointer.bytes();
    let pid = Pid(u32_at(bytes, p)?);
    let (name, at) = ansi_at(bytes, process_name(raw)?)?;
    let command_line = utf16z_at(bytes, at).map(|(text, _)| text).unwrap_or_default();
    let (name, command_line) = (names::name(name), names::line(command_line));
    let info = ProcessInfo { key: address_at(bytes, 0, raw.pointer)?, parent: u32_at(bytes, p + 4)?, name, command_line };
    let change = match hook {
        hook::PROCESS_START => ProcessChange::Start,
        hook::PROCESS_END => ProcessChange::End,
        _ => ProcessChange::Rundown,
    };
    Some(record(raw, pid, Event::Process(change, Box::new(info))))
}

/// Offset of the name of a process.
fn process_name(raw: &RawEvent<'_>) -> Option<usize> {
    let p = raw.pointer.bytes();
    let mut at = p + 16;
    if raw.version >= 3 {
        at += p; // directory table base
    }
    if raw.version >= 4 {
        at += 4; // flags
    }
    skip_sid(raw.payload, at, raw.pointer)
}

/// Range of the command line of a process, with its zero.
pub(super) fn command_line(raw: &RawEvent<'_>) -> Option<Range<usize>> {
    let (_, from) = ansi_at(raw.payload, process_name(raw)?)?;
    let (_, to) = utf16z_at(raw.payload, from)?;
    Some(from..to)
}

/// The offset behind the user's SID: a zero word, or a TOKEN_USER structure and the SID itself.
fn skip_sid(bytes: &[u8], at: usize, pointer: PointerSize) -> Option<usize> {
    if u32_at(bytes, at)? == 0 {
        return Some(at + 4);
    }
    let sid = at + 2 * pointer.bytes();
    let sub_authorities = u8_at(bytes, sid + 1)? as usize;
    Some(sid + 8 + 4 * sub_authorities)
}

/// Records that a thread started or runs, and its name, as far as the event says so.
pub(super) fn thread(hook: u16, raw: &RawEvent<'_>) -> Option<[Option<Record>; 2]> {
    let bytes = raw.payload;
    let pid = Pid(u32_at(bytes, 0)?);
    let tid = Tid(u32_at(bytes, 4)?);
    let at = if hook == hook::THREAD_SET_NAME {
        8
    } else {
        // Two words, then seven pointers, a word and four bytes.
        8 + 7 * raw.pointer.bytes() + 8
    };
    let name = utf16z_at(bytes, at).map(|(name, _)| names::name(name)).filter(|name| !name.is_empty());
    let start = match hook {
        hook::THREAD_START => Some(Event::ThreadStart(thread_stack(raw))),
        hook::THREAD_SET_NAME => None,
        _ => Some(Event::ThreadRundown(thread_stack(raw))),
    };
    let record = |event| Record { time: raw.time, pid, tid, event };
    Some([start.map(record), name.map(|name| record(Event::ThreadName(name.into())))])
}

/// The user stack of a thread, which follows two words and the kernel's stack: its base, then its limit. Before version 2 there
/// is none.
fn thread_stack(raw: &RawEvent<'_>) -> ThreadStack {
    let address = |n: usize| address_at(raw.payload, 8 + n * raw.pointer.bytes(), raw.pointer);
    match (address(2), address(3)) {
        (Some(to), Some(from)) if raw.version >= 2 && from < to => ThreadStack { from, to },
        _ => ThreadStack::default(),
    }
}

/// The process of an image, and the image's first byte.
pub(super) fn image_base(raw: &RawEvent<'_>) -> Option<(Pid, u64)> {
    let pid = if raw.version == 0 { raw.pid } else { Pid(u32_at(raw.payload, 2 * raw.pointer.bytes())?) };
    Some((pid, address_at(raw.payload, 0, raw.pointer)?))
}

/// Load, unload and rundown of images.
pub(super) fn image(hook: u16, raw: &RawEvent<'_>) -> Option<Record> {
    let bytes = raw.payload;
    let p = raw.pointer.bytes();
    let (pid, base) = image_base(raw)?;
    let path_at = match raw.version {
        0 => 2 * p,
        1 => 2 * p + 4,
        _ => 3 * p + 32,
    };
    let since_version_2 = |at: usize| if raw.version >= 2 { u32_at(bytes, at) } else { Some(0) };
    let info = ImageInfo {
        base,
        size: address_at(bytes, p, raw.pointer)?,
        checksum: since_version_2(2 * p + 4)?,
        time_stamp: since_version_2(2 * p + 8)?,
        path: names::path(utf16z_at(bytes, path_at)?.0),
    };
    let change = match hook {
        hook::IMAGE_LOAD => ImageChange::Load,
        hook::IMAGE_UNLOAD => ImageChange::Unload,
        _ => ImageChange::Rundown,
    };
    Some(record(raw, pid, Event::Image(change, Box::new(info))))
}

/// Identity of an image's file.
pub(super) fn image_file(raw: &RawEvent<'_>) -> Option<Record> {
    let bytes = raw.payload;
    let p = raw.pointer.bytes();
    let file = ImageFile {
        base: address_at(bytes, 0, raw.pointer)?,
        size: address_at(bytes, p, raw.pointer)?,
        time_stamp: u32_at(bytes, 2 * p + 4)?,
        name: utf16z_at(bytes, 2 * p + 8).map(|(name, _)| names::path(name)).unwrap_or_default(),
    };
    Some(record(raw, Pid(u32_at(bytes, 2 * p)?), Event::ImageFile(Box::new(file))))
}

/// Identity of an image's PDB.
pub(super) fn image_id(raw: &RawEvent<'_>) -> Option<Record> {
    let bytes = raw.payload;
    let p = raw.pointer.bytes();
    let id = ImageId {
        base: address_at(bytes, 0, raw.pointer)?,
        guid: guid_at(bytes, p + 4)?,
        age: u32_at(bytes, p + 20)?,
        pdb: names::path(ansi_at(bytes, p + 24)?.0),
    };
    Some(record(raw, Pid(u32_at(bytes, p)?), Event::ImageId(Box::new(id))))
}

/// A volume's NT path and its drive letter.
pub(super) fn volume(raw: &RawEvent<'_>) -> Option<Record> {
    let (nt, at) = utf16z_at(raw.payload, 0)?;
    let (dos, _) = utf16z_at(raw.payload, at)?;
    Some(record(raw, raw.pid, Event::Volume(Box::new((names::path(nt), names::path(dos))))))
}
