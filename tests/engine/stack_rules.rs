//! Rules for stacks against a naive oracle: to fold is to leave frames out of each recorded
//! stack and to add up anew; the tag of a stack is that of the first rule of which any frame is
//! found by trying everything. And the command line with a file of rules.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::callers::{self, folded as folded_stack};
use crate::common::{Run, highwater};
use crate::oracle::answer::{Edges, numbers};
use crate::oracle::question::{OPS, edges, interval, options, place, plain, replay, ways};
use crate::oracle::scenario::{Scenario, Sent, TRACE_START};
use crate::oracle::{Row, strategy};
use highwater::events::{Event, ImageChange, ImageInfo, Record};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{HeapId, NodeId, RowId, Site, SiteId, Trace};
use highwater::query::{
    Bucket, By, Cancel, DiffSide, Fold, FrameName, Functions, Index, IndexOptions, Key, LifetimeClass, Mask, Recorded,
    ReportFilter, ReportRequest, TreeRequest, TreeRow, findings, folded_diff, named_report, tags, totals, tree,
};
use highwater::stack_rules::{FoldRule, NO_TAG, StackRules, TagHint, TagRule};
use highwater::symbols::{Names, Options, Sources, Symbols};
use highwater::units::{Layer, Pid, Tid};
use highwater_dev::synth::demo;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

/// Tries all that each star can stand for.
fn naive_glob(pattern: &[char], name: &[char]) -> bool {
    match pattern {
        [] => name.is_empty(),
        ['*', rest @ ..] => (0..=name.len()).any(|taken| naive_glob(rest, &name[taken..])),
        ['\\', '*', rest @ ..] => name.first() == Some(&'*') && naive_glob(rest, &name[1..]),
        [c, rest @ ..] => name.first() == Some(c) && naive_glob(rest, &name[1..]),
    }
}

fn naive_fits(pattern: &str, name: FrameName<'_>) -> bool {
    let lower = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
    let fits = |text: &str| naive_glob(&lower(pattern), &lower(text));
    let alone = matches!(name, FrameName::Function(_, function) if fits(function));
    alone || (pattern.contains('!') && fits(&name.to_string()))
}

/// The frames of a recorded stack, outermost first, each with all functions that it is.
fn recorded<'a>(trace: &'a Trace, names: &'a Names, site: &Site) -> Vec<Vec<FrameName<'a>>> {
    let frame = |node: NodeId| {
        let frame = Recorded::of(trace, names, node, site.caller, site.first, node == site.stack);
        frame.shown(false).map(|level| frame.name(level)).collect()
    };
    trace.stacks.path(site.stack).into_iter().map(frame).collect()
}

fn naive_tag(trace: &Trace, names: &Names, rules: &StackRules, site: &Site) -> String {
    let stack: Vec<FrameName<'_>> = recorded(trace, names, site).into_iter().flatten().collect();
    let level = |rule: usize| {
        let same = |other: &usize| {
            (*other..=rule).all(|i| rules.tags()[i].priority.is_some_and(|p| rules.tags()[rule].priority == Some(p)))
        };
        (0..=rule).find(same).unwrap_or(rule)
    };
    let of_frame = |name: &FrameName<'_>| rules.tags().iter().position(|rule| naive_fits(&rule.frame, *name));
    let all = stack.iter().enumerate().filter_map(|(at, name)| Some((at, of_frame(name)?)));
    let Some((at, rule)) = all.min_by_key(|&(at, rule)| (level(rule), std::cmp::Reverse(at))) else { return NO_TAG.to_owned() };
    let TagRule { name, hint, .. } = &rules.tags()[rule];
    let beside = match hint {
        None => None,
        Some(TagHint::CalleeModule | TagHint::CalleeFunction) => stack.get(at + 1),
        Some(TagHint::CallerModule | TagHint::CallerFunction) => at.checked_sub(1).map(|at| &stack[at]),
    };
    let text = beside.and_then(|frame| match hint {
        Some(TagHint::CalleeModule | TagHint::CallerModule) => frame.module().map(str::to_owned),
        _ => Some(frame.to_string()),
    });
    text.map_or_else(|| name.clone(), |text| format!("{name}\\{text}"))
}

