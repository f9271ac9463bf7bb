//! Lists the processes of this machine for the user to choose from, and watches whether chosen ones still run. Works
//! without any rights; whatever other users' processes hide stays unknown.
//!
//! Sources: Microsoft's pages of the tool help library, of GetProcessMemoryInfo and of tokens; for protection, System
//! Informer's ntpsapi.h.
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};

use windows_sys::Wdk::System::Threading::{NtQueryInformationProcess, ProcessProtectionInformation};
use windows_sys::Win32::Foundation::{
    ERROR_NO_MORE_FILES, GetLastError, HWND, INVALID_HANDLE_VALUE, LPARAM, STATUS_SUCCESS, WAIT_TIMEOUT,
};
use windows_sys::Win32::Security::TOKEN_QUERY;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS_EX};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, IsWow64Process, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE, WaitForSingleObject,
};
use windows_sys::Win32::UI::WindowsAndMessaging::{EnumWindows, GetWindowTextW, GetWindowThreadProcessId, IsWindowVisible};

use super::privilege::{account_of, token_of, user_of};
use super::refusal::Refusal;
use super::wide::narrow;
use crate::Program;
use crate::constants::PROTECTION_KIND;

/// Lists all processes.
pub(super) fn list() -> Result<Vec<Program>, Refusal> {
    let windows = windows();
    let own = std::process::id();
    let front = windows.iter().map(|(pid, _)| *pid).find(|pid| *pid != own);
    let describe = |(pid, name): (u32, String)| {
        let process = open(pid, PROCESS_QUERY_LIMITED_INFORMATION).ok();
        Program {
            pid,
            name,
            title: windows.iter().find(|(owner, _)| *owner == pid).map(|(_, title)| title.clone()).unwrap_or_default(),
            user: process.as_ref().and_then(user).unwrap_or_default(),
            private_bytes: process.as_ref().and_then(private_bytes),
            is_32_bit: process.as_ref().and_then(is_32_bit),
            is_in_front: front == Some(pid),
        }
    };
    Ok(names()?.into_iter().map(describe).collect())
}

/// The id and file name of each process.
pub(super) fn names() -> Result<Vec<(u32, String)>, Refusal> {
    // SAFETY: the arguments are plain numbers.
    let snapshot = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    if snapshot == INVALID_HANDLE_VALUE {
        return Err(Refusal::last("CreateToolhelp32Snapshot"));
    }
    // SAFETY: the handle was just made and belongs to nobody else.
    let snapshot = unsafe { OwnedHandle::from_raw_handle(snapshot) };
    let mut entry = PROCESSENTRY32W { dwSize: size_of::<PROCESSENTRY32W>() as u32, ..PROCESSENTRY32W::default() };
    let mut found = Vec::new();
    // SAFETY: the snapshot is open; the structure says its size and is ours.
    let mut more = unsafe { Process32FirstW(snapshot.as_raw_handle(), &raw mut entry) };
    while more != 0 {
        found.push((entry.th32ProcessID, narrow(&entry.szExeFile)));
        // SAFETY: as above.
        more = unsafe { Process32NextW(snapshot.as_raw_handle(), &raw mut entry) };
    }
    // SAFETY: the function has no arguments.
    match unsafe { GetLastError() } {
        ERROR_NO_MORE_FILES => Ok(found),
        code if found.is_empty() => Err(Refusal { call: "Process32FirstW", code }),
        _ => Ok(found),
    }
}

/// Ids of the processes with this image name; case does not matter.
pub(super) fn of_image(name: &str) -> Result<Vec<u32>, Refusal> {
    let all = names()?.into_iter().filter(|(_, image)| image.eq_ignore_ascii_case(name));
    Ok(all.map(|(pid, _)| pid).collect())
}

/// Ids of the processes with this image name, without this process: a recording by name does not mean its own recorder.
pub(super) fn others_of_image(name: &str) -> Result<Vec<u32>, Refusal> {
    let mut pids = of_image(name)?;
    pids.retain(|pid| *pid != std::process::id());
    Ok(pids)
}

/// Whether a process with this id and this image name runs.
pub(super) fn runs(pid: u32, name: &str) -> bool {
    of_image(name).is_ok_and(|pids| pids.contains(&pid))
}

/// A process whose end can be detected, even if its id is reused.
#[derive(Debug)]
pub(super) struct Watched(OwnedHandle);

impl Watched {
    pub(super) fn new(pid: u32) -> Result<Self, Refusal> {
        open(pid, PROCESS_SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION).map(Self)
    }

    pub(super) fn is_running(&self) -> bool {
        // SAFETY: the handle is open, and may be waited for.
        unsafe { WaitForSingleObject(self.0.as_raw_handle(), 0) == WAIT_TIMEOUT }
    }

    /// Its memory now; `None` if the system does not say.
    pub(super) fn memory(&self) -> Option<Memory> {
        memory(self.0.as_raw_handle())
    }
}

/// Opens a process by its id, with this access.
pub(super) fn open(pid: u32, access: u32) -> Result<OwnedHandle, Refusal> {
    // SAFETY: the arguments are plain numbers.
    let process = unsafe { OpenProcess(access, 0, pid) };
    if process.is_null() {
        return Err(Refusal::last("OpenProcess"));
    }
    // SAFETY: the handle was just made and belongs to nobody else.
    Ok(unsafe { OwnedHandle::from_raw_handle(process) })
}

