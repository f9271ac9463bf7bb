//! Downloads from symbol servers into a store: resumed if they broke off, whole or not there. A file is judged by its
//! first bytes, not by the type that the server states: login pages come as anything.
//!
//! Cost: a download is given up after a few connections that bring nothing new; a few more are allowed for each
//! stretch of the file that was reached. It is also given up if it is slower than [`LEAST_RATE`], or takes longer
//! than [`LONGEST`], over all its connections.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::cabinet;
use super::depot;
use super::guard::Stop;
use super::http::{Answer, Body, Http, Interruption};
use super::source::{MAX_BYTES, check_kind};
use super::trouble::PlaceTrouble;

/// Connections in a row that bring nothing new before a download is given up.
const MAX_IN_VAIN: u32 = 3;

/// Stretch of the file, in bytes, for which one more connection is allowed: sound connections bring at least as much.
const BYTES_A_CONNECTION: u64 = 1 << 16;

/// Minimum rate of a useful line, in bytes per second.
const LEAST_RATE: u64 = 16 << 10;

/// Additional time for a download, as a multiple of the allowed silence.
const GRACE: u32 = 3;

/// Maximum time of a download. The part that came stays, and the next download continues from there.
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);

/// The result of a download.
pub(super) enum Fetched {
    /// The server has no such file.
    Missing,
    /// The file is at this path; the caller moves it or removes it.
    File(PathBuf),
}

/// Called with the number of bytes that came, and the total if that is known.
pub(super) type Progress<'a> = dyn Fn(u64, Option<u64>) + 'a;

/// Fetches `url`, which is to become `target`.
pub(super) fn fetch(
    http: &Http,
    url: &str,
    target: &Path,
    stop: &Stop,
    progress: &Progress<'_>,
) -> Result<Fetched, PlaceTrouble> {
    let (path, file) = open_part(target, url).map_err(no_room)?;
    let pace = Pace { begun: Instant::now(), grace: http.patience * GRACE, came: 0 };
    let mut transfer = Transfer { http, url, path, file, stop, progress, pace };
    let result = transfer.run();
    let Transfer { path, file, .. } = transfer;
    drop(file);
    match result {
        Ok(true) => {
            let _ = fs::remove_file(depot::tag(&path));
            return Ok(Fetched::File(path));
        }
        // The next download continues from here.
        Err(trouble) if !trouble.spoils_what_came() && !read_tag(&path, url).is_empty() => return Err(trouble),
        _ => discard(&path),
    }
    result.map(|_| Fetched::Missing)
}

/// A download that is going on, over one connection or several.
struct Transfer<'a> {
    http: &'a Http,
    url: &'a str,
    path: PathBuf,
    file: File,
    stop: &'a Stop,
    progress: &'a Progress<'a>,
    pace: Pace,
}

/// The speed of a download.
struct Pace {
    begun: Instant,
    /// Time that the download may take besides the time for its bytes.
    grace: Duration,
    /// Bytes that came, including those that were discarded.
    came: u64,
}

impl Pace {
    fn check(&self, now: Instant) -> Result<(), PlaceTrouble> {
        let took = now.saturating_duration_since(self.begun);
        if took > LONGEST {
            return Err(PlaceTrouble::TooLong(LONGEST.as_secs() / 60));
        }
        if took > self.grace.saturating_add(Duration::from_secs(self.came / LEAST_RATE)) {
            return Err(PlaceTrouble::TooSlow { bytes: self.came, seconds: took.as_secs() });
        }
        Ok(())
    }
}

/// The end of a connection.
enum Ending {
    /// The file is whole.
    Whole,
    /// It broke off.
    Broken(String),
}

/// Counts connections that broke off. Only bytes that were never reached before are progress: a server may begin anew
/// each time and break off at the same byte.
#[derive(Default)]
struct Attempts {
    furthest: u64,
    in_vain: u32,
    all: u64,
}

impl Attempts {
    /// Whether to ask again after a connection that ended with so many bytes of the file.
    fn may_go_on(&mut self, bytes: u64) -> bool {
        self.all += 1;
        self.in_vain = if bytes > self.furthest { 0 } else { self.in_vain + 1 };
        self.furthest = self.furthest.max(bytes);
        self.in_vain < MAX_IN_VAIN && self.all < u64::from(MAX_IN_VAIN) + self.furthest / BYTES_A_CONNECTION
    }
}

