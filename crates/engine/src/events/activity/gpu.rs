//! GPU memory of processes, as the graphics kernel's memory manager (Microsoft-Windows-DxgKrnl, VidMm) reports it.
//!
//! | id | event | payload |
//! |-|-|-|
//! | 366 | VidMmProcessBudgetChange | new, old: u64; adapter: pointer; process: u32; number of the physical adapter: u16; priority bands and visibility, new and old: 4 × u8; segment group |
//! | 367, 371 | VidMmProcessUsageChange, VidMmProcessCommitmentChange | the same without the bands and visibility |
//!
//! Fields: Microsoft's typed events (`DxgkEvents.h` in microsoft/DxTimingCaptureLibrary) and the manifests of Windows 10 and 11
//! (repnz/etw-providers-docs, jdu2600/Windows10EtwEvents), where the segment group is a u8 and the version 0. No public trace
//! holds any of them, so the length decides how wide the group is, and an event of another version, length or group is
//! counted and not read.
//!
//! The process is in the payload; the event is written by whatever thread changed something, even after the process's end.

use crate::etl::write::NewEvent;
use crate::etl::{EventId, RawEvent, address_at, u16_at, u32_at, u64_at};
use crate::events::hooks::{class, gpu};
use crate::stored::stored;
use crate::units::{Pid, PointerSize};

/// Kind of a number of GPU memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GpuKind {
    /// Bytes resident for the process.
    Usage,
    /// Bytes that the system lets the process have resident.
    Budget,
    /// Bytes that the process has committed, resident or not.
    Commitment,
}

stored!(enum GpuKind { 0 = Usage, 1 = Budget, 2 = Commitment });

/// Where GPU memory is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SegmentGroup {
    /// The adapter's own memory (video memory).
    Local,
    /// The machine's memory, as far as the adapter uses it.
    NonLocal,
}

stored!(enum SegmentGroup { 0 = Local, 1 = NonLocal });

impl SegmentGroup {
    /// Both, in the order of their numbers.
    pub const ALL: [Self; 2] = [Self::Local, Self::NonLocal];

    /// The group with a number of the graphics kernel (`D3DKMT_MEMORY_SEGMENT_GROUP`).
    fn of(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }
}

/// A graphics adapter, or one of several that are linked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Adapter {
    /// Address of its object in the kernel.
    pub address: u64,
    /// Its number among linked adapters, usually 0.
    pub number: u16,
}

stored!(struct Adapter { address, number });

/// A change of a process's GPU memory; the record's process is that whose memory it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GpuChange {
    /// Kind of the number.
    pub kind: GpuKind,
    /// The adapter.
    pub adapter: Adapter,
    /// Where the memory is.
    pub group: SegmentGroup,
    /// Bytes from now on.
    pub new: u64,
    /// Bytes before.
    pub old: u64,
}

/// An event of GPU memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GpuMemory {
    /// A number has changed.
    Changed(GpuChange),
    /// The event has a form that is not known.
    Unread,
}

fn kind(id: u16) -> Option<GpuKind> {
    match id {
        gpu::BUDGET => Some(GpuKind::Budget),
        gpu::USAGE => Some(GpuKind::Usage),
        gpu::COMMITMENT => Some(GpuKind::Commitment),
        _ => None,
    }
}

/// Place of the process in a payload.
fn pid_at(payload: &[u8], pointer: PointerSize) -> Option<Pid> {
    Some(Pid(u32_at(payload, 16 + pointer.bytes())?))
}

/// Reads an event of GPU memory with the process that it is about; `Some(None)` for other events. `None` if it is too short.
pub(super) fn memory(id: u16, raw: &RawEvent<'_>) -> Option<Option<(Pid, GpuMemory)>> {
    /// Priority bands and visibility.
    const OF_BUDGETS: usize = 4;
    let Some(kind) = kind(id) else { return Some(None) };
    let bytes = raw.payload;
    let pid = pid_at(bytes, raw.pointer)?;
    let (new, old) = (u64_at(bytes, 0)?, u64_at(bytes, 8)?);
    let at = 20 + raw.pointer.bytes();
    let adapter = Adapter { address: address_at(bytes, 16, raw.pointer)?, number: u16_at(bytes, at)? };
    let at = at + 2 + if kind == GpuKind::Budget { OF_BUDGETS } else { 0 };
    let group = match bytes.get(at..)? {
        [] => return None,
        &[group] => SegmentGroup::of(group.into()),
        &[low, high] => SegmentGroup::of(u16::from_le_bytes([low, high]).into()),
        &[a, b, c, d] => SegmentGroup::of(u32::from_le_bytes([a, b, c, d])),
        _ => None,
    };
    let read = group.filter(|_| raw.version == 0);
    let read = read.map_or(GpuMemory::Unread, |group| GpuMemory::Changed(GpuChange { kind, adapter, group, new, old }));
    Some(Some((pid, read)))
}

/// The process that an event of a provider is about: the one in whose thread it was written, or the one that it names.
pub fn process_of(event: &NewEvent<'_>) -> Pid {
    match event.id {
        EventId::Provider { provider: class::DXG_KRNL, id } if kind(id).is_some() => {
            pid_at(event.payload, event.pointer).unwrap_or(event.pid)
        }
        _ => event.pid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::raw;

    fn read(id: u16, version: u16, pointer: PointerSize, payload: &[u8]) -> Option<Option<(Pid, GpuMemory)>> {
        memory(id, &raw(pointer, version, payload))
    }

    /// A payload whose group is `group`.
    fn payload(p: usize, bands: usize, group: &[u8]) -> Vec<u8> {
        let adapter = 0xFFFF_B50C_1234_5000_u64;
        let head = [&0x1_2345_0000_u64.to_le_bytes()[..], &0x1_0000_u64.to_le_bytes(), &adapter.to_le_bytes()[..p]].concat();
        [&head[..], &4660_u32.to_le_bytes(), &3_u16.to_le_bytes(), &vec![9; bands], group].concat()
    }

    #[test]
    fn the_segment_group_is_read_in_every_width_that_the_length_allows() {
        for (pointer, p) in [(PointerSize::Eight, 8), (PointerSize::Four, 4)] {
            let address = 0xFFFF_B50C_1234_5000 & (u64::MAX >> (64 - 8 * p));
            let adapter = Adapter { address, number: 3 };
            for (id, kind, bands) in [(366, GpuKind::Budget, 4), (367, GpuKind::Usage, 0), (371, GpuKind::Commitment, 0)] {
                for (number, group) in [(0_u32, SegmentGroup::Local), (1, SegmentGroup::NonLocal)] {
                    let changed = GpuChange { kind, adapter, group, new: 0x1_2345_0000, old: 0x1_0000 };
                    for width in [1, 2, 4] {
                        let payload = payload(p, bands, &number.to_le_bytes()[..width]);
                        assert_eq!(read(id, 0, pointer, &payload), Some(Some((Pid(4660), GpuMemory::Changed(changed)))));
                    }
                }
                let unread = Some(Some((Pid(4660), GpuMemory::Unread)));
                for group in [&[2][..], &[0, 1], &[0, 0, 0], &[0, 0, 0, 1], &[0; 8]] {
                    assert_eq!(read(id, 0, pointer, &payload(p, bands, group)), unread, "{group:?}");
                }
                assert_eq!(read(id, 1, pointer, &payload(p, bands, &[0])), unread, "another version");
                assert_eq!(read(id, 0, pointer, &payload(p, bands, &[])), None, "too short");
            }
            assert_eq!(read(370, 0, pointer, &[]), Some(None), "another event");
        }
    }
}
