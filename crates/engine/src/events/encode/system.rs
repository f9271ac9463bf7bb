//! Process, thread, image, volume and configuration payloads; layouts as in the
//! reader's `system`, versions as Windows 10 and 11 write them.

use super::Payload;
use crate::events::{ImageFile, ImageId, ImageInfo, Lost, ProcessInfo, ThreadStack};
use crate::units::{Pid, Tid};

/// Version of [`process`].
pub const PROCESS_VERSION: u16 = 4;
/// Version of [`image()`].
pub const IMAGE_VERSION: u16 = 3;
/// Version of [`thread`].
pub(crate) const THREAD_VERSION: u16 = 3;

/// S-1-5-18, the system itself.
pub const SID_SYSTEM: &[u8] = &[1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];
/// S-1-5-21-1001-2002-3003-1001, an ordinary user.
pub const SID_USER: &[u8] = &[1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 0xE9, 3, 0, 0, 0xD2, 7, 0, 0, 0xBB, 0x0B, 0, 0, 0xE9, 3, 0, 0];

/// Fields of a process event besides [`ProcessInfo`].
#[derive(Clone, Copy, Debug)]
pub struct ProcessDetails<'a> {
    /// Session.
    pub session: u32,
    /// Exit status; 0x103 while it runs.
    pub status: u32,
    /// Its user, for example [`SID_USER`]; empty for none.
    pub sid: &'a [u8],
}

/// Start, end and rundown of processes.
pub fn process(out: &mut Payload, pid: Pid, info: &ProcessInfo, details: ProcessDetails<'_>) {
    const PAGE_TABLE: u64 = 0x0001_2AB0_0000;
    out.word(info.key).u32(pid.0).u32(info.parent).u32(details.session).u32(details.status);
    out.word(PAGE_TABLE).u32(0);
    if details.sid.is_empty() {
        out.u32(0);
    } else {
        // TOKEN_USER: a kernel pointer and attributes that mean nothing outside.
        out.word(0xFFFF_C28A_1234_5670).word(0).raw(details.sid);
    }
    out.ansi(&info.name).utf16z(&info.command_line).utf16z("").utf16z("");
}

/// Start, end and rundown of threads.
pub fn thread(out: &mut Payload, pid: Pid, tid: Tid, stack: ThreadStack, name: &str) {
    let kernel_stack = 0xFFFF_F280_0000_0000 + u64::from(tid.0) * 0x8000;
    out.u32(pid.0).u32(tid.0);
    out.word(kernel_stack).word(kernel_stack - 0x6000).word(stack.to).word(stack.from);
    const ALL_PROCESSORS: u64 = 0xF;
    out.word(ALL_PROCESSORS).word(0).word(0).u32(0);
    out.u8(8).u8(5).u8(2).u8(0).utf16z(name);
}

/// A stack for threads of which nothing else is known.
pub(crate) fn made_stack(tid: Tid) -> ThreadStack {
    let to = 0x0010_0000 + u64::from(tid.0) * 0x400;
    ThreadStack { from: to - 0x4000, to }
}

/// The name of a thread.
pub fn thread_name(out: &mut Payload, pid: Pid, tid: Tid, name: &str) {
    out.u32(pid.0).u32(tid.0).utf16z(name);
}

/// Load, unload and rundown of images.
pub fn image(out: &mut Payload, pid: Pid, info: &ImageInfo) {
    out.word(info.base).word(info.size).u32(pid.0).u32(info.checksum).u32(info.time_stamp).u32(0).word(info.base);
    out.zeros(16).utf16z(&info.path);
}

/// Identity of an image's PDB.
pub(crate) fn image_id(out: &mut Payload, pid: Pid, id: &ImageId) {
    out.word(id.base).u32(pid.0).guid(id.guid).u32(id.age).ansi(&id.pdb);
}

/// Identity of an image's file.
pub(crate) fn image_file(out: &mut Payload, pid: Pid, file: &ImageFile) {
    out.word(file.base).word(file.size).u32(pid.0).u32(file.time_stamp).utf16z(&file.name);
}

/// Two strings: a volume's NT path and drive, or the directories of the system.
pub(crate) fn two_strings(out: &mut Payload, first: &str, second: &str) {
    out.utf16z(first).utf16z(second);
}

/// When and from which build the system was installed.
pub(crate) fn build_info(out: &mut Payload, installed: i64, lab: &str, product: &str) {
    out.u64(installed as u64).utf16z(lab).utf16z(product);
}

/// Details of a loss, as only our own recordings have them.
pub fn lost(out: &mut Payload, lost: Lost) {
    if let Some((since, count)) = lost.details {
        out.u64(since as u64).u32(count);
    }
}
