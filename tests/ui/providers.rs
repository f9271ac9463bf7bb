//! Providers of a trace and their events as marks, and methods of .NET: by the names of widgets.

use std::sync::Arc;

use crate::common::game::{DESCRIBED, SELF_DESCRIBING, game};
use crate::common::trace::{session, trace};
use crate::driver::{Window, click, drag_on, give, has, has_containing, labels, press, settle, wait_for, window_set};
use eframe::egui::{self, Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};
use highwater::capture::Manifests;
use highwater::etl::Guid;
use highwater::events::{
    ActivityEvent, Described, Event, EventSchema, Field, FrameRange, InType, ManagedEvent, ManagedHeaps, ManagedMethod,
    MarkEvent, MarkText, MethodChange, Record, StackPart, ThreadStack, UndescribedKind, Untold,
};
use highwater::load::Input;
use highwater::units::{Layer, Pid, PointerSize, Tid};
use tempfile::TempDir;

/// A window with a trace of these bytes, in a folder of its own.
fn window_of(bytes: &[u8], settings: Settings) -> (Window, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.etl");
    std::fs::write(&path, bytes).unwrap();
    let mut window = window_set(Options { inputs: vec![Input::File(path)], ..Options::default() }, settings);
    // All that is asked for is in sight.
    window.set_size(egui::vec2(1900.0, 1500.0));
    settle(&mut window);
    (window, folder)
}

/// How many marks the tab *Trace* tells of.
fn marks(window: &Window) -> u64 {
    let all = labels(window);
    let at = all.iter().position(|label| label == "Marks").unwrap();
    all[at + 1].parse().unwrap()
}

fn wait_until(window: &mut Window, is_so: impl Fn(&Window) -> bool) {
    let start = std::time::Instant::now();
    while !is_so(window) {
        window.step();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(start.elapsed().as_secs() < 60, "{:?}", labels(window));
    }
}

fn is_on(window: &Window, label: &str) -> bool {
    window.get_by_label(label).accesskit_node().toggled() == Some(egui::accesskit::Toggled::True)
}

#[test]
fn a_chosen_provider_writes_marks_and_what_the_user_did_stays() {
    let (mut window, _folder) = window_of(&game(), Settings::default());
    drag_on(&mut window, "Outstanding size over time", 0.2, 0.6);
    let selected = labels(&window).into_iter().filter(|label| label.contains(" \u{2013} ")).collect::<Vec<_>>();
    give(&mut window, "tabs: trace");
    let (own, other) = (format!("Marks of {SELF_DESCRIBING}"), format!("Marks of {DESCRIBED}"));
    click(&mut window, "Providers");
    wait_for(&mut window, &own);
    assert!(!is_on(&window, &own) && !is_on(&window, &other));
    let before = marks(&window);
    click(&mut window, &own);
    wait_until(&mut window, |window| marks(window) == before + 1);
    assert!(is_on(&window, &own) && !is_on(&window, &other));
    settle(&mut window);
    let now = labels(&window).into_iter().filter(|label| label.contains(" \u{2013} ")).collect::<Vec<_>>();
    assert_eq!(now, selected, "the selection is still there");
    click(&mut window, &own);
    wait_until(&mut window, |window| marks(window) == before);
    assert!(!is_on(&window, &own));
}

#[test]
fn providers_can_be_named_and_the_choice_holds_for_what_is_opened_later() {
    let mut settings = Settings::default();
    settings.mark_providers = vec!["Nobody-*".to_owned(), DESCRIBED.to_owned()];
    let (mut window, _folder) = window_of(&game(), settings);
    give(&mut window, "tabs: trace");
    click(&mut window, "Providers, 2 chosen for marks");
    wait_for(&mut window, "has no events in this trace");
    assert!(is_on(&window, &format!("Marks of {DESCRIBED}")));
    let before = marks(&window);
    window.get_by_label("Provider").focus();
    window.step();
    window.get_by_label("Provider").type_text("game.*");
    settle(&mut window);
    click(&mut window, "Add");
    wait_until(&mut window, |window| marks(window) == before + 1);
    settle(&mut window);
    let own = format!("Marks of {SELF_DESCRIBING}");
    let own = window.get_by_label(&own);
    assert!(own.accesskit_node().is_disabled(), "it is a pattern that chooses it");
    assert!(has(&window, "game.*"));
}

/// A machine on which a manifest defines event 7 of any provider.
#[derive(Debug)]
struct Machine;

impl Manifests for Machine {
    fn describe(&self, kinds: &[UndescribedKind]) -> Described {
        let field = Field { name: "wave".into(), stored: InType::UINT32, is_single: true };
        let info = |kind: &UndescribedKind| {
            let schema = EventSchema::named((kind.provider, kind.id, kind.version), "My-Installed-Game", "Level", "win:Start");
            EventSchema { fields: [field.clone()].into(), ..schema }.to_info()
        };
        Described { infos: kinds.iter().filter(|kind| kind.id == 7).map(info).collect(), failure: None }
    }
}

