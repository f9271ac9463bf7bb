//! Replacements for names that tell who recorded a trace: of programs, images, command lines, PDBs, trackers, threads, markers
//! and methods. A name has one replacement in the whole file, whatever the case of its letters.
//!
//! Replacements are numbered in order of appearance and are no hashes, which could be checked against guesses. GUID and age of
//! PDBs stay, so that whoever has the PDBs can still name frames.

use crate::events::{
    ActivityEvent, CommittedRegion, CounterEvent, Event, ImageFile, ImageId, ImageInfo, Lost, ManagedEvent, ManagedMethod,
    MarkEvent, MarkText, PageFault, PageRange, PixBlock, PixEvent, PixStep, PixWhat, Present, ProcessInfo, Record,
    SampleInterval, ThreadStack,
};
use crate::tables::KeyedMap;

/// Extensions that tell what a file is and nothing else.
const KEPT: [&str; 12] = ["exe", "com", "scr", "dll", "ocx", "cpl", "drv", "mui", "tmp", "sys", "pdb", "node"];

/// The word that a file's replacement begins with, by the extension with which its name is first met.
fn kind_of(extension: &str) -> &'static str {
    match extension {
        "exe" | "com" | "scr" => "program",
        "sys" => "driver",
        "dll" | "ocx" | "cpl" | "drv" | "mui" | "node" => "library",
        _ => "file",
    }
}

/// Replacement names, in the order in which names are first met.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Replacements by kind and name.
    known: KeyedMap<(&'static str, String), String>,
    /// How many there are of a kind.
    counts: KeyedMap<&'static str, u32>,
}

impl Names {
    /// Replaces the names in a record. `false` if the record must be left out: it consists of names that mean nothing once
    /// they are replaced.
    ///
    /// Every field of every event is named here, so that a new kind of event or text does not compile until somebody
    /// decides what becomes of it.
    pub(super) fn replace(&mut self, record: &mut Record) -> bool {
        let Record { time: _, pid: _, tid: _, event } = record;
        match event {
            Event::Process(_, info) => {
                let ProcessInfo { key: _, parent: _, name, command_line } = &mut **info;
                *name = self.file(name);
                *command_line = self.text("command-line", command_line);
            }
            Event::Image(_, info) => {
                let ImageInfo { base: _, size: _, checksum: _, time_stamp: _, path } = &mut **info;
                *path = self.path(path);
            }
            Event::ImageFile(file) => {
                let ImageFile { base: _, size: _, time_stamp: _, name } = &mut **file;
                *name = self.file(name);
            }
            Event::ImageId(id) => {
                let ImageId { base: _, guid: _, age: _, pdb } = &mut **id;
                *pdb = self.file(pdb);
            }
            Event::ThreadName(name) => *name = self.text("thread", name).into(),
            Event::HeapOpen { layer: _, heap: _, name } | Event::HeapClose { layer: _, heap: _, name } => {
                if let Some(name) = name {
                    *name = self.text("tracker", name).into();
                }
            }
            Event::Activity(activity) => return self.replace_activity(activity),
            Event::Volume(_) => return false,
            Event::Counter(counter) => match &**counter {
                CounterEvent::Memory(_)
                | CounterEvent::Processes(_)
                | CounterEvent::Chosen(_)
                | CounterEvent::HeapRange { heap: _, change: _ }
                | CounterEvent::HeapSize { heap: _, committed: _ } => {}
            },
            Event::Alloc { layer: _, heap: _, address: _, size: _ }
            | Event::Free { layer: _, heap: _, address: _ }
            | Event::Realloc { layer: _, heap: _, old: _, new: _, size: _ }
            | Event::VirtualAlloc(PageRange { base: _, size: _, owner: _, flags: _ })
            | Event::VirtualFree(_)
            | Event::CommitRundown(CommittedRegion { base: _, size: _, committed: _, owner: _ })
            | Event::Stack { owner: _, part: _, frames: _ }
            | Event::StackRef { owner: _, part: _, key: _ }
            | Event::StackDefinition { part: _, key: _, frames: _ }
            | Event::ThreadStart(ThreadStack { from: _, to: _ })
            | Event::ThreadRundown(_)
            | Event::Sample { address: _, count: _ }
            | Event::Fault(
                PageFault::Hard { address: _, started: _, bytes: _ } | PageFault::Soft { kind: _, address: _, code: _ },
            )
            | Event::Lost(Lost { what: _, details: _ }) => {}
        }
        true
    }

