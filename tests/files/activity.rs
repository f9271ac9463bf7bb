//! Marks, managed code, collections and processor samples of real traces, against what an
//! independent reader counted (dissect.etl, and Python for the payloads).

use std::collections::BTreeMap;

use highwater::load::{Capture, Input, MarkProviders, Plan, Unwatched, load_planned};
use highwater::model::{CounterKind, NodeId, Trace};
use highwater::query::{find_mark, process_samples, sample_sums};
use highwater::units::Ticks;

use crate::common::corpus;

fn load(name: &str, marks: &[&str]) -> Option<Trace> {
    let file = corpus()?.join(name);
    let capture = Capture::open(&[Input::File(file)]).unwrap();
    let plan = Plan { marks: MarkProviders::new(marks), ..Plan::default() };
    Some(load_planned(&capture, &plan, &mut Unwatched).unwrap())
}

/// Samples by process id.
fn samples(trace: &Trace) -> BTreeMap<u32, u64> {
    let mut all = BTreeMap::new();
    for samples in process_samples(trace, trace.span) {
        let pid = samples.process.map_or(u32::MAX, |process| trace.process(process).pid.0);
        *all.entry(pid).or_default() += samples.count;
    }
    all
}

/// Methods that differ in place, by process id.
fn methods(trace: &Trace) -> BTreeMap<u32, usize> {
    let managed = &trace.activity.managed;
    let of = |process| {
        let mut starts: Vec<u64> = managed.methods(process).iter().map(|method| method.start).collect();
        starts.sort_unstable();
        starts.dedup();
        (trace.process(process).pid.0, starts.len())
    };
    managed.processes().into_iter().map(of).collect()
}

fn texts(trace: &Trace) -> Vec<(String, String)> {
    let marks = &trace.activity.marks;
    marks.list.iter().map(|mark| (marks.provider(mark).label(), mark.text.to_string())).collect()
}

#[test]
fn samples_belong_to_the_processes_that_another_reader_finds() {
    let Some(trace) = load("slow-ppt.etl", &[]) else { return };
    let all = samples(&trace);
    let expected =
        [(5100, 8754), (4, 419), (4112, 303), (6088, 151), (6052, 147), (2452, 121), (2752, 97), (856, 96), (3844, 77)];
    for (pid, count) in expected {
        assert_eq!(all.get(&pid), Some(&count), "{pid}");
    }
    let (idle, unknown) = (trace.activity.samples.idle, trace.activity.samples.unknown);
    assert_eq!((idle, unknown, all.values().sum::<u64>()), (125_873, 0, 136_370 - 125_873));
    assert_eq!(trace.activity.samples.interval, trace.clock.frequency as f64 / 1000.0, "a millisecond");
    let found = &trace.activity.samples;
    // Four of POWERPNT's have no stack: where they were stands for it.
    let bare = found.list.iter().filter(|sample| found.sites[sample.site.0 as usize].stack == NodeId::ROOT).count();
    assert_eq!(bare, 0);
    assert_eq!(sample_sums(&trace, trace.span, None).iter().map(|&n| u64::from(n)).sum::<u64>(), 136_370 - 125_873);

    let Some(trace) = load("net.4.5.2.x64.etl", &[]) else { return };
    let all = samples(&trace);
    let expected = [(3676, 5129), (3988, 356), (1632, 283), (980, 132), (1104, 104), (4, 103), (624, 26), (2868, 1)];
    for (pid, count) in expected {
        assert_eq!(all.get(&pid), Some(&count), "{pid}");
    }
    let (idle, unknown) = (trace.activity.samples.idle, trace.activity.samples.unknown);
    assert_eq!((idle, unknown, all.values().sum::<u64>()), (73_313, 0, 79_528 - 73_313));
}

