//! Compressed files of symbol stores (`.pd_`) in the forms that `makecab` writes. What
//! MSZIP gives is tested with the stores; LZX cabinets are written here, in blocks that
//! hold their bytes as they are, because nobody at hand compresses.

use std::path::Path;

use highwater::demo;
use highwater::symbols::{Located, Locator, PdbFile, Sources, Stop, SymbolPath, Wanted};

/// Bytes of a block of a cabinet, before compression.
const CHUNK: usize = 32 << 10;

/// What calls refer to in files that are larger.
const TRANSLATION_SIZE: i32 = 12_000_000;

const NAME: &str = "MemoryTestApp.pdb";

fn wanted() -> Wanted {
    Wanted { image: "MemoryTestApp.exe".to_owned(), pdb: Some((demo::symbols().key, NAME.to_owned())), ..Wanted::default() }
}

/// A PDB to compress.
fn pdb() -> Vec<u8> {
    let sources = Sources { embedded: vec![demo::symbols()], ..Sources::default() };
    match Locator::new(sources).find(&wanted(), None, &Stop::default(), &|_| {}).unwrap().file {
        PdbFile::Bytes(bytes) => bytes.to_vec(),
        PdbFile::Path(_) => unreachable!("it is part of the program"),
    }
}

/// A cabinet with one file, of blocks that are compressed in this way.
fn cabinet(compression: u16, file_bytes: usize, blocks: &[(Vec<u8>, usize)]) -> Vec<u8> {
    let first_file = 36 + 8;
    let first_block = first_file + 16 + NAME.len() + 1;
    let total = first_block + blocks.iter().map(|(packed, _)| 8 + packed.len()).sum::<usize>();
    let mut all = b"MSCF".to_vec();
    for number in [0, total as u32, 0, first_file as u32, 0] {
        all.extend(number.to_le_bytes());
    }
    all.extend([3, 1]); // version
    for number in [1, 1, 0, 0, 0] {
        all.extend(u16::to_le_bytes(number)); // folders, files, flags, set and number
    }
    all.extend((first_block as u32).to_le_bytes());
    all.extend((blocks.len() as u16).to_le_bytes());
    all.extend(compression.to_le_bytes());
    all.extend((file_bytes as u32).to_le_bytes());
    all.extend([0; 4 + 2 + 6]); // where it begins, its folder, date and attributes
    all.extend(NAME.as_bytes());
    all.push(0);
    for (packed, length) in blocks {
        all.extend([0; 4]); // no checksum
        all.extend((packed.len() as u16).to_le_bytes());
        all.extend((*length as u16).to_le_bytes());
        all.extend(packed);
    }
    all
}

/// Bits as LZX has them: in words of 16, the highest first.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    fn put(&mut self, value: u32, count: u32) {
        self.0.extend((0..count).rev().map(|bit| value >> bit & 1 == 1));
    }

    fn bytes(mut self) -> Vec<u8> {
        self.0.resize(self.0.len().next_multiple_of(16), false);
        let word = |bits: &[bool]| bits.iter().fold(0u16, |word, &bit| word << 1 | u16::from(bit));
        self.0.chunks(16).flat_map(|bits| word(bits).to_le_bytes()).collect()
    }
}

/// Blocks of LZX, each uncompressed; `calls`: what stands behind bytes E8 is an address.
fn lzx(file: &[u8], calls: bool) -> Vec<(Vec<u8>, usize)> {
    let mut blocks = Vec::new();
    for (at, chunk) in file.chunks(CHUNK).enumerate() {
        let mut bits = Bits::default();
        if at == 0 {
            bits.put(calls.into(), 1);
            if calls {
                bits.put(TRANSLATION_SIZE as u32, 32);
            }
        }
        bits.put(3, 3);
        bits.put(chunk.len() as u32, 24);
        let mut packed = bits.bytes();
        packed.extend([1u32, 1, 1].into_iter().flat_map(u32::to_le_bytes));
        let mut chunk = chunk.to_vec();
        if calls {
            translate(&mut chunk, (at * CHUNK) as i32);
        }
        packed.extend(&chunk);
        packed.extend(vec![0; chunk.len() % 2]);
        blocks.push((packed, chunk.len()));
    }
    blocks
}

