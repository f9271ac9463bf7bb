//! Tests of saved names: what is asked about comes back, and damage is found.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use proptest::prelude::*;

use super::*;
use crate::etl::Guid;
use crate::names::Frame;

const KEY: PdbKey = PdbKey { guid: Guid::from_bytes([3; 16]), age: 1 };

/// An address: its frames, and the type that its call allocates.
type Known = (Vec<(String, Option<String>, Option<u32>)>, Option<String>);

fn saved(all: &BTreeMap<u32, Known>) -> Saved {
    let mut builder = NamesBuilder::default();
    for (&rva, (frames, of_type)) in all.iter().rev() {
        let frame = |(function, file, line): &(String, Option<String>, Option<u32>)| (function.clone(), file.clone(), *line);
        let frames: Vec<_> = frames.iter().map(frame).collect();
        builder.add(rva, frames.iter().map(|(function, file, line)| Frame { function, file: file.as_deref(), line: *line }));
        of_type.iter().for_each(|of_type| builder.add_site(rva + 1, of_type));
    }
    let (source, file) = ("/store".to_owned(), "/store/größe.pdb".to_owned());
    Saved { names: builder.finish(), source, file, file_bytes: 7, fastlink: true }
}

/// Many addresses that share functions and files, and a few without names.
fn some() -> BTreeMap<u32, Known> {
    let known = |i: u32| {
        let frames = (0..i % 4)
            .map(|n| (format!("größe{}", (i + n) % 50), (n > 0).then(|| format!("{}.cpp", i % 7)), (n > 1).then_some(i)));
        (frames.collect(), i.is_multiple_of(5).then(|| format!("Type{}", i % 3)))
    };
    (0..400).map(|i| (0x10 + i * 3, known(i))).collect()
}

fn file(saved: &Saved) -> Vec<u8> {
    let mut bytes = Vec::new();
    form::write(&mut bytes, KEY, saved).unwrap();
    bytes
}

fn read(bytes: &[u8], asked: Option<&[u32]>) -> Result<Saved, form::Damaged> {
    use std::io::Write;
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    form::read(&Source::File(Arc::new(file)), KEY, asked)
}

#[test]
fn what_is_saved_comes_back_and_is_added_to() {
    let folder = tempfile::tempdir().unwrap();
    let names = SavedNames::new(folder.path().to_owned());
    let (all, rvas) = (some(), some().into_keys().collect::<Vec<_>>());
    let part = |from: usize, to: usize| saved(&all.iter().skip(from).take(to - from).map(|(k, v)| (*k, v.clone())).collect());
    assert_eq!(names.load("a.pdb", KEY, &rvas), None);
    names.save("a.pdb", KEY, &part(0, 100)).unwrap();
    assert_eq!(names.load("a.pdb", KEY, &rvas), Some(part(0, 100)));
    names.save("a.pdb", KEY, &part(50, 400)).unwrap();
    names.save("a.pdb", KEY, &part(60, 70)).unwrap();
    assert_eq!(names.load("a.pdb", KEY, &rvas), Some(saved(&all)));
    assert_eq!(names.load("a.pdb", KEY, &rvas[120..130]), Some(part(120, 130)));
    assert_eq!(names.load("a.pdb", PdbKey { age: 2, ..KEY }, &rvas), None);
    names.remove("a.pdb", KEY);
    assert_eq!(names.load("a.pdb", KEY, &rvas), None);
    assert_eq!(read(&file(&Saved::default()), None), Ok(Saved::default()));
}

#[test]
fn a_file_of_another_pdb_or_form_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let names = SavedNames::new(folder.path().to_owned());
    let other = PdbKey { age: 9, ..KEY };
    names.save("a.pdb", KEY, &saved(&some())).unwrap();
    let (place, foreign) = (names.place("a.pdb", KEY), names.place("a.pdb", other));
    fs::create_dir_all(foreign.parent().unwrap()).unwrap();
    fs::copy(&place, &foreign).unwrap();
    assert_eq!(names.load("a.pdb", other, &[0x10]), None);
    assert!(!foreign.exists());
    let mut bytes = fs::read(&place).unwrap();
    bytes[7] = b'1';
    fs::write(&place, bytes).unwrap();
    assert_eq!(names.load("a.pdb", KEY, &[0x10]), None);
    assert!(!place.exists());
}

#[test]
fn only_the_blocks_of_the_addresses_that_are_asked_about_are_read() {
    let all = some();
    let mut bytes = file(&saved(&all));
    let last = *all.keys().next_back().unwrap();
    let end = bytes.len() - 1;
    bytes[end] ^= 1;
    assert!(read(&bytes, Some(&[0x10, 0x11, 0x13])).is_ok_and(|saved| saved.names.len() == 2));
    assert_eq!(read(&bytes, Some(&[0x10, last])), Err(form::Damaged));
}

#[test]
fn a_damaged_file_is_as_good_as_none() {
    let all: BTreeMap<_, _> = some().into_iter().take(100).collect();
    let (saved, rvas) = (saved(&all), all.into_keys().collect::<Vec<_>>());
    let bytes = file(&saved);
    for i in (0..bytes.len()).step_by(7).chain(0..64) {
        let mut damaged = bytes.clone();
        damaged[i] ^= 0x41;
        assert_eq!(read(&damaged, Some(&rvas)), Err(form::Damaged), "byte {i}");
        assert_eq!(read(&bytes[..i], Some(&rvas)), Err(form::Damaged), "the first {i} bytes");
    }
    assert_eq!(read(&[&bytes[..], b"x"].concat(), Some(&rvas)), Err(form::Damaged));
}

proptest! {
    #[test]
    fn the_names_of_any_addresses_are_those_that_were_saved(asked in prop::collection::btree_set(0u32..1300, 0..300)) {
        static FILE: OnceLock<Vec<u8>> = OnceLock::new();
        let all = some();
        let bytes = FILE.get_or_init(|| file(&saved(&some())));
        let asked: Vec<u32> = asked.into_iter().collect();
        let expected = all.into_iter().filter(|(rva, _)| asked.contains(rva)).collect();
        prop_assert_eq!(read(bytes, Some(&asked)), Ok(saved(&expected)));
    }

    /// A block whose checksum fits is never trusted: it is refused, or all that it says can be read.
    #[test]
    fn a_forged_block_is_refused_or_sound(changes in prop::collection::vec((0usize..10_000, any::<u8>()), 1..4)) {
        let all: BTreeMap<_, _> = some().into_iter().take(40).collect();
        let saved = saved(&all);
        let mut bytes = Vec::new();
        let (first, last) = block::encode(&saved.names, 0..40, &mut bytes);
        let length = bytes.len();
        changes.iter().for_each(|&(at, value)| bytes[at % length] = value);
        if let Some(block) = block::Block::of(&bytes, first, last) {
            let mut tables = crate::names::NameTables::default();
            block.add_to(&mut tables, None).unwrap();
            let names = ModuleNames::from_tables(tables).unwrap();
            let texts: usize = all.keys().flat_map(|&rva| names.frames(rva).into_iter().flatten()).map(|frame| frame.function.len()).sum();
            prop_assert!(texts < 1 << 20 && names.named() <= 40);
        }
    }
}
