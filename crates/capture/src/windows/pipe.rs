//! Two named pipes between the window and the elevated recorder: one for status, one for commands, so that neither
//! direction blocks the other.
//!
//! They admit one user, whose SID the recorder is given (the prompt for rights may have been answered by another
//! account), the administrators and the system, and nobody from other machines. Their name is new each time, and the
//! recorder must be the first to create them, so nobody can take the place of either side.
//!
//! Sources: Microsoft's pages of CreateNamedPipe and of the security descriptor string format.
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use std::fs::File;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{ERROR_PIPE_CONNECTED, ERROR_TIMEOUT, GetLastError, INVALID_HANDLE_VALUE, LocalFree};
use windows_sys::Win32::Security::Authorization::{ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1};
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_FIRST_PIPE_INSTANCE, PIPE_ACCESS_INBOUND, PIPE_ACCESS_OUTBOUND, SECURITY_IDENTIFICATION,
};
use windows_sys::Win32::System::Pipes::{
    ConnectNamedPipe, CreateNamedPipeW, GetNamedPipeServerProcessId, PIPE_READMODE_BYTE, PIPE_REJECT_REMOTE_CLIENTS,
    PIPE_TYPE_BYTE, PIPE_WAIT,
};

use super::refusal::Refusal;
use super::wide::wide;
use crate::control::{PipeName, Sid};

/// The pipe ends of one side.
#[derive(Debug)]
pub(super) struct Ends {
    /// Status lines: written by the recorder.
    pub(super) status: File,
    /// Commands: written by the window.
    pub(super) commands: File,
}

/// The recorder's side: creates both pipes and waits for the window, at most `patience`.
pub(super) fn serve(name: &PipeName, sid: &Sid, patience: Duration) -> Result<Ends, Refusal> {
    let status = create(&path(name, STATUS), sid, PIPE_ACCESS_OUTBOUND)?;
    let commands = create(&path(name, COMMANDS), sid, PIPE_ACCESS_INBOUND)?;
    // ConnectNamedPipe has no timeout, so it runs on a thread; after a timeout, that thread ends with the process.
    let (send, receive) = mpsc::channel();
    let wait = move || {
        let connected = connect(&status)
            .and_then(|()| connect(&commands))
            .map(|()| Ends { status: status.into(), commands: commands.into() });
        let _ = send.send(connected);
    };
    thread::spawn(wait);
    receive.recv_timeout(patience).unwrap_or(Err(Refusal { call: "ConnectNamedPipe", code: ERROR_TIMEOUT }))
}

/// The window's side: waits at most `patience` until the recorder has created the pipes, as long as `comes` says that
/// it may still come.
pub(super) fn connect_to(name: &PipeName, patience: Duration, comes: impl Fn() -> bool) -> io::Result<Ends> {
    let end = Instant::now() + patience;
    let open = |part: &str, is_read: bool| loop {
        // The recorder can identify us but not impersonate us.
        let mut options = File::options();
        let opened = options.read(is_read).write(!is_read).security_qos_flags(SECURITY_IDENTIFICATION).open(path(name, part));
        match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound && Instant::now() < end && comes() => {
                thread::sleep(Duration::from_millis(20));
            }
            other => return other,
        }
    };
    Ok(Ends { status: open(STATUS, true)?, commands: open(COMMANDS, false)? })
}

/// Id of the process that created the pipe.
pub(super) fn server_of(pipe: &File) -> Result<u32, Refusal> {
    let mut pid = 0;
    // SAFETY: the handle is open; the place of the answer is ours.
    let done = unsafe { GetNamedPipeServerProcessId(pipe.as_raw_handle(), &raw mut pid) };
    if done == 0 { Err(Refusal::last("GetNamedPipeServerProcessId")) } else { Ok(pid) }
}

const STATUS: &str = "status";
const COMMANDS: &str = "commands";

fn path(name: &PipeName, part: &str) -> String {
    format!(r"\\.\pipe\{}-{part}", name.as_str())
}

/// The security descriptor: full access for the user, the administrators and the system, nobody else, nothing
/// inherited; no read or write access for programs with a lower integrity level.
fn descriptor(sid: &Sid) -> String {
    let sid = sid.as_str();
    format!("D:P(A;;GA;;;{sid})(A;;GA;;;BA)(A;;GA;;;SY)S:(ML;;NWNR;;;ME)")
}

