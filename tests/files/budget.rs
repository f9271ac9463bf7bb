//! Traces that need more memory than may be used: what is estimated, where they are
//! cut, and what a part of them says.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::common::highwater;
use highwater::etl::compression::Algorithm;
use highwater::load::{Capture, Estimate, Input, Plan, Processes, Scope, Unwatched, WhenFull, load, load_planned};
use highwater::model::{ProcessId, Trace};
use highwater::problem::ProblemKind;
use highwater::query::{By, Cancel, Fold, Index, IndexOptions, ReportFilter, ReportRequest, report};
use highwater::units::{Interval, Layer, Pid, Ticks};
use highwater_dev::synth::{Options, Scenario, StackForm, generate};
use serde_json::Value;
use tempfile::TempDir;

fn options(scenario: Scenario) -> Options {
    Options { scenario, events: 60_000, distinct_stacks: 300, live: 4_000, ..Options::default() }
}

/// A generated trace on disk.
struct Generated {
    _folder: TempDir,
    path: String,
}

impl Generated {
    fn new(options: &Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("generated.etl");
        generate(options, std::fs::File::create(&path).unwrap()).unwrap();
        Self { path: path.to_str().unwrap().to_owned(), _folder: folder }
    }

    fn capture(&self) -> Capture {
        Capture::open(&[Input::File(Path::new(&self.path).into())]).unwrap()
    }

    fn all(&self) -> Trace {
        load(&self.capture(), &mut Unwatched).unwrap()
    }

    fn part(&self, scope: Scope, budget: u64) -> Trace {
        load_planned(&self.capture(), &Plan { scope, budget, ..Plan::default() }, &mut Unwatched).unwrap()
    }

    fn forgetting(&self, budget: u64) -> Trace {
        let plan = Plan { budget, when_full: WhenFull::Forget, ..Plan::default() };
        load_planned(&self.capture(), &plan, &mut Unwatched).unwrap()
    }
}

/// A row in words that do not depend on numbers given while loading.
type Told = (String, Ticks, Ticks, u32, Vec<u64>, u64, u64);

/// All rows born before a moment; deaths from it on are not told, nor that a range
/// alive then was split afterwards.
fn rows(trace: &Trace, until: Ticks, wants: impl Fn(Pid, Layer) -> bool) -> Vec<Told> {
    let mut all = Vec::new();
    for (_, row) in trace.rows.chunks().flat_map(|chunk| chunk.rows()) {
        let site = trace.site(row.site);
        let heap = trace.heap(site.heap);
        let process = trace.process(heap.process);
        if row.birth >= until || !wants(process.pid, heap.layer) {
            continue;
        }
        let death = if row.death < until { row.death } else { Ticks::NEVER };
        let place = format!("{} {} {:?} {:?}", process.pid, process.label(), heap.layer, heap.key());
        let stack = trace.stacks.chain(site.stack).map(|node| trace.stacks.address(node)).collect();
        all.push((place, row.birth, death, row.thread.0, stack, row.address, row.size));
    }
    all.sort();
    all.dedup_by(|next, row: &mut Told| {
        let goes_on = row.2 == Ticks::NEVER
            && (&row.0, row.1, row.2, row.3, &row.4) == (&next.0, next.1, next.2, next.3, &next.4)
            && row.5 + row.6 == next.5;
        if goes_on && row.0.contains("Commit") {
            row.6 += next.6;
        }
        goes_on && row.0.contains("Commit")
    });
    all
}

/// All numbers of an interval. Ranges of pages are not counted: those of a whole trace
/// may have been split after the interval.
fn numbers(trace: &Trace, interval: Interval) -> Value {
    let trace = Arc::new(trace.clone());
    let prepared = Index::build(Arc::clone(&trace), &IndexOptions::default(), &Cancel::default()).unwrap();
    let by = [By::Process, By::Heap, By::Stack];
    let ask = |index: &Index, by: Vec<By>| {
        let request =
            ReportRequest { interval, by, filter: ReportFilter::default(), top: None, fold: Fold::Nothing, sources: false };
        report(index, &request, &Cancel::default()).unwrap().groups
    };
    let mut groups = ask(&prepared, by.to_vec());
    groups.extend(ask(&Index::scan(trace), [&by[..], &[By::Thread]].concat()));
    let mut groups = serde_json::to_value(groups).unwrap();
    for group in groups.as_array_mut().unwrap().iter_mut().filter(|group| group["layer"] == "commit") {
        let fields = group.as_object_mut().unwrap();
        fields.retain(|name, _| !name.contains("count"));
        for class in fields.values_mut().filter_map(Value::as_object_mut) {
            class.remove("count");
        }
    }
    groups
}

