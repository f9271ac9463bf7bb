//! Lines of the graph in an investigation file: lanes that the user expanded, showed or hid, heaps that the user showed or
//! hid, and where the trace to compare with is laid over them. Named by meaning, like filters ([`super::paths`]).
//!
//! Cost of finding them again: for each line a look at all processes and heaps.

use serde::{Deserialize, Serialize};

use super::paths::{SavedProcess, hex, layer};
use crate::app::state::alignment::Alignment;
use crate::app::state::answers::LayerOf;
use crate::app::state::lanes::{LineChoices, Parts};
use crate::model::{Heap, HeapId, Trace};

/// Maximum number of lines in a file.
const MOST_LINES: usize = 500;

/// A line of the graph: that of a layer of a process, or of one of its heaps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedLine {
    process: SavedProcess,
    layer: String,
    heap: Option<SavedHeap>,
    /// The parts to which a lane is expanded.
    opened: Option<String>,
    /// Whether the user showed or hid the line.
    shown: Option<bool>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedHeap {
    handle: String,
    name: Option<String>,
}

/// Where the trace to compare with is laid over the graph.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SavedOverlay {
    Hidden,
    Mark(String),
    Frame(u32),
}

/// The user's choices of lines as they are saved, those of lanes first.
pub fn saved(trace: &Trace, choices: &LineChoices) -> Vec<SavedLine> {
    let lane = |(process, layer): LayerOf| SavedLine {
        process: SavedProcess::of(trace, process),
        layer: layer.name().to_owned(),
        heap: None,
        opened: None,
        shown: None,
    };
    let opened = choices.opened.iter().map(|&(of, parts)| SavedLine { opened: name_of(parts), ..lane(of) });
    let shown = choices.lanes.iter().map(|&(of, shown)| SavedLine { shown: Some(shown), ..lane(of) });
    let heaps = choices.heaps.iter().map(|&(id, shown)| {
        let heap = trace.heap(id);
        let named = SavedHeap { handle: format!("{:#x}", heap.handle), name: heap.name.as_ref().map(ToString::to_string) };
        SavedLine { heap: Some(named), shown: Some(shown), ..lane((heap.process, heap.layer)) }
    });
    opened.chain(shown).chain(heaps).take(MOST_LINES).collect()
}

/// The choices in a trace, and the number of lines that it lacks or that are of an unknown kind.
pub fn found(lines: &[toml::Value], trace: &Trace) -> (LineChoices, usize) {
    let mut choices = LineChoices::default();
    let read = |line: &toml::Value| line.clone().try_into::<SavedLine>().ok();
    let found = lines.iter().take(MOST_LINES).filter(|line| read(line).and_then(|line| line.find(trace, &mut choices)).is_some());
    let lost = lines.len() - found.count();
    (choices, lost)
}

impl SavedLine {
    /// Adds the line to the choices; `None` if the trace lacks it.
    fn find(&self, trace: &Trace, choices: &mut LineChoices) -> Option<()> {
        let of = (self.process.find(trace)?, layer(&self.layer)?);
        let is_its = |heap: &&Heap| (heap.process, heap.layer) == of;
        let mut heaps = trace.heaps.iter().filter(is_its);
        let Some(named) = &self.heap else {
            heaps.next()?; // there is such a lane
            if let Some(parts) = &self.opened {
                choices.opened.push((of, parts_of(parts)?));
            }
            choices.lanes.extend(self.shown.map(|shown| (of, shown)));
            return Some(());
        };
        let handle = hex(&named.handle)?;
        let is_it = |heap: &Heap| is_its(&heap) && heap.handle == handle && heap.name.as_deref() == named.name.as_deref();
        let id = HeapId(u32::try_from(trace.heaps.iter().position(is_it)?).ok()?);
        choices.heaps.extend(self.shown.map(|shown| (id, shown)));
        Some(())
    }
}

fn name_of(parts: Parts) -> Option<String> {
    Parts::NAMES.iter().find(|(other, _)| *other == parts).map(|(_, name)| (*name).to_owned())
}

fn parts_of(name: &str) -> Option<Parts> {
    Parts::NAMES.iter().find(|(_, other)| *other == name).map(|(parts, _)| *parts)
}

