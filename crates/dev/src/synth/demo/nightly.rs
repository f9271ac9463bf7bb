//! One of many captures of the demo's program, as a fleet of machines records them each night: short, with numbers
//! that the caller chooses, so that questions about all of them have known answers.
//!
//! The program is at another address in each ([`Nightly::slide`]), as on real machines. It ends half a second before
//! the capture does. Memory of [`APP_PID`] that is alive then:
//! - heap: [`Nightly::leaks`] samples of [`LEAK_SIZE`] bytes by `InnerLoopOperation`, and
//!   [`Nightly::settings`] settings of [`SETTING_SIZE`] bytes by `Array<Setting>::Grow`;
//! - tracker: [`Nightly::pairs`] pairs of [`PAIR_SIZE`] bytes by `BroadPhase::UpdatePairs`;
//! - commit: [`BUFFER`] bytes by `AllocateWorkingBuffers`, which end with the process.
//!
//! Besides, `MessageQueue::Post` allocates [`Nightly::messages`] messages of [`MESSAGE_SIZE`] bytes, which are freed again.

use super::super::cast::{self, Process, START_TICKS};
use super::super::images;
use super::super::timeline::What;
use super::app::{self, HEAP_ALLOC, MAIN, MAIN_THREAD, NEW, PHYSICS, PHYSICS_THREAD, SETTINGS, TRACKED_ALLOC, VIRTUAL_ALLOC};
use super::*;
use crate::events::{Event, mem};
use crate::units::{Layer, Tid};

/// Bytes of a setting.
pub(crate) const SETTING_SIZE: u64 = 256;
/// Bytes of a pair.
pub(crate) const PAIR_SIZE: u64 = 512;
/// Bytes of a message.
pub(crate) const MESSAGE_SIZE: u64 = 128;

/// The numbers in which the captures differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Nightly {
    /// Days after the date of all other generated traces.
    pub day: u32,
    /// Distance of the program from its usual address, in units of 64 KiB.
    pub slide: u32,
    /// Number of samples that leak.
    pub leaks: u32,
    /// Number of settings.
    pub settings: u32,
    /// Number of messages.
    pub messages: u32,
    /// Number of pairs of bodies.
    pub pairs: u32,
}

const APP_BEGINS: i64 = ms(100);
const APP_ENDS: i64 = ms(3_500);
const CAPTURE_ENDS: i64 = ms(4_000);
/// Maximum blocks of one kind, so that all are there before the program ends.
const MOST: u32 = 100_000;
const DAY: i64 = 86_400 * 10_000_000;

impl Nightly {
    /// Checks the numbers; the error is the reason why there is no such capture.
    pub(in crate::synth) fn check(&self) -> Result<(), &'static str> {
        let Self { day, slide, leaks, settings, messages, pairs } = *self;
        if day > 10_000 || slide > 0x1000 || [leaks, settings, messages, pairs].iter().any(|&count| count > MOST) {
            return Err("at most 10,000 days, a slide of 4096 and 100,000 blocks of a kind");
        }
        Ok(())
    }

    fn slide(&self) -> u64 {
        u64::from(self.slide) << 16
    }

    fn process(&self) -> Process {
        let mut process = app::process();
        process.modules[0].base += self.slide();
        process
    }

    /// Adds everything the program does.
    fn play(&self, script: &mut Script) {
        let process = self.process();
        let step = 9_000;
        script.extend(process.start(START_TICKS + APP_BEGINS, 0, Tid(3996), 8_000));
        script.extend(process.end(START_TICKS + APP_ENDS - step * process.modules.len() as i64, 0, step));
        let range = app::pages(0x01A4_9000_0000, BUFFER, mem::COMMIT | mem::RESERVE);
        let owner = script.event(MAIN_THREAD, ms(200), Event::VirtualAlloc(range));
        script.stack_from_kernel(MAIN_THREAD, owner, &[&MAIN[..], &["app!AllocateWorkingBuffers"], &VIRTUAL_ALLOC].concat());
        let (layer, heap) = (Layer::Heap, LEAKING_HEAP);
        script.event(MAIN_THREAD, ms(150), Event::HeapOpen { layer, heap, name: None });
        let name = Some(TRACKER.into());
        script.event_with_stack(
            MAIN_THREAD,
            ms(160),
            Event::HeapOpen { layer: Layer::Tracker, heap: TRACKER_HANDLE, name },
            &MAIN,
        );
        let settings = [&SETTINGS[..], &NEW].concat();
        let leaks = [&MAIN[..], &["app!InnerLoopOperation"], &NEW].concat();
        let messages = [&MAIN[..], &["app!MessageQueue::Post"], &HEAP_ALLOC].concat();
        let mut address = heap + 0x740;
        let mut block = |script: &mut Script, at: i64, size: u64, path: &[&str]| {
            let owner = script.event(MAIN_THREAD, at, Event::Alloc { layer, heap, address, size });
            script.stack(MAIN_THREAD, owner, path);
            address += size.next_multiple_of(16) + 16;
            address - size.next_multiple_of(16) - 16
        };
        for at in spread(self.settings, ms(300), ms(800)) {
            block(script, at, SETTING_SIZE, &settings);
        }
        for at in spread(self.leaks, ms(900), ms(3_300)) {
            block(script, at, LEAK_SIZE, &leaks);
        }
        for at in spread(self.messages, ms(900), ms(3_200)) {
            let address = block(script, at, MESSAGE_SIZE, &messages);
            script.event(MAIN_THREAD, at + ms(50), Event::Free { layer, heap, address });
        }
        let callers = [&PHYSICS[..], &["app!BroadPhase::UpdatePairs", "app!PhysicsHeap::Allocate"], &TRACKED_ALLOC].concat();
        for (at, n) in spread(self.pairs, ms(900), ms(3_300)).zip(0..) {
            let (layer, heap, address) = (Layer::Tracker, TRACKER_HANDLE, 0x01A4_8000_0000 + n * PAIR_SIZE);
            script.event_with_stack(PHYSICS_THREAD, at, Event::Alloc { layer, heap, address, size: PAIR_SIZE }, &callers);
        }
    }

    /// Moves addresses in the program to its address in this capture.
    fn moved(&self, frames: &mut [u64]) {
        let program = images::APP.base..images::APP.base + images::APP.size;
        frames.iter_mut().filter(|frame| program.contains(frame)).for_each(|frame| *frame += self.slide());
    }
}

