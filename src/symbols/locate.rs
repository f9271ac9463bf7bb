//! Finds the PDB of a module: beside the image, where the linker wrote it, then along
//! the symbol path. Every file is opened and compared with the wanted identity before
//! it counts as found; what was found and is of no use is told.

use std::fs;
#[cfg(feature = "symsrv")]
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::guard::Stop;
#[cfg(feature = "symsrv")]
use super::http::{Http, UNTRUSTED};
use super::path::{Place, SymbolPath};
use super::source::PdbFile;
use super::{PdbError, PdbKey, cabinet, depot, pe, resolver};

/// Where symbols come from.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Places to look at, in order.
    pub path: SymbolPath,
    /// Whether servers may be asked. They are told names and ids of modules, nothing else.
    pub network: bool,
    /// The program's own store, for what comes from places without one.
    pub store: Option<PathBuf>,
    /// Bytes that it may have.
    pub store_limit: u64,
    /// NT paths of volumes and their drive letters, as the trace names them.
    pub volumes: Vec<(String, String)>,
    /// How long a server may be silent.
    pub patience: Duration,
    /// PDBs that the program brings along; they come before all places.
    pub embedded: Vec<Embedded>,
}

/// A PDB that is part of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Embedded {
    /// Which build it is of.
    pub key: PdbKey,
    /// A cabinet with it, as symbol stores have them.
    pub cabinet: &'static [u8],
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            path: SymbolPath::default(),
            network: false,
            store: None,
            store_limit: depot::DEFAULT_LIMIT,
            volumes: Vec::new(),
            patience: Duration::from_secs(20),
            embedded: Vec::new(),
        }
    }
}

impl Sources {
    /// The program's own store on this machine.
    pub fn default_store() -> Option<PathBuf> {
        Some(super::cache_folder()?.join("symbols"))
    }
}

/// A module whose PDB is wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// Path of the image, as the kernel names it.
    pub image: String,
    /// Link time stamp of the image, 0 if unknown.
    pub time_stamp: u32,
    /// Bytes mapped.
    pub size: u64,
    /// Identity and path of the PDB, if the trace has them.
    pub pdb: Option<(PdbKey, String)>,
}

/// A PDB that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located {
    /// The PDB.
    pub file: PdbFile,
    /// What it is, which is what was wanted.
    pub key: PdbKey,
    /// Where it came from: a folder, a store, a server or the program.
    pub source: String,
}

/// What happens while a PDB is sought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Download {
    /// Bytes that came.
    pub done: u64,
    /// Of how many, if the server says.
    pub total: Option<u64>,
}

/// Looks for PDBs. Remembers what servers do not have, until [`Locator::forget`].
#[derive(Debug)]
pub struct Locator {
    sources: Sources,
    #[cfg(feature = "symsrv")]
    http: Http,
    /// URLs of which nothing came, and why.
    missing: Mutex<FxHashMap<String, Option<String>>>,
}

/// One search.
struct Search<'a> {
    locator: &'a Locator,
    stop: &'a Stop,
    #[cfg_attr(not(feature = "symsrv"), expect(dead_code, reason = "only downloads take long"))]
    progress: &'a dyn Fn(Download),
    name: String,
    key: PdbKey,
    /// Files that were looked at.
    seen: FxHashSet<PathBuf>,
    /// What was found and is of no use, or kept us from looking.
    troubles: Vec<String>,
    /// Places that were asked.
    asked: usize,
}

impl Locator {
    /// One that looks at these sources.
    pub fn new(sources: Sources) -> Self {
        Self {
            #[cfg(feature = "symsrv")]
            http: Http::new(sources.patience),
            sources,
            missing: Mutex::default(),
        }
    }

    /// Asks servers again what they did not have.
    pub fn forget(&self) {
        self.lock_missing().clear();
    }