impl Transfer<'_> {
    /// Downloads the file; `false` if the server does not have it.
    fn run(&mut self) -> Result<bool, PlaceTrouble> {
        let mut attempts = Attempts::default();
        loop {
            if self.stop.is_set() {
                return Err(PlaceTrouble::Stopped);
            }
            self.pace.check(Instant::now())?;
            let have = self.bytes();
            let tag = read_tag(&self.path, self.url);
            let resume = Some((have, tag.as_str())).filter(|_| have > 0 && !tag.is_empty());
            let Answer::Body(body) = self.http.get(self.url, resume)? else { return Ok(false) };
            if body.start != 0 && body.start != have {
                return Err(PlaceTrouble::OtherPart);
            }
            let Ending::Broken(why) = self.receive(body)? else { return Ok(true) };
            let bytes = self.bytes();
            // Without a tag each request begins from the start.
            if !attempts.may_go_on(bytes) || read_tag(&self.path, self.url).is_empty() {
                return Err(PlaceTrouble::BrokeOff { why, bytes });
            }
            std::thread::sleep(Duration::from_millis(50 << attempts.in_vain));
        }
    }

    /// Number of bytes of the file so far.
    fn bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |meta| meta.len())
    }

    /// Writes the bytes that come.
    fn receive(&mut self, mut body: Body) -> Result<Ending, PlaceTrouble> {
        let start = body.start;
        self.file.set_len(start).and_then(|()| self.file.seek(SeekFrom::Start(start)).map(drop)).map_err(no_room)?;
        fs::write(depot::tag(&self.path), format!("{}\n{}", self.url, body.tag)).map_err(no_room)?;
        let total = body.length.and_then(|length| length.checked_add(start));
        let mut have = start;
        let mut head = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            if self.stop.is_set() {
                return Err(PlaceTrouble::Stopped);
            }
            let bytes = match body.read(&mut buffer) {
                Ok(0) if total.is_some_and(|total| have < total) => return Ok(Ending::Broken("it broke off".to_owned())),
                Ok(0) => break,
                Ok(length) => &buffer[..length],
                Err(Interruption::Broken(why)) => return Ok(Ending::Broken(format!("it broke off ({why})"))),
                Err(Interruption::Silent) => return Err(PlaceTrouble::Silent),
            };
            if start == 0 && head.len() < 32 {
                head.extend_from_slice(&bytes[..bytes.len().min(32)]);
                if head.len() >= 32 && !is_expected(&head) {
                    return Err(other_content(&head, &body.content_type));
                }
            }
            have += bytes.len() as u64;
            self.pace.came += bytes.len() as u64;
            self.pace.check(Instant::now())?;
            if have > MAX_BYTES {
                return Err(PlaceTrouble::TooMuch(MAX_BYTES >> 20));
            }
            self.file.write_all(bytes).map_err(no_room)?;
            (self.progress)(have, total);
        }
        // Short files are judged when they are complete.
        if start == 0 && head.len() < 32 && !is_expected(&head) {
            return Err(other_content(&head, &body.content_type));
        }
        Ok(Ending::Whole)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn no_room(error: std::io::Error) -> PlaceTrouble {
    PlaceTrouble::NoRoom(error.to_string())
}

/// Whether a file begins like a PDB of any kind, a cabinet, an image or a pointer.
fn is_expected(head: &[u8]) -> bool {
    use super::PdbError::NoPdb;
    let is_text = |start: &[u8]| head.get(..start.len()).is_some_and(|text| text.eq_ignore_ascii_case(start));
    let is_pdb = !matches!(check_kind(head), Err(NoPdb));
    is_pdb || head.starts_with(cabinet::MAGIC) || head.starts_with(b"MZ") || is_text(b"PATH:") || is_text(b"MSG:")
}

fn other_content(head: &[u8], content_type: &str) -> PlaceTrouble {
    let text = String::from_utf8_lossy(head).trim_start().to_ascii_lowercase();
    if text.starts_with('<') || content_type.starts_with("text/html") { PlaceTrouble::WebPage } else { PlaceTrouble::NoPdb }
}

/// Opens the unfinished file of `url`, which is to become `target`, and locks it. If another process has it, opens a
/// new one.
fn open_part(target: &Path, url: &str) -> std::io::Result<(PathBuf, File)> {
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    let open = |path: PathBuf| {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
        Ok((path, file))
    };
    let (path, file) = open(depot::part(target, url))?;
    if file.try_lock().is_ok() { Ok((path, file)) } else { open(depot::draft(target)) }
}

/// The version of an unfinished file; empty if it is not known, or if the file is of another URL.
fn read_tag(part: &Path, url: &str) -> String {
    let text = fs::read_to_string(depot::tag(part)).unwrap_or_default();
    text.strip_prefix(url).and_then(|rest| rest.strip_prefix('\n')).unwrap_or_default().to_owned()
}

/// Removes an unfinished file and its tag.
pub(super) fn discard(part: &Path) {
    let _ = fs::remove_file(part);
    let _ = fs::remove_file(depot::tag(part));
    let folders = part.ancestors().skip(1).take(2);
    folders.for_each(|folder| drop(fs::remove_dir(folder))); // only empty folders are removed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of requests, if the connections end at these bytes.
    fn asked(mut ends: impl FnMut(u64) -> u64) -> u64 {
        let mut attempts = Attempts::default();
        (1..).find(|&n| !attempts.may_go_on(ends(n))).unwrap()
    }

    #[test]
    fn a_download_has_a_least_rate_and_a_longest_time() {
        let begun = Instant::now();
        let check = |came: u64, seconds: u64| {
            let pace = Pace { begun, grace: Duration::from_secs(60), came };
            pace.check(begun + Duration::from_secs(seconds))
        };
        assert_eq!(check(0, 60), Ok(()));
        assert_eq!(check(30, 61), Err(PlaceTrouble::TooSlow { bytes: 30, seconds: 61 }), "a byte every two seconds");
        assert_eq!(check(100 << 20, 3_000), Ok(()), "35 KB a second are a slow line");
        assert_eq!(check(u64::MAX, 7_201), Err(PlaceTrouble::TooLong(120)));
    }

    #[test]
    fn only_what_was_never_reached_is_progress() {
        assert_eq!(asked(|_| 0), 3);
        assert_eq!(asked(|_| 1 << 30), 4, "the same byte each time");
        assert_eq!(asked(|n| (1 << 30) - n), 4, "less each time");
        assert_eq!(asked(|n| n), 3, "a byte each time");
        assert_eq!(asked(|n| (n.min(500)) << 20), 503, "a megabyte each time, up to a place");
    }
}
