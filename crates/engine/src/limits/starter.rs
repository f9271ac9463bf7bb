//! Starter rules from a known-good trace: limits for each process in each layer, and for each named tracker, with some
//! headroom. They hold for that trace and are meant to be edited.
//!
//! Processes are identified by name, because ids differ between runs; if several have one name, the largest counts. A
//! process or tracker gets no rule if a rule cannot express its name, or if it is small compared with others.

use std::fmt::Write;

use crate::format::{self, is_plain, plain};
use crate::query::{Group, Measured};
use crate::tables::{KeyedMap, KeyedSet};
use crate::time_spec::TimeSpec;
use crate::units::Layer;

/// Largest number of rules for processes, and of rules for trackers.
const MOST_RULES: usize = 50;
/// A process or tracker gets a rule if its peak is at least one `LEAST_SHARE`th of the largest peak in its layer.
const LEAST_SHARE: u64 = 100;
/// Longest name written into rule names and comments, in characters.
const MOST_CHARS: usize = 200;
/// Longest name that a rule can match, in bytes.
const MOST_BYTES: usize = 500;

const HEADER: &str = "\
# Each group of a [[rule]] must stay at or below the limits of the rule: `highwater check` exits with 3 otherwise.
#   Which rows: process, layer (heap, tracker, commit), heap, type, frame, not_frame; from and to in seconds.
#   by: keys of the groups (process, heap, type, stack, function, module, tag, responsible, responsible_module, owner); layers are always separate.
#   Limits: peak, outstanding (at the end), impacting, growth (bytes a second, by least squares),
#   at_exit_size and at_exit_count (what was alive when its process ended), count (blocks),
#   touched and waste (pages at the end that live blocks touch; bytes of them not in use),
#   unknown (bytes of the commit charge at the end that no committed range accounts for).
#   Bytes can have K, M or G (powers of 2^10). required: the check also fails if nothing matches.
# The limits are what the trace reached plus a quarter, rounded up. Lower them where you can.
";

/// The trace and the interval that rules are generated from.
#[derive(Clone, Copy, Debug)]
pub struct StartedFrom<'a> {
    /// Name of the trace.
    pub capture: &'a str,
    /// Start of the interval, if it is not the start of the trace. It is written into the rules.
    pub from: Option<&'a TimeSpec>,
    /// End of the interval, if it is not the end of the trace. It is written into the rules.
    pub to: Option<&'a TimeSpec>,
}

/// Largest values reached by a process name or tracker name, over all groups with that name.
struct Reached<'a> {
    process: &'a str,
    layer: Layer,
    heap: Option<&'a str>,
    peak: u64,
    outstanding: u64,
    growth: f64,
    /// Size and count of the blocks left at exit.
    at_exit: Option<[u64; 2]>,
}

/// Returns the text of a rules file. `processes` are groups by process, with growth and blocks at exit; `heaps` are
/// groups by process and heap.
pub fn starter(from: &StartedFrom<'_>, processes: &Measured, heaps: &[Group]) -> String {
    let mut text = format!("# Limits for {}, from a run assumed to be healthy.\n{HEADER}", comment(from.capture));
    let mut names = KeyedSet::default();
    let of_processes = (0..processes.groups.len()).filter_map(|i| of_process(processes, i));
    for reached in most(of_processes) {
        put_process(&mut text, from, &reached, &mut names);
    }
    for reached in most(trackers(heaps).into_iter()) {
        put_tracker(&mut text, from, &reached, &mut names);
    }
    if names.is_empty() {
        text += "\n# The trace holds no memory of a process with a name.\n";
    }
    text
}

fn of_process(measured: &Measured, group: usize) -> Option<Reached<'_>> {
    let of = &measured.groups[group];
    let left = measured.at_exit.get(group).copied().flatten();
    let growth = measured.growth.get(group).copied().flatten().unwrap_or_default();
    Some(Reached { growth, at_exit: left.map(|left| [left.size, left.count]), ..reached(of)? })
}

