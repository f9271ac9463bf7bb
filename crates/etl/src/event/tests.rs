//! Tests of every kind of header, and of the fast path against the general one.

use super::*;

/// A buffer with one kernel event whose payload is one byte behind `counters` performance counters.
fn buffer(kind: HeaderKind, pointer: PointerSize, version: u16, counters: usize) -> Vec<u8> {
    let mut event = vec![0; kind.header_len() + counters * 8];
    event.push(0x77);
    let size = event.len() as u16;
    event[0..2].copy_from_slice(&version.to_le_bytes());
    event[2..4].copy_from_slice(&[kind.type_byte(pointer).unwrap(), 0xC0]);
    event[4..6].copy_from_slice(&size.to_le_bytes());
    event[6..8].copy_from_slice(&0x1021u16.to_le_bytes());
    let time_at = if kind == HeaderKind::PerfInfo { 8 } else { 0x10 };
    if kind != HeaderKind::PerfInfo {
        event[8..16].copy_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0]);
    }
    event[time_at..time_at + 8].copy_from_slice(&9i64.to_le_bytes());
    [vec![0; BUFFER_HEADER], event].concat()
}

#[test]
fn kernel_headers_say_who_when_and_where_the_payload_is() {
    for kind in [HeaderKind::System, HeaderKind::Compact, HeaderKind::PerfInfo] {
        for (version, counters) in [(3, 0), (0x0203, 2), (0x8103, 2), (0x8003, 1)] {
            let buffer = buffer(kind, PointerSize::Four, version, counters);
            let Some(Framed::Kernel(event)) = Events::new(&buffer).next_framed() else { panic!("{kind:?}") };
            let who = if kind == HeaderKind::PerfInfo { (Tid::NONE, Pid::NONE) } else { (Tid(1), Pid(2)) };
            assert_eq!(((event.tid, event.pid), event.time), (who, 9), "{kind:?}");
            assert_eq!((event.hook, event.version, event.payload), (0x1021, 3, &[0x77][..]), "{kind:?} {version:#x}");
            let raw = Events::new(&buffer).next().unwrap();
            assert!(wide(&Events::new(&buffer)).is_none(), "it is one of 32 bits");
            assert_eq!((raw.kind, raw.pointer, raw.id), (kind, PointerSize::Four, EventId::Hook(0x1021)));
        }
        let more_than_there_are = buffer(kind, PointerSize::Eight, 0x0700, 2);
        let mut events = Events::new(&more_than_there_are);
        assert!(events.next().is_none() && events.damage().is_some());
    }
}

fn wide<'a>(events: &Events<'a>) -> Option<WideEvent<'a>> {
    events.peek_wide(WideHeader::System).or_else(|| events.peek_wide(WideHeader::PerfInfo))
}

#[test]
fn a_wide_event_is_the_one_that_the_general_way_tells() {
    for kind in [HeaderKind::System, HeaderKind::Compact, HeaderKind::PerfInfo] {
        for (version, counters) in [(0, 0), (0x00FF, 0), (0x0203, 2)] {
            for payload in 0..60 {
                let mut buffer = buffer(kind, PointerSize::Eight, version, counters);
                let at = BUFFER_HEADER;
                buffer.pop();
                buffer.extend((1..=payload as u8).cycle().take(payload));
                let size = (buffer.len() - at) as u16;
                buffer[at + 4..at + 6].copy_from_slice(&size.to_le_bytes());
                buffer.resize(align8(buffer.len()), 0xAA);
                for behind in [0, 64] {
                    buffer.resize(buffer.len() + behind, 0xFF);
                    let (mut one, mut other) = (Events::new(&buffer), Events::new(&buffer));
                    let Some(Framed::Kernel(event)) = other.next_framed() else { panic!("{kind:?}") };
                    let Some(wide) = wide(&one) else {
                        let is_short = buffer.len() - at < 0x38;
                        assert!(is_short || kind == HeaderKind::Compact || counters > 0, "{kind:?} {payload}");
                        continue;
                    };
                    assert_eq!((wide.hook, wide.time, wide.pid, wide.tid), (event.hook, event.time, event.pid, event.tid));
                    assert_eq!((wide.payload_len(), wide.payload_from(0)), (payload, event.payload));
                    assert_eq!(wide.payload_from(payload + 1), &[0u8; 0][..]);
                    for (i, word) in event.payload.chunks_exact(8).take(3).enumerate() {
                        assert_eq!(wide.words[i].to_le_bytes(), word);
                    }
                    one.pass(&wide);
                    assert_eq!(one.offset(), other.offset());
                }
            }
        }
    }
}

#[test]
fn a_wide_event_stays_in_its_buffer() {
    let mut buffer = buffer(HeaderKind::System, PointerSize::Eight, 2, 0);
    buffer.resize(BUFFER_HEADER + 0x38, 0);
    for size in [0u16, 0x1F, 0x39, 0xFFFF] {
        buffer[BUFFER_HEADER + 4..BUFFER_HEADER + 6].copy_from_slice(&size.to_le_bytes());
        assert!(wide(&Events::new(&buffer)).is_none(), "{size}");
    }
    buffer[BUFFER_HEADER + 4..BUFFER_HEADER + 6].copy_from_slice(&[0x20, 0]);
    assert!(wide(&Events::new(&buffer)).is_some_and(|event| event.payload_len() == 0));
}