    fn lock_missing(&self) -> std::sync::MutexGuard<'_, FxHashMap<String, Option<String>>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds a PDB, or says why there is none. `chosen` is a file that the user names.
    pub fn find(
        &self,
        wanted: &Wanted,
        chosen: Option<&Path>,
        stop: &Stop,
        progress: &dyn Fn(Download),
    ) -> Result<Located, String> {
        let image = self.image_path(&wanted.image);
        let (key, pdb) = match &wanted.pdb {
            Some((key, path)) => (*key, path.clone()),
            None => self.identity(wanted, image.as_deref())?,
        };
        let name = file_name(&pdb).ok_or_else(|| format!("its PDB has an impossible name: {pdb:?}"))?.to_owned();
        let mut search =
            Search { locator: self, stop, progress, name, key, seen: FxHashSet::default(), troubles: Vec::new(), asked: 0 };
        if let Some(file) = chosen {
            return match verify(file, key, stop) {
                Ok(()) => Ok(Located { file: file.into(), key, source: "chosen".to_owned() }),
                Err(error @ PdbError::OtherBuild { .. }) => Err(error.to_string()),
                Err(error) => Err(format!("{}: {error}", file.display())),
            };
        }
        if let Some(embedded) = self.sources.embedded.iter().find(|embedded| embedded.key == key) {
            return embedded.unpack(stop).map_err(|error| format!("{}, which is part of this program: {error}", search.name));
        }
        let beside = image.as_deref().and_then(Path::parent).map(|folder| folder.join(&search.name));
        for (file, source) in [(beside, "beside the image"), (local_path(&pdb), "where the linker wrote it")] {
            if let Some(file) = file.filter(|file| search.is_it(file)) {
                return Ok(Located { file: file.as_path().into(), key, source: source.to_owned() });
            }
        }
        for chain in &self.sources.path.chains {
            if let Some(found) = search.chain(chain) {
                return Ok(found);
            }
            stop.check().map_err(|stopped| stopped.to_string())?;
        }
        Err(search.reason())
    }

    /// The identity that the image on disk names, if it is the image of the trace.
    fn identity(&self, wanted: &Wanted, image: Option<&Path>) -> Result<(PdbKey, String), String> {
        let name = file_name(&wanted.image).ok_or("the module has no name")?;
        let key = format!("{:08X}{:x}", wanted.time_stamp, wanted.size);
        let mut files: Vec<PathBuf> = image.map(Path::to_owned).into_iter().collect();
        for place in self.sources.path.chains.iter().flatten() {
            if let Place::Folder(root) | Place::Store(root) = place {
                files.push(root.join(name));
                files.push(depot::place(root, name, &key));
            }
        }
        let mut other = false;
        for file in files {
            let Some(image) = pe::read(&file) else { continue };
            let is_it = wanted.time_stamp == 0 || image.time_stamp == wanted.time_stamp;
            if !is_it || u64::from(image.size) != wanted.size {
                other = true;
                continue;
            }
            let key = image.key().ok_or("the image names no PDB")?;
            return Ok((key, image.pdb.map(|pdb| pdb.path).unwrap_or_default()));
        }
        Err(match other {
            true => "the trace does not name its PDB, and the image on this machine is of another build",
            false => "the trace does not name its PDB, and the image is not on this machine",
        }
        .to_owned())
    }

