//! Selected rows, and the parts of flame graphs that are shown, in an investigation file: at most one of each in a tab. Nodes of
//! the tree are named by meaning ([`super::paths`]), those of call trees by the names of functions, single allocations by
//! address and time, marks by time and text.
//!
//! Cost of finding them again: one pass over the stack nodes; for a single allocation one over the rows.

use serde::{Deserialize, Serialize};

use super::file::LARGEST;
use super::nodes::MOST_NAMES;
use super::paths::{SavedPath, hex};
use crate::app::state::ids::ViewId;
use crate::app::state::view_choices::{NodePlace, ViewChoices};
use crate::model::{RowId, Trace};
use crate::query::{Key, Path};
use crate::units::Ticks;

/// Maximum size of the text of a place in bytes; one in a deeper stack is left out.
const MOST_BYTES: usize = LARGEST as usize / 32;

/// A place in a view.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SavedPlace {
    /// The key of the tab.
    tab: String,
    /// Whether it is in the bottom-up tree.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bottom_up: bool,
    /// The names of functions on the path to it, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<SavedPath>,
    /// A single allocation, below the path if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    allocation: Option<SavedRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<SavedMark>,
}

/// A single allocation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedRow {
    address: String,
    /// When it was allocated, in ticks; missing if before the trace.
    at: Option<i64>,
}

/// A mark of the trace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedMark {
    /// When it was written, in ticks.
    at: i64,
    text: String,
}

/// The kind of place that a view has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Path,
    Names,
    Allocation,
    Mark,
}

/// A place of each view as it is saved, if the view has one.
pub fn saved<'a>(
    trace: &Trace,
    views: &'a [(ViewId, ViewChoices)],
    place_of: impl Fn(&'a ViewChoices) -> Option<&'a NodePlace>,
) -> Result<Vec<toml::Value>, toml::ser::Error> {
    let places = views.iter().filter_map(|(view, choices)| SavedPlace::of(trace, view.key(), place_of(choices)?));
    let values = places.map(toml::Value::try_from).filter(|value| value.as_ref().map_or(true, fits));
    values.collect()
}

/// Whether a place is short enough to be saved.
fn fits(value: &toml::Value) -> bool {
    value.to_string().len() <= MOST_BYTES
}

/// Finds the selected rows again in a trace; also returns how many the trace lacks or are of an unknown kind.
pub fn selected(saved: &[toml::Value], trace: &Trace) -> (Vec<(ViewId, NodePlace)>, usize) {
    let all: Vec<(ViewId, NodePlace)> =
        read(saved, selected_kind).filter_map(|(view, place)| Some((view, place.find(trace)?))).collect();
    let lost = saved.len() - all.len();
    (all, lost)
}

/// The parts of flame graphs that are shown; those that cannot be read are left out.
pub fn focuses(saved: &[toml::Value]) -> Vec<(ViewId, NodePlace)> {
    read(saved, focus_kind).map(|(view, place)| (view, place.by_names())).collect()
}

/// Reads places, the first of each view that can have such a one.
fn read(saved: &[toml::Value], kind_of: fn(ViewId) -> Option<Kind>) -> impl Iterator<Item = (ViewId, SavedPlace)> {
    let read = |value: &toml::Value| value.clone().try_into::<SavedPlace>().ok();
    let all: Vec<SavedPlace> = saved.iter().take(ViewId::ALL.len()).filter_map(read).collect();
    ViewId::ALL.into_iter().filter_map(move |view| {
        let kind = kind_of(view)?;
        let place = all.iter().find(|place| place.tab == view.key() && place.is_of(kind))?;
        Some((view, place.clone()))
    })
}

/// The kind of rows that can be selected in a view.
fn selected_kind(view: ViewId) -> Option<Kind> {
    match view {
        ViewId::Stacks => Some(Kind::Path),
        ViewId::Functions | ViewId::FreedBy => Some(Kind::Names),
        ViewId::Allocations => Some(Kind::Allocation),
        ViewId::Marks => Some(Kind::Mark),
        _ => None,
    }
}

/// The kind of nodes that a flame graph can be about.
fn focus_kind(view: ViewId) -> Option<Kind> {
    matches!(view, ViewId::Flame | ViewId::Compare | ViewId::Processors).then_some(Kind::Names)
}

impl SavedPlace {
    fn of(trace: &Trace, tab: &str, place: &NodePlace) -> Option<Self> {
        let own = Self { tab: tab.to_owned(), ..Self::default() };
        Some(match place {
            NodePlace::Path(path) => {
                let (path, row) = match path.split_last() {
                    Some((Key::Row(row), above)) => (Path::from(above), Some(SavedRow::of(trace, *row))),
                    _ => (path.clone(), None),
                };
                let path = if path.is_empty() { None } else { Some(SavedPath::of(trace, &path)?) };
                Self { path, allocation: row, ..own }
            }
            NodePlace::Names { is_inverted, names } => {
                Self { bottom_up: *is_inverted, names: names.iter().map(ToString::to_string).collect(), ..own }
            }
            NodePlace::Mark(place) => {
                let mark = trace.activity.marks.list.get(*place)?;
                Self { mark: Some(SavedMark { at: mark.at.0, text: mark.text.to_string() }), ..own }
            }
        })
    }

