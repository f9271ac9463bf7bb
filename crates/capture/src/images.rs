//! Facts that only the recording machine knows: the builds of images, the drives of volumes, and what the manifests say
//! that are installed. Other machines and other tools need them to find symbols, and to show events in words.

use std::fmt;
use std::io::{Seek, Write};
use std::sync::Arc;

use crate::etl::RawEvent;
use crate::etl::write::WriteError;
use crate::events::encode::RecordWriter;
use crate::events::{Described, Event, ImageChange, ImageFile, ImageId, ImageInfo, Record, UndescribedKind, image};
use crate::paths;
use crate::pe::{self, Build, Likeness};
use crate::tables::KeyedMap;
use crate::units::{Pid, Tid};

/// The recording machine.
pub trait Images {
    /// Reads the headers of an image's file; `nt_path` is its path as the kernel reports it.
    fn identity(&mut self, nt_path: &str) -> Option<pe::Image>;

    /// The NT paths of volumes with their drives: `\Device\HarddiskVolume3`, `C:`.
    fn volumes(&mut self) -> Vec<(String, String)>;

    /// Describes events by the manifests that are installed.
    fn describe(&mut self, _kinds: &[UndescribedKind]) -> Described {
        Described::default()
    }
}

/// The manifests that are installed on this machine. Asking them may fail in any way, and then names are missing: that
/// is no error of a recording.
pub trait Manifests: fmt::Debug + Send + Sync {
    /// Describes these kinds of events, as far as manifests define them.
    fn describe(&self, kinds: &[UndescribedKind]) -> Described;
}

/// Reads the files of images on this machine.
#[derive(Clone, Debug, Default)]
pub struct DiskImages {
    volumes: Vec<(String, String)>,
    manifests: Option<Arc<dyn Manifests>>,
}

impl DiskImages {
    /// Creates a reader for these volumes.
    pub fn new(volumes: Vec<(String, String)>) -> Self {
        Self { volumes, manifests: None }
    }

    /// Also describes events by these manifests.
    pub fn with_manifests(self, manifests: Option<Arc<dyn Manifests>>) -> Self {
        Self { manifests, ..self }
    }
}

impl Images for DiskImages {
    fn identity(&mut self, nt_path: &str) -> Option<pe::Image> {
        pe::read(&paths::on_disk(nt_path, &self.volumes)?)
    }

    fn volumes(&mut self) -> Vec<(String, String)> {
        self.volumes.clone()
    }

    fn describe(&mut self, kinds: &[UndescribedKind]) -> Described {
        let manifests = self.manifests.as_ref().filter(|_| !kinds.is_empty());
        manifests.map_or_else(Described::default, |manifests| manifests.describe(kinds))
    }
}

/// Writes the identity of an image before the event of the image.
pub(super) struct Identities<'a> {
    images: &'a mut dyn Images,
    /// Image headers by path; each file is read once.
    known: KeyedMap<String, Option<pe::Image>>,
    /// Images whose identity is written, with their paths.
    named: KeyedMap<(Pid, u64), String>,
}

impl<'a> Identities<'a> {
    pub(super) fn new(images: &'a mut dyn Images) -> Self {
        Self { images, known: KeyedMap::default(), named: KeyedMap::default() }
    }