    /// An image's path on this machine.
    fn image_path(&self, path: &str) -> Option<PathBuf> {
        let strip = |prefix: &str| {
            let head = path.get(..prefix.len()).filter(|head| head.eq_ignore_ascii_case(prefix))?;
            path.get(head.len()..)
        };
        for (nt, drive) in &self.sources.volumes {
            if let Some(rest) = strip(nt).filter(|rest| nt.ends_with('\\') || rest.starts_with('\\')) {
                return local_path(&format!("{}\\{}", drive.trim_end_matches('\\'), rest.trim_start_matches('\\')));
            }
        }
        if let Some(rest) = strip(r"\SystemRoot\") {
            return local_path(&format!(r"{}\{rest}", std::env::var("SystemRoot").ok()?));
        }
        local_path(strip(r"\??\").unwrap_or(path))
    }
}

impl Search<'_> {
    /// Whether a file is what is wanted. What is there and is not is noted.
    fn is_it(&mut self, file: &Path) -> bool {
        if !self.seen.insert(file.to_owned()) || !file.is_file() {
            return false;
        }
        match verify(file, self.key, self.stop) {
            Ok(()) => return true,
            Err(error @ PdbError::OtherBuild { .. }) => self.troubles.push(format!("{error} ({})", file.display())),
            Err(PdbError::Stopped) => {}
            Err(error) => self.troubles.push(format!("{}: {error}", file.display())),
        }
        false
    }

    /// Asks the places of a chain, and copies what is found to the stores before.
    fn chain(&mut self, chain: &[Place]) -> Option<Located> {
        for (i, place) in chain.iter().enumerate() {
            let before: Vec<&Path> = chain[..i].iter().filter_map(store_of).collect();
            self.asked += 1;
            let found = match place {
                Place::Folder(root) => self.folder(root, &before),
                Place::Store(root) => self.store(root, &before),
                Place::Server(url) => self.server(url, &before),
            };
            if let Some(mut file) = found {
                for root in before.iter().rev() {
                    let target = depot::place(root, &self.name, &self.key.folder());
                    if target == file {
                        continue;
                    }
                    match depot::copy(&file, &target) {
                        Ok(()) => file = target,
                        Err(error) => log::warn!("{} cannot be copied to {}: {error}", self.name, root.display()),
                    }
                }
                return Some(Located { file: file.as_path().into(), key: self.key, source: place.to_string() });
            }
        }
        None
    }

    fn folder(&mut self, root: &Path, before: &[&Path]) -> Option<PathBuf> {
        let kind = Path::new(&self.name).extension().unwrap_or_default().to_owned();
        let places = [root.to_owned(), root.join(&kind), root.join("symbols").join(&kind)];
        let files = places.map(|folder| folder.join(&self.name));
        files.into_iter().find(|file| self.is_it(file)).or_else(|| self.store(root, before))
    }

    /// The name itself, and as it may be written in a store that a system wrote which
    /// does not tell cases apart.
    fn spellings(&self) -> Vec<(String, String)> {
        let key = self.key.folder();
        let mut all = vec![(self.name.clone(), key.clone()), (self.name.to_lowercase(), key), (self.name.clone(), String::new())];
        all[2].1 = all[0].1.to_lowercase();
        all.dedup();
        all
    }

    fn store(&mut self, root: &Path, before: &[&Path]) -> Option<PathBuf> {
        if !root.is_dir() {
            return None;
        }
        let is_two_tier = root.join("index2.txt").is_file();
        for (name, key) in self.spellings() {
            let mut folders = vec![root.join(&name).join(&key)];
            if is_two_tier {
                folders.push(root.join(first_two(&name)).join(&name).join(&key));
            }
            for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
                if let Some(file) = self.store_folder(root, &folder, &name, before) {
                    depot::touch(&file);
                    return Some(file);
                }
            }
        }
        None
    }

    /// What stands in the folder of one build: the file, compressed, or a pointer to it.
    fn store_folder(&mut self, root: &Path, folder: &Path, name: &str, before: &[&Path]) -> Option<PathBuf> {
        let file = folder.join(name);
        if self.is_it(&file) {
            return Some(file);
        }
        let packed = folder.join(compressed(name));
        if packed.is_file() {
            let target = self.writable(before).or_else(|| depot::is_writable(root).then(|| root.to_owned()))?;
            let target = depot::place(&target, &self.name, &self.key.folder());
            match self.expand(&packed, &target) {
                Ok(()) => return Some(target),
                Err(why) => self.troubles.push(format!("{}: {why}", packed.display())),
            }
        }
        let pointer = fs::read_to_string(folder.join("file.ptr")).ok().filter(|text| text.len() < 4096);
        match pointer.as_deref().map(Pointer::read) {
            Some(Pointer::Path(path)) => {
                let file = folder.join(path);
                if self.is_it(&file) {
                    return Some(file);
                }
                if !file.is_file() {
                    self.troubles.push(format!("{} points to {}, which is not there", root.display(), file.display()));
                }
            }
            Some(Pointer::Message(text)) => self.troubles.push(format!("{} says: {text}", root.display())),
            None => {}
        }
        if folder.join("msfz0").join(name).is_file() {
            self.troubles.push(format!("{} has it in the compressed form MSFZ only, which is not supported", root.display()));
        }
        None
    }

