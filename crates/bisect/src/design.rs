//! The order of captures, by build, and a row of numbers in that order.
//!
//! A shift is looked for in the part of the numbers that machines do not explain: each number counts by its distance from
//! the mean of its machine, less on a noisy machine, and at most by some deviations, so that one capture alone is no
//! shift. All of this is the same in any order of a machine's captures.

/// The build and the machine of a capture, as numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The build, numbered in order of time.
    pub build: usize,
    /// The machine.
    pub machine: usize,
}

/// Captures in order of build, then of time, and what does not depend on their numbers.
#[derive(Debug)]
pub(crate) struct Design {
    /// In order; builds and machines are numbered from 0 without gaps.
    pub(crate) places: Vec<Place>,
    /// Number of builds.
    pub(crate) builds: usize,
    /// The captures of each machine, in order.
    pub(crate) machines: Vec<Vec<usize>>,
    /// For each machine and each pair `from < to < builds` (at `from * builds + to`): variance of the sum of its captures
    /// of the builds `from..to`, in units of the variance of one capture.
    variances: Vec<Vec<f64>>,
}

/// A row of numbers, ready to be compared.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Distances from the mean of the machine, by capture.
    pub(crate) aligned: Vec<f64>,
    /// How much each machine counts.
    machines: Vec<f64>,
    /// For each pair of builds 1 over the variance of the weighted sum between them; 0 where there is none.
    inverse: Vec<f64>,
}

/// A stretch of builds, `from..to`, and how far it is from the others, in deviations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Farthest {
    pub(crate) score: f64,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

impl Design {
    /// The design of captures in order of build. Numbers of builds and machines may have gaps.
    pub(crate) fn new(places: &[Place]) -> Self {
        let mut machines: Vec<Vec<usize>> = Vec::new();
        let (mut known, mut last, mut builds) = (Vec::new(), None, 0);
        let mut dense = Vec::with_capacity(places.len());
        for (at, place) in places.iter().enumerate() {
            if last != Some(place.build) {
                (last, builds) = (Some(place.build), builds + 1);
            }
            let machine = known.iter().position(|&machine| machine == place.machine).unwrap_or_else(|| {
                known.push(place.machine);
                machines.push(Vec::new());
                known.len() - 1
            });
            machines[machine].push(at);
            dense.push(Place { build: builds - 1, machine });
        }
        let variances = machines.iter().map(|captures| variances(captures, &dense, builds)).collect();
        Self { places: dense, builds, machines, variances }
    }

    /// Number of pairs of successive captures of one machine.
    pub(crate) fn steps(&self) -> usize {
        self.machines.iter().map(|captures| captures.len().saturating_sub(1)).sum()
    }

    /// A row ready to be compared.
    pub(crate) fn row(&self, values: &[f64]) -> Row {
        let spreads: Vec<(f64, f64)> = self.machines.iter().map(|captures| spread(captures, values)).collect();
        let mut kept = values.to_vec();
        for (captures, &(middle, noise)) in self.machines.iter().zip(&spreads) {
            /// Deviations from the median beyond which a number is as good as any.
            const FAR: f64 = 8.0;
            // Of numbers that are mostly the same nothing is known about how far is far.
            if noise > 0.0 {
                captures.iter().for_each(|&at| kept[at] = values[at].clamp(middle - FAR * noise, middle + FAR * noise));
            }
        }
        // No machine counts ten times as much as they do on the average, however still it is.
        let average = spreads.iter().map(|(_, noise)| noise * noise).sum::<f64>() / spreads.len().max(1) as f64;
        let weight = |noise: f64| if average > 0.0 { average / (noise * noise + average / 10.0) } else { 1.0 };
        self.weighted(&kept, spreads.iter().map(|(_, noise)| weight(*noise)).collect())
    }

    /// The numbers less the mean of their machine.
    pub(crate) fn aligned(&self, values: &[f64]) -> Vec<f64> {
        let mut aligned = values.to_vec();
        for captures in &self.machines {
            let mean = captures.iter().map(|&at| values[at]).sum::<f64>() / captures.len() as f64;
            captures.iter().for_each(|&at| aligned[at] -= mean);
        }
        aligned
    }

    /// A row whose machines count so much.
    fn weighted(&self, values: &[f64], machines: Vec<f64>) -> Row {
        let aligned = self.aligned(values);
        let mut inverse = vec![0.0; self.builds * self.builds];
        for (variances, weight) in self.variances.iter().zip(&machines) {
            inverse.iter_mut().zip(variances).for_each(|(sum, variance)| *sum += weight * variance);
        }
        inverse.iter_mut().filter(|sum| **sum > 0.0).for_each(|sum| *sum = 1.0 / *sum);
        Row { aligned, machines, inverse }
    }

