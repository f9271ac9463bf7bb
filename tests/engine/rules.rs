//! The rules that a generated capture seldom meets, one example each: lives of
//! processes and trackers, late stacks, and the names of frames.

use std::sync::Arc;

use highwater::events::{
    CommittedRegion, Event, FrameRange, ImageChange, ImageInfo, PageRange, ProcessChange, ProcessInfo, Record, StackPart, mem,
};
use highwater::model::{Builder, Clock, InputState, Trace};
use highwater::query::{
    By, Cancel, Fold, Group, Index, ReportFilter, ReportRequest, UnmatchedRequest, heap_label, report, unmatched,
};
use highwater::symbols::Names;
use highwater::units::{Interval, Layer, Pid, Ticks, Tid};

const SECOND: i64 = 10_000_000;
const PAGE: u64 = 0x1000;

/// Tells a builder what happens.
struct Story {
    builder: Builder,
    pid: u32,
    tid: u32,
}

impl Story {
    fn new() -> Self {
        let clock = Clock { frequency: SECOND as u64, start_time: 0 };
        Self { builder: Builder::new(clock, 0, (0, 0)), pid: 7, tid: 70 }
    }

    fn tell_as(&mut self, time: i64, pid: Pid, tid: Tid, event: Event, frames: &[u64]) {
        self.builder.apply(&Record { time, pid, tid, event }, frames);
    }

    fn tell(&mut self, time: i64, event: Event) {
        self.tell_as(time, Pid(self.pid), Tid(self.tid), event, &[]);
    }

    fn alloc(&mut self, time: i64, layer: Layer, address: u64) {
        self.tell(time, Event::Alloc { layer, heap: 0x50, address, size: 8 });
    }

    fn free(&mut self, time: i64, layer: Layer, address: u64) {
        self.tell(time, Event::Free { layer, heap: 0x50, address });
    }

    fn open(&mut self, time: i64, name: Option<&str>) {
        self.tell(time, Event::HeapOpen { layer: Layer::Tracker, heap: 0x50, name: name.map(Into::into) });
    }

    fn close(&mut self, time: i64, name: Option<&str>) {
        self.tell(time, Event::HeapClose { layer: Layer::Tracker, heap: 0x50, name: name.map(Into::into) });
    }

    fn commit(&mut self, time: i64, owner: u32, base: u64, pages: u64) {
        self.tell(time, Event::VirtualAlloc(range(owner, base, pages, mem::COMMIT)));
    }

    /// A region from before the trace, of which the first pages are committed.
    fn rundown(&mut self, time: i64, owner: u32, base: u64, pages: u64, committed: u64) {
        let region = CommittedRegion { base, size: pages * PAGE, committed: committed * PAGE, owner: Pid(owner) };
        self.tell(time, Event::CommitRundown(region));
    }

    fn decommit(&mut self, time: i64, base: u64, pages: u64) {
        self.tell(time, Event::VirtualFree(range(self.pid, base, pages, mem::DECOMMIT)));
    }

    fn stack(&mut self, time: i64, owner: i64, frames: &[u64]) {
        let event = Event::Stack { owner, part: StackPart::User, frames: FrameRange::default() };
        self.tell_as(time, Pid(self.pid), Tid(self.tid), event, frames);
    }

    fn process(&mut self, time: i64, pid: u32, change: ProcessChange, key: u64, name: &str) {
        let info = ProcessInfo { key, parent: 1, name: name.to_owned(), command_line: String::new() };
        self.tell_as(time, Pid(pid), Tid(1), Event::Process(change, Box::new(info)), &[]);
    }

    fn image(&mut self, time: i64, pid: u32, change: ImageChange, base: u64, path: &str) {
        let info = ImageInfo { base, size: 0x1000, checksum: 0, time_stamp: 0, path: path.to_owned() };
        self.tell_as(time, Pid(pid), Tid(1), Event::Image(change, Box::new(info)), &[]);
    }

    fn end(mut self) -> Trace {
        self.builder.publish(InputState { complete: true, ..InputState::default() })
    }
}

fn range(owner: u32, base: u64, pages: u64, flags: u32) -> PageRange {
    PageRange { base, size: pages * PAGE, owner: Pid(owner), flags }
}

