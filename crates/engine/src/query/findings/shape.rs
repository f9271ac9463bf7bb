//! Shapes of lines over time: pure functions of equally spaced values that report nothing if uncertain.
//! `docs/findings.md` explains all limits.

/// A steady climb.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Climb {
    /// Index of the last value at the bottom.
    pub(super) from: usize,
    /// Index of the first value at the top.
    pub(super) to: usize,
}

/// Fewest values needed for a judgement.
const LEAST_VALUES: usize = 16;

/// Number of parts into which a climb is divided; nearly all of them must rise.
const PARTS: usize = 6;

/// Detects whether a line climbs through most of its length.
pub(super) fn climb(values: &[f64]) -> Option<Climb> {
    let n = values.len();
    if n < LEAST_VALUES {
        return None;
    }
    let top = (0..n).max_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a)))?;
    let bottom = values[..=top].iter().copied().fold(f64::INFINITY, f64::min);
    let rise = values[top] - bottom;
    if rise <= 0.0 {
        return None;
    }
    let to = values.iter().position(|&v| v >= bottom + 0.97 * rise)?;
    let from = values[..to].iter().rposition(|&v| v <= bottom + 0.03 * rise)?;
    // The climb must span most of the line and must not be undone.
    let span = to - from;
    let tail = &values[to..];
    let is_kept = tail.len() * 7 <= n || mean(tail) >= bottom + 0.6 * rise;
    if to * 5 <= 3 * n || span < 8.max(n * 3 / 10) || !is_kept {
        return None;
    }
    let at = |part: usize| values[from + part * span / PARTS];
    let parts = (0..PARTS).map(|part| at(part + 1) - at(part));
    let fair = rise / PARTS as f64;
    let rising = parts.clone().filter(|&part| part >= 0.3 * fair).count();
    let falls = parts.clone().any(|part| part < -0.3 * fair);
    let most = parts.fold(0.0, f64::max);
    let second_half = values[to] - values[from + span / 2];
    let (_, fit) = line(&values[from..=to]);
    let is_steady = rising + 1 >= PARTS && !falls && most <= 0.5 * rise && second_half >= 0.3 * rise && fit >= 0.9;
    is_steady.then_some(Climb { from, to })
}

/// Returns the least-squares slope per value, and the share of the variance that it explains.
pub(super) fn line(values: &[f64]) -> (f64, f64) {
    let centre = (values.len() as f64 - 1.0) / 2.0;
    let average = mean(values);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (i, value) in values.iter().enumerate() {
        let (x, y) = (i as f64 - centre, value - average);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    if xx == 0.0 || yy == 0.0 { (0.0, 0.0) } else { (xy / xx, xy * xy / (xx * yy)) }
}

/// A lasting change of level.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Jump {
    /// The change happens between this value and the one after the next.
    pub(super) at: usize,
    /// Size of the change.
    pub(super) by: f64,
}

/// Detects whether a line has one level before a moment and another after it.
pub(super) fn jump(values: &[f64]) -> Option<Jump> {
    let n = values.len();
    if n < LEAST_VALUES {
        return None;
    }
    let change = |k: usize| values[k + 2] - values[k];
    // The first of the two indices whose difference covers the whole change.
    let at = (0..n - 2).max_by(|&a, &b| change(a).abs().total_cmp(&change(b).abs()).then(b.cmp(&a)))?;
    let by = level_change(values, at);
    let (before, after) = (&values[..=at], &values[at + 2..]);
    let least = 4.max(n / 8);
    let is_sudden = change(at) * by > 0.0 && change(at).abs() >= 0.7 * by.abs();
    let is_flat = |side: &[f64]| quantile(side, 0.9) - quantile(side, 0.1) <= 0.2 * by.abs();
    (before.len() >= least && after.len() >= least && is_sudden && is_flat(before) && is_flat(after)).then_some(Jump { at, by })
}

/// Returns the median after a moment minus the median before it.
pub(super) fn level_change(values: &[f64], at: usize) -> f64 {
    let after = &values[(at + 2).min(values.len())..];
    quantile(after, 0.5) - quantile(&values[..=at], 0.5)
}

