//! All kinds of views in one list; its owner does not need to know their types.

use std::any::Any;
use std::sync::Arc;

use eframe::egui::Ui;

use super::address_space::AddressSpaceMap;
use super::compare::Compare;
use super::findings::Findings;
use super::flame::Flame;
use super::frames::Frames;
use super::freed_before::FreedBefore;
use super::functions::{FreedBy, FunctionTrees};
use super::generations::Generations;
use super::histograms::Histograms;
use super::marks::Marks;
use super::pane::Pane;
use super::processors::Processors;
use super::rows::Rows;
use super::stacks::Stacks;
use super::types::Types;
use super::view::{View, ViewContext};
use super::what_if::WhatIf;
use crate::app::document::Document;
use crate::app::jobs::{AnyAnswer, Ask, QueryContext};
use crate::app::state::filters::Filters;
use crate::app::state::ids::{Place, ViewId};
use crate::app::state::view_choices::ViewChoices;
use crate::limits::Baseline;
use crate::model::Trace;
use crate::query::{Cancelled, Finding, KeyMap, Path};

struct Asked<V: View>(V::Request);

impl<V: View> Ask for Asked<V> {
    fn view(&self) -> ViewId {
        V::ID
    }

    fn is_same(&self, other: &dyn Ask) -> bool {
        (other as &dyn Any).downcast_ref::<Self>().is_some_and(|other| self.0 == other.0)
    }

    fn is_made_ahead(&self) -> bool {
        V::IS_MADE_AHEAD
    }

    fn bytes(&self, answer: &AnyAnswer) -> usize {
        answer.downcast_ref::<V::Answer>().map_or(0, V::bytes)
    }

    fn answer(&self, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(AnyAnswer)) -> Result<(), Cancelled> {
        V::answer(&self.0, query, &mut |answer| tell(Box::new(answer)))
    }

    fn complete(&self, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(AnyAnswer)) -> Result<(), Cancelled> {
        V::complete(&self.0, query, &mut |answer| tell(Box::new(answer)))
    }
}

/// A [`View`] with its types erased.
trait AnyView: Pane {
    fn id(&self) -> ViewId;
    fn is_always_asked(&self) -> bool;
    fn is_made_ahead(&self) -> bool;
    fn copy(&self) -> Box<dyn AnyView>;
    fn ask(&self, document: &Document) -> Option<Arc<dyn Ask>>;
    fn take_any(&mut self, answer: AnyAnswer);
}

impl<V: View> AnyView for V {
    fn id(&self) -> ViewId {
        V::ID
    }

    fn is_always_asked(&self) -> bool {
        V::IS_ALWAYS_ASKED
    }

    fn is_made_ahead(&self) -> bool {
        V::IS_MADE_AHEAD
    }

    fn copy(&self) -> Box<dyn AnyView> {
        Box::new(self.clone())
    }

    fn ask(&self, document: &Document) -> Option<Arc<dyn Ask>> {
        self.request(document).map(|request| -> Arc<dyn Ask> { Arc::new(Asked::<V>(request)) })
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
    /// All views, in the order of their tabs.
    fn default() -> Self {
        Self(vec![
            Box::<Findings>::default(),
            Box::<Stacks>::default(),
            Box::<FunctionTrees>::default(),
            Box::<Flame>::default(),
            Box::<Rows>::default(),
            Box::<Compare>::default(),
            Box::<Types>::default(),
            Box::<FreedBy>::default(),
            Box::<FreedBefore>::default(),
            Box::<Frames>::default(),
            Box::<Marks>::default(),
            Box::<Generations>::default(),
            Box::<Histograms>::default(),
            Box::<AddressSpaceMap>::default(),
            Box::<WhatIf>::default(),
            Box::<Processors>::default(),
        ])
    }
}

impl Views {
    /// The view with this id, if it exists.
    pub fn get(&self, id: ViewId) -> Option<&dyn Pane> {
        self.0.iter().find(|view| view.id() == id).map(|view| &**view as _)
    }

    /// The view with this id, mutably.
    pub fn get_mut(&mut self, id: ViewId) -> Option<&mut dyn Pane> {
        self.0.iter_mut().find(|view| view.id() == id).map(|view| &mut **view as _)
    }

