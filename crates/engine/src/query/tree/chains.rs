//! Lines shared by several nodes, each of which has one child and nothing of its own: the nodes of such a line, and its
//! name.

use super::Words;
use super::lines::{At, Line, Tree, frame_name, label};
use crate::model::{NodeId, Trace};
use crate::query::{FrameName, Key, LifetimeClass, Recorded, SHARED, shared_label};

/// Placeholder for frames that are not the user's own.
const FOLDED: &str = "\u{2026}";
/// Largest number of their modules that are named.
const MODULES: usize = 3;

impl Tree {
    /// Returns whether a node shares a line with nodes below it.
    pub(super) fn shares(&self, trace: &Trace, line: u32, path: &[Key]) -> bool {
        let of_line = &self.lines[line as usize];
        let (Some((key, above)), true) = (path.split_last(), of_line.head != of_line.key) else { return false };
        match (of_line.head.frame(), of_line.key.frame(), key.frame()) {
            (Some((head, _)), Some((last, _)), Some((node, _))) => {
                let outline = trace.outline();
                let [head, last, node] = [head, last, node].map(|node| outline.place(node));
                (head..=last).contains(&node) && last < outline.end(node) && self.path_of(of_line.group) == above
            }
            (None, None, None) => self.path_of(line).starts_with(path) && of_line.head == *key,
            _ => false,
        }
    }

    /// Returns the nodes that share a line, outermost first.
    fn chain(&self, trace: &Trace, line: &Line) -> Vec<Key> {
        let (Some((head, from)), Some((last, to)), Some(site)) =
            (line.head.frame(), line.key.frame(), trace.sites.get(line.site.0 as usize))
        else {
            return if line.head == line.key { vec![line.key] } else { vec![line.head, line.key] };
        };
        let folds = self.fold.is_any() && !self.is_below_folded(line);
        let mut keys = Vec::new();
        let around = std::iter::successors(Some(last), |&node| (node != head).then(|| trace.stacks.parent(node)));
        for node in around.take_while(|&node| node != NodeId::ROOT || head == NodeId::ROOT) {
            let is_between = |level: &u16| (node != head || *level >= from) && (node != last || *level <= to);
            let levels = match node {
                NodeId::ROOT => vec![0],
                node => Recorded::in_tree(trace, &self.names, node, site).shown(folds).filter(is_between).collect(),
            };
            keys.extend(levels.into_iter().rev().map(|level| Key::of_frame(node, level)));
        }
        keys.reverse();
        keys
    }

    /// Returns the frames that share a line, or that a line for folded frames stands for, one entry each, outermost
    /// first. If such a line stands for several stacks, the frames are those of one of them.
    pub fn shared_frames(&self, trace: &Trace, index: usize) -> Vec<String> {
        let Some(At::Node(line)) = self.at(index) else { return Vec::new() };
        let line = &self.lines[line as usize];
        let Some(site) = trace.sites.get(line.site.0 as usize).filter(|_| line.key.frame().is_some()) else { return Vec::new() };
        match line.key {
            Key::Inside(..) => self.inside(trace, line).iter().map(FrameName::to_string).collect(),
            _ => self.chain(trace, line).into_iter().map(|key| label(trace, &self.names, key, Some(site))).collect(),
        }
    }

    /// Returns whether a line is one of the folded frames below a line for them.
    fn is_below_folded(&self, line: &Line) -> bool {
        let above = |line: &Line| self.lines.get(line.parent as usize);
        std::iter::successors(above(line), |&line| above(line)).any(|line| matches!(line.key, Key::Inside(..)))
    }

    /// Returns whether a line stands only for frames that are not the user's own.
    pub(super) fn is_foreign(&self, trace: &Trace, line: &Line) -> bool {
        matches!(line.key, Key::Inside(..)) || (line.folded > 0 && self.chain(trace, line).len() == line.folded as usize)
    }