fn groups(trace: &Trace, by: &[By]) -> Vec<Group> {
    let interval = Interval { from: Ticks(i64::MIN + 1), to: Ticks(i64::MAX - 1) };
    let index = Index::scan(Arc::new(trace.clone()));
    let request = ReportRequest {
        interval,
        by: by.to_vec(),
        filter: ReportFilter::default(),
        top: None,
        fold: Fold::Nothing,
        sources: false,
    };
    report(&index, &request, &Cancel::default()).unwrap().groups
}

/// Heap, number of rows, and bytes alive at the end, by heap.
fn heaps(trace: &Trace) -> Vec<(Option<String>, u64, u64)> {
    let mut heaps: Vec<_> =
        groups(trace, &[By::Heap]).into_iter().map(|g| (g.heap, g.numbers.count, g.numbers.outstanding_to)).collect();
    heaps.sort();
    heaps
}

/// Process, its start, number of rows, and bytes alive at the end.
fn processes(trace: &Trace) -> Vec<(String, Option<f64>, u64, u64)> {
    let line = |g: Group| (g.process.unwrap(), g.process_start_s, g.numbers.count, g.numbers.outstanding_to);
    let mut lines: Vec<_> = groups(trace, &[By::Process]).into_iter().map(line).collect();
    lines.sort_by(|a, b| a.partial_cmp(b).unwrap());
    lines
}

fn heap(name: &str, count: u64, outstanding: u64) -> (Option<String>, u64, u64) {
    (Some(name.to_owned()), count, outstanding)
}

#[test]
fn a_tracker_that_comes_back_under_its_name_is_the_same() {
    let mut story = Story::new();
    story.open(1, Some("A"));
    story.alloc(2, Layer::Tracker, 0x100);
    story.close(3, Some("A"));
    story.open(4, Some("A"));
    story.alloc(5, Layer::Tracker, 0x100);
    assert_eq!(heaps(&story.end()), [heap("A", 2, 8)]);
}

#[test]
fn a_handle_that_comes_back_under_another_name_is_another_tracker() {
    for close in [true, false] {
        let mut story = Story::new();
        story.open(1, Some("A"));
        story.alloc(2, Layer::Tracker, 0x100);
        if close {
            story.close(3, Some("A"));
        }
        story.open(4, Some("B"));
        story.alloc(5, Layer::Tracker, 0x100);
        let left = if close { 0 } else { 8 };
        let trace = story.end();
        assert_eq!(heaps(&trace), [heap("A", 1, left), heap("B", 1, 8)]);
        assert_eq!(trace.quality.superseded_allocations, 0, "blocks of two trackers");
    }
}

#[test]
fn a_name_that_comes_late_counts_from_the_start_unless_the_tracker_was_closed() {
    let mut story = Story::new();
    story.alloc(1, Layer::Tracker, 0x100);
    story.open(2, Some("A"));
    assert_eq!(heaps(&story.end()), [heap("A", 1, 8)]);

    let mut story = Story::new();
    story.alloc(1, Layer::Tracker, 0x100);
    story.close(2, Some("A"));
    assert_eq!(heaps(&story.end()), [heap("A", 1, 0)], "a close names it too");

    let mut story = Story::new();
    story.alloc(1, Layer::Tracker, 0x100);
    story.close(2, None);
    story.open(3, Some("B"));
    story.alloc(4, Layer::Tracker, 0x100);
    assert_eq!(heaps(&story.end()), [heap("0x50", 1, 0), heap("B", 1, 8)]);
}

#[test]
fn layers_have_heaps_of_their_own() {
    let mut story = Story::new();
    story.alloc(1, Layer::Heap, 0x100);
    story.alloc(2, Layer::Tracker, 0x100);
    story.free(3, Layer::Heap, 0x100);
    story.free(4, Layer::Heap, 0x100);
    let trace = story.end();
    assert_eq!(heaps(&trace), [heap("0x50", 1, 0), heap("0x50", 1, 8)]);
    assert_eq!(trace.quality.unmatched_frees, 1);
}

