//! Playing a capture as if it were being recorded ends as opening it does, whatever the
//! speeds on the way; and what is published meanwhile speaks of what has been played.

use std::path::PathBuf;

use crate::common::told::{difference, told};
use highwater::load::{Capture, DEMO_NAME, Input, Stopped, Unwatched, Watch, load};
use highwater::model::Trace;
use highwater::units::Ticks;
use highwater_dev::synth::{Options, Scenario, StackForm, generate};

/// One who plays, and looks at each publication.
struct Player {
    /// Speeds one after the other, each for some questions; then the last.
    speeds: Vec<Option<f64>>,
    asked: std::cell::Cell<usize>,
    published: Vec<Trace>,
    /// Gives up after so many publications.
    stop_after: usize,
}

/// Questions at one speed.
const QUESTIONS: usize = 4;

impl Player {
    fn new(speeds: impl IntoIterator<Item = Option<f64>>) -> Self {
        let speeds = speeds.into_iter().collect();
        Self { speeds, asked: Default::default(), published: Vec::new(), stop_after: usize::MAX }
    }
}

impl Watch for Player {
    fn progress(&mut self, _done: u64, _total: u64) -> bool {
        self.published.len() < self.stop_after
    }

    fn publish(&mut self, trace: Trace) {
        self.published.push(trace);
    }

    fn speed(&self) -> Option<f64> {
        let at = self.asked.replace(self.asked.get() + 1) / QUESTIONS;
        *self.speeds.get(at).or(self.speeds.last()).unwrap()
    }
}

fn generated(stacks: StackForm) -> (tempfile::TempDir, Vec<Input>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("generated.etl");
    let options =
        Options { scenario: Scenario::Heap, events: 6000, distinct_stacks: 100, live: 500, stacks, ..Options::default() };
    generate(&options, std::fs::File::create(&path).unwrap()).unwrap();
    (folder, vec![Input::File(path)])
}

/// The speed at which a capture takes so many seconds.
fn speed(inputs: &[Input], seconds: f64) -> Option<f64> {
    let trace = load(&Capture::open(inputs).unwrap(), &mut Unwatched).unwrap();
    Some((trace.span.len() as f64 / trace.clock.frequency as f64 / seconds).max(0.001))
}

fn play(inputs: &[Input], mut player: Player) -> (Result<Trace, Stopped>, Vec<Trace>) {
    let result = load(&Capture::open(inputs).unwrap(), &mut player);
    (result, player.published)
}

#[test]
fn a_played_capture_is_the_opened_one() {
    let mut all: Vec<Vec<Input>> = vec![vec![Input::from_arg(DEMO_NAME.as_ref())]];
    let files: Vec<_> = [StackForm::Keys, StackForm::Walk].map(generated).into();
    all.extend(files.iter().map(|(_, inputs)| inputs.clone()));
    for inputs in all {
        let opened = told(load(&Capture::open(&inputs).unwrap(), &mut Unwatched).unwrap());
        let quick = speed(&inputs, 0.3);
        for speeds in [vec![quick], vec![quick, Some(0.0), quick.map(|s| s * 3.0), None], vec![None]] {
            let (played, published) = play(&inputs, Player::new(speeds.clone()));
            assert_eq!(difference(&told(played.unwrap()), &opened), None, "{inputs:?} at {speeds:?}");
            assert!(speeds != [quick] || published.len() > 1, "nothing was seen on the way");
        }
    }
}

#[test]
fn real_captures_are_played_as_they_are_opened() {
    let Some(corpus) = crate::common::corpus() else { return };
    let files = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    let traces: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "etl")).collect();
    for path in traces {
        let inputs = vec![Input::File(path)];
        let opened = told(load(&Capture::open(&inputs).unwrap(), &mut Unwatched).unwrap());
        let (played, _) = play(&inputs, Player::new([speed(&inputs, 0.2)]));
        assert_eq!(difference(&told(played.unwrap()), &opened), None, "{inputs:?}");
    }
}

#[test]
fn what_is_published_has_happened_and_grows() {
    let (_folder, inputs) = generated(StackForm::Keys);
    let (played, published) = play(&inputs, Player::new([speed(&inputs, 0.5)]));
    let whole = played.unwrap();
    assert!(published.len() > 2);
    assert!(published.windows(2).all(|two| two[0].span.to <= two[1].span.to && two[0].rows.len() <= two[1].rows.len()));
    assert!(published[0].span.to < whole.span.to && published[0].rows.len() < whole.rows.len());
    for trace in published {
        assert!(!trace.complete);
        let inside = |t: Ticks| t == Ticks::NEVER || t < trace.span.to;
        let rows = trace.rows.chunks().flat_map(|chunk| chunk.rows().collect::<Vec<_>>());
        assert!(rows.into_iter().all(|(_, row)| inside(row.birth) && inside(row.death)), "{:?}", trace.span);
    }
}

#[test]
fn a_player_that_is_paused_publishes_nothing_new_and_can_be_stopped() {
    let (_folder, inputs) = generated(StackForm::Keys);
    let mut player = Player::new([speed(&inputs, 1.0), Some(0.0)]);
    player.stop_after = 3;
    let deadline = std::time::Instant::now() + std::time::Duration::from_millis(600);
    struct Patient(Player, std::time::Instant);
    impl Watch for Patient {
        fn progress(&mut self, done: u64, total: u64) -> bool {
            self.0.progress(done, total) && std::time::Instant::now() < self.1
        }
        fn publish(&mut self, trace: Trace) {
            self.0.publish(trace);
        }
        fn speed(&self) -> Option<f64> {
            self.0.speed()
        }
    }
    let mut patient = Patient(player, deadline);
    let result = load(&Capture::open(&inputs).unwrap(), &mut patient);
    assert_eq!(result.err(), Some(Stopped));
    assert!(patient.0.published.len() < 3, "{} publications of a capture that stands still", patient.0.published.len());
}
