//! Shifts in rows of numbers, one number a capture, with a false-alarm rate that is exact.
//!
//! # Method
//! For each row, the stretch of builds is found whose mean is farthest from that of the others (circular binary
//! segmentation: Olshen, Venkatraman, Lucito and Wigler, Biostatistics 5, 2004), measured in deviations. The deviation comes from
//! differences of successive captures of a machine (von Neumann 1941), to which a shift adds only once. The means of machines are
//! taken out, and noisy machines count less.
//!
//! How far is far? The captures of each machine are shuffled, of all rows alike, and the farthest of all rows noted (Westfall and
//! Young 1993). If no row shifted, the order as it was is one of the shuffled ones: the chance that its farthest is among the
//! most distant 1 % is 1 %, whatever the numbers look like. That is the rate at which a folder without any shift
//! yields one or more. What is left of a row beside a shift is searched with the same bar.
//!
//! # Cost
//! Shuffles times rows times half the square of the number of builds.

use rayon::prelude::*;

use crate::design::{Design, Place};
use crate::segments::{self, Kind};
use highwater_engine::random::Random;

/// A shift of a row. Numbers are those of the average machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Shift {
    /// Step or drift.
    pub kind: Kind,
    /// The last build before it.
    pub from_build: usize,
    /// The first build after it.
    pub to_build: usize,
    /// The level before.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// The chance of a shift as clear as this somewhere, if there is none at all.
    pub p: f64,
}

/// Seed of the shuffles: the same numbers give the same answer.
const SEED: u64 = 0x6869_6768_7761_7465;

/// Fewest shuffles.
const FEWEST: usize = 999;

/// Number of shuffles that a rate needs.
pub fn shuffles(rate: f64) -> usize {
    ((10.0 / rate) as usize).saturating_sub(1).max(FEWEST)
}

/// The chance that a shuffle gives an order of builds as good as the best: below the rate, or no shift can be told from
/// chance. `None` if it is far below.
pub fn least_p(places: &[Place]) -> Option<f64> {
    let design = Design::new(places);
    let factorial = |n: usize| (1..=n).map(|k| (k as f64).ln()).sum::<f64>();
    let (mut orders, mut is_even) = (0.0, design.builds == 2);
    for captures in &design.machines {
        orders += factorial(captures.len());
        let mut counts = vec![0_usize; design.builds];
        captures.iter().for_each(|&at| counts[design.places[at].build] += 1);
        is_even &= counts.first() == counts.last();
        orders -= counts.into_iter().map(factorial).sum::<f64>();
    }
    // Two builds can be exchanged as a whole: growth and shrinking are equally clear.
    let best = if is_even { 2.0 } else { 1.0 };
    (orders < 20.0).then(|| best * (-orders).exp())
}

/// The shifts of each row, in order of builds. `places` are in order of builds; a row has a number for each of them.
pub fn find(places: &[Place], rows: &[Vec<f64>], rate: f64) -> Vec<Vec<Shift>> {
    let design = Design::new(places);
    if design.builds < 2 || design.steps() == 0 {
        return vec![Vec::new(); rows.len()];
    }
    let null = farthest_by_chance(&design, rows, shuffles(rate));
    rows.par_iter().map(|row| of_row(&design, places, row, &null, rate)).collect()
}

/// The farthest stretch of all rows in each shuffle, in rising order.
fn farthest_by_chance(design: &Design, rows: &[Vec<f64>], shuffles: usize) -> Vec<f64> {
    let orders = orders(design, shuffles);
    let most = |mut a: Vec<f64>, b: Vec<f64>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = a.max(b));
        a
    };
    let of_row = |row: &Vec<f64>| -> Vec<f64> {
        let row = design.row(row);
        let score = |order: &Vec<u32>| {
            let order = |at: usize| order[at] as usize;
            design.farthest(&row, order, design.variance(&row, order, &[])).score
        };
        orders.iter().map(score).collect()
    };
    let mut null = rows.par_iter().map(of_row).reduce(|| vec![0.0; shuffles], most);
    null.sort_by(f64::total_cmp);
    null
}

/// Shuffled orders: for each capture the one whose numbers it gets, of the same machine.
fn orders(design: &Design, shuffles: usize) -> Vec<Vec<u32>> {
    let mut random = Random::new(SEED);
    let mut order: Vec<u32> = (0..design.places.len() as u32).collect();
    let mut shuffled = || {
        for captures in &design.machines {
            for i in (1..captures.len()).rev() {
                order.swap(captures[i], captures[random.index(i + 1)]);
            }
        }
        order.clone()
    };
    (0..shuffles).map(|_| shuffled()).collect()
}

fn of_row(design: &Design, places: &[Place], row: &[f64], null: &[f64], rate: f64) -> Vec<Shift> {
    let p_of = |score: f64| {
        let farther = null.len() - null.partition_point(|&by_chance| by_chance < score);
        (1 + farther) as f64 / (1 + null.len()) as f64
    };
    let is_clear = |score: f64| p_of(score) <= rate;
    let edges = segments::edges(design, &design.row(row), is_clear);
    // Dense numbers of builds back to the caller's.
    let mut builds: Vec<usize> = places.iter().map(|place| place.build).collect();
    builds.dedup();
    let shifts = segments::levels(design, row, &edges);
    shifts
        .into_iter()
        .map(|found| Shift {
            kind: found.kind,
            from_build: builds[found.from],
            to_build: builds[found.to],
            before: found.before,
            after: found.after,
            p: p_of(found.score),
        })
        .collect()
}
