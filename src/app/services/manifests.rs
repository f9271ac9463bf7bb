//! Names and fields of events by the manifests that are installed on this machine: looked up when the user asks, for the
//! trace in front. What was found holds for all traces that are loaded from then on, until the program ends.
//!
//! Cost: a pass over the capture on a worker, and what the system takes.

use std::sync::Arc;

use eframe::egui;

use crate::app::base::background::Background;
use crate::capture::Manifests;
use crate::etl::Guid;
use crate::events::{Described, EventKey, EventSchema, MOST_KINDS};
use crate::format;
use crate::load::{Capture, Input};
use crate::panics;
use crate::tables::KeyedSet;

/// The installed manifests, and what is known of them.
#[derive(Debug, Default)]
pub struct ManifestNames {
    source: Option<Arc<dyn Manifests>>,
    /// The descriptions that were found.
    pub known: Arc<[EventSchema]>,
    search: Background<Result<Found, String>>,
    /// Whether to search as soon as the trace in front is complete.
    pub is_due: bool,
    /// The result of the last search, as a sentence.
    pub told: Option<String>,
}

/// The result of a search.
#[derive(Debug, Default)]
struct Found {
    /// Number of kinds of events that were asked about.
    asked: usize,
    of_trace: Vec<EventSchema>,
    of_manifests: Vec<EventSchema>,
    /// Why descriptions are missing, if something failed.
    failure: Option<String>,
}

impl ManifestNames {
    pub fn of(source: Option<Arc<dyn Manifests>>) -> Self {
        Self { source, ..Self::default() }
    }

    /// Whether this machine has manifests.
    pub fn are_there(&self) -> bool {
        self.source.is_some()
    }

    pub fn is_at_work(&self) -> bool {
        self.search.is_at_work()
    }

    /// Looks up the events of these files that they do not describe.
    pub fn seek(&mut self, ctx: &egui::Context, inputs: Vec<Input>) {
        let Some(manifests) = self.source.clone().filter(|_| !self.is_at_work()) else { return };
        (self.told, self.is_due) = (None, false);
        self.search.start(ctx, move || {
            let found = panics::catch(|| find(manifests.as_ref(), &inputs));
            found.unwrap_or_else(|fault| Err(format!("the search broke: {fault}")))
        });
    }

    /// Takes what was found; returns whether more is known than before.
    pub fn drain(&mut self) -> bool {
        let Some(found) = self.search.done().pop() else { return false };
        let found = found.unwrap_or_else(|reason| Found { failure: Some(reason), ..Found::default() });
        self.told = Some(sentence(found.asked, found.of_manifests.len(), found.failure.as_deref()));
        let known: KeyedSet<EventKey> = self.known.iter().map(EventSchema::key).collect();
        let is_new = |schema: &&EventSchema| !known.contains(&schema.key());
        let room = MOST_KINDS.saturating_sub(self.known.len());
        let new: Vec<EventSchema> = found.of_trace.iter().chain(&found.of_manifests).filter(is_new).take(room).cloned().collect();
        if new.is_empty() {
            return false;
        }
        self.known = self.known.iter().cloned().chain(new).collect();
        true
    }

    /// The name of a provider.
    pub fn provider(&self, guid: Guid) -> Option<&str> {
        let names = self.known.iter().filter(|schema| schema.provider == guid).map(|schema| &*schema.provider_name);
        names.into_iter().find(|name| !name.is_empty())
    }
}

fn find(manifests: &dyn Manifests, inputs: &[Input]) -> Result<Found, String> {
    let capture = Capture::open(inputs).map_err(|reason| reason.to_string())?;
    let events = capture.manifest_events();
    // Those of the trace itself are not known yet if it was followed while it was recorded.
    let of_trace = events.descriptions();
    let kinds = events.undescribed();
    if kinds.is_empty() {
        return Ok(Found { of_trace, ..Found::default() });
    }
    let Described { infos, failure } = manifests.describe(&kinds);
    let of_manifests = infos.iter().filter_map(|info| EventSchema::from_info(info)).collect();
    Ok(Found { asked: kinds.len(), of_trace, of_manifests, failure })
}

fn sentence(asked: usize, found: usize, failure: Option<&str>) -> String {
    let numbers = match (asked, found) {
        (0, _) if failure.is_some() => String::new(),
        (0, _) => "The trace describes all its events.".to_owned(),
        (asked, found) => {
            let [found, asked] = [found, asked].map(|n| format::count(n as u64));
            format!("Manifests installed here define {found} of {asked} kinds of events that the trace does not describe.")
        }
    };
    let failure = failure.map(|reason| format!("Names may be missing: {reason}."));
    [Some(numbers).filter(|text| !text.is_empty()), failure].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_told_in_numbers_and_with_what_failed() {
        assert_eq!(sentence(0, 0, None), "The trace describes all its events.");
        let told = sentence(1200, 7, None);
        assert_eq!(told, "Manifests installed here define 7 of 1,200 kinds of events that the trace does not describe.");
        assert!(sentence(3, 0, Some("no file")).ends_with("does not describe. Names may be missing: no file."));
        assert_eq!(sentence(0, 0, Some("no file")), "Names may be missing: no file.");
    }
}
