//! Tests of limits, faults and the packing of compound files, with archives in memory.

#[path = "../../../../tests/common/packed.rs"]
#[allow(unreachable_pub, reason = "other tests use it, too")]
mod packed;

use std::io::{Cursor, Write};

use proptest::prelude::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::expand::Expansion;
use super::hub::HubReader;
use super::*;
use crate::etl::compression::Algorithm;
use crate::etl::write::Writer;
use crate::etl::{SessionHeader, TraceFile};
use crate::problem::ProblemKind;
use packed::compound;

/// A trace of a header buffer only, followed by `tail` bytes of padding.
fn trace(tail: usize) -> Vec<u8> {
    let session = SessionHeader { buffer_size: 4096, ..SessionHeader::default() };
    let mut bytes = Writer::new(Cursor::new(Vec::new()), session).unwrap().finish().unwrap().into_inner();
    bytes.resize(bytes.len() + tail, 0);
    bytes
}

fn zip(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    packed::zip(members, &[method])
}

/// Packs bytes as the diagnostics hub does, in blocks of three chunks.
fn hub_packed(bytes: &[u8], chunk_size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for block in bytes.chunks(3 * chunk_size) {
        let mut chunks = Vec::new();
        for chunk in block.chunks(chunk_size) {
            let mut data = Algorithm::XpressHuffman.compress(chunk);
            if data.len() >= chunk.len() {
                data = chunk.to_vec();
            }
            for field in [crc32fast::hash(chunk), chunk.len() as u32, crc32fast::hash(&data), data.len() as u32] {
                chunks.extend(field.to_le_bytes());
            }
            chunks.extend(data);
        }
        out.extend((block.len() as u32).to_le_bytes());
        out.extend((chunks.len() as u32).to_le_bytes());
        out.extend(chunks);
    }
    out
}

fn open_bytes(bytes: Vec<u8>) -> Result<Contents, OpenError> {
    contents(Source::Memory(bytes.leak()), "a.zip".to_owned(), &mut |_, _| true)
}

fn bytes_of(source: &Source) -> Vec<u8> {
    let mut bytes = vec![0; source.len().unwrap() as usize];
    assert_eq!(source.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

fn refusal(bytes: Vec<u8>) -> String {
    open_bytes(bytes).map(|contents| contents.members.len()).unwrap_err().to_string()
}

#[test]
fn members_come_back_whole_and_stored_ones_are_read_in_place() {
    let (one, two) = (trace(0), trace(100_000));
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let contents = open_bytes(zip(&[("one.etl", &one), ("sub/two.ETL", &two), ("notes.txt", b"hello")], method)).unwrap();
        assert_eq!(contents.format, Format::Zip);
        assert_eq!(contents.problems.total(), 0);
        let names: Vec<_> = contents.members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["a.zip!one.etl", "a.zip!sub/two.ETL"]);
        assert!(bytes_of(&contents.members[0].source) == one && bytes_of(&contents.members[1].source) == two);
        let in_place = contents.members.iter().all(|member| matches!(member.source, Source::Memory(_)));
        assert_eq!(in_place, method == CompressionMethod::Stored);
    }
}

#[test]
fn one_trace_of_an_archive_can_be_named_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("odd!name.zip");
    std::fs::write(&archive, zip(&[("one.etl", &trace(0)), ("sub/two.etl", &trace(9))], CompressionMethod::Deflated)).unwrap();
    let member = |name: &str| PathBuf::from(format!("{}!{name}", archive.display()));
    let names = |path: &Path| {
        let contents = open(path, &mut |_, _| true).map_err(|error| error.to_string())?;
        Ok::<_, String>(contents.members.into_iter().map(|member| member.name).collect::<Vec<_>>())
    };
    let both = [member("one.etl"), member("sub/two.etl")].map(|path| path.display().to_string());
    assert_eq!(names(&archive).unwrap(), both);
    assert_eq!(names(&member("sub/two.etl")).unwrap(), both[1..]);
    assert!(names(&member("three.etl")).unwrap_err().contains("no such trace"));
    assert_eq!((file_of(&member("one.etl")), file_of(&archive)), (archive.clone(), archive));
    let nowhere = folder.path().join("none.zip!one.etl");
    assert_eq!(file_of(&nowhere), nowhere);
}

