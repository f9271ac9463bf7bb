//! `diff` with a saved investigation as its only trace: the command that compares the two traces that it names, as its window
//! does. Neither is opened.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::ErrorKind;
use serde::Deserialize;

use super::investigation::{saved_in, seen_from};
use crate::export::html::command;
use crate::load::DEMO_NAME;

/// The parts of an investigation on which a comparison depends.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Saved {
    trace: Trace,
    baseline: Trace,
    view: View,
    compare: Compare,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Trace {
    files: Vec<String>,
    start_time: i64,
    frequency: i64,
    length: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct View {
    from_s: f64,
    to_s: f64,
    selected_s: Option<[f64; 2]>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Compare {
    swapped: bool,
}

/// The error in one line, with the command that compares the traces, if these words are `diff` with one investigation that has a
/// trace to compare with.
pub(super) fn line(error: &clap::Error, words: &[OsString]) -> Option<String> {
    if error.kind() != ErrorKind::MissingRequiredArgument || words.get(1)? != "diff" {
        return None;
    }
    let words: Vec<&str> = words.iter().skip(1).map(|word| OsStr::to_str(word)).collect::<Option<_>>()?;
    let (at, sides) = words.iter().enumerate().skip(1).find_map(|(at, word)| Some((at, sides(Path::new(word))?)))?;
    let file = words[at];
    let told = format!("{file}: this is a saved investigation, which compares two traces and holds neither; name both instead");
    let named = words[..at].iter().copied().chain(sides.iter().map(String::as_str)).chain(words[at + 1..].iter().copied());
    Some(format!("{told}: {}", command(["highwater"].into_iter().chain(named).map(str::to_owned))))
}

/// The two arguments of `diff`, A first: the trace that was recorded first, unless the user swapped them.
fn sides(file: &Path) -> Option<[String; 2]> {
    let Saved { trace, baseline, view, compare } = saved_in(file)?.try_into().ok()?;
    let ours = seen_from(file, trace.only()?)? + &view.part(&trace).unwrap_or_default();
    let theirs = seen_from(file, baseline.only()?)?;
    let is_ours_later = (baseline.start_time, name_of(baseline.only()?)) <= (trace.start_time, name_of(trace.only()?));
    Some(if is_ours_later != compare.swapped { [theirs, ours] } else { [ours, theirs] })
}

/// The name of a trace in the window, by which traces that were recorded at the same time are ordered.
fn name_of(file: &str) -> &OsStr {
    if file == DEMO_NAME { OsStr::new("Demo trace") } else { Path::new(file).file_name().unwrap_or_default() }
}

impl Trace {
    /// The only file of the trace; a side of `diff` cannot have several.
    fn only(&self) -> Option<&str> {
        if let [file] = &*self.files { Some(file) } else { None }
    }
}

impl View {
    /// The part of the trace that is compared: the selection, else the view; `None` if that is all of it.
    fn part(&self, trace: &Trace) -> Option<String> {
        let [from, to] = self.selected_s.unwrap_or([self.from_s, self.to_s]);
        let is_all = self.selected_s.is_none() && from <= 0.0 && (to * trace.frequency as f64).round() >= trace.length as f64;
        let is_part = from.is_finite() && to.is_finite() && from <= to && !is_all && (self.selected_s.is_some() || from < to);
        is_part.then(|| format!("@{from:.9}..{to:.9}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides_of(text: &str) -> Option<[String; 2]> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("why.highwater");
        std::fs::write(&file, format!("version = 1\n{text}")).unwrap();
        let short = |side: String| side.replace(&format!("{}{}", folder.path().display(), std::path::MAIN_SEPARATOR), "");
        sides(&file).map(|sides| sides.map(short))
    }

    #[test]
    fn the_trace_that_was_recorded_first_is_a_unless_the_user_swapped_them() {
        let traces = |own: i64, other: i64| {
            format!(
                "trace = {{ files = [\"b.etl\"], start_time = {own} }}\nbaseline = {{ files = [\"a.etl\"], start_time = {other} }}\n"
            )
        };
        let (own_later, own_first) = (["a.etl", "b.etl"].map(str::to_owned), ["b.etl", "a.etl"].map(str::to_owned));
        assert_eq!(sides_of(&traces(2, 1)), Some(own_later.clone()));
        assert_eq!(sides_of(&traces(1, 2)), Some(own_first.clone()));
        assert_eq!(sides_of(&traces(1, 1)), Some(own_later.clone()), "by their names");
        assert_eq!(sides_of(&format!("{}compare.swapped = true", traces(2, 1))), Some(own_first));
        assert_eq!(sides_of(&format!("{}compare.swapped = true", traces(1, 2))), Some(own_later));
    }

    #[test]
    fn the_part_is_the_selection_else_the_view_unless_that_is_all() {
        let part = |view: &str| {
            let traces =
                "trace = { files = [\"b.etl\"], start_time = 2, frequency = 10, length = 100 }\nbaseline.files = [\"a.etl\"]\n";
            sides_of(&format!("{traces}{view}")).unwrap()[1].clone()
        };
        assert_eq!(part(""), "b.etl");
        assert_eq!(part("view = { from_s = 0.0, to_s = 10.0 }"), "b.etl");
        assert_eq!(part("view = { from_s = 0.0, to_s = 4.0 }"), "b.etl@0.000000000..4.000000000");
        assert_eq!(part("view = { to_s = 10.0, selected_s = [1.5, 1.5] }"), "b.etl@1.500000000..1.500000000");
        for odd in ["view = { from_s = nan, to_s = 4.0 }", "view.selected_s = [5.0, 1.0]", "view.selected_s = [-inf, inf]"] {
            assert_eq!(part(odd), "b.etl", "{odd}");
        }
    }

    #[test]
    fn an_investigation_without_two_traces_of_one_file_has_no_sides() {
        for text in [
            "",
            "trace.files = [\"a.etl\"]",
            "trace.files = [\"a.etl\", \"c.etl\"]\nbaseline.files = [\"b.etl\"]",
            "trace.files = [\"a\\u0000\"]\nbaseline.files = [\"b.etl\"]",
            "trace.files = []\nbaseline.files = [\"b.etl\"]",
            "trace.files = [7]\nbaseline.files = [\"b.etl\"]",
            "trace.files = [\"a.etl\"]\nbaseline.files = [\"b.etl\"]\ncompare = 7",
        ] {
            assert_eq!(sides_of(text), None, "{text}");
        }
    }
}
