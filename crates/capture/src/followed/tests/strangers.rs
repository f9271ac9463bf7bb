//! Data that the files must not contain about processes that are not recorded, since every program of the user may read
//! them: command lines and threads. Also the addresses that Windows hides.

use super::*;
use crate::events::encode::system::IMAGE_VERSION;
use crate::events::{Event, EventOwner, ImageInfo, Record, event_owner};

const GAME: u32 = 100;
const OTHER: u32 = 200;

fn with_line(time: i64, hook: u16, pid: u32, name: &str) -> Sent {
    let info = ProcessInfo { command_line: format!("{name} --token=secret"), ..info(u64::from(pid), 4, name) };
    Sent { payload: payload(|out| system::process(out, Pid(pid), &info, DETAILS)), ..Sent::process(time, hook, pid, &info) }
}

const DETAILS: ProcessDetails<'_> = ProcessDetails { session: 1, status: 0, sid: SID_USER };

/// Hook, process id, name and command line of each event that is passed on.
fn said(followed: &mut Followed, sent: &[Sent]) -> Vec<(u16, u32, String, String)> {
    let mut all = Vec::new();
    for event in sent {
        let version = PROCESS_VERSION;
        followed.take(&NewEvent { version, ..event.event(0) }, &mut |passed| {
            let hook = event.hook;
            // A defunct-process event has the same layout as a start event.
            let told = NewEvent { id: EventId::Hook(hook::PROCESS_START), ..*passed };
            let Some(EventOwner::Process(Record { pid, event: Event::Process(_, info), .. })) = event_owner(&told) else {
                panic!()
            };
            all.push((hook, pid.0, info.name, info.command_line));
        });
    }
    all
}

#[test]
fn command_lines_of_processes_that_are_not_recorded_are_left_out_and_nothing_else_of_them() {
    let hooks =
        [hook::PROCESS_RUNDOWN_START, hook::PROCESS_START, hook::PROCESS_RUNDOWN_END, hook::PROCESS_END, hook::PROCESS_DEFUNCT];
    for (rules, name) in [(following(&[GAME], &[], false), "first.exe"), (following(&[], &["game.exe"], false), "game.exe")] {
        let mut followed = rules;
        for (hook, time) in hooks.into_iter().zip(1..) {
            let both = [with_line(time, hook, OTHER, "other.exe"), with_line(time, hook, GAME, name)];
            // Defunct-process events never carry the command line.
            let line = if hook == hook::PROCESS_DEFUNCT { String::new() } else { format!("{name} --token=secret") };
            let expected = [(hook, OTHER, "other.exe".to_owned(), String::new()), (hook, GAME, name.to_owned(), line)];
            assert_eq!(said(&mut followed, &both), expected, "{hook:#x}");
        }
    }
    // Without restrictions, everything is recorded.
    let mut all = Followed::new(&Rules::default(), FREQUENCY);
    assert_eq!(said(&mut all, &[with_line(1, hook::PROCESS_START, OTHER, "x.exe")])[0].3, "x.exe --token=secret");
}

#[test]
fn a_command_line_is_cut_out_of_the_middle_of_what_is_told() {
    let start = with_line(1, hook::PROCESS_START, OTHER, "other.exe");
    let plain = Sent::process(1, hook::PROCESS_START, OTHER, &info(u64::from(OTHER), 4, "other.exe"));
    let mut passed = Vec::new();
    let mut take = |bytes: &[u8]| {
        let event = Sent { payload: bytes.to_vec(), ..start.clone() };
        let mut followed = following(&[GAME], &[], false);
        followed.take(&event.event(0), &mut |event| passed.push(event.payload.to_vec()));
    };
    take(&start.payload);
    // Truncated at any byte: no part of the line remains, and nothing panics.
    (0..start.payload.len()).for_each(|len| take(&start.payload[..len]));
    assert_eq!(passed[0], plain.payload, "names of packages stand behind it");
    let secret: Vec<u8> = "secret".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(passed.iter().all(|payload| !payload.windows(secret.len()).any(|bytes| bytes == secret)));
}

#[test]
fn threads_and_their_names_are_those_of_recorded_processes_only() {
    let name = |time, pid, tid| {
        let payload = payload(|out| system::thread_name(out, Pid(pid), Tid(tid), "Renderer"));
        Sent { time, pid: 4, tid: 1, hook: hook::THREAD_SET_NAME, payload }
    };
    let threads = |time, pid| [Sent::thread(time, hook::THREAD_RUNDOWN_START, pid, pid + 1), name(time, pid, pid + 1)];
    let running = |pid, name: &str| Sent::process(2, hook::PROCESS_RUNDOWN_START, pid, &info(u64::from(pid), 4, name));
    // Thread events can come before their process is announced.
    let sent: Vec<Sent> = [threads(1, OTHER), threads(1, GAME)]
        .into_iter()
        .flatten()
        .chain([running(OTHER, "other.exe"), running(GAME, "game.exe")])
        .chain([threads(3, OTHER), threads(3, GAME)].into_iter().flatten())
        .chain([Sent::thread(4, hook::THREAD_RUNDOWN_END, OTHER, 201), Sent::thread(4, hook::THREAD_RUNDOWN_END, GAME, 101)])
        .collect();
    let mut followed = following(&[], &["game.exe"], false);
    assert_eq!(passed(&mut followed, &sent), [4, 2, 3, 5, 8, 9, 11]);
    assert_eq!((followed.dropped(), followed.undecided()), (5, 0));
}

#[test]
fn kernel_modules_without_an_address_are_noticed() {
    let image = |pid, base| {
        let info = ImageInfo { base, size: 0x1000, checksum: 0, time_stamp: 1, path: r"\SystemRoot\ntoskrnl.exe".to_owned() };
        let payload = payload(|out| system::image(out, Pid(pid), &info));
        Sent { time: 1, pid: u32::MAX, tid: u32::MAX, hook: hook::IMAGE_RUNDOWN_START, payload }
    };
    let hides = |images: &[Sent]| {
        let mut followed = following(&[GAME], &[], false);
        for image in images {
            let mut passed = 0;
            followed.take(&NewEvent { version: IMAGE_VERSION, ..image.event(0) }, &mut |_| passed += 1);
            assert_eq!(passed, 1, "images are kept");
        }
        followed.hides_kernel()
    };
    assert!(!hides(&[image(0, 0xFFFF_F800_0000_0000), image(4, 0xFFFF_F800_0000_0000), image(GAME, 0), image(OTHER, 0)]));
    assert!(hides(&[image(GAME, 0x1000), image(0, 0)]) && hides(&[image(4, 0)]));
}