/// Returns the named trackers. Those of one process instance whose names differ only in case become one, since one rule
/// matches them all.
fn trackers(heaps: &[Group]) -> Vec<Reached<'_>> {
    let mut list: Vec<Reached<'_>> = Vec::new();
    let mut places = KeyedMap::default();
    for group in heaps {
        let Some(one) = of_tracker(group) else { continue };
        let life = (group.pid, group.process_start_s.map(f64::to_bits), one.heap.map(str::to_lowercase));
        let place = *places.entry(life).or_insert(list.len());
        match list.get_mut(place) {
            // An upper bound: their peaks need not coincide.
            Some(known) => {
                known.peak = known.peak.saturating_add(one.peak);
                known.outstanding = known.outstanding.saturating_add(one.outstanding);
            }
            None => list.push(one),
        }
    }
    list
}

/// Returns a group that is a named tracker. Tracker names are stable between runs; heap handles are not.
fn of_tracker(group: &Group) -> Option<Reached<'_>> {
    let heap = group.heap.as_deref().filter(|heap| can_be_said(heap) && !heap.starts_with("0x"))?;
    Some(Reached { heap: Some(heap), ..reached(group)? }).filter(|reached| reached.layer == Layer::Tracker)
}

fn reached(group: &Group) -> Option<Reached<'_>> {
    let process = group.process.as_deref().filter(|name| can_be_said(name) && !name.starts_with("Unknown ("))?;
    let layer = Layer::ALL.into_iter().find(|layer| layer.name() == group.layer)?;
    let numbers = &group.numbers;
    let (peak, outstanding) = (numbers.peak, numbers.outstanding_to);
    Some(Reached { process, layer, heap: None, peak, outstanding, growth: 0.0, at_exit: None })
}

/// Returns whether a rule can match this name and nothing else.
fn can_be_said(name: &str) -> bool {
    let is_id = name.parse::<u32>().is_ok();
    !is_id && name.len() <= MOST_BYTES && !name.trim().is_empty() && !name.contains(char::is_control)
}

/// Merges entries whose names differ only in case, drops small ones, and sorts by peak, largest first.
fn most<'a>(all: impl Iterator<Item = Reached<'a>>) -> Vec<Reached<'a>> {
    let mut list: Vec<Reached<'a>> = Vec::new();
    let mut places = KeyedMap::default();
    for one in all {
        let key = (one.process.to_lowercase(), one.layer, one.heap.map(str::to_lowercase));
        let place = *places.entry(key).or_insert(list.len());
        let Some(known) = list.get_mut(place) else {
            list.push(one);
            continue;
        };
        known.peak = known.peak.max(one.peak);
        known.outstanding = known.outstanding.max(one.outstanding);
        known.growth = known.growth.max(one.growth);
        known.at_exit = match (known.at_exit, one.at_exit) {
            (Some(a), Some(b)) => Some([a[0].max(b[0]), a[1].max(b[1])]),
            (a, b) => a.or(b),
        };
    }
    let largest = |layer| list.iter().filter(|one| one.layer == layer).map(|one| one.peak).max().unwrap_or(0);
    let least = Layer::ALL.map(|layer| (layer, largest(layer) / LEAST_SHARE));
    list.retain(|one| least.iter().any(|&(layer, least)| layer == one.layer && one.peak >= least));
    list.sort_by(|a, b| b.peak.cmp(&a.peak).then_with(|| (a.process, a.layer, a.heap).cmp(&(b.process, b.layer, b.heap))));
    list.truncate(MOST_RULES);
    list
}

fn put_process(text: &mut String, from: &StartedFrom<'_>, reached: &Reached<'_>, names: &mut KeyedSet<String>) {
    let layer = reached.layer.name();
    put_head(text, from, names, &format!("{}: {layer}", reached.process), reached);
    *text += "by = [\"process\"]\nrequired = true\n";
    put_sizes(text, reached);
    // Growth this slow is tolerable.
    let growth = with_room(reached.growth.max(0.0) as u64).max(reached.peak / 1000);
    let _ = writeln!(text, "growth = {}  # a second; it was {} B", readable(growth), reached.growth.round());
    match reached.at_exit {
        Some([size, count]) => {
            let _ = writeln!(text, "at_exit_size = {}  # it was {}", left_size(size), format::bytes(size));
            let _ = writeln!(text, "at_exit_count = {}  # blocks; it was {}", left_count(count), format::count(count));
        }
        None if reached.layer == Layer::Commit => {}
        None => *text += "# at_exit_count = 0  # the process did not end in the trace\n",
    }
}