fn limits(trace: &Trace) -> Vec<&str> {
    trace.problems.iter().filter(|p| p.kind == ProblemKind::LimitReached).map(|p| p.detail.as_str()).collect()
}

#[test]
fn a_cut_trace_is_exact_up_to_its_cut() {
    for scenario in [Scenario::Heap, Scenario::Trackers, Scenario::Commit] {
        for stacks in [StackForm::Walk, StackForm::Keys] {
            let generated = Generated::new(&Options { stacks, ..options(scenario) });
            let all = generated.all();
            assert_eq!((all.cut, limits(&all).len()), (None, 0));
            for part in [4, 3, 2] {
                let cut = generated.part(Scope::default(), all.load_bytes / part);
                let case = format!("{scenario:?} {stacks:?} 1/{part}");
                let at = cut.cut.unwrap().at;
                assert!(cut.rows.len() > 100 && cut.rows.len() < all.rows.len(), "{case}: {} rows", cut.rows.len());
                assert_eq!(cut.span, Interval { from: all.span.from, to: at }, "{case}");
                assert!(!cut.cut.unwrap().stacks_missing, "{case}");
                let all_of_it = |_, _| true;
                assert!(rows(&cut, at, all_of_it) == rows(&all, at, all_of_it), "{case}: the rows");
                let half = Interval { from: all.span.from, to: Ticks(at.0 / 2) };
                for interval in [cut.span, half] {
                    assert!(numbers(&cut, interval) == numbers(&all, interval), "{case}: the numbers");
                }
                assert!(cut.quality.unmatched_frees <= all.quality.unmatched_frees, "{case}");
                assert!(cut.quality.superseded_allocations <= all.quality.superseded_allocations, "{case}");
                assert!(cut.complete && cut.quality.problems == all.quality.problems + 1, "{case}");
                let told = limits(&cut);
                let seconds = format!("{:.6} s", cut.clock.seconds(at));
                assert!(told.len() == 1 && told[0].contains(&seconds) && told[0].contains("allow more memory"), "{told:?}");
            }
        }
    }
}

#[test]
fn the_same_budget_gives_the_same_cut() {
    let generated = Generated::new(&options(Scenario::Heap));
    let cut = |budget| generated.part(Scope::default(), budget).cut;
    for budget in [300_000, 700_000] {
        assert!(cut(budget).is_some() && cut(budget) == cut(budget));
    }
}

#[test]
fn memory_stays_within_the_budget() {
    for scenario in [Scenario::Heap, Scenario::Trackers, Scenario::Commit] {
        let generated = Generated::new(&options(scenario));
        let needed = generated.all().load_bytes;
        for part in 2..12 {
            let budget = needed * part / 12;
            let trace = generated.part(Scope::default(), budget);
            // A table that doubles just then, and stacks that came later.
            assert!(trace.load_bytes <= budget + budget / 2, "{scenario:?}: {} of {budget}", trace.load_bytes);
        }
        let enough = generated.part(Scope::default(), needed * 2);
        assert_eq!((enough.cut, enough.rows.len()), (None, generated.all().rows.len()));
    }
}

#[test]
fn no_budget_is_too_small_for_an_answer() {
    let generated = Generated::new(&options(Scenario::Heap));
    for budget in [0, 1, 1000] {
        let trace = generated.part(Scope::default(), budget);
        assert!(trace.cut.is_some() && trace.span.from < trace.span.to);
        assert!(trace.rows.len() < 200);
        numbers(&trace, trace.span);
    }
}