/// A short excursion.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Spike {
    /// First bin.
    pub(super) from: usize,
    /// End (exclusive).
    pub(super) to: usize,
    /// Height above the surrounding level.
    pub(super) height: f64,
    /// The surrounding level.
    pub(super) base: f64,
}

/// Finds short excursions of a line, which is given by the minimum and maximum of each bin. Returns none if they are so
/// many that the line is a sawtooth or noise.
pub(super) fn spikes(low: &[f64], high: &[f64]) -> Vec<Spike> {
    let n = low.len();
    if n < LEAST_VALUES {
        return Vec::new();
    }
    let base = opening(low, (n / 24).max(3));
    let excess: Vec<f64> = high.iter().zip(&base).map(|(high, base)| (high - base).max(0.0)).collect();
    let highest = excess.iter().copied().fold(0.0, f64::max);
    let usual = quantile(low, 0.5);
    let noise = quantile(&excess, 0.7);
    let least = (0.3 * highest).max(4.0 * noise).max(0.1 * usual);
    if highest <= 0.0 || highest < least {
        return Vec::new();
    }
    let is_high = |i: usize| excess[i] >= least;
    if (0..n).filter(|&i| is_high(i)).count() * 4 > n {
        return Vec::new();
    }
    let mut spikes: Vec<Spike> = Vec::new();
    for i in (0..n).filter(|&i| is_high(i)) {
        match spikes.last_mut() {
            Some(last) if last.to == i => (last.to, last.height) = (i + 1, last.height.max(excess[i])),
            _ => spikes.push(Spike { from: i, to: i + 1, height: excess[i], base: base[i] }),
        }
    }
    // An excursion cut off by an end of the line is no spike.
    spikes.retain(|spike| spike.from > 0 && spike.to < n);
    // The teeth of a sawtooth are no spikes: one of their sides is not steep. Among real spikes, some may not be steep
    // either, because something else happened beside them.
    let is_steep = |spike: &Spike| [spike.from - 1, spike.to].into_iter().all(|i| excess[i] <= 0.5 * spike.height);
    let steep = spikes.iter().filter(|spike| is_steep(spike)).count();
    if steep * 2 < spikes.len() { Vec::new() } else { spikes }
}

/// Removes excursions that are shorter than `width` bins.
fn opening(values: &[f64], width: usize) -> Vec<f64> {
    let n = values.len();
    // The minimum of each window, then the maximum of all windows that contain a bin.
    let windows = n + 1 - width.min(n);
    let lowest = sliding(values, width.min(n), |a, b| a < b);
    (0..n)
        .map(|i| {
            let (first, last) = (i.saturating_sub(width - 1).min(windows - 1), i.min(windows - 1));
            lowest[first..=last].iter().copied().fold(f64::NEG_INFINITY, f64::max)
        })
        .collect()
}

/// Returns the best value of each window. Cost: a few comparisons per value.
fn sliding(values: &[f64], width: usize, better: impl Fn(f64, f64) -> bool) -> Vec<f64> {
    let mut queue: std::collections::VecDeque<usize> = std::collections::VecDeque::new();
    let mut out = Vec::with_capacity(values.len());
    for (i, &value) in values.iter().enumerate() {
        while queue.back().is_some_and(|&last| !better(values[last], value)) {
            queue.pop_back();
        }
        queue.push_back(i);
        if queue.front().is_some_and(|&first| first + width <= i) {
            queue.pop_front();
        }
        if i + 1 >= width {
            out.extend(queue.front().map(|&first| values[first]));
        }
    }
    out
}

pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Returns the value below which a share of all values lies; 0 without values.
pub(super) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 128;

    fn shape(of: impl Fn(f64) -> f64) -> Vec<f64> {
        (0..N).map(|i| of(i as f64 / N as f64)).collect()
    }

    /// Returns deterministic noise from 0 to 1.
    fn noise(x: f64) -> f64 {
        let n = ((x * N as f64) as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (n >> 40) as f64 / (1u64 << 24) as f64
    }

    /// Returns lines without any event.
    fn quiet() -> Vec<(&'static str, Vec<f64>)> {
        vec![
            ("nothing", shape(|_| 0.0)),
            ("flat", shape(|_| 100.0)),
            ("noise", shape(|x| 100.0 + 10.0 * noise(x))),
            ("a saw", shape(|x| 100.0 + 50.0 * (x * 9.0).fract())),
            ("a short saw", shape(|x| 100.0 + 50.0 * (x * 27.3).fract())),
            ("a wave", shape(|x| 100.0 + 50.0 * (x * 20.0).sin())),
            ("set up once", shape(|x| if x < 0.05 { 0.0 } else { 100.0 })),
            ("warming up", shape(|x| 100.0 * (x * 4.0).min(1.0))),
            ("warming up smoothly", shape(|x| 100.0 * (1.0 - (-x * 6.0).exp()))),
        ]
    }

    #[test]
    fn quiet_lines_have_no_shape() {
        for (name, line) in quiet() {
            assert_eq!(climb(&line), None, "{name}");
            assert_eq!(jump(&line), None, "{name}");
            assert_eq!(spikes(&line, &line), [], "{name}");
        }
    }

    #[test]
    fn steady_climbs_are_found_where_they_are() {
        for (name, line, from, to) in [
            ("through all", shape(|x| 10.0 + x), 0, 127),
            ("with noise", shape(|x| 10.0 + x + 0.1 * noise(x)), 0, 127),
            ("from a third on", shape(|x| (x - 0.33).max(0.0)), 43, 127),
            ("up to two thirds", shape(|x| x.min(0.67)), 0, 86),
            ("given back at the end", shape(|x| if x < 0.97 { x } else { 0.0 }), 0, 124),
        ] {
            let found = climb(&line).unwrap_or_else(|| panic!("{name}"));
            assert!(found.from.abs_diff(from) <= 6 && found.to.abs_diff(to) <= 8, "{name}: {found:?}");
        }
        for (name, line) in [
            ("one step", shape(|x| if x < 0.5 { 0.0 } else { 1.0 })),
            ("two steps", shape(|x| (x * 3.0).floor())),
            ("a hill", shape(|x| 1.0 - (2.0 * x - 1.0).abs())),
        ] {
            assert_eq!(climb(&line), None, "{name}");
        }
    }

    #[test]
    fn steps_are_found_where_they_are() {
        for (name, line, at, by) in [
            ("up", shape(|x| if x < 0.5 { 10.0 } else { 30.0 }), 63, 20.0),
            ("down", shape(|x| if x < 0.25 { 30.0 } else { 10.0 }), 31, -20.0),
            ("with noise", shape(|x| if x < 0.5 { 10.0 } else { 30.0 } + 2.0 * noise(x)), 63, 20.0),
        ] {
            let found = jump(&line).unwrap_or_else(|| panic!("{name}"));
            assert!(found.at.abs_diff(at) <= 1 && (found.by - by).abs() <= 2.0, "{name}: {found:?}");
        }
        for (name, line) in [
            ("a ramp", shape(|x| x)),
            ("a spike", shape(|x| if (0.5..0.52).contains(&x) { 1.0 } else { 0.0 })),
            ("at the very end", shape(|x| if x < 0.95 { 0.0 } else { 1.0 })),
        ] {
            assert_eq!(jump(&line), None, "{name}");
        }
    }

    #[test]
    fn spikes_stand_out_of_what_is_around_them() {
        let is_spike = |x: f64| (x * 8.0).fract() > 0.5 && (x * 8.0).fract() < 0.63;
        for (name, line) in [
            ("above nothing", shape(|x| if is_spike(x) { 50.0 } else { 0.0 })),
            ("above a level", shape(|x| if is_spike(x) { 150.0 } else { 100.0 })),
            ("above a ramp", shape(|x| 20.0 * x + if is_spike(x) { 50.0 } else { 0.0 })),
            ("above a step", shape(|x| if x < 0.5 { 100.0 } else { 160.0 } + if is_spike(x) { 80.0 } else { 0.0 })),
            ("above noise", shape(|x| 100.0 + 8.0 * noise(x) + if is_spike(x) { 90.0 } else { 0.0 })),
        ] {
            let found = spikes(&line, &line);
            assert_eq!(found.len(), 8, "{name}: {found:?}");
        }
    }
}
