//! Following files that grow ends as opening them does, in whatever pieces they come;
//! and what is published meanwhile is what the whole says of the time up to then.

use std::collections::VecDeque;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::common::recorded::{LaneFile, Recorder};
use crate::common::told::{difference, groups, told};
use crate::oracle::strategy;
use highwater::load::{Capture, Input, Plan, Unwatched, Watch, WhenFull, follow, load};
use highwater::model::Trace;
use highwater::open_error::OpenError;
use highwater::problem::ProblemKind;
use highwater::query::By;
use highwater::random::Random;
use highwater::units::Interval;
use highwater_dev::synth::{Options, Scenario, StackForm, generate};
use proptest::prelude::*;

/// What happens to a file between two looks.
#[derive(Clone, Debug)]
enum Step {
    Append(PathBuf, Vec<u8>),
    /// Its first bytes are written again.
    Header(PathBuf, Vec<u8>),
    Delete(PathBuf),
    /// Another file comes in its place.
    Replace(PathBuf, Vec<u8>),
    /// Nothing, for so long.
    Wait(Duration),
}

impl Step {
    fn happen(&self) -> Duration {
        match self {
            Self::Append(path, bytes) => {
                std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
            }
            Self::Header(path, bytes) => {
                let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
                file.rewind().unwrap();
                file.write_all(bytes).unwrap();
            }
            Self::Delete(path) => std::fs::remove_file(path).unwrap(),
            Self::Replace(path, bytes) => {
                std::fs::remove_file(path).unwrap();
                std::fs::write(path, bytes).unwrap();
            }
            Self::Wait(time) => return *time,
        }
        Duration::ZERO
    }
}

/// One who lets files grow between the looks, and keeps what is published.
#[derive(Default)]
struct Grower {
    steps: VecDeque<Step>,
    published: Vec<Trace>,
    /// Whether to stop following when nothing is left to do.
    stops: bool,
    looks: usize,
}

impl Watch for Grower {
    fn progress(&mut self, _done: u64, _total: u64) -> bool {
        self.looks < 100_000
    }

    fn publish(&mut self, trace: Trace) {
        self.published.push(trace);
    }

    fn follows(&self) -> bool {
        !(self.stops && self.steps.is_empty())
    }

    fn rest(&mut self) -> Duration {
        self.looks += 1;
        self.steps.pop_front().map_or(Duration::ZERO, |step| step.happen())
    }
}

/// How files come to disk.
#[derive(Clone, Copy, Debug, Default)]
struct Coming {
    seed: u64,
    /// Bytes of the largest piece.
    piece: usize,
    /// The second file comes so many seconds after the others.
    delay: usize,
    /// Files of a ring that stay.
    keep: Option<usize>,
    /// The session never ends.
    crashes: bool,
}

/// Steps in which all lanes keep about the same pace.
fn steps(files: &[LaneFile], folder: &Path, coming: Coming) -> VecDeque<Step> {
    let mut random = Random::new(coming.seed);
    let mut steps = VecDeque::new();
    let seconds = files.iter().map(|file| file.marks.len()).max().unwrap();
    let mut done: Vec<usize> = vec![0; files.len()];
    let mut ended = VecDeque::new();
    for second in 0..seconds + coming.delay {
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by_key(|_| random.below(1000));
        for i in order {
            let file = &files[i];
            let at = if i == 1 { second.checked_sub(coming.delay) } else { Some(second) };
            let Some(at) = at.filter(|&at| at < file.marks.len()) else { continue };
            let Some(mark) = file.marks[at] else { continue };
            let bytes = [&file.header, &file.bytes[file.header.len()..]].concat();
            while done[i] < mark {
                let end = mark.min(done[i] + 1 + random.below(coming.piece as u64) as usize);
                steps.push_back(Step::Append(file.path(folder), bytes[done[i]..end].to_vec()));
                done[i] = end;
            }
            if at + 1 == file.marks.len() && at + 1 < seconds {
                steps.push_back(Step::Header(file.path(folder), file.bytes[..file.header.len()].to_vec()));
                ended.push_back(i);
                if coming.keep.is_some_and(|keep| ended.len() > keep) {
                    steps.push_back(Step::Delete(files[ended.pop_front().unwrap()].path(folder)));
                }
            }
        }
    }
    for file in files.iter().filter(|file| file.marks.len() == seconds && !coming.crashes) {
        steps.push_back(Step::Header(file.path(folder), file.bytes[..file.header.len()].to_vec()));
    }
    steps
}

