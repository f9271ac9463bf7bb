//! Opened and closed lines of trees in an investigation file. In *Stacks* and in the list of sources they are named by meaning
//! ([`super::paths`]), in call trees by the names of functions, which their view looks up as symbols arrive.
//!
//! Cost of finding them again: one pass over the stack nodes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::choices::SOURCES;
use super::file::LARGEST;
use super::paths::SavedPath;
use crate::app::state::ids::ViewId;
use crate::app::state::view_choices::{NodePlace, OpenedNode, ViewChoices};
use crate::model::{ProcessId, Trace};
use crate::query::{Key, Path};
use crate::units::Layer;

/// Maximum number of lines in a file. More are never on a screen, and each takes a path of up to some kilobytes; those nearest
/// to the root are kept, because the others are not in sight without them.
const MOST_NODES: usize = 200;

/// Maximum size of their text in bytes, so that the file is never too large because of very deep stacks.
const MOST_BYTES: usize = LARGEST as usize / 4;

/// Maximum number of names on the path to a line of a call tree.
pub const MOST_NAMES: usize = 4000;

/// A line of a tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedNode {
    /// The key of the tab.
    tab: String,
    open: bool,
    /// Whether it is in the bottom-up tree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    bottom_up: bool,
    /// The names of functions on the path to it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<SavedPath>,
}

/// A process or layer in the list of sources.
pub type SourceLine = (ProcessId, Option<Layer>);

/// Lines of trees as they were found again.
#[derive(Debug, Default)]
pub struct FoundNodes {
    pub nodes: Vec<(ViewId, OpenedNode)>,
    /// The closed lines of the list of sources.
    pub closed_sources: Vec<SourceLine>,
    /// The number of lines that the trace lacks or that are of an unknown kind.
    pub lost: usize,
}

/// The lines that the user opened or closed as they are saved, those nearest to the root first.
pub fn saved<'a>(
    trace: &Trace,
    views: &[(ViewId, ViewChoices)],
    closed_sources: impl Iterator<Item = &'a SourceLine>,
) -> Result<Vec<toml::Value>, toml::ser::Error> {
    let of_views = views.iter().flat_map(|(view, choices)| choices.nodes.iter().map(move |node| (view.key(), node)));
    let of_views = of_views.filter_map(|(tab, node)| SavedNode::of(trace, tab, node));
    let of_sources = closed_sources.filter_map(|source| {
        let node = OpenedNode { place: NodePlace::Path(path_of(source)), is_open: false };
        SavedNode::of(trace, SOURCES, &node)
    });
    let told = |node: SavedNode| toml::to_string(&node).map(|text| (node.depth(), text, node));
    let mut all: Vec<(usize, String, SavedNode)> = of_views.chain(of_sources).map(told).collect::<Result<_, _>>()?;
    all.sort_by(|(depth, text, _), (other, other_text, _)| (depth, text).cmp(&(other, other_text)));
    let mut bytes = 0;
    let fits = |(_, text, _): &&(usize, String, SavedNode)| {
        bytes += text.len();
        bytes <= MOST_BYTES
    };
    all.iter().take(MOST_NODES).take_while(fits).map(|(.., node)| toml::Value::try_from(node)).collect()
}

/// Finds the lines again in a trace.
pub fn found(nodes: &[toml::Value], trace: &Trace) -> FoundNodes {
    let read: Vec<SavedNode> =
        nodes.iter().take(MOST_NODES).filter_map(|node| node.clone().try_into().ok()).filter(SavedNode::is_possible).collect();
    let paths: Vec<&SavedPath> = read.iter().filter_map(|node| node.path.as_ref()).collect();
    let mut paths = SavedPath::find_all(&paths, trace).into_iter();
    let mut found = FoundNodes { lost: nodes.len() - read.len(), ..FoundNodes::default() };
    for node in &read {
        let path = node.path.as_ref().and_then(|_| paths.next()).flatten();
        found.lost += usize::from(node.put(path, &mut found).is_none());
    }
    found
}

impl SavedNode {
    fn of(trace: &Trace, tab: &str, node: &OpenedNode) -> Option<Self> {
        let own = Self { tab: tab.to_owned(), open: node.is_open, bottom_up: false, names: Vec::new(), path: None };
        Some(match &node.place {
            NodePlace::Path(path) => Self { path: Some(SavedPath::of(trace, path)?), ..own },
            NodePlace::Mark(_) => return None,
            NodePlace::Names { names, .. } if names.len() > MOST_NAMES => return None,
            NodePlace::Names { is_inverted, names } => {
                Self { bottom_up: *is_inverted, names: names.iter().map(|name| name.to_string()).collect(), ..own }
            }
        })
    }