/// Returns `count` times, evenly spread.
fn spread(count: u32, from: i64, to: i64) -> impl Iterator<Item = i64> {
    let (count, length) = (i64::from(count), to - from);
    (0..count).map(move |n| from + length * n / count)
}

/// Writes the capture.
pub(in crate::synth) fn write<W: Write + Seek>(nightly: &Nightly, out: W) -> Result<W, WriteError> {
    let mut script = Script::new(1);
    script.extend(cast::preamble(START_TICKS + 40));
    for (process, n) in std::iter::once(cast::kernel()).chain(cast::bystanders()).zip(0..) {
        script.extend(process.rundown(START_TICKS + 100_000 + 2_500 * n, 0, false));
        script.extend(process.rundown(START_TICKS + CAPTURE_ENDS + 2_500 * n, 0, true));
    }
    nightly.play(&mut script);
    let mut session = cast::session(4, true);
    session.start_time += i64::from(nightly.day) * DAY;
    session.boot_time += i64::from(nightly.day) * DAY;
    let mut w = RecordWriter::new(Writer::new(out, session)?);
    let mut entries = script.in_order();
    for entry in &mut entries {
        if let What::Record(_, frames) | What::Inline(_, frames) | What::Stack { frames, .. } = &mut entry.what {
            nightly.moved(frames);
        }
    }
    write_all(entries, &mut w)?;
    w.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::load::{Capture, Input, Unwatched, load};
    use crate::query::{By, Cancel, Fold, Index, ReportFilter, ReportRequest, report};
    use std::sync::Arc;

    #[test]
    fn a_capture_has_the_numbers_that_were_asked_for() {
        let nightly = Nightly { day: 9, slide: 3, leaks: 100, settings: 20, messages: 300, pairs: 40 };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.etl");
        std::fs::write(&path, write(&nightly, Cursor::new(Vec::new())).unwrap().into_inner()).unwrap();
        let trace = load(&Capture::open(&[Input::File(path)]).unwrap(), &mut Unwatched).unwrap();
        assert_eq!(trace.clock.start_time, cast::START_TIME + 9 * DAY);
        assert_eq!(trace.quality, crate::model::Quality::default());
        let never = Cancel::default();
        let index = Index::for_one_question(Arc::new(trace), &never).unwrap();
        let filter = ReportFilter { process: Some(APP_PID.to_string()), ..ReportFilter::default() };
        let request = ReportRequest {
            interval: index.trace().span,
            by: vec![By::Process],
            filter,
            top: None,
            fold: Fold::Nothing,
            sources: false,
        };
        let groups = report(&index, &request, &never).unwrap().groups;
        let numbers = |layer: &str| {
            let group = groups.iter().find(|group| group.layer == layer).unwrap();
            (group.numbers.allocated_count, group.numbers.outstanding_to)
        };
        assert_eq!(numbers("heap"), (420, 100 * LEAK_SIZE + 20 * SETTING_SIZE));
        assert_eq!(numbers("tracker"), (40, 40 * PAIR_SIZE));
        assert_eq!(numbers("commit"), (1, 0), "the process ended");
        assert!(Nightly { leaks: MOST + 1, ..nightly }.check().is_err());
    }
}