#[test]
fn streams_of_compound_files_come_back_plain_and_packed() {
    let (small, large) = (trace(0), trace(300_000));
    let files: [(&str, &[u8]); 4] = [
        ("/metadata.xml", b"<Package/>"),
        ("/D1/F1", &small),
        ("/D1/F2", &hub_packed(&large, 65_536)),
        ("/F3", &hub_packed(b"no trace", 65_536)),
    ];
    let contents = open_bytes(compound(&files)).unwrap();
    assert_eq!(contents.format, Format::Diagsession);
    assert_eq!(contents.problems.total(), 0);
    let names: Vec<_> = contents.members.iter().map(|member| member.name.replace('\\', "/")).collect();
    assert_eq!(names, ["a.zip!D1/F1", "a.zip!D1/F2"]);
    assert!(bytes_of(&contents.members[0].source) == small && bytes_of(&contents.members[1].source) == large);
}

#[test]
fn packed_streams_come_back_and_faults_end_them() {
    let data: Vec<u8> = (0..100_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
    let whole = hub_packed(&data, 10_000);
    let unpack = |bytes: &[u8]| {
        let mut out = Vec::new();
        let result = HubReader::new(bytes).read_to_end(&mut out);
        (result.is_ok(), out)
    };
    assert_eq!(unpack(&whole), (true, data.clone()));
    assert_eq!(unpack(&[]), (true, vec![]));
    for cut in [4, 20, 5000, whole.len() - 1] {
        let (fine, out) = unpack(&whole[..cut]);
        assert!(!fine && data.starts_with(&out), "{cut}");
    }
    let mut wrong = whole.clone();
    wrong[8] ^= 1; // the first chunk's check sum
    assert_eq!(unpack(&wrong), (false, vec![]));
    wrong = whole;
    wrong[14] = 1; // larger than a chunk can be
    assert_eq!(unpack(&wrong), (false, vec![]));
}

#[test]
fn expanding_stops_at_the_budget_and_when_told_to() {
    let run = |left: u64, stop_at: u64| {
        let (mut budget, mut done) = (Budget::of_archive(0), 0);
        budget.set_left(left);
        let mut progress = |done: u64, _total: u64| done < stop_at;
        let mut expansion =
            Expansion { archive: "a.zip", budget: &mut budget, total: 0, done: &mut done, progress: &mut progress };
        expansion.run(&mut io::repeat(7).take(1_000_000)).map(|expanded| expanded.bytes)
    };
    assert_eq!(run(1_000_000, u64::MAX).unwrap(), 1_000_000);
    let error = run(999_999, u64::MAX).unwrap_err().to_string();
    assert!(error.starts_with("a.zip: its traces would take more than"), "{error}");
    assert!(matches!(run(1_000_000, 500_000), Err(OpenError::Stopped)));
}

#[test]
fn an_archive_that_declares_too_much_is_refused_before_anything_is_expanded() {
    let mut bytes = zip(&[("bomb.etl", &trace(100_000))], CompressionMethod::Deflated);
    let directory = find_signature(&bytes, b"PK\x01\x02");
    bytes[directory + 24..directory + 28].copy_from_slice(&0xFFFF_FFF0u32.to_le_bytes());
    let reason = refusal(bytes);
    assert!(reason.contains("more than 1.00 GB") && reason.contains("unpack it"), "{reason}");
}

#[test]
fn a_member_that_holds_more_than_declared_is_cut_there() {
    let whole = trace(100_000);
    let mut bytes = zip(&[("more.etl", &whole)], CompressionMethod::Deflated);
    let directory = find_signature(&bytes, b"PK\x01\x02");
    bytes[directory + 24..directory + 28].copy_from_slice(&5000u32.to_le_bytes());
    let contents = open_bytes(bytes).unwrap();
    assert_eq!(contents.problems.list()[0].kind, ProblemKind::DamagedArchive);
    let expanded = bytes_of(&contents.members[0].source);
    assert!(expanded.len() <= 5001 && whole.starts_with(&expanded), "{}", expanded.len());
}

#[test]
fn damaged_members_keep_what_was_good() {
    let noise: Vec<u8> = (0..200_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut whole = trace(0);
    whole.extend(noise);
    let mut bytes = zip(&[("hurt.etl", &whole)], CompressionMethod::Deflated);
    let middle = bytes.len() / 2;
    bytes[middle..middle + 40].fill(0xFF);
    let contents = open_bytes(bytes).unwrap();
    assert_eq!(contents.problems.list()[0].kind, ProblemKind::DamagedArchive);
    assert_eq!(contents.problems.list()[0].file, "a.zip!hurt.etl");
    assert!(bytes_of(&contents.members[0].source).len() > 50_000);
}

#[test]
fn archives_without_a_trace_say_what_they_hold_instead() {
    let stored = |members: &[(&str, &[u8])]| zip(members, CompressionMethod::Stored);
    assert!(refusal(stored(&[])).contains("is empty"));
    assert!(refusal(stored(&[("readme.txt", b"hello")])).contains("holds no ETW trace"));
    let inner = stored(&[("a.etl", &trace(0))]);
    let reason = refusal(stored(&[("readme.txt", b"hello"), ("inner.zip", &inner)]));
    assert!(reason.contains("another archive, inner.zip"), "{reason}");
    assert!(refusal(compound(&[("/Book", b"no trace")])).contains("holds no ETW trace"));
    assert!(refusal(compound(&[])).contains("is empty"));
    assert!(refusal(inner[..inner.len() - 30].to_vec()).contains("directory of this zip archive is damaged"));
    assert!(refusal(compound(&[("/F1", &trace(0))])[..600].to_vec()).contains("compound file is damaged"));
}

#[test]
fn encrypted_members_are_named() {
    let mut bytes = zip(&[("secret.etl", &trace(0))], CompressionMethod::Stored);
    let directory = find_signature(&bytes, b"PK\x01\x02");
    bytes[6] |= 1;
    bytes[directory + 8] |= 1;
    let reason = refusal(bytes);
    assert!(reason.starts_with("a.zip!secret.etl: this member is encrypted"), "{reason}");
}

#[test]
fn large_archives_have_large_fields() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().large_file(true);
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        writer.start_file(format!("{method}.etl"), options.compression_method(method)).unwrap();
        writer.write_all(&trace(5000)).unwrap();
    }
    let contents = open_bytes(writer.finish().unwrap().into_inner()).unwrap();
    assert_eq!(contents.members.len(), 2);
    assert!(contents.members.iter().all(|member| bytes_of(&member.source) == trace(5000)));
}

