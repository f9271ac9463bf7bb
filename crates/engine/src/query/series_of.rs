//! Assignment of sites to the lines of a graph.

use std::ops::Range;

use crate::model::{SiteId, Trace};

/// Assignment of sites to series.
#[derive(Clone, Debug, Default)]
pub struct SeriesOf {
    /// The series of each site.
    pub site: Vec<Option<u32>>,
    /// Number of series.
    pub count: usize,
    /// Whether each series is stacked on the one before: a site then counts for its own series and for all later ones.
    pub is_stacked: bool,
}

impl SeriesOf {
    /// Creates the assignment from a function of the site.
    pub fn new(trace: &Trace, count: usize, of: impl Fn(SiteId) -> Option<u32>) -> Self {
        Self { site: (0..trace.sites.len()).map(|i| of(SiteId(i as u32))).collect(), count, is_stacked: false }
    }

    /// Returns the same series, each stacked on the one before.
    pub fn stacked(self) -> Self {
        Self { is_stacked: true, ..self }
    }

    /// Returns whether every site belongs to a series.
    pub(super) fn has_all(&self) -> bool {
        self.site.iter().all(Option::is_some)
    }

    /// Returns the series that a site of `series` counts for.
    #[inline]
    pub(super) fn reach(&self, series: u32) -> Range<u32> {
        series..if self.is_stacked { self.count as u32 } else { series + 1 }
    }
}
