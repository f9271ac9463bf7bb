//! The user-mode providers of a recording: custom heap trackers, frames, the .NET runtime, and providers whose events
//! become marks. Pure: nothing here calls the system.
//!
//! Sources: keywords and ids of Microsoft-Windows-DXGI, -D3D9 and -DxgKrnl from PresentMon (`Microsoft_Windows_DXGI.h`,
//! `Microsoft_Windows_D3D9.h`, `Microsoft_Windows_DxgKrnl.h`); of PIX from its manifest (`PIXETW.man` in microsoft/PixEvents); those of the .NET runtime from its manifest; the rundown from the runtime's source
//! (`eventtrace.cpp`): when a rundown provider is enabled, or enabled again, it reports all code at once, as a start or
//! an end rundown depending on its keywords. Filters: Microsoft's page of EVENT_FILTER_DESCRIPTOR.

mod names;

pub use names::provider_of;

use super::constants::*;
use super::{Allocator, Request};
use crate::etl::Guid;
use crate::events::class;

/// All keywords, including events without any.
const ANY_KEYWORD: u64 = 0;

/// A provider and how to enable it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The provider.
    pub provider: Guid,
    /// Its purpose.
    pub purpose: Purpose,
    /// Events of this level and more severe ones.
    pub level: u8,
    /// Events with any of these keywords; 0 for all.
    pub keywords: u64,
    /// Whether the events get call stacks.
    pub stacks: bool,
    /// Only events with these ids; empty for all.
    pub ids: Vec<u16>,
    /// Whether the provider is asked for what holds at the start, too.
    pub state: bool,
}

impl Wanted {
    /// Whether Windows may be asked only for the events of some processes. Trackers matter most, so they are enabled in
    /// the plainest way; a driver writes in whatever process it runs, and process filters are made for programs.
    pub fn is_of_processes(&self) -> bool {
        self.purpose != Purpose::Trackers && self.provider != class::DXG_KRNL
    }

    /// Whether it may be enabled without filters on a Windows that has none: without the filter of events, the keywords of
    /// GPU memory bring each list of allocations that the graphics card works on.
    pub fn may_lack_filters(&self) -> bool {
        self.purpose != Purpose::Gpu
    }
}

/// The purpose of a provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Custom heap trackers.
    Trackers,
    /// Presented frames.
    Frames,
    /// Memory of graphics cards.
    Gpu,
    /// Code and garbage collections of the .NET runtime.
    Managed,
    /// Events that become marks.
    Marks,
}

impl Purpose {
    /// Describes what is missing without the provider.
    pub fn missing(self) -> &'static str {
        match self {
            Self::Trackers => "custom trackers are not recorded",
            Self::Frames => "frames are not recorded",
            Self::Gpu => "GPU memory is not recorded",
            Self::Managed => "managed code is not recorded",
            Self::Marks => "marks of a provider are not recorded",
        }
    }
}

