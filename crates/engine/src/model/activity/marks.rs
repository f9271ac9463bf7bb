//! Marks over time: moments to which somebody gave a text, and garbage collections, which last.
//!
//! Marks are in the order of their times, and those of one time as they came, whenever they come: PIX's come in blocks, when
//! they are over. Publications put those in their places.
//!
//! Memory: 56 bytes a mark, and each text once; [`MAX_MARKS`] marks and [`MAX_TEXT`] bytes of text
//! at most. Cost: a hash operation a mark.

use std::sync::Arc;

use super::Chunked;
use crate::etl::Guid;
use crate::events::{Collection, CollectionId, EventSchema, MarkEvent, MarkText, Untold, class};
use crate::format::plain;
use crate::model::ProcessId;
use crate::stored::stored;
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::{Interval, Ticks, Tid};

/// Most marks.
const MAX_MARKS: usize = 1 << 20;
/// Most bytes of their texts.
const MAX_TEXT: usize = 64 << 20;
/// Most descriptions of events.
const MAX_SCHEMAS: usize = 1 << 12;
/// Most providers.
const MAX_PROVIDERS: usize = 1 << 10;

/// A moment to which somebody gave a text, or a garbage collection.
#[derive(Clone, PartialEq, Debug)]
pub struct Mark {
    /// When it was written, or began if it comes when it is over; marks are in this order.
    pub at: Ticks,
    /// Start of the time that it describes; `at` for a moment.
    pub from: Ticks,
    /// End of the time that it describes; `at` for a moment.
    pub to: Ticks,
    /// Its provider, by number in [`Marks::providers`].
    pub provider: u16,
    /// Process that wrote it.
    pub process: Option<ProcessId>,
    /// Thread that wrote it.
    pub tid: Tid,
    /// Its text.
    pub text: Arc<str>,
}

stored!(struct Mark { at, from, to, provider, process, tid, text });

/// A provider of marks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkProvider {
    /// GUID of the provider, or event class.
    pub guid: Guid,
    /// Its name, if it is known.
    pub name: Option<Arc<str>>,
}

stored!(struct MarkProvider { guid, name });

impl MarkProvider {
    /// Name for people; well-known kinds of marks have plain words.
    pub fn label(&self) -> String {
        match (&self.name, self.guid) {
            (_, class::PERF_INFO) => "Mark".to_owned(),
            (_, class::CLR) => "Garbage collection".to_owned(),
            (_, class::PIX) => "PIX".to_owned(),
            (Some(name), _) => name.to_string(),
            (None, guid) => format!("{{{guid}}}"),
        }
    }
}

/// All marks of a trace.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// The marks, by time.
    pub list: Chunked<Mark>,
    /// The providers, by number.
    pub providers: Vec<MarkProvider>,
}

stored!(struct Marks { list, providers });

impl Marks {
    /// Marks that were written in an interval.
    pub fn during(&self, interval: Interval) -> impl Iterator<Item = &Mark> {
        let place = |at: Ticks| self.list.partition_point(|mark| mark.at < at);
        self.list.range(place(interval.from)..place(interval.to))
    }

    /// The provider of a mark.
    pub fn provider(&self, mark: &Mark) -> &MarkProvider {
        &self.providers[usize::from(mark.provider)]
    }
}

/// Collects marks.
#[derive(Debug, Default)]
pub(super) struct MarkTable {
    marks: Marks,
    providers: KeyedMap<Guid, u16>,
    texts: KeyedSet<Arc<str>>,
    text_bytes: usize,
    /// Marks whose text is not known yet.
    untold: Vec<(usize, Untold)>,
    untold_bytes: usize,
    schemas: KeyedMap<(Guid, u16, u8), EventSchema>,
    schema_bytes: usize,
    /// Number of descriptions, and of marks without text, at the latest publication.
    told: (usize, usize),
    /// Collections that have not ended, by process and number, and their marks.
    collections: KeyedMap<(ProcessId, CollectionId), usize>,
    /// Marks that are not in their places yet, each with the number of marks in the list when it came.
    late: Vec<(usize, Mark)>,
    refused: u64,
}

