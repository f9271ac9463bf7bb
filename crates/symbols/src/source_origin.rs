//! The places of a build's source files, as its PDB says.
//!
//! *Source Link* (github.com/dotnet/designs, accepted/2020/diagnostics/source-link.md; for C++ the linker's option
//! `/SOURCELINK`) is JSON in a stream of that name: patterns of paths, and the URL for each. *Source server*
//! (Microsoft Learn, "Language Specification 1") is text in the stream `srcsrv`: a line for each file, and rules for
//! making a URL or a command of it. Commands are never run.

use std::collections::BTreeMap;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use srcsrv::{SourceRetrievalMethod, SrcSrvStream};

use super::guard::{self, Stop};
use super::{Embedded, ModuleNames, PdbError, PdbFile, PdbKey, resolver};
use crate::tables::KeyedMap;

/// Maximum bytes of such a stream.
const MAX_STREAM: usize = 32 << 20;

/// Maximum bytes of a source server's text after its variables are filled in.
const MAX_FILLED_IN: u64 = 64 << 10;

/// The place of a source file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SourceOrigin {
    /// Part of the program.
    Text(&'static str),
    /// On a server.
    Url(SourceUrl),
    /// Available only by a command, which is not run.
    Command,
}

/// An encrypted URL of a source file, or one on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceUrl {
    url: String,
    host: String,
}

impl SourceUrl {
    /// Parses a URL that others wrote; `None` if it is not such a URL.
    pub fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let name = authority.rsplit_once(':').map_or(authority, |(name, _)| name);
        let is_local = matches!(name, "127.0.0.1" | "localhost");
        let is_allowed = scheme.eq_ignore_ascii_case("https") || (scheme.eq_ignore_ascii_case("http") && is_local);
        let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic()) && !authority.contains('@');
        (is_allowed && is_plain && !name.is_empty()).then(|| Self { url: url.to_owned(), host: authority.to_ascii_lowercase() })
    }

    /// The whole URL.
    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// The server, with its port if one is given.
    pub fn host(&self) -> &str {
        &self.host
    }
}

/// The PDBs of a trace's modules that have names.
#[derive(Clone, Debug, Default)]
pub struct BuildSources {
    pub(super) modules: Vec<NamedModule>,
    pub(super) embedded: Vec<Embedded>,
}

/// A module that has names, and its PDB.
#[derive(Clone, Debug)]
pub(super) struct NamedModule {
    pub(super) names: Arc<ModuleNames>,
    pub(super) key: Option<PdbKey>,
    pub(super) file: String,
}

impl BuildSources {
    /// The place of a source file according to the PDBs; `None` if no PDB says it, or if they say different things.
    /// Cost: a look at all strings of the modules' names, and two streams of each PDB that knows the file.
    pub fn origin(&self, file: &str, stop: &Stop) -> Option<SourceOrigin> {
        let mut origins = self.modules.iter().filter(|module| module.names.has_text(file)).filter_map(|module| {
            let is_it = |embedded: &&Embedded| Some(embedded.key) == module.key;
            match self.embedded.iter().find(is_it) {
                Some(embedded) => {
                    embedded.sources.iter().find(|(path, _)| *path == file).map(|(_, text)| SourceOrigin::Text(text))
                }
                None => source_origin(&module.file, file, stop).ok().flatten(),
            }
        });
        let first = origins.next()?;
        origins.all(|other| other == first).then_some(first)
    }
}

/// The place of a source file according to a PDB; `file` is its path as the compiler named it.
pub fn source_origin(pdb: impl Into<PdbFile>, file: &str, stop: &Stop) -> Result<Option<SourceOrigin>, PdbError> {
    let (pdb, file) = (pdb.into(), file.to_owned());
    guard::run(guard::limit_of(pdb.len()), stop, move |work| {
        let (mut pdb, ..) = resolver::open(&pdb, work)?;
        for n in 0..10 {
            let name = if n == 0 { "sourcelink".to_owned() } else { format!("sourcelink${n}") };
            let Ok(stream) = pdb.named_stream(name.as_bytes()) else { continue };
            if let Some(url) = linked(&stream, &file) {
                return Ok(Some(SourceOrigin::Url(url)));
            }
        }
        Ok(pdb.named_stream(b"srcsrv").ok().and_then(|stream| indexed(&stream, &file)))
    })
}

/// The JSON of Source Link.
#[derive(Deserialize)]
struct Documents {
    documents: BTreeMap<String, String>,
}

/// A path in the form in which it is compared.
fn folded(path: &str) -> String {
    path.replace('/', "\\").to_lowercase()
}