    /// The nearest store that can be written to, else the program's own.
    fn writable(&self, before: &[&Path]) -> Option<PathBuf> {
        let near = before.iter().rev().find(|root| depot::is_writable(root)).map(|root| root.to_path_buf());
        near.or_else(|| self.locator.sources.store.clone())
    }

    /// Expands a cabinet to where what is in it belongs.
    fn expand(&mut self, packed: &Path, target: &Path) -> Result<(), String> {
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        }
        let draft = depot::draft(target);
        if let Err(error) = cabinet::expand(packed, &draft, self.stop) {
            let _ = fs::remove_file(&draft);
            return Err(error.to_string());
        }
        self.adopt(&draft, target)
    }

    /// Gives a new file its name if it is what is wanted, else removes it.
    fn adopt(&mut self, draft: &Path, target: &Path) -> Result<(), String> {
        let verified = verify(draft, self.key, self.stop).map_err(|error| error.to_string());
        let result = verified.and_then(|()| fs::rename(draft, target).map_err(|error| error.to_string()));
        if result.is_err() {
            let _ = fs::remove_file(draft);
        }
        result
    }

    #[cfg(not(feature = "symsrv"))]
    fn server(&mut self, url: &str, _before: &[&Path]) -> Option<PathBuf> {
        self.troubles.push(format!("{url} was not asked: this program was built without the network"));
        None
    }

    #[cfg(feature = "symsrv")]
    fn server(&mut self, url: &str, before: &[&Path]) -> Option<PathBuf> {
        if !self.locator.sources.network {
            self.troubles.push(format!("{url} was not asked: the network is off"));
            return None;
        }
        let Some(root) = self.writable(before) else {
            self.troubles.push(format!("{url} was not asked: there is no store for what it sends"));
            return None;
        };
        let target = depot::place(&root, &self.name, &self.key.folder());
        let one_tier = format!("{url}/{}/{}", escape(&self.name), self.key.folder());
        let found = match self.server_folder(url, &one_tier, &target) {
            Ok(false) if self.is_two_tier(url) => {
                let two_tier = format!("{url}/{}/{}/{}", escape(&first_two(&self.name)), escape(&self.name), self.key.folder());
                self.server_folder(url, &two_tier, &target)
            }
            other => other,
        };
        match found {
            Ok(true) => {
                if self.locator.sources.store.as_ref() == Some(&root) {
                    depot::trim(&root, self.locator.sources.store_limit, &target);
                }
                Some(target)
            }
            Ok(false) => None,
            Err(why) => {
                self.troubles.push(format!("{url}: {why}"));
                None
            }
        }
    }
}