    /// The requests of the visible views, in this order, then those of the views that always ask.
    pub fn ask(&self, in_sight: &[ViewId], document: &Document) -> Vec<Arc<dyn Ask>> {
        let seen = in_sight.iter().filter_map(|id| self.0.iter().find(|view| view.id() == *id));
        let others = self.0.iter().filter(|view| view.is_always_asked() && !in_sight.contains(&view.id()));
        seen.chain(others).filter_map(|view| view.ask(document)).collect()
    }

    /// Whether answers of a view are made before the user asks for them.
    pub fn is_made_ahead(&self, id: ViewId) -> bool {
        self.0.iter().any(|view| view.id() == id && view.is_made_ahead())
    }

    /// Copies of all views.
    pub fn copies(&self) -> Self {
        Self(self.0.iter().map(|view| view.copy()).collect())
    }

    /// Whether a view is asked even while it is not visible.
    pub fn is_always_asked(&self, id: ViewId) -> bool {
        self.0.iter().any(|view| view.id() == id && view.is_always_asked())
    }

    /// Hands an answer to its view; returns whether the view has a new request now.
    pub fn take(&mut self, id: ViewId, answer: AnyAnswer, trace: &Trace) -> bool {
        let Some(view) = self.0.iter_mut().find(|view| view.id() == id) else { return false };
        view.take_any(answer);
        view.settle(trace)
    }

    /// Drops the answers of a view: they are no longer updated.
    pub fn forget(&mut self, id: ViewId) {
        self.get_mut(id).into_iter().for_each(Pane::forget);
    }

    /// Drops all answers: they are about data that no longer exists.
    pub fn forget_all(&mut self) {
        self.0.iter_mut().for_each(|view| view.forget());
    }

    /// Draws the strip above the tabs: cards if there is room for them, else a line.
    pub fn strip(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui, is_roomy: bool) {
        self.0.iter_mut().for_each(|view| view.strip(context, ui, is_roomy));
    }

    /// The findings in the filtered rows, as far as they are known.
    pub fn findings(&self, document: &Document) -> impl Iterator<Item = &Finding> {
        self.0.iter().flat_map(move |view| view.findings(document))
    }

    /// The findings in all rows, as far as they have been computed.
    pub fn findings_in_all(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter().flat_map(|view| view.findings_in_all())
    }

    /// Replaces the set of accepted findings.
    pub fn accept(&mut self, accepted: &Arc<Baseline>) {
        self.0.iter_mut().for_each(|view| view.accept(accepted));
    }

    /// Notifies all views that the filters have changed.
    pub fn filtered(&mut self, filters: &Filters) {
        self.0.iter_mut().for_each(|view| view.filtered(filters));
    }

    /// The user's choices in each view.
    pub fn choices(&self) -> Vec<(ViewId, ViewChoices)> {
        let of = |view: &dyn Pane| {
            let search = view.searched().unwrap_or_default().to_owned();
            let mut choices = ViewChoices { order: view.order(), search, layer: view.layer(), ..ViewChoices::default() };
            view.add_choices(&mut choices);
            choices
        };
        self.0.iter().map(|view| (view.id(), of(&**view))).collect()
    }

    /// Restores the choices in each view; those in other views become as at first.
    pub fn set_choices(&mut self, all: &[(ViewId, ViewChoices)]) {
        let none = ViewChoices::default();
        for view in &mut self.0 {
            let choices = all.iter().find(|(id, _)| *id == view.id()).map_or(&none, |(_, choices)| choices);
            view.set_order(choices.order.as_ref());
            view.search(choices.search.clone());
            view.set_layer(choices.layer);
            view.take_choices(choices);
        }
    }

    /// The nodes of the tree that views store.
    pub fn paths(&self) -> Vec<Path> {
        self.0.iter().flat_map(|view| view.paths()).collect()
    }

    /// Renames the stored nodes: their keys have changed, or they are gone.
    pub fn renumber(&mut self, map: &KeyMap) {
        self.0.iter_mut().for_each(|view| view.renumber(map));
    }

    /// Prepares the view that lists such lines, and returns its id.
    pub fn show_place(&mut self, place: &Place, document: &Document) -> Option<ViewId> {
        self.0.iter_mut().find_map(|view| view.show_place(place, document).then(|| view.id()))
    }

    /// Prepares the view that shows the place of a finding, and returns its id.
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