/// The URL of a file by Source Link: by its whole path, or else by the longest beginning that is listed.
fn linked(stream: &[u8], file: &str) -> Option<SourceUrl> {
    if stream.len() > MAX_STREAM {
        return None;
    }
    // Some linkers add zeros at the end of the stream.
    let end = stream.iter().rposition(|&byte| byte != 0)? + 1;
    let Documents { documents } =
        serde_json::from_slice(stream[..end].strip_prefix(b"\xef\xbb\xbf").unwrap_or(&stream[..end])).ok()?;
    let wanted = folded(file);
    if let Some(url) = documents.iter().find(|(path, _)| folded(path) == wanted).map(|(_, url)| url) {
        return SourceUrl::parse(url);
    }
    let begin = |path: &String| path.strip_suffix('*').map(folded).filter(|begin| wanted.starts_with(begin.as_str()));
    let found = documents.iter().filter_map(|(path, url)| Some((begin(path)?, url)));
    let (begin, url) = found.max_by_key(|(begin, _)| begin.len())?;
    // Letters whose lower case has another length would be cut apart.
    let rest = if wanted.len() == file.len() { file.get(begin.len()..)? } else { wanted.get(begin.len()..)? };
    let (before, behind) = url.split_once('*')?;
    let parts: Vec<&str> = rest.split(['\\', '/']).collect();
    // Nothing above the folder of the pattern is asked for.
    if parts.contains(&"..") {
        return None;
    }
    let parts: Vec<String> = parts.into_iter().map(|part| utf8_percent_encode(part, PART).to_string()).collect();
    SourceUrl::parse(&format!("{before}{}{behind}", parts.join("/")))
}

/// Characters that are escaped in a part of a path: all but the unreserved ones (RFC 3986).
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The place of a file by a source server's index.
fn indexed(stream: &[u8], file: &str) -> Option<SourceOrigin> {
    if stream.len() > MAX_STREAM {
        return None;
    }
    let end = stream.iter().rposition(|&byte| byte != 0)? + 1;
    let text = String::from_utf8_lossy(&stream[..end]);
    if filled_in(&text) > MAX_FILLED_IN {
        return None;
    }
    let index = SrcSrvStream::parse(text.as_bytes()).ok()?;
    match index.source_for_path(file, "").ok()?? {
        SourceRetrievalMethod::Download { url } => {
            SourceUrl::parse(&url.replace('\\', "/").replace(' ', "%20")).map(SourceOrigin::Url)
        }
        SourceRetrievalMethod::ExecuteCommand { .. } => Some(SourceOrigin::Command),
        SourceRetrievalMethod::Other { .. } => None,
    }
}

/// Maximum bytes that a variable of a source server's text can become. Each variable may name others twice, which
/// would double the length with each step.
fn filled_in(text: &str) -> u64 {
    let (mut values, mut longest, mut is_variables): (KeyedMap<String, &str>, u64, bool) = Default::default();
    for line in text.lines() {
        match line.split_once('=') {
            _ if line.starts_with("SRCSRV:") => is_variables = line.contains("variables"),
            Some((name, value)) if is_variables => _ = values.insert(name.to_ascii_lowercase(), value),
            _ => longest = longest.max(line.len() as u64),
        }
    }
    let mut known = KeyedMap::default();
    values.keys().map(|name| length(name, &values, longest, &mut known, 0)).max().unwrap_or(0)
}

/// Maximum nesting of variables.
const DEPTH: u32 = 32;

/// Bytes that a variable can become; `longest` if it stands for a part of a file's line.
fn length(name: &str, values: &KeyedMap<String, &str>, longest: u64, known: &mut KeyedMap<String, u64>, depth: u32) -> u64 {
    let Some(value) = values.get(name) else { return longest };
    if let Some(&length) = known.get(name) {
        return length;
    }
    if depth > DEPTH {
        return u64::MAX;
    }
    let mut sum = value.len() as u64;
    for part in value.split('%').skip(1) {
        sum = sum.saturating_add(length(&part.to_ascii_lowercase(), values, longest, known, depth + 1));
    }
    known.insert(name.to_owned(), sum);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(json: &str, file: &str) -> Option<String> {
        linked(json.as_bytes(), file).map(|url| url.url)
    }

    #[test]
    fn source_link_maps_a_path_or_the_longest_beginning_of_one() {
        let json = r#"{"documents": {
            "C:\\build\\*": "https://example.com/raw/1/*",
            "C:\\build\\third party\\*": "https://other.example/x/*?v=2",
            "C:\\build\\one.cpp": "https://example.com/single",
            "D:\\*": "http://example.com/*", "E:\\*": "https://u:p@example.com/*", "F:\\*": "https://example.com/none"
        }}"#;
        let is = |file: &str, url: &str| assert_eq!(link(json, file).as_deref(), Some(url), "{file}");
        is(r"C:\build\src\main.cpp", "https://example.com/raw/1/src/main.cpp");
        is(r"c:\BUILD/src\a b#.cpp", "https://example.com/raw/1/src/a%20b%23.cpp");
        is(r"C:\build\third party\z.c", "https://other.example/x/z.c?v=2");
        is(r"c:\build\ONE.cpp", "https://example.com/single");
        for file in [r"C:\builder\a.cpp", r"D:\a.cpp", r"E:\a.cpp", r"F:\a.cpp", r"C:\build\..\..\secret", ""] {
            assert_eq!(link(json, file), None, "{file}");
        }
        for json in ["", "{}", "[1]", "{\"documents\": {\"C:\\\\*\": \"ftp://h/*\"}}", "\0\0"] {
            assert_eq!(link(json, r"C:\a"), None, "{json}");
        }
        assert_eq!(link("{\"documents\":{\"/src/*\":\"https://h/*\"}}\0\0\0", "/src/a.c").as_deref(), Some("https://h/a.c"));
    }

    const INDEX: &str = "SRCSRV: ini ------------------------------------------------
