//! What generations left behind, against a naive oracle.

use std::collections::BTreeMap;

use crate::oracle::question::{OPS, edges, options, place, replay, ways};
use crate::oracle::scenario::Scenario;
use crate::oracle::{Replay, strategy};
use highwater::query::{Cancel, Fold, Functions, GenerationsRequest, Mask, generations};
use highwater::symbols::Names;
use highwater::units::{Layer, Ticks};
use proptest::prelude::*;

/// By responsible caller, without names the first frame outside of the kernel, and generation: count and bytes.
type Left = BTreeMap<(Option<String>, usize), (u64, u64)>;

/// By a look at each row for each generation.
fn naive(replay: &Replay, edges: &[i64], end: i64, layer: Layer) -> Left {
    let mut left = Left::new();
    for row in replay.rows.iter().filter(|row| row.layer() == layer && row.death.is_none_or(|death| death >= end)) {
        for (generation, pair) in edges.windows(2).enumerate() {
            if (pair[0]..pair[1]).contains(&row.birth) {
                let outside = row.stack.iter().find(|&&frame| frame < 1 << 63);
                let frame = outside.or(row.stack.first()).map(|frame| format!("{frame:#x}"));
                let sum = left.entry((frame, generation)).or_default();
                *sum = (sum.0 + 1, sum.1 + row.size);
            }
        }
    }
    left
}

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn what_generations_left_behind_equals_the_oracles(
        ops in strategy::ops(OPS), marks in prop::collection::vec((place(), place()), 1..5), options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let expected = Replay::of(&scenario.steps);
        let mut at: Vec<i64> = marks.into_iter().flat_map(|(a, b)| <[i64; 2]>::from(edges(&scenario, a, b))).collect();
        at.sort_unstable();
        let end = at[at.len() - 1];
        for index in &ways(replay(&scenario), &options) {
            let trace = index.trace();
            let never = Cancel::default();
            let functions = Functions::of(trace, &Names::default(), Fold::Nothing, &never).unwrap();
            for layer in Layer::ALL {
                let request = GenerationsRequest { edges: at.iter().copied().map(Ticks).collect(), end: Ticks(end), layer };
                let groups = generations(index, &request, &Mask::all(trace), &functions, &never).unwrap();
                let mut ours = Left::new();
                for group in &groups {
                    let name = group.function.map(|function| functions.name(function).to_string());
                    let left = group.left.iter().enumerate().filter(|(_, left)| left.count > 0);
                    ours.extend(left.map(|(i, left)| ((name.clone(), i), (left.count, left.size))));
                    prop_assert_eq!(group.repeats, group.left.iter().filter(|left| left.count > 0).count());
                    prop_assert_eq!(group.all.size, group.left.iter().map(|left| left.size).sum::<u64>());
                }
                prop_assert_eq!(&ours, &naive(&expected, &at, end, layer));
                prop_assert!(groups.is_sorted_by_key(|group| std::cmp::Reverse((group.repeats, group.all.size))));
            }
        }
    }
}