    /// The number of paths, and how many of them have an identity.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.known.len() as u64, self.known.values().flatten().count() as u64)
    }

    /// Writes the descriptions of events that the installed manifests have. Returns the number of events, and why some
    /// are missing.
    pub(super) fn write_descriptions<W: Write + Seek>(
        &mut self,
        w: &mut RecordWriter<W>,
        time: i64,
        kinds: &[UndescribedKind],
    ) -> Result<(u64, Option<String>), WriteError> {
        let Described { infos, failure } = self.images.describe(kinds);
        let mut written = 0;
        for info in infos {
            match w.put_event_info(time, &info) {
                Ok(()) => written += 1,
                // Only this one is missing.
                Err(WriteError::TooLarge { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok((written, failure))
    }

    /// Writes the drives of the volumes. Returns the number of events.
    pub(super) fn write_volumes<W: Write + Seek>(&mut self, w: &mut RecordWriter<W>, time: i64) -> Result<u64, WriteError> {
        let volumes = self.images.volumes();
        let written = volumes.len() as u64;
        for (nt, dos) in volumes {
            let event = Event::Volume(Box::new((with_slash(nt), with_slash(dos))));
            w.put(0, &Record { time, pid: Pid::NONE, tid: Tid::NONE, event }, &[])?;
        }
        Ok(written)
    }

    /// Writes the identity of the image in an event, which is written next, unless it is written already. Returns the
    /// number of events.
    pub(super) fn write_before<W: Write + Seek>(
        &mut self,
        w: &mut RecordWriter<W>,
        processor: u16,
        event: &[u8],
    ) -> Result<u64, WriteError> {
        let record = RawEvent::parse(event).and_then(|raw| image(&raw));
        let Some(Record { time, pid, tid, event: Event::Image(change, info) }) = record else { return Ok(0) };
        let mut written = 0;
        let key = (pid, info.base);
        // A load starts a new life of the image, even if no unload event was seen.
        let is_new = change == ImageChange::Load || self.named.get(&key) != Some(&info.path);
        if is_new && let Some(image) = self.identity(change, &info) {
            let name = info.path.rsplit('\\').next().unwrap_or_default().to_owned();
            let file = ImageFile { base: info.base, size: image.build.size, time_stamp: image.build.time_stamp, name };
            let id = image.pdb.map(|pdb| ImageId { base: info.base, guid: pdb.guid, age: pdb.age, pdb: pdb.path });
            w.put(processor, &Record { time, pid, tid: Tid::NONE, event: Event::ImageFile(Box::new(file)) }, &[])?;
            written += 1;
            if let Some(id) = id {
                w.put(processor, &Record { time, pid, tid, event: Event::ImageId(Box::new(id)) }, &[])?;
                written += 1;
            }
        }
        match change {
            ImageChange::Unload => drop(self.named.remove(&key)),
            _ => drop(self.named.insert(key, info.path)),
        }
        Ok(written)
    }

    /// The identity in the file, if it is still the file that was mapped.
    fn identity(&mut self, change: ImageChange, info: &ImageInfo) -> Option<pe::Image> {
        if !self.known.contains_key(&info.path) {
            self.known.insert(info.path.clone(), self.images.identity(&info.path));
        }
        let image = self.known.get(&info.path)?.as_ref()?;
        // Rundown events have no time stamp, or, for some kernel modules, a wrong one.
        let time_stamp = if change == ImageChange::Rundown { 0 } else { info.time_stamp };
        let mapped = Build { time_stamp, size: info.size, checksum: info.checksum };
        (mapped.compare(&image.build) != Likeness::Other).then(|| image.clone())
    }
}

/// Appends a backslash, as volume paths in merged traces have it.
fn with_slash(mut path: String) -> String {
    if !path.ends_with('\\') {
        path.push('\\');
    }
    path
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::etl::write::{Descriptor, Writer};
    use crate::etl::{Guid, ReadBuffer, SessionHeader, Source, TraceFile};
    use crate::events::EventSchema;
    use crate::events::ImageChange::{Load, Rundown, Unload};
    use crate::problem::Problems;
    use crate::units::PointerSize;

    const PDB: Guid = Guid::new(1, 2, 3, [4; 8]);

    struct Machine;

    impl Images for Machine {
        fn identity(&mut self, nt_path: &str) -> Option<pe::Image> {
            let pdb = pe::CodeView { guid: PDB, age: 3, path: "a.pdb".to_owned() };
            let image = pe::Image {
                build: Build { time_stamp: 7, size: 0x5000, checksum: 3 },
                pdb: Some(pdb),
                bytes: 0,
                has_dwarf: false,
            };
            match nt_path {
                "a.dll" => Some(image),
                "b.dll" => Some(pe::Image { pdb: None, ..image }),
                _ => None,
            }
        }

        fn volumes(&mut self) -> Vec<(String, String)> {
            vec![(r"\Device\Volume1".to_owned(), "C:".to_owned())]
        }
    }

    fn writer() -> RecordWriter<Cursor<Vec<u8>>> {
        RecordWriter::new(Writer::new(Cursor::new(Vec::new()), SessionHeader::default()).unwrap())
    }

    /// All events except the session header, as bytes.
    fn events_of(w: RecordWriter<Cursor<Vec<u8>>>) -> Vec<Vec<u8>> {
        let bytes = w.finish().unwrap().into_inner().leak();
        let file = TraceFile::from_source(Source::Memory(bytes), "a.etl".to_owned()).unwrap();
        let (mut scratch, mut problems, mut all) = (ReadBuffer::default(), Problems::default(), Vec::new());
        for buffer in &file.buffers[1..] {
            file.read_buffer(buffer, &mut scratch, &mut problems);
            let mut events = scratch.events();
            while let Some(event) = events.next() {
                all.push(events.bytes_of(&event).to_vec());
            }
        }
        all
    }

    /// Number of events written before an image event with these values, of process 10.
    fn written(
        identities: &mut Identities<'_>,
        change: ImageChange,
        path: &str,
        (size, time_stamp, checksum): (u64, u32, u32),
    ) -> u64 {
        let info = ImageInfo { base: 0x1_0000, size, checksum, time_stamp, path: path.to_owned() };
        let mut w = writer();
        let event = Event::Image(change, Box::new(info));
        w.put(0, &Record { time: 5, pid: Pid(10), tid: Tid(11), event }, &[]).unwrap();
        let event = events_of(w).remove(0);
        let mut out = writer();
        let n = identities.write_before(&mut out, 0, &event).unwrap();
        let all = events_of(out);
        assert!(all.iter().all(|bytes| RawEvent::parse(bytes).is_some_and(|raw| raw.time == 5)));
        assert_eq!(all.len() as u64, n);
        n
    }

    #[test]
    fn each_life_of_an_image_has_its_identity_once() {
        let mut machine = Machine;
        let mut identities = Identities::new(&mut machine);
        let steps = [(Load, 2), (Rundown, 0), (Unload, 0), (Rundown, 2), (Rundown, 0), (Load, 2), (Unload, 0), (Unload, 2)];
        for (n, (change, expected)) in steps.into_iter().enumerate() {
            assert_eq!(written(&mut identities, change, "a.dll", (0x5000, 7, 0)), expected, "step {n}");
        }
        assert_eq!(identities.counts(), (1, 1));
    }

    #[test]
    fn a_file_of_another_build_is_not_taken_for_the_image() {
        let mut machine = Machine;
        let mut identities = Identities::new(&mut machine);
        let mut of = |change, path, build| written(&mut identities, change, path, build);
        assert_eq!(of(Load, "a.dll", (0x6000, 7, 0)), 0, "another size");
        assert_eq!(of(Load, "a.dll", (0x5000, 8, 0)), 0, "another time stamp");
        assert_eq!(of(Load, "a.dll", (0x5000, 0, 0)), 2, "none");
        assert_eq!(of(Rundown, "b.dll", (0x4FFF, 8, 0)), 1, "of rundowns it may be wrong; no PDB");
        assert_eq!(of(Load, "a.dll", (0x5000, 0, 4)), 0, "another checksum");
        assert_eq!(of(Load, "a.dll", (0x5000, 0, 3)), 2, "the same");
        assert_eq!(of(Load, "c.dll", (0x5000, 7, 0)), 0, "no such file");
        assert_eq!(of(Load, "a.dll", (u64::MAX, 7, 0)), 0);
    }

    #[test]
    fn volumes_are_written_as_merged_traces_have_them() {
        let mut machine = Machine;
        let mut w = writer();
        assert_eq!(Identities::new(&mut machine).write_volumes(&mut w, 1).unwrap(), 1);
        let event = events_of(w).remove(0);
        let text: Vec<u8> = "\\Device\\Volume1\\\0C:\\\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(RawEvent::parse(&event).unwrap().payload, text);
    }

    #[test]
    fn what_manifests_tell_is_written_and_what_is_too_large_is_not() {
        #[derive(Debug)]
        struct Two;
        impl Manifests for Two {
            fn describe(&self, kinds: &[UndescribedKind]) -> Described {
                let info = |kind: &UndescribedKind| EventSchema::named(kind.key(), "My-Game", "Level", "").to_info();
                let infos = kinds.iter().map(info).chain([vec![0; 70_000]]).collect();
                Described { infos, failure: Some("one is odd".to_owned()) }
            }
        }
        let kind =
            UndescribedKind { provider: PDB, id: 7, version: 1, descriptor: Descriptor::default(), pointer: PointerSize::Eight };
        let mut machine = DiskImages::default().with_manifests(Some(Arc::new(Two)));
        assert_eq!(machine.describe(&[]), Described::default(), "nobody is asked for nothing");
        let mut w = writer();
        let (written, failure) = Identities::new(&mut machine).write_descriptions(&mut w, 9, &[kind]).unwrap();
        assert_eq!((written, failure.as_deref()), (1, Some("one is odd")));
        let event = events_of(w).remove(0);
        let raw = RawEvent::parse(&event).unwrap();
        let schema = EventSchema::from_info(raw.payload).unwrap();
        assert_eq!((raw.time, schema.id, &*schema.name), (9, 7, "Level"));
        let mut plain = DiskImages::default();
        assert_eq!(Identities::new(&mut plain).write_descriptions(&mut writer(), 9, &[kind]).unwrap(), (0, None));
    }
}