#[test]
fn the_default_heap_is_the_first_of_a_process_whose_start_was_seen() {
    let mut story = Story::new();
    let open = |story: &mut Story, time, pid, heap| {
        story.pid = pid;
        story.tell(time, Event::HeapOpen { layer: Layer::Heap, heap, name: None });
    };
    story.process(1, 7, ProcessChange::Rundown, 0xA, "Before.exe");
    story.process(2, 8, ProcessChange::Start, 0xB, "Inside.exe");
    story.commit(3, 8, PAGE, 1);
    for pid in [7, 8, 9] {
        open(&mut story, 4, pid, 0x50);
        open(&mut story, 5, pid, 0x60);
        story.alloc(6, Layer::Tracker, 0x100);
    }
    // Another life of the id, whose start is seen, has a default heap of its own.
    story.process(SECOND, 9, ProcessChange::Start, 0xC, "Again.exe");
    open(&mut story, SECOND + 1, 9, 0x60);
    // By the clock of another processor, a process wrote just before its start.
    open(&mut story, SECOND + 2, 10, 0x70);
    story.process(SECOND + 3, 10, ProcessChange::Start, 0xD, "Early.exe");
    open(&mut story, SECOND + 4, 10, 0x80);
    let trace = story.end();
    let default: Vec<_> = trace.heaps.iter().filter(|heap| heap.is_default).map(|h| (h.process.0, h.layer, h.handle)).collect();
    assert_eq!(default, [(1, Layer::Heap, 0x50), (3, Layer::Heap, 0x60), (4, Layer::Heap, 0x70)]);
    let labels: Vec<_> = trace.heaps.iter().map(heap_label).filter(|label| label.ends_with("(default)")).collect();
    assert_eq!(labels, ["Windows NT heap 0x50 (default)", "Windows NT heap 0x60 (default)", "Windows NT heap 0x70 (default)"]);
}

#[test]
fn pages_committed_for_a_child_just_before_its_start_belong_to_the_child() {
    for (before, start) in [(SECOND, Some(2.0)), (SECOND + 1, None)] {
        let mut story = Story::new();
        story.commit(2 * SECOND - before, 8, PAGE, 1);
        story.process(2 * SECOND, 8, ProcessChange::Start, 0xB, "Child.exe");
        let lines = processes(&story.end());
        match start {
            Some(_) => assert_eq!(lines, [("Child.exe".to_owned(), start, 1, PAGE)]),
            None => assert_eq!(lines, [("Unknown (8)".to_owned(), None, 1, 0)], "an earlier life, ended unseen"),
        }
    }
}

#[test]
fn what_a_process_did_itself_is_not_its_childs() {
    type Act = fn(&mut Story);
    let acts: [Act; 4] = [
        |story| story.commit(1, 7, PAGE, 1),
        |story| story.rundown(1, 7, PAGE, 1, 1),
        |story| {
            story.commit(1, 8, PAGE, 1);
            story.commit(1, 7, PAGE, 1);
        },
        |story| {
            story.alloc(1, Layer::Heap, 0x100);
            story.commit(1, 7, PAGE, 1);
        },
    ];
    for act in acts {
        let mut story = Story::new();
        act(&mut story);
        story.process(2, 7, ProcessChange::Start, 0xA, "Game.exe");
        story.commit(3, 7, PAGE, 1);
        let lines = processes(&story.end());
        assert!(lines.contains(&("Game.exe".to_owned(), Some(2e-7), 1, PAGE)), "{lines:?}");
        assert!(lines.iter().any(|(name, start, ..)| name == "Unknown (7)" && start.is_none()), "{lines:?}");
    }
}

#[test]
fn a_commit_that_does_not_say_who_made_it_may_be_a_parents() {
    let mut story = Story::new();
    let commit = Event::VirtualAlloc(range(8, PAGE, 1, mem::COMMIT));
    story.tell_as(1, Pid::NONE, Tid::NONE, commit, &[]);
    story.stack(2, 1, &[0x10]);
    story.process(3, 8, ProcessChange::Start, 0xB, "Child.exe");
    let trace = story.end();
    assert_eq!(processes(&trace), [("Child.exe".to_owned(), Some(3e-7), 1, PAGE)]);
    let group = groups(&trace, &[By::Thread, By::Stack]).remove(0);
    assert_eq!(group.thread, Some(70), "its stack tells the thread");
    assert_eq!(group.stack.unwrap(), ["0x10"]);
}

