//! A measurement before a recording: a second of it is recorded, counted by kind of event, and deleted. It tells how much
//! the recording would write in a minute, and how much without one or another of its parts.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::providers::{Purpose, wanted};
use super::recording::names_something;
use super::{Aftermath, CaptureError, Request, Running, Target};
use crate::etl::{EventId, ExtendedItem, Guid, Problems, RawEvent, ReadBuffer, TraceFile, i64_at, u32_at};
use crate::events::{hook, kernel_hook};
use crate::format::{count, rough_bytes};
use crate::tables::KeyedMap;
use crate::units::Tid;

/// How long is measured.
pub(crate) const MEASURED: Duration = Duration::from_secs(1);
/// A recording of more than this a minute is worth a thought: events, and bytes (a disk of 35 MB/s).
const MUCH: Amount = Amount { events: 12_000_000, bytes: 2 << 30 };

/// Events and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
    /// Number of events.
    pub events: u64,
    /// Size in bytes, with headers.
    pub bytes: u64,
}

impl Amount {
    fn add(&mut self, bytes: usize) {
        self.events += 1;
        self.bytes += bytes as u64;
    }

    fn sum(amounts: impl IntoIterator<Item = Self>) -> Self {
        amounts.into_iter().fold(Self::default(), |a, b| Self { events: a.events + b.events, bytes: a.bytes + b.bytes })
    }

    fn less(self, other: Self) -> Self {
        Self { events: self.events.saturating_sub(other.events), bytes: self.bytes.saturating_sub(other.bytes) }
    }
}

/// A kind of events that a recording writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Allocations of NT heaps.
    HeapAllocations,
    /// Frees of NT heaps.
    HeapFrees,
    /// Pages that are committed or reserved.
    PageAllocations,
    /// Pages that are given back.
    PageFrees,
    /// Blocks of trackers.
    Trackers,
    /// Frames, GPU memory, and .NET.
    Activity,
    /// Marks of providers.
    Marks,
    /// Samples of the processors.
    Samples,
    /// Page faults.
    Faults,
    /// All other events, such as starts of threads.
    Other,
}

impl Kind {
    /// All kinds, in the order in which they are listed.
    pub const ALL: [Self; 10] = [
        Self::HeapAllocations,
        Self::HeapFrees,
        Self::PageAllocations,
        Self::PageFrees,
        Self::Trackers,
        Self::Activity,
        Self::Marks,
        Self::Samples,
        Self::Faults,
        Self::Other,
    ];

    /// The words for a list.
    pub fn name(self) -> &'static str {
        match self {
            Self::HeapAllocations => "heap allocations",
            Self::HeapFrees => "heap frees",
            Self::PageAllocations => "committed pages",
            Self::PageFrees => "freed pages",
            Self::Trackers => "tracker blocks",
            Self::Activity => "frames, GPU memory and .NET",
            Self::Marks => "marks",
            Self::Samples => "CPU samples",
            Self::Faults => "page faults",
            Self::Other => "everything else",
        }
    }
}

/// How much a recording writes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Volume {
    /// How long was measured, in seconds.
    pub seconds: f64,
    /// Names of processes, modules and heaps, which are written once.
    pub once: Amount,
    /// Events that were lost, which are not in the other numbers.
    pub lost: u64,
    /// Events by kind, in the order of [`Kind::ALL`], and their call stacks.
    pub kinds: [[Amount; 2]; Kind::ALL.len()],
}

/// A part that can be left out, and what a minute of the recording is without it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Saving {
    /// The part that is left out, as it follows "without".
    pub without: &'static str,
    /// A minute of the rest.
    pub left: Amount,
}

/// Records for a second in `folder`, which must not exist and is removed again, and measures what that wrote. `start`
/// starts the recording. Blocks for that second, and for the time in which the recording ends.
pub fn measure(
    request: &Request,
    folder: &Path,
    start: impl FnOnce(&Request, &Path) -> Result<Box<dyn Running>, CaptureError>,
) -> Result<(Volume, Aftermath), CaptureError> {
    if matches!(request.target, Target::Launch(_)) {
        return Err(CaptureError::BadRequest("only a program that runs can be measured".to_owned()));
    }
    let whole = Request { ring: None, stop_when: Vec::new(), ..request.clone() };
    if let Some(parent) = folder.parent() {
        std::fs::create_dir_all(parent).map_err(CaptureError::file(parent))?;
    }
    // Only a folder that this made is removed again.
    std::fs::create_dir(folder).map_err(CaptureError::file(folder))?;
    let measured = measure_in(&whole, folder, start);
    let removed = std::fs::remove_dir_all(folder).map_err(CaptureError::file(folder));
    measured.and_then(|measured| removed.map(|()| measured))
}