/// Servers: what is asked of them, and what becomes of their answers.
#[cfg(feature = "symsrv")]
impl Search<'_> {
    /// Whether the server has its files in folders by their first two letters.
    fn is_two_tier(&self, url: &str) -> bool {
        let marker = format!("{url}/index2.txt");
        let known = self.locator.lock_missing().get(&marker).cloned();
        known.is_none() && {
            let is_there = matches!(self.locator.http.get(&marker, None), Ok(super::http::Answer::Body(_)));
            if !is_there {
                self.locator.lock_missing().insert(marker, None);
            }
            is_there
        }
    }

    /// Asks for the file, for the compressed one, and for a pointer. Whether it is there.
    fn server_folder(&mut self, server: &str, folder: &str, target: &Path) -> Result<bool, String> {
        for name in [self.name.clone(), compressed(&self.name), "file.ptr".to_owned()] {
            let url = format!("{folder}/{}", escape(&name));
            let Some(file) = self.fetch(server, &url, target)? else { continue };
            let mut head = Vec::new();
            let _ = fs::File::open(&file).and_then(|file| file.take(4096).read_to_end(&mut head)); // empty: no PDB
            let done = if name == "file.ptr" {
                self.follow(&String::from_utf8_lossy(&head), target)
            } else if head.starts_with(cabinet::MAGIC) {
                self.expand(&file, target)
            } else {
                self.adopt(&file, target)
            };
            super::server::discard(&file);
            return match done {
                Ok(()) => Ok(true),
                Err(why) => {
                    self.locator.lock_missing().insert(url, Some(why.clone()));
                    Err(why)
                }
            };
        }
        Ok(false)
    }

    /// Downloads a file; `None` if the server has it not.
    fn fetch(&mut self, server: &str, url: &str, target: &Path) -> Result<Option<PathBuf>, String> {
        for known in [server, url] {
            match self.locator.lock_missing().get(known) {
                Some(Some(why)) => return Err(why.clone()),
                Some(None) => return Ok(None),
                None => {}
            }
        }
        let progress = |done, total| (self.progress)(Download { done, total });
        match super::server::fetch(&self.locator.http, url, target, self.stop, &progress) {
            Ok(super::server::Fetched::File(file)) => Ok(Some(file)),
            Ok(super::server::Fetched::Missing) => {
                self.locator.lock_missing().insert(url.to_owned(), None);
                Ok(None)
            }
            Err(why) => {
                // One that cannot be reached is not asked for each module again.
                let is_down = ["it was not found", "it does not answer", UNTRUSTED].iter().any(|start| why.starts_with(start));
                if !self.stop.is_set() {
                    let key = if is_down { server } else { url };
                    self.locator.lock_missing().insert(key.to_owned(), Some(why.clone()));
                }
                Err(why)
            }
        }
    }

    /// Follows a pointer that a server sent.
    fn follow(&mut self, text: &str, target: &Path) -> Result<(), String> {
        match Pointer::read(text) {
            Pointer::Path(path) => {
                let file = absolute_path(path).ok_or_else(|| format!("it points to {path}, which is not on this machine"))?;
                match verify(&file, self.key, self.stop) {
                    Ok(()) => depot::copy(&file, target).map_err(|error| error.to_string()),
                    Err(error @ PdbError::OtherBuild { .. }) => Err(error.to_string()),
                    Err(error) => Err(format!("it points to {path}, but {error}")),
                }
            }
            Pointer::Message(text) => Err(format!("it says: {text}")),
        }
    }
}

impl Search<'_> {
    /// Why nothing was found.
    fn reason(&self) -> String {
        let nowhere = match self.asked {
            0 => format!("{} is neither beside the image nor where the linker wrote it, and there is no symbol path", self.name),
            1 => format!("{} is not in the one place of the symbol path", self.name),
            n => format!("{} is in none of the {n} places of the symbol path", self.name),
        };
        let mut reasons = self.troubles.clone();
        if reasons.is_empty() {
            reasons.push(nowhere);
        }
        reasons.dedup();
        reasons.join("; ")
    }
}

