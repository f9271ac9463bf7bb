//! What a capture is called in the folder: a part of its name, and a hash of what its files hold, so
//! that two `nightly/trace.etl` are two captures, and one that was moved to another folder is the same.
//!
//! Cost: a megabyte of each file, whatever its size.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

use crate::load::Input;
use crate::paths;
use crate::synth::demo;

/// Bytes that are looked at, in four places of a file.
const LOOK: u64 = 1 << 18;
/// Characters of a name that are kept.
const NAME: usize = 48;

/// What people call a capture: the name of its first file without folder and extension.
pub fn name_of(inputs: &[Input]) -> String {
    match inputs.first() {
        Some(Input::File(path)) => {
            path.file_stem().map_or_else(|| "capture".to_owned(), |stem| stem.to_string_lossy().into_owned())
        }
        Some(Input::Demo) => "demo".to_owned(),
        None => String::new(),
    }
}

/// The identity of a capture in the folder. The same files in the same order have the same.
pub fn capture_id(inputs: &[Input]) -> io::Result<String> {
    let mut hash = Xxh3::new();
    for input in inputs {
        match input {
            Input::File(path) => add_file(&mut hash, path)?,
            Input::Demo => hash.update(demo::TRACE),
        }
    }
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name: String = name_of(inputs).chars().take(NAME).map(|c| if is_plain(&c) { c } else { '_' }).collect();
    Ok(format!("{name}-{:016x}", hash.digest()))
}

fn add_file(hash: &mut Xxh3, path: &Path) -> io::Result<()> {
    let mut file: File = paths::open_regular(path)?;
    let length = file.metadata()?.len();
    hash.update(&length.to_le_bytes());
    let mut bytes = Vec::with_capacity(LOOK as usize);
    let starts = [0, length / 3, length / 3 * 2, length.saturating_sub(LOOK)];
    for start in starts {
        file.seek(SeekFrom::Start(start))?;
        bytes.clear();
        Read::by_ref(&mut file).take(LOOK).read_to_end(&mut bytes)?;
        hash.update(&bytes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_files_hold_tells_captures_apart_and_where_they_are_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let put = |at: &str, bytes: &[u8]| {
            let path = folder.path().join(at);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, bytes).unwrap();
            Input::File(path)
        };
        let mut bytes = vec![7u8; 3 << 20];
        let [a, copy] = ["mon/my trace=1.etl", "tue/my trace=1.etl"].map(|at| put(at, &bytes));
        *bytes.last_mut().unwrap() = 8;
        let last = put("wed/my trace=1.etl", &bytes);
        let longer = put("thu/my trace=1.etl", &[&bytes[..], &[8]].concat());
        let id = |input: &Input| capture_id(std::slice::from_ref(input)).unwrap();
        assert_eq!(id(&a), id(&copy));
        assert!(id(&a).starts_with("my_trace_1-") && id(&a).len() == "my_trace_1-".len() + 16, "{}", id(&a));
        assert!(id(&a) != id(&last) && id(&last) != id(&longer));
        assert_ne!(capture_id(&[a.clone(), last.clone()]).unwrap(), capture_id(&[last, a]).unwrap());
        assert!(capture_id(&[Input::File(folder.path().join("none"))]).is_err());
        assert!(capture_id(&[Input::Demo]).unwrap().starts_with("demo-"));
    }
}
