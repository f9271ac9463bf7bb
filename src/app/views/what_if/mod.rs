//! Other allocators for the recorded requests: models side by side, with the pages that each of them would touch.
//!
//! The models are about the whole trace, whatever its interval, within the filters. In a large trace they take minutes, so
//! they are computed by a job of their own, which goes on while the user does something else: at once in a small trace, on
//! request in a large one.

mod job;
mod panel;
mod table;

use std::sync::{Arc, Weak};

use super::view::View;
use crate::app::base::background::Background;
use crate::app::document::Document;
use crate::app::jobs::{QueryContext, drop_aside};
use crate::app::state::filters::Scope;
use crate::app::state::ids::ViewId;
use crate::model::Trace;
use crate::panics::Caught;
use crate::query::{By, Cancelled, Index, Mask, WhatIfRequest};
use crate::symbols::Names;
use job::{Answered, Job};
use table::ModelTable;

/// The rows that count, and the names known so far.
pub struct Given {
    index: Arc<Index>,
    mask: Arc<Mask>,
    names: Arc<Names>,
    scope: Scope,
}

/// The inputs that the models follow from. It keeps no trace alive.
#[derive(Clone)]
struct About {
    trace: Weak<Trace>,
    names: Weak<Names>,
    scope: Scope,
    request: WhatIfRequest,
}

impl About {
    /// Whether the models differ at most by names that have become known.
    fn has_requests_of(&self, other: &Self) -> bool {
        self.trace.ptr_eq(&other.trace) && self.scope == other.scope && self.request == other.request
    }

    fn is(&self, other: &Self) -> bool {
        self.names.ptr_eq(&other.names) && self.has_requests_of(other)
    }
}

/// State of the view.
pub struct WhatIf {
    request: WhatIfRequest,
    given: Option<Given>,
    work: Background<Answered>,
    job: Option<Job>,
    /// The inputs whose job was cancelled by the user or failed.
    stopped: Option<(About, Option<Caught>)>,
    table: Option<Arc<ModelTable>>,
}

/// The choices at first: pools by responsible caller, because their best one is an advice.
const AT_FIRST: WhatIfRequest = WhatIfRequest { pool_by: Some(By::Responsible), arena_by: None };

impl Default for WhatIf {
    fn default() -> Self {
        Self { request: AT_FIRST, given: None, work: Background::default(), job: None, stopped: None, table: None }
    }
}

impl View for WhatIf {
    const ID: ViewId = ViewId::WhatIf;
    type Request = ();
    type Answer = Given;
    /// The answer is there at once, and keeps the chosen rows.
    const IS_MADE_AHEAD: bool = false;

    fn request(&self, _: &Document) -> Option<()> {
        Some(())
    }

    fn answer((): &(), query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Given)) -> Result<(), Cancelled> {
        if !query.grows() {
            let scope = query.filters().scope(query.interval());
            let (index, mask, names) = (Arc::clone(&query.index), Arc::clone(&query.mask), Arc::clone(query.names()));
            tell(Given { index, mask, names, scope });
        }
        Ok(())
    }

    fn bytes(_: &Given) -> usize {
        0 // it is made of what the query thread keeps
    }

    fn take(&mut self, given: Given) {
        drop_aside(self.given.replace(given));
    }
}

/// A copy without the models, on which no request depends.
impl Clone for WhatIf {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.request.clone_from(&self.request);
        copy
    }
}

impl Drop for WhatIf {
    fn drop(&mut self) {
        self.cancel();
    }
}