fn private_bytes(process: &OwnedHandle) -> Option<u64> {
    memory(process.as_raw_handle()).map(|memory| memory.private_bytes)
}

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    pub(super) private_bytes: u64,
    pub(super) working_set: u64,
}

/// Private bytes of this process.
pub(super) fn own_private_bytes() -> Option<u64> {
    // SAFETY: the function has no arguments; the handle is a constant.
    let own = unsafe { GetCurrentProcess() };
    memory(own).map(|memory| memory.private_bytes)
}

/// The memory of an open process.
fn memory(process: RawHandle) -> Option<Memory> {
    let mut counters = PROCESS_MEMORY_COUNTERS_EX::default();
    let size = size_of::<PROCESS_MEMORY_COUNTERS_EX>() as u32;
    // SAFETY: the callers' handles are open; the call tells the longer structure, which begins as the
    // shorter one, from it by the size.
    let done = unsafe { K32GetProcessMemoryInfo(process, (&raw mut counters).cast(), size) };
    // Both fields are the commit charge; Windows 7 leaves one of them at zero, Wine the other.
    let private_bytes = counters.PagefileUsage.max(counters.PrivateUsage) as u64;
    (done != 0).then_some(Memory { private_bytes, working_set: counters.WorkingSetSize as u64 })
}

fn is_32_bit(process: &OwnedHandle) -> Option<bool> {
    let mut wow64 = 0;
    // SAFETY: the process is open; the answer's place is ours.
    let done = unsafe { IsWow64Process(process.as_raw_handle(), &raw mut wow64) };
    (done != 0).then_some(wow64 != 0)
}

/// The name of the user of a process, without its domain.
fn user(process: &OwnedHandle) -> Option<String> {
    let user = user_of(&token_of(process.as_raw_handle(), TOKEN_QUERY).ok()?).ok()?;
    // SAFETY: the identity lives in `user`.
    unsafe { account_of(user.sid()) }.map(|(name, _)| name)
}

/// Whether a process is protected, even from administrators, as Windows reports it.
pub(super) fn is_protected(pid: u32) -> bool {
    let Ok(process) = open(pid, PROCESS_QUERY_LIMITED_INFORMATION) else { return false };
    // PS_PROTECTION: a byte whose lowest bits are the type of protection.
    let (mut protection, mut written) = (0_u8, 0);
    // SAFETY: the process is open; both places are ours, and the answer is as long as is said.
    let status = unsafe {
        NtQueryInformationProcess(
            process.as_raw_handle(),
            ProcessProtectionInformation,
            (&raw mut protection).cast(),
            size_of_val(&protection) as u32,
            &raw mut written,
        )
    };
    status == STATUS_SUCCESS && u32::from(protection) & PROTECTION_KIND != 0
}

/// Process id and title of each visible window with a title, frontmost first.
fn windows() -> Vec<(u32, String)> {
    let mut found: Vec<(u32, String)> = Vec::new();
    // SAFETY: the callback is called inside this call only, and gets the list, which is ours.
    unsafe { EnumWindows(Some(on_window), (&raw mut found) as LPARAM) };
    found
}

/// The callback for each window, frontmost first.
///
/// # Safety
/// `found` is the address of the list that `windows` fills.
unsafe extern "system" fn on_window(window: HWND, found: LPARAM) -> i32 {
    const GO_ON: i32 = 1;
    let (mut title, mut pid) = ([0; 256], 0);
    // SAFETY: the window may be gone by now, which all three answer with nothing; the text is
    // ours and as long as is said, the number's place too.
    let units = unsafe {
        if IsWindowVisible(window) == 0 {
            return GO_ON;
        }
        GetWindowThreadProcessId(window, &raw mut pid);
        GetWindowTextW(window, title.as_mut_ptr(), title.len() as i32)
    };
    if units > 0 {
        // SAFETY: the caller's promise; nobody else looks at the list meanwhile.
        let found = unsafe { &mut *(found as *mut Vec<(u32, String)>) };
        found.push((pid, narrow(&title)));
    }
    GO_ON
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_in_the_list_with_its_name_and_its_memory() {
        let pid = std::process::id();
        let own = std::env::current_exe().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        let all = list().unwrap();
        let me = all.iter().find(|process| process.pid == pid).unwrap();
        assert_eq!(me.name, own);
        assert_eq!(me.is_32_bit, Some(false));
        assert!(!me.user.is_empty() && me.private_bytes > Some(1 << 16), "{me:?}");
        assert!(runs(pid, &own.to_uppercase()) && !runs(pid, "other.exe"));
    }

    #[test]
    fn the_end_of_a_process_is_noticed() {
        let mut child = std::process::Command::new("cmd").args(["/c", "exit"]).spawn().unwrap();
        let watched = Watched::new(child.id()).unwrap();
        child.wait().unwrap();
        assert!(!watched.is_running());
        assert!(Watched::new(std::process::id()).unwrap().is_running());
    }

    #[test]
    fn protected_is_only_what_windows_says_is_protected() {
        // The System process may not be opened, and one that does not exist cannot be.
        for pid in [std::process::id(), 4, 0xFFFF_FFF0] {
            assert!(!is_protected(pid), "{pid}");
        }
    }

    #[test]
    fn a_process_that_is_not_there_cannot_be_watched() {
        assert_eq!(Watched::new(0xFFFF_FFF0).err().map(|refusal| refusal.call), Some("OpenProcess"));
    }
}