#[test]
fn the_end_of_a_process_frees_its_pages_and_not_its_blocks() {
    let mut story = Story::new();
    story.process(1, 7, ProcessChange::Start, 0xA, "Game.exe");
    story.commit(2, 7, PAGE, 1);
    story.alloc(3, Layer::Heap, 0x100);
    story.alloc(3, Layer::Tracker, 0x100);
    story.process(4, 7, ProcessChange::End, 0xA, "Game.exe");
    story.free(5, Layer::Heap, 0x100);
    story.process(6, 7, ProcessChange::Start, 0xC, "Game.exe");
    story.free(7, Layer::Heap, 0x100);
    let trace = story.end();
    let alive: Vec<_> = groups(&trace, &[By::Process]).into_iter().map(|g| (g.layer, g.numbers.outstanding_to)).collect();
    assert_eq!(alive, [("heap", 8), ("tracker", 8), ("commit", 0)]);
    assert_eq!(trace.quality.unmatched_frees, 2, "another life never frees the blocks of this one");
}

#[test]
fn a_rundown_of_committed_pages_tells_that_their_region_is_reserved() {
    let mut story = Story::new();
    story.rundown(1, 7, 16 * PAGE, 16, 2);
    story.decommit(2, 20 * PAGE, 4); // committed by nobody, yet reserved
    story.decommit(3, 17 * PAGE, 1);
    story.decommit(4, 32 * PAGE, 1); // just behind it
    let trace = story.end();
    assert_eq!(trace.quality.unmatched_frees, 1, "only the free behind the region");
    assert_eq!(groups(&trace, &[])[0].numbers.outstanding_to, PAGE);
}

#[test]
fn reserving_committed_pages_ends_their_rows_for_their_release_was_lost() {
    for flags in [mem::RESERVE, mem::RESERVE | mem::COMMIT] {
        let mut story = Story::new();
        story.commit(1, 7, 0, 4);
        story.commit(1, 7, 8 * PAGE, 2);
        story.commit(1, 7, 32 * PAGE, 1);
        story.commit(1, 8, 0, 4); // another process's
        story.tell(2, Event::VirtualAlloc(range(7, 3 * PAGE, 16, flags)));
        let trace = story.end();
        let committed = if flags & mem::COMMIT == 0 { 0 } else { 16 };
        let lines: Vec<_> = processes(&trace).into_iter().map(|(name, _, rows, outstanding)| (name, rows, outstanding)).collect();
        let rows = 3 + u64::from(committed > 0);
        assert_eq!(lines, [("Unknown (7)".to_owned(), rows, (1 + committed) * PAGE), ("Unknown (8)".to_owned(), 1, 4 * PAGE)]);
        assert_eq!(groups(&trace, &[])[0].numbers.freed_count, 2, "whole rows");
        assert_eq!(trace.quality.superseded_allocations, 2);
        assert_eq!(trace.quality.unmatched_frees, 0);
    }
}

#[test]
fn a_realloc_that_failed_changes_nothing() {
    let mut story = Story::new();
    story.alloc(1, Layer::Heap, 0x100);
    story.tell(2, Event::Realloc { layer: Layer::Heap, heap: 0x50, old: 0x100, new: 0, size: 1 << 40 });
    story.stack(2, 2, &[0x10]);
    story.tell(3, Event::Realloc { layer: Layer::Heap, heap: 0x50, old: 0x900, new: 0, size: 8 });
    let trace = story.end();
    assert_eq!(heaps(&trace), [heap("0x50", 1, 8)]);
    assert_eq!(groups(&trace, &[By::Stack])[0].stack.as_deref(), Some(&[][..]), "its stack is nobody's");
    assert_eq!((trace.quality.unmatched_frees, trace.quality.superseded_allocations), (0, 0));
}