#[test]
fn names_cannot_break_lines() {
    let contents = open_bytes(zip(&[("a\n\u{1b}[2Jb.etl", &trace(0))], CompressionMethod::Stored)).unwrap();
    assert!(!contents.members[0].name.contains(char::is_control), "{:?}", contents.members[0].name);
}

fn find_signature(bytes: &[u8], signature: &[u8]) -> usize {
    bytes.windows(signature.len()).position(|window| window == signature).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_never_panics(
        which in 0..4usize,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let (one, two) = (trace(0), trace(9000));
        let mut bytes = match which {
            0 => zip(&[("one.etl", &one), ("two.etl", &two)], CompressionMethod::Stored),
            1 => zip(&[("one.etl", &one), ("two.etl", &two)], CompressionMethod::Deflated),
            2 => compound(&[("/D1/F1", &one), ("/F2", &two)]),
            _ => compound(&[("/D1/F1", &hub_packed(&one, 1000)), ("/F2", &hub_packed(&two, 5000))]),
        };
        for (at, byte) in &flips {
            let n = bytes.len();
            bytes[at.index(n)] = *byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(contents) = open_bytes(bytes) {
            for member in contents.members {
                prop_assert!(member.source.len().unwrap() < 1 << 20);
                let _ = TraceFile::from_source(member.source, member.name);
            }
        }
    }
}
