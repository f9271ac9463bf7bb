//! Prepared traces on the command line: one that the window has kept is used; another is kept only if the environment says so.

use std::sync::Arc;
use std::time::Duration;

use super::progress::Progress;
use super::providers::ProvidersAsked;
use super::{Failure, kept, output};
use crate::events::TrackerProviders;
use crate::load::prepared::{DEFAULT_LIMIT, Providers};
use crate::load::{Capture, Input, PreparedPlace, PreparedTraces};
use crate::model::Trace;
use crate::symbols;

/// The environment variable that says how prepared traces are used.
const VARIABLE: &str = "HIGHWATER_PREPARED";

/// How prepared traces are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Prepared {
    /// Not at all.
    Off,
    /// Those that are there.
    Read,
    /// Those that are there, and others are kept.
    Keep,
}

impl Prepared {
    /// As the environment says.
    fn asked() -> Result<Self, Failure> {
        let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else { return Ok(Self::Read) };
        match value.to_str() {
            Some("off") => Ok(Self::Off),
            Some("read") => Ok(Self::Read),
            Some("keep") => Ok(Self::Keep),
            _ => Err(Failure::BadArguments(format!("{VARIABLE}: expected off, read or keep"))),
        }
    }
}

/// The prepared traces of this user, for the window; `None` if there are none, or the environment switches them off.
pub fn prepared_traces() -> Option<PreparedTraces> {
    if matches!(Prepared::asked(), Ok(Prepared::Off)) {
        return None;
    }
    Some(PreparedTraces::new(symbols::cache_folder()?.join("traces"), DEFAULT_LIMIT))
}

/// The place of the prepared trace of some files.
#[derive(Debug)]
pub(super) struct Place {
    place: Option<PreparedPlace>,
    keeps: bool,
}

impl Place {
    /// No place: no trace is there, and none is kept.
    pub(super) const NONE: Self = Self { place: None, keeps: false };

    /// The place of the trace in these files. There is none if providers are named, because messages about these need the files.
    pub(super) fn of(inputs: &[Input], providers: &ProvidersAsked) -> Result<Self, Failure> {
        let asked = Prepared::asked()?;
        // The server for agents writes nothing, and keeps traces in memory.
        let has_none = providers.are_named() || kept::keeps_traces();
        let traces = if has_none { None } else { prepared_traces() };
        let keeps = asked == Prepared::Keep;
        let traces = traces.map(|traces| if keeps { traces.of_any_size() } else { traces });
        let providers = Providers { marks: &[], trackers: &TrackerProviders::default(), descriptions: &[] };
        Ok(Self { place: traces.and_then(|traces| traces.place(inputs, providers)), keeps })
    }

    /// The place, or none if the files may belong to several captures.
    pub(super) fn for_one_capture(self, is_one: bool) -> Self {
        if is_one { self } else { Self::NONE }
    }

    /// The trace, if it is there and takes no more memory than `budget` bytes.
    pub(super) fn trace(&self, budget: u64) -> Option<Arc<Trace>> {
        self.place.as_ref()?.open(budget, &mut Progress::new("Opening")).ok()?.map(Arc::new)
    }

    /// Keeps a trace, if that is asked for.
    pub(super) fn keep(&self, trace: &Trace, capture: &Capture) {
        let wanted = self.place.as_ref().filter(|place| self.keeps && place.wants(trace, Duration::ZERO));
        let Some(place) = wanted else { return };
        let names: Vec<String> = capture.files.iter().map(|file| file.name.clone()).collect();
        if let Err(reason) = place.keep(trace, &names, &mut || true) {
            output::message(&format!("the trace is not kept for the next time: {reason}"));
        }
    }
}
