//! Search for text in the names of nodes, without building the whole tree.
//!
//! Cost: the names of each heap once, each distinct address of a process once, and a look at each stack node that a
//! process's sites pass.

use std::fmt::Write;

use rayon::prelude::*;

use super::found::{FRAME_LEVEL, Found};
use super::lines::{Tree, label};
use super::question::Question;
use super::trim::Trimmed;
use crate::model::{HeapId, Outline, ProcessId, SiteId, Trace};
use crate::names::Names;
use crate::query::frame_name::FrameName;
use crate::query::{Cancel, Cancelled, Key, LifetimeClass, Mask, Recorded};
use crate::tables::KeyedMap;

impl Found {
    /// Searches for the question's text among the sites in its mask. Returns the matches and a mask restricted to them;
    /// `None` without a search text.
    pub(super) fn search(question: &Question<'_>) -> Result<Option<(Self, Mask)>, Cancelled> {
        let trace = question.trace;
        let text = Text::of(&question.request.search);
        if text.0.is_empty() {
            return Ok(None);
        }
        let heaps: Vec<_> = (0..trace.heaps.len() as u32).map(|heap| heap_level(trace, &text, HeapId(heap))).collect();
        let classes = LifetimeClass::ALL.map(|class| {
            let kind = class.impacting();
            let names = [[kind.name(), kind.words(class.sign())], [class.name(), class.words()]];
            let has_text = |names: &[&str; 2]| names.iter().any(|name| text.is_in(name));
            names.iter().position(has_text).map(|i| i + FRAME_LEVEL - names.len())
        });
        let mut found = Self { heaps, classes, frames: vec![0; trace.sites.len()] };
        found.search_frames(question, &text)?;
        let mut mask = question.mask.clone();
        let classes = (0..4).filter(|&i| found.classes[i].is_some()).fold(0, |bits, i| bits | 1u8 << i);
        for ((bits, site), frame) in mask.bits_mut().iter_mut().zip(&trace.sites).zip(&found.frames) {
            if found.heaps[site.heap.0 as usize].is_none() && *frame == 0 {
                *bits &= classes;
            }
        }
        Ok(Some((found, mask)))
    }

    /// Searches the frames of heaps that do not match themselves, process by process.
    fn search_frames(&mut self, question: &Question<'_>, text: &Text) -> Result<(), Cancelled> {
        let trace = question.trace;
        let outline = trace.outline();
        let mut heaps: Vec<HeapId> = (0..trace.heaps.len() as u32).map(HeapId).collect();
        heaps.retain(|heap| self.heaps[heap.0 as usize].is_none());
        heaps.sort_by_key(|&heap| trace.heap(heap).process);
        let processes: Vec<&[HeapId]> = heaps.chunk_by(|&a, &b| trace.heap(a).process == trace.heap(b).process).collect();
        let per_worker = processes.len().div_ceil(rayon::current_num_threads()).max(1);
        let parts: Result<Vec<Vec<(SiteId, u32)>>, Cancelled> = processes
            .par_chunks(per_worker)
            .map(|processes| {
                let mut frames = Frames::new(question, text);
                let mut found = Vec::new();
                for &heap in processes.iter().copied().flatten() {
                    question.cancel.check()?;
                    for &site in &outline.sites()[outline.heap(heap)] {
                        if question.mask.classes(site) == 0 || question.totals.of(site).is_empty() {
                            continue;
                        }
                        let depth = frames.depth(site);
                        if depth > 0 && depth <= frames.shown(site) {
                            found.push((site, depth));
                        }
                    }
                }
                Ok(found)
            })
            .collect();
        for (site, depth) in parts?.into_iter().flatten() {
            self.frames[site.0 as usize] = depth;
        }
        Ok(())
    }
}

impl Tree {
    /// Returns the first line whose own name contains the search text; single allocations are not searched. `trace`
    /// must be the one that the tree was built from. Cost: a name for each line up to the match.
    pub fn first_found(&self, trace: &Trace, search: &str, cancel: &Cancel) -> Result<Option<usize>, Cancelled> {
        let text = Text::of(search);
        if text.0.is_empty() {
            return Ok(None);
        }
        for (index, line) in (0..).zip(&self.lines) {
            cancel.check()?;
            if text.is_in(&self.line_label(trace, line)) {
                return Ok(Some(self.index_of(index)));
            }
        }
        Ok(None)
    }
}

