//! Downloads from symbol servers into a store: resumed if they broke off, whole or
//! not there. What a server sends is judged by its first bytes, not by what the server
//! calls it: login pages come as anything.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cabinet;
use super::depot;
use super::guard::Stop;
use super::http::{Answer, Body, Http};
use super::source::{MAX_BYTES, check_kind};

/// Connections that break off before a download is given up, unless each brings something.
const MAX_TRIES: u32 = 3;

/// What became of a download.
pub(super) enum Fetched {
    /// The server has no such file.
    Missing,
    /// It came, to this place; the caller moves it or removes it.
    File(PathBuf),
}

/// Told how many bytes came, and of how many if that is known.
pub(super) type Progress<'a> = dyn Fn(u64, Option<u64>) + 'a;

/// Fetches `url`, to become `target`.
pub(super) fn fetch(http: &Http, url: &str, target: &Path, stop: &Stop, progress: &Progress<'_>) -> Result<Fetched, String> {
    let (path, mut file) = open_part(target).map_err(|error| format!("no room for what it sends: {error}"))?;
    let result = download(http, url, &path, &mut file, stop, progress);
    let is_worth_keeping = matches!(&result, Err(Trouble::BrokeOff(_) | Trouble::Stopped)) && !read_tag(&path).is_empty();
    drop(file);
    match result {
        Ok(true) => {
            let _ = fs::remove_file(tag_file(&path));
            return Ok(Fetched::File(path));
        }
        _ if is_worth_keeping => {}
        _ => discard(&path),
    }
    match result {
        Ok(_) => Ok(Fetched::Missing),
        Err(Trouble::BrokeOff(why) | Trouble::Refused(why)) => Err(why),
        Err(Trouble::Stopped) => Err("stopped".to_owned()),
    }
}

enum Trouble {
    /// What came may be the beginning of the file.
    BrokeOff(String),
    /// What came is of no use.
    Refused(String),
    Stopped,
}

fn download(http: &Http, url: &str, path: &Path, file: &mut File, stop: &Stop, progress: &Progress<'_>) -> Result<bool, Trouble> {
    let mut tries = 0;
    loop {
        if stop.is_set() {
            return Err(Trouble::Stopped);
        }
        let have = file.metadata().map_or(0, |meta| meta.len());
        let tag = read_tag(path);
        let resume = Some((have, tag.as_str())).filter(|_| have > 0 && !tag.is_empty());
        let answer = http.get(url, resume).map_err(Trouble::BrokeOff)?;
        let Answer::Body(body) = answer else { return Ok(false) };
        let before = if body.start == have { have } else { 0 };
        if body.start != 0 && body.start != have {
            return Err(Trouble::Refused("it sent another part than was asked for".to_owned()));
        }
        let Some(why) = receive(body, path, file, stop, progress)? else { return Ok(true) };
        let came = file.metadata().map_or(0, |meta| meta.len());
        tries = if came > before { 0 } else { tries + 1 };
        // Without a tag it begins from the start each time.
        if tries >= MAX_TRIES || read_tag(path).is_empty() {
            return Err(Trouble::BrokeOff(format!("{why} after {came} bytes")));
        }
        std::thread::sleep(Duration::from_millis(50 << tries));
    }
}

/// Writes what comes; says why that ended early, if it did.
fn receive(body: Body, path: &Path, file: &mut File, stop: &Stop, progress: &Progress<'_>) -> Result<Option<String>, Trouble> {
    let Body { mut reader, start, length, tag, content_type } = body;
    let refused = |error: std::io::Error| Trouble::Refused(format!("what it sends cannot be stored: {error}"));
    file.set_len(start).and_then(|()| file.seek(SeekFrom::Start(start)).map(drop)).map_err(refused)?;
    fs::write(tag_file(path), &tag).map_err(refused)?;
    let total = length.and_then(|length| length.checked_add(start));
    let mut have = start;
    let mut head = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        if stop.is_set() {
            return Err(Trouble::Stopped);
        }
        let bytes = match reader.read(&mut buffer) {
            Ok(0) if total.is_some_and(|total| have < total) => return Ok(Some("it broke off".to_owned())),
            Ok(0) => break,
            Ok(length) => &buffer[..length],
            Err(error) => return Ok(Some(format!("it broke off ({error})"))),
        };
        if start == 0 && head.len() < 32 {
            head.extend_from_slice(&bytes[..bytes.len().min(32)]);
            if head.len() >= 32 && !is_expected(&head) {
                return Err(Trouble::Refused(describe_other(&head, &content_type)));
            }
        }
        have += bytes.len() as u64;
        if have > MAX_BYTES {
            return Err(Trouble::Refused(format!("it sends more than {} MB", MAX_BYTES >> 20)));
        }
        file.write_all(bytes).map_err(refused)?;
        progress(have, total);
    }
    // Short files are judged when they are whole.
    if start == 0 && head.len() < 32 && !is_expected(&head) {
        return Err(Trouble::Refused(describe_other(&head, &content_type)));
    }
    Ok(None)
}

/// Whether a file begins like a PDB of any kind, a cabinet, an image or a pointer.
fn is_expected(head: &[u8]) -> bool {
    use super::PdbError::NoPdb;
    let is_text = |start: &[u8]| head.get(..start.len()).is_some_and(|text| text.eq_ignore_ascii_case(start));
    let is_pdb = !matches!(check_kind(head), Err(NoPdb));
    is_pdb || head.starts_with(cabinet::MAGIC) || head.starts_with(b"MZ") || is_text(b"PATH:") || is_text(b"MSG:")
}

fn describe_other(head: &[u8], content_type: &str) -> String {
    let text = String::from_utf8_lossy(head).trim_start().to_ascii_lowercase();
    if text.starts_with('<') || content_type.starts_with("text/html") {
        "it sent a web page instead of the file; perhaps it wants a login".to_owned()
    } else {
        "it sent something else than a PDB".to_owned()
    }
}

/// The unfinished file of `target`, and the right to write it. If another process has
/// it, a new one.
fn open_part(target: &Path) -> std::io::Result<(PathBuf, File)> {
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    let open = |path: PathBuf| {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
        Ok((path, file))
    };
    let (path, file) = open(depot::part(target))?;
    if file.try_lock().is_ok() { Ok((path, file)) } else { open(depot::draft(target)) }
}

fn tag_file(part: &Path) -> PathBuf {
    depot::beside(part, ".tag")
}

fn read_tag(part: &Path) -> String {
    fs::read_to_string(tag_file(part)).unwrap_or_default()
}

/// Removes an unfinished file and what was noted of it.
pub(super) fn discard(part: &Path) {
    let _ = fs::remove_file(part);
    let _ = fs::remove_file(tag_file(part));
    let folders = part.ancestors().skip(1).take(2);
    folders.for_each(|folder| drop(fs::remove_dir(folder))); // those that are empty
}