/// The rows of a trace as the oracle adds them up.
fn rows(trace: &Trace) -> Vec<(SiteId, Row)> {
    let row = |id: u32| {
        let row = trace.rows.get(RowId(id));
        (row.site, plain(&row))
    };
    (0..trace.rows.len() as u32).map(row).collect()
}

/// Groups by layer and key, as JSON; those in which nothing takes part are left out.
fn naive_groups(
    trace: &Trace,
    edges: Edges,
    key: impl Fn(SiteId) -> Option<String>,
) -> BTreeMap<(String, Option<String>), Value> {
    let rows = rows(trace);
    let mut groups: BTreeMap<(String, Option<String>), Vec<&Row>> = BTreeMap::new();
    for (site, row) in rows.iter().filter(|(_, row)| row.class(edges).is_some()) {
        let layer = trace.layer_of(trace.site(*site)).name().to_owned();
        groups.entry((layer, key(*site))).or_default().push(row);
    }
    groups.into_iter().map(|(key, rows)| (key, serde_json::to_value(numbers(&rows, edges)).unwrap())).collect()
}

fn rules(folds: &[&str], tags: &[(&str, &str)]) -> Arc<StackRules> {
    let folds = folds.iter().map(|frame| FoldRule { frame: (*frame).to_owned() }).collect();
    let tags = tags.iter().map(|(frame, name)| TagRule::new(*frame, *name)).collect();
    Arc::new(StackRules::new(folds, tags).unwrap())
}

/// All that follows from rules by function and tag equals what the oracle says.
fn check(index: &Index, names: &Names, edges: Edges) {
    let (trace, never, rules) = (index.trace(), Cancel::default(), &**names.rules());
    let folded = Functions::of(trace, names, Fold::Allocator, &never).unwrap();
    let own = Functions::of(trace, names, Fold::Foreign, &never).unwrap();
    let all = Functions::of(trace, names, Fold::Nothing, &never).unwrap();
    let tags = tags(&all, &never).unwrap();
    for (id, site) in (0..).map(SiteId).zip(&trace.sites) {
        let stacks = [(&folded, folded_stack(trace, names, site)), (&own, callers::own(trace, names, site))];
        for (functions, expected) in stacks {
            let name = |function| functions.name(function).to_string();
            let chain: Vec<String> = functions.chain(functions.path(id)).map(name).collect();
            assert!(chain.iter().rev().eq(expected.iter()), "{chain:?} is not {expected:?} reversed");
        }
        let responsible = all.function(all.responsible(id)).map(|function| all.name(function).to_string());
        assert_eq!(responsible, callers::responsible(trace, names, site), "{:?}", recorded(trace, names, site));
        assert_eq!(**tags.name(tags.of_site(id)), naive_tag(trace, names, rules, site));
    }
    for by in [By::Function, By::Tag, By::Responsible] {
        let request = ReportRequest {
            interval: interval(edges),
            by: vec![by],
            filter: ReportFilter::default(),
            top: None,
            fold: Fold::Allocator,
            sources: false,
        };
        let report = named_report(index, &request, names, &never).unwrap();
        let key = |id: SiteId| match by {
            By::Tag => Some(naive_tag(trace, names, rules, trace.site(id))),
            By::Responsible => {
                Some(callers::responsible(trace, names, trace.site(id)).unwrap_or_else(|| "(no stack)".to_owned()))
            }
            _ => callers::behind_run(trace, names, trace.site(id)),
        };
        let expected = naive_groups(trace, edges, key);
        let told = report.groups.iter().map(|group| {
            let key = match by {
                By::Tag => group.tag.clone(),
                By::Responsible => group.responsible.clone(),
                _ => group.function.clone(),
            };
            ((group.layer.to_owned(), key), serde_json::to_value(&group.numbers).unwrap())
        });
        let told: BTreeMap<_, _> = told.collect();
        assert_eq!(told, expected, "{by:?}");
    }
    for (name, sites) in [("A", true), ("B", true), (NO_TAG, true), ("nobody", false)] {
        let mask = tags.mask(trace, name);
        for (id, site) in (0..).map(SiteId).zip(&trace.sites) {
            let expected = sites && naive_tag(trace, names, rules, site) == name;
            assert_eq!(mask.classes(id) != 0, expected, "{name}");
        }
    }
}

