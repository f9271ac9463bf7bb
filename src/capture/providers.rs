//! What is asked of providers of programs beside memory: trackers, frames, the .NET runtime, and
//! those whose events are the user's marks. Pure: nothing here calls the system.
//!
//! Facts: keywords and ids of Microsoft-Windows-DXGI and -D3D9 as PresentMon asks for them
//! (`Microsoft_Windows_DXGI.h`, `Microsoft_Windows_D3D9.h`); those of the .NET runtime from its
//! manifest, and what makes it tell what code it has from its source (`eventtrace.cpp`): a provider
//! of rundowns that is switched on, or switched on once more, tells everything at once, at the
//! start or at the end, as its keywords say. Filters: Microsoft's page of EVENT_FILTER_DESCRIPTOR.

mod names;

pub use names::provider_of;

use super::Request;
use super::constants::*;
use crate::etl::Guid;
use crate::events::class;

/// All keywords, and events without any.
const ANY_KEYWORD: u64 = 0;

/// A provider, and what is wanted of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Who.
    pub provider: Guid,
    /// What for.
    pub purpose: Purpose,
    /// Events of this level and below.
    pub level: u8,
    /// Events with one of these keywords; 0 for all.
    pub keywords: u64,
    /// Whether events have call stacks.
    pub stacks: bool,
    /// Only events of these ids; all if there are none.
    pub ids: &'static [u16],
}

/// What a provider is switched on for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Custom heap trackers.
    Trackers,
    /// Frames that are shown.
    Frames,
    /// Code and collections of the .NET runtime.
    Managed,
    /// Marks.
    Marks,
}

impl Purpose {
    /// What is missing without it, as a sentence.
    pub fn missing(self) -> &'static str {
        match self {
            Self::Trackers => "custom trackers are not recorded",
            Self::Frames => "frames are not recorded",
            Self::Managed => "managed code is not recorded",
            Self::Marks => "marks of a provider are not recorded",
        }
    }
}

/// The providers of a request, in the order in which they are switched on.
pub fn wanted(request: &Request) -> Vec<Wanted> {
    let mut all = Vec::new();
    if request.trackers {
        all.push(Wanted { stacks: request.stacks, ..of(class::CUSTOM_HEAP, Purpose::Trackers) });
    }
    if request.frames {
        let presents = |provider, ids| Wanted { keywords: KEYWORD_PRESENTS, ids, ..of(provider, Purpose::Frames) };
        all.push(presents(class::DXGI, &[DXGI_PRESENT_START, DXGI_PRESENT_STOP, DXGI_PLANES_START, DXGI_PLANES_STOP]));
        all.push(presents(class::D3D9, &[D3D9_PRESENT_START, D3D9_PRESENT_STOP]));
        all.push(of(class::MULTI_FRAME_RATE, Purpose::Frames));
    }
    if request.managed {
        // Without the keyword of compilation the runtime does not tell the system, either, how to walk stacks through its code.
        let keywords = KEYWORD_GC | MANAGED_CODE | KEYWORD_END_ENUMERATION;
        all.push(Wanted { keywords, ..of(class::CLR, Purpose::Managed) });
    }
    for &provider in &request.marks {
        if all.iter().all(|one| one.provider != provider) {
            all.push(Wanted { level: LEVEL_VERBOSE, ..of(provider, Purpose::Marks) });
        }
    }
    all
}

/// Modules of the .NET runtime, and code that is compiled or used.
const MANAGED_CODE: u64 = KEYWORD_LOADER | KEYWORD_JIT | KEYWORD_NGEN | KEYWORD_NO_NGEN_IMAGES;

/// When the runtimes are to tell what code they have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rundown {
    /// What was compiled before the recording.
    AtStart,
    /// All there is.
    AtEnd,
}

/// Has the runtimes tell at once what code they have.
pub fn rundown(when: Rundown) -> Wanted {
    let when = match when {
        Rundown::AtStart => KEYWORD_START_RUNDOWN,
        Rundown::AtEnd => KEYWORD_END_RUNDOWN,
    };
    Wanted { keywords: MANAGED_CODE | when, ..of(class::CLR_RUNDOWN, Purpose::Managed) }
}

/// All that it says of informational and higher level.
fn of(provider: Guid, purpose: Purpose) -> Wanted {
    Wanted { provider, purpose, level: LEVEL_INFORMATION, keywords: ANY_KEYWORD, stacks: false, ids: &[] }
}

/// A filter of processes: their ids. Nothing where they are none, or too many for one.
pub fn pid_filter(pids: &[u32]) -> Vec<u8> {
    if pids.len() > MAX_FILTER_PIDS { Vec::new() } else { pids.iter().flat_map(|pid| pid.to_le_bytes()).collect() }
}

/// A filter of events (`EVENT_FILTER_EVENT_ID`): that they are let in, their number, their ids. Nothing
/// where there are none, or too many for one.
pub fn id_filter(ids: &[u16]) -> Vec<u8> {
    if ids.is_empty() || ids.len() > MAX_FILTER_IDS {
        return Vec::new();
    }
    [FILTER_IN, ids.len() as u16].iter().chain(ids).flat_map(|word| word.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests;
