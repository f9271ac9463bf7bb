//! PIX's scopes and a counter beside heap traffic: frames with two parts, one of them with a part of its own.
//!
//! All of it is derived from the traffic and uses no random numbers, so the traffic is the same with and without it.

use crate::events::{ActivityEvent, Event, PixBlock, PixEvent, PixStep, PixWhat};
use crate::units::Tid;

/// Moments in a trace at which the blocks of all threads are written; in short traces there is one for eight events.
pub(super) const BLOCKS: u64 = 200;
/// Ticks that a frame takes at least.
const SHORTEST: i64 = 16;

/// Blocks of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct PixProcess {
    blocks: u32,
    frames: u32,
    /// When the blocks before were written.
    since: Option<i64>,
}

fn event(event: PixEvent) -> Event {
    Event::Activity(Box::new(ActivityEvent::Pix(event)))
}

impl PixProcess {
    /// The events of a process whose blocks are written now, and whose heaps take `used` bytes: a block of each thread with its
    /// thread, then the counter.
    pub(super) fn change(&mut self, threads: impl Iterator<Item = Tid>, now: i64, used: u64) -> Vec<Event> {
        let mut told = Vec::new();
        if let Some(begin) = self.since.replace(now).filter(|since| now - since >= SHORTEST) {
            let length = now - begin;
            let frame = self.frames;
            self.frames += 1;
            for tid in threads {
                let begins = |part: i64, name: String| (part, PixWhat::Begin(name.into()));
                let steps = [
                    begins(0, "Frame".to_owned()),
                    begins(1, "Update".to_owned()),
                    begins(2, "Physics".to_owned()),
                    (5, PixWhat::End),
                    (7, PixWhat::End),
                    begins(8, "Render".to_owned()),
                    (15, PixWhat::End),
                    (15, PixWhat::Marker(format!("Frame {frame}").into())),
                    (16, PixWhat::End),
                ];
                let steps = steps.into_iter().map(|(part, what)| PixStep { at: begin + length * part / 16, what });
                told.push(event(PixEvent::Block(PixBlock {
                    number: self.blocks,
                    tid,
                    times: (begin, now),
                    steps: steps.collect(),
                    of_gpu: 0,
                    unknown: 0,
                    cut_names: 0,
                    is_whole: true,
                })));
                self.blocks += 1;
            }
        }
        told.push(event(PixEvent::Counter { name: "Heaps (MB)".into(), value: used as f32 / f32::from(1024_u16).powi(2) }));
        told
    }
}