#[test]
fn names_of_installed_manifests_are_looked_up_when_the_user_asks() {
    let provider = Guid::new(0x4444, 2, 3, [4; 8]);
    let mark = |id| {
        let untold = Untold { id, version: 0, pointer: PointerSize::Eight, payload: 5u32.to_le_bytes().into() };
        let event = MarkEvent { provider, provider_name: None, text: MarkText::Untold(untold), lasted_ms: None };
        Event::Activity(Box::new(ActivityEvent::Mark(event)))
    };
    let block = Event::Alloc { layer: Layer::Heap, heap: 0x1D_0000, address: 0x1000, size: 40 };
    let events = [(10, block), (1_000, mark(7)), (2_000, mark(8)), (3_000, Event::ThreadStart(ThreadStack::default()))];
    let record = |(time, event): (i64, Event)| (Record { time: 1_000 + time, pid: Pid(4660), tid: Tid(2), event }, Vec::new());
    let records: Vec<_> = events.into_iter().map(record).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.etl");
    std::fs::write(&path, trace(session(false), &records)).unwrap();
    let mut settings = Settings::default();
    settings.mark_providers = vec![provider.to_string()];
    let manifests: Arc<dyn Manifests> = Arc::new(Machine);
    let options = Options { inputs: vec![Input::File(path)], manifests: Some(manifests), ..Options::default() };
    let mut window = window_set(options, settings);
    window.set_size(egui::vec2(1900.0, 1500.0));
    settle(&mut window);
    give(&mut window, "tabs: marks");
    assert!(!has_containing(&window, "Level Start"), "{:?}", labels(&window));
    give(&mut window, "tabs: trace");
    click(&mut window, "Providers, 1 chosen for marks");
    wait_for(&mut window, "Look up names on this computer");
    click(&mut window, "Look up names on this computer");
    let told = "Manifests installed here define 1 of 2 kinds of events that the trace does not describe.";
    wait_until(&mut window, |window| has(window, told) && has(window, "Marks of My-Installed-Game"));
    settle(&mut window);
    give(&mut window, "tabs: marks");
    wait_until(&mut window, |window| has_containing(window, "Level Start: 5"));
}

/// A program of which a method of .NET allocates.
fn managed() -> Vec<u8> {
    let mut records = Vec::new();
    let mut tell = |time: i64, event: Event, frames: &[u64]| {
        records.push((Record { time: 1_000 + time, pid: Pid(4660), tid: Tid(2), event }, frames.to_vec()));
    };
    let of_runtime = |event| Event::Activity(Box::new(ActivityEvent::Managed(event)));
    let method = ManagedMethod {
        module: 5,
        start: 0x7FFE_1000_0000,
        size: 0x100,
        is_jitted: true,
        name: "Game.World.Update".to_owned(),
        signature: "instance void  (float32)".to_owned(),
    };
    tell(5, of_runtime(ManagedEvent::Module { id: 5, path: r"C:\Game\Game.dll".into() }), &[]);
    tell(6, of_runtime(ManagedEvent::Method(MethodChange::Load, Box::new(method))), &[]);
    tell(7, of_runtime(ManagedEvent::Heaps(ManagedHeaps { generations: [1 << 20, 2 << 20, 3 << 20, 4 << 20, 0] })), &[]);
    for n in 1..9i64 {
        let at = 1_000 * n;
        tell(at, Event::Alloc { layer: Layer::Heap, heap: 0x1D_0000, address: 0x1000 * n as u64, size: 40 }, &[]);
        let stack = Event::Stack { owner: 1_000 + at, part: StackPart::User, frames: FrameRange::default() };
        tell(at + 1, stack, &[0x7FFE_1000_0020, 0x7FFE_2000_0000]);
    }
    trace(session(false), &records)
}

#[test]
fn methods_of_dotnet_are_told_with_signature_and_their_heaps_can_be_drawn() {
    let (mut window, _folder) = window_of(&managed(), Settings::default());
    assert!(
        has_containing(&window, "Counter Unknown (4660)") && has_containing(&window, ".NET generation 2"),
        "{:?}",
        labels(&window)
    );
    give(&mut window, "tabs: symbols");
    let told = "Methods of .NET that the trace itself names: 1 (1 in Unknown (4660))";
    assert!(has(&window, told), "{:?}", labels(&window));
    give(&mut window, "tabs: allocations");
    let row = window.get_all_by_label("0x8000").next().unwrap().rect().center();
    window.drag_at(row);
    window.step();
    window.drop_at(row);
    settle(&mut window);
    let frame = window.get_all_by_label("Game.dll!Game.World.Update").next().unwrap().rect().left_center();
    window.hover_at(frame + egui::vec2(8.0, 0.0));
    settle(&mut window);
    for told in ["instance void  (float32)", "compiled by .NET while the program ran", "method +0x20"] {
        assert!(has_containing(&window, told), "{told}: {:?}", labels(&window));
    }
    press(&mut window, Modifiers::NONE, Key::Escape);
}
