//! Rights: whether this process has administrator rights, the privilege needed for kernel stacks, and the one without
//! which Windows hides the addresses of kernel modules. Also the SID of the user, for the pipe that only this user may
//! use.
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use std::fs::File;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use windows_sys::Win32::Foundation::{ERROR_INVALID_SID, ERROR_SUCCESS, GetLastError, HANDLE, LUID, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSidToSidW, GetSecurityInfo, SE_FILE_OBJECT,
};
use windows_sys::Win32::Security::{
    AdjustTokenPrivileges, GetTokenInformation, LUID_AND_ATTRIBUTES, LookupAccountSidW, LookupPrivilegeValueW,
    OWNER_SECURITY_INFORMATION, PSID, SE_PRIVILEGE_ENABLED, SID_NAME_USE, SidTypeUser, TOKEN_ADJUST_PRIVILEGES, TOKEN_ELEVATION,
    TOKEN_INFORMATION_CLASS, TOKEN_PRIVILEGES, TOKEN_QUERY, TOKEN_USER, TokenElevation, TokenUser,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use super::refusal::Refusal;
use super::wide::{narrow, wide};
use crate::control::Sid;

/// Whether this process runs with administrator rights.
pub(super) fn is_elevated() -> bool {
    let elevated = own_token(TOKEN_QUERY).and_then(|token| {
        let mut elevation = TOKEN_ELEVATION::default();
        let mut length = 0;
        let size = size_of::<TOKEN_ELEVATION>() as u32;
        // SAFETY: the token is open; the structure is of the kind and size that the class asks for.
        let done = unsafe {
            GetTokenInformation(token.as_raw_handle(), TokenElevation, (&raw mut elevation).cast(), size, &raw mut length)
        };
        if done == 0 { Err(Refusal::last("GetTokenInformation")) } else { Ok(elevation.TokenIsElevated != 0) }
    });
    elevated.unwrap_or(false)
}

/// Enables the privilege to request stacks of kernel events, if the user has it.
pub(super) fn enable_profiling() -> Result<(), Refusal> {
    enable("SeSystemProfilePrivilege")
}

/// Enables the privilege to see the addresses of kernel modules, if the user has it.
pub(super) fn enable_debugging() -> Result<(), Refusal> {
    enable("SeDebugPrivilege")
}

fn enable(privilege: &str) -> Result<(), Refusal> {
    let token = own_token(TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY)?;
    let name = wide(privilege);
    let mut luid = LUID::default();
    // SAFETY: no system means this one; the name ends with a zero; the number is ours.
    if unsafe { LookupPrivilegeValueW(ptr::null(), name.as_ptr(), &raw mut luid) } == 0 {
        return Err(Refusal::last("LookupPrivilegeValueW"));
    }
    let wanted = TOKEN_PRIVILEGES {
        PrivilegeCount: 1,
        Privileges: [LUID_AND_ATTRIBUTES { Luid: luid, Attributes: SE_PRIVILEGE_ENABLED }],
    };
    // SAFETY: the token is open for this; the structure says how many privileges it has; what
    // was set before is not asked for.
    let done = unsafe { AdjustTokenPrivileges(token.as_raw_handle(), 0, &raw const wanted, 0, ptr::null_mut(), ptr::null_mut()) };
    // AdjustTokenPrivileges also succeeds if it sets nothing; only the last error tells (Microsoft's page).
    let code = unsafe { GetLastError() };
    if done == 0 || code != ERROR_SUCCESS { Err(Refusal { call: "AdjustTokenPrivileges", code }) } else { Ok(()) }
}

/// The SID of the user of this process.
pub(super) fn own_sid() -> Result<Sid, Refusal> {
    let user = user_of(&own_token(TOKEN_QUERY)?)?;
    // SAFETY: the identity lies in `user`, which lives until the call returns.
    let text = unsafe { text_of(user.sid()) }?;
    Sid::new(&text).ok_or(Refusal { call: "ConvertSidToStringSidW", code: ERROR_INVALID_SID })
}

/// A SID as text.
///
/// # Safety
/// The SID is valid until this returns.
unsafe fn text_of(sid: PSID) -> Result<String, Refusal> {
    let mut text = ptr::null_mut();
    // SAFETY: the caller's promise; the place of the answer is ours.
    if unsafe { ConvertSidToStringSidW(sid, &raw mut text) } == 0 {
        return Err(Refusal::last("ConvertSidToStringSidW"));
    }
    /// Longer than any SID as text.
    const MOST: usize = 256;
    // SAFETY: the text ends with a zero, and nothing is read behind that.
    let units: Vec<u16> = (0..MOST).map(|i| unsafe { *text.add(i) }).take_while(|unit| *unit != 0).collect();
    // SAFETY: the call above made this memory for us to free.
    unsafe { LocalFree(text.cast()) };
    Ok(narrow(&units))
}

/// The SID of the owner of an open file or folder, as text.
pub(super) fn owner_of(file: &File) -> Result<String, Refusal> {
    let (mut owner, mut descriptor) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the handle is open; both places are ours, and nothing else is asked for.
    let code = unsafe {
        GetSecurityInfo(
            file.as_raw_handle(),
            SE_FILE_OBJECT,
            OWNER_SECURITY_INFORMATION,
            &raw mut owner,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut descriptor,
        )
    };
    Refusal::check("GetSecurityInfo", code)?;
    // SAFETY: the owner lies in the descriptor, which lives until it is freed below.
    let text = if owner.is_null() { Ok(String::new()) } else { unsafe { text_of(owner) } };
    // SAFETY: the call above made this memory for us to free.
    unsafe { LocalFree(descriptor) };
    text
}

/// Whether a SID is known not to be that of a single account but of a group, a domain or an alias. A SID that cannot be
/// looked up here (of a domain that is out of reach) is not refused.
pub(super) fn is_of_several(sid: &Sid) -> bool {
    let text = wide(sid.as_str());
    let mut identity = ptr::null_mut();
    // SAFETY: the text ends with a zero; the place of the answer is ours.
    if unsafe { ConvertStringSidToSidW(text.as_ptr(), &raw mut identity) } == 0 {
        return true;
    }
    // SAFETY: the identity was just made and is freed below.
    let account = unsafe { account_of(identity) };
    // SAFETY: the call above made this memory for us to free.
    unsafe { LocalFree(identity) };
    account.is_some_and(|(_, usage)| usage != SidTypeUser)
}

/// The name of an account, without its domain, and its kind; `None` if it is unknown.
///
/// # Safety
/// The SID is valid until this returns.
pub(super) unsafe fn account_of(sid: PSID) -> Option<(String, SID_NAME_USE)> {
    let (mut name, mut domain) = ([0_u16; 257], [0_u16; 257]);
    let (mut name_len, mut domain_len) = (name.len() as u32, domain.len() as u32);
    let mut usage: SID_NAME_USE = 0;
    // SAFETY: the caller's promise; both texts are ours and as long as is said.
    let done = unsafe {
        LookupAccountSidW(
            ptr::null(),
            sid,
            name.as_mut_ptr(),
            &raw mut name_len,
            domain.as_mut_ptr(),
            &raw mut domain_len,
            &raw mut usage,
        )
    };
    (done != 0).then(|| (narrow(&name), usage))
}

/// The user of a token: `TOKEN_USER` and the SID behind it, in one block of memory.
pub(super) struct User(Vec<u64>);

impl User {
    /// The SID, valid as long as this lives.
    pub(super) fn sid(&self) -> PSID {
        // SAFETY: `user_of` makes this of an answer that begins with the structure.
        unsafe { (*self.0.as_ptr().cast::<TOKEN_USER>()).User.Sid }
    }
}

/// The user of a token.
pub(super) fn user_of(token: &OwnedHandle) -> Result<User, Refusal> {
    const CLASS: TOKEN_INFORMATION_CLASS = TokenUser;
    // The structure and the longest SID (68 bytes), with room to spare.
    let mut answer = vec![0_u64; 32];
    let size = size_of_val(answer.as_slice()) as u32;
    let mut length = 0;
    // SAFETY: the token is open; the memory is ours, aligned for pointers, and as long as is said.
    let done = unsafe { GetTokenInformation(token.as_raw_handle(), CLASS, answer.as_mut_ptr().cast(), size, &raw mut length) };
    if done == 0 { Err(Refusal::last("GetTokenInformation")) } else { Ok(User(answer)) }
}

/// The token of a process.
pub(super) fn token_of(process: HANDLE, access: u32) -> Result<OwnedHandle, Refusal> {
    let mut token = ptr::null_mut();
    // SAFETY: the caller's handle is open or a pseudo handle; the answer's place is ours.
    if unsafe { OpenProcessToken(process, access, &raw mut token) } == 0 {
        return Err(Refusal::last("OpenProcessToken"));
    }
    // SAFETY: the handle was just made and belongs to nobody else.
    Ok(unsafe { OwnedHandle::from_raw_handle(token) })
}

fn own_token(access: u32) -> Result<OwnedHandle, Refusal> {
    // SAFETY: the function has no arguments; what it returns needs no closing.
    token_of(unsafe { GetCurrentProcess() }, access)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_has_an_identity() {
        let sid = own_sid().unwrap();
        assert!(sid.as_str().starts_with("S-1-5-"), "{sid:?}");
    }

    #[test]
    fn asking_for_a_privilege_answers_and_does_not_break() {
        let _ = is_elevated();
        let _ = (enable_profiling(), enable_debugging());
    }

    #[test]
    fn an_account_is_told_from_a_group() {
        assert!(!is_of_several(&own_sid().unwrap()));
        let nobody = Sid::new("S-1-5-21-11-22-33-4444").unwrap();
        assert!(!is_of_several(&nobody), "nobody knows it");
    }

    #[test]
    fn a_file_belongs_to_who_made_it() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(owner_of(&file).unwrap(), own_sid().unwrap().as_str());
    }
}
