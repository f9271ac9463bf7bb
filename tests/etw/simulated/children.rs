//! Programs that this process has started.
#![allow(unsafe_code, reason = "the system's own interface are C functions")]

use windows_sys::Win32::Foundation::CloseHandle;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};

/// Ids of those with this image name that run now.
pub fn children(image: &str) -> Vec<u32> {
    let mut found = Vec::new();
    let mut entry = PROCESSENTRY32W { dwSize: size_of::<PROCESSENTRY32W>() as u32, ..PROCESSENTRY32W::default() };
    // SAFETY: the structure says its size and is ours; the snapshot is closed once.
    unsafe {
        let snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
        let mut more = Process32FirstW(snapshot, &raw mut entry);
        while more != 0 {
            let end = entry.szExeFile.iter().position(|unit| *unit == 0).unwrap_or(0);
            let name = String::from_utf16_lossy(&entry.szExeFile[..end]);
            if entry.th32ParentProcessID == std::process::id() && name.eq_ignore_ascii_case(image) {
                found.push(entry.th32ProcessID);
            }
            more = Process32NextW(snapshot, &raw mut entry);
        }
        CloseHandle(snapshot);
    }
    found
}
