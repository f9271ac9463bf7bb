//! The syntax of symbol paths, as in `_NT_SYMBOL_PATH` and `--symbols`: parts separated by `;`, each a folder,
//! `srv*STORE*STORE…` or `cache*FOLDER`.
//!
//! `srv*` lists stores from near to far. An empty one is the default store, and a file that is found far away is
//! copied to the stores before it. `cache*` puts a store before everything to its right. A bare URL is a server
//! behind the default store. `%NAME%`, `$NAME` and `${NAME}` stand for environment variables; of one that is not set, the text stays.
//!
//! A path is searched for each module, so it is bounded: everything after [`MOST_PARTS`] parts, or after
//! [`MOST_PLACES`] places including the stores before each, is left out, and that is reported.

use std::path::{Path, PathBuf};

use crate::paths::share_host;

/// A place to look for files.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// A folder that holds PDBs, or is a store.
    Folder(PathBuf),
    /// A symbol store.
    Store(PathBuf),
    /// A symbol server; its URL has no slash at the end.
    Server(String),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(path) | Self::Store(path) => write!(f, "{}", path.display()),
            Self::Server(url) => f.write_str(url),
        }
    }
}

/// Maximum parts and stores that are named in a path; nobody has written a tenth of that.
pub(crate) const MOST_PARTS: usize = 500;
/// Maximum places of all chains together.
const MOST_PLACES: usize = 4_000;

/// Places in the order in which they are searched. A file that is found in one is copied to the stores before it in
/// the same chain.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SymbolPath {
    /// Chains of places.
    pub chains: Vec<Vec<Place>>,
    /// Number of parts that were left out because there are too many.
    pub left_out: usize,
}

impl SymbolPath {
    /// Puts folders before all other places.
    #[must_use]
    pub fn behind(mut self, folders: &[PathBuf]) -> Self {
        self.chains.splice(0..0, folders.iter().map(|folder| vec![Place::Folder(folder.clone())]));
        self
    }

    /// Reads a symbol path. `default_store` is used where the path names no store.
    pub fn parse(text: &str, default_store: Option<&Path>) -> Self {
        let default = || default_store.map(|path| Place::Store(path.to_owned()));
        let mut caches: Vec<Place> = Vec::new();
        let text = &expanded(text, |name| std::env::var(name).ok());
        let mut path = Self::default();
        let mut named = 0;
        for part in text.split(';').map(|part| part.trim().trim_matches('"')).filter(|part| !part.is_empty()) {
            named += part.split('*').take(MOST_PARTS).filter(|word| !word.is_empty()).count().max(1);
            if named > MOST_PARTS {
                path.left_out += 1;
                continue;
            }
            let mut words = part.split('*').map(str::trim);
            let head = words.next().unwrap_or_default().to_ascii_lowercase();
            let has_stores = part.contains('*');
            let places: Vec<Place> = match head.as_str() {
                "cache" if has_stores => {
                    caches
                        .extend(words.map(|word| if word.is_empty() { default() } else { Some(store(word)) }).take(1).flatten());
                    continue;
                }
                "srv" | "symsrv" if has_stores => {
                    let stores: Vec<&str> = words.skip(usize::from(head == "symsrv")).collect();
                    chain(&stores, &default)
                }
                _ => match store(part) {
                    Place::Store(path) => vec![Place::Folder(path)],
                    server => default().into_iter().chain([server]).collect(),
                },
            };
            let mut all = caches.clone();
            all.extend(places.into_iter().filter(|place| !caches.contains(place)));
            path.push(all);
        }
        path
    }

    fn push(&mut self, chain: Vec<Place>) {
        let places = self.chains.iter().map(Vec::len).sum::<usize>() + chain.len();
        if self.chains.len() < MOST_PARTS && places <= MOST_PLACES {
            self.chains.push(chain);
        } else {
            self.left_out += 1;
        }
    }

    /// Appends all of another path.
    pub fn append(&mut self, other: Self) {
        self.left_out += other.left_out;
        other.chains.into_iter().for_each(|chain| self.push(chain));
    }

    /// The message about a path that is too long.
    pub fn complaint(&self) -> Option<String> {
        let parts = if self.left_out == 1 { "part" } else { "parts" };
        (self.left_out > 0).then(|| format!("the symbol path is too long; its last {} {parts} were left out", self.left_out))
    }

    /// The folders on the path that do not exist, stores that are filled from servers apart.
    pub fn missing_folders(&self) -> Vec<&Path> {
        let folders = self.chains.iter().flatten().filter_map(|place| match place {
            Place::Folder(path) => Some(path.as_path()),
            Place::Store(_) | Place::Server(_) => None,
        });
        folders.filter(|path| !path.exists()).collect()
    }

