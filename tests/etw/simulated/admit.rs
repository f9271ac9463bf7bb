//! What of all that happens a session is told: what its masks, the hooks and the processes of its extension block, and
//! the levels, keywords and filters of its providers admit. Nothing else comes, as from Windows.
//!
//! * The kernel's: events of the groups that the first mask has on. Marks come in any case.
//! * Heaps: those of processes whose ids are in the block, and of those that were started while the registry had
//!   `TracingFlags` for their image.
//! * Providers: each as it was switched on last.
//! * Stacks: of the kinds of events that were listed; of providers, if they were asked for.

use std::collections::{BTreeSet, HashSet};

use highwater::etl::Guid;
use windows_sys::Win32::System::Diagnostics::Etw as etw;
use winreg::RegKey;
use winreg::enums::{HKEY_LOCAL_MACHINE, KEY_READ, KEY_WOW64_64KEY};

use super::calls::number;
use super::events::{HEAP, KERNEL, Lanes, Told, USER};
use super::state::{Provider, Session};
use crate::constants::*;

/// A class of events.
const fn class(guid: windows_sys::core::GUID) -> Guid {
    Guid::new(guid.data1, guid.data2, guid.data3, guid.data4)
}

const PAGES: Guid = class(etw::PageFaultGuid);
const PROCESSES: Guid = class(etw::ProcessGuid);
const THREADS: Guid = class(etw::ThreadGuid);
const IMAGES: Guid = class(etw::ImageLoadGuid);
const PERFORMANCE: Guid = class(etw::PerfInfoGuid);
const FILES: Guid = class(etw::FileIoGuid);

/// A kind of events of a class.
pub type Kind = (Guid, u8);

/// What a session asks for.
#[derive(Default)]
pub struct Asked {
    flags: u32,
    /// Kinds of the kernel's events that get stacks.
    kernel_stacks: Vec<Kind>,
    pids: Vec<u32>,
    /// Images whose every start is traced.
    images: Vec<String>,
    /// Hooks of heap events that get stacks.
    heap_stacks: Vec<u16>,
    providers: Vec<Provider>,
}

impl Asked {
    /// What a recording asks for by default, of the processes with these names.
    pub fn usual(lanes: &Lanes, names: &[&str]) -> Self {
        let is_named = |name: &str| names.contains(&name);
        let trackers = lanes[USER].first().map(|told| told.provider);
        let provider =
            |guid| Provider { guid, level: LEVEL_INFORMATION, any: 0, properties: PROPERTY_STACK, filters: Vec::new() };
        Self {
            flags: FLAG_PROCESS | FLAG_THREAD | FLAG_IMAGE_LOAD | FLAG_VIRTUAL_ALLOC | FLAG_VAMAP,
            kernel_stacks: vec![(PAGES, VIRTUAL_ALLOC)],
            pids: processes(lanes).filter(|(_, name)| is_named(name)).map(|(pid, _)| pid).collect(),
            images: Vec::new(),
            heap_stacks: vec![HEAP_ALLOC, HEAP_REALLOC],
            providers: trackers.into_iter().map(provider).collect(),
        }
    }

    /// Processes whose heaps are traced.
    pub fn traced(&self, lanes: &Lanes) -> HashSet<u32> {
        let is_named = |name: &str| self.images.iter().any(|image| image.eq_ignore_ascii_case(name));
        let named = processes(lanes).filter(|(_, name)| is_named(name)).map(|(pid, _)| pid);
        self.pids.iter().copied().chain(named).collect()
    }

    /// Whether an event of a lane comes.
    pub fn admits(&self, lane: usize, told: &Told, traced: &HashSet<u32>) -> bool {
        match lane {
            // What a stack belongs to that is in no event cannot be told: it comes if any do.
            KERNEL if told.is_stack() && told.owners.is_empty() => !self.kernel_stacks.is_empty(),
            KERNEL if told.is_stack() => {
                told.owners.iter().any(|owner| self.kernel_stacks.contains(owner) && self.has_on(*owner))
            }
            KERNEL => self.has_on((told.provider, told.opcode)),
            HEAP if told.is_stack() => {
                let mut hooks = told.owners.iter().map(|(_, opcode)| GROUP_HEAP | u16::from(*opcode));
                traced.contains(&told.word(8)) && hooks.any(|hook| self.heap_stacks.contains(&hook))
            }
            HEAP => traced.contains(&told.pid),
            _ => self.provider(told.provider).is_some_and(|provider| provider.admits(told)),
        }
    }

