//! Marks as markers, each with its time, duration, provider and text. If the process of a mark has no thread, one is
//! added; marks without a known process go to the first thread.

use fxprof_processed_profile::{
    CategoryHandle, MarkerFieldFlags, MarkerFieldFormat, MarkerTiming, Profile, StaticSchemaMarker, StaticSchemaMarkerField,
    StringHandle, ThreadHandle,
};

use super::Drawn;
use crate::model::{Mark, ProcessId};

struct TextMarker {
    name: StringHandle,
    text: StringHandle,
}

impl StaticSchemaMarker for TextMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Mark";
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.text}");
    const TOOLTIP_LABEL: Option<&'static str> = Some("{marker.name}: {marker.data.text}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.text}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[StaticSchemaMarkerField {
        key: "text",
        label: "Text",
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, _profile: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _profile: &mut Profile) -> CategoryHandle {
        CategoryHandle::OTHER
    }

    fn string_field_value(&self, _field_index: u32) -> StringHandle {
        self.text
    }

    /// Returns 0: the marker has no number fields.
    fn number_field_value(&self, _field_index: u32) -> f64 {
        0.0
    }
}

impl Drawn<'_> {
    pub(super) fn markers(&mut self) {
        let (trace, interval) = (self.exported.trace(), self.exported.interval());
        let wanted = self.exported.request.filter.process.as_deref();
        let is_meant = |id: ProcessId| wanted.is_none_or(|wanted| trace.process(id).is_called(wanted));
        for mark in trace.activity.marks.during(interval).filter(|mark| mark.process.is_none_or(is_meant)) {
            let Some(thread) = self.thread_of(mark) else { continue };
            let name = self.profile.intern_string(&trace.activity.marks.provider(mark).label());
            let text = self.profile.intern_string(&mark.text);
            let [from, to] = [mark.from, mark.to].map(|at| self.time(at));
            let timing = if mark.from < mark.to { MarkerTiming::Interval(from, to) } else { MarkerTiming::Instant(from) };
            self.profile.add_marker(thread, timing, TextMarker { name, text });
        }
    }

    /// The thread for a mark; `None` if the mark has no process and there is no thread.
    fn thread_of(&mut self, mark: &Mark) -> Option<ThreadHandle> {
        match mark.process {
            Some(process) => Some(self.thread(process).thread),
            None => self.threads.iter().min_by_key(|(id, _)| **id).map(|(_, of)| of.thread),
        }
    }
}
