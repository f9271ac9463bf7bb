//! Nodes that share a line, as they have one child and nothing of their own: which those are,
//! and what the line is called.

use super::Words;
use super::lines::{At, Line, Tree, frame_name, label};
use crate::model::{NodeId, Trace};
use crate::query::{Key, LifetimeClass, Recorded, shared_label};

impl Tree {
    /// Whether a node shares a line with what is below it.
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

    /// The nodes that share a line, outermost first.
    fn chain(&self, trace: &Trace, line: &Line) -> Vec<Key> {
        let (Some((head, from)), Some((last, to)), Some(site)) =
            (line.head.frame(), line.key.frame(), trace.sites.get(line.site.0 as usize))
        else {
            return if line.head == line.key { vec![line.key] } else { vec![line.head, line.key] };
        };
        let mut keys = Vec::new();
        let around = std::iter::successors(Some(last), |&node| (node != head).then(|| trace.stacks.parent(node)));
        for node in around.take_while(|&node| node != NodeId::ROOT || head == NodeId::ROOT) {
            let is_between = |level: &u16| (node != head || *level >= from) && (node != last || *level <= to);
            let levels = match node {
                NodeId::ROOT => vec![0],
                node => Recorded::in_tree(trace, &self.names, node, site).shown(self.fold).filter(is_between).collect(),
            };
            keys.extend(levels.into_iter().rev().map(|level| Key::of_frame(node, level)));
        }
        keys.reverse();
        keys
    }

    /// The frames that share the line of one, each by itself, outermost first.
    pub fn shared_frames(&self, trace: &Trace, index: usize) -> Vec<String> {
        let Some(At::Node(line)) = self.at(index) else { return Vec::new() };
        let line = &self.lines[line as usize];
        let Some(site) = trace.sites.get(line.site.0 as usize).filter(|_| line.key.frame().is_some()) else { return Vec::new() };
        self.chain(trace, line).into_iter().map(|key| label(trace, &self.names, key, Some(site))).collect()
    }

    /// What a line is called.
    pub(super) fn line_label(&self, trace: &Trace, line: &Line) -> String {
        let site = trace.sites.get(line.site.0 as usize);
        let change = line.numbers.impacting;
        match (self.words, line.head, line.key) {
            (Words::Plain, Key::Impacting(_), Key::Class(LifetimeClass::Aofi)) => "Given back (Impacting)".to_owned(),
            (Words::Plain, Key::Impacting(kind), _) => kind.words(change).to_owned(),
            (Words::Plain, _, Key::Class(class)) => class.words().to_owned(),
            (_, head, key) if head == key => label(trace, &self.names, key, site),
            (..) => shared_label(self.chain(trace, line).into_iter().map(|key| {
                let frame = key.frame().map(|(node, level)| frame_name(trace, &self.names, node, level, site));
                (frame, move || label(trace, &self.names, key, site))
            })),
        }
    }
}
