//! Views of all kinds in one list: who holds them needs to know none.

use std::sync::Arc;

use eframe::egui::Ui;

use super::{
    Around, Compare, Findings, Flame, Frames, FreedBy, FunctionTrees, Generations, Histograms, Marks, Pane, Processors, Rows,
    Stacks, Types, View, ViewId,
};
use crate::app::document::Document;
use crate::app::filters::Filters;
use crate::app::jobs::{AnyAnswer, Ask, Ground};
use crate::limits::Baseline;
use crate::model::Trace;
use crate::query::{Cancelled, Finding, KeyMap, Path};

struct Asked<V: View>(V::Request);

impl<V: View> Ask for Asked<V> {
    fn view(&self) -> ViewId {
        V::ID
    }

    fn answer(&self, ground: &mut Ground<'_>, tell: &mut dyn FnMut(AnyAnswer)) -> Result<(), Cancelled> {
        V::answer(&self.0, ground, &mut |answer| tell(Box::new(answer)))
    }

    fn complete(&self, ground: &mut Ground<'_>, tell: &mut dyn FnMut(AnyAnswer)) -> Result<(), Cancelled> {
        V::complete(&self.0, ground, &mut |answer| tell(Box::new(answer)))
    }
}

/// A [`View`] whose types are not known.
trait AnyView: Pane {
    fn id(&self) -> ViewId;
    fn is_always_asked(&self) -> bool;
    fn ask(&self, document: &Document) -> Option<Box<dyn Ask>>;
    fn take_any(&mut self, answer: AnyAnswer);
}

impl<V: View> AnyView for V {
    fn id(&self) -> ViewId {
        V::ID
    }

    fn is_always_asked(&self) -> bool {
        V::IS_ALWAYS_ASKED
    }

    fn ask(&self, document: &Document) -> Option<Box<dyn Ask>> {
        self.request(document).map(|request| -> Box<dyn Ask> { Box::new(Asked::<V>(request)) })
    }

    fn take_any(&mut self, answer: AnyAnswer) {
        if let Ok(answer) = answer.downcast::<V::Answer>() {
            self.take(*answer);
        }
    }
}

/// All views of a document.
pub struct Views(Vec<Box<dyn AnyView>>);

impl Default for Views {
    /// In the order of their tabs.
    fn default() -> Self {
        Self(vec![
            Box::<Stacks>::default(),
            Box::<Findings>::default(),
            Box::<FunctionTrees>::default(),
            Box::<Flame>::default(),
            Box::<Types>::default(),
            Box::<Rows>::default(),
            Box::<FreedBy>::default(),
            Box::<Frames>::default(),
            Box::<Marks>::default(),
            Box::<Generations>::default(),
            Box::<Histograms>::default(),
            Box::<Processors>::default(),
            Box::<Compare>::default(),
        ])
    }
}

impl Views {
    /// None, in the place of those that are drawn.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// What the window does with one of them, if it is there.
    pub fn get(&self, id: ViewId) -> Option<&dyn Pane> {
        self.0.iter().find(|view| view.id() == id).map(|view| &**view as _)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, id: ViewId) -> Option<&mut dyn Pane> {
        self.0.iter_mut().find(|view| view.id() == id).map(|view| &mut **view as _)
    }

    /// The view that is in sight at first.
    pub fn first(&self) -> Option<ViewId> {
        self.0.first().map(|view| view.id())
    }

    /// What the views in sight want to know now, in this order, and behind them those that always ask.
    pub fn ask(&self, in_sight: &[ViewId], document: &Document) -> Vec<Box<dyn Ask>> {
        let seen = in_sight.iter().filter_map(|id| self.0.iter().find(|view| view.id() == *id));
        let others = self.0.iter().filter(|view| view.is_always_asked() && !in_sight.contains(&view.id()));
        seen.chain(others).filter_map(|view| view.ask(document)).collect()
    }

    /// Whether the answers of a view are wanted although it is not in sight.
    pub fn is_always_asked(&self, id: ViewId) -> bool {
        self.0.iter().any(|view| view.id() == id && view.is_always_asked())
    }

    /// Hands an answer to its view. Whether the view wants to know something else now.
    pub fn take(&mut self, id: ViewId, answer: AnyAnswer, trace: &Trace) -> bool {
        let Some(view) = self.0.iter_mut().find(|view| view.id() == id) else { return false };
        view.take_any(answer);
        view.settle(trace)
    }

    /// The answers of a view are not kept up any more.
    pub fn forget(&mut self, id: ViewId) {
        self.get_mut(id).into_iter().for_each(Pane::forget);
    }

    /// All answers are about what is not there any more.
    pub fn forget_all(&mut self) {
        self.0.iter_mut().for_each(|view| view.forget());
    }

    /// Draws what stands above the tabs.
    pub fn strip(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        self.0.iter_mut().for_each(|view| view.strip(around, ui));
    }

    /// What stands out in what the filters leave, as far as it is found.
    pub fn findings(&self, document: &Document) -> impl Iterator<Item = &Finding> {
        self.0.iter().flat_map(move |view| view.findings(document))
    }

    /// The same in all rows, as far as somebody has looked.
    pub fn findings_in_all(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter().flat_map(|view| view.findings_in_all())
    }

    /// Other findings are accepted.
    pub fn accept(&mut self, accepted: &Arc<Baseline>) {
        self.0.iter_mut().for_each(|view| view.accept(accepted));
    }

    /// The filters have changed.
    pub fn filtered(&mut self, filters: &Filters) {
        self.0.iter_mut().for_each(|view| view.filtered(filters));
    }

    /// The nodes of the tree that views remember.
    pub fn paths(&self) -> Vec<Path> {
        self.0.iter().flat_map(|view| view.paths()).collect()
    }

    /// These are called otherwise from now on, or are gone.
    pub fn renumber(&mut self, map: &KeyMap) {
        self.0.iter_mut().for_each(|view| view.renumber(map));
    }

    /// Makes ready to show the place of a finding; which view does that.
    pub fn show_finding(&mut self, finding: &Finding, document: &Document) -> Option<ViewId> {
        self.0.iter_mut().find_map(|view| view.show_finding(finding, document).then(|| view.id()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_view_is_there_once_in_the_order_of_the_tabs() {
        let views: Vec<ViewId> = Views::default().0.iter().map(|view| view.id()).collect();
        assert_eq!(views, ViewId::ALL);
    }
}
