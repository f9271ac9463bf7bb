//! No PDB and no cabinet breaks it: damaged ones on every run, each resolved. Each
//! ends with names or a reason, and soon.
//!
//! The same cases come every time. `HIGHWATER_MUTATIONS` says how many (1,000),
//! `HIGHWATER_SEED` gives others, and `HIGHWATER_CASE` runs a single one and leaves
//! its file where it says.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]
#![allow(clippy::print_stdout, reason = "the numbers of a run are worth reading")]

mod common;

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::corpus;
use highwater::panics;
use highwater::random::Random;
use highwater::symbols::{
    Locator, PdbError, PdbKey, Request, Resolved, Sources, Stop, SymbolPath, Wanted, facts, identify, resolve,
};

/// A case that takes longer hangs. (Some milliseconds are usual.)
const LIMIT: Duration = Duration::from_secs(20);

const PDBS: [&str; 5] = ["softokn3.pdb", "WriteArgument.pdb", "crash.pdb", "CppConsoleApp.pdb", "CrashWithException.pdb"];

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// Damages some bytes in one to eight ways. What looks like the length or kind of a
/// record is hit more often than it would be by chance.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    const WORDS: [u32; 8] = [0, 1, u32::MAX, 0x1000, 0x8000_0000, 0x114D_0008, 0x1110_0002, 0x7FFF_FFFF];
    for _ in 0..=random.skewed(8) {
        let at = random.index(bytes.len().saturating_sub(64).max(1)) & !1;
        let Some(place) = bytes.get(at..at + 4).map(|word| u32::from_le_bytes(word.try_into().unwrap())) else { return };
        let put = |bytes: &mut Vec<u8>, at: usize, word: u32| bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        match random.below(12) {
            0..=2 => bytes[at] = random.bits() as u8,
            3 | 4 => put(bytes, at, WORDS[random.index(WORDS.len())]),
            5 => put(bytes, at, place.wrapping_add(random.below(9) as u32).wrapping_sub(4)),
            6 => put(bytes, at, random.bits() as u32),
            7 => put(bytes, random.index(60.min(bytes.len() - 4)), random.below(5000) as u32),
            8 | 9 => {
                let (from, length) = (random.index(bytes.len()), random.index(4096));
                let piece = bytes[from..(from + length).min(bytes.len())].to_vec();
                let end = (at + piece.len()).min(bytes.len());
                bytes[at..end].copy_from_slice(&piece[..end - at]);
            }
            10 => {
                // Ends of scopes: behind the kinds of procedures and inlined calls.
                let kinds = [[0x10, 0x11], [0x4D, 0x11], [0x47, 0x11], [0x46, 0x11], [0x01, 0x16], [0x02, 0x16]];
                let kind = kinds[random.index(kinds.len())];
                let start = random.index(bytes.len());
                let hit = bytes[start..].windows(2).position(|w| w == kind).map(|i| start + i + 2 + 4 * random.index(3));
                if let Some(hit) = hit.filter(|hit| hit + 4 <= bytes.len()) {
                    let word = WORDS[random.index(WORDS.len())].wrapping_add(random.below(64) as u32);
                    put(bytes, hit, word);
                }
            }
            _ => {
                let length = random.index(bytes.len());
                if random.one_in(4) {
                    bytes.truncate(length.max(64));
                }
            }
        }
    }
}

struct Run {
    folder: tempfile::TempDir,
    seed: u64,
    cases: std::ops::Range<u64>,
    is_single: bool,
}

impl Run {
    fn new() -> Self {
        let single = from_env("HIGHWATER_CASE");
        let count = from_env("HIGHWATER_MUTATIONS").unwrap_or(1000);
        Self {
            folder: tempfile::tempdir().unwrap(),
            seed: from_env("HIGHWATER_SEED").unwrap_or(1),
            cases: single.map_or(0..count, |case| case..case + 1),
            is_single: single.is_some(),
        }
    }

