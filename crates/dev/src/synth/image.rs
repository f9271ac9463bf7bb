//! Facts about an image: its functions, its calls, its build.

/// Age of every PDB.
pub(super) const PDB_AGE: u32 = 1;

/// A function of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function {
    /// Undecorated name.
    pub name: &'static str,
    /// Its first address, from the base of its image.
    pub rva: u32,
    /// Its length in bytes.
    pub size: u32,
}

/// A call in an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The function that calls.
    pub caller: &'static str,
    /// The function that is called, here or in another image.
    pub callee: &'static str,
    /// Return address of the call, from the base of the image.
    pub returns_to: u32,
}

/// Identity of an image's build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Build {
    /// GUID of its PDB.
    pub guid: [u8; 16],
    /// Link time stamp.
    pub time_stamp: u32,
}

/// FNV-1a: a number that is derived from a name.
pub(super) fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}