/// Makes distances behind bytes E8 absolute, as a compressor does.
fn translate(chunk: &mut [u8], offset: i32) {
    let mut i = 0;
    while i + 10 < chunk.len() {
        if chunk[i] != 0xE8 {
            i += 1;
            continue;
        }
        let here = offset + i as i32;
        let distance = i32::from_le_bytes(chunk[i + 1..i + 5].try_into().unwrap());
        let target = match distance {
            _ if distance >= -here && distance < TRANSLATION_SIZE - here => distance + here,
            _ if distance >= TRANSLATION_SIZE - here && distance < TRANSLATION_SIZE => distance - TRANSLATION_SIZE,
            other => other,
        };
        chunk[i + 1..i + 5].copy_from_slice(&target.to_le_bytes());
        i += 5;
    }
}

/// Looks the PDB up in a store that has just this cabinet.
fn find(folder: &Path, cabinet: &[u8]) -> Result<Located, String> {
    let (store, own) = (folder.join("store"), folder.join("own"));
    let build = store.join(NAME).join(demo::symbols().key.folder());
    std::fs::create_dir_all(&build).unwrap();
    std::fs::write(build.join("MemoryTestApp.pd_"), cabinet).unwrap();
    let path = SymbolPath::parse(&format!("srv*{}*{}", own.display(), store.display()), None);
    let locator = Locator::new(Sources { path, ..Sources::default() });
    locator.find(&wanted(), None, &Stop::default(), &|_| {}).map_err(|not_found| not_found.to_string())
}

const LZX_32_KB: u16 = 3 | 15 << 8;
const LZX_2_MB: u16 = 3 | 21 << 8;

#[test]
fn lzx_cabinets_are_expanded() {
    let pdb = pdb();
    assert!(pdb.len() > 3 * CHUNK);
    let translated = lzx(&pdb, true).iter().zip(lzx(&pdb, false)).skip(1).filter(|(a, b)| a.0 != b.0).count();
    assert!(translated > 0, "there are bytes to translate");
    for (window, calls) in [(LZX_32_KB, false), (LZX_2_MB, false), (LZX_2_MB, true)] {
        let folder = tempfile::tempdir().unwrap();
        let found = find(folder.path(), &cabinet(window, pdb.len(), &lzx(&pdb, calls))).unwrap();
        assert!(std::fs::read(found.file.path().unwrap()).unwrap() == pdb, "{window:#x}, calls {calls}");
    }
}

#[test]
fn quantum_cabinets_are_named_as_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let why = find(folder.path(), &cabinet(2 | 1 << 4 | 10 << 8, 3, &[(vec![1, 2, 3], 3)])).unwrap_err();
    assert!(why.contains("Quantum") && why.contains("not supported") && !why.contains("damaged"), "{why}");
}

#[test]
fn a_damaged_lzx_cabinet_is_a_reason_and_leaves_nothing() {
    let pdb = pdb();
    let whole = cabinet(LZX_32_KB, pdb.len(), &lzx(&pdb, true));
    let mut damaged: Vec<Vec<u8>> = [50, 100, CHUNK, whole.len() - 1].map(|end| whole[..end].to_vec()).to_vec();
    // Its headers, and those of the first block.
    for at in 0..110 {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        damaged.push(bytes);
    }
    let mut refused = 0;
    for bytes in damaged {
        let folder = tempfile::tempdir().unwrap();
        match find(folder.path(), &bytes) {
            Ok(found) => assert!(found.file.path().unwrap().is_file()), // dates and the like
            Err(why) => {
                assert!(why.contains("MemoryTestApp.pd"), "{why}");
                let own = folder.path().join("own").join(NAME).join(demo::symbols().key.folder());
                assert_eq!(std::fs::read_dir(own).map_or(0, Iterator::count), 0);
                refused += 1;
            }
        }
    }
    assert!(refused > 20, "{refused}");
}
