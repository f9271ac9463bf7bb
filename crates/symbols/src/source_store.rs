//! Source files of builds that were fetched from elsewhere: kept in a folder of the program's own, each by its URL.
//!
//! Cost: one connection per file, at most [`MOST`] bytes, and at most the time [`LONGEST`].

use std::fs;
use std::path::{Path, PathBuf};

use super::guard::Stop;
use super::source_origin::SourceUrl;
use super::trouble::PlaceTrouble;
use super::{cache, cache_folder, depot};
use crate::paths::is_device;

/// Maximum bytes of a source file.
#[cfg(feature = "symsrv")]
const MOST: u64 = 8 << 20;

/// Maximum bytes of all files.
const LIMIT: u64 = 256 << 20;

/// Time that a server may be silent; `LONGEST` is the time that a whole file may take.
#[cfg(feature = "symsrv")]
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);
#[cfg(feature = "symsrv")]
const LONGEST: std::time::Duration = std::time::Duration::from_secs(60);

/// The folder of source files that were fetched from elsewhere.
#[derive(Clone, Debug)]
pub struct SourceStore {
    root: PathBuf,
}

impl SourceStore {
    /// The store in a cache folder, or in the program's own.
    pub fn new(cache: Option<&Path>) -> Option<Self> {
        let cache = cache.map(Path::to_owned).or_else(cache_folder)?;
        Some(Self { root: cache.join("sources") })
    }

    /// The file of a URL, if it was fetched before.
    pub fn kept(&self, url: &SourceUrl) -> Option<PathBuf> {
        let path = self.place(url.as_str());
        path.is_file().then(|| {
            cache::touch(&path);
            path
        })
    }

    /// Fetches a file from its server, which learns the URL and nothing else. The caller has the user's permission.
    #[cfg(feature = "symsrv")]
    pub fn fetch(&self, url: &SourceUrl, stop: &Stop) -> Result<PathBuf, PlaceTrouble> {
        use super::http::{Answer, Http, Interruption};
        let Answer::Body(mut body) = Http::new(PATIENCE).get(url.as_str(), None)? else {
            return Err(PlaceTrouble::Status("404 Not Found".to_owned()));
        };
        let begun = std::time::Instant::now();
        let (mut text, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            if stop.is_set() {
                return Err(PlaceTrouble::Stopped);
            }
            if begun.elapsed() > LONGEST {
                return Err(PlaceTrouble::TooSlow { bytes: text.len() as u64, seconds: LONGEST.as_secs() });
            }
            match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => text.extend_from_slice(&buffer[..length]),
                Err(Interruption::Silent) => return Err(PlaceTrouble::Silent),
                Err(Interruption::Broken(why)) => {
                    return Err(PlaceTrouble::BrokeOff { why: format!("it broke off ({why})"), bytes: text.len() as u64 });
                }
            }
            if text.len() as u64 > MOST {
                return Err(PlaceTrouble::TooMuch(MOST >> 20));
            }
        }
        if body.length.is_some_and(|length| length != text.len() as u64) {
            return Err(PlaceTrouble::BrokeOff { why: "it broke off".to_owned(), bytes: text.len() as u64 });
        }
        let start = String::from_utf8_lossy(&text[..text.len().min(100)]).trim_start().to_ascii_lowercase();
        if start.starts_with("<!doctype html") || start.starts_with("<html") {
            return Err(PlaceTrouble::WebPage);
        }
        self.keep_at(url.as_str(), &text)
    }

    /// Fails, because this build asks no servers.
    #[cfg(not(feature = "symsrv"))]
    pub fn fetch(&self, _: &SourceUrl, _: &Stop) -> Result<PathBuf, PlaceTrouble> {
        Err(PlaceTrouble::Protocol("this build of highwater asks no servers".to_owned()))
    }

    /// Keeps a text that is part of the program, so that an editor can open it; `file` is its path where it was built.
    pub fn keep(&self, file: &str, text: &str) -> Result<PathBuf, PlaceTrouble> {
        self.keep_at(&format!("{file}\n{text}"), text.as_bytes())
    }

    fn keep_at(&self, address: &str, text: &[u8]) -> Result<PathBuf, PlaceTrouble> {
        let path = self.place(address);
        depot::put(&path, |draft| fs::write(draft, text)).map_err(|error| PlaceTrouble::NoRoom(error.to_string()))?;
        depot::trim(&self.root, LIMIT, &path);
        Ok(path)
    }

    /// The path `name/key/name`: the file keeps its name, because editors tell by the extension what is in it.
    fn place(&self, address: &str) -> PathBuf {
        let path = address.split(['?', '#', '\n']).next().unwrap_or_default();
        let last = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let name: String = last.chars().filter(|c| c.is_ascii_alphanumeric() || "._-+".contains(*c)).take(100).collect();
        let is_name = !name.trim_matches('.').is_empty() && !name.ends_with('.') && !is_device(&name);
        let name = if is_name { name } else { "source".to_owned() };
        depot::place(&self.root, &name, &format!("{:032x}", xxhash_rust::xxh3::xxh3_128(address.as_bytes())))
    }
}
