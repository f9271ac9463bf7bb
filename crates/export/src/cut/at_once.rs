//! Events of one time of all streams, without those that repeat others.

use std::io::{Seek, Write};

use super::pass::Pass;
use super::stream::Stream;
use crate::etl::RawEvent;
use crate::etl::write::WriteError;
use crate::events::{AtOnce, Batch, LostWhat, RawItem, RawReading, TrackerProviders, decode_event, repeated};

/// Bytes that are held for a comparison, at most; of more, each such part is compared for itself.
const MOST: usize = 64 << 20;

/// One item of a stream at the compared time: the bytes of an event, or a loss.
struct Held {
    stream: usize,
    item: Result<(Vec<u8>, Batch), LostWhat>,
}

impl<W: Write + Seek> Pass<'_, W> {
    /// Writes what some streams have at a time.
    pub(super) fn write_at_once(
        &mut self,
        streams: &mut [Stream<'_>],
        numbers: &[usize],
        time: i64,
        reading: &mut RawReading,
    ) -> Result<(), WriteError> {
        let (mut held, mut bytes) = (Vec::new(), 0);
        for &number in numbers {
            while streams[number].time() == Some(time) {
                let stream = &mut streams[number];
                if let Some((_, item)) = stream.next() {
                    let item = hold(item, self.request.trackers);
                    bytes += item.as_ref().map_or(0, |(bytes, _)| bytes.len());
                    held.push(Held { stream: number, item });
                }
                if stream.time().is_none() {
                    stream.refill(reading);
                }
                if bytes > MOST {
                    self.write_held(streams, time, &held)?;
                    held.clear();
                    bytes = 0;
                }
            }
        }
        self.write_held(streams, time, &held)
    }

    fn write_held(&mut self, streams: &[Stream<'_>], time: i64, held: &[Held]) -> Result<(), WriteError> {
        let mut is_copy = vec![false; held.len()];
        if held.len() > 1 {
            let events = held.iter().filter_map(|Held { stream, item }| {
                let (bytes, batch) = item.as_ref().ok()?;
                Some(AtOnce { file: streams[*stream].file_number, stream: *stream, bytes, batch })
            });
            let found = repeated(&events.collect::<Vec<_>>());
            let of_events = is_copy.iter_mut().zip(held).filter(|(_, held)| held.item.is_ok());
            of_events.zip(found).for_each(|((is_copy, _), found)| *is_copy = found);
        }
        let mut batch = Batch::default();
        for (Held { stream, item }, _) in held.iter().zip(is_copy).filter(|(_, is_copy)| !is_copy) {
            let item = match item {
                Ok((bytes, _)) => RawItem::Event(bytes),
                Err(what) => RawItem::Lost(*what),
            };
            self.next(streams[*stream].processor, time, item, &mut batch)?;
        }
        Ok(())
    }
}

fn hold(item: RawItem<'_>, trackers: &TrackerProviders) -> Result<(Vec<u8>, Batch), LostWhat> {
    match item {
        RawItem::Event(bytes) => {
            let mut batch = Batch::default();
            if let Some(raw) = RawEvent::parse(bytes) {
                decode_event(&raw, trackers, &mut batch);
            }
            Ok((bytes.to_vec(), batch))
        }
        RawItem::Lost(what) => Err(what),
    }
}