fn measure_in(
    request: &Request,
    folder: &Path,
    start: impl FnOnce(&Request, &Path) -> Result<Box<dyn Running>, CaptureError>,
) -> Result<(Volume, Aftermath), CaptureError> {
    const BEAT: Duration = Duration::from_millis(100);
    let mut running = start(request, &folder.join("lanes"))?;
    let since = Instant::now();
    while since.elapsed() < MEASURED && running.pulse()?.ends.is_none() {
        thread::sleep(BEAT);
    }
    let seconds = since.elapsed().as_secs_f64();
    let lost = running.pulse().map_or(0, |pulse| pulse.lost_events);
    let out = folder.join("measured.etl");
    running.finish(&out)?;
    Ok((Volume { seconds, lost, ..Volume::of(request, &out)? }, running.aftermath()))
}

impl Volume {
    /// Counts the events of a trace by kind, as if it was recorded for this request in one second.
    pub fn of(request: &Request, trace: &Path) -> Result<Self, CaptureError> {
        let file = TraceFile::open(trace).map_err(|error| CaptureError::BadRequest(format!("{}: {error}", trace.display())))?;
        let purposes: KeyedMap<_, _> = wanted(request).into_iter().map(|one| (one.provider, one.purpose)).collect();
        let mut counted = Counted { volume: Self { seconds: 1.0, ..Self::default() }, purposes, ..Counted::default() };
        let (mut memory, mut problems) = (ReadBuffer::default(), Problems::new());
        for buffer in &file.buffers {
            file.read_buffer(buffer, &mut memory, &mut problems);
            let mut events = memory.events();
            while let Some(event) = events.next() {
                counted.add(&event, events.bytes_of(&event).len());
            }
        }
        Ok(counted.finish())
    }

    /// A minute of one kind: the events, and their call stacks.
    pub fn a_minute_of(&self, kind: Kind) -> [Amount; 2] {
        self.kinds[kind as usize].map(|amount| self.scaled(amount))
    }

    /// A minute of everything.
    pub fn a_minute(&self) -> Amount {
        self.scaled(Amount::sum(self.kinds.into_iter().flatten()))
    }

    fn scaled(&self, amount: Amount) -> Amount {
        let scale = |n: u64| (n as f64 * 60.0 / self.seconds.max(0.001)) as u64;
        Amount { events: scale(amount.events), bytes: scale(amount.bytes) }
    }

    /// Whether that is so much that Windows may lose events, or a disk fill up soon.
    pub fn is_much(&self) -> bool {
        let minute = self.a_minute();
        minute.events > MUCH.events || minute.bytes > MUCH.bytes || self.lost > 0
    }

    /// The measurement in lines of text, for the user.
    pub fn lines(&self, request: &Request) -> Vec<String> {
        let whole = self.a_minute();
        if whole.events == 0 {
            let lost = if self.lost > 0 { " and lost" } else { "" };
            return vec![format!(
                "In {:.1} s nothing was written{lost}: the program did nothing that is recorded.",
                self.seconds
            )];
        }
        let all = |name: &str, amount: Amount| format!("{name}: {} events, {}", count(amount.events), rough_bytes(amount.bytes));
        let mut lines = vec![all("A minute of this recording", whole)];
        for kind in Kind::ALL {
            let [own, stacks] = self.a_minute_of(kind);
            if own.events > 0 {
                let stacks = (stacks.bytes > 0).then(|| format!(", and {} for call stacks", rough_bytes(stacks.bytes)));
                lines.push(all(kind.name(), own) + &stacks.unwrap_or_default());
            }
        }
        lines.push(format!("Once, for names of processes and modules: {}", rough_bytes(self.once.bytes)));
        if self.lost > 0 {
            lines.push(format!("{} events were lost in that second: that much cannot be recorded here.", count(self.lost)));
        }
        if self.is_much() {
            let savings = self.savings(request);
            let each = savings.iter().map(|Saving { without, left }| all(&format!("Without {without}"), *left));
            lines.push("That is a lot: Windows may lose events, and the trace will be large.".to_owned());
            lines.extend(each);
        }
        lines
    }