    fn has_on(&self, (class, kind): Kind) -> bool {
        let flag = match (class, kind) {
            (PERFORMANCE, MARK) => return true,
            (PROCESSES, _) => FLAG_PROCESS,
            (THREADS, _) => FLAG_THREAD,
            (IMAGES, _) => FLAG_IMAGE_LOAD,
            (PAGES, VIRTUAL_ALLOC | VIRTUAL_FREE | VIRTUAL_RUNDOWN_START | VIRTUAL_RUNDOWN_END) => FLAG_VIRTUAL_ALLOC,
            (PAGES, FIRST_FAULT..=LAST_FAULT) => FLAG_PAGE_FAULTS,
            (PAGES, HARD_FAULT) => FLAG_HARD_FAULTS,
            (PERFORMANCE, SAMPLE | SAMPLE_INTERVAL | SAMPLE_INTERVAL_START | SAMPLE_INTERVAL_END) => FLAG_PROFILE,
            (FILES, MAP_FILE..=MAP_FILE_RUNDOWN_END) => FLAG_VAMAP,
            (FILES, _) => FLAG_FILE_IO,
            _ => return false,
        };
        self.flags & flag != 0
    }

    /// As it was switched on last.
    fn provider(&self, guid: Guid) -> Option<&Provider> {
        self.providers.iter().rfind(|provider| provider.guid == guid)
    }

    /// The event as it comes: without what was not asked for.
    pub fn as_it_comes(&self, told: &Told) -> Told {
        let mut told = told.clone();
        if self.provider(told.provider).is_some_and(|provider| provider.properties & PROPERTY_STACK == 0) {
            told.items.retain(|(kind, _)| ![ITEM_STACK_32, ITEM_STACK_64].contains(kind));
        }
        told
    }
}

impl Provider {
    fn admits(&self, told: &Told) -> bool {
        let level = told.level == 0 || self.level == 0 || told.level <= self.level;
        let keyword = self.any == 0 || told.keyword == 0 || told.keyword & self.any != 0;
        level && keyword && self.filters.iter().all(|(kind, bytes)| passes(*kind, bytes, told))
    }
}

fn passes(kind: u32, bytes: &[u8], told: &Told) -> bool {
    match kind {
        FILTER_PIDS => bytes.chunks_exact(4).any(|pid| pid == told.pid.to_le_bytes()),
        // That they are let in, their number, and they.
        FILTER_EVENTS => bytes[4..].chunks_exact(2).any(|id| id == told.id.to_le_bytes()),
        _ => false,
    }
}

impl Session {
    /// What it asks for, by the bytes that it was started and set with.
    pub fn asked(&self) -> Asked {
        let ids = self.stacks.chunks_exact(24).map(|id| (Guid::from_bytes(id[..16].try_into().unwrap()), id[16]));
        let mut asked = Asked {
            flags: if self.masks.is_empty() { 0 } else { number(&self.masks, 0) },
            kernel_stacks: ids.collect(),
            images: self.images.clone(),
            providers: self.providers.clone(),
            ..Asked::default()
        };
        let Some(bytes) = self.properties.first() else { return asked };
        for (kind, words) in extension(bytes) {
            match kind {
                ITEM_PIDS => asked.pids = words,
                ITEM_STACKS => asked.heap_stacks = words.into_iter().map(|hook| hook as u16).collect(),
                _ => {}
            }
        }
        asked
    }
}

/// Items of the extension block, if there is one: kind and words.
pub fn extension(bytes: &[u8]) -> Vec<(u32, Vec<u32>)> {
    let flags = number(bytes, AT_ENABLE_FLAGS);
    if flags & EXTENDED != EXTENDED {
        return Vec::new();
    }
    let block = (flags & 0xFFFF) as usize;
    let word = |n: usize| number(bytes, block + 4 * n);
    let (mut at, mut items) = (1, Vec::new());
    for _ in 0..word(0) >> 16 {
        let (kind, len) = (word(at) >> 16, (word(at) & 0xFFFF) as usize);
        items.push((kind, (at + 1..at + len).map(word).collect()));
        at += len;
    }
    assert_eq!(at, (word(0) & 0xFFFF) as usize, "the block is as long as it says");
    items
}

/// Images for which the registry has heaps traced, now.
pub fn traced_images() -> Vec<String> {
    const OPTIONS: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Image File Execution Options";
    let Ok(options) = RegKey::predef(HKEY_LOCAL_MACHINE).open_subkey_with_flags(OPTIONS, KEY_READ | KEY_WOW64_64KEY) else {
        return Vec::new();
    };
    let is_traced = |image: &String| {
        let flags = options.open_subkey(image).and_then(|key| key.get_value::<u32, _>("TracingFlags"));
        flags.is_ok_and(|flags| flags & TRACE_HEAPS != 0)
    };
    options.enum_keys().map_while(Result::ok).filter(is_traced).collect()
}

/// Ids and names of all processes that the kernel tells of.
fn processes(lanes: &Lanes) -> impl Iterator<Item = (u32, &str)> {
    let told = lanes[KERNEL].iter().filter_map(|told| told.process.as_ref());
    let all: BTreeSet<(u32, &str)> = told.map(|(pid, name)| (*pid, name.as_str())).collect();
    all.into_iter()
}
