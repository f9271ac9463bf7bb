//! Views of all kinds in one list: who holds them needs to know none.

use std::any::Any;

use eframe::egui::{Context, Ui};

use super::{
    Around, Compare, Findings, Flame, FreedBy, FunctionTrees, Generations, Histograms, Rows, Stacks, Types, View, ViewId,
};
use crate::app::document::Document;
use crate::app::filters::Filters;
use crate::app::graph::Split;
use crate::app::jobs::Ground;
use crate::model::Trace;
use crate::query::{Cancelled, Filter, Finding, KeyMap, Path};

/// An answer of a view's own type.
pub type AnyAnswer = Box<dyn Any + Send>;

/// A request of a view, on its way to a worker.
pub trait Ask: Send {
    /// Whose it is.
    fn view(&self) -> ViewId;
    /// See [`View::answer`].
    fn answer(&self, ground: &mut Ground<'_>, tell: &mut dyn FnMut(AnyAnswer)) -> Result<(), Cancelled>;
    /// See [`View::complete`].
    fn complete(&self, ground: &mut Ground<'_>, tell: &mut dyn FnMut(AnyAnswer)) -> Result<(), Cancelled>;
}

struct Asked<V: View>(V::Request);

impl<V: View> Ask for Asked<V> {
    fn view(&self) -> ViewId {
        V::TITLE
    }

    fn answer(&self, ground: &mut Ground<'_>, tell: &mut dyn FnMut(AnyAnswer)) -> Result<(), Cancelled> {
        V::answer(&self.0, ground, &mut |answer| tell(Box::new(answer)))
    }

    fn complete(&self, ground: &mut Ground<'_>, tell: &mut dyn FnMut(AnyAnswer)) -> Result<(), Cancelled> {
        V::complete(&self.0, ground, &mut |answer| tell(Box::new(answer)))
    }
}

/// A [`View`] whose types are not known.
trait AnyView {
    fn title(&self) -> ViewId;
    fn is_always_asked(&self) -> bool;
    fn ask(&self, document: &Document) -> Option<Box<dyn Ask>>;
    fn strip(&mut self, around: &mut Around<'_>, ui: &mut Ui);
    fn take(&mut self, answer: AnyAnswer);
    fn settle(&mut self, trace: &Trace) -> bool;
    fn forget(&mut self);
    fn show(&mut self, around: &mut Around<'_>, ui: &mut Ui);
    fn tools(&mut self, around: &mut Around<'_>, ui: &mut Ui);
    fn searched(&self) -> Option<&str>;
    fn search(&mut self, text: String);
    fn go_to_found(&mut self, document: &Document);
    fn split(&self) -> Split;
    fn highlight(&self) -> Option<Filter>;
    fn keys(&mut self, around: &mut Around<'_>, ctx: &Context);
    fn has_selected(&self) -> bool;
    fn unselect(&mut self);
    fn says(&self) -> Option<String>;
    fn filtered(&mut self, filters: &Filters);
    fn paths(&self) -> Vec<Path>;
    fn renumber(&mut self, map: &KeyMap);
    fn show_finding(&mut self, finding: &Finding, document: &Document) -> bool;
}

impl<V: View> AnyView for V {
    fn title(&self) -> ViewId {
        V::TITLE
    }

    fn is_always_asked(&self) -> bool {
        V::IS_ALWAYS_ASKED
    }

    fn ask(&self, document: &Document) -> Option<Box<dyn Ask>> {
        self.request(document).map(|request| -> Box<dyn Ask> { Box::new(Asked::<V>(request)) })
    }

    fn strip(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        View::strip(self, around, ui);
    }

    fn take(&mut self, answer: AnyAnswer) {
        if let Ok(answer) = answer.downcast::<V::Answer>() {
            View::take(self, *answer);
        }
    }

    fn settle(&mut self, trace: &Trace) -> bool {
        View::settle(self, trace)
    }

    fn forget(&mut self) {
        View::forget(self);
    }

    fn show(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        View::show(self, around, ui);
    }

    fn tools(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        View::tools(self, around, ui);
    }

    fn searched(&self) -> Option<&str> {
        View::searched(self)
    }

    fn search(&mut self, text: String) {
        View::search(self, text);
    }

    fn go_to_found(&mut self, document: &Document) {
        View::go_to_found(self, document);
    }

    fn split(&self) -> Split {
        View::split(self)
    }

    fn highlight(&self) -> Option<Filter> {
        View::highlight(self)
    }

    fn keys(&mut self, around: &mut Around<'_>, ctx: &Context) {
        View::keys(self, around, ctx);
    }

    fn has_selected(&self) -> bool {
        View::has_selected(self)
    }

    fn unselect(&mut self) {
        View::unselect(self);
    }

    fn says(&self) -> Option<String> {
        View::says(self)
    }

    fn filtered(&mut self, filters: &Filters) {
        View::filtered(self, filters);
    }

    fn paths(&self) -> Vec<Path> {
        View::paths(self)
    }

    fn renumber(&mut self, map: &KeyMap) {
        View::renumber(self, map);
    }

    fn show_finding(&mut self, finding: &Finding, document: &Document) -> bool {
        View::show_finding(self, finding, document)
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
            Box::<Generations>::default(),
            Box::<Histograms>::default(),
            Box::<Compare>::default(),
        ])
    }
}

impl Views {
    /// None, in the place of those that are drawn.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// What the tabs say.
    pub fn titles(&self) -> Vec<ViewId> {
        self.0.iter().map(|view| view.title()).collect()
    }

    fn get(&self, id: ViewId) -> Option<&dyn AnyView> {
        self.0.iter().find(|view| view.title() == id).map(|view| &**view)
    }

    fn get_mut(&mut self, id: ViewId) -> Option<&mut dyn AnyView> {
        self.0.iter_mut().find(|view| view.title() == id).map(|view| &mut **view as _)
    }

    /// What the view in sight wants to know now, and behind it those that always ask.
    pub fn ask(&self, in_sight: Option<ViewId>, document: &Document) -> Vec<Box<dyn Ask>> {
        let seen = self.0.iter().filter(|view| Some(view.title()) == in_sight);
        let others = self.0.iter().filter(|view| view.is_always_asked() && Some(view.title()) != in_sight);
        seen.chain(others).filter_map(|view| view.ask(document)).collect()
    }

    /// Whether the answers of a view are wanted although it is not in sight.
    pub fn is_always_asked(&self, id: ViewId) -> bool {
        self.get(id).is_some_and(|view| view.is_always_asked())
    }

    /// Draws what stands above the tabs.
    pub fn strip(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        self.0.iter_mut().for_each(|view| view.strip(around, ui));
    }

    /// Hands an answer to its view. Whether the view wants to know something else now.
    pub fn take(&mut self, id: ViewId, answer: AnyAnswer, trace: &Trace) -> bool {
        self.get_mut(id).is_some_and(|view| {
            view.take(answer);
            view.settle(trace)
        })
    }

    /// The answers of a view are not kept up any more.
    pub fn forget(&mut self, id: ViewId) {
        if let Some(view) = self.get_mut(id) {
            view.forget();
        }
    }

    /// All answers are about what is not there any more.
    pub fn forget_all(&mut self) {
        self.0.iter_mut().for_each(|view| view.forget());
    }

    pub fn show(&mut self, id: ViewId, around: &mut Around<'_>, ui: &mut Ui) {
        if let Some(view) = self.get_mut(id) {
            view.show(around, ui);
        }
    }

    pub fn tools(&mut self, id: ViewId, around: &mut Around<'_>, ui: &mut Ui) {
        if let Some(view) = self.get_mut(id) {
            view.tools(around, ui);
        }
    }

    /// See [`View::keys`].
    pub fn keys(&mut self, id: ViewId, around: &mut Around<'_>, ctx: &Context) {
        if let Some(view) = self.get_mut(id) {
            view.keys(around, ctx);
        }
    }

    /// What is searched for in a view, if it can be searched.
    pub fn searched(&self, id: ViewId) -> Option<&str> {
        self.get(id)?.searched()
    }

    /// Searches for something else in a view.
    pub fn search(&mut self, id: ViewId, text: String) {
        if let Some(view) = self.get_mut(id) {
            view.search(text);
        }
    }

    /// What the graph has lines for while a view is in sight.
    pub fn split(&self, id: ViewId) -> Split {
        self.get(id).map_or_else(Split::default, |view| view.split())
    }

    /// See [`View::go_to_found`].
    pub fn go_to_found(&mut self, id: ViewId, document: &Document) {
        if let Some(view) = self.get_mut(id) {
            view.go_to_found(document);
        }
    }

    /// See [`View::highlight`].
    pub fn highlight(&self, id: ViewId) -> Option<Filter> {
        self.get(id)?.highlight()
    }

    /// See [`View::has_selected`].
    pub fn has_selected(&self, id: ViewId) -> bool {
        self.get(id).is_some_and(|view| view.has_selected())
    }

    /// See [`View::unselect`].
    pub fn unselect(&mut self, id: ViewId) {
        if let Some(view) = self.get_mut(id) {
            view.unselect();
        }
    }

    /// See [`View::says`].
    pub fn says(&self, id: ViewId) -> Option<String> {
        self.get(id)?.says()
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
        self.0.iter_mut().find_map(|view| view.show_finding(finding, document).then(|| view.title()))
    }

    /// The view that is in sight at first.
    pub fn first(&self) -> Option<ViewId> {
        self.0.first().map(|view| view.title())
    }
}
