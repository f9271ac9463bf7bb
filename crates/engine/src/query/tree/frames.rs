//! The frames below one type of one heap. Its sites are in the order of the trace's [`crate::model::Outline`], so the
//! sites of a node are a range: its numbers are differences of prefix sums, and its children are the ranges between the
//! ends of their subtrees.
//!
//! A frame with inlined functions has one line for each of them, nested, with the same numbers. The sites and children
//! of a folded frame belong to its caller. If the innermost frames of a stack are folded, its site is placed at the
//! innermost frame that is left ([`super::Trimmed`]). If everything but the user's own code is folded
//! ([`Fold::Foreign`]), there is one line for it below that frame, and below this line the original frames. Frames with
//! one child and nothing of their own can share its line. Whatever is folded, the lines below a node add up to it.

use std::ops::Range;

use super::column::sort_lines;
use super::lines::{Line, frame_name};
use super::question::Question;
use super::section::{Section, gallop};
use super::upper::OpenType;
use crate::model::{NodeId, Outline, SiteId};
use crate::query::{ByClass, Cancelled, Fold, Key, LifetimeClass, Numbers, Recorded};

/// Largest number of frames that share a line; their names are made whenever it is drawn.
const MOST_SHARING: usize = 64;

/// Level of a frame that has no line.
const FOLDED: u16 = u16::MAX;

/// The visible lines below a type. Line numbers are relative to the type's own line, which is 0.
#[derive(Default)]
pub(super) struct Frames {
    pub(super) lines: Vec<Line>,
    pub(super) leaves: Vec<OwnRows>,
    pub(super) sites: Vec<SiteId>,
    /// For each site, the line of the deepest node that contains it.
    pub(super) deepest: Vec<u32>,
}

/// An open node with allocations of its own, which are listed after the line `after`.
pub(super) struct OwnRows {
    pub(super) line: u32,
    pub(super) after: u32,
    /// Ranges of the section's sites.
    pub(super) ranges: Vec<Range<usize>>,
}

/// The part that a line plays if frames are folded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A frame that is not folded.
    Left,
    /// The line for all frames folded below a frame.
    Folded,
    /// A frame below a line for folded frames.
    Inside,
}

/// A node below another.
struct Child {
    part: Part,
    place: u32,
    /// Number of frames from the outermost to this one.
    height: u32,
    /// Level of the function in the frame.
    level: u16,
    range: Range<usize>,
    numbers: Numbers,
}

/// The contents of a node.
#[derive(Default)]
struct Below {
    /// Ranges of the node's own sites.
    own: Vec<Range<usize>>,
    children: Vec<Child>,
}

impl Below {
    /// Returns whether there are only frames: no own allocations and no line for folded frames.
    fn are_left(&self) -> bool {
        self.own.is_empty() && self.children.iter().all(|child| child.part != Part::Folded)
    }
}

/// A pending step; the next one is last in the list.
enum Step {
    Line { child: Child, above: Above, is_only: bool },
    Own { line: u32, ranges: Vec<Range<usize>> },
}

/// The parent of a line.
#[derive(Clone, Copy)]
struct Above {
    line: u32,
    depth: u32,
    /// Whether all frames down to it are part of the thread start.
    is_start: bool,
}

/// Walks down the open nodes of a section. Not recursive: stacks can be deep.
pub(super) struct Walk<'a> {
    question: &'a Question<'a>,
    outline: &'a Outline,
    class: LifetimeClass,
    section: Section,
    /// For each site the height of the outermost matching frame, if only frames match the search.
    hits: Option<&'a [u32]>,
    /// The type's path, plus a slot for one more key.
    path: Vec<Key>,
    todo: Vec<Step>,
    out: Frames,
}