    /// Runs all cases: `ask` names the outcome of each.
    fn run(self, bases: &[Vec<u8>], name: &str, ask: impl Fn(&Path) -> String) {
        panics::install();
        let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
        let file = self.folder.path().join(name);
        let mut slowest = Duration::ZERO;
        for case in self.cases {
            let mut random = Random::new(self.seed.wrapping_mul(1 << 32).wrapping_add(case));
            let mut bytes = bases[random.index(bases.len())].clone();
            damage(&mut bytes, &mut random);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, &bytes).unwrap();
            let start = Instant::now();
            let outcome = ask(&file);
            slowest = slowest.max(start.elapsed());
            assert!(start.elapsed() < LIMIT, "case {case} hangs: {outcome}");
            *outcomes.entry(outcome).or_default() += 1;
        }
        println!("slowest {slowest:?}; {outcomes:#?}");
        if self.is_single {
            println!("left in {}", self.folder.keep().display());
        }
    }
}

/// The kind of a reason, without what differs from case to case.
fn kind(error: &PdbError) -> String {
    error.to_string().split([':', '(']).take(2).collect::<String>().chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[test]
fn no_damaged_pdb_breaks_it() {
    let Some(corpus) = corpus() else { return };
    let files: Vec<PathBuf> = PDBS.iter().map(|name| corpus.join(name)).collect();
    let bases: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    let rvas: Vec<u32> = (0x1000..0x3_0000).step_by(0x137).collect();
    Run::new().run(&bases, "damaged.pdb", |file| {
        let stop = Stop::default();
        let request = Request { all: rvas.clone(), ..Request::default() };
        let facts = facts(file, &stop).map_or_else(|error| kind(&error), |_| "facts".to_owned());
        let names = match resolve(file, request, &stop, |_| {}) {
            Ok(Resolved { names, .. }) => {
                assert_eq!(names.len(), rvas.len());
                for &rva in &rvas {
                    names.frames(rva).unwrap().for_each(|frame| assert!(!frame.function.is_empty()));
                }
                if names.named() > 0 { "names".to_owned() } else { "no names".to_owned() }
            }
            Err(error) => {
                assert!(!matches!(error, PdbError::TooSlow(_)), "{error}");
                kind(&error)
            }
        };
        format!("{facts}, {names}")
    });
}

#[test]
fn no_damaged_cabinet_breaks_it() {
    let Some(corpus) = corpus() else { return };
    let name = "WriteArgument.pdb";
    let pdb = corpus.join(name);
    let key: PdbKey = identify(&pdb, &Stop::default()).unwrap();
    let bytes = std::fs::read(&pdb).unwrap();
    let cabinet = |kind| {
        let mut builder = cab::CabinetBuilder::new();
        builder.add_folder(kind).add_file(name);
        let mut writer = builder.build(Cursor::new(Vec::new())).unwrap();
        while let Some(mut file) = writer.next_file().unwrap() {
            file.write_all(&bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    let bases = [cabinet(cab::CompressionType::MsZip), cabinet(cab::CompressionType::None)];
    let place = format!("far/{name}/{}/WriteArgument.pd_", key.folder());
    Run::new().run(&bases, &place, |file| {
        let far = file.ancestors().nth(3).unwrap();
        let near = far.with_file_name("near");
        let text = format!("srv*{}*{}", near.display(), far.display());
        let locator = Locator::new(Sources { path: SymbolPath::parse(&text, None), ..Sources::default() });
        let wanted = Wanted { image: "a.exe".to_owned(), pdb: Some((key, name.to_owned())), ..Wanted::default() };
        let found = locator.find(&wanted, None, &Stop::default(), &|_| {});
        let whole = near.join(name).join(key.folder()).join(name);
        assert_eq!(found.is_ok(), whole.exists(), "{found:?}");
        let _ = std::fs::remove_dir_all(&near);
        if found.is_ok() { "found".to_owned() } else { "refused".to_owned() }
    });
}