    /// Reads `_NT_SYMBOL_PATH`, then `_NT_ALT_SYMBOL_PATH`.
    pub fn from_environment(default_store: Option<&Path>) -> Self {
        let mut path = Self::default();
        for name in ["_NT_SYMBOL_PATH", "_NT_ALT_SYMBOL_PATH"] {
            if let Some(text) = std::env::var_os(name) {
                path.append(Self::parse(&text.to_string_lossy(), default_store));
            }
        }
        path
    }

    /// The servers on the path, each once.
    pub fn servers(&self) -> Vec<&str> {
        let mut servers: Vec<&str> = Vec::new();
        for place in self.chains.iter().flatten() {
            if let Place::Server(url) = place
                && !servers.contains(&url.as_str())
            {
                servers.push(url);
            }
        }
        servers
    }

    /// Whether a store is on the path.
    pub(super) fn has_store(&self, root: &Path) -> bool {
        self.chains.iter().flatten().any(|place| matches!(place, Place::Store(store) if store == root))
    }

    /// Whether a host is on the path, as a server or as the host of a share: then the user has named it.
    pub(super) fn names_host(&self, wanted: &str) -> bool {
        self.chains.iter().flatten().any(|place| {
            let found = match place {
                Place::Server(url) => Some(host(url)),
                Place::Folder(path) | Place::Store(path) => path.to_str().and_then(share_host),
            };
            found.is_some_and(|found| found.eq_ignore_ascii_case(wanted))
        })
    }

    /// Returns the path without servers.
    pub fn without_servers(&self) -> Self {
        let local = |chain: &Vec<Place>| chain.iter().filter(|place| !matches!(place, Place::Server(_))).cloned().collect();
        Self { chains: self.chains.iter().map(local).collect(), left_out: self.left_out }
    }
}

/// Replaces the environment variables in a text by their values.
fn expanded(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['%', '$']) {
        let (before, from) = rest.split_at(at);
        out += before;
        let behind = &from[1..];
        // The name, and the length of the variable's whole text.
        let found = match (from.starts_with('%'), behind.strip_prefix('{')) {
            (true, _) => behind.find('%').map(|end| (&behind[..end], end + 2)),
            (false, Some(inner)) => inner.find('}').map(|end| (&inner[..end], end + 3)),
            (false, None) => {
                let end = behind.find(|c| !is_of_name(c)).unwrap_or(behind.len());
                Some((&behind[..end], end + 1))
            }
        };
        let known = found.filter(|(name, _)| !name.is_empty() && name.chars().all(|c| is_of_name(c) || matches!(c, '(' | ')')));
        match known.and_then(|(name, length)| Some((value(name)?, length))) {
            Some((value, length)) => {
                out += &value;
                rest = &from[length..];
            }
            None => {
                out += &from[..1];
                rest = behind;
            }
        }
    }
    out + rest
}

/// Whether the connection to a server is encrypted, so that the answer is surely from that server.
#[cfg(feature = "symsrv")]
pub(super) fn is_encrypted(url: &str) -> bool {
    url.get(..8).is_some_and(|head| head.eq_ignore_ascii_case("https://"))
}

/// The host of a URL, without user and port.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let name = authority.rsplit('@').next().unwrap_or_default();
    match name.split_once(']') {
        Some((address, _)) => address.trim_start_matches('['),
        None => name.split(':').next().unwrap_or_default(),
    }
}

/// The stores of one `srv*`.
fn chain(stores: &[&str], default: &impl Fn() -> Option<Place>) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for word in stores {
        places.extend(if word.is_empty() { default() } else { Some(store(word)) });
    }
    if places.is_empty() || matches!(places.as_slice(), [Place::Server(_)]) {
        places.splice(0..0, default());
    }
    places
}

