//! Symbol paths, stores and servers: a PDB is found and is the right one, or there is
//! a reason, and no store holds a file that is not whole. The server is a real one on
//! loopback.

use std::net::TcpListener;
use std::sync::Arc;

use crate::common::server::{Reply, Server};
use crate::common::sought::{Case, NAME, files};
use highwater::pe::Build;
use highwater::symbols::{Locator, Sources, Stop, SymbolPath, Trouble, Wanted};

#[test]
fn folders_and_stores_of_every_form_are_searched() {
    for place in ["a", "a/pdb", "a/symbols/pdb"] {
        let Some(case) = Case::new() else { return };
        case.write(&format!("{place}/{NAME}"), &case.bytes);
        let found = case.finds(&case.locator(&format!("{};{}", case.path("none").display(), case.path("a").display())));
        assert!(found.source.ends_with('a') && found.file.path().unwrap().starts_with(case.path("a")));
    }
    for (tier, prefix) in [("one", "srv*"), ("two", "srv*"), ("one", ""), ("two", "")] {
        let Some(case) = Case::new() else { return };
        if tier == "two" {
            case.write("s/index2.txt", b"");
            case.write(&format!("s/Wr/{}", case.place()), &case.bytes);
        } else {
            case.write(&format!("s/{}", case.place()), &case.bytes);
        }
        case.finds(&case.locator(&format!("{prefix}{}", case.path("s").display())));
        assert_eq!(files(&case.path("own")), Vec::<String>::new(), "nothing is copied");
    }
}

#[test]
fn the_image_s_folder_and_the_linker_s_path_come_first() {
    let Some(case) = Case::new() else { return };
    let beside = case.write(&format!("app/{NAME}"), &case.bytes);
    let built = case.write("built/other-name.pdb", &case.bytes);
    let locator = case.locator("");
    let image = case.path("app/WriteArgument.exe").display().to_string();
    let wanted = Wanted { image, ..case.wanted() };
    assert_eq!(locator.find(&wanted, None, &Stop::default(), &|_| {}).unwrap().file, (&beside).into());
    let wanted = Wanted { pdb: Some((case.key, built.display().to_string())), ..case.wanted() };
    assert_eq!(locator.find(&wanted, None, &Stop::default(), &|_| {}).unwrap().file, (&built).into());
    assert_eq!(locator.find(&case.wanted(), Some(&built), &Stop::default(), &|_| {}).unwrap().file, (&built).into());
    assert!(case.misses(&locator).contains("no symbol path"));
}

#[test]
fn what_is_far_is_copied_to_every_store_before_it() {
    let Some(case) = Case::new() else { return };
    case.write(&format!("far/{}", case.place()), &case.bytes);
    let path = |name: &str| case.path(name).display().to_string();
    let found = case.finds(&case.locator(&format!("srv*{}*{}*{}", path("near"), path("middle"), path("far"))));
    assert_eq!(found.file.path().unwrap(), case.path("near").join(case.place()));
    assert_eq!(found.source, path("far"));
    for store in ["near", "middle"] {
        assert_eq!(files(&case.path(store)), [NAME]);
    }
    let Some(case) = Case::new() else { return };
    let folder = case.write(&format!("plain/{NAME}"), &case.bytes);
    let path = format!("cache*{};{}", case.path("near").display(), folder.parent().unwrap().display());
    assert_eq!(case.finds(&case.locator(&path)).file.path().unwrap(), case.path("near").join(case.place()));
}

#[test]
fn compressed_files_and_pointers_in_stores_are_followed() {
    let Some(case) = Case::new() else { return };
    case.write(&format!("s/{}", case.in_folder("WriteArgument.pd_")), &case.cabinet());
    let found = case.finds(&case.locator(&format!("srv*{}*{}", case.path("near").display(), case.path("s").display())));
    assert!(found.file.path().unwrap().starts_with(case.path("near")), "expanded into the nearest store");
    let Some(case) = Case::new() else { return };
    let pointer = format!("PATH:{}\r\n", case.pdb.display());
    case.write(&format!("s/{}", case.in_folder("file.ptr")), pointer.as_bytes());
    case.finds(&case.locator(&format!("srv*{}", case.path("s").display())));
    case.write(&format!("s/{}", case.in_folder("file.ptr")), b"MSG: it was deleted");
    let why = case.misses(&case.locator(&format!("srv*{}", case.path("s").display())));
    assert!(why.contains("it was deleted"), "{why}");
}

#[test]
fn a_file_of_another_build_is_refused_and_named() {
    let Some(case) = Case::new() else { return };
    let other = std::fs::read(case.pdb.with_file_name("crash.pdb")).unwrap();
    let server = Server::start();
    for (place, reply) in [("f", None), ("", Some(Reply::File(other.clone())))] {
        case.write(&format!("f/{NAME}"), &other);
        let path = if reply.is_some() { server.url.clone() } else { case.path(place).display().to_string() };
        reply.into_iter().for_each(|reply| server.put(&format!("/{}", case.place()), reply));
        let why = case.misses(&case.locator(&path));
        assert!(why.contains("found, but of another build"), "{why}");
        assert!(why.contains(&case.key.to_string()) && why.contains("3003763B-AFCB-4A97-AAE3-28DE8F188D7C age 1"), "{why}");
    }
}

