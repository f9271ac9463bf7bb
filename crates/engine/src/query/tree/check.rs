//! A check of every tree in debug builds: the lines below an open node, plus the node's own allocations, add up to the
//! node.

use super::lines::{Leaf, NONE, Tree};
use super::question::Question;
use crate::query::{Bucket, ByClass, Numbers};

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u128,
    size: u128,
    from: u128,
    to: u128,
}

impl Sum {
    fn add(&mut self, n: &Numbers) {
        self.count += u128::from(n.count);
        self.size += u128::from(n.size);
        self.from += u128::from(n.outstanding_from);
        self.to += u128::from(n.outstanding_to);
    }

    /// Compares with numbers, which saturate.
    fn is(&self, n: &Numbers) -> bool {
        let fits = |sum: u128, number: u64| sum.min(u64::MAX.into()) == number.into();
        fits(self.count, n.count)
            && fits(self.size, n.size)
            && fits(self.from, n.outstanding_from)
            && fits(self.to, n.outstanding_to)
    }
}

pub(super) fn adds_up(question: &Question<'_>, tree: &Tree, leaves: &[Leaf]) {
    let mut sums = vec![Sum::default(); tree.lines.len()];
    for line in tree.lines.iter().filter(|line| line.parent != NONE) {
        sums[line.parent as usize].add(&line.numbers);
    }
    for leaf in leaves {
        let mut own = ByClass::default();
        let bucket = leaf.sites.iter().fold(Bucket::default(), |sum, &site| sum.plus(question.totals.of(site).get(leaf.class)));
        *own.get_mut(leaf.class) = bucket;
        sums[leaf.line as usize].add(&own.numbers());
        assert!(leaf.sites.iter().all(|&site| question.mask.has(site, leaf.class)), "a leaf holds what is filtered away");
    }
    for (line, sum) in tree.lines.iter().zip(sums).filter(|(line, _)| line.is_open && !line.mixes_layers) {
        assert!(sum.is(&line.numbers), "what is below {:?} does not add up to {:?}", line.key, line.numbers);
    }
}
