//! Whom a recording follows: what launched programs start, and what stays silent and why.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use highwater::capture::windows::LocalRecording;
use highwater::capture::{Children, Request, Target};
use highwater::events::{Event, ImageChange, ImageInfo, PageRange, mem};
use highwater::units::{Layer, Pid};

use crate::simulated::events::HEAP;
use crate::simulated::story::Story;
use crate::{Scene, poll_until, request, words};

/// A program that runs until it is ended.
pub fn waiting() -> Child {
    Command::new("cmd").args(["/c", "pause"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

/// The id in the extension block of the heap session.
fn traced(scene: &Scene) -> u32 {
    scene.etw.with(|etw| {
        let bytes = &etw.of(HEAP).properties[0];
        let block = (words(&bytes[0x48..0x4C])[0] & 0xFFFF) as usize;
        words(&bytes[block..block + 12])[2]
    })
}

fn tracing_flags(image: &str) -> bool {
    let options = format!(r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Image File Execution Options\{image}");
    winreg::RegKey::predef(winreg::enums::HKEY_LOCAL_MACHINE).open_subkey(options).is_ok()
}

#[test]
fn a_launcher_that_ends_is_not_the_end_of_what_it_has_started() {
    const IMAGE: &str = "highwater-test-game.exe";
    for with_heaps in [None, Some(IMAGE.to_owned())] {
        let is_named = with_heaps.is_some();
        let scene = Scene::silent();
        let (mut launcher, mut game) = (waiting(), waiting());
        // As the window has it recorded: it starts the program itself.
        let target = Target::Pids(vec![launcher.id()]);
        let request = Request { children: Children { are_recorded: true, with_heaps }, ..Request::new(target) };
        let mut running = scene.start(&request).unwrap();
        assert_eq!((tracing_flags(IMAGE), traced(&scene)), (is_named, launcher.id()));
        launcher.kill().unwrap();
        launcher.wait().unwrap();
        let mut story = Story::of(game.id());
        story.start(launcher.id(), IMAGE);
        let pages = PageRange { base: 0x10_0000, size: 0x4000, owner: Pid(game.id()), flags: mem::COMMIT | mem::RESERVE };
        story.tell(Event::VirtualAlloc(pages));
        scene.etw.with(|etw| etw.go_on(story.lanes()));
        // The launcher has ended long ago; more than one look at the processes.
        let end = Instant::now() + Duration::from_secs(6);
        let progress = poll_until(&mut running, "six seconds", |_| Instant::now() > end);
        assert_eq!(progress.ends, None, "the game runs");
        let told = progress.warning.unwrap_or_default();
        assert_eq!(told.contains(&format!("{IMAGE} ({}) was started", game.id())), !is_named, "{told}");
        game.kill().unwrap();
        game.wait().unwrap();
        poll_until(&mut running, "the end", |progress| progress.ends.is_some());
        scene.stop(running);
        assert!(!tracing_flags(IMAGE));
        let trace = scene.load("recorded.etl");
        let rows = trace.rows.chunks().flat_map(|chunk| chunk.rows().map(|(_, row)| row).collect::<Vec<_>>());
        let of_game = rows.filter(|row| trace.layer_of(trace.site(row.site)) == Layer::Commit && row.size == 0x4000);
        assert_eq!(of_game.count(), 1);
    }
}

/// To who lacks the right to debug, the newest Windows says that modules of the kernel are at 0.
#[test]
fn hidden_addresses_of_the_kernel_are_told_once() {
    for (base, is_told) in [(0xFFFF_F800_1000_0000, false), (0, true)] {
        let scene = Scene::silent();
        let mut running = scene.start(&Request { heap: false, ..request() }).unwrap();
        let mut kernel = Story::of(4);
        for path in [r"\SystemRoot\system32\ntoskrnl.exe", r"\SystemRoot\system32\hal.dll"] {
            let image = ImageInfo { base, size: 0x10_0000, checksum: 0, time_stamp: 1, path: path.to_owned() };
            kernel.tell(Event::Image(ImageChange::Load, Box::new(image)));
        }
        scene.etw.with(|etw| etw.go_on(kernel.lanes()));
        let end = Instant::now() + Duration::from_millis(2_500);
        let told = poll_until(&mut running, "two seconds", |_| Instant::now() > end).warning.unwrap_or_default();
        assert_eq!(told.matches("SeDebugPrivilege").count(), usize::from(is_told), "{told}");
    }
}

#[test]
fn heaps_that_stay_silent_are_told_with_the_reason_that_fits() {
    let mut game = waiting();
    let reasons = [
        (request(), "allocates nothing, or Windows does not trace it"),
        (
            Request::new(Target::Image("highwater-no-such-game.exe".to_owned())),
            "no program called highwater-no-such-game.exe runs",
        ),
        (Request::new(Target::Image("cmd.exe".to_owned())), "cmd.exe ran before the recording"),
    ];
    for (request, reason) in reasons {
        let scene = Scene::silent();
        let mut running = scene.start(&request).unwrap();
        assert_eq!(running.poll().warning, None);
        let told = poll_until(&mut running, "a warning", |progress| progress.warning.is_some());
        assert!((4.9..15.0).contains(&told.seconds), "{told:?}");
        let warning = told.warning.unwrap();
        assert!(warning.starts_with("no heap event has come") && warning.contains(reason), "{warning}");
        // The first event ends it: of this process, of one that is started now, and of one that runs.
        let (pid, name) = match &request.target {
            Target::Pids(_) | Target::Launch(_) => (std::process::id(), "highwater.exe"),
            Target::Image(name) if name == "cmd.exe" => (game.id(), "cmd.exe"),
            Target::Image(name) => (40_001, name.as_str()),
        };
        let mut story = Story::of(pid);
        story.start(4, name);
        story.tell(Event::Alloc { layer: Layer::Heap, heap: 1, address: 0x1000, size: 8 });
        scene.etw.with(|etw| etw.go_on(story.lanes()));
        poll_until(&mut running, "no warning", |progress| progress.warning.is_none());
        drop(running);
    }
    game.kill().unwrap();
    game.wait().unwrap();
    let scene = Scene::silent();
    let without = Request { heap: false, ..request() };
    let mut running = LocalRecording::start(&without, &scene.place.path().join("second")).unwrap();
    let end = Instant::now() + Duration::from_millis(6_500);
    let progress = poll_until(&mut running, "six seconds", |_| Instant::now() > end);
    assert_eq!(progress.warning, None, "heaps were not asked for");
}
