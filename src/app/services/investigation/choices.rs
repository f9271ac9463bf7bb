//! The user's choices in views in an investigation file: orders of tables, searches, groupings, layers, weights of flame
//! graphs, details, functions of butterflies, the sides of *Compare*, and kinds of activity that are not drawn. Each is read apart; unknown ones are left out.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::file::Saved;
use super::nodes::FoundNodes;
use super::paths::layer;
use super::view_places;
use crate::app::state::ids::ViewId;
use crate::app::state::overlay::Overlay;
use crate::app::state::source_list::SourceChoice;
use crate::app::state::view_choices::{NodePlace, SidesChoice, ViewChoices};
use crate::format::is_plain;
use crate::units::{Interval, Ticks};

/// Maximum length of a search text in characters.
const LONGEST_SEARCH: usize = 1000;

/// Maximum length of a function's name in bytes.
const LONGEST_NAME: usize = 16 << 10;

/// Maximum number of switched kinds of activity in a file.
const MOST_HIDDEN: usize = 100;

/// The key of the list of sources, which is no tab.
pub const SOURCES: &str = "Sources";

/// The sides of *Compare*.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedCompare {
    /// Whether the user swapped the two traces.
    pub swapped: bool,
    /// The parts of one trace that are compared, if the user chose them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sides: Option<toml::Value>,
}

/// The parts of one trace that are compared.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SavedSides {
    Selection,
    Halves,
    Marks,
    /// A and B, in seconds since the trace start.
    Own([[f64; 2]; 2]),
}

impl SavedCompare {
    /// The choices of *Compare* as they are saved; `None` if all is as at first.
    pub fn of(choices: &ViewChoices, seconds: impl Fn(Ticks) -> f64) -> Result<Option<Self>, toml::ser::Error> {
        let sides = choices.sides.map(|sides| match sides {
            SidesChoice::Selection => SavedSides::Selection,
            SidesChoice::Halves => SavedSides::Halves,
            SidesChoice::Marks => SavedSides::Marks,
            SidesChoice::Own(sides) => SavedSides::Own(sides.map(|Interval { from, to }| [seconds(from), seconds(to)])),
        });
        let sides = sides.map(toml::Value::try_from).transpose()?;
        let saved = Self { swapped: choices.is_swapped, sides };
        Ok((saved != Self::default()).then_some(saved))
    }

    /// The sides; `None` if they are as at first or of an unknown kind.
    fn sides(&self, ticks: impl Fn(f64) -> Ticks) -> Option<SidesChoice> {
        Some(match self.sides.clone()?.try_into().ok()? {
            SavedSides::Selection => SidesChoice::Selection,
            SavedSides::Halves => SidesChoice::Halves,
            SavedSides::Marks => SidesChoice::Marks,
            SavedSides::Own(sides) => SidesChoice::Own(sides.map(|[from, to]| Interval::new(ticks(from), ticks(to)))),
        })
    }
}

/// The searches as they are saved, by the keys of their tabs.
pub fn saved_searches(views: &[(ViewId, ViewChoices)], sources: &SourceChoice) -> toml::Table {
    let of_views = views.iter().map(|(view, choices)| (view.key(), choices.search.as_str()));
    let all = of_views.chain([(SOURCES, sources.search.as_str())]).filter(|(_, text)| !text.is_empty());
    all.map(|(key, text)| (key.to_owned(), toml::Value::String(text.chars().take(LONGEST_SEARCH).collect()))).collect()
}

/// The search under a key, without control characters and not too long.
pub fn search(saved: &toml::Table, key: &str) -> String {
    let text = saved.get(key).and_then(toml::Value::as_str).unwrap_or_default();
    text.chars().filter(|&c| is_plain(c)).take(LONGEST_SEARCH).collect()
}

/// A choice of each view as it is saved, by the keys of their tabs, if the view has it.
pub fn saved_by_tab<T: Into<toml::Value>>(
    views: &[(ViewId, ViewChoices)],
    choice: impl Fn(&ViewChoices) -> Option<T>,
) -> toml::Table {
    views.iter().filter_map(|(view, choices)| Some((view.key().to_owned(), choice(choices)?.into()))).collect()
}

/// Whether a text can be the name of a function: it is shown, also if the trace has no such function.
fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME && text.chars().all(is_plain)
}

/// The choices in views as a file has them; those that it lacks are empty.
pub fn found(
    saved: &Saved,
    nodes: &FoundNodes,
    selected: &[(ViewId, NodePlace)],
    ticks: impl Fn(f64) -> Ticks,
) -> Vec<(ViewId, ViewChoices)> {
    let focuses = view_places::focuses(&saved.focus);
    let of = |view: ViewId| {
        let key = view.key();
        let text = |table: &toml::Table| table.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let place = |places: &[(ViewId, NodePlace)]| places.iter().find(|(of, _)| *of == view).map(|(_, place)| place.clone());
        let compare = saved.compare.as_ref().filter(|_| view == ViewId::Compare);
        let choices = ViewChoices {
            order: saved.sort.get(key).and_then(|order| order.clone().try_into().ok()),
            search: search(&saved.search, key),
            grouping: text(&saved.grouping),
            layer: text(&saved.layer).and_then(|name| layer(&name)),
            nodes: nodes.nodes.iter().filter(|(of, _)| *of == view).map(|(_, node)| node.clone()).collect(),
            selected: place(selected),
            middle: text(&saved.middle).filter(|name| is_name(name)).map(Arc::from),
            details: saved.details.get(key).and_then(toml::Value::as_bool),
            weight: text(&saved.weight),
            focus: place(&focuses),
            sides: compare.and_then(|compare| compare.sides(&ticks)),
            is_swapped: compare.is_some_and(|compare| compare.swapped),
        };
        (view, choices)
    };
    ViewId::ALL.into_iter().map(of).filter(|(_, choices)| *choices != ViewChoices::default()).collect()
}