#[test]
fn a_free_that_tells_no_process_finds_the_only_block_at_its_address() {
    let mut story = Story::new();
    let free = |story: &mut Story, time, address| {
        let event = Event::Free { layer: Layer::Heap, heap: 0x50, address };
        story.tell_as(time, Pid::NONE, Tid::NONE, event, &[]);
    };
    story.process(1, 9, ProcessChange::Start, 0xA, "Gone.exe");
    for (pid, addresses) in [(7, [0x100, 0x200, 0x300]), (8, [0x400, 0x200, 0x500]), (9, [0x600, 0x300, 0x500])] {
        story.pid = pid;
        addresses.into_iter().for_each(|address| story.alloc(2, Layer::Heap, address));
        story.alloc(2, Layer::Tracker, 0x700);
    }
    free(&mut story, 3, 0x100); // of process 7
    free(&mut story, 4, 0x100); // of nobody any more
    free(&mut story, 5, 0x200); // of 7 or 8
    story.pid = 8;
    story.free(6, Layer::Heap, 0x200);
    free(&mut story, 7, 0x200); // now of 7
    free(&mut story, 8, 0x300); // of 7 or 9
    story.process(9, 9, ProcessChange::End, 0xA, "Gone.exe");
    free(&mut story, 10, 0x300); // of 7, since 9 does nothing any more
    free(&mut story, 11, 0x600);
    story.tell(12, Event::HeapClose { layer: Layer::Heap, heap: 0x50, name: None });
    story.pid = 7;
    story.alloc(13, Layer::Heap, 0x400);
    free(&mut story, 14, 0x400); // of 7, whose block is the only one
    free(&mut story, 15, 0x700); // a tracker's is no heap's
    // The second told by its stack alone: no guess is needed.
    story.alloc(16, Layer::Heap, 0x100);
    free(&mut story, 17, 0x100);
    story.stack(18, 17, &[0x10]);
    let trace = story.end();
    assert_eq!((trace.quality.inferred_frees, trace.quality.unmatched_frees), (4, 5));
    let heaps: Vec<_> = groups(&trace, &[By::Process]).into_iter().filter(|group| group.layer == "heap").collect();
    let mut left: Vec<_> =
        heaps.into_iter().map(|group| (group.pid.unwrap(), group.numbers.count, group.numbers.outstanding_to)).collect();
    left.sort_unstable();
    assert_eq!(left, [(7, 5, 0), (8, 3, 0), (9, 3, 24)]);
}

#[test]
fn a_name_in_the_last_rundown_counts_for_the_whole_life() {
    let mut story = Story::new();
    story.alloc(1, Layer::Heap, 0x100);
    story.process(9, 7, ProcessChange::Rundown, 0xA, "Game.exe");
    assert_eq!(processes(&story.end()), [("Game.exe".to_owned(), None, 1, 8)]);
}

#[test]
fn an_event_told_by_two_sessions_counts_once() {
    let mut story = Story::new();
    story.process(1, 7, ProcessChange::Start, 0xA, "Game.exe");
    story.process(2, 7, ProcessChange::Start, 0xA, "Game.exe");
    story.commit(3, 7, PAGE, 1);
    story.process(4, 7, ProcessChange::End, 0xA, "Game.exe");
    story.process(5, 7, ProcessChange::End, 0xA, "Game.exe");
    story.process(6, 7, ProcessChange::Rundown, 0xA, "Game.exe");
    assert_eq!(processes(&story.end()), [("Game.exe".to_owned(), Some(1e-7), 1, 0)]);
}

#[test]
fn a_stack_that_comes_after_a_split_reaches_every_piece() {
    let mut story = Story::new();
    story.commit(1, 7, 0, 5);
    story.decommit(2, PAGE, 1);
    story.decommit(3, 3 * PAGE, 1);
    story.stack(4, 1, &[0x20, 0x10]);
    let groups = groups(&story.end(), &[By::Stack]);
    assert_eq!(groups.len(), 1);
    assert_eq!((groups[0].numbers.count, groups[0].numbers.outstanding_to), (5, 3 * PAGE));
    assert_eq!(groups[0].stack.as_deref().unwrap(), ["0x10", "0x20"]);
}

