//! Symbol servers that one should not rely on: that break off, say nothing, forbid, or
//! point to where a stranger learns who asks. What they cost is bounded. The server is a
//! real one on loopback.

use std::net::TcpListener;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::common::server::{Reply, Server};
use crate::common::sought::{Case, NAME, files};
use highwater::etl::Guid;
use highwater::symbols::{Download, Locator, NotFound, PdbKey, PlaceTrouble, Stop, Trouble, Wanted};

/// What is wrong with the one place that has something wrong with it.
fn trouble(not_found: &NotFound) -> &PlaceTrouble {
    match not_found.0.as_slice() {
        [Trouble::Place { why, .. }] => why,
        other => panic!("{other:?}"),
    }
}

/// Modules that nobody has the PDBs of.
fn strangers(count: u8) -> impl Iterator<Item = Wanted> {
    (0..count).map(|n| {
        let key = PdbKey { guid: Guid::from_bytes([n; 16]), age: 1 };
        Wanted { image: format!("{n}.dll"), pdb: Some((key, format!("{n}.pdb"))), ..Wanted::default() }
    })
}

#[test]
fn a_server_that_breaks_off_at_the_same_byte_is_given_up() {
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    let path = format!("/{}", case.place());
    let replies = [
        Reply::CutWithoutRanges(case.bytes.clone(), 200_000),
        Reply::Cut(case.bytes.clone(), 0),
        Reply::Cut(case.bytes.clone(), 1),
    ];
    for reply in replies {
        server.put(&path, reply);
        // Whoever asks without end is stopped.
        let (stop, asked) = (Stop::default(), Mutex::new(0));
        let progress = |_: Download| {
            *asked.lock().unwrap() += server.asked().len();
            if *asked.lock().unwrap() > 50 {
                stop.set();
            }
        };
        let why = case.locator(&server.url).find(&case.wanted(), None, &stop, &progress).unwrap_err();
        let asked = asked.into_inner().unwrap() + server.asked().len();
        assert!(asked <= 8, "asked {asked} times: {why}");
        assert!(matches!(trouble(&why), PlaceTrouble::BrokeOff { .. }), "{why}");
        assert!(!case.path("own").join(case.place()).exists());
    }
    // What came of it is of use as soon as the server keeps to what it is asked.
    server.put(&path, Reply::File(case.bytes.clone()));
    case.finds(&case.locator(&server.url));
    assert_eq!(files(&case.path("own")), [NAME]);
}

/// The server gives all its files the same tag, as those do that tell the time of a build.
#[test]
fn a_part_belongs_to_the_url_that_it_came_from() {
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    let (path, packed) = (format!("/{}", case.place()), format!("/{}", case.in_folder("WriteArgument.pd_")));
    let begin = || {
        server.put(&packed, Reply::Cut(case.cabinet(), 5000));
        let busy = |_: Download| server.put(&packed, Reply::Page("503 Service Unavailable", "busy".to_owned()));
        let why = case.locator(&server.url).find(&case.wanted(), None, &Stop::default(), &busy).unwrap_err();
        assert!(matches!(trouble(&why), PlaceTrouble::Status(_)), "{why}");
        server.asked();
    };
    begin();
    server.put(&packed, Reply::File(case.cabinet()));
    case.finds(&case.locator(&server.url));
    assert_eq!(server.asked(), [path.clone(), format!("{packed} from 5000")], "the compressed file goes on");
    std::fs::remove_file(case.path("own").join(case.place())).unwrap();
    begin();
    server.put(&path, Reply::File(case.bytes.clone()));
    case.finds(&case.locator(&server.url));
    assert_eq!(server.asked(), [path], "the file itself begins at its beginning");
    assert_eq!(files(&case.path("own")), [NAME], "and no part of the other is left");
}