const IMAGES: [&str; 5] = ["game.exe", "ntdll.dll", "KernelBase.dll", "ucrtbase.dll", "hook.dll"];

/// Modules that come and go, so that frames are of different ones.
fn with_images(scenario: &mut Scenario, changes: &[(usize, u32, usize, u64, bool)]) {
    for &(at, pid, image, base, goes) in changes {
        let at = at % (scenario.stream.len() + 1);
        let time = scenario.stream.get(at).or(scenario.stream.last()).map_or(TRACE_START, |s| s.record.time);
        let path = format!(r"\Device\Volume1\{}", IMAGES[image]);
        let info = ImageInfo { base, size: 0x20, checksum: 0, time_stamp: 7, path };
        let change = if goes { ImageChange::Unload } else { ImageChange::Load };
        let record = Record { time, pid: Pid(pid), tid: Tid(9), event: Event::Image(change, Box::new(info)) };
        scenario.stream.insert(at, Sent { record, frames: Vec::new() });
    }
}

fn patterns() -> impl Strategy<Value = Vec<&'static str>> {
    let all = vec!["GAME.exe!*", "*!+0x1*", "ntdll.dll!*", "kernel*!+0x8", "*", "game.exe", "*!*", "game.exe!+0x10", "*!*0"];
    prop::collection::vec(select(all), 0..4)
}

proptest! {
    #![proptest_config(strategy::config())]

    /// Of frames without names, in modules that come and go.
    #[test]
    fn rules_do_what_leaving_frames_out_does(
        ops in strategy::ops(OPS),
        changes in prop::collection::vec((0..200usize, 1..4u32, 0..5usize, select(vec![0u64, 0x18, 0x28]), any::<bool>()), 0..24),
        a in place(), b in place(), options in options(),
        folds in patterns(), tags in patterns(),
    ) {
        let mut scenario = Scenario::of(&ops);
        let edges = edges(&scenario, a, b);
        with_images(&mut scenario, &changes);
        let tags: Vec<(&str, &str)> = tags.into_iter().zip(["A", "B", "A"]).collect();
        let names = Names::default().with_rules(rules(&folds, &tags));
        let names = Arc::new(names);
        for index in &ways(replay(&scenario), &options) {
            check(index, &names, edges);
            check_own_lines(index.trace(), index, &names, false);
        }
    }
}

struct Demo {
    trace: Arc<Trace>,
    names: Arc<Names>,
    index: Index,
    /// All functions that its stacks have.
    functions: Vec<String>,
}

static DEMO: LazyLock<Demo> = LazyLock::new(|| {
    let trace = Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap());
    let sources = Sources { embedded: vec![highwater::demo::symbols()], ..Sources::default() };
    let options = Options { sources, saved: None, workers: 1, frees: false, ..Options::default() };
    let symbols = Symbols::start(Arc::clone(&trace), options, |_| true, || {});
    symbols.wait();
    let names = symbols.names().1;
    let index = Index::build(Arc::clone(&trace), &IndexOptions::default(), &Cancel::default()).unwrap();
    let all = Functions::of(&trace, &names, Fold::Nothing, &Cancel::default()).unwrap();
    let functions = (0..all.len() as u32).map(|id| all.name(highwater::query::FunctionId(id)).to_string()).collect();
    Demo { trace, names, index, functions }
});

