//! The stretches of builds of a row between its shifts, and their levels.

use crate::design::{Design, Row};

/// The form of a shift.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// From one build to the next.
    Step,
    /// A little with each build.
    Drift,
}

/// An edge between builds: the first build behind it, and how clear it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    build: usize,
    score: f64,
}

/// A shift in the numbering of a design.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) kind: Kind,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) before: f64,
    pub(crate) after: f64,
    pub(crate) score: f64,
}

/// The edges of a row: found one stretch after the other, then without those that the numbers on both sides do not carry.
pub(crate) fn edges(design: &Design, row: &Row, is_clear: impl Fn(f64) -> bool) -> Vec<Edge> {
    let mut edges: Vec<usize> = Vec::new();
    let mut best = None;
    loop {
        let variance = design.variance(row, |at| at, &edges);
        let bounds = bounds(&edges, design.builds);
        let found = bounds.windows(2).filter(|part| part[1] - part[0] > 1).map(|part| {
            let (inside, row) = design.part(row, part[0], part[1]);
            let found = inside.farthest(&row, |at| at, variance);
            (found.score, found.from + part[0], found.to + part[0], (part[0], part[1]))
        });
        let clearest = found.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|found| is_clear(found.0));
        let Some((score, from, to, (low, high))) = clearest else { break };
        best.get_or_insert((score, if from > low { from } else { to }));
        edges.extend([from, to].into_iter().filter(|&edge| edge > low && edge < high));
        edges.sort_unstable();
        edges.dedup();
    }
    let Some(best) = best else { return Vec::new() };
    carried(design, row, edges, best, is_clear)
}

/// Removes edges that are not clear between their neighbours, the least clear first. One stays: that something shifted is
/// known.
fn carried(design: &Design, row: &Row, mut edges: Vec<usize>, best: (f64, usize), is_clear: impl Fn(f64) -> bool) -> Vec<Edge> {
    loop {
        let variance = design.variance(row, |at| at, &edges);
        // Numbers that are the same between all edges have no deviation of their own: edges are as clear as they were when found.
        let clearness = |score: f64| if variance > 0.0 { score } else { best.0 };
        let of_edge = |part: &[usize]| {
            let (both, row) = design.part(row, part[0], part[2]);
            Edge { build: part[1], score: clearness(both.across(&row, part[1] - part[0], variance)) }
        };
        let all: Vec<Edge> = bounds(&edges, design.builds).windows(3).map(of_edge).collect();
        let weakest = all.iter().min_by(|a, b| a.score.total_cmp(&b.score)).copied();
        match weakest {
            Some(weakest) if !is_clear(weakest.score) && all.len() > 1 => edges.retain(|&edge| edge != weakest.build),
            Some(weakest) if !is_clear(weakest.score) => return vec![Edge { build: weakest.build, score: best.0 }],
            _ => return all,
        }
    }
}

/// The ends of all stretches, the whole's included.
fn bounds(edges: &[usize], builds: usize) -> Vec<usize> {
    std::iter::once(0).chain(edges.iter().copied()).chain([builds]).collect()
}

/// The shifts at the edges, with the levels on both sides; one drift if a line describes the row better.
pub(crate) fn levels(design: &Design, row: &[f64], edges: &[Edge]) -> Vec<Found> {
    let Some(clearest) = edges.iter().map(|edge| edge.score).max_by(f64::total_cmp) else { return Vec::new() };
    let builds: Vec<usize> = edges.iter().map(|edge| edge.build).collect();
    let of_steps = Fit::of(design, row, builds.len() + 1, |build| builds.partition_point(|&edge| edge <= build));
    let of_line = line(design, row);
    // By the Bayesian information criterion: an edge costs two numbers, its place and its level.
    let n = row.len() as f64;
    let least = row.iter().map(|value| value * value).sum::<f64>() * 1e-24 + f64::MIN_POSITIVE;
    let cost = |squares: f64, numbers: usize| n * squares.max(least).ln() + numbers as f64 * n.ln();
    let has_line = design.builds > 2; // through two builds there is always one
    if has_line && cost(of_line.squares, 1) < cost(of_steps.squares, 2 * builds.len()) {
        let (from, to) = (0, design.builds - 1);
        return vec![Found { kind: Kind::Drift, from, to, before: of_line.first, after: of_line.last, score: clearest }];
    }
    let step = |(at, edge): (usize, &Edge)| Found {
        kind: Kind::Step,
        from: edge.build - 1,
        to: edge.build,
        before: of_steps.levels[at],
        after: of_steps.levels[at + 1],
        score: edge.score,
    };
    edges.iter().enumerate().map(step).collect()
}

/// Levels of groups of builds beside those of machines, by least squares.
struct Fit {
    levels: Vec<f64>,
    squares: f64,
}

impl Fit {
    fn of(design: &Design, row: &[f64], groups: usize, group_of: impl Fn(usize) -> usize) -> Self {
        /// Passes until both kinds of levels agree, far more than unbalanced captures need.
        const PASSES: usize = 200;
        let mut levels = vec![0.0; groups];
        let mut machines = vec![0.0; design.machines.len()];
        let mean = |sums: Vec<(f64, f64)>| -> Vec<f64> { sums.into_iter().map(|(sum, n)| sum / n.max(1.0)).collect() };
        for _ in 0..PASSES {
            let mut sums = vec![(0.0, 0.0); groups];
            for (place, value) in design.places.iter().zip(row) {
                let (sum, n) = &mut sums[group_of(place.build)];
                (*sum, *n) = (*sum + value - machines[place.machine], *n + 1.0);
            }
            levels = mean(sums);
            let mut sums = vec![(0.0, 0.0); machines.len()];
            for (place, value) in design.places.iter().zip(row) {
                let (sum, n) = &mut sums[place.machine];
                (*sum, *n) = (*sum + value - levels[group_of(place.build)], *n + 1.0);
            }
            machines = mean(sums);
        }
        let squares = design.places.iter().zip(row).map(|(place, value)| {
            let rest = value - levels[group_of(place.build)] - machines[place.machine];
            rest * rest
        });
        let squares = squares.sum();
        let average = machines.iter().sum::<f64>() / machines.len().max(1) as f64;
        levels.iter_mut().for_each(|level| *level += average);
        Self { levels, squares }
    }
}

struct Line {
    first: f64,
    last: f64,
    squares: f64,
}

/// The line through the numbers less the means of their machines.
fn line(design: &Design, row: &[f64]) -> Line {
    let builds: Vec<f64> = design.places.iter().map(|place| place.build as f64).collect();
    let (x, y) = (design.aligned(&builds), design.aligned(row));
    let xx: f64 = x.iter().map(|x| x * x).sum();
    let xy: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
    let slope = if xx > 0.0 { xy / xx } else { 0.0 };
    let squares = x.iter().zip(&y).map(|(x, y)| (y - slope * x).powi(2)).sum();
    // At the ends, for the average machine.
    let mean = |values: &[f64]| {
        let of = |captures: &Vec<usize>| captures.iter().map(|&at| values[at]).sum::<f64>() / captures.len() as f64;
        design.machines.iter().map(of).sum::<f64>() / design.machines.len().max(1) as f64
    };
    let at = |build: f64| mean(row) + slope * (build - mean(&builds));
    Line { first: at(0.0), last: at((design.builds - 1) as f64), squares }
}
