//! Frames that a game presents through DXGI (Direct3D 10 to 12) or Direct3D 9.
//!
//! A frame lies between two presents of one swap chain. The moment of a present is the start of the
//! call, which is where a program's own loop turns around. Ids, fields and flags: PresentMon's tables
//! of both providers.

use crate::etl::{RawEvent, address_at, u32_at};

/// The interface by which a frame is presented.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PresentApi {
    /// Direct3D 10 to 12.
    Dxgi,
    /// Direct3D 9.
    D3d9,
    /// None: the program marks its frames through UIforETW's provider.
    Marks,
}

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