    fn depth(&self) -> usize {
        self.names.len() + self.path.as_ref().map_or(0, SavedPath::len)
    }

    /// The view, if its tab is one.
    fn view(&self) -> Option<ViewId> {
        ViewId::ALL.into_iter().find(|view| view.key() == self.tab)
    }

    /// Whether such a tab can have such a line.
    fn is_possible(&self) -> bool {
        let is_named = !self.names.is_empty() && self.names.len() <= MOST_NAMES;
        match (self.view(), &self.path) {
            (Some(ViewId::Stacks), Some(_)) => self.names.is_empty() && !self.bottom_up,
            (Some(ViewId::Functions | ViewId::FreedBy), None) => is_named,
            (None, Some(_)) => self.tab == SOURCES && self.names.is_empty() && !self.bottom_up && !self.open,
            _ => false,
        }
    }

    /// Adds the line, with its path in the trace if it has one; `None` if the trace lacks it.
    fn put(&self, path: Option<Path>, found: &mut FoundNodes) -> Option<()> {
        let Some(view) = self.view() else {
            found.closed_sources.push(source_of(&path?)?);
            return Some(());
        };
        let place = match (&self.path, path) {
            (Some(_), path) => NodePlace::Path(path?),
            (None, _) => {
                let names: Arc<[Arc<str>]> = self.names.iter().map(|name| name.as_str().into()).collect();
                NodePlace::Names { is_inverted: self.bottom_up, names }
            }
        };
        found.nodes.push((view, OpenedNode { place, is_open: self.open }));
        Some(())
    }
}

fn path_of((process, layer): &SourceLine) -> Path {
    std::iter::once(Key::Process(*process)).chain(layer.map(Key::Layer)).collect()
}