    /// Replaces the names of markers, methods and their modules.
    fn replace_activity(&mut self, activity: &mut ActivityEvent) -> bool {
        match activity {
            ActivityEvent::Mark(MarkEvent { provider: _, provider_name, text: MarkText::Known(text), lasted_ms: _ }) => {
                *provider_name = None;
                *text = self.text("mark", text).into();
            }
            ActivityEvent::Mark(MarkEvent { text: MarkText::Untold(_), .. }) | ActivityEvent::Schema(_) => return false,
            ActivityEvent::Managed(ManagedEvent::Method(_, method)) => {
                let ManagedMethod { module: _, start: _, size: _, is_jitted: _, name, signature } = &mut **method;
                *name = self.text("method", name);
                signature.clear();
            }
            ActivityEvent::Managed(ManagedEvent::Module { id: _, path }) => *path = self.file(path).into(),
            ActivityEvent::Managed(
                ManagedEvent::CollectionStart(_) | ManagedEvent::CollectionEnd(_) | ManagedEvent::Heaps(_),
            )
            | ActivityEvent::Present(
                Present::Start { .. } | Present::Marked | Present::Taken { window: _ } | Present::Stop { .. },
            )
            | ActivityEvent::SampleInterval(SampleInterval { source: _, interval: _ })
            | ActivityEvent::Gpu(_)
            | ActivityEvent::View(_)
            | ActivityEvent::Pix(PixEvent::Unread(_)) => {}
            ActivityEvent::Pix(PixEvent::Counter { name, value: _ }) => *name = self.text("counter", name).into(),
            ActivityEvent::Pix(PixEvent::Block(block)) => {
                let PixBlock { number: _, tid: _, times: _, steps, of_gpu: _, unknown: _, cut_names: _, is_whole: _ } = block;
                for PixStep { at: _, what } in steps {
                    match what {
                        PixWhat::Begin(name) | PixWhat::Marker(name) => *name = self.text("mark", name).into(),
                        PixWhat::End => {}
                    }
                }
            }
        }
        true
    }

    /// The name of a file, from its path or without.
    fn file(&mut self, path: &str) -> String {
        let name = path.rsplit(['\\', '/']).next().unwrap_or_default().to_lowercase();
        if name.is_empty() {
            // A path that ends with a separator names something all the same.
            return if path.is_empty() { String::new() } else { self.text("file", path) };
        }
        let (stem, extension) = match name.rsplit_once('.') {
            Some((stem, extension)) if KEPT.contains(&extension) => (stem, extension),
            _ => (name.as_str(), ""),
        };
        // What one program is called after is also the name of its PDB.
        let stem = self.numbered(kind_of(extension), "file", stem.to_owned());
        if extension.is_empty() { stem } else { format!("{stem}.{extension}") }
    }

    fn path(&mut self, path: &str) -> String {
        if path.is_empty() { String::new() } else { format!(r"\anonymous\{}", self.file(path)) }
    }

    /// A text as a whole; texts that differ in case only have different names, as they are different.
    fn text(&mut self, kind: &'static str, text: &str) -> String {
        if text.is_empty() { String::new() } else { self.numbered(kind, kind, text.to_owned()) }
    }