#[test]
fn a_part_of_a_trace_is_that_part_of_the_whole() {
    let of = |processes, layers: &[Layer]| Scope { processes, layers: layers.to_vec(), stacks: true };
    for (scenario, layer) in
        [(Scenario::Heap, Layer::Heap), (Scenario::Trackers, Layer::Tracker), (Scenario::Commit, Layer::Commit)]
    {
        for stacks in [StackForm::Walk, StackForm::Keys] {
            let generated = Generated::new(&Options { stacks, processes: 3, ..options(scenario) });
            let all = generated.all();
            let first = Pid(6000);
            for scope in [
                of(Processes::Only([first].into()), &Layer::ALL),
                of(Processes::Except([first].into()), &Layer::ALL),
                of(Processes::All, &[layer]),
                of(Processes::Only([first].into()), &[layer]),
            ] {
                let part = generated.part(scope.clone(), u64::MAX);
                let wants = |pid, layer| scope.has(pid, layer);
                let expected = rows(&all, Ticks::NEVER, wants);
                assert!(!expected.is_empty(), "{scenario:?} {scope:?}");
                assert!(rows(&part, Ticks::NEVER, |_, _| true) == expected, "{scenario:?} {stacks:?} {scope:?}");
                assert_eq!((part.span, part.cut), (all.span, None));
                assert!(part.quality.unmatched_frees <= all.quality.unmatched_frees);
                let told = limits(&part);
                assert!(told.len() == 1 && told[0].contains("only ") && told[0].contains("was loaded"), "{told:?}");
            }
            let other = Layer::ALL.into_iter().find(|&other| other != layer).unwrap();
            let nothing = generated.part(of(Processes::Only([Pid(1)].into()), &[other]), u64::MAX);
            assert_eq!((nothing.rows.len(), nothing.quality.unmatched_frees), (0, 0));
        }
    }
}

#[test]
fn without_stacks_everything_else_stays() {
    for scenario in [Scenario::Heap, Scenario::Trackers, Scenario::Commit] {
        for (stacks, mixed_headers) in [(StackForm::Walk, false), (StackForm::Keys, false), (StackForm::Walk, true)] {
            let generated = Generated::new(&Options { stacks, mixed_headers, ..options(scenario) });
            let all = generated.all();
            let part = generated.part(Scope { stacks: false, ..Scope::default() }, u64::MAX);
            let bare = |trace: &Trace| {
                let mut bare = rows(trace, Ticks::NEVER, |_, _| true);
                bare.iter_mut().for_each(|row| row.4.clear());
                bare.sort();
                bare
            };
            assert!(bare(&part) == bare(&all), "{scenario:?} {stacks:?}");
            assert_eq!(part.stacks.len(), 1, "{scenario:?} {stacks:?}: no frames are kept");
            assert_eq!(part.quality.unmatched_frees, all.quality.unmatched_frees);
            assert_eq!(part.quality.superseded_allocations, all.quality.superseded_allocations);
            assert!(limits(&part)[0].contains("without stacks"));
        }
    }
}

fn near(what: &str, estimate: f64, real: f64) {
    let ratio = estimate / real;
    assert!((1.0 / 1.5..1.5).contains(&ratio), "{what}: {estimate:.0} for {real:.0}");
}

#[test]
fn the_estimate_is_near_what_loading_needs() {
    let base = Options { events: 400_000, live: 30_000, ..Options::default() };
    let cases = [
        base.clone(),
        Options { compressed: Some(Algorithm::Xpress), ..base.clone() },
        Options { stacks: StackForm::None, ..base.clone() },
        Options { stacks: StackForm::Keys, ..base.clone() },
        Options { distinct_stacks: 20_000, processes: 5, ..base.clone() },
        Options { stacks: StackForm::Keys, free_stacks: true, ..base.clone() },
        Options { scenario: Scenario::Trackers, ..base.clone() },
        Options { scenario: Scenario::Trackers, compressed: Some(Algorithm::Xpress), stacks: StackForm::Keys, ..base.clone() },
        Options { scenario: Scenario::Commit, ..base.clone() },
        Options { live: 200_000, wow64: true, ..base.clone() },
        Options { events: 20_000, ..base },
    ];
    for options in cases {
        let generated = Generated::new(&options);
        let trace = generated.all();
        let estimate = Estimate::of(&generated.capture(), || true).unwrap();
        let case = format!("{options:?}");
        near(&format!("bytes of {case}"), estimate.total() as f64, trace.load_bytes as f64);
        let mut real: BTreeMap<(Pid, Layer), f64> = BTreeMap::new();
        for (_, row) in trace.rows.chunks().flat_map(|chunk| chunk.rows()) {
            let heap = trace.heap(trace.site(row.site).heap);
            *real.entry((trace.process(heap.process).pid, heap.layer)).or_default() += 1.0;
        }
        for ((pid, layer), rows) in real.into_iter().filter(|(_, rows)| *rows > 20_000.0) {
            let part = estimate.parts.iter().find(|part| (part.pid, part.layer) == (pid, layer)).unwrap();
            near(&format!("rows of {pid} in {case}"), part.rows, rows);
        }
        let names = |id: &ProcessId| (trace.process(*id).pid, trace.process(*id).name.clone());
        let owners = trace.heaps.iter().map(|heap| heap.process).filter(|&id| trace.process(id).start.is_none());
        for (pid, name) in owners.map(|id| names(&id)) {
            assert_eq!(estimate.names.get(&pid), Some(&name), "{case}");
        }
    }
}

