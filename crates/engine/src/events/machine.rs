//! The name of the machine that recorded a file. The kernel describes the system at the end of its
//! sessions, and the name is part of the description of the processors.
//!
//! Cost: some buffers at both ends of the file are read.

use super::hooks::kernel_hook;
use crate::etl::{BufferKind, EventId, Guid, ReadBuffer, TraceFile, utf16z_at};
use crate::problem::Problems;

/// Hook of the description of the processors, with the machine's name behind five words: Microsoft's
/// event class `SystemConfig_CPU`; offset and width as TraceEvent has them, checked on public traces.
const CPU: u16 = 0x0B0A;
const NAME_AT: usize = 20;
/// Characters that a name has room for.
const NAME_ROOM: usize = 256;
/// Class of that event in a classic header.
const SYSTEM_CONFIG: Guid = Guid::new(0x0185_3A65, 0x418F, 0x4F36, [0xAE, 0xFC, 0xDC, 0x0F, 0x1D, 0x2F, 0xD2, 0x35]);

/// Buffers at each end that are read.
const ENDS: usize = 32;

/// Name of the machine, if the file has it.
pub fn machine_name(file: &TraceFile) -> Option<String> {
    let count = file.buffers.len();
    let at_ends = |i: &usize| *i < ENDS || i + ENDS >= count;
    let (mut scratch, mut problems) = (ReadBuffer::default(), Problems::default());
    // The event is at the end more often than not.
    (0..count).rev().filter(at_ends).find_map(|i| {
        let buffer = &file.buffers[i];
        if buffer.kind == BufferKind::NoEvents {
            return None;
        }
        file.read_buffer(buffer, &mut scratch, &mut problems);
        scratch.events().find_map(|event| if is_cpu(event.id) { name_in(event.payload) } else { None })
    })
}

fn is_cpu(id: EventId) -> bool {
    match id {
        EventId::Class { class, opcode } => class == SYSTEM_CONFIG && u16::from(opcode) == CPU & 0xFF,
        id => kernel_hook(id) == Some(CPU),
    }
}

fn name_in(payload: &[u8]) -> Option<String> {
    let room = payload.get(..payload.len().min(NAME_AT + 2 * NAME_ROOM))?;
    utf16z_at(room, NAME_AT).map(|(name, _)| name).filter(|name| !name.is_empty() && !name.contains(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_stands_behind_five_words_and_is_no_more_than_its_room() {
        let payload = |name: &str| {
            let mut bytes = vec![0; NAME_AT + 2 * NAME_ROOM + 200];
            let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            bytes[NAME_AT..NAME_AT + units.len()].copy_from_slice(&units);
            bytes
        };
        assert_eq!(name_in(&payload("RENDER-07")).as_deref(), Some("RENDER-07"));
        for bad in [&payload("")[..], &payload("A\u{1}"), &payload("RENDER-07")[..NAME_AT], &[]] {
            assert_eq!(name_in(bad), None);
        }
    }
}
