//! The traces that are damaged: ours in all forms, and pieces of real ones. Each is
//! taken apart into buffers with their events laid open, so that damage can be done
//! before compression as well as after it.

use std::io::Cursor;
use std::path::Path;

use highwater::etl::compression::{Algorithm, xpress};
use highwater::etl::{BUFFER_HEADER, BufferInfo, Events, Source, TraceFile};
use highwater_dev::synth::{Nightly, Options, Scenario, StackForm, generate};

use crate::common::game::game;
use crate::common::hostile_names::{ESCAPES, all_called};
use crate::common::trace::small;

/// A trace, taken apart.
pub struct Base {
    pub name: String,
    pub pieces: Vec<Piece>,
}

impl Base {
    /// The whole file.
    pub fn bytes(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|piece| piece.raw.iter().copied()).collect()
    }
}

/// A buffer.
#[derive(Clone)]
pub struct Piece {
    /// As it stands in the file, its header included.
    pub raw: Vec<u8>,
    /// Header and events, expanded; what the raw bytes are made of again when the
    /// events were changed.
    pub plain: Vec<u8>,
    pub compressed: bool,
}

/// An event in [`Piece::plain`].
#[derive(Clone, Copy)]
pub struct Place {
    pub at: usize,
    /// Bytes with padding.
    pub len: usize,
    /// Bytes before the payload.
    pub header: usize,
}

impl Piece {
    /// All its events.
    pub fn events(&self) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for event in Events::new(&self.plain) {
            let header = event.payload.as_ptr() as usize - self.plain.as_ptr() as usize - event.offset;
            let len = (header + event.payload.len()).next_multiple_of(8).min(self.plain.len() - event.offset);
            places.push(Place { at: event.offset, len, header });
        }
        places
    }

    /// Makes the raw bytes anew from the events, with the sizes in the header that fit.
    pub fn rebuild(&mut self) {
        let end = self.plain.len() as u32;
        for at in [0x04, 0x08, 0x30] {
            self.plain[at..at + 4].copy_from_slice(&end.to_le_bytes());
        }
        let before = self.raw.len();
        self.raw.clear();
        if self.compressed {
            self.raw.extend_from_slice(&self.plain[..BUFFER_HEADER]);
            self.raw.extend(xpress::compress(&self.plain[BUFFER_HEADER..]));
        } else {
            self.raw.extend_from_slice(&self.plain);
            self.raw.resize(before.max(self.plain.len()), 0xFF);
        }
        let size = (self.raw.len() as u32).to_le_bytes();
        self.raw[..4].copy_from_slice(&size);
    }
}

/// Events of each generated base: some 10 to 40 KB of buffers.
const EVENTS: u64 = 160;

/// Traces by our own writer: three scenarios, three forms of stacks, plain and
/// compressed, several processors, mixed headers and 32-bit processes here and
/// there; and the small one whose buffers have one size and room at their ends.
pub fn ours() -> Vec<Base> {
    let mut bases = vec![
        take_apart("small", small(false), false),
        take_apart("small, compressed", small(true), false),
        take_apart("of a game", game(), false),
        take_apart("of hostile names", all_called(ESCAPES, 24), true),
    ];
    for (i, scenario) in [Scenario::Heap, Scenario::Commit, Scenario::Trackers].into_iter().enumerate() {
        for (j, stacks) in [StackForm::Walk, StackForm::Keys, StackForm::None].into_iter().enumerate() {
            for compressed in [false, true] {
                let variant = i + j + usize::from(compressed);
                let options = Options {
                    scenario,
                    stacks,
                    compressed: compressed.then_some(Algorithm::Xpress),
                    seed: variant as u64,
                    events: EVENTS,
                    processors: 1 + variant as u16 % 4,
                    processes: 2,
                    threads: 2,
                    heaps: 2,
                    distinct_stacks: 12,
                    live: 60,
                    wow64: variant % 3 == 1,
                    free_stacks: variant % 3 == 2,
                    mixed_headers: variant % 2 == 1,
                    counters: variant % 2 == 0,
                    gpu: variant % 2 == 0,
                    pix: variant % 3 == 0,
                    samples: if variant % 2 == 0 { 40 } else { 0 },
                    faults: true,
                    lost_buffers: u32::from(variant % 4 == 3),
                    nightly: Nightly::default(),
                    speed: None,
                };
                let bytes = generate(&options, Cursor::new(Vec::new())).unwrap().into_inner();
                bases.push(take_apart(&format!("{scenario:?}, {stacks:?}, compressed: {compressed}"), bytes, true));
            }
        }
    }
    bases
}

/// Most bytes of a piece of a real trace.
const MAX_CUT: usize = 160 << 10;

/// The first buffer and some others of each real trace.
pub fn real(folder: &Path) -> Vec<Base> {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut bases = Vec::new();
    for path in paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "etl")) {
        let bytes = std::fs::read(&path).unwrap();
        let file = TraceFile::open(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // From three places: begin, middle and end hold different things.
        let count = file.buffers.len();
        let mut picked: Vec<usize> = (0..4).chain(count / 2..count / 2 + 3).chain(count.saturating_sub(3)..count).collect();
        picked.retain(|&i| i < count);
        picked.sort_unstable();
        picked.dedup();
        let mut pieces = Vec::new();
        let mut size = 0;
        for index in picked {
            let piece = piece_of(&file, &file.buffers[index], &bytes, true);
            if size == 0 || size + piece.raw.len() <= MAX_CUT {
                size += piece.raw.len();
                pieces.push(piece);
            }
        }
        if size <= 2 * MAX_CUT {
            bases.push(Base { name, pieces });
        }
    }
    bases
}

fn take_apart(name: &str, bytes: Vec<u8>, trim: bool) -> Base {
    let bytes: &'static [u8] = bytes.leak();
    let file = TraceFile::from_source(Source::Memory(bytes), name.to_owned()).unwrap();
    let pieces = file.buffers.iter().map(|info| piece_of(&file, info, bytes, trim)).collect();
    Base { name: name.to_owned(), pieces }
}

/// One buffer; with `trim` without the filler behind its events, which would be
/// most of a small trace.
fn piece_of(file: &TraceFile, info: &BufferInfo, bytes: &[u8], trim: bool) -> Piece {
    let start = info.offset as usize;
    let raw = bytes[start..bytes.len().min(start + info.size as usize)].to_vec();
    let mut plain = raw[..BUFFER_HEADER].to_vec();
    if info.is_compressed() {
        let (end, _) = info.valid_end(file.header.buffer_size as usize);
        xpress::decompress(&raw[BUFFER_HEADER..], &mut plain, end - BUFFER_HEADER).unwrap();
    } else {
        let (end, _) = info.valid_end(raw.len());
        plain.extend_from_slice(&raw[BUFFER_HEADER..end]);
    }
    let mut piece = Piece { raw, plain, compressed: info.is_compressed() };
    if trim && !piece.compressed {
        piece.raw.truncate(BUFFER_HEADER);
        piece.rebuild();
    }
    piece
}