#[test]
fn collections_and_methods_are_those_that_another_reader_counts() {
    let Some(trace) = load("net.4.5.2.x64.etl", &[]) else { return };
    assert_eq!(methods(&trace), [(3676, 288), (3988, 16_702)].into());
    let collections: Vec<_> = texts(&trace).into_iter().filter(|(label, _)| label == "Garbage collection").collect();
    assert_eq!(collections.len(), 264, "two events tell of each");
    assert_eq!(collections[0].1, "GC 1, generation 0, small objects");
    let mut lasted = 0;
    for mark in trace.activity.marks.list.iter() {
        if mark.process.is_some_and(|process| trace.process(process).pid.0 == 3676) {
            assert!(mark.to > mark.from && mark.at == mark.from);
            lasted += 1;
        }
    }
    assert_eq!(lasted, 263);
    let heaps = |kind| {
        let counter =
            trace.counters.iter().find(|counter| counter.kind == kind && counter.owner.pid().is_some_and(|p| p.0 == 3676));
        counter.and_then(|counter| counter.samples.first().map(|&(_, bytes)| bytes))
    };
    assert_eq!(heaps(CounterKind::ManagedGeneration(1)), Some(21_984));
    assert_eq!(heaps(CounterKind::ManagedGeneration(3)), Some(36_712));
    assert_eq!(heaps(CounterKind::ManagedHeap), Some(24 + 21_984 + 24 + 36_712));
}

#[test]
fn methods_of_a_rundown_have_the_names_of_their_modules() {
    let Some(trace) = load("TraceLoggingTester.etl", &[]) else { return };
    let by_process = methods(&trace);
    assert_eq!((by_process.len(), by_process.values().sum::<usize>()), (9, 22_034));
    assert_eq!((by_process[&10_288], by_process[&15_044]), (20, 6_339));
    let process = trace.activity.managed.processes().into_iter().find(|&p| trace.process(p).pid.0 == 10_288).unwrap();
    let at =
        |address| trace.mapped_at(process, address, Ticks(1_000)).method.map(|m| (m.name.to_string(), m.module_name.to_string()));
    let method = |name: &str| Some((format!("TraceLoggingTester.TestSource.{name}"), "TraceLoggingTester.dll".to_owned()));
    assert_eq!(at(0x7FF8_0CDA_39C5), method("MarkString"));
    assert_eq!(at(0x7FF8_0CDA_3A2D), method("MarkStringInteger"));
    assert_eq!(at(0x7FF8_0CDA_4243), method("WriteIntList"));
    assert_eq!(at(0x1000), None);
}

#[test]
fn marks_are_the_traces_own_and_those_of_providers_that_are_named() {
    let Some(trace) = load("TraceLoggingTester.etl", &[]) else { return };
    let own = ["Wpr_Initiated_Rundown", "General", "No description provided", "CSharpTraceLoggingEventSource"];
    assert_eq!(texts(&trace), own.map(|text| ("Mark".to_owned(), text.to_owned())));
    let at = find_mark(&trace, "general").unwrap();
    assert_eq!(Some(at), trace.activity.marks.list.get(1).map(|mark| mark.at));
    assert_eq!(find_mark(&trace, "nothing like it"), None);

    for name in ["CSharpTraceLogging*", "{a214eced-be64-5e23-fac1-1d7b9052efa4}"] {
        let Some(trace) = load("TraceLoggingTester.etl", &[name]) else { return };
        let all = texts(&trace);
        let named: Vec<_> = all.iter().filter(|(label, _)| label == "CSharpTraceLoggingEventSource").collect();
        assert_eq!((all.len(), named.len()), (74, 70), "{name}");
        let kinds: std::collections::BTreeSet<&str> = named.iter().map(|(_, text)| text.split(':').next().unwrap()).collect();
        assert_eq!(kinds.len(), 7, "{kinds:?}");
    }

    let Some(trace) = load("slow-ppt.etl", &[]) else { return };
    assert_eq!(texts(&trace), vec![("Multi-Main".to_owned(), "Typing a character...".to_owned()); 21]);
    let Some(trace) = load("slow-ppt.etl", &["E7EF96BE-969F-414F-97D7-3DDB7B558CCC"]) else { return };
    let all = texts(&trace);
    let called = |name: &str| {
        let is_it = |(label, text): &&(String, String)| label == "Microsoft-Windows-Win32k" && text.starts_with(name);
        all.iter().filter(is_it).count()
    };
    assert_eq!((called("Rendering AppRenderingUpdate: hwnd=0x"), called("ModifyRgn: hLogicalSurface=")), (162, 149));
}