VERSION=2
INDEXVERSION=2
VERCTRL=http
SRCSRV: variables ------------------------------------------
SERVER=https://code.example.com/repo
SRCSRVVERCTRL=http
HTTP_EXTRACT_TARGET=%server%/raw-file/%var3%/%var2%
SRCSRVTRG=%http_extract_target%
SRCSRV: source files ---------------------------------------
c:\\build\\src\\main.cpp*src/main.cpp*0123abcd
c:\\build\\src\\a b.cpp*src/a b.cpp*0123abcd
SRCSRV: end ------------------------------------------------
";

    fn of_index(index: &str, file: &str) -> Option<SourceOrigin> {
        indexed(index.as_bytes(), file)
    }

    #[test]
    fn a_source_servers_index_says_where_a_file_is_and_its_commands_are_not_run() {
        let url = |file: &str| match of_index(INDEX, file) {
            Some(SourceOrigin::Url(url)) => Some(url.url),
            _ => None,
        };
        let main = "https://code.example.com/repo/raw-file/0123abcd/src/main.cpp";
        assert_eq!(url(r"C:\build\SRC\main.cpp").as_deref(), Some(main));
        assert_eq!(
            url(r"c:\build\src\a b.cpp").as_deref(),
            Some("https://code.example.com/repo/raw-file/0123abcd/src/a%20b.cpp")
        );
        assert_eq!(of_index(INDEX, r"C:\other.cpp"), None);
        let command = INDEX.replace("SRCSRVTRG=%http_extract_target%", "SRCSRVTRG=%targ%\\a.cpp\nSRCSRVCMD=cmd /c calc.exe");
        assert_eq!(of_index(&command, r"C:\build\src\main.cpp"), Some(SourceOrigin::Command));
        let plain = INDEX.replace("https://", "http://");
        assert_eq!(of_index(&plain, r"C:\build\src\main.cpp"), None, "not encrypted");
        assert_eq!(of_index("SRCSRV: ini", "a"), None);
    }

    #[test]
    fn variables_that_double_with_each_step_are_refused() {
        let mut doubling = String::from("V0=xx\n");
        (1..60).for_each(|n| doubling += &format!("V{n}=%v{}%%v{0}%\n", n - 1));
        let index = INDEX.replace("SERVER=https://code.example.com/repo", &format!("{doubling}SERVER=https://%v59%"));
        assert!(filled_in(INDEX) < 400 && filled_in(&index) > MAX_FILLED_IN);
        assert_eq!(of_index(&index, r"C:\build\src\main.cpp"), None);
        let circle = INDEX.replace("SERVER=https://code.example.com/repo", "SERVER=%other%\nOTHER=%server%");
        assert_eq!(of_index(&circle, r"C:\build\src\main.cpp"), None);
    }

    #[test]
    fn only_encrypted_addresses_and_those_of_this_machine_are_any() {
        let host = |url: &str| SourceUrl::parse(url).map(|url| url.host);
        assert_eq!(host("https://Raw.Example.com/a/b.c").as_deref(), Some("raw.example.com"));
        assert_eq!(host("http://127.0.0.1:8080/a").as_deref(), Some("127.0.0.1:8080"));
        for url in [
            "http://example.com/a",
            "https://",
            "https:///a",
            "file:///etc/passwd",
            "https://a@b/c",
            "https://h/\u{e4}",
            "https://h/a b",
            "x",
        ] {
            assert_eq!(host(url), None, "{url}");
        }
    }
}
