//! The names of the graph's lines, and the tree nodes they stand for.

use super::overlays;
use crate::app::document::{Document, source_of};
use crate::app::panels::counters;
use crate::app::state::answers::LayerOf;
use crate::app::state::graph::LineOf;
use crate::model::{Heap, ProcessId};
use crate::query::{Key, Path, heap_label, layer_label};
use crate::units::Layer;

/// The full name of a line, which identifies it.
pub fn name_of(document: &Document, of: &LineOf) -> String {
    match of {
        LineOf::Layer(process, layer) => {
            let name = layer_name(document, (*process, *layer));
            if document.source_list.has_many_processes {
                format!("{}: {name}", document.trace.process_name(*process))
            } else {
                name
            }
        }
        LineOf::Heap(heap) => line_name(document, heap.0 as usize),
        LineOf::Part(_, layer, name) => format!("{name} ({})", layer_label(*layer)),
        LineOf::Type(key) => format!("{} ({})", key.name, layer_label(key.layer)),
        LineOf::OtherTypes(layer) => format!("Other types ({})", layer_label(*layer)),
        LineOf::Counter(counter) => counters::name(document, *counter),
        LineOf::Overlay(what) => overlays::name(document, *what),
    }
}

/// The name of a line in two lines for a lane's heading; the second one says to which process or layer it belongs.
pub fn heading(document: &Document, of: &LineOf) -> (String, String) {
    match of {
        LineOf::Layer(process, layer) => (layer_name(document, (*process, *layer)), document.trace.process_name(*process)),
        LineOf::Heap(heap) => (document.trace.heaps.get(heap.0 as usize).map(short_label).unwrap_or_default(), String::new()),
        // The function is more informative than its module.
        LineOf::Part(_, _, name) => (name.rsplit_once('!').map_or(&**name, |(_, function)| function).to_owned(), String::new()),
        LineOf::Type(key) => (key.name.to_string(), layer_label(key.layer).to_owned()),
        LineOf::OtherTypes(layer) => ("Other types".to_owned(), layer_label(*layer).to_owned()),
        LineOf::Counter(counter) => {
            let name = counters::name(document, *counter);
            match name.split_once(": ") {
                Some((owner, name)) => (name.to_owned(), owner.to_owned()),
                None => (name, "Counter".to_owned()),
            }
        }
        LineOf::Overlay(what) => (what.name().to_owned(), overlays::whose(document, *what)),
    }
}

/// A heap's short name, for use under the name of its layer.
pub fn short_label(heap: &Heap) -> String {
    match heap.layer {
        Layer::Heap => format!("{:#x}{}", heap.handle, if heap.is_default { " (default)" } else { "" }),
        _ => heap_label(heap),
    }
}

/// The process of a line, if it belongs to just one.
pub fn owner(document: &Document, of: &LineOf) -> Option<ProcessId> {
    match of {
        LineOf::Layer(process, _) | LineOf::Part(process, ..) => Some(*process),
        LineOf::Heap(heap) => document.trace.heaps.get(heap.0 as usize).map(|heap| heap.process),
        LineOf::Type(_) | LineOf::OtherTypes(_) | LineOf::Counter(_) | LineOf::Overlay(_) => None,
    }
}

/// The name of a layer; the heap's own name if the filter leaves only one in the layer.
fn layer_name(document: &Document, of: LayerOf) -> String {
    let only = document.lanes().iter().find(|lane| lane.of == of).and_then(|lane| lane.only);
    match only.filter(|_| of.1 != Layer::Commit) {
        Some(heap) => heap_label(document.trace.heap(heap)),
        None => layer_label(of.1).to_owned(),
    }
}

/// A heap's name, with its process if there are several.
pub fn line_name(document: &Document, heap: usize) -> String {
    let Some(heap) = document.trace.heaps.get(heap) else { return String::new() };
    let name = heap_label(heap);
    match document.source_list.has_many_processes {
        true => format!("{}: {name}", document.trace.process_name(heap.process)),
        false => name,
    }
}

/// The node of the tree that a line stands for.
pub fn path(document: &Document, of: &LineOf) -> Option<Path> {
    match *of {
        LineOf::Overlay(what) => overlays::process(document, what).map(|process| [Key::Process(process)].into()),
        LineOf::Layer(process, layer) => Some(source_of(process, layer, None).into()),
        LineOf::Heap(id) => {
            let heap = document.trace.heap(id);
            Some(source_of(heap.process, heap.layer, Some(id)).into())
        }
        LineOf::Part(..) | LineOf::Type(_) | LineOf::OtherTypes(_) | LineOf::Counter(_) => None,
    }
}