#[test]
fn parts_of_an_estimate_are_near_those_of_a_load() {
    let generated = Generated::new(&Options { events: 400_000, live: 30_000, processes: 3, ..Options::default() });
    let estimate = Estimate::of(&generated.capture(), || true).unwrap();
    let only = |pid| Scope { processes: Processes::Only([pid].into()), ..Scope::default() };
    let cases = [only(Pid(6000)), Scope { stacks: false, ..Scope::default() }, Scope { stacks: false, ..only(Pid(6256)) }];
    for scope in cases {
        let real = generated.part(scope.clone(), u64::MAX).load_bytes;
        near(&format!("{scope:?}"), estimate.bytes(&scope) as f64, real as f64);
    }
    assert_eq!(estimate.bytes(&Scope { layers: vec![Layer::Tracker], ..Scope::default() }), 0);
    assert_eq!(Estimate::of(&generated.capture(), || false), None, "an estimate can be given up");
}

/// A trace of three programs that needs some 10 MB.
fn large() -> Generated {
    Generated::new(&Options { events: 400_000, live: 30_000, processes: 3, ..Options::default() })
}

fn run(words: &[&str]) -> (Value, String) {
    let run = highwater(words);
    assert_eq!(run.code, Some(0), "{}", run.err);
    (serde_json::from_str(&run.out).unwrap(), run.err)
}

#[test]
fn a_report_on_one_process_loads_that_process_if_all_would_not_fit() {
    let trace = large();
    for process in ["APP1.exe", "6256"] {
        let words = ["report", &trace.path, "--json", "--process", process];
        let (whole, err) = run(&words);
        assert_eq!(err, "");
        let (part, err) = run(&[&words[..], &["--memory-limit", "6"]].concat());
        assert_eq!(part["groups"], whole["groups"]);
        assert_eq!(part["interval"], whole["interval"]);
        assert!(
            err.contains("needs about") && err.contains("the limit is 6 MB") && err.contains("so only app1.exe (6256) is loaded"),
            "{err}"
        );
        assert!(err.contains("all numbers are about that part"), "{err}");
        assert_eq!(part["quality"]["problems"], 1);
        let frees = |answer: &Value| answer["quality"]["unmatched_frees"].as_u64().unwrap();
        assert!(frees(&part) > 0 && frees(&part) < frees(&whole), "quality speaks of what was read");
        let (fits, err) = run(&[&words[..], &["--memory-limit", "1000"]].concat());
        assert_eq!((fits, err.as_str()), (whole, ""));
    }
}

#[test]
fn a_report_on_everything_ends_where_memory_does() {
    let trace = large();
    let words = ["report", &trace.path, "--json", "--memory-limit", "4"];
    let (cut, err) = run(&words);
    assert!(
        err.contains("loading stops when it is full") && err.contains("--process") && err.contains("the trace ends there"),
        "{err}"
    );
    let to = cut["interval"]["to_s"].as_f64().unwrap().to_string();
    let (whole, _) = run(&["report", &trace.path, "--json", "--to", &to]);
    assert_eq!(cut["groups"], whole["groups"]);
    let (asked, _) = run(&[&words[..], &["--to", "1000"]].concat());
    assert_eq!(asked["interval"], cut["interval"], "what was not loaded is not spoken of");
    let late = highwater([&words[..], &["--from", "1000"]].concat());
    assert_eq!(late.code, Some(1));
    assert!(late.err.contains("later than what could be loaded"), "{}", late.err);
}

#[test]
fn info_says_that_a_trace_will_not_fit_and_what_to_do() {
    let trace = large();
    let words = ["info", &trace.path, "--json"];
    let (all, err) = run(&words);
    assert_eq!(err, "");
    let (same, err) = run(&[&words[..], &["--memory-limit", "4"]].concat());
    assert_eq!(all, same);
    assert!(err.contains("needs about") && err.contains("the limit is 4 MB") && err.contains("--process"), "{err}");
}