/// The providers of a request, in the order in which they are enabled.
pub fn wanted(request: &Request) -> Vec<Wanted> {
    let mut all = Vec::new();
    let stacks = request.stacks;
    let mut built_in = Vec::new();
    if request.trackers {
        all.push(Wanted { stacks, ..of(class::CUSTOM_HEAP, Purpose::Trackers) });
        built_in = Allocator::built_in();
    }
    for Allocator { provider, ids } in built_in.iter().chain(&request.allocators) {
        if all.iter().all(|one| one.provider != *provider) {
            let of_pix = if *provider == class::PIX { pix_keywords(request) } else { ANY_KEYWORD };
            let known = of(*provider, Purpose::Trackers);
            all.push(Wanted { stacks, level: LEVEL_VERBOSE, keywords: of_pix, ids: ids.clone(), ..known });
        }
    }
    if request.frames {
        let presents =
            |provider, ids: &[u16]| Wanted { keywords: KEYWORD_PRESENTS, ids: ids.into(), ..of(provider, Purpose::Frames) };
        all.push(presents(class::DXGI, &[DXGI_PRESENT_START, DXGI_PRESENT_STOP, DXGI_PLANES_START, DXGI_PLANES_STOP]));
        all.push(presents(class::D3D9, &[D3D9_PRESENT_START, D3D9_PRESENT_STOP]));
        all.push(of(class::MULTI_FRAME_RATE, Purpose::Frames));
    }
    all.extend(graphics_kernel(request));
    if request.managed {
        // The JIT keyword is also needed for stacks: without it the runtime does not register how to unwind its code.
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

/// The graphics kernel, for presents and GPU memory: one provider, so it is enabled once for both.
///
/// Presents only by their own keyword: the other one of that event (Base, the only one before Windows 11) is that of each
/// packet for the graphics card.
fn graphics_kernel(request: &Request) -> Option<Wanted> {
    let parts = [
        (request.frames, KEYWORD_KERNEL_PRESENTS, &[KERNEL_PRESENT][..]),
        (request.gpu, KEYWORD_GPU_REFERENCES | KEYWORD_GPU_MEMORY, &[GPU_BUDGET, GPU_USAGE, GPU_COMMITMENT]),
    ];
    let parts = parts.into_iter().filter(|(is_wanted, ..)| *is_wanted);
    let (keywords, ids) =
        parts.fold((0, Vec::new()), |(keywords, ids), (_, more, of)| (keywords | more, [ids, of.to_vec()].concat()));
    let purpose = if request.gpu { Purpose::Gpu } else { Purpose::Frames };
    (!ids.is_empty()).then(|| Wanted { keywords, ids, state: request.gpu, ..of(class::DXG_KRNL, purpose) })
}

/// Keywords of PIX: counters and allocations; what the program marks, too, if it is wanted.
fn pix_keywords(request: &Request) -> u64 {
    let marks = if request.marks.contains(&class::PIX) { KEYWORD_PIX_MARKS } else { 0 };
    KEYWORD_PIX_COUNTERS | KEYWORD_PIX_ALLOCATIONS | KEYWORD_PIX_FREES | marks
}

/// Keywords for .NET modules and for code that is compiled or used.
const MANAGED_CODE: u64 = KEYWORD_LOADER | KEYWORD_JIT | KEYWORD_NGEN | KEYWORD_NO_NGEN_IMAGES;

/// The kind of a .NET rundown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rundown {
    /// At the start: the code that was compiled before the recording.
    AtStart,
    /// At the end: all code.
    AtEnd,
}

/// The provider that makes all .NET runtimes report their code at once.
pub fn rundown(when: Rundown) -> Wanted {
    let when = match when {
        Rundown::AtStart => KEYWORD_START_RUNDOWN,
        Rundown::AtEnd => KEYWORD_END_RUNDOWN,
    };
    Wanted { keywords: MANAGED_CODE | when, ..of(class::CLR_RUNDOWN, Purpose::Managed) }
}

/// All events of a provider that are informational or more severe.
fn of(provider: Guid, purpose: Purpose) -> Wanted {
    Wanted { provider, purpose, level: LEVEL_INFORMATION, keywords: ANY_KEYWORD, stacks: false, ids: Vec::new(), state: false }
}

/// Builds a process filter, which is the list of ids. Empty if there are none, or too many for a filter.
pub fn pid_filter(pids: &[u32]) -> Vec<u8> {
    if pids.len() > MAX_FILTER_PIDS { Vec::new() } else { pids.iter().flat_map(|pid| pid.to_le_bytes()).collect() }
}

/// Builds an event filter (`EVENT_FILTER_EVENT_ID`): the flag to let them pass, their number, their ids. Empty if there
/// are none, or too many for a filter.
pub fn id_filter(ids: &[u16]) -> Vec<u8> {
    if ids.is_empty() || ids.len() > MAX_FILTER_IDS {
        return Vec::new();
    }
    [FILTER_IN, ids.len() as u16].iter().chain(ids).flat_map(|word| word.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests;