/// A mark of a time that has passed.
#[derive(Debug)]
pub(super) struct Past {
    pub(super) from: Ticks,
    pub(super) to: Ticks,
    pub(super) process: ProcessId,
    pub(super) tid: Tid,
    /// A text of [`MarkTable::past_text`].
    pub(super) text: Arc<str>,
}

impl MarkTable {
    pub(super) fn add(&mut self, event: &MarkEvent, (at, frequency): (Ticks, u64), process: Option<ProcessId>, tid: Tid) {
        let lasted = event.lasted_ms.filter(|lasted| lasted.is_finite() && *lasted > 0.0).unwrap_or(0.0);
        let from = Ticks(at.0.saturating_sub((f64::from(lasted) / 1e3 * frequency as f64) as i64));
        let untold = match &event.text {
            MarkText::Known(_) => None,
            MarkText::Untold(untold) => Some(untold),
        };
        let text = match &event.text {
            MarkText::Known(text) => &**text,
            MarkText::Untold(_) => "",
        };
        let added = self.push((event.provider, event.provider_name.as_deref()), (at, from, at), (process, tid), text);
        if let (Some(mark), Some(untold)) = (added, untold) {
            self.untold_bytes += untold.payload.len();
            self.untold.push((mark, untold.clone()));
        }
    }

    pub(super) fn collection_starts(&mut self, collection: &Collection, at: Ticks, process: ProcessId, tid: Tid) {
        let Collection { id, generation, reason, is_background } = collection;
        if self.collections.contains_key(&(process, *id)) {
            return; // reported in two versions
        }
        let reason = reason.words().map(|words| format!(", {words}")).unwrap_or_default();
        let background = if *is_background { ", in the background" } else { "" };
        let generation = generation.map(|generation| format!(", generation {generation}")).unwrap_or_default();
        let text = format!("GC {}{generation}{reason}{background}", id.number);
        if let Some(mark) = self.push((class::CLR, None), (at, at, at), (Some(process), tid), &text) {
            self.collections.insert((process, *id), mark);
        }
    }

    pub(super) fn collection_ends(&mut self, process: ProcessId, id: CollectionId, at: Ticks) {
        if let Some(mark) = self.collections.remove(&(process, id)).and_then(|mark| self.marks.list.get_mut(mark)) {
            mark.to = at.max(mark.from);
        }
    }

    /// Adds a mark of a time that has passed; what began before the trace has its time from then on.
    pub(super) fn add_past(&mut self, provider: Guid, Past { from, to, process, tid, text }: Past) {
        let provider = if self.is_full() { None } else { self.provider((provider, None)) };
        let Some(provider) = provider else {
            self.refused += 1;
            return;
        };
        let mark = Mark { at: from.max(Ticks(0)), from, to, provider, process: Some(process), tid, text };
        self.late.push((self.marks.list.len(), mark));
    }

    /// Puts late marks in their places. Cost: that of sorting them, and a step for each mark behind the first of them.
    fn settle(&mut self) {
        let mut late = std::mem::take(&mut self.late);
        late.sort_by_key(|(_, mark)| mark.at);
        let Some(first) = late.first().map(|(_, mark)| mark.at) else { return };
        let kept = self.marks.list.partition_point(|mark| mark.at < first);
        let mut behind: Vec<Mark> = std::iter::from_fn(|| self.marks.list.pop_beyond(kept)).collect();
        behind.reverse();
        let mut places = Vec::with_capacity(behind.len());
        let mut late = late.into_iter().peekable();
        for (place, mark) in (kept..).zip(behind) {
            while let Some((_, mark)) = late.next_if(|(came, other)| (other.at, *came) <= (mark.at, place)) {
                self.marks.list.push(mark);
            }
            places.push(self.marks.list.len());
            self.marks.list.push(mark);
        }
        late.for_each(|(_, mark)| self.marks.list.push(mark));
        let untold = self.untold.iter_mut().map(|(place, _)| place);
        for place in untold.chain(self.collections.values_mut()) {
            if let Some(new) = place.checked_sub(kept).and_then(|behind| places.get(behind)) {
                *place = *new;
            }
        }
    }

    fn is_full(&self) -> bool {
        self.marks.list.len() + self.late.len() >= MAX_MARKS || self.text_bytes + self.untold_bytes >= MAX_TEXT
    }