    fn is_of(&self, kind: Kind) -> bool {
        let is_named = !self.names.is_empty() || self.bottom_up;
        let has = (is_named, self.path.is_some(), self.allocation.is_some(), self.mark.is_some());
        match kind {
            Kind::Path => matches!(has, (false, true, _, false)),
            Kind::Names => matches!(has, (_, false, false, false)) && self.names.len() <= MOST_NAMES,
            Kind::Allocation => has == (false, false, true, false),
            Kind::Mark => has == (false, false, false, true),
        }
    }

    /// The place in a trace; `None` if the trace lacks it.
    fn find(&self, trace: &Trace) -> Option<NodePlace> {
        if let Some(mark) = &self.mark {
            let is_it = |other: &crate::model::Mark| other.at.0 == mark.at && *other.text == mark.text;
            return trace.activity.marks.list.iter().position(is_it).map(NodePlace::Mark);
        }
        if self.path.is_none() && self.allocation.is_none() {
            return Some(self.by_names());
        }
        let above = self.path.as_ref().map(|path| path.find(trace));
        let above = if let Some(above) = above { above? } else { Path::from([]) };
        let row = self.allocation.as_ref().map(|row| row.find(trace));
        let row = if let Some(row) = row { Some(Key::Row(row?)) } else { None };
        Some(NodePlace::Path(above.iter().copied().chain(row).collect()))
    }

    fn by_names(&self) -> NodePlace {
        NodePlace::Names { is_inverted: self.bottom_up, names: self.names.iter().map(|name| name.as_str().into()).collect() }
    }
}

impl SavedRow {
    fn of(trace: &Trace, id: RowId) -> Self {
        let row = trace.rows.get(id);
        Self { address: format!("{:#x}", row.address), at: (row.birth != Ticks::BEFORE_TRACE).then_some(row.birth.0) }
    }

    /// The allocation of this address and time; `None` if the trace lacks it.
    fn find(&self, trace: &Trace) -> Option<RowId> {
        let (address, birth) = (hex(&self.address)?, self.at.map_or(Ticks::BEFORE_TRACE, Ticks));
        trace.rows.chunks().find_map(|chunk| {
            let at = (0..chunk.len()).find(|&at| chunk.address(at) == address && chunk.birth(at) == birth)?;
            Some(chunk.id(at))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Capture, Input, Unwatched, load};

    fn demo() -> Trace {
        load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap()
    }

    fn by_names(names: &[&str], is_inverted: bool) -> NodePlace {
        NodePlace::Names { is_inverted, names: names.iter().map(|name| (*name).into()).collect() }
    }

    #[test]
    fn places_are_found_again_in_another_load_of_the_trace() {
        let (trace, again) = (demo(), demo());
        let process = Key::Process(trace.heaps[0].process);
        let row = Key::Row(RowId(trace.rows.len() as u32 / 2));
        for (view, place) in [
            (ViewId::Stacks, NodePlace::Path([process, Key::Layer(trace.heaps[0].layer)].into())),
            (ViewId::Stacks, NodePlace::Path([process, row].into())),
            (ViewId::Allocations, NodePlace::Path([row].into())),
            (ViewId::Functions, by_names(&["a!f", "b \"g\""], true)),
            (ViewId::Marks, NodePlace::Mark(trace.activity.marks.list.len() - 1)),
        ] {
            let views = [(view, ViewChoices { selected: Some(place.clone()), ..ViewChoices::default() })];
            let saved = saved(&trace, &views, |choices| choices.selected.as_ref()).unwrap();
            assert_eq!(selected(&saved, &again), (vec![(view, place)], 0), "{saved:?}");
        }
        for (view, place) in [(ViewId::Flame, by_names(&[], true)), (ViewId::Compare, by_names(&[], false))] {
            let views = [(view, ViewChoices { focus: Some(place.clone()), ..ViewChoices::default() })];
            let saved = saved(&trace, &views, |choices| choices.focus.as_ref()).unwrap();
            assert_eq!(focuses(&saved), [(view, place)]);
        }
        let deep = by_names(&vec!["module!function"; 10_000], false);
        let views = [(ViewId::Functions, ViewChoices { selected: Some(deep), ..ViewChoices::default() })];
        assert!(saved(&trace, &views, |choices| choices.selected.as_ref()).unwrap().is_empty(), "too long to be read");
    }

    #[test]
    fn hostile_places_are_counted_and_left_out() {
        let trace = demo();
        let texts = [
            "tab = \"Stacks\"\nnames = [\"a\"]",
            "tab = \"Stacks\"\npath.keys = [{ process = { pid = 999999, name = \"x\" } }]",
            "tab = \"Allocations\"\nallocation = { address = \"0x1\", at = 7 }",
            "tab = \"Allocations\"\nallocation = { address = \"one\" }",
            "tab = \"Allocations\"\nallocation = { address = 7 }",
            "tab = \"Marks\"\nmark = { at = 1, text = \"none\" }",
            "tab = \"Marks\"\nnames = [\"a\"]\nmark = { at = 1, text = \"none\" }",
            "tab = \"Functions\"\nnames = [7]",
            "tab = \"Functions\"\nnames = [\"a\"]\ncolour = \"red\"",
            "tab = \"Types\"\nnames = [\"a\"]",
            "tab = 7",
        ];
        let all: Vec<toml::Value> = texts.iter().map(|text| toml::from_str(text).unwrap()).collect();
        assert_eq!(selected(&all, &trace), (Vec::new(), all.len()));
        assert_eq!(focuses(&all), []);
        assert_eq!(selected(&vec![toml::Value::Integer(1); 5000], &trace).1, 5000);
    }
}