fn opened(inputs: &[Input]) -> Trace {
    load(&Capture::open(inputs).unwrap(), &mut Unwatched).unwrap()
}

/// Follows files as they come; returns the last trace and those on the way.
fn followed(inputs: &[Input], steps: VecDeque<Step>, stops: bool) -> (Trace, Vec<Trace>) {
    let mut grower = Grower { steps, stops, ..Grower::default() };
    let trace = follow(inputs, &Plan::default(), &mut grower).unwrap();
    assert!(grower.steps.is_empty(), "it ended too early");
    (trace, grower.published)
}

/// What was published is what the whole says of the time up to then.
fn check_prefixes(published: Vec<Trace>, whole: &Arc<Trace>) {
    let by = [By::Process, By::Heap, By::Thread];
    for trace in published {
        assert!(!trace.complete);
        let (span, trace) = (trace.span, Arc::new(trace));
        assert!(span.from == whole.span.from && span.to <= whole.span.to, "{span:?} of {:?}", whole.span);
        let half = Interval { from: span.from, to: highwater::units::Ticks(span.to.0 / 2).max(span.from) };
        for interval in [span, half] {
            let words = |trace| groups(trace, interval, by.to_vec()).iter().map(|group| group.to_string()).collect::<Vec<_>>();
            assert_eq!(difference(&words(&trace), &words(whole)), None, "{interval:?}");
        }
    }
}

fn files_in(files: &[LaneFile], folder: &Path) -> Vec<Input> {
    files.iter().map(|file| Input::File(file.path(folder))).collect()
}

const RECORDER: Recorder = Recorder { seed: 1, lanes: 3, seconds: 9, events_a_second: 60, packed: false, ring: None };

proptest! {
    #![proptest_config(strategy::fewer(10))]
    #[test]
    fn whatever_pieces_it_comes_in_a_followed_recording_is_the_opened_one(
        seed in any::<u64>(),
        piece in prop_oneof![Just(300usize), Just(700), Just(5_000), Just(100_000)],
        lanes in 1usize..4,
        packed in any::<bool>(),
        folder_is_named in any::<bool>(),
    ) {
        let recorder = Recorder { seed, lanes, packed, ..RECORDER };
        let (files, folder) = (recorder.record(), tempfile::tempdir().unwrap());
        let each = files_in(&files, folder.path());
        let inputs = if folder_is_named { vec![Input::File(folder.path().to_owned())] } else { Vec::new() };
        let steps = steps(&files, folder.path(), Coming { seed, piece, ..Coming::default() });
        // A file that was named must be there.
        if !folder_is_named {
            each.iter().for_each(|input| std::fs::write(input.name(), "").unwrap());
        }
        let (trace, published) = followed(if folder_is_named { &inputs } else { &each }, steps, false);
        let whole = opened(&each);
        prop_assert!(trace.complete && whole.rows.len() > 50 && whole.quality.unmatched_frees > 0);
        prop_assert_eq!(difference(&told(trace), &told(whole.clone())), None);
        check_prefixes(published, &Arc::new(whole));
    }
}

#[test]
fn a_lane_that_comes_too_late_is_put_right_at_the_end() {
    let recorder = Recorder { seconds: 12, ..RECORDER };
    let (files, folder) = (recorder.record(), tempfile::tempdir().unwrap());
    let coming = Coming { seed: 3, piece: 2000, delay: 5, ..Coming::default() };
    let (trace, _) = followed(&[Input::File(folder.path().to_owned())], steps(&files, folder.path(), coming), false);
    assert_eq!(difference(&told(trace), &told(opened(&files_in(&files, folder.path())))), None);
}

#[test]
fn a_recording_that_is_left_ends_with_what_is_there() {
    for packed in [false, true] {
        let recorder = Recorder { packed, ..RECORDER };
        let (files, folder) = (recorder.record(), tempfile::tempdir().unwrap());
        let coming = Coming { seed: 4, piece: 900, crashes: true, ..Coming::default() };
        let mut steps = steps(&files, folder.path(), coming);
        steps.truncate(steps.len() * 2 / 3);
        let (trace, published) = followed(&[Input::File(folder.path().to_owned())], steps, true);
        let whole = opened(&files_in(&files, folder.path()));
        assert!(trace.complete);
        assert_eq!(difference(&told(trace), &told(whole.clone())), None);
        if whole.problems.is_empty() {
            check_prefixes(published, &Arc::new(whole));
        }
    }
}