impl SavedOverlay {
    /// An alignment as it is saved; `None` for the usual one, at the start.
    pub fn of(alignment: Option<&Alignment>) -> Option<Self> {
        match alignment {
            None => Some(Self::Hidden),
            Some(Alignment::Start) => None,
            Some(Alignment::Mark(text)) => Some(Self::Mark(text.to_string())),
            Some(Alignment::Frame(number)) => u32::try_from(*number).ok().map(Self::Frame),
        }
    }
}

/// Where the trace to compare with is laid over the graph, if at all; `None` if the trace lacks that moment, or the kind is
/// unknown.
pub fn alignment(saved: Option<&toml::Value>, trace: &Trace) -> Option<Option<Alignment>> {
    let Some(saved) = saved else { return Some(Some(Alignment::Start)) };
    let alignment = match saved.clone().try_into().ok()? {
        SavedOverlay::Hidden => return Some(None),
        SavedOverlay::Mark(text) => Alignment::Mark(text.into()),
        SavedOverlay::Frame(number) => Alignment::Frame(number as usize),
    };
    alignment.moment(trace).map(|_| Some(alignment))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Capture, Input, Unwatched, load};
    use crate::units::Layer;

    fn demo() -> Trace {
        load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap()
    }

    fn values<T: Serialize>(all: &[T]) -> Vec<toml::Value> {
        all.iter().map(|one| toml::Value::try_from(one).unwrap()).collect()
    }

    #[test]
    fn lines_are_found_again_in_another_load_of_the_trace() {
        let (trace, again) = (demo(), demo());
        let of = |layer: Layer| {
            let heap = trace.heaps.iter().position(|heap| heap.layer == layer).unwrap();
            ((trace.heaps[heap].process, layer), HeapId(heap as u32))
        };
        let ((heaps, heap), (trackers, tracker)) = (of(Layer::Heap), of(Layer::Tracker));
        let choices = LineChoices {
            opened: vec![(heaps, Parts::Functions), (trackers, Parts::Heaps)],
            lanes: vec![(heaps, true), (trackers, false)],
            heaps: vec![(heap, false), (tracker, true)],
        };
        let lines = values(&saved(&trace, &choices));
        assert_eq!(found(&lines, &again), (choices, 0));
        let many = LineChoices { heaps: vec![(heap, true); 10_000], ..LineChoices::default() };
        assert_eq!(saved(&trace, &many).len(), MOST_LINES);
    }

    #[test]
    fn alignments_are_found_again_if_the_trace_has_their_moment() {
        let trace = demo();
        let mark = Alignment::Mark(std::sync::Arc::clone(&trace.activity.marks.list.get(0).unwrap().text));
        for aligned in [None, Some(Alignment::Start), Some(mark), Some(Alignment::Frame(1))] {
            let saved = values(&SavedOverlay::of(aligned.as_ref()).into_iter().collect::<Vec<_>>()).pop();
            assert_eq!(alignment(saved.as_ref(), &trace), Some(aligned));
        }
        for text in ["x = { mark = \"none\" }", "x = { frame = 4000000000 }", "x = 7", "x = \"later\"", "x = { frame = -1 }"] {
            let table: toml::Table = toml::from_str(text).unwrap();
            assert_eq!(alignment(table.get("x"), &trace), None, "{text}");
        }
    }

    #[test]
    fn hostile_lines_are_counted_and_left_out() {
        let trace = demo();
        let process = "process = { pid = 1, name = \"none\" }";
        let own = toml::Value::try_from(SavedProcess::of(&trace, trace.heaps[0].process)).unwrap();
        let texts = [
            format!("{process}\nlayer = \"heap\"\nopened = \"heaps\""),
            "layer = \"heap\"".to_owned(),
            format!("process = {own}\nlayer = \"none\"\nshown = true"),
            format!("process = {own}\nlayer = \"heap\"\nopened = \"everything\""),
            format!("process = {own}\nlayer = \"heap\"\nopened = 7"),
            format!("process = {own}\nlayer = \"heap\"\nheap = {{ handle = \"one\" }}\nshown = true"),
            format!("process = {own}\nlayer = \"heap\"\nheap = {{ handle = \"0x123456\" }}\nshown = true"),
            format!("process = {own}\nlayer = \"heap\"\nsize = 7"),
        ];
        let lines: Vec<toml::Value> = texts.iter().map(|text| toml::from_str(text).unwrap()).collect();
        assert_eq!(found(&lines, &trace), (LineChoices::default(), lines.len()));
        assert_eq!(found(&vec![toml::Value::Integer(1); 5000], &trace).1, 5000);
    }
}
