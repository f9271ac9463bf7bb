//! Histograms: the allocations of one layer by size and by lifetime, stacked by lifetime class. A click on a
//! bar filters all views to its bucket. A histogram still shows the buckets that its own chips exclude, so that
//! another one can be chosen.
//!
//! Cost: a parallel scan of the rows. If buckets of both kinds are chosen: two scans, and an index of the rows for each.

mod bucket;
mod chart;
mod panel;

use super::layers::LayerChoice;
use super::view::View;
use crate::app::document::Document;
use crate::app::jobs::{QueryContext, drop_aside};
use crate::app::state::ids::ViewId;
use crate::query::{ByClass, Cancelled, histogram};
use crate::units::Layer;
use bucket::bucket_of;
pub use bucket::{AnyBucket, BucketKind};
pub use chart::{Measure, Scale};
pub use panel::chart as histogram_chart;

/// The view's request.
#[derive(PartialEq)]
pub struct Request {
    layer: Layer,
}

/// The distributions by size and by lifetime.
#[derive(Clone)]
pub struct Distributed {
    layer: Layer,
    by_size: Vec<ByClass>,
    by_lifetime: Vec<ByClass>,
}

/// State of the view.
#[derive(Clone, Default)]
pub struct Histograms {
    layer: LayerChoice,
    measure: Measure,
    scale: Scale,
    distributed: Option<Distributed>,
}

impl View for Histograms {
    const ID: ViewId = ViewId::Histograms;
    type Request = Request;
    type Answer = Distributed;

    fn request(&self, document: &Document) -> Option<Request> {
        Some(Request { layer: self.layer.of(document) })
    }

    fn answer(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Distributed)) -> Result<(), Cancelled> {
        let clock = &query.trace().clock;
        let index_for = |own: BucketKind| query.index_of(|chip| bucket_of(&chip.what, clock).is_none_or(|b| b.kind() != own));
        let (sizes, lifetimes) = (index_for(BucketKind::Size)?, index_for(BucketKind::Lifetime)?);
        let of = |index| histogram(index, query.interval(), &query.mask, request.layer, query.cancel);
        let by_size = of(&sizes)?;
        let is_same = sizes.chosen().map(std::sync::Arc::as_ptr) == lifetimes.chosen().map(std::sync::Arc::as_ptr);
        let by_lifetime = if is_same { by_size.by_lifetime } else { of(&lifetimes)?.by_lifetime };
        tell(Distributed { layer: request.layer, by_size: by_size.by_size, by_lifetime });
        Ok(())
    }

    fn bytes(distributed: &Distributed) -> usize {
        size_of_val(&distributed.by_size[..]) + size_of_val(&distributed.by_lifetime[..])
    }

    fn take(&mut self, distributed: Distributed) {
        // A filter to a bucket may make another layer the one with the largest change; the choice stays.
        self.layer.keep(distributed.layer);
        drop_aside(self.distributed.replace(distributed));
    }
}
