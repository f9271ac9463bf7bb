//! What the window does with a view, whatever it asks and is told.

use std::sync::Arc;

use eframe::egui::{Context, Ui};

use super::Around;
use crate::app::document::Document;
use crate::app::export::Sheet;
use crate::app::filters::Filters;
use crate::app::graph::Split;
use crate::limits::Baseline;
use crate::model::Trace;
use crate::query::{Finding, KeyMap, Path};

/// See the module. Much of it concerns few views.
pub trait Pane {
    /// Puts what it has taken in terms of `trace`, which can be ahead of the answer. Whether it
    /// wants to know something else now.
    fn settle(&mut self, _trace: &Trace) -> bool {
        false
    }

    /// What it has answered is about a trace that is not there any more, or nobody keeps it up.
    fn forget(&mut self);

    /// Draws it.
    fn show(&mut self, around: &mut Around<'_>, ui: &mut Ui);

    /// What it has found that stands out in what the filters leave.
    fn findings(&self, _: &Document) -> &[Finding] {
        &[]
    }

    /// Other findings are accepted.
    fn accept(&mut self, _: &Arc<Baseline>) {}

    /// The same in all rows, as far as somebody has looked.
    fn findings_in_all(&self) -> &[Finding] {
        &[]
    }

    /// Draws what stands above the tabs, whatever view is in sight.
    fn strip(&mut self, _: &mut Around<'_>, _: &mut Ui) {}

    /// Draws what stands below the tabs.
    fn tools(&mut self, _: &mut Around<'_>, _: &mut Ui) {}

    /// What is searched for in it, if it can be searched.
    fn searched(&self) -> Option<&str> {
        None
    }

    /// Searches for something else.
    fn search(&mut self, _: String) {}

    /// Selects what the search finds first.
    fn go_to_found(&mut self, _document: &Document) {}

    /// What the graph has lines for while the view is in sight.
    fn split(&self) -> Split {
        Split::Sources
    }

    /// The node of the tree of which the graph paints the lives while the view is in sight.
    fn highlight(&self) -> Option<Path> {
        None
    }

    /// What keys do while the view is in sight, unless a text field wants them.
    fn keys(&mut self, _around: &mut Around<'_>, _ctx: &Context) {}

    /// Whether a line is selected that Escape takes back.
    fn has_selected(&self) -> bool {
        false
    }

    /// Selects nothing.
    fn unselect(&mut self) {}

    /// Its table, if it is one, to be copied or written to a file.
    fn sheet(&self) -> Option<Arc<dyn Sheet>> {
        None
    }

    /// What the status bar says of the selected line.
    fn says(&self) -> Option<String> {
        None
    }

    /// The filters have changed.
    fn filtered(&mut self, _filters: &Filters) {}

    /// The nodes of the tree that it remembers.
    fn paths(&self) -> Vec<Path> {
        Vec::new()
    }

    /// These are called otherwise from now on, or are gone.
    fn renumber(&mut self, _map: &KeyMap) {}

    /// Makes ready to show the place of a finding; whether it is the view for that.
    fn show_finding(&mut self, _finding: &Finding, _document: &Document) -> bool {
        false
    }
}