#[test]
fn a_server_that_says_nothing_costs_one_time_out() {
    for reply in [Reply::Mute, Reply::Silent] {
        let Some(case) = Case::new() else { return };
        let server = Server::start();
        server.put("*", reply);
        let locator = case.locator(&server.url);
        let start = Instant::now();
        for wanted in strangers(150) {
            let why = locator.find(&wanted, None, &Stop::default(), &|_| {}).unwrap_err();
            assert_eq!(*trouble(&why), PlaceTrouble::Silent);
        }
        assert_eq!(server.asked().len(), 1);
        assert!(start.elapsed() < Duration::from_secs(20), "one of 0.7 s is allowed, 150 take 105 s");
        locator.forget();
        server.put(&format!("/{}", case.place()), Reply::File(case.bytes.clone()));
        case.finds(&locator);
    }
    // Also where only the question for two tiers meets with silence.
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    server.put("/index2.txt", Reply::Mute);
    let locator = case.locator(&server.url);
    for wanted in strangers(5) {
        assert_eq!(*trouble(&locator.find(&wanted, None, &Stop::default(), &|_| {}).unwrap_err()), PlaceTrouble::Silent);
    }
    assert_eq!(server.asked().len(), 4, "a file in three forms, and the tiers");
}

#[test]
fn a_server_that_drips_is_given_up_and_asked_nothing_more() {
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    server.put("*", Reply::Drip(Duration::from_millis(100)));
    let locator = case.locator(&server.url);
    let (start, seen) = (Instant::now(), Mutex::new(0));
    for wanted in strangers(20) {
        let why = locator.find(&wanted, None, &Stop::default(), &|_| *seen.lock().unwrap() += 1).unwrap_err();
        assert!(matches!(trouble(&why), PlaceTrouble::TooSlow { bytes: 1..200, .. }), "{why}");
    }
    assert_eq!(server.asked().len(), 1);
    assert!(start.elapsed() < Duration::from_secs(30), "2.1 s once; the whole file takes a day");
    assert!(seen.into_inner().unwrap() > 5, "how far it is is told meanwhile");
}

#[test]
fn a_server_that_takes_long_to_say_no_is_asked_nothing_more() {
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    server.put("*", Reply::Late(Duration::from_millis(500)));
    let locator = case.locator(&server.url);
    let start = Instant::now();
    let why = strangers(30).map(|wanted| locator.find(&wanted, None, &Stop::default(), &|_| {}).unwrap_err()).last().unwrap();
    assert!(matches!(trouble(&why), PlaceTrouble::SlowToAnswer { .. }), "{why}");
    assert!(server.asked().len() < 20 && start.elapsed() < Duration::from_secs(30), "4 answers a module would take 60 s");
}

#[test]
fn no_store_gets_a_file_that_windows_takes_for_a_device() {
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    server.put("*", Reply::File(case.bytes.clone()));
    for name in ["NUL.pdb", r"C:\b\com1.pdb", "aux", "LPT\u{b2}.x.pdb"] {
        let wanted = Wanted { pdb: Some((case.key, name.to_owned())), ..case.wanted() };
        let why = case.locator(&server.url).find(&wanted, None, &Stop::default(), &|_| {}).unwrap_err();
        assert!(matches!(why.0.as_slice(), [Trouble::OddName(_)]), "{why}");
        let wanted = Wanted { image: format!(r"\Device\X\{}", name.replace("pdb", "dll")), pdb: None, ..Wanted::default() };
        let why = case.locator(&server.url).find(&wanted, None, &Stop::default(), &|_| {}).unwrap_err();
        assert!(matches!(why.0.as_slice(), [Trouble::NoName]), "{why}");
    }
    assert!(server.asked().is_empty() && !case.path("own").exists());
}

#[test]
fn a_server_that_refuses_is_not_asked_for_the_next_module() {
    let Some(case) = Case::new() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let locator = case.locator(&format!("http://{address}"));
    assert!(matches!(trouble(&case.find(&locator).unwrap_err()), PlaceTrouble::Refused(_)));
    let listener = TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    for wanted in strangers(10) {
        let why = locator.find(&wanted, None, &Stop::default(), &|_| {}).unwrap_err();
        assert!(matches!(trouble(&why), PlaceTrouble::Refused(_)), "{why}");
    }
    assert!(listener.accept().is_err(), "nobody has asked");
}

