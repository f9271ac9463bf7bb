//! Blocks as the run-time writes them, against the list of what was written; and blocks that nobody writes.

use proptest::prelude::*;

use super::*;
use crate::events::tests::raw;
use crate::units::Pid;

const PID: Pid = Pid(1);
const BEGIN: i64 = (0x12_3456 << TIME_BITS) - 5000;

/// A block's payload; `raw` of the tests has process 1.
fn payload(words: &[u64], (begin, end): (i64, i64)) -> Vec<u8> {
    let mut bytes = [7_u32.to_le_bytes(), (48 + 8 * words.len() as u32).to_le_bytes()].concat();
    bytes.extend([0x1122_3344_5566_7788_u64, 0x99].map(u64::to_le_bytes).concat());
    bytes.extend([0, 0, 44, PID.0].map(u32::to_le_bytes).concat());
    bytes.extend([begin, end].map(i64::to_le_bytes).concat());
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

fn read_at(id: u16, payload: &[u8], time: i64, is_qpc: bool) -> Option<PixEvent> {
    let raw = raw(PointerSize::Eight, 0, payload);
    event(id, &RawEvent { time, pid: PID, ..raw }, is_qpc).unwrap()
}

fn block(words: &[u64], end: i64) -> PixBlock {
    match read_at(22, &payload(words, (BEGIN, end)), end, true) {
        Some(PixEvent::Block(block)) => block,
        other => panic!("{other:?}"),
    }
}

/// An event of a program.
#[derive(Clone, Debug)]
struct Marked {
    step: i64,
    kind: u8,
    name: String,
    is_wide: bool,
    has_colour: bool,
    is_on_context: bool,
}

fn marked() -> impl Strategy<Value = Marked> {
    let name = prop_oneof!["[ -$&-~]{0,20}", "[a-zäß漢😀]{1,9}"];
    (0i64..4000, 0u8..4, name, any::<bool>(), any::<bool>(), 0..5).prop_map(|(step, kind, name, is_wide, has_colour, context)| {
        Marked { step, kind, name, is_wide, has_colour, is_on_context: context == 0 }
    })
}

/// A name in words, with its NUL; in chunks of so many.
fn name_words(name: &str, is_wide: bool, chunk: usize) -> Vec<u64> {
    let mut bytes: Vec<u8> = match is_wide {
        true => name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect(),
        false => name.bytes().chain([0]).collect(),
    };
    bytes.resize(bytes.len().next_multiple_of(8 * chunk), 0xCD); // the run-time copies what is behind the NUL
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// The words of an event in the second format (`include/PIXEvents.h` in microsoft/PixEvents).
fn second(of: &Marked, time: i64) -> Vec<u64> {
    let mut words = vec![0];
    let mut metadata = u64::from(of.is_on_context);
    if of.kind == 1 || of.kind == 2 {
        metadata |= if of.is_wide { 0 } else { 2 } | if of.has_colour { 0xF0 } else { 0x30 };
        words.extend(of.has_colour.then_some(0xFF00_FF00));
        words.extend(of.is_on_context.then_some(0xDEAD));
        words.extend(name_words(&of.name, of.is_wide, 1));
    } else {
        words.extend(of.is_on_context.then_some(0xDEAD));
    }
    let kind = if of.kind == 3 { 30 } else { u64::from(of.kind) };
    words[0] = (time as u64) << 20 | metadata << 12 | kind << 7 | words.len() as u64;
    words
}

/// The words of an event in the first format (`include/PIXEventsLegacy.h`).
fn first(of: &Marked, time: i64, chunk: usize) -> Vec<u64> {
    let kind = [0, 2, 8, 0][usize::from(of.kind)] | if of.is_on_context { 0x10 } else { 0 };
    let mut words = vec![(time as u64) << 20 | kind << 10];
    words.extend((of.kind == 1 || of.kind == 2).then_some(0xFF00_FF00));
    words.extend(of.is_on_context.then_some(0xDEAD));
    if of.kind == 1 || of.kind == 2 {
        words.push((8 * chunk as u64) << 55 | u64::from(!of.is_wide) << 54);
        words.extend(name_words(&of.name, of.is_wide, chunk));
    }
    words
}

/// The steps that are read of it, and the counts of the others.
fn expected(all: &[Marked], has_unknown: bool) -> (Vec<PixStep>, u32, u32) {
    let (mut at, mut steps, mut of_gpu, mut unknown) = (BEGIN, Vec::new(), 0, 0);
    for of in all {
        at += of.step;
        let name = || text(&of.name);
        match of.kind {
            3 if has_unknown => unknown += 1,
            _ if of.is_on_context => of_gpu += 1,
            1 => steps.push(PixStep { at, what: PixWhat::Begin(name()) }),
            2 => steps.push(PixStep { at, what: PixWhat::Marker(name()) }),
            _ => steps.push(PixStep { at, what: PixWhat::End }),
        }
    }
    (steps, of_gpu, unknown)
}

proptest! {
    #[test]
    fn blocks_are_read_as_they_were_written(all in prop::collection::vec(marked(), 0..40), format in 0..3_usize, cut in any::<u16>()) {
        let mut at = BEGIN;
        let (mut words, mut ends) = (Vec::new(), vec![0]);
        for of in &all {
            at += of.step;
            words.extend(if format == 0 { second(of, at) } else { first(of, at, format) });
            ends.push(words.len());
        }
        words.extend([END_MARK, 0xCDCD_CDCD_CDCD_CDCD]);
        let (steps, of_gpu, unknown) = expected(&all, format == 0);
        let read = block(&words, at);
        prop_assert_eq!(&read, &PixBlock {
            number: 7, tid: Tid(44), times: (BEGIN, at), steps, of_gpu, unknown, cut_names: 0, is_whole: true,
        });
        // A block that ends early has what stands whole before its end, and says that it is not whole.
        let cut = usize::from(cut) % (words.len() - 1);
        let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
        let part = block(&words[..cut], at);
        let (steps, ..) = expected(&all[..whole], format == 0);
        prop_assert!(!part.is_whole && part.steps.len() <= steps.len() + 1);
        prop_assert_eq!(&part.steps[..steps.len().min(part.steps.len())], &steps[..]);
    }

    #[test]
    fn no_words_are_too_odd(words in prop::collection::vec(prop_oneof![any::<u64>(), (0u64..1 << 20).prop_map(|low| low | (BEGIN as u64) << 20)], 0..200)) {
        let read = block(&words, BEGIN + 100);
        prop_assert!(read.steps.len() <= words.len());
        prop_assert!(read.steps.is_sorted_by_key(|step| step.at));
        prop_assert!(read.steps.iter().all(|step| (BEGIN..=BEGIN + 100).contains(&step.at)));
    }
}

#[test]
fn formats_get_their_arguments_in_both_formats() {
    let mut of = Marked { step: 1, kind: 1, name: "Level %d: %s".into(), is_wide: true, has_colour: true, is_on_context: false };
    let arguments = [12, 0x0440_0000_0000_0000, u64::from_le_bytes(*b"Forest\0\0")];
    let mut words = second(&of, BEGIN);
    words.extend(arguments);
    words[0] += 3;
    words.push(END_MARK);
    let begin = |name: &str| PixWhat::Begin(name.into());
    assert_eq!(block(&words, BEGIN).steps[0].what, begin("Level 12: Forest"));
    let legacy = |of: &Marked, arguments: &[u64]| {
        let mut words = first(of, BEGIN, 1);
        words[0] -= 1 << 10; // with arguments
        words.extend(arguments);
        words.extend([(BEGIN as u64) << 20, END_MARK]);
        block(&words, BEGIN)
    };
    let read = legacy(&of, &arguments);
    assert_eq!((&read.steps[0].what, &read.steps[1].what, read.is_whole), (&begin("Level 12: Forest"), &PixWhat::End, true));
    // More arguments than the format has: where the next event begins is not certain.
    of.name = "Level".into();
    let read = legacy(&of, &[123]);
    assert_eq!((read.steps.len(), read.is_whole), (1, false));
    of.name = "100%".into();
    assert_eq!(block(&[second(&of, BEGIN), vec![END_MARK]].concat(), BEGIN).steps[0].what, begin("100%"), "no arguments");
}

#[test]
fn what_is_not_certain_is_not_read() {
    let words = [
        second(&Marked { step: 0, kind: 1, name: "A".into(), is_wide: true, has_colour: false, is_on_context: false }, BEGIN),
        vec![END_MARK],
    ]
    .concat();
    let good = payload(&words, (BEGIN, BEGIN + 9));
    let unread = |doubt| Some(PixEvent::Unread(doubt));
    assert!(matches!(read_at(18, &good, BEGIN + 9, true), Some(PixEvent::Block(_))));
    assert_eq!(read_at(22, &good, BEGIN + 9, false), unread(PixDoubt::Clock), "another clock");
    assert_eq!(read_at(22, &good, BEGIN + 8, true), unread(PixDoubt::Clock), "it ends behind its event");
    assert_eq!(read_at(22, &payload(&words, (BEGIN, BEGIN - 1)), BEGIN + 9, true), unread(PixDoubt::Clock));
    assert_eq!(read_at(19, &good, BEGIN + 9, true), unread(PixDoubt::Header));
    assert_eq!(read_at(21, &good, BEGIN + 9, true), None);
    for (at, value) in [(4, 8), (28, 1), (36, 2)] {
        let mut odd = good.clone();
        odd[at] = value;
        assert_eq!(read_at(22, &odd, BEGIN + 9, true), unread(PixDoubt::Form), "byte {at}");
    }
    assert_eq!(read_at(22, &good[..good.len() - 4], BEGIN + 9, true), unread(PixDoubt::Form));
    assert_eq!(
        event(22, &RawEvent { pid: PID, time: BEGIN + 9, ..raw(PointerSize::Four, 0, &good) }, true),
        Some(unread(PixDoubt::Form))
    );
    assert_eq!(
        event(22, &RawEvent { pid: PID, time: BEGIN + 9, ..raw(PointerSize::Eight, 1, &good) }, true),
        Some(unread(PixDoubt::Form))
    );
    assert_eq!(event(22, &raw(PointerSize::Eight, 0, &good[..7]), true), None, "too short");
    let cut = [
        second(
            &Marked { step: 0, kind: 2, name: "ABCDEFG".into(), is_wide: false, has_colour: false, is_on_context: false },
            BEGIN,
        ),
        vec![END_MARK],
    ]
    .concat();
    let cut: Vec<u64> = cut.iter().map(|&word| if word == cut[1] { word | 0x48 << 56 } else { word }).collect();
    let read = block(&cut, BEGIN);
    assert_eq!((&read.steps[0].what, read.cut_names), (&PixWhat::Marker("ABCDEFGH\u{2026}".into()), 1));
}

#[test]
fn counters_have_a_number_and_a_name() {
    let payload = |value: f32, name: &str| {
        let name = name.encode_utf16().flat_map(u16::to_le_bytes);
        value.to_le_bytes().into_iter().chain(name).collect::<Vec<u8>>()
    };
    let read = |payload: &[u8]| read_at(20, payload, 5, false).unwrap();
    assert_eq!(read(&payload(-1.5, "fps\0")), PixEvent::Counter { name: "fps".into(), value: -1.5 });
    assert_eq!(read(&payload(f32::NAN, "fps\0")), PixEvent::Unread(PixDoubt::NoNumber));
    for odd in ["fps", "\0", "", "fps\0x\0"] {
        assert_eq!(read(&payload(1.0, odd)), PixEvent::Unread(PixDoubt::Form), "{odd:?}");
    }
    assert_eq!(event(20, &raw(PointerSize::Eight, 0, &[0; 3]), true), None);
}