    /// The replacement of a name; names of one `space` share it.
    fn numbered(&mut self, kind: &'static str, space: &'static str, name: String) -> String {
        let counts = &mut self.counts;
        let new = || {
            let count = counts.entry(kind).or_default();
            *count += 1;
            format!("{kind}-{count}")
        };
        self.known.entry((space, name)).or_insert_with(new).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::Guid;
    use crate::events::{EventSchema, ImageChange, MethodChange, ProcessChange, Untold};
    use crate::units::{Layer, Pid, PointerSize, Tid};

    #[test]
    fn a_name_has_one_replacement_wherever_it_stands() {
        let mut names = Names::default();
        assert_eq!(names.file("Game.exe"), "program-1.exe");
        assert_eq!(names.path(r"\Device\HarddiskVolume3\Secret\GAME.EXE"), r"\anonymous\program-1.exe");
        assert_eq!(names.file(r"D:\build\game.pdb"), "program-1.pdb");
        assert_eq!(names.file("secret.dll"), "library-1.dll");
        assert_eq!(names.file("other.dll"), "library-2.dll");
        assert_eq!(names.file("System"), "file-1");
        assert_eq!(names.file("tool.of-a-customer"), "file-2", "an extension can be a name");
        assert_eq!(names.file(r"C:\folder\"), "file-3");
        assert_eq!([names.file(""), names.path(""), names.text("tracker", "")], [""; 3]);
    }

    /// An event of each kind that has a text, with the same word in each of them.
    fn with_texts() -> Vec<Event> {
        const SECRET: &str = "Secret";
        let text = || SECRET.to_owned();
        let mark =
            |text| MarkEvent { provider: Guid::from_bytes([7; 16]), provider_name: Some(SECRET.into()), text, lasted_ms: None };
        let untold = Untold { id: 1, version: 0, pointer: PointerSize::Eight, payload: SECRET.as_bytes().into() };
        let schema = EventSchema {
            provider: Guid::from_bytes([7; 16]),
            provider_name: SECRET.into(),
            id: 1,
            version: 0,
            name: SECRET.into(),
            fields: Box::default(),
        };
        let method = ManagedMethod { name: text(), signature: text(), ..ManagedMethod::default() };
        let activity = [
            ActivityEvent::Mark(mark(MarkText::Known(SECRET.into()))),
            ActivityEvent::Mark(mark(MarkText::Untold(untold))),
            ActivityEvent::Schema(schema),
            ActivityEvent::Managed(ManagedEvent::Method(MethodChange::Load, Box::new(method))),
            ActivityEvent::Managed(ManagedEvent::Module { id: 1, path: SECRET.into() }),
            ActivityEvent::Pix(PixEvent::Counter { name: SECRET.into(), value: 1.0 }),
            ActivityEvent::Pix(PixEvent::Block(PixBlock {
                number: 0,
                tid: Tid(1),
                times: (1, 2),
                steps: [PixWhat::Begin(SECRET.into()), PixWhat::Marker(SECRET.into())].map(|what| PixStep { at: 1, what }).into(),
                of_gpu: 0,
                unknown: 0,
                cut_names: 0,
                is_whole: true,
            })),
        ];
        let info = ProcessInfo { name: text(), command_line: text(), ..ProcessInfo::default() };
        let image = ImageInfo { path: text(), ..ImageInfo::default() };
        let heap = |name| (Layer::Tracker, 1, Some(Box::<str>::from(name)));
        let ((layer, heap, name), (.., again)) = (heap(SECRET), heap(SECRET));
        let others = [
            Event::Process(ProcessChange::Start, Box::new(info)),
            Event::Image(ImageChange::Load, Box::new(image)),
            Event::ImageFile(Box::new(ImageFile { base: 1, size: 1, time_stamp: 1, name: text() })),
            Event::ImageId(Box::new(ImageId { base: 1, guid: Guid::from_bytes([7; 16]), age: 1, pdb: text() })),
            Event::ThreadName(SECRET.into()),
            Event::HeapOpen { layer, heap, name },
            Event::HeapClose { layer, heap, name: again },
            Event::Volume(Box::new((text(), text()))),
        ];
        activity.map(|event| Event::Activity(Box::new(event))).into_iter().chain(others).collect()
    }

    #[test]
    fn no_text_of_any_event_stays() {
        let mut names = Names::default();
        for event in with_texts() {
            let mut record = Record { time: 1, pid: Pid(1), tid: Tid(1), event };
            let before = format!("{record:?}");
            assert!(before.contains("Secret") || before.contains("[83, 101, 99"), "{before}");
            let is_kept = names.replace(&mut record);
            assert!(!is_kept || !format!("{record:?}").contains("Secret"), "{record:?}");
        }
    }

    #[test]
    fn trackers_that_differ_in_case_stay_two() {
        let mut names = Names::default();
        assert_eq!(names.text("tracker", "Physics"), "tracker-1");
        assert_eq!(names.text("tracker", "physics"), "tracker-2");
        assert_eq!(names.text("tracker", "Physics"), "tracker-1");
        assert_eq!(names.text("thread", "Physics"), "thread-1");
    }
}
