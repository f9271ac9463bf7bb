//! Names in a trace: frames by the module that was mapped at the time, return addresses
//! by the byte before, types by the calls that allocate, and all of it at once the
//! second time. PDBs are those of the corpus.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::common::corpus;
use crate::common::named::{KERNEL, THROUGH_ALLOCATORS, USER, allocators, story};
use crate::common::trace::{session, trace};
use highwater::events::Record;
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{Module, Trace};
use highwater::query::{Cancel, Fold, Index, Key, Numbers, Totals, TreeRequest, TreeRow, frames_of_stack, totals, tree};
use highwater::stack_rules::{FrameFacts, Role, StackRules};
use highwater::symbols::{FrameKind, ModuleKey, ModuleState, Names, Options, Sources, SymbolPath, Symbols};
use highwater::symbols::{Stop, identify};
use serde_json::Value;
use tempfile::TempDir;

/// A trace in which modules of the corpus are mapped, and a cache of its own.
struct Case {
    folder: TempDir,
    corpus: PathBuf,
    file: PathBuf,
}

impl Case {
    fn new() -> Option<Self> {
        Self::of(story)
    }

    fn of(story: impl Fn(&Path) -> Vec<(Record, Vec<u64>)>) -> Option<Self> {
        let corpus = corpus()?;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trace.etl");
        std::fs::write(&file, trace(session(false), &story(&corpus))).unwrap();
        Some(Self { folder, corpus, file })
    }

