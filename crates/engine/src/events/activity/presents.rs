//! Frames that a game presents through DXGI (Direct3D 10 to 12), Direct3D 9, or neither (Vulkan, OpenGL).
//!
//! A frame lies between two presents of one swap chain. The moment of a present is the start of the
//! call, which is where a program's own loop turns around. Ids, fields and flags: PresentMon's tables
//! of both providers.
//!
//! What neither of them reports still reaches the graphics kernel, whose event Present (184) is written in
//! the thread that presents, at the end of the kernel's call (PresentMon's consumer). Its versions 0 and 1
//! differ behind the window (manifests in repnz/etw-providers-docs and jdu2600/Windows10EtwEvents), so
//! nothing behind it is read: whether such a call failed is not known.

use crate::etl::{RawEvent, address_at, u32_at};
use crate::stored::stored;

/// The interface by which a frame is presented.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PresentApi {
    /// Direct3D 10 to 12.
    Dxgi,
    /// Direct3D 9.
    D3d9,
    /// One that reports nothing itself (Vulkan, OpenGL): the graphics kernel does.
    DxgKrnl,
    /// None: the program marks its frames through UIforETW's provider.
    Marks,
}

stored!(enum PresentApi { 0 = Dxgi, 1 = D3d9, 2 = DxgKrnl, 3 = Marks });

/// Start or end of a call that presents a frame, or a mark in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Present {
    /// The call starts.
    Start {
        /// Its interface.
        api: PresentApi,
        /// Its swap chain: an address in the program.
        swap_chain: u64,
        /// Whether it only tests whether a frame would be shown.
        is_test: bool,
    },
    /// The program marks the end of a frame.
    Marked,
    /// The graphics kernel has taken a frame, from whatever interface.
    Taken {
        /// Handle of the window; that of the context where there is no window.
        window: u64,
    },
    /// The latest call of this thread ends.
    Stop {
        /// Its interface.
        api: PresentApi,
        /// Whether it failed, so that nothing was shown.
        has_failed: bool,
    },
}

/// Reads a program's own mark of a frame; `None` for other events of that provider.
pub(super) fn mark(id: u16) -> Option<Present> {
    const RENDER_FRAME_MARK: u16 = 200;
    (id == RENDER_FRAME_MARK).then_some(Present::Marked)
}

/// Reads a present of the graphics kernel; `Some(None)` for its other events. `None` if it is too short.
pub(super) fn taken(id: u16, raw: &RawEvent<'_>) -> Option<Option<Present>> {
    const PRESENT: u16 = 184;
    /// Length of the shortest version: four numbers and three words.
    const NUMBERS: usize = 4;
    const WORDS: usize = 3;
    if id != PRESENT {
        return Some(None);
    }
    if raw.payload.len() < 4 * NUMBERS + WORDS * raw.pointer.bytes() {
        return None;
    }
    let (context, window) = (u32_at(raw.payload, 0)?, address_at(raw.payload, 4, raw.pointer)?);
    Some(Some(Present::Taken { window: if window == 0 { context.into() } else { window } }))
}

/// Event ids of both providers. A call for several planes has ids of its own.
mod id {
    pub(super) const D3D9_START: u16 = 1;
    pub(super) const D3D9_STOP: u16 = 2;
    pub(super) const DXGI_START: u16 = 42;
    pub(super) const DXGI_STOP: u16 = 43;
    pub(super) const DXGI_PLANES_START: u16 = 55;
    pub(super) const DXGI_PLANES_STOP: u16 = 56;
}

/// Reads the start or end of a call; `Some(None)` for other events. `None` if it is too short.
pub(super) fn present(api: PresentApi, id: u16, raw: &RawEvent<'_>) -> Option<Option<Present>> {
    /// DXGI_PRESENT_TEST; Direct3D 9 has no such flag.
    const TEST: u32 = 1;
    let is_start = match (api, id) {
        (PresentApi::Dxgi, id::DXGI_START | id::DXGI_PLANES_START) | (PresentApi::D3d9, id::D3D9_START) => true,
        (PresentApi::Dxgi, id::DXGI_STOP | id::DXGI_PLANES_STOP) | (PresentApi::D3d9, id::D3D9_STOP) => false,
        _ => return Some(None),
    };
    if !is_start {
        let has_failed = (u32_at(raw.payload, 0)? as i32) < 0;
        return Some(Some(Present::Stop { api, has_failed }));
    }
    let swap_chain = address_at(raw.payload, 0, raw.pointer)?;
    let flags = u32_at(raw.payload, raw.pointer.bytes())?;
    Some(Some(Present::Start { api, swap_chain, is_test: api == PresentApi::Dxgi && flags & TEST != 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::raw;
    use crate::units::PointerSize;

    #[test]
    fn presents_of_the_graphics_kernel_have_a_window_or_a_context_in_either_version() {
        for (pointer, p) in [(PointerSize::Eight, 8), (PointerSize::Four, 4)] {
            for (version, numbers) in [(0, 3), (1, 4)] {
                let of = |context: u32, window: u64| {
                    let head = [&context.to_le_bytes()[..], &window.to_le_bytes()[..p]].concat();
                    [head, vec![0xFF; 4 * numbers + 2 * p]].concat()
                };
                let read = |payload: &[u8]| taken(184, &raw(pointer, version, payload));
                assert_eq!(read(&of(0x4000_1240, 0x2_04B0)), Some(Some(Present::Taken { window: 0x2_04B0 })));
                assert_eq!(read(&of(0x4000_1240, 0)), Some(Some(Present::Taken { window: 0x4000_1240 })));
            }
            assert_eq!(taken(184, &raw(pointer, 1, &vec![0; 16 + 3 * p - 1])), None, "too short");
            assert_eq!(taken(178, &raw(pointer, 1, &[])), Some(None), "another event");
        }
    }
}
