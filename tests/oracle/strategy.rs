//! How operations are drawn. Domains are small, so that everything collides.

use highwater::events::{ProcessChange, StackPart, mem};
use highwater::units::Layer;
use proptest::prelude::*;
use proptest::sample::select;

use super::scenario::{Act, Meanwhile, Op, StackForm};

/// Waits around the limits of the rules: a tick, a millisecond, a second.
const WAITS: [i64; 13] = [0, 0, 0, 0, 1, 1, 2, 9_999, 10_000, 10_001, 9_999_000, 10_000_000, 10_000_001];

/// Four times as many captures as usual, since they are small; what fails is shrunk
/// to a few operations and becomes a test of its own by hand.
pub fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: 4 * usual.cases, failure_persistence: None, max_shrink_iters: 200_000, ..usual }
}

/// A capture's operations.
pub fn ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 0..most)
}

fn op() -> impl Strategy<Value = Op> {
    (select(&WAITS[..]), 1..4u32, 1..4u32, act(), stack()).prop_map(|(wait, pid, tid, act, stack)| Op {
        wait,
        pid,
        tid,
        act,
        stack,
    })
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => blocks(),
        6 => pages(),
        2 => process(),
        2 => Just(Act::Unseen),
        1 => Just(Act::Thread),
        1 => (part(), key(), 0..5usize).prop_map(|(part, key, stack)| Act::Define { part, key, stack }),
    ]
}

fn layer() -> impl Strategy<Value = Layer> {
    select(vec![Layer::Heap, Layer::Tracker])
}

fn heap() -> impl Strategy<Value = u64> {
    select(vec![0x10u64, 0xAB])
}

fn address() -> impl Strategy<Value = u64> {
    (1..4u64).prop_map(|n| n * 0x100)
}

fn size() -> impl Strategy<Value = u64> {
    select(vec![0u64, 1, 8, 100, u64::from(u32::MAX), 1 << 33])
}

fn name() -> impl Strategy<Value = Option<&'static str>> {
    select(vec![None, Some("Physics"), Some("Audio")])
}

fn blocks() -> impl Strategy<Value = Act> {
    prop_oneof![
        1 => (layer(), heap(), name()).prop_map(|(layer, heap, name)| Act::Open { layer, heap, name }),
        1 => (layer(), heap(), name()).prop_map(|(layer, heap, name)| Act::Close { layer, heap, name }),
        6 => (layer(), heap(), address(), size()).prop_map(|(layer, heap, address, size)| Act::Alloc { layer, heap, address, size }),
        4 => (layer(), heap(), address()).prop_map(|(layer, heap, address)| Act::Free { layer, heap, address }),
        2 => (layer(), heap(), prop_oneof![5 => address(), 1 => Just(0u64)], prop_oneof![5 => address(), 1 => Just(0u64)], size())
            .prop_map(|(layer, heap, old, new, size)| Act::Realloc { layer, heap, old, new, size }),
        3 => moves(),
        2 => (heap(), address(), prop::option::of(size())).prop_map(|(heap, address, size)| Act::Homeless { heap, address, size }),
    ]
}

/// Long copies or short ones, with something of others in between or nothing; few sizes, so that summaries fit.
fn moves() -> impl Strategy<Value = Act> {
    let size = || select(vec![8u64, 8, 100]);
    let later = select(vec![0i64, 34, 10_001, 400_000]);
    let meanwhile = (select(vec![0i64, 1, 400_000]), 1..4u32, address(), prop::option::of(size()), any::<bool>());
    let meanwhile =
        meanwhile.prop_map(|(wait, tid, address, size, is_after_free)| Meanwhile { wait, tid, address, size, is_after_free });
    let meanwhile = prop_oneof![1 => Just(Vec::new()), 2 => prop::collection::vec(meanwhile, 1..4)];
    (heap(), address(), address(), size(), later, prop_oneof![3 => Just(None), 1 => (1..4u32).prop_map(Some)], size(), meanwhile)
        .prop_map(|(heap, old, new, size, later, summary_tid, summary_size, meanwhile)| Act::Move {
            heap,
            old,
            new,
            size,
            later,
            summary_tid,
            summary_size,
            meanwhile,
        })
}

fn pages() -> impl Strategy<Value = Act> {
    let range = || (1..4u32, (0..8u64).prop_map(|n| n * 0x1000), 0..5u64);
    prop_oneof![
        4 => (range(), select(vec![mem::COMMIT, mem::COMMIT, mem::COMMIT | mem::RESERVE, mem::RESERVE, 0x80000]))
            .prop_map(|((owner, base, pages), flags)| Act::Pages { owner, base, pages, flags }),
        3 => (range(), select(vec![
            mem::DECOMMIT,
            mem::DECOMMIT,
            mem::RELEASE,
            mem::RELEASE | mem::PRESERVE_PLACEHOLDER,
            mem::RELEASE | mem::COALESCE_PLACEHOLDERS,
            0,
        ]))
            .prop_map(|((owner, base, pages), flags)| Act::FreePages { owner, base, pages, flags }),
        1 => (range(), 0..5u64).prop_map(|((owner, base, pages), committed)| Act::PagesRundown { owner, base, pages, committed }),
    ]
}

fn process() -> impl Strategy<Value = Act> {
    let change = select(vec![ProcessChange::Start, ProcessChange::End, ProcessChange::Rundown]);
    (change, 0..4u64, prop::bool::weighted(0.8)).prop_map(|(change, key, named)| Act::Process { change, key, named })
}

fn part() -> impl Strategy<Value = StackPart> {
    select(vec![StackPart::Kernel, StackPart::User])
}

fn key() -> impl Strategy<Value = u64> {
    1..3u64
}

fn late() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(0usize), 1 => 1..6usize]
}

fn stack() -> impl Strategy<Value = StackForm> {
    prop_oneof![
        2 => Just(StackForm::None),
        4 => (0..5usize, late()).prop_map(|(stack, late)| StackForm::Plain { stack, late }),
        3 => (key(), 0..5usize, late()).prop_map(|(key, stack, late)| StackForm::Key { key, stack, late }),
        2 => (0..2usize, 0..5usize, prop::option::of(late()))
            .prop_map(|(kernel, user, late)| StackForm::Parts { kernel, user, late }),
        1 => (key(), key(), 0..5usize, late())
            .prop_map(|(kernel, user, stack, late)| StackForm::KeyParts { kernel, user, stack, late }),
    ]
}