fn source_of(path: &Path) -> Option<SourceLine> {
    match **path {
        [Key::Process(process)] => Some((process, None)),
        [Key::Process(process), Key::Layer(layer)] => Some((process, Some(layer))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Capture, Input, Unwatched, load};
    use crate::model::NodeId;

    fn demo() -> Trace {
        load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap()
    }

    fn by_names(names: &[&str], is_inverted: bool, is_open: bool) -> OpenedNode {
        OpenedNode {
            place: NodePlace::Names { is_inverted, names: names.iter().map(|name| Arc::from(*name)).collect() },
            is_open,
        }
    }

    fn by_path(path: &[Key], is_open: bool) -> OpenedNode {
        OpenedNode { place: NodePlace::Path(path.into()), is_open }
    }

    fn in_view(nodes: Vec<OpenedNode>) -> ViewChoices {
        ViewChoices { nodes, ..ViewChoices::default() }
    }

    /// The nodes of the demo trace that are deepest in it, with their callers.
    fn deep_stacks(trace: &Trace) -> Vec<OpenedNode> {
        let process = Key::Process(trace.heaps[0].process);
        (1..trace.stacks.len() as u32).map(|node| by_path(&[process, Key::Frame(NodeId(node))], true)).collect()
    }

    #[test]
    fn lines_are_found_again_in_another_load_of_the_trace() {
        let (trace, again) = (demo(), demo());
        let (process, layer) = (trace.heaps[0].process, trace.heaps[0].layer);
        let keys = [Key::Process(process), Key::Layer(layer)];
        let node = (1..trace.stacks.len() as u32).map(NodeId).max_by_key(|&node| trace.stacks.path(node).len()).unwrap();
        let stacks = vec![
            by_path(&keys[..1], false),
            by_path(&keys, true),
            by_path(&[keys[0], keys[1], Key::Frame(node)], true),
            by_path(&[keys[0], keys[1], Key::Inlined(node, 3)], false),
        ];
        let functions = vec![by_names(&["a!f", "b!\u{e9}\""], false, true), by_names(&["b!g", "a!f", "c"], true, false)];
        let views = [(ViewId::Stacks, in_view(stacks.clone())), (ViewId::Functions, in_view(functions.clone()))];
        let sources = [(process, None), (process, Some(layer))];
        let text = toml::Value::Array(saved(&trace, &views, sources.iter()).unwrap()).to_string();
        let table: toml::Table = toml::from_str(&format!("node = {text}")).unwrap();
        let found = found(table["node"].as_array().unwrap(), &again);
        let of = |view: ViewId| -> Vec<&OpenedNode> {
            found.nodes.iter().filter(|(of, _)| *of == view).map(|(_, node)| node).collect()
        };
        let has_all = |found: &[&OpenedNode], wanted: &[OpenedNode]| wanted.iter().all(|node| found.contains(&node));
        assert!(has_all(&of(ViewId::Stacks), &stacks) && has_all(&of(ViewId::Functions), &functions), "{found:?}");
        assert_eq!((found.nodes.len(), found.lost), (stacks.len() + functions.len(), 0));
        assert_eq!(found.closed_sources, sources);
    }

    #[test]
    fn many_lines_and_deep_ones_are_bounded_and_those_nearest_to_the_root_stay() {
        let trace = demo();
        let deep = deep_stacks(&trace);
        let many: Vec<OpenedNode> = (0..1000).map(|i| by_names(&[&format!("f{i}")], false, true)).collect();
        let views = [(ViewId::Functions, in_view(many)), (ViewId::Stacks, in_view(deep))];
        let all = saved(&trace, &views, [].iter()).unwrap();
        assert_eq!(all.len(), MOST_NODES);
        assert!(all.iter().all(|node| node["tab"].as_str() == Some("Functions")));
        assert_eq!(all, saved(&trace, &views, [].iter()).unwrap());
        let names: Vec<String> = (0..MOST_NAMES).map(|i| format!("module!function_number_{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let long = vec![by_names(&names, false, true); 100];
        let views = [(ViewId::Functions, in_view([long, vec![by_names(&["one"], false, true)]].concat()))];
        let all = saved(&trace, &views, [].iter()).unwrap();
        assert!((2..20).contains(&all.len()), "{}", all.len());
        assert!(toml::Value::Array(all).to_string().len() < LARGEST as usize / 2);
    }

    #[test]
    fn hostile_lines_are_counted_and_left_out() {
        let trace = demo();
        let texts = [
            "tab = \"Stacks\"\nopen = true\npath.keys = [{ process = { pid = 999999, name = \"x\" } }]",
            "tab = \"Stacks\"\nopen = true\npath = { keys = [{ frame = { depth = 1 } }], stack = [\"0x1\"] }",
            "tab = \"Stacks\"\nopen = true\npath = { keys = [{ frame = { depth = 4000000000 } }], stack = [] }",
            "tab = \"Stacks\"\nopen = true\npath = { keys = [{ layer = \"heap\" }], stack = [\"one\"] }",
            "tab = \"Stacks\"\nopen = true\nnames = [\"a\"]",
            "tab = \"Stacks\"\nopen = 7\npath.keys = [{ layer = \"heap\" }]",
            "tab = \"Functions\"\nopen = true",
            "tab = \"Functions\"\nopen = true\npath.keys = [{ layer = \"heap\" }]",
            "tab = \"Functions\"\nopen = true\nnames = [7]",
            "tab = \"Functions\"\nopen = true\nnames = [\"a\"]\ncolour = \"red\"",
            "tab = \"Types\"\nopen = true\nnames = [\"a\"]",
            "tab = \"None\"\nopen = true\nnames = [\"a\"]",
            "tab = \"Sources\"\nopen = false\npath.keys = [{ layer = \"heap\" }]",
            "tab = \"Sources\"\nopen = true\npath.keys = [{ layer = \"heap\" }]",
            "tab = 7",
        ];
        let many_keys = format!("tab = \"Stacks\"\nopen = true\npath.keys = [{}]", "{ layer = \"heap\" },".repeat(1000));
        let many_names = format!("tab = \"Functions\"\nopen = true\nnames = [{}]", "\"a\",".repeat(MOST_NAMES + 1));
        let texts = texts.iter().map(|text| (*text).to_owned()).chain([many_keys, many_names]);
        let nodes: Vec<toml::Value> = texts.map(|text| toml::from_str(&text).unwrap()).collect();
        let lost = found(&nodes, &trace);
        assert!(lost.nodes.is_empty() && lost.closed_sources.is_empty(), "{lost:?}");
        assert_eq!(lost.lost, nodes.len());
        // An unknown one does not spoil the others.
        let good: toml::Value = toml::from_str("tab = \"Freed by\"\nopen = true\nnames = [\"a\"]").unwrap();
        let mixed = found(&[nodes[0].clone(), good.clone(), nodes[5].clone()], &trace);
        assert_eq!((mixed.nodes.len(), mixed.lost), (1, 2));
        let many = found(&vec![good; 5000], &trace);
        assert_eq!((many.nodes.len(), many.lost), (MOST_NODES, 5000 - MOST_NODES));
    }
}