    /// The answer of `report`, and what it says on stderr.
    fn report(&self, words: &[&str], environment: &str) -> (Value, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_highwater"))
            .args(["report", "--json", self.file.to_str().unwrap()])
            .args(words)
            .env("HIGHWATER_CACHE_DIR", self.folder.path().join("cache"))
            .env("_NT_SYMBOL_PATH", environment)
            .env("_NT_ALT_SYMBOL_PATH", "")
            .output()
            .unwrap();
        assert!(output.status.success());
        (serde_json::from_slice(&output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    fn stacks(&self, words: &[&str], environment: &str) -> Vec<Vec<String>> {
        let (answer, _) = self.report(&[&["--by", "stack"], words].concat(), environment);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let frames = |group: &Value| group["stack"].as_array().unwrap().iter().map(text).collect();
        answer["groups"].as_array().unwrap().iter().map(frames).collect()
    }

    fn trace(&self) -> Arc<Trace> {
        Arc::new(load(&Capture::open(&[Input::File(self.file.clone())]).unwrap(), &mut Unwatched).unwrap())
    }

    fn symbols(&self, trace: &Arc<Trace>, path: &Path) -> Symbols {
        let sources = Sources { path: SymbolPath::parse(path.to_str().unwrap(), None), ..Sources::default() };
        let saved = Some(self.folder.path().join("names"));
        let symbols = Symbols::start(
            Arc::clone(trace),
            Options { sources, saved, workers: 2, frees: true, ..Options::default() },
            |_| true,
            || {},
        );
        symbols.wait();
        symbols
    }

    fn path(&self) -> &str {
        self.corpus.to_str().unwrap()
    }
}

/// The three stacks of the heap and the one of the commit, outermost frame first.
const NAMED: [&[&str]; 4] = [
    &["driver.sys!main", "driver.sys!pre_c_initialization"],
    &[
        "0x10",
        "CrashWithException.exe!printf",
        "CrashWithException.exe!_vfprintf_l",
        "CrashWithException.exe!printf",
        "CrashWithException.exe!_vfprintf_l",
    ],
    &[
        "lost.dll!+0x1234",
        "CrashWithException.exe!printf",
        "CrashWithException.exe!_vfprintf_l",
        "CrashWithException.exe!crashing_function",
    ],
    &["lost.dll!+0x1234", "softokn3.dll!SSLv3_MAC_ConstantTime", "softokn3.dll!freebl_RunLoaderOnce", "softokn3.dll!sdb_init"],
];

#[test]
fn names_come_from_the_folder_that_wpr_writes_beside_a_trace() {
    let Some(case) = Case::new() else { return };
    let named = |stacks: &[Vec<String>]| {
        stacks.iter().flatten().any(|frame| frame.starts_with("softokn3.dll!") && !frame.contains("+0x"))
    };
    assert!(!named(&case.stacks(&[], "")));
    // As in a symbol store: NAME/IDENTITY/NAME.
    let bytes = std::fs::read(case.corpus.join("softokn3.pdb")).unwrap();
    let key = identify(&case.corpus.join("softokn3.pdb"), &Stop::default()).unwrap();
    let folder = case.folder.path().join("trace.etl.NGENPDB/softokn3.pdb").join(key.folder());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("softokn3.pdb"), bytes).unwrap();
    assert!(named(&case.stacks(&[], "")));
}

#[test]
fn frames_are_named_by_the_module_of_their_time_and_inlined_ones_are_frames() {
    let Some(case) = Case::new() else { return };
    let mut stacks = case.stacks(&["--symbols", case.path()], "");
    stacks.sort();
    let expected: Vec<Vec<String>> = NAMED.map(|frames| frames.iter().map(ToString::to_string).collect()).to_vec();
    let mut expected = expected;
    expected.sort();
    assert_eq!(stacks, expected);
}

#[test]
fn the_environment_s_path_is_enough_and_without_one_frames_are_numbers() {
    let Some(case) = Case::new() else { return };
    let bare = case.stacks(&[], "");
    assert!(bare.iter().flatten().all(|frame| frame == "0x10" || frame.contains("!+0x")), "{bare:?}");
    let named = case.stacks(&[], case.path());
    assert_eq!(bare.len(), named.len(), "names change no groups");
    assert!(named.iter().flatten().any(|frame| frame == "softokn3.dll!freebl_RunLoaderOnce"));
    // What was resolved once needs no PDB.
    assert_eq!(case.stacks(&[], ""), named);
}

#[test]
fn types_are_groups_and_what_has_none_is_there_too() {
    let Some(case) = Case::new() else { return };
    let (answer, said) = case.report(&["--by", "type", "--symbols", case.path()], "");
    let groups: Vec<_> = answer["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| (g["type"].as_str().unwrap(), g["layer"].as_str().unwrap(), g["size"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("(unknown type)", "commit", 0x4000),
        ("(unknown type)", "heap", 40),
        ("SDBStr", "heap", 40),
        ("std::exception", "heap", 40),
    ];
    assert_eq!(groups, expected);
    assert!(said.contains("no names for lost.dll") && said.contains("lost.pdb") && said.lines().count() == 1, "{said}");
    let (answer, _) = case.report(&["--by", "type,thread", "--symbols", case.path()], "");
    assert_eq!(answer["groups"].as_array().unwrap().len(), 4);
}

#[test]
fn the_tree_shows_sorts_and_finds_functions() {
    let Some(case) = Case::new() else { return };
    let trace = case.trace();
    let names = case.symbols(&trace, &case.corpus).names().1;
    let never = Cancel::default();
    let index = Index::for_one_question(Arc::clone(&trace), &never).unwrap();
    let totals = totals(&index, trace.span, &never).unwrap();
    let labels = |search: &str, names: &Arc<Names>| {
        let request = TreeRequest { search: search.to_owned(), names: Arc::clone(names), ..TreeRequest::default() };
        let tree = tree(&trace, &totals, &request, &never).unwrap();
        tree.rows(&trace).map(|row| row.label).collect::<Vec<_>>()
    };
    let found = labels("ssLv3_mac", &names);
    let way = ["lost.dll!+0x1234", "softokn3.dll!SSLv3_MAC_ConstantTime"];
    assert!(found.ends_with(&way.map(str::to_owned)) || found.windows(2).any(|two| two == way), "{found:?}");
    assert!(!found.iter().any(|label| label.contains("driver.sys")));
    assert!(labels("SSLv3_MAC", &Arc::default()).is_empty());
    let driver = labels("driver.sys", &names);
    assert!(driver.windows(2).any(|two| two == ["driver.sys!main", "driver.sys!pre_c_initialization"]), "{driver:?}");
}

/// The module of the trace that is mapped from this file.
fn module<'a>(trace: &'a Trace, name: &str) -> &'a Module {
    trace.processes.iter().flat_map(|process| &process.modules).find(|module| module.name() == name).unwrap()
}