#[test]
fn a_server_s_file_comes_into_the_store_and_is_asked_for_once() {
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    server.put(&format!("/sym/{}", case.place()), Reply::File(case.bytes.clone()));
    let path = format!("srv*{}*{}/sym/", case.path("near").display(), server.url);
    let found = case.finds(&case.locator(&path));
    assert_eq!(found.file.path().unwrap(), case.path("near").join(case.place()));
    assert_eq!(found.source, format!("{}/sym", server.url));
    assert_eq!(server.asked(), [format!("/sym/{}", case.place())]);
    case.finds(&case.locator(&path));
    assert_eq!(server.asked(), Vec::<String>::new());
    assert_eq!(files(&case.path("near")), [NAME], "no part is left");
}

#[test]
fn nothing_is_asked_without_leave() {
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    let path = SymbolPath::parse(&server.url, Some(&case.path("own")));
    let locator = Locator::new(Sources { path, store: Some(case.path("own")), ..Sources::default() });
    assert!(case.misses(&locator).contains("the network is off"));
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[test]
fn servers_with_compressed_files_two_tiers_pointers_and_redirects_are_understood() {
    let Some(case) = Case::new() else { return };
    let compressed = case.in_folder("WriteArgument.pd_");
    let pointer = format!("PATH:{}", case.pdb.display());
    let forms: [&[(String, Reply)]; 5] = [
        &[(format!("/{compressed}"), Reply::File(case.cabinet()))],
        &[
            ("/index2.txt".to_owned(), Reply::File(vec![b' '])),
            (format!("/Wr/{}", case.place()), Reply::File(case.bytes.clone())),
        ],
        &[(format!("/{}", case.in_folder("file.ptr")), Reply::File(pointer.into_bytes()))],
        &[
            (format!("/{}", case.place()), Reply::Redirect("/elsewhere?token=1".to_owned())),
            ("/elsewhere?token=1".to_owned(), Reply::File(case.bytes.clone())),
        ],
        &[(format!("/{}", case.place()), Reply::Slow(case.bytes))],
    ];
    for replies in forms {
        let Some(case) = Case::new() else { return };
        let server = Server::start();
        replies.iter().for_each(|(path, reply)| server.put(path, reply.clone()));
        let found = case.finds(&case.locator(&format!("srv*{}*{}", case.path("near").display(), server.url)));
        assert_eq!(found.file.path().unwrap(), case.path("near").join(case.place()), "{:?}", server.asked());
        assert_eq!(files(&case.path("near")), [NAME]);
    }
}

#[test]
fn what_a_server_has_not_is_not_asked_for_again() {
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    let locator = case.locator(&server.url);
    assert!(case.misses(&locator).contains("none of the 2 places"));
    assert_eq!(server.asked().len(), 4, "the file, compressed, a pointer, and whether there are two tiers");
    case.misses(&locator);
    assert_eq!(server.asked(), Vec::<String>::new());
    server.put(&format!("/{}", case.place()), Reply::File(case.bytes.clone()));
    locator.forget();
    case.finds(&locator);
}

#[test]
fn a_download_that_breaks_off_goes_on_where_it_was() {
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    let (path, third) = (format!("/{}", case.place()), case.bytes.len() / 3 + 1);
    server.put(&path, Reply::Cut(case.bytes.clone(), third));
    case.finds(&case.locator(&server.url));
    assert_eq!(server.asked(), [path.clone(), format!("{path} from {third}"), format!("{path} from {}", 2 * third)]);
    assert_eq!(files(&case.path("own")), [NAME]);
}

#[test]
fn what_stays_cut_is_a_reason_and_goes_on_the_next_time() {
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    let path = format!("/{}", case.place());
    server.put(&path, Reply::CutWithoutTag(case.bytes.clone(), 5000));
    let why = case.misses(&case.locator(&server.url));
    assert!(why.contains("it broke off") && why.contains("after 5000 bytes"), "{why}");
    // With a tag: nothing more comes for now, what came is kept.
    server.put(&path, Reply::Cut(case.bytes.clone(), 5000));
    let first = case.locator(&server.url);
    let replies = Arc::clone(&server.replies);
    let stop = Stop::default();
    let after_some = |download: highwater::symbols::Download| {
        if download.done >= 5000 {
            replies.lock().unwrap().insert(path.clone(), Reply::Page("503 Service Unavailable", "busy".to_owned()));
        }
    };
    let why = first.find(&case.wanted(), None, &stop, &after_some).unwrap_err().to_string();
    assert!(why.contains("503"), "{why}");
    assert!(!case.path("own").join(case.place()).exists(), "no broken file in the store");
    server.asked();
    server.put(&path, Reply::File(case.bytes.clone()));
    case.finds(&case.locator(&server.url));
    assert_eq!(server.asked(), [format!("{path} from 5000")]);
    assert_eq!(files(&case.path("own")), [NAME]);
}

#[test]
fn pages_silence_and_errors_are_reasons() {
    let login = "<!DOCTYPE html><title>Please log in</title>".to_owned();
    let bad = [
        (Reply::Page("200 OK", login), "perhaps it wants a login"),
        (Reply::File(b"plain text that goes on for longer than a head".to_vec()), "it did not send a PDB"),
        (Reply::File(Vec::new()), "it did not send a PDB"),
        (Reply::File(b"MSCF but no cabinet at all, only its first four bytes".to_vec()), "cannot be expanded"),
        (Reply::File(b"Microsoft MSFZ Container, and so on and so on".to_vec()), "MSFZ"),
        (Reply::Page("403 Forbidden", String::new()), "403"),
        (Reply::Page("500 Internal Server Error", String::new()), "500"),
        (Reply::Silent, "silent for too long"),
    ];
    for (reply, reason) in bad {
        let Some(case) = Case::new() else { return };
        let server = Server::start();
        server.put(&format!("/{}", case.place()), reply);
        let why = case.misses(&case.locator(&format!("srv*{}*{}", case.path("near").display(), server.url)));
        assert!(why.contains(reason), "{reason}: {why}");
    }
    let Some(case) = Case::new() else { return };
    let loops = Server::start();
    loops.put(&format!("/{}", case.place()), Reply::Redirect(format!("/{}", case.place())));
    assert!(case.misses(&case.locator(&loops.url)).contains("redirect"));
    let plain = Server::start();
    let why = case.misses(&case.locator(&plain.url.replace("http:", "https:")));
    assert!(why.contains(&plain.url.replace("http:", "https:")) && plain.asked().is_empty(), "{why}");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let why = case.misses(&case.locator(&format!("http://{nobody}")));
    assert!(why.contains(&nobody.to_string()), "{why}");
}

#[test]
fn a_truncated_file_that_a_server_sends_as_whole_is_refused() {
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    server.put(&format!("/{}", case.place()), Reply::File(case.bytes[..case.bytes.len() - 4096].to_vec()));
    let why = case.misses(&case.locator(&server.url));
    assert!(why.contains("damaged"), "{why}");
}

#[test]
fn the_program_s_own_store_keeps_to_its_size() {
    let Some(case) = Case::new() else { return };
    let server = Server::start();
    server.put(&format!("/{}", case.place()), Reply::File(case.bytes.clone()));
    case.write("own/old.pdb/KEY1/old.pdb", &[0; 5000]);
    let store = case.path("own");
    let sources = Sources {
        path: SymbolPath::parse(&server.url, Some(&store)),
        network: true,
        store: Some(store.clone()),
        store_limit: case.bytes.len() as u64 + 100,
        ..Sources::default()
    };
    case.finds(&Locator::new(sources));
    assert_eq!(files(&store), [NAME]);
}

#[test]
fn without_an_identity_in_the_trace_the_image_on_disk_tells_it() {
    let Some(case) = Case::new() else { return };
    let image = std::fs::read(case.pdb.with_file_name("WriteArgument.exe")).unwrap();
    case.write(&format!("f/{NAME}"), &case.bytes);
    case.write("f/WriteArgument.exe", &image);
    let locator = case.locator(&case.path("f").display().to_string());
    let build = Build { time_stamp: 1_589_281_187, size: 28672, checksum: 0 };
    let wanted = Wanted { pdb: None, build, ..case.wanted() };
    let find = |wanted: &Wanted| locator.find(wanted, None, &Stop::default(), &|_| {});
    assert_eq!(find(&wanted).unwrap().key, Some(case.key));
    let without_stamp = Wanted { build: Build { time_stamp: 0, ..build }, ..wanted.clone() };
    assert_eq!(find(&without_stamp).unwrap().key, Some(case.key), "rundowns have no time stamp");
    let of_another = Wanted { build: Build { time_stamp: 7, ..build }, ..wanted.clone() };
    assert_eq!(find(&of_another).unwrap_err(), Trouble::OtherImage.into());
    let elsewhere = Wanted { image: "other.exe".to_owned(), ..wanted };
    assert_eq!(find(&elsewhere).unwrap_err(), Trouble::NoImage.into());
    let image = case.pdb.with_file_name("crash.exe").display().to_string();
    let build = Build { time_stamp: 1_543_930_057, size: 36864, checksum: 0 };
    let wanted = Wanted { image, build, ..Wanted::default() };
    let found = case.locator("").find(&wanted, None, &Stop::default(), &|_| {}).unwrap();
    assert_eq!(found.file.path().unwrap(), case.pdb.with_file_name("crash.pdb"), "and the PDB beside it is found");
}