#[test]
fn a_limit_is_a_positive_number_of_megabytes_or_has_a_unit() {
    for limit in ["0", "-1", "much", "", "1K", "4X"] {
        let run = highwater(["report", "demo:", "--memory-limit", limit]);
        assert_eq!(run.code, Some(2), "{limit:?}");
    }
    let said = |limit: &str| highwater(["report", "demo:", "--memory-limit", limit]);
    assert_eq!(said("4").err, said("4 MB").err);
    assert_eq!(said("0.5g").code, Some(0));
}

#[test]
fn a_trace_that_forgets_is_exact_from_a_moment_on() {
    let mut forgot = 0;
    for scenario in [Scenario::Heap, Scenario::Trackers, Scenario::Commit] {
        for stacks in [StackForm::Walk, StackForm::Keys] {
            let generated = Generated::new(&Options { stacks, live: 1_000, ..options(scenario) });
            let all = generated.all();
            for part in [2, 3, 4] {
                let budget = all.load_bytes / part;
                let kept = generated.forgetting(budget);
                let case = format!("{scenario:?} {stacks:?} 1/{part}");
                let Some(from) = kept.forgotten else { continue };
                forgot += 1;
                let to = kept.span.to;
                assert!(kept.span.from < from && from < to && kept.rows.len() < all.rows.len(), "{case}");
                let mut expected = rows(&all, to, |_, _| true);
                expected.retain(|row| row.2 >= from);
                assert!(rows(&kept, to, |_, _| true) == expected, "{case}: the rows");
                let middle = Ticks(from.0.midpoint(to.0));
                for (from, to) in [(from, to), (from, middle), (middle, to)] {
                    let interval = Interval { from, to };
                    assert!(numbers(&kept, interval) == numbers(&all, interval), "{case}: the numbers of {interval:?}");
                }
                assert!(kept.load_bytes <= budget + budget / 2, "{case}: {} of {budget}", kept.load_bytes);
                let told = limits(&kept).into_iter().filter(|detail| detail.contains("were dropped"));
                assert_eq!(told.count(), 1, "{case}");
                if kept.cut.is_none() {
                    assert_eq!(kept.span, all.span);
                    let quality = |trace: &Trace| (trace.quality.unmatched_frees, trace.quality.superseded_allocations);
                    assert_eq!(quality(&kept), quality(&all), "{case}");
                }
            }
        }
    }
    assert!(forgot > 9, "only {forgot} had to forget");
}

#[test]
fn stacks_that_get_ever_new_keys_do_not_fill_the_memory() {
    const BUDGET: u64 = 5 << 20;
    let kept = |events| {
        let generated = Generated::new(&Options { stacks: StackForm::Keys, live: 1_000, events, ..options(Scenario::Heap) });
        generated.forgetting(BUDGET)
    };
    let (short, long) = (kept(200_000), kept(1_600_000));
    for trace in [&short, &long] {
        assert!(trace.forgotten.is_some() && trace.cut.is_none());
        // It forgets at three eighths; what is alive is little.
        assert!(trace.load_bytes <= BUDGET / 2, "{} of {BUDGET}", trace.load_bytes);
    }
    // As many rows and no more sites, however many definitions there were before.
    assert!(long.counts.stack_key_definition > 6 * short.counts.stack_key_definition);
    assert!(long.sites.len() < short.sites.len() * 3 / 2, "{} and {}", short.sites.len(), long.sites.len());
    assert!(long.rows.len() > short.rows.len() / 2, "{} and {}", short.rows.len(), long.rows.len());
}

#[test]
fn a_trace_of_what_is_alive_is_cut_where_it_cannot_forget() {
    let generated = Generated::new(&Options { live: 60_000, ..options(Scenario::Heap) });
    for budget in [0, 1, 1000, generated.all().load_bytes / 20] {
        let trace = generated.forgetting(budget);
        assert!(trace.cut.is_some() && trace.span.from < trace.span.to, "{budget}");
        numbers(&trace, trace.span);
    }
    let enough = generated.forgetting(u64::MAX);
    assert_eq!((enough.cut, enough.forgotten, enough.rows.len()), (None, None, generated.all().rows.len()));
}