fn create(path: &str, sid: &Sid, direction: u32) -> Result<OwnedHandle, Refusal> {
    const BYTES: u32 = 64 << 10;
    let (path, text) = (wide(path), wide(descriptor(sid)));
    let mut descriptor = ptr::null_mut();
    // SAFETY: the text ends with a zero; the answer's place is ours; its length is not asked for.
    let done = unsafe {
        ConvertStringSecurityDescriptorToSecurityDescriptorW(text.as_ptr(), SDDL_REVISION_1, &raw mut descriptor, ptr::null_mut())
    };
    if done == 0 {
        return Err(Refusal::last("ConvertStringSecurityDescriptorToSecurityDescriptorW"));
    }
    let security = SECURITY_ATTRIBUTES {
        nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
        lpSecurityDescriptor: descriptor,
        bInheritHandle: 0,
    };
    let mode = PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS;
    // SAFETY: the path ends with a zero; the attributes and their descriptor outlive the call.
    let pipe = unsafe {
        CreateNamedPipeW(path.as_ptr(), direction | FILE_FLAG_FIRST_PIPE_INSTANCE, mode, 1, BYTES, BYTES, 0, &raw const security)
    };
    let made = if pipe == INVALID_HANDLE_VALUE {
        Err(Refusal::last("CreateNamedPipeW"))
    } else {
        // SAFETY: the handle was just made and belongs to nobody else.
        Ok(unsafe { OwnedHandle::from_raw_handle(pipe) })
    };
    // SAFETY: the descriptor is memory that the call above made for us to free.
    unsafe { LocalFree(descriptor) };
    made
}

fn connect(pipe: &OwnedHandle) -> Result<(), Refusal> {
    // SAFETY: the pipe is open, and without overlapped calls as no structure for them is given.
    if unsafe { ConnectNamedPipe(pipe.as_raw_handle(), ptr::null_mut()) } != 0 {
        return Ok(());
    }
    // SAFETY: the function has no arguments.
    match unsafe { GetLastError() } {
        // The window has connected already.
        ERROR_PIPE_CONNECTED => Ok(()),
        code => Err(Refusal { call: "ConnectNamedPipe", code }),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};

    use super::super::privilege::own_sid;
    use super::*;

    fn name(test: &str) -> PipeName {
        PipeName::new(&format!("highwater-test-{}-{test}", std::process::id())).unwrap()
    }

    #[test]
    fn lines_go_both_ways_and_the_end_of_one_side_is_seen_by_the_other() {
        let name = name("lines");
        let sid = own_sid().unwrap();
        let served = name.clone();
        let recorder = thread::spawn(move || {
            let mut ends = serve(&served, &sid, Duration::from_secs(20)).unwrap();
            writeln!(ends.status, "recording").unwrap();
            BufReader::new(ends.commands).lines().map_while(Result::ok).collect::<Vec<_>>()
        });
        let mut window = connect_to(&name, Duration::from_secs(20), || true).unwrap();
        let mut line = String::new();
        BufReader::new(&window.status).read_line(&mut line).unwrap();
        assert_eq!(line, "recording\n");
        window.commands.write_all(b"mark here\nstop\n").unwrap();
        drop(window);
        assert_eq!(recorder.join().unwrap(), ["mark here", "stop"]);
    }

    #[test]
    fn a_name_that_is_taken_is_refused_and_a_window_that_never_comes_is_not_waited_for() {
        let sid = own_sid().unwrap();
        let name = name("taken");
        let _first = create(&path(&name, STATUS), &sid, PIPE_ACCESS_OUTBOUND).unwrap();
        assert!(create(&path(&name, STATUS), &sid, PIPE_ACCESS_OUTBOUND).is_err());
        let refusal = serve(&self::name("alone"), &sid, Duration::from_millis(50)).unwrap_err();
        assert_eq!(refusal, Refusal { call: "ConnectNamedPipe", code: ERROR_TIMEOUT });
        assert!(connect_to(&self::name("nobody"), Duration::from_millis(50), || true).is_err());
        let asked = Instant::now();
        assert!(connect_to(&self::name("nobody"), Duration::from_secs(60), || false).is_err());
        assert!(asked.elapsed() < Duration::from_secs(30), "a recorder that has ended is not waited for");
    }

    #[test]
    fn only_the_user_the_administrators_and_the_system_are_admitted() {
        let sid = Sid::new("S-1-5-21-7-8-9-1001").unwrap();
        assert_eq!(descriptor(&sid), "D:P(A;;GA;;;S-1-5-21-7-8-9-1001)(A;;GA;;;BA)(A;;GA;;;SY)S:(ML;;NWNR;;;ME)");
    }
}
