//! A trace made of another profiler's recording of a real program: its allocations, its stacks, its images. So
//! measurements have real traffic, too.
//!
//! The input is heaptrack's interpreted text, versions 2 and 3 (facts: the writer and reader of KDE's heaptrack 1.4,
//! `src/interpret` and `src/analyze/accumulatedtracedata.cpp`). A line is a letter and hexadecimal numbers: `s` a
//! string, `i` an instruction with its module, `t` a frame and the one around it, `a` size and stack of an
//! allocation, `+` and `-` an allocated and a freed block of it, `c` the time in milliseconds. Numbers count from 1,
//! those of allocations from 0; other lines are ignored.
//!
//! Facts that a recording lacks are made up: addresses, as an allocator would give them (of two blocks of the same
//! allocation the younger is freed), threads and processors, which take turns, and times between two milliseconds.
//!
//! Memory: the whole recording, 8 bytes per event.

use std::io::{BufRead, Seek, Write};

use super::cast::{Module, Process};
use super::heap::Addresses;
use super::stacks::{Caller, StackSet, StackWriter};
use super::timeline::write_all;
use super::{Clock, FREQUENCY, Options, START_TICKS, SynthError, close};
use crate::etl::write::WriteError;
use crate::events::Event;
use crate::events::encode::RecordWriter;
use crate::random::Random;
use crate::tables::KeyedMap;
use crate::units::{Layer, PointerSize, Tid};

/// Maximum events that a thread writes in a row.
const TURN: u64 = 4000;

/// Maximum frames of a stack; recordings can have circles.
const DEEPEST: usize = 192;

/// An allocation, a free, or a time.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Alloc(u32),
    Free(u32),
    /// Milliseconds since the start.
    Time(u32),
}

/// A recording as it was read.
#[derive(Debug, Default)]
struct Recording {
    strings: Vec<String>,
    /// Address, and number of the module.
    instructions: Vec<(u64, u32)>,
    /// Number of the instruction, and of the frame around it.
    frames: Vec<(u32, u32)>,
    /// Size, and number of the innermost frame.
    allocations: Vec<(u64, u32)>,
    happenings: Vec<Happening>,
}

/// Writes `recording` as a trace into `out` and returns `out`. Of the options, the form of stacks, compression,
/// processors, threads and the seed count.
pub fn generate_recorded<W: Write + Seek>(recording: impl BufRead, options: &Options, out: W) -> Result<W, SynthError> {
    let recording = Recording::read(recording)?;
    let options = Options { processes: 1, heaps: 1, speed: None, ..options.clone() };
    super::check(&options)?;
    let (mut w, mut clock) = super::open(&options, out)?;
    let process = recording.process(options.threads);
    write_all(process.start(clock.after(1000), 0, Tid(3996), 7), &mut w)?;
    recording.play(&options, &process, &mut clock, &mut w)?;
    Ok(w.finish()?)
}

/// The numbers of a line, in hex.
fn numbers(words: &str) -> impl Iterator<Item = u64> + '_ {
    words.split(' ').map_while(|word| u64::from_str_radix(word, 16).ok())
}

/// The item with a number that counts from 1; `None` for 0.
fn by_number<T>(list: &[T], number: u32) -> Option<&T> {
    list.get((number as usize).checked_sub(1)?)
}