#[test]
fn the_stack_of_a_free_is_not_that_of_the_next_allocation() {
    let mut story = Story::new();
    story.alloc(1, Layer::Heap, 0x100);
    story.stack(1, 1, &[0x10]);
    story.free(1, Layer::Heap, 0x100);
    story.stack(1, 1, &[0x20]);
    story.alloc(1, Layer::Heap, 0x100);
    story.stack(1, 1, &[0x30]);
    let mut stacks: Vec<_> = groups(&story.end(), &[By::Stack]).into_iter().map(|g| g.stack.unwrap()).collect();
    stacks.sort();
    assert_eq!(stacks, [["0x10"], ["0x30"]]);
}

#[test]
fn a_free_of_an_unknown_block_keeps_its_stack() {
    let mut story = Story::new();
    story.alloc(1, Layer::Heap, 0x100);
    story.free(2, Layer::Heap, 0x200);
    story.free(3, Layer::Heap, 0x100);
    story.stack(4, 2, &[0x10, 0x20]);
    story.free(5, Layer::Tracker, 0x300); // of a tracker that nobody opened
    let trace = story.end();
    assert_eq!(trace.quality.unmatched_frees, 2);
    let frames = |stack| trace.stacks.chain(stack).map(|node| trace.stacks.address(node)).collect::<Vec<_>>();
    let kept: Vec<_> = trace.unmatched.iter().map(|f| (f.time.0, f.layer, f.address, frames(f.stack))).collect();
    assert_eq!(kept, [(2, Layer::Heap, 0x200, vec![0x10, 0x20]), (5, Layer::Tracker, 0x300, Vec::new())]);
}

#[test]
fn frees_of_unknown_blocks_are_grouped_by_place_the_most_frequent_first() {
    let mut story = Story::new();
    story.alloc(1, Layer::Heap, 0x100);
    for (time, address, frame) in [(2, 0x200, 0x10), (4, 0x300, 0x20), (6, 0x400, 0x20)] {
        story.free(time, Layer::Heap, address);
        story.stack(time + 1, time, &[frame]);
    }
    story.free(8, Layer::Tracker, 0x300);
    let trace = story.end();
    let request = UnmatchedRequest {
        interval: Interval { from: Ticks(0), to: Ticks(9) },
        by: vec![By::Stack],
        filter: ReportFilter::default(),
        under: Vec::new(),
        fold: Fold::Nothing,
    };
    let groups = unmatched(&trace, &Names::default(), &request, &Cancel::default()).unwrap();
    let told: Vec<_> = groups
        .iter()
        .map(|group| (group.count, group.times.0.0, group.times.1.0, group.layer, group.stack.clone().unwrap().join(" ")))
        .collect();
    let told: Vec<_> =
        told.iter().map(|(count, first, last, layer, stack)| (*count, *first, *last, *layer, stack.as_str())).collect();
    assert_eq!(told, [(2, 4, 6, "heap", "0x20"), (1, 2, 2, "heap", "0x10"), (1, 8, 8, "tracker", "")]);
}

#[test]
fn a_stack_of_another_stream_may_come_just_before_its_event() {
    let mut story = Story::new();
    story.stack(1, 1, &[0x10]);
    story.alloc(1, Layer::Heap, 0x100);
    assert_eq!(groups(&story.end(), &[By::Stack])[0].stack.as_deref().unwrap(), ["0x10"]);
}

/// The stack of one allocation at `at` with this return address.
fn label_at(mut story: Story, at: i64, address: u64) -> String {
    story.alloc(at, Layer::Heap, 0x100);
    story.stack(at, at, &[address]);
    label(&story.end())
}

fn label(trace: &Trace) -> String {
    groups(trace, &[By::Stack]).remove(0).stack.unwrap().remove(0)
}

