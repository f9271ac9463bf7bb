//! The probable next steps of the user, and the requests that the window would make then. They are answered while nothing is asked.
//!
//! A step is carried out on copies ([`Document::imagine`](crate::app::document::Document)) by the same code as a real one,
//! so that the request is equal to the one that the real step will make.

use super::Workspace;
use crate::app::commands::DocCommand;
use crate::app::jobs::Request;
use crate::app::services::names::Names;
use crate::app::state::ids::{Stop, Tab, ViewId};
use crate::app::views::Pointed;
use crate::query::Path;

/// A step of the user.
enum Step {
    Command(DocCommand),
    /// Opens a closed node of a view's tree.
    Open(ViewId, Path),
}

impl Step {
    /// A click on what is under the pointer.
    fn click(pointed: Pointed) -> Self {
        match pointed {
            Pointed::Finding(finding) => Self::Command(DocCommand::GoToFinding(finding)),
            Pointed::Node(view, node) => Self::Open(view, node),
        }
    }
}

/// The tabs that are not visible, each with the tabs that are visible once it is shown.
type Behind = [(Tab, Vec<Tab>)];

impl Workspace {
    /// The requests after the steps that the user will probably make next, the most probable first; `None` if they have been
    /// foreseen, or the state still changes.
    pub fn foresee(&mut self, behind: impl FnOnce() -> Vec<(Tab, Vec<Tab>)>) -> Option<Vec<Request>> {
        if self.is_foreseen || !self.is_at_rest() {
            return None;
        }
        self.is_foreseen = true;
        let behind = behind();
        let steps = self.pointed.clone().map(Step::click).into_iter().chain(self.likely(&behind));
        let steps: Vec<Step> = steps.collect();
        Some(steps.into_iter().filter_map(|step| self.request_after(step, &behind)).collect())
    }

    /// Takes note of what is under the pointer; the request after a click on it, if it has just come there and the others have
    /// been foreseen.
    pub fn point_at(&mut self, pointed: Option<Pointed>, behind: impl FnOnce() -> Vec<(Tab, Vec<Tab>)>) -> Option<Request> {
        if self.pointed == pointed {
            return None;
        }
        self.pointed = pointed;
        let pointed = self.pointed.clone().filter(|_| self.is_foreseen && self.is_at_rest())?;
        self.request_after(Step::click(pointed), &behind())
    }

    /// Whether nothing is to be asked, and nothing changes meanwhile: neither the trace nor its names, nor by a drag.
    fn is_at_rest(&self) -> bool {
        let document = &self.document;
        let has_names = document.names.as_ref().is_some_and(Names::is_settled);
        document.is_settled() && has_names && !document.needs_query() && !document.holds_order()
    }

    fn likely(&self, behind: &Behind) -> Vec<Step> {
        let document = &self.document;
        let seen = document.views_in_sight();
        let selected = seen.iter().filter_map(|&view| Some(Step::Open(view, self.views.get(view)?.highlight()?)));
        let tabs = behind.iter().filter_map(|(tab, _)| match *tab {
            Tab::View(view) if self.views.is_made_ahead(view) => Some(DocCommand::ShowTab(*tab)),
            _ => None,
        });
        let ways = [DocCommand::Back, DocCommand::ZoomToSelection, DocCommand::ZoomOut, DocCommand::Forward];
        let escape = document.selection().map(|_| document.escape());
        let frames = [Stop::NextFrame, Stop::PreviousFrame].map(DocCommand::StepTo);
        selected.chain(ways.into_iter().chain(escape).chain(tabs).chain(frames).map(Step::Command)).collect()
    }

    /// The request after a step; `None` if the step leads nowhere.
    fn request_after(&mut self, step: Step, behind: &Behind) -> Option<Request> {
        let views = self.views.copies();
        let views = std::mem::replace(&mut self.views, views);
        let reality = self.document.imagine();
        let request = self.make(step, behind).then(|| self.request());
        self.document.wake(reality);
        self.views = views;
        request
    }