#[test]
fn what_a_ring_deletes_stays_if_it_was_read() {
    let recorder = Recorder { seconds: 16, ring: Some(2), ..RECORDER };
    let (files, folder, all) = (recorder.record(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert!(files.len() > 8);
    let coming = Coming { seed: 5, piece: 3000, keep: Some(2), ..Coming::default() };
    let (trace, published) = followed(&[Input::File(folder.path().to_owned())], steps(&files, folder.path(), coming), false);
    assert!(std::fs::read_dir(folder.path()).unwrap().count() < files.len() - 2, "most are gone");
    // The same as if none had been deleted.
    files.iter().for_each(|file| std::fs::write(file.path(all.path()), &file.bytes).unwrap());
    let whole = opened(&files_in(&files, all.path()));
    assert_eq!(difference(&told(trace), &told(whole.clone())), None);
    check_prefixes(published, &Arc::new(whole));
}

#[test]
fn everything_is_shown_when_nothing_comes_for_a_while() {
    let recorder = Recorder { lanes: 1, ..RECORDER };
    let (files, folder) = (recorder.record(), tempfile::tempdir().unwrap());
    let mut steps = steps(&files, folder.path(), Coming { seed: 6, piece: 100_000, crashes: true, ..Coming::default() });
    let pause = Step::Wait(Duration::from_millis(500));
    steps.extend(std::iter::repeat_n(pause, 4));
    // Publications are some time apart.
    struct Patient(Grower);
    impl Watch for Patient {
        fn progress(&mut self, done: u64, total: u64) -> bool {
            self.0.progress(done, total)
        }
        fn publish(&mut self, trace: Trace) {
            self.0.publish(trace);
        }
        fn follows(&self) -> bool {
            self.0.published.last().is_none_or(|trace| trace.span.to < highwater::units::Ticks(8 * 10_000_000 + 9_000_000))
        }
        fn rest(&mut self) -> Duration {
            std::thread::sleep(Duration::from_millis(1));
            self.0.rest()
        }
    }
    let mut grower = Patient(Grower { steps, ..Grower::default() });
    let trace = follow(&[Input::File(folder.path().to_owned())], &Plan::default(), &mut grower).unwrap();
    let whole = Arc::new(opened(&files_in(&files, folder.path())));
    assert_eq!(grower.0.published.last().unwrap().span, whole.span);
    check_prefixes(grower.0.published, &whole);
    assert_eq!(difference(&told(trace), &told(whole.as_ref().clone())), None);
}

#[test]
fn a_followed_recording_forgets_what_is_over_instead_of_ending() {
    let recorder = Recorder { seconds: 40, events_a_second: 400, ..RECORDER };
    let (files, folder) = (recorder.record(), tempfile::tempdir().unwrap());
    let steps = steps(&files, folder.path(), Coming { seed: 8, piece: 20_000, ..Coming::default() });
    let mut grower = Grower { steps, ..Grower::default() };
    let budget = 220_000;
    let plan = Plan { budget, when_full: WhenFull::Forget, ..Plan::default() };
    let trace = Arc::new(follow(&[Input::File(folder.path().to_owned())], &plan, &mut grower).unwrap());
    let whole = Arc::new(opened(&files_in(&files, folder.path())));
    assert!(whole.load_bytes > budget && trace.load_bytes < budget, "{} and {}", whole.load_bytes, trace.load_bytes);
    let from = trace.forgotten.unwrap();
    assert_eq!((trace.cut, trace.span), (None, whole.span));
    let interval = Interval { from, to: whole.span.to };
    let by = || vec![By::Process, By::Heap, By::Stack, By::FreedStack, By::Thread];
    assert_eq!(groups(&trace, interval, by()), groups(&whole, interval, by()));
}

#[test]
fn a_file_that_is_complete_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    for (scenario, stacks) in
        [(Scenario::Heap, StackForm::Keys), (Scenario::Trackers, StackForm::Walk), (Scenario::Commit, StackForm::Walk)]
    {
        let path = folder.path().join("generated.etl");
        let options = Options { scenario, events: 6000, distinct_stacks: 100, live: 500, stacks, ..Options::default() };
        generate(&options, std::fs::File::create(&path).unwrap()).unwrap();
        let inputs = [Input::File(path)];
        let (trace, _) = followed(&inputs, VecDeque::new(), false);
        assert_eq!(difference(&told(trace), &told(opened(&inputs))), None);
    }
}

#[test]
fn generated_traces_that_come_in_pieces_end_as_the_opened_ones() {
    // Their buffers come much later than any session's: nearly everything is late.
    for (scenario, lost_buffers) in [(Scenario::Heap, 0), (Scenario::Heap, 7), (Scenario::Commit, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { scenario, events: 6000, distinct_stacks: 100, live: 500, lost_buffers, ..Options::default() };
        let bytes = generate(&options, std::io::Cursor::new(Vec::new())).unwrap().into_inner();
        in_pieces(&bytes, &folder.path().join("generated.etl"), 30_000);
    }
}

/// Follows a file that comes in pieces.
fn in_pieces(bytes: &[u8], path: &Path, piece: usize) {
    let steps = bytes.chunks(piece).map(|piece| Step::Append(path.to_owned(), piece.to_vec())).collect();
    std::fs::write(path, "").unwrap();
    let inputs = [Input::File(path.to_owned())];
    let (trace, _) = followed(&inputs, steps, true);
    assert_eq!(difference(&told(trace), &told(opened(&inputs))), None, "{}", path.display());
}

#[test]
fn real_captures_that_come_in_pieces_end_as_the_opened_ones() {
    let Some(corpus) = crate::common::corpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let files = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    for path in files.filter(|path| path.extension().is_some_and(|e| e == "etl")) {
        let bytes = std::fs::read(&path).unwrap();
        in_pieces(&bytes, &folder.path().join(path.file_name().unwrap()), bytes.len() / 9 + 1);
    }
}

#[test]
fn files_that_are_lost_on_the_way_are_told_and_what_was_read_stays() {
    let recorder = Recorder { lanes: 1, ..RECORDER };
    let other = Recorder { seed: 99, seconds: 30, ..recorder }.record().remove(0);
    let second_header = {
        let mut header = other.header;
        header[0x48 + 0x10] ^= 1; // another start
        header
    };
    type Fate<'a> = (&'a str, Box<dyn Fn(&Path) -> Vec<Step>>);
    let replace = |path: &Path| vec![Step::Replace(path.to_owned(), vec![1; 10])];
    let cases: [Fate<'_>; 3] = [
        ("deleted", Box::new(|path| vec![Step::Delete(path.to_owned())])),
        // Windows gives a file that has the name of a deleted one no other sign of it than its size.
        (if cfg!(windows) { "became shorter" } else { "replaced" }, Box::new(replace)),
        ("replaced", Box::new(move |path| vec![Step::Header(path.to_owned(), second_header.clone())])),
    ];
    // Wine lets go of a file's name when the last who reads it does.
    for (word, fate) in cases.into_iter().filter(|(word, _)| !cfg!(windows) || *word != "deleted") {
        let (files, folder) = (recorder.record(), tempfile::tempdir().unwrap());
        let path = files[0].path(folder.path());
        let mut steps = steps(&files, folder.path(), Coming { seed: 7, piece: 1000, crashes: true, ..Coming::default() });
        steps.extend(fate(&path));
        let (trace, _) = followed(&[Input::File(folder.path().to_owned())], steps, false);
        assert!(trace.complete && trace.rows.len() > 50);
        let told: Vec<_> = trace.problems.iter().filter(|problem| problem.kind == ProblemKind::ReadFailed).collect();
        assert!(told.len() == 1 && told[0].detail.contains(word), "{told:?}");
    }
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |input: Input| {
        let error = follow(&[input], &Plan::default(), &mut Grower::default()).unwrap_err();
        error.to_string()
    };
    assert!(refused(Input::Demo).contains("does not grow"));
    assert!(refused(Input::File(folder.path().join("none.etl"))).contains("there is no such file"));
    let text = folder.path().join("text.etl");
    std::fs::write(&text, "this is not a trace ".repeat(100)).unwrap();
    assert!(refused(Input::File(text)).contains("not an ETW trace"));
    // An empty folder is awaited, until nobody wants to.
    let nothing =
        follow(&[Input::File(folder.path().to_owned())], &Plan::default(), &mut Grower { stops: true, ..Grower::default() });
    assert!(matches!(nothing, Err(OpenError::Stopped)));
}