/// A pattern made of a function's name.
fn disguised(name: &str, how: usize) -> String {
    let (module, function) = name.split_once('!').unwrap_or(("", name));
    let chars: Vec<char> = function.chars().collect();
    let middle: String = chars[chars.len() / 3..].iter().collect();
    match how % 5 {
        0 => StackRules::pattern_of(name),
        1 => StackRules::pattern_of(function).to_uppercase(),
        2 => format!("*{}", StackRules::pattern_of(&middle)),
        3 => format!("{module}!*"),
        _ => format!("{}*", StackRules::pattern_of(&chars[..1].iter().collect::<String>())),
    }
}

/// All lines of the whole trace with everything open.
fn open_lines(trace: &Trace, index: &Index, mut request: TreeRequest) -> Vec<TreeRow> {
    let never = Cancel::default();
    let totals = totals(index, trace.span, &never).unwrap();
    loop {
        let lines: Vec<TreeRow> = tree(trace, &totals, &request, &never).unwrap().rows(trace).collect();
        let closed = lines.iter().filter(|line| line.has_children && !line.is_open).map(|line| (line.path.clone(), true));
        let closed: Vec<_> = closed.collect();
        if closed.is_empty() {
            return lines;
        }
        Arc::make_mut(&mut request.toggled).extend(closed);
    }
}

/// Where only the user's own frames are shown, each allocation stands below its responsible caller, what is folded away
/// is below one line there, and a frame holds no more than where all are shown: what a module had called it when it was
/// not mapped yet can stand elsewhere. (In debug builds a tree checks
/// that what is below a line adds up to it.)
fn check_own_lines(trace: &Trace, index: &Index, names: &Arc<Names>, modules_stay: bool) {
    for chains in [false, true] {
        let request = |fold| TreeRequest { names: Arc::clone(names), fold, chains, ..TreeRequest::default() };
        let [all, own] = [Fold::Nothing, Fold::Foreign].map(|fold| open_lines(trace, index, request(fold)));
        let allocations = |lines: &[TreeRow]| {
            let way = |line: &TreeRow| format!("{:?}", line.path.iter().filter(|key| key.frame().is_none()).collect::<Vec<_>>());
            let mut ways: Vec<_> = lines.iter().filter(|line| line.allocation.is_some()).map(way).collect();
            ways.sort();
            ways
        };
        assert_eq!(allocations(&own), allocations(&all));
        let numbers: BTreeMap<String, _> = all.iter().map(|line| (format!("{:?}", line.path), line.numbers)).collect();
        let mut way: Vec<&TreeRow> = Vec::new();
        for line in &own {
            way.truncate(line.depth);
            if let Some((_, row)) = line.allocation {
                let inside = way.iter().position(|line| matches!(line.path.last(), Some(Key::Inside(..))));
                let holder = inside.map_or(way[way.len() - 1], |at| way[at]);
                let (node, level) = holder.path.last().unwrap().frame().unwrap();
                let site = trace.site(row.site);
                let frame = (node != NodeId::ROOT).then(|| {
                    Recorded::of(trace, names, node, site.caller, site.first, node == site.stack).name(level).to_string()
                });
                // Where all is the allocator's a rule can fold the responsible caller itself away; and a line that stands for
                // what is a frame of different modules, in one process later or in two, is folded by one of them.
                let is_plain = names.rules().folds().is_empty() || modules_stay;
                if is_plain && !callers::is_responsible_folded(trace, names, site) {
                    assert_eq!(frame, callers::responsible(trace, names, site), "{:?}", recorded(trace, names, site));
                }
            } else if !chains && let Some(known) = numbers.get(&format!("{:?}", line.path)) {
                assert!(line.numbers.count <= known.count && line.numbers.size <= known.size, "{line:?}");
            }
            way.push(line);
        }
    }
}