impl<'a> Walk<'a> {
    pub(super) fn new(question: &'a Question<'a>, open: &OpenType, section: Section) -> Self {
        let path = open.path.iter().copied().chain([Key::Frame(NodeId::ROOT)]).collect();
        Self {
            question,
            outline: question.trace.outline(),
            class: open.class,
            hits: question.found.and_then(|found| found.frames(open.heap, open.class)),
            path,
            todo: Vec::new(),
            out: Frames { deepest: vec![0; section.sites.len()], ..Frames::default() },
            section,
        }
    }

    /// Builds the lines. Matches of the search open nodes only for the first `most` lines.
    pub(super) fn run(mut self, most: usize) -> Result<Frames, Cancelled> {
        let mut top = Below::default();
        self.add_called(Part::Left, 0, 0, 0..self.section.sites.len(), &mut top);
        self.plan(top, Above { line: 0, depth: 0, is_start: self.question.request.fold == Fold::Foreign });
        while let Some(step) = self.todo.pop() {
            match step {
                Step::Line { child, above, is_only } => {
                    if self.out.lines.len() >= most {
                        self.hits = None;
                    }
                    self.line(child, above, is_only);
                }
                Step::Own { line, ranges } => {
                    self.out.leaves.push(OwnRows { line, after: self.out.lines.len() as u32, ranges });
                }
            }
            if self.out.lines.len().is_multiple_of(1024) {
                self.question.cancel.check()?;
            }
        }
        self.out.sites = self.section.sites;
        Ok(self.out)
    }

    fn line(&mut self, child: Child, above: Above, is_only: bool) {
        let line = self.out.lines.len() as u32 + 1;
        let depth = above.depth + 1;
        let (child, chain, starts) = self.chain(child, above.is_start);
        let key = self.key(&child);
        let wish = self.wish(&chain, &child);
        // An only child opens by itself, unless single allocations or folded frames would come next.
        let opens = is_only && child.part != Part::Folded;
        let below = wish.unwrap_or(opens).then(|| self.below(&child));
        let below = below.filter(|below| wish.is_some() || below.are_left());
        self.out.lines.push(Line {
            head: chain.first().copied().unwrap_or(key),
            key,
            parent: above.line,
            group: 0,
            depth,
            site: self.section.sites[child.range.start],
            folded: if child.part == Part::Folded { self.is_one_stack(&child.range).into() } else { starts },
            is_open: below.is_some(),
            mixes_layers: false,
            numbers: child.numbers,
        });
        match below {
            None => self.out.deepest[child.range].fill(line),
            Some(below) => {
                below.own.iter().for_each(|own| self.out.deepest[own.clone()].fill(line));
                self.plan(below, Above { line, depth, is_start: starts as usize == chain.len() });
            }
        }
    }

    /// Plans the lines below a line.
    fn plan(&mut self, below: Below, above: Above) {
        let Below { own, mut children } = below;
        if !own.is_empty() {
            self.todo.push(Step::Own { line: above.line, ranges: own });
        }
        let Question { trace, request, .. } = self.question;
        let name = |child: &Child| {
            let site = trace.site(self.section.sites[child.range.start]);
            frame_name(trace, &request.names, self.outline.node(child.place), child.level, Some(site))
        };
        sort_lines(&mut children, request.sort, |child| child.numbers, name);
        let is_only = children.len() == 1;
        let step = |child| Step::Line { child, above, is_only };
        self.todo.extend(children.into_iter().rev().map(step));
    }

    /// Returns the contents of a line: the function inlined there, or the callees of the frame.
    fn below(&self, child: &Child) -> Below {
        let part = if child.part == Part::Left { Part::Left } else { Part::Inside };
        let mut below = Below::default();
        if let Some(level) = self.shown_from(part, child.place, &child.range, child.level + 1) {
            below.children.push(Child { part, level, range: child.range.clone(), ..*child });
            return below;
        }
        // Folded callees are replaced by their own contents.
        let mut open = vec![(child.place, child.height, child.range.clone())];
        while let Some((place, height, range)) = open.pop() {
            let own = range.start..self.before(part, &range, place + 1);
            let called = own.end..range.end;
            self.add_own(&Child { place, range: own, ..*child }, &mut below);
            let first = below.children.len();
            self.add_called(part, place, height, called, &mut below);
            let is_folded = |child: &mut Child| child.level == FOLDED;
            let folded = below.children.extract_if(first.., is_folded);
            open.extend(folded.map(|child| (child.place, child.height, child.range)));
        }
        below
    }

