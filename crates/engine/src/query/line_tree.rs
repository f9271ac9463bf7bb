//! Nesting of table lines, reduced to lines that hold different rows.
//!
//! A line whose rows are exactly those of one line below it always changes together with that line, and by the same
//! amount: both are one *node*. So a change that is passed up the lines takes one step per branching of the tree,
//! however long the chains in between are (callers of an only child, functions inlined in each other, the one type of a
//! heap).
//!
//! Cost: two passes over the lines.

/// No node, or no line.
pub(super) const NOBODY: u32 = u32::MAX;

/// The nodes of some lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LineTree {
    /// Node of each line; [`NOBODY`] for lines without rows.
    of_line: Vec<u32>,
    /// Next node above each node, or [`NOBODY`].
    above: Vec<u32>,
    /// Line of each node of [`LineTree::shared`]; empty if nodes themselves are counted.
    line: Vec<u32>,
    len: usize,
}

/// The rows of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Nothing,
    /// The rows of the line below that has this node.
    Same(u32),
    /// Rows of its own, or those of several lines below it.
    Several,
}

impl LineTree {
    /// Builds the nest. `own` are the lines with rows that no line below them has. A line's number must be larger than
    /// that of its `parent`.
    pub(super) fn new(lines: usize, own: impl Iterator<Item = u32>, parent: impl Fn(u32) -> Option<u32>) -> Self {
        let mut holds = vec![Holds::Nothing; lines];
        own.for_each(|line| holds[line as usize] = Holds::Several);
        let (mut of_line, mut nodes) = (vec![NOBODY; lines], 0);
        for line in (0..lines).rev() {
            let node = match holds[line] {
                Holds::Nothing => continue,
                Holds::Same(node) => node,
                Holds::Several => {
                    nodes += 1;
                    nodes - 1
                }
            };
            of_line[line] = node;
            if let Some(parent) = parent(line as u32) {
                let holds = &mut holds[parent as usize];
                *holds = if *holds == Holds::Nothing { Holds::Same(node) } else { Holds::Several };
            }
        }
        // Nodes were numbered from the innermost line.
        of_line.iter_mut().filter(|node| **node != NOBODY).for_each(|node| *node = nodes - 1 - *node);
        let mut above = vec![NOBODY; nodes as usize];
        for line in 0..lines as u32 {
            let Some(parent) = parent(line) else { continue };
            let (node, node_above) = (of_line[line as usize], of_line[parent as usize]);
            if node != NOBODY && node != node_above {
                above[node as usize] = node_above;
            }
        }
        Self { of_line, len: above.len(), above, line: Vec::new() }
    }

    /// Creates a nest of lines that are not nested.
    pub(super) fn side_by_side(lines: usize) -> Self {
        Self { of_line: (0..lines as u32).collect(), above: vec![NOBODY; lines], line: Vec::new(), len: lines }
    }

    /// Creates a nest of lines that share rows without being nested: changes are passed from node to node along
    /// `above`, and each node stands for a `line`. No line may occur twice on the way up, and the node above another must have a
    /// smaller number.
    pub(super) fn shared(lines: usize, above: Vec<u32>, line: Vec<u32>) -> Self {
        Self { of_line: (0..lines as u32).collect(), above, line, len: lines }
    }

    /// Returns the number of nodes, or of lines, that [`LineTree::up`] can return.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.above.len()
    }

    /// Returns the mean number of nodes on the way up from a node, that node included.
    pub(super) fn mean_depth(&self) -> usize {
        let mut depths = vec![0; self.nodes()];
        for (node, &above) in self.above.iter().enumerate() {
            depths[node] = 1 + if above == NOBODY { 0 } else { depths[above as usize] };
        }
        depths.iter().sum::<usize>() / depths.len().max(1)
    }

    /// Returns the node above a node, whose number is smaller, or [`NOBODY`].
    #[inline]
    pub(super) fn above(&self, node: u32) -> u32 {
        self.above[node as usize]
    }

    /// Returns the line of a node as [`LineTree::up`] does.
    #[inline]
    pub(super) fn line(&self, node: u32) -> u32 {
        if self.line.is_empty() { node } else { self.line[node as usize] }
    }

    /// Returns the node of a line, or [`NOBODY`].
    pub(super) fn of(&self, line: u32) -> u32 {
        self.of_line[line as usize]
    }

    /// Returns for each node whether it is `node`, or a line of this number, or is below it.
    pub(super) fn below(&self, node: u32) -> Vec<bool> {
        (0..self.above.len() as u32).map(|start| self.up(start).any(|above| above == node)).collect()
    }

    /// Returns a node and those above it, or their lines.
    #[inline]
    pub(super) fn up(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let known = |node: u32| Some(node).filter(|&node| node != NOBODY);
        let up = std::iter::successors(known(node), move |&node| known(self.above[node as usize]));
        up.map(|node| self.line(node))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line_tree(parents: &[Option<u32>], own: &[u32]) -> LineTree {
        LineTree::new(parents.len(), own.iter().copied(), |line| parents[line as usize])
    }

    #[test]
    fn a_chain_is_one_node_however_long() {
        let chain = |length: u32| (0..length).map(|line| line.checked_sub(1)).collect::<Vec<_>>();
        for length in [2, 190, 5000] {
            let line_tree = line_tree(&chain(length), &[length - 1]);
            assert_eq!((line_tree.len(), line_tree.up(line_tree.of(0)).count()), (1, 1));
            assert!((0..length).all(|line| line_tree.of(line) == line_tree.of(0)));
        }
        // A frame in the middle that also allocates: the lines above it have both.
        let parted = line_tree(&chain(190), &[189, 100]);
        assert_eq!(parted.len(), 2);
        assert_eq!((parted.of(0), parted.of(101)), (parted.of(100), parted.of(189)));
        assert_eq!(parted.up(parted.of(189)).collect::<Vec<_>>(), [parted.of(189), parted.of(0)]);
    }

    #[test]
    fn a_line_that_holds_nothing_is_in_no_ones_way() {
        let line_tree = line_tree(&[None, Some(0), Some(1), Some(1), Some(0)], &[3]);
        assert_eq!([0, 1, 2, 3, 4].map(|line| line_tree.of(line)), [0, 0, NOBODY, 0, NOBODY]);
    }

    proptest! {
        /// The lines of the nodes on the way up are exactly the lines on the way up.
        #[test]
        fn changes_reach_the_same_lines_as_line_by_line(
            parents in prop::collection::vec((any::<bool>(), any::<u32>()), 1..40),
            own in prop::collection::btree_set(0..40u32, 0..20),
        ) {
            let parents: Vec<Option<u32>> =
                (0u32..).zip(parents).map(|(line, (has, parent))| Some(parent % line.max(1)).filter(|_| has && line > 0)).collect();
            let own: Vec<u32> = own.into_iter().filter(|&line| (line as usize) < parents.len()).collect();
            let line_tree = line_tree(&parents, &own);
            for &line in &own {
                let reached: Vec<u32> = line_tree.up(line_tree.of(line)).collect();
                let by_node: Vec<bool> = (0..parents.len() as u32).map(|line| reached.contains(&line_tree.of(line))).collect();
                let mut by_line = vec![false; parents.len()];
                std::iter::successors(Some(line), |&line| parents[line as usize]).for_each(|line| by_line[line as usize] = true);
                prop_assert_eq!(by_node, by_line);
            }
        }
    }
}