#[test]
fn frames_are_named_by_what_was_mapped_at_the_time() {
    let story = || {
        let mut story = Story::new();
        story.image(1, 7, ImageChange::Load, 0x4000, r"\Device\Volume1\old.dll");
        story
    };
    assert_eq!(label_at(story(), 5, 0x4010), "old.dll!+0x10");
    assert_eq!(label_at(story(), 5, 0x5000), "0x5000", "just behind it");
    assert_eq!(label_at(story(), 5, 0x3FFF), "0x3fff", "just before it");
    let replaced = || {
        let mut story = story();
        story.image(3, 7, ImageChange::Unload, 0x4000, r"\Device\Volume1\old.dll");
        story.image(4, 7, ImageChange::Load, 0x4000, r"\Device\Volume1\new.dll");
        story
    };
    assert_eq!(label_at(replaced(), 5, 0x4010), "new.dll!+0x10");
}

#[test]
fn images_that_only_the_last_rundown_names_were_there_all_the_time() {
    let mut story = Story::new();
    story.alloc(1, Layer::Heap, 0x100);
    story.stack(1, 1, &[0x4010]);
    story.image(9, 7, ImageChange::Rundown, 0x4000, r"\SystemRoot\lib.dll");
    assert_eq!(label(&story.end()), "lib.dll!+0x10");
}

#[test]
fn kernel_images_are_mapped_in_every_process() {
    let mut story = Story::new();
    story.image(1, 4, ImageChange::Rundown, 0xFFFF_8000_0000_0000, r"\SystemRoot\system32\ntoskrnl.exe");
    story.image(2, 9, ImageChange::Rundown, 0x4000, "other.dll");
    assert_eq!(label_at(story, 5, 0xFFFF_8000_0000_0020), "ntoskrnl.exe!+0x20");
    let mut story = Story::new();
    story.image(2, 9, ImageChange::Rundown, 0x4000, "other.dll");
    assert_eq!(label_at(story, 5, 0x4010), "0x4010", "mapped in another process");
}

#[test]
fn frames_of_a_commit_in_another_process_are_the_callers() {
    let mut story = Story::new();
    story.image(1, 7, ImageChange::Load, 0x4000, "parent.exe");
    story.image(1, 8, ImageChange::Load, 0x4000, "child.exe");
    story.commit(5, 8, PAGE, 1);
    story.stack(6, 5, &[0x4010]);
    assert_eq!(label(&story.end()), "parent.exe!+0x10");
}

#[test]
fn equal_addresses_are_one_group_whatever_they_are_called() {
    let mut story = Story::new();
    for pid in [7, 8] {
        story.image(1, pid, ImageChange::Load, 0x4000, &format!("{pid}.dll"));
        story.pid = pid;
        story.tid = 10 * pid;
        story.alloc(5, Layer::Heap, 0x100);
        story.stack(6, 5, &[0x4010]);
    }
    let trace = story.end();
    assert_eq!(groups(&trace, &[By::Stack]).len(), 1);
    assert_eq!(groups(&trace, &[By::Process, By::Stack]).len(), 2);
}

/// A long copy, during which other threads act and the old block's address is given out again.
#[test]
fn a_moving_realloc_is_known_by_its_thread_however_long_it_takes() {
    let realloc = |old, new| Event::Realloc { layer: Layer::Heap, heap: 0x50, old, new, size: 8 };
    let mut story = Story::new();
    story.alloc(1, Layer::Heap, 0x100);
    story.alloc(2, Layer::Heap, 0x200);
    story.tid = 71;
    story.alloc(3, Layer::Heap, 0x300);
    story.tid = 70;
    story.free(10 * SECOND, Layer::Heap, 0x100);
    story.tid = 71;
    story.alloc(11 * SECOND, Layer::Heap, 0x100);
    story.tid = 70;
    story.tell(12 * SECOND, realloc(0x100, 0x200));
    let trace = story.end();
    assert_eq!(heaps(&trace), [heap("0x50", 4, 24)], "the block that took its address stays");
    assert_eq!((trace.quality.unmatched_frees, trace.quality.superseded_allocations), (0, 0));

    let mut story = Story::new();
    story.alloc(1, Layer::Heap, 0x100);
    story.alloc(2, Layer::Heap, 0x200);
    story.tell(3, realloc(0x100, 0x200)); // its free was lost
    assert_eq!(heaps(&story.end()), [heap("0x50", 2, 8)]);

    let mut story = Story::new();
    story.alloc(1, Layer::Heap, 0x200);
    story.alloc(2, Layer::Heap, 0x300);
    story.free(3, Layer::Heap, 0x300);
    story.tell(4, realloc(0x900, 0x200));
    let trace = story.end();
    assert_eq!(heaps(&trace), [heap("0x50", 3, 8)], "the thread has allocated another block since");
    assert_eq!((trace.quality.unmatched_frees, trace.quality.superseded_allocations), (1, 1));
}

