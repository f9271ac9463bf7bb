//! Marks on the axes: round numbers of bytes and seconds.

use std::ops::RangeInclusive;

use egui_plot::GridMark;

use crate::format;

/// Height of a lane's scale, in parts of its highest point: there is some space above it.
pub const AIR: f64 = 1.12;

/// Grid lines at powers of two, as is usual for bytes.
pub fn binary_grid((from, to): (f64, f64)) -> Vec<GridMark> {
    marks(from, to, ((to - from) / 5.0).max(1.0).log2().ceil().exp2())
}

/// Grid lines at 1, 2 or 5 times a power of ten, all equally strong, so that every label is readable.
pub fn seconds_grid((from, to): (f64, f64), count: f64) -> Vec<GridMark> {
    let rough = ((to - from) / count).max(1e-9);
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|&step| step >= rough * 0.999).unwrap_or(power * 10.0);
    marks(from, to, step)
}

fn marks(from: f64, to: f64, step: f64) -> Vec<GridMark> {
    let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
    (first..=last.min(first.saturating_add(100))).map(|i| GridMark { value: i as f64 * step, step_size: step }).collect()
}

/// Label of a grid line in bytes; empty at the bottom, where the time axis has its own labels.
pub fn bytes_mark(value: f64) -> String {
    if value <= 0.0 {
        return String::new();
    }
    format::bytes(value as u64).replace(".00 ", " ")
}

/// Label of a grid line in seconds; empty if it would be cut off at the right edge.
pub fn seconds_mark(mark: GridMark, range: &RangeInclusive<f64>) -> String {
    let decimals = (-mark.step_size.log10().floor()).clamp(0.0, 9.0) as usize;
    let room = (range.end() - mark.value) / mark.step_size;
    if room < 0.3 { String::new() } else { format!("{:.decimals$} s", mark.value) }
}

/// The highest round number of bytes that fits on a small scale up to `top`.
pub fn round_below(top: f64) -> f64 {
    let power = top.max(1.0).log2().floor().exp2();
    [1.75, 1.5, 1.25, 1.0].into_iter().map(|n| n * power).find(|&round| round <= top * 0.92).unwrap_or(power / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_scale_is_named_by_a_round_number_in_its_upper_half() {
        for top in [1.0, 3.0, 1000.0, 1024.0, 1.3e6, 36.0 * 1048576.0, 1e15] {
            let round = round_below(top);
            assert!(round <= top && round > top * 0.45, "{top}: {round}");
        }
        assert_eq!(round_below(36.0 * 1048576.0), 32.0 * 1048576.0);
    }

    #[test]
    fn no_label_is_cut_at_the_right_edge() {
        let mark = |value| seconds_mark(GridMark { value, step_size: 5.0 }, &(0.0..=36.0));
        assert_eq!((mark(0.0), mark(30.0)), ("0 s".to_owned(), "30 s".to_owned()));
        assert_eq!(mark(35.0), "");
    }
}
