//! The PDB of `MemoryTestApp.exe` as it was built from `assets/demo`.
//! Written by `scripts/demo.sh`; not to be changed by hand.

/// GUID of the PDB.
pub(super) const GUID: [u8; 16] =
    [0xC0, 0x80, 0xE0, 0x98, 0xA3, 0xFF, 0x8A, 0xBB, 0x4C, 0x4C, 0x44, 0x20, 0x50, 0x44, 0x42, 0x2E];

/// Age of the PDB.
pub(super) const AGE: u32 = 1;

/// The PDB in a cabinet, as a symbol store has it.
pub(super) const CABINET: &[u8] =
    include_bytes!("../../assets/demo/MemoryTestApp.pdb/98E080C0FFA3BB8A4C4C44205044422E1/MemoryTestApp.pd_");