fn put_tracker(text: &mut String, from: &StartedFrom<'_>, reached: &Reached<'_>, names: &mut KeyedSet<String>) {
    let heap = reached.heap.unwrap_or_default();
    put_head(text, from, names, &format!("{}: tracker {heap}", reached.process), reached);
    let _ = writeln!(text, "heap = {}", quoted(heap));
    *text += "by = [\"process\"]\n";
    put_sizes(text, reached);
}

fn put_head(text: &mut String, from: &StartedFrom<'_>, names: &mut KeyedSet<String>, name: &str, reached: &Reached<'_>) {
    let mut unique: String = name.chars().take(MOST_CHARS).collect();
    let mut turn = 2;
    while !names.insert(unique.clone()) {
        unique = format!("{} ({turn})", name.chars().take(MOST_CHARS).collect::<String>());
        turn += 1;
    }
    let (process, layer) = (quoted(reached.process), reached.layer.name());
    let _ = writeln!(text, "\n[[rule]]\nname = {}\nprocess = {process}\nlayer = \"{layer}\"", quoted(&unique));
    for (key, edge) in [("from", from.from), ("to", from.to)] {
        let _ = match edge {
            Some(TimeSpec::At(seconds)) => writeln!(text, "{key} = {seconds}"),
            Some(edge) => writeln!(text, "{key} = {}", quoted(&edge.to_string())),
            None => Ok(()),
        };
    }
}

fn put_sizes(text: &mut String, reached: &Reached<'_>) {
    for (key, size) in [("peak", reached.peak), ("outstanding", reached.outstanding)] {
        let _ = writeln!(text, "{key} = {}  # it was {}", readable(with_room(size)), format::bytes(size));
    }
}

/// Quotes a text for TOML. Characters that are not [`plain`] are escaped, because the file is also printed.
fn quoted(text: &str) -> String {
    if text.chars().all(is_plain) {
        return toml::Value::from(text).to_string();
    }
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if is_plain(c) => c.to_string(),
        c => format!("\\U{:08X}", u32::from(c)),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

fn comment(text: &str) -> String {
    plain(text).chars().take(MOST_CHARS).collect()
}

fn with_room(n: u64) -> u64 {
    n.saturating_add(n.div_ceil(4))
}

/// Limit for the size at exit; 0 stays 0.
fn left_size(size: u64) -> String {
    if size == 0 { "0".to_owned() } else { readable(with_room(size)) }
}

fn left_count(count: u64) -> u64 {
    let n = with_room(count).min(i64::MAX as u64);
    let unit = 10u64.pow(n.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (n.div_ceil(unit).saturating_mul(unit)).min(i64::MAX as u64)
}

/// Rounds a size up to about two digits, and formats it as rules write it.
fn readable(n: u64) -> String {
    let units = [("G", 30), ("M", 20), ("K", 10)];
    let (unit, shift) = units.into_iter().find(|(_, shift)| n >> shift >= 10).unwrap_or(("K", 10));
    let whole = n.div_ceil(1 << shift).max(1);
    let step = match whole {
        1000.. => 100,
        100.. => 10,
        _ => 1,
    };
    let rounded = whole.div_ceil(step) * step;
    match rounded.checked_mul(1 << shift) {
        Some(_) => format!("\"{rounded}{unit}\""),
        None => format!("\"{}\"", u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_to_what_reads_well() {
        for (n, text) in [
            (0, "1K"),
            (1, "1K"),
            (1025, "2K"),
            (10 << 10, "10K"),
            ((10 << 10) + 1, "11K"),
            (999 << 10, "1000K"),
            (9 << 20, "9300K"),
            ((10 << 20) + 1, "11M"),
            (123 << 20, "130M"),
            (5 << 30, "5200M"),
            (64 << 30, "64G"),
        ] {
            assert_eq!(readable(n), format!("\"{text}\""), "{n}");
        }
        for n in (0..64).map(|shift| u64::MAX >> shift).chain([3, 1_000_003, 77 << 33]) {
            let size = format::parse_bytes(readable(n).trim_matches('"')).unwrap();
            assert!(size >= n && (n < 1 << 14 || size / 8 <= n / 7), "{n} {size}");
        }
    }

    #[test]
    fn counts_are_rounded_up_to_two_digits_and_none_stays_none() {
        let counts = [0, 1, 7, 99, 1000, u64::MAX].map(left_count);
        assert_eq!(counts, [0, 2, 9, 130, 1300, i64::MAX as u64]);
        assert_eq!((left_size(0).as_str(), left_size(1).as_str()), ("0", "\"1K\""));
    }
}
