//! The error for an unknown name, with the most similar known names. All lookups by name use this sentence: for a
//! process, a heap, a type, a mark, a function, a command.
//!
//! Cost: for each of at most [`LOOKED_AT`] names, the product of the lengths of two short texts.

use std::collections::BTreeSet;

/// Number of names in the sentence.
const TOLD: usize = 5;
/// Maximum number of names that are compared; [`COMPARED`] is the number of characters of each.
const LOOKED_AT: usize = 20_000;
const COMPARED: usize = 48;

/// The names most similar to `wanted`, ignoring case, best first, each once. Names that contain `wanted` come before
/// all others.
pub fn nearest<N: AsRef<str>>(wanted: &str, known: impl IntoIterator<Item = N>) -> Vec<String> {
    let lower: Vec<char> = wanted.to_lowercase().chars().take(COMPARED).collect();
    let mut best: BTreeSet<(bool, usize, String)> = BTreeSet::new();
    for name in known.into_iter().take(LOOKED_AT) {
        let name = name.as_ref();
        if name.is_empty() {
            continue;
        }
        let other: Vec<char> = name.to_lowercase().chars().take(COMPARED).collect();
        let has = lower.len() > 1 && other.windows(lower.len()).any(|part| part == lower);
        let distance = if has { other.len() - lower.len() } else { distance(&lower, &other) };
        let entry = (!has, distance, name.to_owned());
        if best.len() < TOLD || best.last().is_some_and(|worst| entry < *worst) {
            best.insert(entry);
            if best.len() > TOLD {
                best.pop_last();
            }
        }
    }
    best.into_iter().map(|(_, _, name)| name).collect()
}

/// Formats the sentence that no `what` is called `wanted`; `known` are the existing names.
pub fn no_such<N: AsRef<str>>(what: &str, wanted: &str, known: impl IntoIterator<Item = N>) -> String {
    let nearest = nearest(wanted, known);
    if nearest.is_empty() {
        return format!("no {what} is called \"{wanted}\": there is none at all");
    }
    let names: Vec<String> = nearest.into_iter().map(|name| format!("\"{name}\"")).collect();
    format!("no {what} is called \"{wanted}\"; nearest: {}", names.join(", "))
}

/// The number of letters that are added, removed, replaced or swapped with their neighbour between two texts (the
/// optimal string alignment distance).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &of_a) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, &of_b) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(of_a != of_b);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && of_a == b[j - 1] && a[i - 1] == of_b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_keyboard_are_one_step_each() {
        let steps = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        for (a, b, n) in [("report", "reprot", 1), ("info", "inf", 1), ("cut", "cat", 1), ("", "abc", 3), ("diff", "find", 3)] {
            assert_eq!((steps(a, b), steps(b, a)), (n, n), "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_come_first_and_are_few() {
        let known = ["render.exe", "game.exe", "gamer.exe", "a", "b", "c", "GAME.EXE"];
        assert_eq!(nearest("gam.exe", known)[..3], ["GAME.EXE", "game.exe", "gamer.exe"]);
        assert_eq!(nearest("render", known)[0], "render.exe", "what has it all");
        assert_eq!(nearest("x", known).len(), TOLD);
        assert_eq!(nearest("ame", ["ame.exe", "ame.exe"]), ["ame.exe"]);
        assert_eq!(no_such("process", "gam", ["game"]), "no process is called \"gam\"; nearest: \"game\"");
        assert_eq!(no_such("mark", "x", [""; 0]), "no mark is called \"x\": there is none at all");
    }

    #[test]
    fn very_many_and_very_long_names_cost_little() {
        let long = "x".repeat(100_000);
        let known = (0..100_000).map(|i| format!("{i}{long}").split_off(50_000));
        assert_eq!(nearest(&long, known).len(), TOLD, "one of each length");
    }
}
