//! Frames of a game: it hands them over for showing through DXGI (Direct3D 10 to 12) or
//! Direct3D 9.
//!
//! A frame is what lies between two presents of one swap chain. The moment is that of the call
//! (the event at its start), which is when a program's own loop turns around. Ids, fields and
//! flags: PresentMon's tables of both providers.

use crate::etl::{RawEvent, address_at, u32_at};

/// The interface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PresentApi {
    /// Direct3D 10 to 12.
    Dxgi,
    /// Direct3D 9.
    D3d9,
    /// The program marks its frames, through UIforETW's provider.
    Marks,
}

/// A call that hands a frame over begins or ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Present {
    /// It begins.
    Start {
        /// By which interface.
        api: PresentApi,
        /// For which swap chain: an address in the program.
        swap_chain: u64,
        /// Whether it only asks whether it would show anything.
        is_test: bool,
    },
    /// The program marks that a frame is over.
    Marked,
    /// The latest of its thread ends.
    Stop {
        /// By which interface.
        api: PresentApi,
        /// Whether it showed nothing.
        has_failed: bool,
    },
}

/// A program's own mark of a frame; nothing for other events of that provider.
pub(super) fn mark(id: u16) -> Option<Present> {
    const RENDER_FRAME_MARK: u16 = 200;
    (id == RENDER_FRAME_MARK).then_some(Present::Marked)
}

/// Ids of both providers. A call for several planes is one of another name.
mod id {
    pub const D3D9_START: u16 = 1;
    pub const D3D9_STOP: u16 = 2;
    pub const DXGI_START: u16 = 42;
    pub const DXGI_STOP: u16 = 43;
    pub const DXGI_PLANES_START: u16 = 55;
    pub const DXGI_PLANES_STOP: u16 = 56;
}

/// Begin or end of a call; nothing for other events. `None` if it is too short.
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
