//! False alarms, and planted shifts, in numbers like those of nights on several machines.

use crate::shifts::{find, least_p};
use crate::{Kind, Place};
use highwater_engine::random::Random;

/// Captures of so many builds, one on each machine.
fn places(builds: usize, machines: usize) -> Vec<Place> {
    (0..builds).flat_map(|build| (0..machines).map(move |machine| Place { build, machine })).collect()
}

/// A number between 0 and 1.
fn uniform(random: &mut Random) -> f64 {
    (random.bits() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A number of the normal distribution (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    (-2.0 * (1.0 - uniform(random)).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

/// Kinds of callers that do not shift.
#[derive(Clone, Copy)]
enum Noise {
    /// A few percent, as of caches.
    Normal,
    /// Now and then far off, as of a machine that did something else.
    Tails,
    /// One of two levels.
    TwoLevels,
    /// Seldom anything at all.
    Seldom,
    /// A part of it in steps of a block, often the same.
    Blocks,
}

const NOISE: [Noise; 5] = [Noise::Normal, Noise::Tails, Noise::TwoLevels, Noise::Seldom, Noise::Blocks];

/// Bytes of a caller in each capture. Each machine has its own level, and one of them is ten times as noisy.
fn quiet(places: &[Place], noise: Noise, random: &mut Random) -> Vec<f64> {
    const LEVEL: f64 = 1e6;
    let offsets: Vec<f64> = (0..32).map(|_| uniform(random) * 3.0 * LEVEL).collect();
    let mut number = |place: &Place| {
        let scale = if place.machine == 2 { 10.0 } else { 1.0 };
        let off = match noise {
            Noise::Normal => normal(random) * 0.03,
            Noise::Tails => normal(random) / (0.05 + uniform(random)) * 0.03,
            Noise::TwoLevels => f64::from(u8::from(random.one_in(3))),
            Noise::Seldom => f64::from(u8::from(random.one_in(15))),
            Noise::Blocks => random.below(3) as f64 * 0.01,
        };
        offsets[place.machine] + LEVEL * (1.0 + scale * off)
    };
    places.iter().map(&mut number).collect()
}

/// Callers of a program without a shift.
fn night(places: &[Place], callers: usize, random: &mut Random) -> Vec<Vec<f64>> {
    (0..callers).map(|at| quiet(places, NOISE[at % NOISE.len()], random)).collect()
}

#[test]
fn without_a_shift_alarms_are_no_more_than_the_rate() {
    const RATE: f64 = 0.05;
    const NIGHTS: usize = 200;
    let mut random = Random::new(1);
    let mut alarms = 0;
    for night_number in 0..NIGHTS {
        let places = if night_number % 2 == 0 { places(12, 3) } else { places(24, 1) };
        let rows = night(&places, 10, &mut random);
        alarms += usize::from(find(&places, &rows, RATE).iter().any(|shifts| !shifts.is_empty()));
    }
    // 10 are expected; more than 20 come once in a thousand times.
    assert!((1..=20).contains(&alarms), "{alarms} of {NIGHTS}");
}

/// A planted shift: its first build, the first build behind it, its bytes.
struct Planted {
    from: usize,
    to: usize,
    bytes: f64,
}

/// Recall and precision over some nights in which each of three callers of sixty has a shift.
fn recall_and_precision(builds: usize, machines: usize, plant: impl Fn(&mut Random) -> Planted) -> (f64, f64) {
    const NIGHTS: usize = 12;
    let mut random = Random::new(7);
    let (mut planted, mut right, mut reported) = (0, 0, 0);
    for _ in 0..NIGHTS {
        let places = places(builds, machines);
        let mut rows = night(&places, 60, &mut random);
        let mut edges = Vec::new();
        for at in [0, 21, 44] {
            let shift = plant(&mut random);
            for (value, place) in rows[at].iter_mut().zip(&places) {
                *value += if (shift.from..shift.to).contains(&place.build) { shift.bytes } else { 0.0 };
            }
            edges.extend([shift.from, shift.to].into_iter().filter(|&edge| edge < builds).map(|edge| (at, edge)));
        }
        planted += edges.len();
        for (at, found) in find(&places, &rows, 0.01).iter().enumerate() {
            for shift in found {
                reported += 1;
                let is_it = |&(of, edge): &(usize, usize)| of == at && edge == shift.to_build && shift.from_build + 1 == edge;
                right += usize::from(edges.iter().any(is_it));
            }
        }
    }
    (right as f64 / planted as f64, right as f64 / f64::from(reported.max(1)))
}

#[test]
fn planted_shifts_are_found_at_their_builds() {
    let lasting = |bytes: f64| move |random: &mut Random| Planted { from: 3 + random.index(24), to: 30, bytes };
    let cases = [
        ("doubles, 30 builds on 5 machines", recall_and_precision(30, 5, lasting(1e6)), (0.95, 0.95)),
        ("a fifth more, 30 builds on 5 machines", recall_and_precision(30, 5, lasting(2e5)), (0.5, 0.9)),
        ("doubles, 30 builds on 1 machine", recall_and_precision(30, 1, lasting(1e6)), (0.6, 0.9)),
        (
            "doubles in the last build, 5 machines",
            recall_and_precision(30, 5, |_| Planted { from: 29, to: 30, bytes: 1e6 }),
            (0.5, 0.9),
        ),
        (
            "doubles for four builds, 5 machines",
            recall_and_precision(30, 5, |random| {
                let from = 3 + random.index(20);
                Planted { from, to: from + 4, bytes: 1e6 }
            }),
            (0.8, 0.9),
        ),
    ];
    let text: Vec<String> = cases
        .iter()
        .map(|(name, (recall, precision), _)| format!("| {name} | {:.0} % | {:.0} % |", recall * 100.0, precision * 100.0))
        .collect();
    for (name, (recall, precision), (least_recall, least_precision)) in cases {
        assert!(recall >= least_recall && precision >= least_precision, "{name}:\n{}", text.join("\n"));
    }
    // Logarithms differ in their last bit from system to system.
    if cfg!(target_os = "linux") {
        let document = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fleet.md")).unwrap();
        assert!(document.contains(&text.join("\n")), "docs/fleet.md has other figures than these:\n{}", text.join("\n"));
    }
}

#[test]
fn a_step_has_the_levels_of_the_average_machine() {
    let places = places(20, 4);
    // The second machine holds ten times as much, and the last has no capture of the first builds.
    let places: Vec<Place> = places.into_iter().filter(|place| place.machine != 3 || place.build > 12).collect();
    let value = |place: &Place| {
        let machine = [1000.0, 10_000.0, 1500.0, 1100.0][place.machine];
        machine + if place.build >= 9 { 4000.0 } else { 0.0 }
    };
    let row: Vec<f64> = places.iter().map(value).collect();
    let found = find(&places, &[row], 0.01);
    let [shift] = found[0].as_slice() else { panic!("{found:?}") };
    assert_eq!((shift.kind, shift.from_build, shift.to_build), (Kind::Step, 8, 9));
    assert!((shift.before - 3400.0).abs() < 1.0 && (shift.after - 7400.0).abs() < 1.0, "{shift:?}");
    assert!(shift.p <= 0.001);
}

#[test]
fn a_clear_shift_is_no_rarer_than_orders_of_its_captures_are() {
    let places = places(2, 5);
    let row: Vec<f64> = places.iter().map(|place| place.machine as f64 + if place.build == 1 { 4000.0 } else { 0.0 }).collect();
    let found = find(&places, std::slice::from_ref(&row), 0.1);
    let [shift] = found[0].as_slice() else { panic!("{found:?}") };
    assert_eq!((shift.kind, shift.from_build, shift.to_build), (Kind::Step, 0, 1));
    assert!((0.04..0.09).contains(&shift.p), "2 of 32: {}", shift.p);
    assert_eq!(find(&places, &[row], 0.01), [Vec::new()]);
}

#[test]
fn numbers_of_builds_and_machines_may_have_gaps() {
    let places: Vec<Place> =
        places(16, 2).into_iter().map(|place| Place { build: place.build * 3 + 5, machine: place.machine * 40 }).collect();
    let row: Vec<f64> = places.iter().map(|place| if place.build >= 26 { 9.0 } else { 1.0 }).collect();
    let found = find(&places, &[row], 0.01);
    assert_eq!(found[0].iter().map(|shift| (shift.from_build, shift.to_build)).collect::<Vec<_>>(), [(23, 26)]);
}

#[test]
fn a_number_that_grows_with_each_build_is_a_drift_and_not_a_step() {
    let places = places(24, 3);
    let mut random = Random::new(3);
    let row: Vec<f64> = places.iter().map(|place| place.build as f64 * 100.0 + normal(&mut random) * 20.0).collect();
    let found = find(&places, &[row], 0.01);
    let [shift] = found[0].as_slice() else { panic!("{found:?}") };
    assert_eq!((shift.kind, shift.from_build, shift.to_build), (Kind::Drift, 0, 23));
    assert!(shift.before.abs() < 60.0 && (shift.after - 2300.0).abs() < 60.0, "{shift:?}");
}

#[test]
fn what_is_the_same_everywhere_or_too_few_shifts_nowhere() {
    for places in [places(10, 1), places(2, 1), places(1, 4), Vec::new()] {
        let same = vec![5.0; places.len()];
        assert_eq!(find(&places, &[same, vec![0.1; places.len()]], 0.01), [Vec::new(), Vec::new()]);
    }
    // Two builds on five machines can be told from chance in 2 of 32 times, one of which is shrinking.
    let few = least_p(&places(2, 5)).unwrap();
    assert!((few - 2.0 / 32.0).abs() < 1e-12, "{few}");
    assert_eq!(least_p(&places(30, 5)), None, "far below any rate");
}

#[test]
fn a_machine_that_is_new_is_no_shift() {
    // From the eighth build on a second machine makes captures, and holds five times as much.
    let places: Vec<Place> = places(20, 2).into_iter().filter(|place| place.machine == 0 || place.build >= 8).collect();
    let mut random = Random::new(9);
    let number = |place: &Place| [1e6, 5e6][place.machine] + normal(&mut random) * 1e4;
    let row: Vec<f64> = places.iter().map(number).collect();
    assert_eq!(find(&places, &[row], 0.01), [Vec::new()]);
}