/// What a `file.ptr` says.
enum Pointer<'a> {
    /// The file is there.
    Path(&'a str),
    /// It cannot be had.
    Message(&'a str),
}

impl<'a> Pointer<'a> {
    fn read(text: &'a str) -> Self {
        let text = text.trim().trim_matches('\0');
        match text.get(..5).filter(|head| head.eq_ignore_ascii_case("PATH:")) {
            Some(_) => Self::Path(text[5..].trim()),
            None => Self::Message(text.get(4..).filter(|_| text.to_ascii_uppercase().starts_with("MSG:")).unwrap_or(text).trim()),
        }
    }
}

impl Embedded {
    fn unpack(&self, stop: &Stop) -> Result<Located, PdbError> {
        let file = PdbFile::Bytes(cabinet::expand_bytes(self.cabinet, stop)?.into());
        verify(file.clone(), self.key, stop)?;
        Ok(Located { file, key: self.key, source: "part of highwater".to_owned() })
    }
}

/// Whether a file is the PDB of this build.
fn verify(file: impl Into<PdbFile>, wanted: PdbKey, stop: &Stop) -> Result<(), PdbError> {
    match resolver::identify(file, stop)? {
        found if found == wanted => Ok(()),
        found => Err(PdbError::OtherBuild { wanted, found }),
    }
}

fn store_of(place: &Place) -> Option<&Path> {
    match place {
        Place::Store(root) => Some(root).filter(|root| depot::is_writable(root)).map(PathBuf::as_path),
        Place::Folder(_) | Place::Server(_) => None,
    }
}

/// The name of a compressed file: its last letter is `_`.
fn compressed(name: &str) -> String {
    let mut letters = name.chars();
    letters.next_back();
    letters.as_str().to_owned() + "_"
}

fn first_two(name: &str) -> String {
    name.chars().take(2).collect()
}

/// The last part of a path of any system, if it can be the name of a file in a store.
pub(super) fn file_name(path: &str) -> Option<&str> {
    let name = path.rsplit(['\\', '/']).next()?;
    let is_odd = |c: char| c.is_control() || matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*');
    let is_sound = !name.trim_matches(['.', ' ']).is_empty() && name.len() <= 255 && !name.chars().any(is_odd);
    is_sound.then_some(name)
}

/// A path that names the same file wherever we are; another system's does not.
fn absolute_path(path: &str) -> Option<PathBuf> {
    Some(PathBuf::from(path)).filter(|path| path.is_absolute())
}

/// The same for a path that a trace names: traces come from others, and whoever opens
/// a share tells its server who asks.
fn local_path(path: &str) -> Option<PathBuf> {
    let is_slash = |byte: Option<&u8>| matches!(byte, Some(b'\\' | b'/'));
    let is_share = is_slash(path.as_bytes().first()) && is_slash(path.as_bytes().get(1));
    absolute_path(path).filter(|_| !is_share)
}

/// A name as part of a URL.
#[cfg(feature = "symsrv")]
fn escape(name: &str) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~+!$'()@,".contains(&byte) {
            text.push(byte.into());
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        assert_eq!(file_name(r"D:\build\out/app.pdb"), Some("app.pdb"));
        assert_eq!(file_name("app.pdb"), Some("app.pdb"));
        for path in ["", "..", r"a\..", "a/.", "a:b", "a*", "a\0b", "x/", " "] {
            assert_eq!(file_name(path), None, "{path:?}");
        }
    }

    #[test]
    fn images_are_found_where_their_volume_is_mounted() {
        let root = if cfg!(windows) { r"C:" } else { "/mnt" };
        let volumes = vec![(r"\Device\HarddiskVolume3".to_owned(), root.to_owned())];
        let locator = Locator::new(Sources { volumes, ..Sources::default() });
        let found = locator.image_path(r"\device\harddiskvolume3\Test\a.exe");
        assert_eq!(found, local_path(&format!(r"{root}\Test\a.exe")));
        assert_eq!(locator.image_path(r"\Device\HarddiskVolume33\a.exe"), local_path(r"\Device\HarddiskVolume33\a.exe"));
        for share in [r"\\server\share\a.exe", "//server/share/a.exe", r"\\?\UNC\server\a.exe"] {
            assert_eq!(locator.image_path(share), None);
        }
        if !cfg!(windows) {
            assert_eq!(locator.image_path("/opt/a.exe"), Some("/opt/a.exe".into()));
            assert_eq!(locator.image_path(r"C:\a.exe"), None);
        }
    }

    #[test]
    fn pointers_and_compressed_names_are_as_stores_write_them() {
        assert!(matches!(Pointer::read("PATH:\\\\server\\share\\a.pdb\r\n"), Pointer::Path("\\\\server\\share\\a.pdb")));
        assert!(matches!(Pointer::read("MSG: gone"), Pointer::Message("gone")));
        assert!(matches!(Pointer::read("who knows"), Pointer::Message("who knows")));
        assert_eq!(compressed("ntdll.pdb"), "ntdll.pd_");
        assert_eq!(first_two("é1.pdb"), "é1");
    }
}
