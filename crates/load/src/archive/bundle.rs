//! Bundles: zip archives that hold a trace and one small text, so that both can be sent as one file. [`super::open`] finds
//! the trace in them as in any archive.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::MAX_ENTRIES;
use crate::paths;

/// Bytes of the trace that are copied at once.
const PIECE: u64 = 4 << 20;

/// Writes a bundle: the text under its name, then the trace that `write_trace` writes to a temporary file. The trace is
/// stored as it is, so that it is read in place: its buffers are compressed already. `progress` gets how far the trace is
/// copied, and says whether to go on.
pub fn write_bundle(
    out: &mut File,
    text: (&str, &str),
    trace_name: &str,
    write_trace: impl FnOnce(&mut File) -> io::Result<()>,
    progress: &dyn Fn(u64, u64) -> bool,
) -> io::Result<()> {
    let mut trace = tempfile::tempfile()?;
    write_trace(&mut trace)?;
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut zip = ZipWriter::new(io::BufWriter::with_capacity(1 << 20, out));
    zip.start_file(text.0, stored)?;
    zip.write_all(text.1.as_bytes())?;
    zip.start_file(trace_name, stored.large_file(true))?;
    let (mut done, total) = (0, trace.seek(SeekFrom::End(0))?);
    trace.seek(SeekFrom::Start(0))?;
    while done < total {
        if !progress(done, total) {
            return Err(io::Error::other("stopped"));
        }
        match io::copy(&mut (&mut trace).take(PIECE), &mut zip)? {
            0 => break, // it is shorter than it was
            piece => done += piece,
        }
    }
    zip.finish()?.flush()
}

/// Reads the text of this name from a bundle; `None` if the file is not a zip archive. The text is at most `most` bytes
/// long, whatever the archive says.
pub fn text_in_bundle(path: &Path, name: &str, most: u64) -> io::Result<Option<String>> {
    let mut file = paths::open_regular(path)?;
    let mut head = [0; 2];
    if file.read(&mut head)? < head.len() || head != *b"PK" {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(0))?;
    let mut archive = ZipArchive::new(io::BufReader::new(file)).map_err(fault)?;
    if archive.len() > MAX_ENTRIES {
        return Err(io::Error::other(format!("the archive has more than {MAX_ENTRIES} entries")));
    }
    let entry = archive.by_name(name).map_err(|error| match error {
        ZipError::FileNotFound => io::Error::other(format!("the archive holds no {name}")),
        other => fault(other),
    })?;
    let mut bytes = Vec::new();
    entry.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("{name} in it is larger than {} KB", most >> 10)));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| io::Error::other(format!("{name} in it is not text in UTF-8")))
}

fn fault(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        other => io::Error::other(format!("the archive is damaged ({other})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(trace: &[u8]) -> tempfile::NamedTempFile {
        let mut bundle = tempfile::NamedTempFile::new().unwrap();
        let write = |file: &mut File| file.write_all(trace);
        write_bundle(bundle.as_file_mut(), ("a.toml", "version = 1"), "a.etl", write, &|_, _| true).unwrap();
        bundle
    }

    #[test]
    fn a_bundle_gives_back_its_text_and_its_trace() {
        let bundle = packed(crate::DEMO_TRACE);
        assert_eq!(text_in_bundle(bundle.path(), "a.toml", 100).unwrap().as_deref(), Some("version = 1"));
        let found = super::super::open(bundle.path(), &mut |_, _| true).unwrap();
        assert_eq!(found.members.len(), 1);
        assert_eq!(found.members[0].source.len().unwrap(), crate::DEMO_TRACE.len() as u64);
    }

    #[test]
    fn a_bundle_is_written_until_it_is_stopped() {
        let mut bundle = tempfile::NamedTempFile::new().unwrap();
        let write = |file: &mut File| file.write_all(&vec![1; 10 << 20]);
        let told = std::cell::RefCell::new(Vec::new());
        let progress = |done: u64, total: u64| {
            told.borrow_mut().push((done >> 20, total >> 20));
            done < 4 << 20
        };
        let stopped = write_bundle(bundle.as_file_mut(), ("a.toml", ""), "a.etl", write, &progress);
        assert_eq!((stopped.unwrap_err().to_string(), told.into_inner()), ("stopped".to_owned(), vec![(0, 10), (4, 10)]));
    }

    #[test]
    fn what_a_bundle_says_is_bounded_and_its_faults_are_errors() {
        let bundle = packed(b"trace");
        let error = |path: &Path, name: &str, most| text_in_bundle(path, name, most).unwrap_err().to_string();
        assert!(error(bundle.path(), "a.toml", 5).contains("larger than"));
        assert!(error(bundle.path(), "b.toml", 100).contains("holds no b.toml"));
        let mut bytes = std::fs::read(bundle.path()).unwrap();
        bytes.truncate(bytes.len() / 2);
        let cut = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(cut.path(), &bytes).unwrap();
        assert!(error(cut.path(), "a.toml", 100).contains("damaged"));
        std::fs::write(cut.path(), "version = 1").unwrap();
        assert_eq!(text_in_bundle(cut.path(), "a.toml", 100).unwrap(), None, "plain text is no archive");
    }
}