    /// Adds a frame's own sites: single allocations, and those made by folded frames that have a line in common.
    fn add_own(&self, own: &Child, below: &mut Below) {
        let has_line = own.part == Part::Left && self.question.request.fold == Fold::Foreign;
        let stops_here = |site: &SiteId| self.outline.place(self.question.trace.site(*site).stack) <= own.place;
        let direct = match has_line {
            true => self.section.sites[own.range.clone()].partition_point(stops_here),
            false => own.range.len(),
        };
        let (direct, folded) = (own.range.start..own.range.start + direct, own.range.start + direct..own.range.end);
        if !direct.is_empty() {
            below.own.push(direct);
        }
        if !folded.is_empty() {
            below.children.push(Child { part: Part::Folded, numbers: self.numbers(&folded), range: folded, ..*own });
        }
    }

    /// Adds the callees of the node at `place`, whose sites are in `range`; at the top also the sites without a stack.
    fn add_called(&self, part: Part, place: u32, height: u32, range: Range<usize>, below: &mut Below) {
        let mut called = self.outline.children(place);
        let mut from = range.start;
        while from < range.end {
            let (child, end) = match self.places(part)[from] {
                0 => (0, 1), // no stack
                below => {
                    // The last child that begins at or before it; earlier ones have no sites.
                    called = &called[gallop(called, below + 1) - 1..];
                    (called[0], self.outline.end(called[0]))
                }
            };
            let range = from..self.before(part, &(from..range.end), end);
            from = range.end;
            let level = self.shown_from(part, child, &range, 0).unwrap_or(FOLDED);
            below.children.push(Child { part, place: child, height: height + 1, level, numbers: self.numbers(&range), range });
        }
    }

    /// Returns the place of each site: the innermost frame that is left of its stack, or inside folded lines its
    /// innermost.
    fn places(&self, part: Part) -> &[u32] {
        let whole = || {
            let place = |&site: &SiteId| self.outline.place(self.question.trace.site(site).stack);
            self.section.sites.iter().map(place).collect()
        };
        if part == Part::Left { &self.section.places } else { self.section.whole.get_or_init(whole) }
    }

    /// Returns where the sites placed before `place` end, in a range.
    fn before(&self, part: Part, range: &Range<usize>, place: u32) -> usize {
        range.start + gallop(&self.places(part)[range.clone()], place)
    }

    /// Returns the next level of a frame that has a line.
    fn shown_from(&self, part: Part, place: u32, range: &Range<usize>, level: u16) -> Option<u16> {
        let Question { trace, request, .. } = self.question;
        if place == 0 || (request.names.is_empty() && request.names.rules().folds().is_empty()) {
            return (level == 0).then_some(0);
        }
        let first = self.section.sites[range.start];
        let frame = self.frame(place, range);
        if part == Part::Inside {
            return frame.shown_from(level, false);
        }
        // If no stack continues below this frame, levels inlined below the last one that is left are folded.
        let innermost = self.question.trimmed.filter(|_| self.section.places[range.end - 1] == place);
        let is_left = |level: &u16| innermost.is_none_or(|trimmed| *level <= trimmed.level(first));
        let is_outermost = || trace.stacks.parent(self.outline.node(place)) == NodeId::ROOT;
        // If nothing else is left, the outermost frame stands for the stack.
        frame.shown_from(level, request.fold.is_any()).filter(is_left).or_else(|| (level == 0 && is_outermost()).then_some(0))
    }