    /// The design of the builds `from..to`, and the row there. The machines count as in the whole.
    pub(crate) fn part(&self, row: &Row, from: usize, to: usize) -> (Self, Row) {
        let inside: Vec<usize> = (0..self.places.len()).filter(|&at| (from..to).contains(&self.places[at].build)).collect();
        let part = Self::new(&inside.iter().map(|&at| self.places[at]).collect::<Vec<_>>());
        let values: Vec<f64> = inside.iter().map(|&at| row.aligned[at]).collect();
        let machine = |captures: &Vec<usize>| row.machines[self.places[inside[captures[0]]].machine];
        let machines = part.machines.iter().map(machine).collect();
        let row = part.weighted(&values, machines);
        (part, row)
    }

    /// Variance of one capture on a machine of weight 1, from successive captures of a machine, those pairs left out that an
    /// edge separates: a shift then adds to it once, not as often as there are captures behind it. `order` says which
    /// number each capture has.
    pub(crate) fn variance(&self, row: &Row, order: impl Fn(usize) -> usize, edges: &[usize]) -> f64 {
        let (mut sum, mut pairs) = (0.0, 0_usize);
        for (captures, weight) in self.machines.iter().zip(&row.machines) {
            for pair in captures.windows(2) {
                let (a, b) = (self.places[pair[0]].build, self.places[pair[1]].build);
                if edges.iter().any(|&edge| a < edge && edge <= b) {
                    continue;
                }
                let step = row.aligned[order(pair[1])] - row.aligned[order(pair[0])];
                (sum, pairs) = (sum + weight * step * step, pairs + 1);
            }
        }
        if pairs == 0 { 0.0 } else { sum / (2 * pairs) as f64 }
    }

    /// The stretch of builds that differs most from the others.
    pub(crate) fn farthest(&self, row: &Row, order: impl Fn(usize) -> usize, variance: f64) -> Farthest {
        let sums = self.sums(row, order);
        let mut best = Farthest { score: 0.0, from: 0, to: 0 };
        for from in 0..self.builds {
            let inverse = &row.inverse[from * self.builds..(from + 1) * self.builds];
            for to in from + 1..self.builds {
                let sum = sums[to] - sums[from];
                let score = sum * sum * inverse[to];
                if score > best.score {
                    best = Farthest { score, from, to };
                }
            }
        }
        Farthest { score: deviations(best.score, variance), ..best }
    }

    /// The distance of the builds before `edge` from those behind it.
    pub(crate) fn across(&self, row: &Row, edge: usize, variance: f64) -> f64 {
        let sum = self.sums(row, |at| at)[edge];
        deviations(sum * sum * row.inverse[edge], variance)
    }

    /// Weighted sums of all captures before each build.
    fn sums(&self, row: &Row, order: impl Fn(usize) -> usize) -> Vec<f64> {
        let mut sums = vec![0.0; self.builds + 1];
        for (at, place) in self.places.iter().enumerate() {
            sums[place.build + 1] += row.machines[place.machine] * row.aligned[order(at)];
        }
        for build in 0..self.builds {
            sums[build + 1] += sums[build];
        }
        sums
    }
}

/// The root of a squared distance over the variance; 0 without any variance: then all numbers of a machine are the same.
fn deviations(squared: f64, variance: f64) -> f64 {
    if variance <= 0.0 { 0.0 } else { (squared / variance).sqrt() }
}

/// The median of a machine's numbers, and their standard deviation from the median of their distances from it: 0 if most are
/// the same.
fn spread(captures: &[usize], values: &[f64]) -> (f64, f64) {
    /// Of the normal distribution.
    const DEVIATIONS: f64 = 1.4826;
    let middle = median(captures.iter().map(|&at| values[at]).collect());
    (middle, DEVIATIONS * median(captures.iter().map(|&at| (values[at] - middle).abs()).collect()))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

fn variances(captures: &[usize], places: &[Place], builds: usize) -> Vec<f64> {
    let mut until = vec![0_u32; builds + 1];
    captures.iter().for_each(|&at| until[places[at].build + 1] += 1);
    for build in 0..builds {
        until[build + 1] += until[build];
    }
    let all = f64::from(until[builds]);
    let mut variances = vec![0.0; builds * builds];
    for from in 0..builds {
        for to in from + 1..builds {
            let inside = f64::from(until[to] - until[from]);
            variances[from * builds + to] = inside * (all - inside) / all;
        }
    }
    variances
}