    fn push(
        &mut self,
        provider: (Guid, Option<&str>),
        (at, from, to): (Ticks, Ticks, Ticks),
        (process, tid): (Option<ProcessId>, Tid),
        text: &str,
    ) -> Option<usize> {
        let provider = if self.is_full() { None } else { self.provider(provider) };
        let Some(provider) = provider else {
            self.refused += 1;
            return None;
        };
        let text = self.text(text);
        // A mark that comes late gets the time of the latest.
        let at = self.marks.list.last().map_or(at, |last| at.max(last.at));
        self.marks.list.push(Mark { at, from, to, provider, process, tid, text });
        Some(self.marks.list.len() - 1)
    }

    fn provider(&mut self, (guid, name): (Guid, Option<&str>)) -> Option<u16> {
        let providers = &mut self.marks.providers;
        let number = match self.providers.get(&guid) {
            Some(&number) => number,
            None if providers.len() >= MAX_PROVIDERS => return None,
            None => {
                providers.push(MarkProvider { guid, name: None });
                self.providers.insert(guid, providers.len() as u16 - 1);
                providers.len() as u16 - 1
            }
        };
        let known = &mut providers[usize::from(number)].name;
        if known.is_none() {
            *known = name.filter(|name| !name.is_empty()).map(Into::into);
        }
        Some(number)
    }

    /// A text for [`MarkTable::add_past`], which is kept once; an empty one if no more marks are kept.
    pub(super) fn past_text(&mut self, text: &str) -> Arc<str> {
        if self.is_full() { Arc::default() } else { self.text(text) }
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let text: Arc<str> = text.into();
        self.text_bytes += text.len() + 64;
        self.texts.insert(Arc::clone(&text));
        text
    }

    /// Adds the description of a kind of event.
    pub(super) fn describe(&mut self, schema: &EventSchema) {
        let key = schema.key();
        if self.schemas.len() < MAX_SCHEMAS && !self.schemas.contains_key(&key) {
            let names = schema.fields.iter().map(|field| field.name.len() + 40).sum::<usize>();
            self.schema_bytes += names + schema.name.len() + schema.provider_name.len() + 200;
            self.schemas.insert(key, schema.clone());
        }
    }

    pub(super) fn publish(&mut self, is_complete: bool) -> Marks {
        self.settle();
        // Without new descriptions, only marks that came since the latest publication are looked at.
        let known = if self.told.0 == self.schemas.len() && !is_complete { self.told.1 } else { 0 };
        for (place, untold) in self.untold.split_off(known) {
            self.untold_bytes -= untold.payload.len();
            let Some(mark) = self.marks.list.get(place) else { continue };
            let number = mark.provider;
            let guid = self.marks.providers[usize::from(number)].guid;
            let schema = self.schemas.get(&(guid, untold.id, untold.version));
            if let Some(schema) = schema {
                let known = &mut self.marks.providers[usize::from(number)].name;
                if known.is_none() && !schema.provider_name.is_empty() {
                    *known = Some(schema.provider_name.as_ref().into());
                }
            }
            let text = match schema {
                Some(schema) => schema.text(&untold.payload, untold.pointer),
                None => untold.text(),
            };
            let is_told = schema.is_some();
            let text = self.text(&plain(text.trim()));
            if let Some(mark) = self.marks.list.get_mut(place) {
                mark.text = text;
            }
            // Its description may still come, at the end of the trace.
            if !is_told && !is_complete {
                self.untold_bytes += untold.payload.len();
                self.untold.push((place, untold));
            }
        }
        self.told = (self.schemas.len(), self.untold.len());
        self.marks.clone()
    }

    pub(super) fn bytes(&self) -> u64 {
        let untold = self.untold.len() * 48 + self.untold_bytes;
        ((self.marks.list.len() + self.late.len()) * size_of::<Mark>() + self.text_bytes + untold + self.schema_bytes) as u64
    }

    pub(super) fn left_out(&self) -> Option<String> {
        let most = format!("more than are kept ({MAX_MARKS}, or {} MB of text)", MAX_TEXT >> 20);
        (self.refused > 0).then(|| format!("{} marks are {most}; they were left out", self.refused))
    }
}