#[test]
fn every_module_tells_its_state_and_can_be_left_out_chosen_and_tried_again() {
    let Some(case) = Case::new() else { return };
    let trace = case.trace();
    let symbols = case.symbols(&trace, &case.corpus);
    let state = |name: &str| symbols.modules().into_iter().find(|module| module.name == name).unwrap();
    let softokn = state("softokn3.dll");
    // The two of its own time, and none of the program that came after it.
    assert_eq!((softokn.state, softokn.addresses, softokn.named), (ModuleState::Ready, 2, 2));
    assert_eq!((softokn.bytes, softokn.source.as_str()), (1_146_880, case.path()));
    let lost = state("lost.dll");
    assert!(matches!(&lost.state, ModuleState::Failed(why) if why.contains("lost.pdb is not in the only place of")), "{lost:?}");
    let named = |name: &str, address: u64| {
        let names = symbols.names().1;
        names
            .frames(module(&trace, name), address, FrameKind::Caller)
            .map(|frames| frames.map(|f| f.function.to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(named("softokn3.dll", USER + 0x3EB8).unwrap(), ["freebl_RunLoaderOnce", "SSLv3_MAC_ConstantTime"]);
    let before = symbols.names().0;
    symbols.exclude(&softokn.key);
    symbols.wait();
    assert_eq!(state("softokn3.dll").state, ModuleState::Excluded);
    assert!(named("softokn3.dll", USER + 0x3EB8).is_none() && symbols.names().0 != before);
    symbols.choose(&softokn.key, case.corpus.join("crash.pdb"));
    symbols.wait();
    assert!(matches!(&state("softokn3.dll").state, ModuleState::Failed(why) if why.contains("of another build")));
    symbols.choose(&softokn.key, case.corpus.join("softokn3.pdb"));
    symbols.wait();
    assert_eq!(state("softokn3.dll").state, ModuleState::Ready);
    symbols.retry(&softokn.key);
    symbols.wait();
    assert_eq!(named("softokn3.dll", USER + 0x3EB8).unwrap().len(), 2);
}

#[test]
fn a_second_opening_has_all_names_at_once_and_needs_no_pdb() {
    let Some(case) = Case::new() else { return };
    let trace = case.trace();
    let first = case.symbols(&trace, &case.corpus);
    let again = case.symbols(&trace, &case.folder.path().join("nowhere"));
    for name in ["softokn3.dll", "driver.sys", "CrashWithException.exe"] {
        let of = |symbols: &Symbols| symbols.names().1.of(module(&trace, name)).cloned().unwrap();
        assert_eq!(of(&first), of(&again));
        let report = again.modules().into_iter().find(|module| module.name == name).unwrap();
        assert_eq!(report.state, ModuleState::Ready);
        assert!(report.source.ends_with("(resolved before)") && report.time.is_zero(), "{report:?}");
    }
}

#[test]
fn a_trace_that_grows_has_the_names_of_the_complete_one() {
    let Some(case) = Case::new() else { return };
    let complete = case.trace();
    let records = story(&case.corpus);
    let sources = Sources { path: SymbolPath::parse(case.path(), None), ..Sources::default() };
    let begin = |trace: &Arc<Trace>| {
        let options = Options { sources: sources.clone(), saved: None, workers: 2, frees: true, ..Options::default() };
        Symbols::start(Arc::clone(trace), options, |_| true, || {})
    };
    std::fs::write(&case.file, trace(session(false), &records[..1])).unwrap();
    let grown = begin(&case.trace());
    let excluded = ModuleKey::of(module(&complete, "driver.sys"));
    for count in 1..=records.len() {
        std::fs::write(&case.file, trace(session(false), &records[..count])).unwrap();
        grown.go_on(case.trace());
        // Not always: one that comes while there is work is the harder case.
        if count % 3 != 0 {
            grown.wait();
        }
        grown.exclude(&excluded);
    }
    grown.go_on(Arc::clone(&complete));
    grown.wait();
    let fresh = begin(&complete);
    fresh.wait();
    let addresses =
        [0x2_8A07, 0x3EB8, 0x112E, 0x1057].map(|rva| USER + rva).into_iter().chain([KERNEL + 0x1070, KERNEL + 0x1037]);
    let mut named = 0;
    for address in addresses {
        for name in ["softokn3.dll", "CrashWithException.exe"] {
            let frames = |symbols: &Symbols| {
                let names = symbols.names().1;
                let frames = names.frames(module(&complete, name), address, FrameKind::Caller);
                frames.map(|frames| frames.map(|f| (f.function.to_owned(), f.line)).collect::<Vec<_>>())
            };
            assert_eq!(frames(&grown), frames(&fresh), "{name} {address:#x}");
            named += usize::from(frames(&fresh).is_some());
        }
    }
    assert!(named >= 4, "{named}");
    let states = |symbols: &Symbols| {
        let mut all: Vec<_> = symbols.modules().into_iter().map(|module| (module.key, module.state)).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    fresh.exclude(&excluded);
    fresh.wait();
    let used = |(_, state): &(ModuleKey, ModuleState)| *state != ModuleState::Unused;
    assert_eq!(
        states(&grown).into_iter().filter(used).collect::<Vec<_>>(),
        states(&fresh).into_iter().filter(used).collect::<Vec<_>>()
    );
}

#[test]
fn dropping_the_handle_ends_the_work() {
    let Some(case) = Case::new() else { return };
    let trace = case.trace();
    let sources = Sources { path: SymbolPath::parse(case.path(), None), ..Sources::default() };
    let symbols = Symbols::start(
        Arc::clone(&trace),
        Options { sources, saved: None, workers: 1, frees: false, ..Options::default() },
        |_| true,
        || {},
    );
    symbols.look_at([(module(&trace, "driver.sys"), KERNEL + 0x1070, FrameKind::Innermost)]);
    drop(symbols);
    while Arc::strong_count(&trace) > 1 {
        std::thread::yield_now(); // its workers let go of what they have
    }
}

/// All lines of a tree with every node open.
fn open_lines(trace: &Trace, totals: &Totals, request: &TreeRequest) -> Vec<TreeRow> {
    let mut request = request.clone();
    loop {
        let tree = tree(trace, totals, &request, &Cancel::default()).unwrap();
        let rows: Vec<TreeRow> = tree.rows(trace).collect();
        let closed: Vec<_> =
            rows.iter().filter(|row| row.has_children && !row.is_open).map(|row| (Arc::clone(&row.path), true)).collect();
        if closed.is_empty() {
            return rows;
        }
        Arc::make_mut(&mut request.toggled).extend(closed);
    }
}

/// Debug builds check every tree: what is below a node adds up to it.
#[test]
fn folding_hides_the_allocator_and_changes_no_number() {
    let Some(case) = Case::of(allocators) else { return };
    let trace = case.trace();
    let names = case.symbols(&trace, &case.corpus).names().1;
    let never = Cancel::default();
    let index = Index::for_one_question(Arc::clone(&trace), &never).unwrap();
    let totals = totals(&index, trace.span, &never).unwrap();
    let lines = |fold| open_lines(&trace, &totals, &TreeRequest { names: Arc::clone(&names), fold, ..TreeRequest::default() });
    let (all, folded) = (lines(Fold::Nothing), lines(Fold::Allocator));
    let function = |row: &TreeRow| row.label.split_once('!').map_or("", |(_, function)| function).to_owned();
    let is_allocator = |function: &str| {
        let facts = FrameFacts { address: 0, module: None, path: None, rva: 0, function: Some(function), file: None };
        StackRules::default().role(&facts).has(Role::ALLOCATOR)
    };
    let is_of_allocator = |row: &&TreeRow| row.path.last().unwrap().frame().is_some() && is_allocator(&function(row));
    assert!(all.iter().filter(is_of_allocator).count() > 8, "{all:?}");
    let left: Vec<String> = folded.iter().filter(is_of_allocator).map(|row| row.label.clone()).collect();
    // Once among what stays, once among what is freed.
    assert_eq!(left, ["CrashWithException.exe!malloc"; 2], "only the outermost frame of a stack of nothing else is left");
    // The same allocations, and the same numbers of every frame that both have.
    let rows = |lines: &[TreeRow]| {
        let mut rows: Vec<_> = lines.iter().filter_map(|row| row.allocation).map(|(id, _)| id).collect();
        rows.sort();
        rows
    };
    assert_eq!(rows(&all), rows(&folded));
    assert_eq!(rows(&all).len(), 2 * THROUGH_ALLOCATORS.len());
    let numbers = |path: &[Key]| all.iter().find(|row| *row.path == *path).map(|row| row.numbers);
    for row in folded.iter().filter(|row| row.allocation.is_none()) {
        assert_eq!(numbers(&row.path), Some(row.numbers), "{row:?}");
    }
    // What the allocator called is a part of it.
    let below = |lines: &[TreeRow], label: &str| {
        let at = lines.iter().position(|row| row.label.ends_with(label)).unwrap();
        let depth = lines[at].depth;
        let under: Vec<_> = lines[at + 1..].iter().take_while(|row| row.depth > depth).collect();
        under
            .into_iter()
            .filter(|row| row.depth == depth + 1 && row.allocation.is_none())
            .map(|row| row.label.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(below(&folded, "!_vfprintf_l"), ["CrashWithException.exe!crashing_function"]);
    let mut unfolded = below(&all, "!_vfprintf_l");
    unfolded.sort();
    assert_eq!(unfolded, ["CrashWithException.exe!crashing_function", "CrashWithException.exe!operator new"]);
}

#[test]
fn inlined_functions_are_lines_in_the_tree_that_filter_and_are_found() {
    let Some(case) = Case::of(allocators) else { return };
    let trace = case.trace();
    let names = case.symbols(&trace, &case.corpus).names().1;
    let never = Cancel::default();
    let index = Index::for_one_question(Arc::clone(&trace), &never).unwrap();
    let totals = totals(&index, trace.span, &never).unwrap();
    let request = |fold| TreeRequest { names: Arc::clone(&names), fold, ..TreeRequest::default() };
    let assign = "crash.dll!std::basic_string<wchar_t,std::char_traits<wchar_t>,std::allocator<wchar_t> >::assign";
    let place = |name: &str| format!("{}::{name}", assign.rsplit_once("::").unwrap().0);
    let from = |lines: &[TreeRow]| {
        let at = lines.iter().position(|row| row.label == assign).unwrap();
        lines[at..].iter().take_while(|row| row.allocation.is_none()).map(|row| row.label.clone()).collect::<Vec<_>>()
    };
    let all = open_lines(&trace, &totals, &request(Fold::Nothing));
    let expected =
        [assign, &place("_Reallocate_for"), "crash.dll!std::allocator<wchar_t>::deallocate", "crash.dll!std::_Deallocate"];
    assert_eq!(from(&all), expected);
    // Around them is another function that frees, so that they are its guests.
    let folded = open_lines(&trace, &totals, &request(Fold::Allocator));
    assert!(!folded.iter().any(|row| row.label == assign));
    // Each holds what the frame holds, also as a filter.
    let at = all.iter().position(|row| row.label == assign).unwrap();
    let inlined = &all[at + 1];
    assert!(matches!(inlined.path.last(), Some(Key::Inlined(_, 1))));
    assert_eq!(inlined.numbers, all[at].numbers);
    let filter = highwater::query::Filter::under(Arc::clone(&inlined.path));
    let filtered = open_lines(&trace, &totals, &TreeRequest { filter, ..request(Fold::Nothing) });
    assert_eq!(filtered.iter().filter(|row| row.allocation.is_some()).count(), 1, "of one lifetime class");
    // They are found; what is folded is not.
    let found = |text: &str, fold| {
        let request = TreeRequest { search: text.to_owned(), ..request(fold) };
        tree(&trace, &totals, &request, &never).unwrap().rows(&trace).map(|row| row.label).collect::<Vec<_>>()
    };
    assert!(found("_reallocate_for", Fold::Nothing).contains(&place("_Reallocate_for")));
    assert!(found("_deallocate", Fold::Nothing).contains(&"crash.dll!std::_Deallocate".to_owned()));
    assert!(!found("operator new", Fold::Allocator).iter().any(|label| label.contains("operator new")));
    assert!(found("operator new", Fold::Nothing).contains(&"CrashWithException.exe!operator new".to_owned()));
    // And each tells its place in the sources.
    let tree =
        tree(&trace, &totals, &TreeRequest { search: "_Reallocate_for".to_owned(), ..request(Fold::Nothing) }, &never).unwrap();
    let line = tree.rows(&trace).position(|row| row.label == place("_Reallocate_for")).unwrap();
    let (frame, level) = tree.frame(&trace, line).unwrap();
    let function = frame.function(level).unwrap();
    assert!(
        function.file.unwrap().replace('\\', "/").ends_with("include/xstring") && function.line == Some(3905),
        "{function:?}"
    );
}

#[test]
fn frees_of_unknown_blocks_have_names_too() {
    let Some(case) = Case::of(allocators) else { return };
    let trace = case.trace();
    let names = case.symbols(&trace, &case.corpus).names().1;
    let [free] = trace.unmatched[..] else { panic!("{:?}", trace.unmatched) };
    let process = trace.process_of_free(&free).unwrap();
    let frames = frames_of_stack(&trace, &names, free.stack, process, free.time);
    assert_eq!(frames.last().unwrap(), "CrashWithException.exe!operator new");
}

#[test]
fn types_group_sites_and_add_up_to_everything() {
    use highwater::query::{ByClass, Mask, Sort, TypeKey, Types};
    let Some(case) = Case::new() else { return };
    let trace = case.trace();
    let symbols = case.symbols(&trace, &case.corpus);
    let never = Cancel::default();
    let index = Index::for_one_question(Arc::clone(&trace), &never).unwrap();
    let totals = totals(&index, trace.span, &never).unwrap();
    let all = Mask::all(&trace);
    let types = Types::of(&trace, &symbols.names().1, &never).unwrap();
    let groups = types.groups(&totals, &all, Sort::default());
    let mut named: Vec<_> = groups.iter().map(|g| (&*g.key.name, g.key.layer.name(), g.numbers.size)).collect();
    named.sort();
    let expected = [
        ("(unknown type)", "commit", 0x4000),
        ("(unknown type)", "heap", 40),
        ("SDBStr", "heap", 40),
        ("std::exception", "heap", 40),
    ];
    assert_eq!(named, expected, "as the report says");
    let mut sum = ByClass::default();
    totals.sites().for_each(|(_, buckets)| sum.add(buckets));
    assert_eq!(groups.iter().map(|g| g.numbers.size).sum::<u64>(), sum.numbers().size);
    let peaks = types.peaks(&index, &totals, &groups, &all, &never).unwrap();
    assert_eq!(peaks, groups.iter().map(|g| g.numbers.size).collect::<Vec<_>>(), "nothing is freed");
    // One type as a filter of the tree; and without names all are unknown.
    let only = |name: &str| {
        let key = TypeKey { layer: highwater::units::Layer::Heap, name: name.into() };
        let request = TreeRequest { only: Some(Arc::new(types.mask(&trace, &key))), ..TreeRequest::default() };
        let tree = tree(&trace, &totals, &request, &never).unwrap();
        tree.by_heap().iter().map(|sums| sums.numbers()).fold(Numbers::default(), |sum, n| if n.size > 0 { n } else { sum }).size
    };
    assert_eq!((only("SDBStr"), only("(unknown type)"), only("Nobody")), (40, 40, 0));
    let none = Types::of(&trace, &Names::default(), &never).unwrap();
    assert_eq!(none.groups(&totals, &all, Sort::default()).len(), 2);
}