    /// Makes a step; returns whether it leads anywhere.
    fn make(&mut self, step: Step, behind: &Behind) -> bool {
        let (stop, tab) = (self.document.history.now().clone(), self.document.tab);
        let is_opened = match step {
            Step::Open(view, node) => self.views.get_mut(view).is_some_and(|view| view.open(&node)),
            Step::Command(command) => {
                self.carry_out(command);
                false
            }
        };
        let now = self.document.tab;
        if !self.document.in_sight().contains(&now)
            && let Some((_, in_sight)) = behind.iter().find(|(tab, _)| *tab == now)
        {
            self.look_at(now, in_sight.clone());
        }
        is_opened || now != tab || *self.document.history.now() != stop
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use eframe::egui;

    use super::*;
    use crate::app::document::Document;
    use crate::app::jobs::{JobId, Queries};
    use crate::app::services::names::{Given, Search};
    use crate::app::state::settings::SymbolSettings;
    use crate::load::{Capture, Input, Unwatched, load};
    use crate::model::Trace;
    use crate::paths;
    use crate::units::{Interval, Ticks};

    /// An open trace without a window.
    struct Open {
        workspace: Workspace,
        queries: Queries,
        ctx: egui::Context,
    }

    impl Open {
        fn demo() -> Self {
            let trace = Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap());
            let ctx = egui::Context::default();
            let mut document = Document::new(JobId::next(), Vec::new(), Arc::new(paths::Reading::of([])), trace);
            let settings = SymbolSettings { environment: false, beside_image: false, ..SymbolSettings::default() };
            let given = Given { path: None, cache: None };
            let search = Search::of(document.trace.places_of_names(), &settings, &given);
            document.names = Some(Names::start(&ctx, &document.trace, search, &given, &Arc::default()));
            Self { workspace: Workspace::new(document), queries: Queries::start(ctx.clone()), ctx }
        }

        /// Asks until everything is answered.
        fn settle(&mut self) {
            loop {
                let is_answered = !self.queries.is_busy();
                self.queries.drain().into_iter().for_each(|answer| self.workspace.take_answer(answer));
                let document = &mut self.workspace.document;
                if document.names.as_mut().is_some_and(|names| names.update(&self.ctx, false)) {
                    document.show_names();
                }
                let has_names = document.names.as_ref().is_some_and(Names::is_settled);
                match self.workspace.next_request() {
                    Some(request) => self.queries.submit(request, true),
                    None if is_answered && has_names => return,
                    None => std::thread::sleep(Duration::from_millis(1)),
                }
            }
        }

        /// Has the next steps foreseen, and waits for their answers; returns how many requests they were.
        fn foresee(&mut self) -> usize {
            self.settle();
            let requests = self.workspace.foresee(Vec::new).unwrap();
            let count = requests.len();
            self.queries.foresee(requests);
            while self.queries.works_ahead() {
                std::thread::sleep(Duration::from_millis(1));
            }
            count
        }

        /// The numbers of parts that were there and were not, for a step.
        fn parts(&mut self, step: impl FnOnce(&mut Self)) -> [usize; 2] {
            let before = self.queries.parts();
            step(self);
            self.settle();
            let after = self.queries.parts();
            [after[0] - before[0], after[1] - before[1]]
        }

        fn select(&mut self) {
            let span = self.workspace.document.trace.span;
            let interval = Interval { from: Ticks(span.len() / 3), to: Ticks(span.len() / 2) };
            self.workspace.carry_out(DocCommand::Select(Some(interval)));
        }
    }

    #[test]
    fn to_foresee_changes_nothing() {
        let mut open = Open::demo();
        open.settle();
        open.select();
        open.settle();
        let state = |open: &Open| {
            let document = &open.workspace.document;
            let seen = (document.tab, document.in_sight().to_vec(), document.lanes().to_vec(), document.heap_lines().to_vec());
            let has_lines = document.answers.graph.as_ref().map(|graph| graph.lines.len());
            format!("{:?} {seen:?} {has_lines:?} {:?}", open.workspace.bookmark(), document.needs_query())
        };
        let before = state(&open);
        assert!(open.foresee() >= 3);
        assert_eq!(state(&open), before);
        assert!(open.workspace.foresee(Vec::new).is_none(), "once for a state");
        assert!(open.workspace.next_request().is_none());
    }

    #[test]
    fn a_foreseen_step_is_answered_with_what_was_made_ahead() {
        let mut open = Open::demo();
        open.settle();
        open.select();
        open.foresee();
        let [ahead, made] = open.parts(|open| open.workspace.carry_out(DocCommand::ZoomToSelection));
        assert!(ahead > 0 && made == 0, "{ahead} parts were there, {made} were not");
    }

    /// Steps after which nothing that was made ahead may be shown.
    #[test]
    fn nothing_is_shown_that_belongs_to_a_past_state() {
        let publish = |open: &mut Open| {
            let trace: Trace = (*open.workspace.document.trace).clone();
            open.workspace.update(Arc::new(trace));
        };
        let rename = |open: &mut Open| open.workspace.document.set_rules(&Arc::default());
        let filter = |open: &mut Open| {
            let first = open.workspace.document.trace.heaps[0].process;
            let path = [crate::query::Key::Process(first)].as_slice().into();
            open.workspace.carry_out(DocCommand::Filter(Some(path)));
        };
        let changes: [&dyn Fn(&mut Open); 3] = [&publish, &rename, &filter];
        for (number, change) in changes.into_iter().enumerate() {
            let mut open = Open::demo();
            open.settle();
            open.select();
            open.foresee();
            let [ahead, _] = open.parts(|open| {
                change(open);
                open.workspace.carry_out(DocCommand::ZoomToSelection);
            });
            let kept = if number == 2 { 1 } else { 0 }; // the graph's counters do not depend on the filter
            assert!(ahead <= kept, "change {number}: {ahead} parts");
        }
    }
}