impl Recording {
    fn read(mut text: impl BufRead) -> Result<Self, SynthError> {
        let mut recording = Self::default();
        let (mut line, mut has_length) = (Vec::new(), false);
        while text.read_until(b'\n', &mut line).map_err(WriteError::from)? > 0 {
            let words = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line));
            if let Some((kind, words)) = words.split_once(' ') {
                match kind {
                    "v" => has_length = numbers(words).nth(1).is_some_and(|version| version >= 3),
                    _ if recording.take(kind, words, has_length).is_none() => {
                        return Err(SynthError::BadOption("this is no recording of heaptrack as text, or it is damaged"));
                    }
                    _ => {}
                }
            }
            line.clear();
        }
        if recording.happenings.is_empty() {
            return Err(SynthError::BadOption("there is no allocation in this; heaptrack's files have to be expanded first"));
        }
        Ok(recording)
    }

    /// Reads one line; `None` if it is damaged.
    fn take(&mut self, kind: &str, words: &str, has_length: bool) -> Option<()> {
        let small = |number: u64| u32::try_from(number).ok();
        let mut of = numbers(words);
        match kind {
            "s" => {
                let text = if has_length { words.split_once(' ').map_or("", |(_, text)| text) } else { words };
                self.strings.push(text.to_owned());
            }
            "i" => self.instructions.push((of.next()?, small(of.next().unwrap_or(0))?)),
            "t" => {
                let (instruction, parent) = (small(of.next()?)?, small(of.next()?)?);
                // A frame comes after the one around it.
                self.frames.push((instruction, if parent as usize <= self.frames.len() { parent } else { 0 }));
            }
            "a" => self.allocations.push((of.next()?, small(of.next()?)?)),
            "+" => self.happenings.push(Happening::Alloc(self.allocation(of.next()?)?)),
            "-" => self.happenings.push(Happening::Free(self.allocation(of.next()?)?)),
            "c" => self.happenings.push(Happening::Time(small(of.next()?)?)),
            _ => {}
        }
        Some(())
    }

    /// Checks the number of an allocation; these count from 0.
    fn allocation(&self, number: u64) -> Option<u32> {
        u32::try_from(number).ok().filter(|&number| (number as usize) < self.allocations.len())
    }

    /// The program, with an image for each module that contains an instruction.
    fn process(&self, threads: u32) -> Process {
        let mut ranges: Vec<Option<(u64, u64)>> = vec![None; self.strings.len()];
        for &(address, module) in &self.instructions {
            if let Some(range) = (module as usize).checked_sub(1).and_then(|module| ranges.get_mut(module)) {
                let (from, to) = range.get_or_insert((address, address));
                (*from, *to) = (address.min(*from), address.max(*to));
            }
        }
        let module = |(path, range): (&String, Option<(u64, u64)>)| {
            let (from, to) = range?;
            let file = path.rsplit('/').next().unwrap_or(path);
            let base = from & !0xFFFF;
            Some(Module::new(r"\Device\HarddiskVolume3\recorded\", file, base, to.saturating_sub(base).saturating_add(0x1000)))
        };
        let modules: Vec<Module> = self.strings.iter().zip(ranges).filter_map(module).collect();
        Process {
            pid: 6000,
            parent: 3988,
            name: "recorded.exe".to_owned(),
            command_line: "recorded.exe".to_owned(),
            sid: crate::events::encode::system::SID_USER,
            threads: (0..threads).map(|n| Tid(6004 + 4 * n)).collect(),
            modules,
        }
    }

    /// The number of the stack of each allocation, and the set of distinct stacks that it refers to.
    fn stacks(&self) -> (Vec<usize>, StackSet) {
        let (mut set, mut known) = (StackSet::default(), KeyedMap::default());
        let mut frames = Vec::new();
        let number = |&(_, innermost): &(u64, u32)| {
            *known.entry(innermost).or_insert_with(|| {
                let mut at = innermost;
                while let Some(&(instruction, parent)) = by_number(&self.frames, at).filter(|_| frames.len() < DEEPEST) {
                    frames.extend(by_number(&self.instructions, instruction).map(|&(address, _)| address));
                    at = parent;
                }
                set.push(frames.drain(..))
            })
        };
        let numbers = self.allocations.iter().map(number).collect();
        (numbers, set)
    }

    fn play<W: Write + Seek>(
        &self,
        options: &Options,
        process: &Process,
        clock: &mut Clock,
        w: &mut RecordWriter<W>,
    ) -> Result<(), SynthError> {
        let mut random = Random::new(options.seed);
        let (stack_of, set) = self.stacks();
        let mut stacks = StackWriter::new(options, vec![set]);
        let mut heap = Addresses::new(0, PointerSize::Eight);
        let layer = Layer::Heap;
        let mut alive: Vec<Vec<u64>> = vec![Vec::new(); self.allocations.len()];
        let (mut caller, mut turn) = (Caller::any(process, options.processors.into(), &mut random), 0);
        w.put(caller.processor, &caller.record(clock.after(100), heap.opened()), &[])?;
        for happening in &self.happenings {
            if turn == 0 {
                (caller, turn) = (Caller::any(process, options.processors.into(), &mut random), random.between(1, TURN));
            }
            turn -= 1;
            match *happening {
                Happening::Time(ms) => clock.now = clock.now.max(START_TICKS + i64::from(ms) * (FREQUENCY / 1000)),
                Happening::Alloc(number) => {
                    let (size, _) = self.allocations[number as usize];
                    let address = heap.take(size);
                    alive[number as usize].push(address);
                    let time = clock.after(1 + random.below(6) as i64);
                    let event = Event::Alloc { layer, heap: heap.handle(), address, size };
                    w.put(caller.processor, &caller.record(time, event), &[])?;
                    stacks.put(w, clock, caller, time, (0, stack_of[number as usize]))?;
                }
                Happening::Free(number) => {
                    let Some(address) = alive[number as usize].pop() else { continue };
                    heap.give_back(address, self.allocations[number as usize].0);
                    let event = Event::Free { layer, heap: heap.handle(), address };
                    w.put(caller.processor, &caller.record(clock.after(1 + random.below(6) as i64), event), &[])?;
                }
            }
        }
        write_all(process.end(clock.after(100), 0, 5), w)?;
        clock.after(100);
        Ok(close(w, clock, &mut stacks, &[])?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::StackForm;
    use super::*;
    use crate::etl::TraceFile;
    use crate::load::{Capture, Unwatched, load};
    use crate::model::Trace;
    use crate::problem::Problems;

    const TEXT: &str = "v 10400 3\nX ./game --fast\ns 5 libc\ns 9 /opt/game\ni 7f0000001010 1\ni 400020 2 1\ni 400030 2\n\
        t 3 0\nt 2 1\nt 1 2\na 20 3\na 1000000 2\nc 1\n+ 0\n+ 1\n+ 0\nc 5\n- 0\nR 10\n- 1\n+ 1\n";

    fn trace(text: &str, stacks: StackForm) -> Result<Trace, SynthError> {
        let options = Options { stacks, ..Options::default() };
        let bytes = generate_recorded(text.as_bytes(), &options, Cursor::new(Vec::new()))?.into_inner();
        let file = TraceFile::from_source(crate::etl::Source::Memory(bytes.leak()), "recorded".to_owned()).unwrap();
        Ok(load(&Capture { files: vec![file], problems: Problems::default() }, &mut Unwatched).unwrap())
    }

    #[test]
    fn a_recording_has_its_blocks_stacks_and_images() {
        for form in [StackForm::Walk, StackForm::Keys] {
            let trace = trace(TEXT, form).unwrap();
            let rows: Vec<_> = trace.rows.chunks().flat_map(|chunk| chunk.rows()).map(|(_, row)| row).collect();
            let told: Vec<_> = rows.iter().map(|row| (row.size, row.death != crate::units::Ticks::NEVER)).collect();
            assert_eq!(told, [(0x20, false), (0x100_0000, true), (0x20, true), (0x100_0000, false)]);
            assert!(rows[0].address != rows[2].address);
            assert_eq!(trace.quality.unmatched_frees + trace.quality.superseded_allocations, 0);
            let frames = |row: usize| {
                let stack = trace.site(rows[row].site).stack;
                trace.stacks.chain(stack).map(|node| trace.stacks.address(node)).collect::<Vec<_>>()
            };
            assert_eq!((frames(0), frames(1)), (vec![0x7F00_0000_1010, 0x40_0020, 0x40_0030], vec![0x40_0020, 0x40_0030]));
            let process = trace.processes.iter().find(|process| process.name == "recorded.exe").unwrap();
            let images: Vec<_> = process.modules.iter().map(|module| (module.name(), module.base)).collect();
            assert_eq!(images, [("libc", 0x7F00_0000_0000), ("game", 0x40_0000)]);
        }
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        for text in ["", "v 10400 3\n", "a 10 0\n+ 5\n", "+ x\n", "t 1\n", "\u{28b5}\u{2f}\n"] {
            assert!(matches!(trace(text, StackForm::Walk), Err(SynthError::BadOption(_))), "{text:?}");
        }
        // A frame that refers to one that has not come yet, and a free of nothing.
        assert!(trace("i 10 0\nt 1 1\na 8 1\n+ 0\n- 0\n- 0\n", StackForm::Walk).is_ok());
    }
}