/// All lines with everything open, single allocations apart: by heap and class the names on
/// the way to each.
fn tree_ways(names: &Arc<Names>) -> BTreeMap<(String, Vec<String>), Bucket> {
    let Demo { trace, index, .. } = &*DEMO;
    let request = TreeRequest { names: Arc::clone(names), fold: Fold::Allocator, ..TreeRequest::default() };
    let lines = open_lines(trace, index, request);
    let mut out: BTreeMap<_, Bucket> = BTreeMap::new();
    let mut way: Vec<String> = Vec::new();
    for line in lines.iter().filter(|line| line.allocation.is_none()) {
        way.truncate(line.depth);
        way.push(line.label.clone());
        let is_frame = match line.path.last() {
            Some(Key::Frame(node)) => *node != NodeId::ROOT,
            Some(Key::Inlined(..)) => true,
            _ => false,
        };
        if is_frame {
            // A path is the way down to the type, and the frame itself.
            let group = format!("{:?}", &line.path[..line.path.len() - 1]);
            let sum = out.entry((group, way[line.path.len() - 1..].to_vec())).or_default();
            *sum = sum.plus(Bucket { count: line.numbers.count, size: line.numbers.size });
        }
    }
    out
}

fn naive_tree_ways(names: &Names) -> BTreeMap<(String, Vec<String>), Bucket> {
    let Demo { trace, index, .. } = &*DEMO;
    let totals = totals(index, trace.span, &Cancel::default()).unwrap();
    let mut out: BTreeMap<_, Bucket> = BTreeMap::new();
    for (id, sums) in totals.sites() {
        let site = trace.site(id);
        let frames = folded_stack(trace, names, site);
        for class in LifetimeClass::ALL.into_iter().filter(|class| sums.get(*class).count > 0) {
            let heap = trace.heap(site.heap);
            // Commit has no heaps.
            let heap_key = (heap.layer != Layer::Commit).then_some(Key::Heap(site.heap));
            let upper: Vec<Key> = [Key::Process(heap.process), Key::Layer(heap.layer)]
                .into_iter()
                .chain(heap_key)
                .chain([Key::Impacting(class.impacting()), Key::Class(class)])
                .collect();
            for end in 1..=frames.len() {
                let sum = out.entry((format!("{upper:?}"), frames[..end].to_vec())).or_default();
                *sum = sum.plus(sums.get(class));
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(strategy::fewer(10))]

    /// Of the demo, whose frames have names and inlined functions.
    #[test]
    fn rules_about_names_do_so_too(
        folds in prop::collection::vec((any::<prop::sample::Index>(), 0..5usize), 0..4),
        tags in prop::collection::vec((any::<prop::sample::Index>(), 0..5usize, 0..3i64, 0..8usize), 0..6),
    ) {
        let Demo { trace, names, index, functions } = &*DEMO;
        let pattern = |(at, how): &(prop::sample::Index, usize)| disguised(at.get(functions.as_slice()).as_str(), *how);
        let folds = folds.iter().map(|rule| FoldRule { frame: pattern(rule) }).collect();
        let tags = tags.iter().zip(["A", "B", "A", "C", "D", "E"]).map(|((at, how, priority, hint), name)| {
            let hints = [TagHint::CalleeModule, TagHint::CalleeFunction, TagHint::CallerModule, TagHint::CallerFunction];
            let (priority, hint) = ((*priority > 0).then_some(*priority), hints.get(*hint).copied());
            TagRule { priority, hint, ..TagRule::new(pattern(&(*at, *how)), name) }
        });
        let rules = Arc::new(StackRules::new(folds, tags.collect()).unwrap());
        let names = Arc::new(names.with_rules(rules));
        check(index, &names, (trace.span.from.0, trace.span.to.0));
        check_own_lines(trace, index, &names, true);
        let (told, expected) = (tree_ways(&names), naive_tree_ways(&names));
        let differs = told.iter().find(|(way, sum)| expected.get(*way) != Some(*sum));
        prop_assert_eq!(differs, None);
        prop_assert_eq!(told.len(), expected.len());
    }
}

const LEAK: &str = "MemoryTestApp.exe!InnerLoopOperation";
const MAIN: &str = "MemoryTestApp.exe!Main";

#[test]
fn findings_reach_below_folded_frames() {
    let Demo { trace, names, index, .. } = &*DEMO;
    let leaking = |heap: Option<HeapId>| heap.is_some_and(|heap| trace.heap(heap).handle == demo::LEAKING_HEAP);
    let growth = |names: &Names| {
        let found = findings(index, trace.span, &Mask::all(trace), names, &Cancel::default()).unwrap();
        found.into_iter().find(|finding| finding.kind.name() == "growth" && leaking(finding.heap)).unwrap()
    };
    assert_eq!(growth(names).function.as_deref(), Some(LEAK));
    let folded = growth(&names.with_rules(rules(&["InnerLoop*"], &[])));
    assert_eq!(folded.function.as_deref(), Some(MAIN));
    assert_eq!(folded.stack.last().map(String::as_str), Some(MAIN));
}

#[test]
fn tags_are_the_same_on_both_sides_of_a_comparison() {
    let Demo { trace, names, index, .. } = &*DEMO;
    let names = names.with_rules(rules(&[], &[("InnerLoop*", "Leak"), ("main", "Main")]));
    let mask = Mask::all(trace);
    let side = DiffSide { index, interval: trace.span, mask: &mask, names: &names, functions: None, totals: None };
    let groups = folded_diff([side, side], &[By::Tag], Fold::Allocator, None, &Cancel::default()).unwrap();
    let mut tags: Vec<_> = groups.iter().map(|group| (group.layer, group.tag.as_deref().unwrap())).collect();
    tags.sort();
    assert!(tags.contains(&("heap", "Leak")) && tags.contains(&("heap", "Main")) && tags.contains(&("heap", NO_TAG)), "{tags:?}");
    assert!(groups.iter().all(|group| group.numbers.a == group.numbers.b));
}

/// Nothing is matched in a time that grows with more than names and patterns.
#[test]
fn many_rules_and_long_names_take_no_time() {
    let frame = format!("{}b", "*a".repeat(450));
    let rules = StackRules::new(vec![FoldRule { frame }; 1_000], Vec::new()).unwrap();
    let start = std::time::Instant::now();
    assert!(!rules.fold("m.dll", &"a".repeat(60_000)));
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

// The command line

fn demo_says(words: &[&str]) -> Value {
    let Run { code, out, err } = highwater([&words[..1], &["--json", "demo:"], &words[1..]].concat());
    assert_eq!((code, err.as_str()), (Some(0), ""));
    serde_json::from_str(&out).unwrap()
}

fn file(folder: &tempfile::TempDir, text: &str) -> String {
    let path = folder.path().join("team-rules.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn groups<'a>(answer: &'a Value, key: &str) -> Vec<(&'a str, &'a str, u64)> {
    let text = |value: &'a Value| value.as_str().unwrap_or("null");
    let groups = answer["groups"].as_array().unwrap().iter();
    groups.map(|group| (text(&group["layer"]), text(&group[key]), group["count"].as_u64().unwrap_or(0))).collect()
}

#[test]
fn reports_go_by_tag_and_fold_by_rules() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[[fold]]\nframe = 'InnerLoop*'\n[[tag]]\nframe = '*!InnerLoop*'\nname = 'Leak'\n[[tag]]\nframe = 'main'\nname = 'Rest'\n";
    let rules = file(&folder, text);
    let with_rules = |words: &[&str]| demo_says(&[words, &["--process", "MemoryTestApp.exe", "--stack-rules", &rules]].concat());
    let tagged = with_rules(&["report", "--by", "tag"]);
    let leak = |groups: &[(&str, &str, u64)], name: &str| groups.iter().find(|g| g.0 == "heap" && g.1 == name).map(|g| g.2);
    let by_tag = groups(&tagged, "tag");
    assert_eq!(leak(&by_tag, "Leak"), Some(1_088));
    assert!(leak(&by_tag, "Rest").is_some() && leak(&by_tag, "(no tag)").is_some(), "{by_tag:?}");
    let all = with_rules(&["report", "--by", "process"]);
    let sum = |answer: &Value| groups(answer, "layer").iter().filter(|g| g.0 == "heap").map(|g| g.2).sum::<u64>();
    assert_eq!(sum(&tagged), sum(&all));
    assert!(all["groups"][0]["tag"].is_null() && all["groups"][0].as_object().unwrap().contains_key("tag"));

    let plain = with_rules(&["report", "--by", "function"]);
    let folded = with_rules(&["report", "--by", "function", "--fold"]);
    let unruled = demo_says(&["report", "--by", "function", "--fold", "--process", "MemoryTestApp.exe"]);
    assert_eq!(leak(&groups(&unruled, "function"), LEAK), Some(1_088));
    assert_eq!(leak(&groups(&folded, "function"), LEAK), None);
    assert!(leak(&groups(&folded, "function"), MAIN) >= Some(1_088));
    assert_eq!((sum(&plain), sum(&folded)), (sum(&all), sum(&all)));

    let functions = |words: &[&str]| {
        let answer = with_rules(&[&["functions"], words].concat());
        answer["functions"].as_array().unwrap().iter().any(|function| function["function"] == LEAK)
    };
    assert!(functions(&[]) && !functions(&["--fold"]));
    let findings = with_rules(&["findings"]);
    assert!(!findings.to_string().contains(LEAK) && findings.to_string().contains(MAIN));
    let run = highwater(["diff", "demo:@..18", "demo:@18..", "--by", "tag", "--json", "--stack-rules", &rules]);
    let diff: Value = serde_json::from_str(&run.out).unwrap();
    assert!(groups(&diff, "tag").iter().any(|group| group.1 == "Leak"), "{diff}");
    let run = highwater(["diff", "demo:@..18", "demo:@18..", "--by", "function", "--fold", "--stack-rules", &rules]);
    assert!(run.out.contains(MAIN) && !run.out.contains(LEAK), "{}", run.out);
    let text = highwater(["report", "demo:", "--by", "tag", "--stack-rules", &rules]).out;
    assert!(text.contains("Tag") && text.contains("Leak") && text.contains("(no tag)"), "{text}");
    let none = demo_says(&["report", "--by", "tag"]);
    assert!(groups(&none, "tag").iter().all(|group| group.1 == "(no tag)"));
}

#[test]
fn a_bad_file_of_rules_is_a_bad_argument_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let bad = file(&folder, "[[fold]]\nframe = 'a'\n\n[[tag]]\nframe = 'b'\nnam = 'B'\n");
    for words in [
        &["report", "demo:"][..],
        &["functions", "demo:"],
        &["findings", "demo:"],
        &["diff", "demo:", "demo:"],
        &["report", "nowhere.etl"],
    ] {
        let run = highwater([words, &["--stack-rules", &bad]].concat());
        assert_eq!(run.code, Some(2), "{words:?}");
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        assert!(["team-rules.toml:6: ", "nam"].iter().all(|part| run.err.contains(part)), "{}", run.err);
        let missing = folder.path().join("missing.toml");
        let run = highwater([words, &["--stack-rules", missing.to_str().unwrap()]].concat());
        assert_eq!(run.code, Some(2), "{words:?}");
        assert!(run.err.contains("missing.toml") && run.err.lines().count() == 1, "{}", run.err);
    }
    assert!(Path::new(&bad).exists());
}