    /// Returns the frames that a line for folded frames stands for, outermost first.
    fn inside<'a>(&'a self, trace: &'a Trace, line: &Line) -> Vec<FrameName<'a>> {
        let site = trace.sites.get(line.site.0 as usize);
        let (Some((outer, inwards_of)), Some(site)) = (line.key.frame(), site) else { return Vec::new() };
        let nodes = trace.stacks.path(site.stack).into_iter().skip_while(|&node| node != outer);
        let names = nodes.flat_map(|node| {
            let frame = Recorded::in_tree(trace, &self.names, node, site);
            let levels = frame.shown(false).filter(move |&level| node != outer || level > inwards_of);
            levels.map(move |level| frame.name(level))
        });
        names.collect()
    }

    /// Returns the name of a line.
    pub(super) fn line_label(&self, trace: &Trace, line: &Line) -> String {
        let site = trace.sites.get(line.site.0 as usize);
        let change = line.numbers.impacting;
        match (self.words, line.head, line.key) {
            (.., Key::Inside(..)) => folded_label(&self.inside(trace, line), line.folded == 1),
            _ if line.folded > 0 => self.started_label(trace, line),
            (_, head @ (Key::Heap(_) | Key::Layer(_)), Key::Class(_)) => label(trace, &self.names, head, site),
            (Words::Plain, Key::Impacting(_), Key::Class(LifetimeClass::Aofi)) => "Given back (Impacting)".to_owned(),
            (Words::Plain, Key::Impacting(kind), _) => kind.words(change).to_owned(),
            (Words::Plain, _, Key::Class(class)) => class.words().to_owned(),
            (_, head, key) if head == key => label(trace, &self.names, key, site),
            (..) => self.chain_label(trace, line, &self.chain(trace, line)),
        }
    }

    fn chain_label(&self, trace: &Trace, line: &Line, chain: &[Key]) -> String {
        let site = trace.sites.get(line.site.0 as usize);
        shared_label(chain.iter().map(|&key| (self.frame_name(trace, line, key), move || label(trace, &self.names, key, site))))
    }

    fn frame_name<'a>(&'a self, trace: &'a Trace, line: &Line, key: Key) -> Option<FrameName<'a>> {
        let site = trace.sites.get(line.site.0 as usize);
        key.frame().map(|(node, level)| frame_name(trace, &self.names, node, level, site))
    }

    /// Returns the name of a line whose outermost frames start a thread.
    fn started_label(&self, trace: &Trace, line: &Line) -> String {
        let chain = self.chain(trace, line);
        let (starts, rest) = chain.split_at((line.folded as usize).min(chain.len()));
        match rest {
            [] => {
                let names: Vec<_> = starts.iter().filter_map(|&key| self.frame_name(trace, line, key)).collect();
                folded_label(&names, true)
            }
            rest => format!("{FOLDED}{SHARED}{}", self.chain_label(trace, line, rest)),
        }
    }
}

/// Returns the text for folded frames: for exactly these, or for those of several stacks, of which these are one.
fn folded_label(frames: &[FrameName<'_>], are_alone: bool) -> String {
    let mut modules: Vec<&str> = Vec::new();
    for module in frames.iter().filter_map(|frame| frame.module()) {
        let name = module.rsplit_once('.').map_or(module, |(name, _)| name);
        if !modules.contains(&name) {
            modules.push(name);
        }
    }
    let are_all = are_alone && modules.len() <= MODULES;
    let mut of = modules[..modules.len().min(MODULES)].join(", ");
    if !are_all {
        of.push_str(", \u{2026}");
    }
    let frames = match frames.len() {
        _ if !are_alone => "frames".to_owned(),
        1 => "1 frame".to_owned(),
        count => format!("{count} frames"),
    };
    if modules.is_empty() { format!("{FOLDED} {frames}") } else { format!("{FOLDED} {frames} of {of}") }
}
