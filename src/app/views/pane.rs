//! The interface between the window and a view, the same for all kinds of requests and answers.

use std::sync::Arc;

use eframe::egui::{Context, Ui};

use super::view::ViewContext;
use crate::app::base::table::{SavedSort, TableSource};
use crate::app::document::Document;
use crate::app::state::filters::Filters;
use crate::app::state::graph::Split;
use crate::app::state::ids::Place;
use crate::app::state::view_choices::ViewChoices;
use crate::export::html::FlameGraph;
use crate::limits::Baseline;
use crate::model::Trace;
use crate::query::{Finding, KeyMap, Path};
use crate::units::Layer;

/// A view as the window sees it. Most methods have a default, because they concern few views.
pub trait Pane {
    /// Converts stored state to the terms of `trace`, which can be newer than the answer. Returns whether the
    /// view has a new request now.
    fn settle(&mut self, _trace: &Trace) -> bool {
        false
    }

    /// Drops the answer: its trace no longer exists, or the answer is no longer updated.
    fn forget(&mut self);

    /// Draws the view.
    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui);

    /// The findings of the view in the filtered rows.
    fn findings(&self, _: &Document) -> &[Finding] {
        &[]
    }

    /// Replaces the set of accepted findings.
    fn accept(&mut self, _: &Arc<Baseline>) {}

    /// The findings of the view in all rows, as far as they have been computed.
    fn findings_in_all(&self) -> &[Finding] {
        &[]
    }

    /// Draws the strip above the tabs, whichever view is visible.
    fn strip(&mut self, _: &mut ViewContext<'_>, _: &mut Ui, _is_roomy: bool) {}

    /// Why the view has nothing to show, if that is known without a request.
    fn lacks(&self, _: &Document) -> Option<&'static str> {
        None
    }

    /// Draws the toolbar below the tabs.
    fn tools(&mut self, _: &mut ViewContext<'_>, _: &mut Ui) {}

    /// The search text, if the view can be searched.
    fn searched(&self) -> Option<&str> {
        None
    }

    /// Sets the search text.
    fn search(&mut self, _: String) {}

    /// Selects the first match of the search.
    fn go_to_found(&mut self, _document: &Document) {}

    /// How the graph splits its lines while the view is visible.
    fn split(&self) -> Split {
        Split::Sources
    }

    /// The node of the tree whose lifetimes are drawn on the graph while the view is visible.
    fn highlight(&self) -> Option<Path> {
        None
    }

    /// Whether the view shows the moment of the graph's cursor ([`Document::moment`]) while the view is visible.
    fn follows_cursor(&self) -> bool {
        false
    }

    /// Handles keys while the view is visible, unless a text field has the focus.
    fn keys(&mut self, _around: &mut ViewContext<'_>, _ctx: &Context) {}

    /// Whether a row is selected, so that Escape can clear the selection.
    fn has_selected(&self) -> bool {
        false
    }

    /// Clears the selection.
    fn unselect(&mut self) {}

    /// The view's table, if it has one, for copying or export.
    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        None
    }

    /// The flame graph that the view shows, for a shared page.
    fn flame_graph(&self) -> Option<FlameGraph> {
        None
    }

    /// The words of the command that prints the view's numbers, if that is none of those of a report.
    fn command(&self, _: &Document) -> Option<Vec<String>> {
        None
    }

    /// The order of the table for a file, if the user can change it.
    fn order(&self) -> Option<SavedSort> {
        None
    }

    /// Sorts the table as a file says; without an order, or by a column that the table lacks, as at first.
    fn set_order(&mut self, _: Option<&SavedSort>) {}

    /// The layer that the user chose, if the view shows one at a time.
    fn layer(&self) -> Option<Layer> {
        None
    }

    /// Chooses the layer; without one, it follows from the filter and the data.
    fn set_layer(&mut self, _: Option<Layer>) {}

    /// Adds the user's other choices, which an investigation keeps, beside order, search and layer.
    fn add_choices(&self, _: &mut ViewChoices) {}

    /// Takes the choices of an investigation, beside order, search and layer; those that are empty become as at first.
    fn take_choices(&mut self, _: &ViewChoices) {}

    /// The status bar text for the selected row.
    fn says(&self) -> Option<String> {
        None
    }

    /// Notifies the view that the filters have changed.
    fn filtered(&mut self, _filters: &Filters) {}

    /// The nodes of the tree that the view stores.
    fn paths(&self) -> Vec<Path> {
        Vec::new()
    }

    /// Renames the stored nodes: their keys have changed, or they are gone.
    fn renumber(&mut self, _map: &KeyMap) {}

    /// Opens a node of the tree that is closed and has children; returns whether there is one.
    fn open(&mut self, _node: &Path) -> bool {
        false
    }

    /// Prepares to show the line of a function, heap or the like; returns whether this view does that.
    fn show_place(&mut self, _place: &Place, _document: &Document) -> bool {
        false
    }

    /// Prepares to show the place of a finding; returns whether this view does that.
    fn show_finding(&mut self, _finding: &Finding, _document: &Document) -> bool {
        false
    }
}