/// As a bucket of S3 does that lists nothing to strangers.
#[test]
fn a_server_that_forbids_what_it_has_not_is_asked_in_all_ways() {
    let compressed = |case: &Case| vec![(format!("/{}", case.in_folder("WriteArgument.pd_")), case.cabinet())];
    let two_tiers =
        |case: &Case| vec![("/index2.txt".to_owned(), vec![b' ']), (format!("/Wr/{}", case.place()), case.bytes.clone())];
    for there in [compressed as fn(&Case) -> Vec<(String, Vec<u8>)>, two_tiers] {
        let Some(case) = Case::new() else { return };
        let server = Server::start();
        server.put("*", Reply::Page("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>".to_owned()));
        there(&case).into_iter().for_each(|(path, bytes)| server.put(&path, Reply::File(bytes)));
        case.finds(&case.locator(&server.url));
    }
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    server.put("*", Reply::Page("403 Forbidden", String::new()));
    let locator = case.locator(&server.url);
    for asked in [4, 0] {
        assert_eq!(*trouble(&case.find(&locator).unwrap_err()), PlaceTrouble::Forbidden, "told once, and remembered");
        assert_eq!(server.asked().len(), asked);
    }
}

/// `//host/share/…` is a share for Windows; elsewhere it is the same as `/host/share/…`, so
/// that it can be seen there whether it is opened.
#[test]
fn a_pointer_leads_to_a_share_only_if_its_host_is_on_the_path() {
    let Some(case) = Case::new() else { return };
    let is_there = !cfg!(windows);
    let share = if is_there { format!("/{}", case.pdb.display()) } else { r"\\somewhere\share\a.pdb".to_owned() };
    let host = share[2..].split(['\\', '/']).next().unwrap();
    let pointer = format!("PATH:{share}").into_bytes();
    let server = Server::start();
    server.put(&format!("/{}", case.in_folder("file.ptr")), Reply::File(pointer.clone()));
    case.write(&format!("s/{}", case.in_folder("file.ptr")), &pointer);
    for place in [server.url.clone(), format!("srv*{}", case.path("s").display())] {
        let why = case.find(&case.locator(&place)).unwrap_err();
        assert!(matches!(trouble(&why), PlaceTrouble::PointsToShare { host: found, .. } if found == host), "{why}");
        if is_there {
            let path = format!("//{host}/nothing;{place}");
            let found = case.find(&case.locator(&path)).unwrap();
            assert_eq!(std::fs::read(found.file.path().unwrap()).unwrap(), case.bytes);
            let _ = std::fs::remove_dir_all(case.path("own")); // else it is there from now on
        }
    }
    // A file of this machine tells nobody.
    server.put(&format!("/{}", case.in_folder("file.ptr")), Reply::File(format!("PATH:{}", case.pdb.display()).into_bytes()));
    case.finds(&case.locator(&server.url));
}

#[test]
fn a_large_pdb_is_copied_from_a_share_in_sight_until_nobody_wants_it() {
    const LENGTH: u64 = 256 << 20;
    let Some(case) = Case::new() else { return };
    let large = case.write(&format!("far/{}", case.place()), &case.bytes);
    std::fs::File::options().write(true).open(large).unwrap().set_len(LENGTH).unwrap();
    let locator: Locator = case.locator(&format!("srv*{}*{}", case.path("near").display(), case.path("far").display()));
    let stop = Stop::default();
    let cancel = |_: Download| stop.set();
    let not_found = locator.find(&case.wanted(), None, &stop, &cancel).unwrap_err();
    assert_eq!(not_found, Trouble::Stopped.into());
    assert_eq!(files(&case.path("near")), Vec::<String>::new());
    let seen = Mutex::new(Vec::new());
    let found = locator.find(&case.wanted(), None, &Stop::default(), &|download| seen.lock().unwrap().push(download)).unwrap();
    assert!(found.file.path().unwrap().starts_with(case.path("near")) && found.file.len() == LENGTH);
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() > 1 && seen.is_sorted_by_key(|download| download.done), "{seen:?}");
    assert_eq!(seen.last(), Some(&Download { done: LENGTH, total: Some(LENGTH) }));
}
