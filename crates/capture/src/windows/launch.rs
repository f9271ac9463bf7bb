//! Starts a program that is recorded from its first instruction: it is created suspended, and resumed after the
//! sessions have started.
//!
//! A recorder with administrator rights does not pass them on: it starts the program as the desktop user, with the
//! token of the desktop's own process.
//!
//! Sources: Microsoft's pages of CreateProcess, CreateProcessWithTokenW and, for the order, of StartHeapTrace.
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use windows_sys::Win32::Foundation::ERROR_INVALID_WINDOW_HANDLE;
use windows_sys::Win32::Security::{
    DuplicateTokenEx, SecurityImpersonation, TOKEN_ADJUST_DEFAULT, TOKEN_ADJUST_SESSIONID, TOKEN_ASSIGN_PRIMARY, TOKEN_DUPLICATE,
    TOKEN_QUERY, TokenPrimary,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_SUSPENDED, CREATE_UNICODE_ENVIRONMENT, CreateProcessW, CreateProcessWithTokenW,
    PROCESS_INFORMATION, PROCESS_QUERY_LIMITED_INFORMATION, ResumeThread, STARTUPINFOW, TerminateProcess,
};
use windows_sys::Win32::UI::WindowsAndMessaging::{GetShellWindow, GetWindowThreadProcessId};

use super::privilege::token_of;
use super::processes;
use super::refusal::Refusal;
use super::wide::wide;

/// A suspended program. It is terminated on drop unless it was resumed.
#[derive(Debug)]
pub(super) struct Suspended {
    pid: u32,
    process: OwnedHandle,
    thread: Option<OwnedHandle>,
}

impl Suspended {
    /// Starts a program by its command line, in the current folder and with the current environment. It does not
    /// receive a Ctrl+C that is meant for us.
    pub(super) fn start(command: &str) -> Result<Self, Refusal> {
        let (mut line, startup, mut made) = (wide(command), startup(), PROCESS_INFORMATION::default());
        // SAFETY: the command line is ours to be changed and ends with a zero; what is null may
        // be; both structures live until the call returns, and the first says its size.
        let done = unsafe {
            CreateProcessW(
                ptr::null(),
                line.as_mut_ptr(),
                ptr::null(),
                ptr::null(),
                0,
                FLAGS,
                ptr::null(),
                ptr::null(),
                &raw const startup,
                &raw mut made,
            )
        };
        Self::made(done, &made, "CreateProcessW")
    }

    /// Starts a program as the desktop user, without administrator rights.
    pub(super) fn start_for_desktop(command: &str) -> Result<Self, Refusal> {
        let token = desktop_token()?;
        let (mut line, startup, mut made) = (wide(command), startup(), PROCESS_INFORMATION::default());
        // SAFETY: the token is open; the rest as above.
        let done = unsafe {
            CreateProcessWithTokenW(
                token.as_raw_handle(),
                0,
                ptr::null(),
                line.as_mut_ptr(),
                FLAGS,
                ptr::null(),
                ptr::null(),
                &raw const startup,
                &raw mut made,
            )
        };
        Self::made(done, &made, "CreateProcessWithTokenW")
    }

    fn made(done: i32, made: &PROCESS_INFORMATION, call: &'static str) -> Result<Self, Refusal> {
        if done == 0 {
            return Err(Refusal::last(call));
        }
        // SAFETY: both handles were just made and belong to nobody else.
        let (process, thread) =
            unsafe { (OwnedHandle::from_raw_handle(made.hProcess), OwnedHandle::from_raw_handle(made.hThread)) };
        Ok(Self { pid: made.dwProcessId, process, thread: Some(thread) })
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Resumes the program.
    pub(super) fn resume(mut self) -> Result<(), Refusal> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        // SAFETY: the thread's handle is open.
        let before = unsafe { ResumeThread(thread.as_raw_handle()) };
        if before != u32::MAX {
            return Ok(());
        }
        let refusal = Refusal::last("ResumeThread");
        self.thread = Some(thread);
        Err(refusal)
    }
}

const FLAGS: u32 = CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP | CREATE_UNICODE_ENVIRONMENT;

fn startup() -> STARTUPINFOW {
    STARTUPINFOW { cb: size_of::<STARTUPINFOW>() as u32, ..STARTUPINFOW::default() }
}

/// Duplicates the token of the process that owns the desktop: usually Explorer.
fn desktop_token() -> Result<OwnedHandle, Refusal> {
    let mut pid = 0;
    // SAFETY: a null window is allowed and then has no process; the number's place is ours.
    unsafe { GetWindowThreadProcessId(GetShellWindow(), &raw mut pid) };
    if pid == 0 {
        return Err(Refusal { call: "GetShellWindow", code: ERROR_INVALID_WINDOW_HANDLE });
    }
    let process = processes::open(pid, PROCESS_QUERY_LIMITED_INFORMATION)?;
    let token = token_of(process.as_raw_handle(), TOKEN_DUPLICATE)?;
    let access = TOKEN_QUERY | TOKEN_ASSIGN_PRIMARY | TOKEN_DUPLICATE | TOKEN_ADJUST_DEFAULT | TOKEN_ADJUST_SESSIONID;
    let mut copy = ptr::null_mut();
    // SAFETY: the token is open for this; null stands for default security; the answer's place is ours.
    let done = unsafe {
        DuplicateTokenEx(token.as_raw_handle(), access, ptr::null(), SecurityImpersonation, TokenPrimary, &raw mut copy)
    };
    if done == 0 {
        return Err(Refusal::last("DuplicateTokenEx"));
    }
    // SAFETY: the handle was just made and belongs to nobody else.
    Ok(unsafe { OwnedHandle::from_raw_handle(copy) })
}

impl Drop for Suspended {
    fn drop(&mut self) {
        if self.thread.is_some() {
            const GIVEN_UP: u32 = 1;
            // SAFETY: the handle is open. Nobody else could ever end a program that never ran.
            unsafe { TerminateProcess(self.process.as_raw_handle(), GIVEN_UP) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::processes::Watched;
    use super::*;

    const PROGRAM: &str = "cmd /c exit";

    fn ends(watched: &Watched) -> bool {
        let end = Instant::now() + Duration::from_secs(30);
        while watched.is_running() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        !watched.is_running()
    }

    #[test]
    fn a_program_waits_until_it_is_let_go_and_then_runs_to_its_end() {
        let suspended = Suspended::start(PROGRAM).unwrap();
        let watched = Watched::new(suspended.pid()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        assert!(watched.is_running());
        suspended.resume().unwrap();
        assert!(ends(&watched));
    }

    #[test]
    fn a_program_that_is_not_let_go_ends() {
        let suspended = Suspended::start(PROGRAM).unwrap();
        let watched = Watched::new(suspended.pid()).unwrap();
        drop(suspended);
        assert!(ends(&watched));
    }

    #[test]
    fn without_a_desktop_nothing_is_started_in_its_name() {
        // Wine has no shell window here; on a desktop the program starts, and is terminated on drop.
        match Suspended::start_for_desktop(PROGRAM) {
            Ok(program) => assert!(Watched::new(program.pid()).unwrap().is_running()),
            Err(refusal) => assert!(["GetShellWindow", "CreateProcessWithTokenW"].contains(&refusal.call), "{refusal:?}"),
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_refused() {
        assert_eq!(Suspended::start("no-such-program.exe").err().map(|refusal| refusal.code), Some(2));
    }
}