    /// Returns the frame at a place for the sites in `range`.
    fn frame(&self, place: u32, range: &Range<usize>) -> Recorded<'a> {
        let Question { trace, request, .. } = *self.question;
        Recorded::in_tree(trace, &request.names, self.outline.node(place), trace.site(self.section.sites[range.start]))
    }

    fn key(&self, child: &Child) -> Key {
        let node = self.outline.node(child.place);
        if child.part == Part::Folded { Key::Inside(node, child.level) } else { Key::of_frame(node, child.level) }
    }

    /// Returns whether sites placed at one frame all have the same stack.
    fn is_one_stack(&self, range: &Range<usize>) -> bool {
        let stack = |at: usize| self.question.trace.site(self.section.sites[at]).stack;
        // Sites are sorted by place, so all in between have the same stack, too.
        stack(range.start) == stack(range.end - 1)
    }

    fn numbers(&self, range: &Range<usize>) -> Numbers {
        let mut sums = ByClass::default();
        *sums.get_mut(self.class) = self.section.bucket(range);
        sums.numbers()
    }

    /// Returns the innermost frame that shares the line of a node, for which the line stands; all frames that share it;
    /// and how many of them, from the outermost on, are part of the thread start, if that is folded and `is_start` says
    /// that all frames above are part of it, too.
    fn chain(&self, child: Child, is_start: bool) -> (Child, Vec<Key>, u32) {
        let (mut last, mut chain, mut starts) = (child, Vec::new(), 0);
        loop {
            starts += u32::from(is_start && starts as usize == chain.len() && self.starts_a_thread(&last));
            chain.push(self.key(&last));
            let shares = self.question.request.chains && last.part != Part::Folded && chain.len() < MOST_SHARING;
            match shares.then(|| self.only_child(&last)).flatten() {
                Some(next) => last = next,
                None => return (last, chain, starts),
            }
        }
    }

    /// Returns whether a frame is not the user's own and no site is placed at it.
    fn starts_a_thread(&self, child: &Child) -> bool {
        let has_own = || self.section.places[child.range.start] <= child.place;
        child.part == Part::Left && child.place != 0 && !has_own() && self.frame(child.place, &child.range).is_foreign()
    }

    /// Returns the contents of a line, if that is exactly one other line.
    fn only_child(&self, child: &Child) -> Option<Child> {
        let part = child.part;
        if let Some(level) = self.shown_from(part, child.place, &child.range, child.level + 1) {
            return Some(Child { level, range: child.range.clone(), ..*child });
        }
        let (mut place, mut height, range) = (child.place, child.height, &child.range);
        loop {
            let first = *self.places(part).get(range.start)?;
            if first <= place {
                return None; // it has something of its own
            }
            let called = self.outline.children(place);
            let called = called[gallop(called, first + 1) - 1];
            if self.before(part, range, self.outline.end(called)) < range.end {
                return None;
            }
            (place, height) = (called, height + 1);
            // A folded frame passes everything on to its caller.
            if let Some(level) = self.shown_from(part, called, range, 0) {
                return Some(Child { part, place, height, level, range: range.clone(), numbers: child.numbers });
            }
        }
    }

    /// Returns whether the user or the search wants the line of these frames open (true) or closed (false).
    fn wish(&mut self, chain: &[Key], child: &Child) -> Option<bool> {
        let toggled = &self.question.request.toggled;
        if !toggled.is_empty() {
            for &key in chain.iter().rev() {
                if let Some(last) = self.path.last_mut() {
                    *last = key;
                }
                if let Some(&toggled) = toggled.get(self.path.as_slice()) {
                    return Some(toggled);
                }
            }
        }
        let hits = self.hits.filter(|_| child.part == Part::Left)?;
        let is_inlined = self.shown_from(child.part, child.place, &child.range, child.level + 1).is_some();
        let height = child.height + u32::from(!is_inlined);
        self.section.sites[child.range.clone()].iter().any(|site| hits[site.0 as usize] >= height).then_some(true)
    }
}