/// The search text, in lower case.
struct Text(String);

impl Text {
    fn of(search: &str) -> Self {
        Self(search.trim().to_lowercase())
    }

    fn is_in(&self, name: &str) -> bool {
        name.to_lowercase().contains(&self.0)
    }

    /// Returns whether a frame's name contains the text, without an allocation for each of a million names.
    fn is_in_frame(&self, name: FrameName<'_>, buffer: &mut String) -> bool {
        buffer.clear();
        let _ = write!(buffer, "{name}"); // a string takes everything
        if !buffer.is_ascii() {
            return self.is_in(buffer);
        }
        buffer.make_ascii_lowercase();
        buffer.contains(&self.0)
    }
}

fn heap_level(trace: &Trace, text: &Text, id: HeapId) -> Option<usize> {
    let heap = trace.heap(id);
    let ways = [Key::Process(heap.process), Key::Layer(heap.layer), Key::Heap(id)];
    ways.into_iter().position(|key| text.is_in(&label(trace, &Names::default(), key, None)))
}

/// The frames of one process after another.
struct Frames<'a> {
    trace: &'a Trace,
    names: &'a Names,
    fold: bool,
    outline: &'a Outline,
    text: &'a Text,
    caller: Option<ProcessId>,
    /// Whether the lines of a frame at an address contain the text. Innermost and outermost frames have separate
    /// entries, since their lines can differ.
    addresses: KeyedMap<(u64, bool, bool), bool>,
    /// By place: the turn in which the entry is valid, the depth of the outermost matching frame on the path to it, and
    /// its own depth.
    known: Vec<(u32, u32, u32)>,
    turn: u32,
    buffer: String,
    /// The folded order of sites, if innermost frames can be left out.
    trimmed: Option<&'a Trimmed>,
}

impl<'a> Frames<'a> {
    fn new(question: &Question<'a>, text: &'a Text) -> Self {
        let trace = question.trace;
        Self {
            trace,
            names: &question.request.names,
            fold: question.request.fold.is_any(),
            outline: trace.outline(),
            text,
            caller: None,
            addresses: KeyedMap::default(),
            known: vec![(0, 0, 0); trace.stacks.len()],
            turn: 0,
            buffer: String::new(),
            trimmed: question.trimmed,
        }
    }

    /// Returns the depth of a site's innermost frame that has a line. [`Frames::depth`] must have been called for the
    /// site.
    fn shown(&self, site: SiteId) -> u32 {
        let stack = self.trace.site(site).stack;
        let (_, _, depth) = self.known[self.outline.place(stack) as usize];
        depth - self.trimmed.map_or(0, |trimmed| trimmed.left_out(site))
    }

    /// Returns the depth of the outermost matching frame, 0 without one.
    fn depth(&mut self, site: SiteId) -> u32 {
        let site = self.trace.site(site);
        if self.caller.replace(site.caller) != Some(site.caller) {
            self.turn += 1;
            self.addresses.clear();
        }
        let mut way = Vec::new();
        let (mut found, mut depth) = (0, 0);
        for node in self.trace.stacks.chain(site.stack) {
            let known = self.known[self.outline.place(node) as usize];
            if known.0 == self.turn {
                (found, depth) = (known.1, known.2);
                break;
            }
            way.push(node);
        }
        for node in way.into_iter().rev() {
            depth += 1;
            if found == 0 {
                let is_innermost = self.outline.children(self.outline.place(node)).is_empty();
                let (trace, names, fold, text, buffer) = (self.trace, self.names, self.fold, self.text, &mut self.buffer);
                let look = || {
                    let frame = Recorded::of(trace, names, node, site.caller, site.first, is_innermost);
                    frame.shown(fold).any(|level| text.is_in_frame(frame.name(level), buffer))
                };
                let key = (trace.stacks.address(node), is_innermost, depth == 1);
                found = if *self.addresses.entry(key).or_insert_with(look) { depth } else { 0 };
            }
            self.known[self.outline.place(node) as usize] = (self.turn, found, depth);
        }
        found
    }
}
