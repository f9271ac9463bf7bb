//! Functions that this program imports, replaced by others: the addresses in its import
//! table (PE/COFF, Microsoft's "PE Format"), whatever library they are imported from.
#![allow(unsafe_code, reason = "the program's own image in memory is read and changed")]

use std::ffi::CStr;
use std::ptr;

use windows_sys::Win32::System::LibraryLoader::GetModuleHandleW;
use windows_sys::Win32::System::Memory::{PAGE_READWRITE, VirtualProtect};

use crate::constants::{AT_DIRECTORIES, AT_OPTIONAL_HEADER, IMPORT_BY_NUMBER, IMPORT_DIRECTORY};

/// Replaces imported functions by name; tells the names that were found.
pub fn redirect(replacements: &[(&'static str, usize)]) -> Vec<&'static str> {
    // SAFETY: null asks for this program's own image, which stays mapped while it runs.
    let base = unsafe { GetModuleHandleW(ptr::null()) } as usize;
    let nt = base + word(base + 0x3C);
    let mut descriptor = base + word(nt + AT_OPTIONAL_HEADER + AT_DIRECTORIES + IMPORT_DIRECTORY * 8);
    let mut found = Vec::new();
    // Original first thunk, time, forwarder, name, first thunk; zeros at the end.
    while word(descriptor + 12) != 0 {
        let names = base + if word(descriptor) != 0 { word(descriptor) } else { word(descriptor + 16) };
        let slots = base + word(descriptor + 16);
        for i in 0.. {
            let name = quad(names + 8 * i);
            if name == 0 {
                break;
            }
            if name & IMPORT_BY_NUMBER != 0 {
                continue;
            }
            // SAFETY: behind its number of two bytes stands a name that ends with a zero.
            let name = unsafe { CStr::from_ptr((base + name as usize + 2) as *const _) };
            if let Some((wanted, with)) = replacements.iter().find(|(wanted, _)| name.to_bytes() == wanted.as_bytes()) {
                replace(slots + 8 * i, *with);
                found.push(*wanted);
            }
        }
        descriptor += 20;
    }
    found
}

fn replace(slot: usize, with: usize) {
    let mut before = 0;
    // SAFETY: the slot is one of the import table, of the size of an address. Nobody calls the
    // function meanwhile: it is replaced before the first test uses it.
    unsafe {
        assert_ne!(VirtualProtect(slot as *const _, 8, PAGE_READWRITE, &raw mut before), 0);
        (slot as *mut usize).write(with);
        VirtualProtect(slot as *const _, 8, before, &raw mut before);
    }
}

fn word(at: usize) -> usize {
    // SAFETY: `at` is inside the headers or the import table of this program's image.
    unsafe { (at as *const u32).read_unaligned() as usize }
}

fn quad(at: usize) -> u64 {
    // SAFETY: as above.
    unsafe { (at as *const u64).read_unaligned() }
}