fn store(word: &str) -> Place {
    let lower = word.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        Place::Server(word.trim_end_matches('/').to_owned())
    } else {
        Place::Store(PathBuf::from(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spell(text: &str) -> Vec<String> {
        let path = SymbolPath::parse(text, Some(Path::new("DEFAULT")));
        let place = |place: &Place| match place {
            Place::Folder(path) => format!("folder {}", path.display()),
            other => other.to_string(),
        };
        path.chains.iter().map(|chain| chain.iter().map(place).collect::<Vec<_>>().join(" < ")).collect()
    }

    #[test]
    fn each_form_of_the_syntax_is_understood() {
        let forms: [(&str, &[&str]); 18] = [
            ("", &[]),
            (" ; ;", &[]),
            ("/a;/b", &["folder /a", "folder /b"]),
            ("\"/with space\" ; /b", &["folder /with space", "folder /b"]),
            ("srv*/a", &["/a"]),
            ("SRV*/a*/b*https://host/symbols/", &["/a < /b < https://host/symbols"]),
            ("srv*", &["DEFAULT"]),
            ("srv*https://host", &["DEFAULT < https://host"]),
            ("srv**https://host", &["DEFAULT < https://host"]),
            ("srv*/a**https://host", &["/a < DEFAULT < https://host"]),
            ("symsrv*symsrv.dll*/a*http://host", &["/a < http://host"]),
            ("SymSrv*symsrv.dll*", &["DEFAULT"]),
            ("cache*/c;/a;srv*/b*https://host", &["/c < folder /a", "/c < /b < https://host"]),
            ("/a;cache*/c;srv*https://host", &["folder /a", "/c < DEFAULT < https://host"]),
            ("cache*;/a", &["DEFAULT < folder /a"]),
            ("cache*/c;srv*/c*/b", &["/c < /b"]),
            ("https://host/", &["DEFAULT < https://host"]),
            ("srv", &["folder srv"]),
        ];
        for (text, expected) in forms {
            assert_eq!(spell(text), expected, "{text}");
        }
        assert_eq!(SymbolPath::parse("srv**", None).chains, [vec![]], "no default store: nothing to ask");
    }

    #[test]
    fn environment_variables_are_replaced_and_all_else_stays() {
        let value = |name: &str| match name {
            "BUILD" => Some("/out".to_owned()),
            "ProgramFiles(x86)" => Some("/programs".to_owned()),
            _ => None,
        };
        for (text, expected) in [
            (r"%BUILD%\pdb;srv*${BUILD}/store", r"/out\pdb;srv*/out/store"),
            ("$BUILD/pdb;$BUILDER", "/out/pdb;$BUILDER"),
            ("%ProgramFiles(x86)%/a", "/programs/a"),
            (r"\\host\c$\symbols", r"\\host\c$\symbols"),
            ("https://host/a%20b%20c", "https://host/a%20b%20c"),
            ("%NOBODY%;100%;${;$;%%", "%NOBODY%;100%;${;$;%%"),
            ("%%BUILD%", "%/out"),
        ] {
            assert_eq!(expanded(text, value), expected, "{text}");
        }
    }

    #[test]
    fn a_path_of_very_many_parts_is_cut_and_that_is_told() {
        let joined = |part: &dyn Fn(usize) -> String| (0..6_000).map(part).collect::<Vec<_>>().join(";");
        let forms: [&dyn Fn(usize) -> String; 5] = [
            &|n| format!("/folder{n}"),
            &|n| format!("srv*/store{n}*https://host{n}"),
            &|n| if n % 2 == 0 { format!("cache*/c{n}") } else { format!("/folder{n}") },
            &|n| format!("https://host/{n}"),
            &|n| format!("srv*{}", "/s*".repeat(n % 300)),
        ];
        for form in forms {
            let path = SymbolPath::parse(&joined(form), Some(Path::new("DEFAULT")));
            let places = path.chains.iter().map(Vec::len).sum::<usize>();
            assert!(!path.chains.is_empty() && path.chains.len() <= MOST_PARTS && places <= MOST_PLACES, "{places}");
            assert!(path.left_out > 5_000 && path.complaint().unwrap().contains(&path.left_out.to_string()));
        }
        let mut path = SymbolPath::parse(&joined(&|n| format!("/a{n}")), None);
        path.append(SymbolPath::parse("/b;/c", None));
        assert_eq!((path.chains.len(), path.left_out), (MOST_PARTS, 6_000 - MOST_PARTS + 2));
        assert_eq!(SymbolPath::parse("/a;/b", None).complaint(), None);
    }

    #[test]
    fn hosts_on_the_path_are_known() {
        let path = SymbolPath::parse(r"srv*\\Files\symbols*http://me@symbols:8080/store;https://[fe80::1]:443;/f", None);
        for host in ["files", "SYMBOLS", "fe80::1"] {
            assert!(path.names_host(host), "{host}");
        }
        for host in ["f", "me", "store", "8080", ""] {
            assert!(!path.names_host(host), "{host}");
        }
    }

    #[test]
    fn servers_are_listed_once_and_can_be_left_out() {
        let path = SymbolPath::parse("srv*/a*https://x;srv*/b*https://x/;http://y;/f", None);
        assert_eq!(path.servers(), ["https://x", "http://y"]);
        let local = path.without_servers();
        assert!(local.servers().is_empty());
        assert_eq!(local.chains.iter().flatten().count(), 3);
    }
}