#[test]
fn a_realloc_of_address_0_is_an_allocation() {
    for layer in [Layer::Heap, Layer::Tracker] {
        let mut story = Story::new();
        story.tell(1, Event::Realloc { layer, heap: 0x50, old: 0, new: 0x100, size: 8 });
        let trace = story.end();
        assert_eq!(groups(&trace, &[])[0].numbers.outstanding_to, 8);
        assert_eq!((trace.quality.unmatched_frees, trace.quality.superseded_allocations), (0, 0));
    }
}

#[test]
fn placeholders_that_are_split_and_joined_stay_reserved() {
    let mut story = Story::new();
    story.process(1, 7, ProcessChange::Start, 0xA, "Game.exe");
    let release = |flags| mem::RELEASE | flags;
    let free = |base, pages, flags| Event::VirtualFree(range(7, base, pages, release(flags)));
    story.tell(2, free(16 * PAGE, 8, mem::PRESERVE_PLACEHOLDER)); // from before the trace
    story.tell(3, Event::VirtualAlloc(range(7, 16 * PAGE, 8, mem::COMMIT | mem::RESERVE)));
    story.tell(4, free(16 * PAGE, 8, mem::PRESERVE_PLACEHOLDER));
    story.tell(5, free(16 * PAGE, 16, mem::COALESCE_PLACEHOLDERS));
    story.tell(6, free(16 * PAGE, 0, 0));
    story.process(7, 7, ProcessChange::End, 0xA, "Game.exe");
    story.tell(8, free(64 * PAGE, 8, 0));
    let trace = story.end();
    assert_eq!(groups(&trace, &[])[0].numbers.freed_size, 8 * PAGE);
    assert_eq!((trace.quality.unmatched_frees, trace.quality.superseded_allocations), (0, 0));

    let mut story = Story::new();
    story.tell(1, free(16 * PAGE, 8, 0));
    assert_eq!(story.end().quality.unmatched_frees, 1, "of a process of which nothing is known");
}

#[test]
fn what_a_process_wrote_just_before_its_start_is_its_own() {
    for (before, lives) in [(10, 1), (SECOND / 1000, 1), (SECOND / 1000 + 1, 2)] {
        let mut story = Story::new();
        story.alloc(SECOND - before, Layer::Heap, 0x100);
        story.process(SECOND, 7, ProcessChange::Start, 0xA, "Game.exe");
        story.alloc(SECOND + 1, Layer::Heap, 0x200);
        assert_eq!(processes(&story.end()).len(), lives, "{before} ticks before");
    }
}

#[test]
fn an_end_that_a_second_session_logs_late_is_not_that_of_who_has_the_id_since() {
    let mut story = Story::new();
    story.process(0, 7, ProcessChange::Start, 0xA, "first.exe");
    story.process(10, 7, ProcessChange::End, 0xA, "first.exe");
    story.process(20, 7, ProcessChange::Start, 0xB, "second.exe");
    story.commit(30, 7, 0x10_0000, 1);
    story.process(40, 7, ProcessChange::End, 0xA, "first.exe");
    story.alloc(50, Layer::Heap, 0x1000);
    let second = |bytes| ("second.exe".to_owned(), Some(20.0 / SECOND as f64), 1, bytes);
    assert_eq!(processes(&story.end()), [second(8), second(PAGE)]);
}

#[test]
fn a_start_of_another_object_is_another_process_though_no_event_named_the_one_before() {
    let mut story = Story::new();
    story.pid = 4;
    story.process(10, 7, ProcessChange::Rundown, 0xA, "");
    story.commit(20, 7, 0x10_0000, 1);
    story.process(30, 7, ProcessChange::Start, 0xB, "second.exe");
    assert_eq!(processes(&story.end()), [("Unknown (7)".to_owned(), None, 1, 0)]);
}