/// The kinds of activity that the user hid, or showed if they are hidden at first, and how many of the names are unknown.
pub fn switched(saved: &[toml::Value]) -> (BTreeSet<Overlay>, usize) {
    let known = |name: &toml::Value| Overlay::of_key(name.as_str()?);
    let all: Vec<Option<Overlay>> = saved.iter().take(MOST_HIDDEN).map(known).collect();
    let unknown = saved.len() - all.iter().flatten().count();
    (all.into_iter().flatten().collect(), unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::base::table::SavedSort;
    use crate::units::Layer;

    #[test]
    fn choices_come_back_as_they_were() {
        let own = [Interval { from: Ticks(1), to: Ticks(5) }, Interval { from: Ticks(7), to: Ticks(9) }];
        for sides in
            [None, Some(SidesChoice::Selection), Some(SidesChoice::Halves), Some(SidesChoice::Marks), Some(SidesChoice::Own(own))]
        {
            for is_swapped in [false, true] {
                let compare = ViewChoices { sides, is_swapped, search: "a \"b\"".to_owned(), ..ViewChoices::default() };
                let order = Some(SavedSort { by: "size".to_owned(), descending: true });
                let details = Some(is_swapped);
                let stacks = ViewChoices { order, grouping: Some("stack".to_owned()), details, ..ViewChoices::default() };
                let flame =
                    ViewChoices { layer: Some(Layer::Commit), weight: Some("count".to_owned()), ..ViewChoices::default() };
                let views = vec![(ViewId::Stacks, stacks), (ViewId::Flame, flame), (ViewId::Compare, compare.clone())];
                let saved = SavedCompare::of(&compare, |at| at.0 as f64).unwrap();
                assert_eq!(saved.is_none(), sides.is_none() && !is_swapped);
                let text = saved.map(|saved| toml::to_string(&saved).unwrap());
                let read: Option<SavedCompare> = text.map(|text| toml::from_str(&text).unwrap());
                let sources = SourceChoice { search: "heap".to_owned(), ..SourceChoice::default() };
                let searches = saved_searches(&views, &sources);
                assert_eq!(search(&searches, SOURCES), "heap");
                let saved = Saved {
                    sort: toml::from_str("Stacks = { by = \"size\", descending = true }\nTypes = 7").unwrap(),
                    search: searches,
                    grouping: saved_by_tab(&views, |choices| choices.grouping.clone()),
                    layer: saved_by_tab(&views, |choices| choices.layer.map(Layer::name)),
                    weight: saved_by_tab(&views, |choices| choices.weight.clone()),
                    details: saved_by_tab(&views, |choices| choices.details),
                    compare: read,
                    ..Saved::default()
                };
                assert_eq!(found(&saved, &FoundNodes::default(), &[], |at| Ticks(at as i64)), views);
            }
        }
    }

    #[test]
    fn hostile_choices_are_left_out() {
        let ticks = |at: f64| Ticks(at as i64).max(Ticks(0)).min(Ticks(100));
        let table = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
        for sides in ["\"later\"", "7", "{ own = [[1.0, 2.0]] }", "{ own = 7 }", "{ own = [[\"a\", 2.0], [1.0, 2.0]] }"] {
            let compare: SavedCompare = toml::from_str(&format!("swapped = true\nsides = {sides}")).unwrap();
            assert_eq!(compare.sides(ticks), None, "{sides}");
        }
        let odd: SavedCompare = toml::from_str("sides = { own = [[inf, nan], [50.0, -inf]] }").unwrap();
        let Some(SidesChoice::Own(sides)) = odd.sides(ticks) else { panic!("sides") };
        assert!(sides.iter().all(|side| side.from <= side.to), "{sides:?}");
        let long = format!("Stacks = \"{}\"\nTypes = \"a\\u001bb\"\nFlame = 7\nNone = \"x\"", "\u{1f4dd}".repeat(5000));
        let searches = table(&long);
        assert_eq!(search(&searches, "Stacks").chars().count(), LONGEST_SEARCH);
        assert_eq!(search(&searches, "Types"), "ab");
        assert_eq!((search(&searches, "Flame").as_str(), search(&searches, "Compare").as_str()), ("", ""));
        let long = "a".repeat(LONGEST_NAME + 1);
        for (name, is_known) in [("game!f<int>", true), ("a\u{1b}b", false), (long.as_str(), false)] {
            let middle = [("Functions".to_owned(), toml::Value::String(name.to_owned()))].into_iter().collect();
            let found = found(&Saved { middle, ..Saved::default() }, &FoundNodes::default(), &[], ticks);
            assert_eq!(found.first().is_some_and(|(_, choices)| choices.middle.as_deref() == Some(name)), is_known, "{name}");
        }
        let mixed = table("x = [\"frames\", 7, \"later\", \"gpu_local\", \"frames\"]");
        let (kinds, unknown) = switched(mixed["x"].as_array().unwrap());
        assert_eq!((kinds.len(), unknown), (2, 2));
        assert_eq!(switched(&vec![toml::Value::Integer(1); 5000]).1, 5000);
        for what in Overlay::ALL {
            assert_eq!(Overlay::of_key(what.key()), Some(what));
        }
    }
}