    /// The parts that the request can do without, the least missed first, where leaving them out saves a tenth or more.
    pub fn savings(&self, request: &Request) -> Vec<Saving> {
        let stacks = |kinds: &[Kind]| Amount::sum(kinds.iter().map(|&kind| self.a_minute_of(kind)[1]));
        let all = |kind| Amount::sum(self.a_minute_of(kind));
        let of_frees = stacks(&[Kind::HeapFrees, Kind::PageFrees]);
        let of_allocations = stacks(&[Kind::HeapAllocations, Kind::PageAllocations, Kind::Trackers]);
        let parts = [
            (request.free_stacks, "the call stacks of frees", of_frees),
            (request.faults, "page faults", all(Kind::Faults)),
            (request.samples, "CPU samples", all(Kind::Samples)),
            (!request.marks.is_empty(), "marks", all(Kind::Marks)),
            (request.stacks, "any call stacks", Amount::sum([of_frees, of_allocations])),
        ];
        let whole = self.a_minute();
        let is_worth_it = |part: &Amount| part.bytes >= (whole.bytes / 10).max(1);
        let wanted = parts.into_iter().filter(|(is_asked, _, part)| *is_asked && is_worth_it(part));
        wanted.map(|(_, without, part)| Saving { without, left: whole.less(part) }).collect()
    }
}

/// The time and thread of an event, by which its call stack names it.
type StackOwner = (i64, u32);

#[derive(Default)]
struct Counted {
    volume: Volume,
    purposes: KeyedMap<Guid, Purpose>,
    /// Kinds of the events that can have a stack.
    owners: KeyedMap<StackOwner, Kind>,
    /// Stacks, whose events may come later: buffers of several processors follow each other.
    stacks: KeyedMap<StackOwner, Amount>,
}

impl Counted {
    fn add(&mut self, event: &RawEvent<'_>, bytes: usize) {
        let hook = kernel_hook(event.id);
        match hook {
            Some(hook::STACK | hook::STACK_KEY_REF_KERNEL | hook::STACK_KEY_REF_USER) => {
                if let Some(owner) = stack_owner(event.payload) {
                    return self.stacks.entry(owner).or_default().add(bytes);
                }
            }
            Some(hook::STACK_KEY_CREATE | hook::STACK_KEY_DELETE | hook::STACK_KEY_RUNDOWN) => {
                return self.volume.kinds[Kind::HeapAllocations as usize][1].add(bytes);
            }
            _ => {}
        }
        // Pages and views that exist already are reported at the start.
        if names_something(event.id) || matches!(hook, Some(hook::VIRTUAL_RUNDOWN_START | hook::VIEW_RUNDOWN_START)) {
            return self.volume.once.add(bytes);
        }
        let kind = self.kind(event.id, hook);
        let [own, stacks] = &mut self.volume.kinds[kind as usize];
        let inline = event.extended.into_iter().filter(ExtendedItem::is_stack).map(|item| item.data.len());
        let inline = inline.sum::<usize>().min(bytes);
        own.add(bytes - inline);
        stacks.bytes += inline as u64;
        if hook.is_some() {
            self.owners.insert((event.time, event.tid.0), kind);
        }
    }

    fn kind(&self, id: EventId, hook: Option<u16>) -> Kind {
        match (hook, id) {
            (Some(hook::HEAP_ALLOC | hook::HEAP_REALLOC), _) => Kind::HeapAllocations,
            (Some(hook::HEAP_FREE), _) => Kind::HeapFrees,
            (Some(hook::VIRTUAL_ALLOC), _) => Kind::PageAllocations,
            (Some(hook::VIRTUAL_FREE), _) => Kind::PageFrees,
            (Some(hook::SAMPLE), _) => Kind::Samples,
            (Some(hook::TRANSITION_FAULT..=hook::ACCESS_VIOLATION | hook::HARD_FAULT), _) => Kind::Faults,
            (None, EventId::Provider { provider, .. }) => match self.purposes.get(&provider) {
                Some(Purpose::Trackers) => Kind::Trackers,
                Some(Purpose::Frames | Purpose::Gpu | Purpose::Managed) => Kind::Activity,
                Some(Purpose::Marks) => Kind::Marks,
                None => Kind::Other,
            },
            _ => Kind::Other,
        }
    }

    fn finish(self) -> Volume {
        let Self { mut volume, owners, stacks, .. } = self;
        stacks.into_iter().for_each(|(owner, amount)| {
            // The headers of samples and page faults have no thread.
            let kind = owners.get(&owner).or_else(|| owners.get(&(owner.0, Tid::NONE.0))).copied().unwrap_or(Kind::Other);
            let stacks = &mut volume.kinds[kind as usize][1];
            *stacks = Amount::sum([*stacks, amount]);
        });
        volume
    }
}

/// The event that a stack belongs to: its payload begins with time, process and thread.
fn stack_owner(payload: &[u8]) -> Option<StackOwner> {
    Some((i64_at(payload, 0)?, u32_at(payload, 12)?))
}
