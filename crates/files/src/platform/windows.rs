//! Windows: physical memory (`GlobalMemoryStatusEx`, sysinfoapi.h) and memory in use (`GetProcessMemoryInfo`, psapi.h),
//! disk space (`GetDiskFreeSpaceExW`, fileapi.h), file identities (`GetFileInformationByHandle`, fileapi.h), programs
//! that end with this one (job objects, jobapi2.h), Ctrl+C and control sequences (consoleapi.h), and the search path of libraries
//! (libloaderapi.h).
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::process::Child;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_FLAG_BACKUP_SEMANTICS, GetDiskFreeSpaceExW, GetFileInformationByHandle,
};
use windows_sys::Win32::System::Console::{
    ATTACH_PARENT_PROCESS, AttachConsole, CTRL_BREAK_EVENT, CTRL_C_EVENT, ENABLE_VIRTUAL_TERMINAL_PROCESSING, GetConsoleMode,
    SetConsoleCtrlHandler, SetConsoleMode,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::Win32::System::LibraryLoader::{LOAD_LIBRARY_SEARCH_SYSTEM32, SetDefaultDllDirectories};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

use super::facts::{DiskSpace, FileId};

/// Restricts the search for libraries to the system folder from now on, permanently: libraries that are loaded by name
/// do not come from the program's folder, the current folder, or one in `PATH`.
pub fn load_libraries_of_the_system_only() -> io::Result<()> {
    // SAFETY: the argument is a plain number.
    let done = unsafe { SetDefaultDllDirectories(LOAD_LIBRARY_SEARCH_SYSTEM32) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Bytes of physical memory that the system manages.
pub(super) fn physical_memory() -> Option<u64> {
    let mut status = MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..MEMORYSTATUSEX::default() };
    // SAFETY: the function writes at most `dwLength` bytes to the structure, which lives
    // on this stack frame, is ours alone and has exactly that size.
    let done = unsafe { GlobalMemoryStatusEx(&raw mut status) };
    // Wine reports 0 if two threads ask at once.
    (done != 0 && status.ullTotalPhys > 0).then_some(status.ullTotalPhys)
}

/// Commit charge of this process in bytes. The working set would not do: parts of it can have been paged out.
pub(super) fn memory_in_use() -> Option<u64> {
    let size = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
    let mut counters = PROCESS_MEMORY_COUNTERS { cb: size, ..PROCESS_MEMORY_COUNTERS::default() };
    // SAFETY: the handle is the one that always means this process; the function writes at most `size` bytes to the
    // structure, which lives on this stack frame, is ours alone and has exactly that size.
    let done = unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &raw mut counters, size) };
    (done != 0).then_some(counters.PagefileUsage as u64)
}

/// The disk space on the volume of a folder, for this user if there are quotas.
pub(super) fn disk_space(folder: &Path) -> Option<DiskSpace> {
    let name: Vec<u16> = folder.as_os_str().encode_wide().chain([0]).collect();
    let (mut free, mut total) = (0, 0);
    // SAFETY: the name ends with a zero and lives through the call; the two numbers are on this
    // stack frame and ours alone, and the third, which is not wanted, may be null.
    let done = unsafe { GetDiskFreeSpaceExW(name.as_ptr(), &raw mut free, &raw mut total, ptr::null_mut()) };
    (done != 0).then_some(DiskSpace { free, total })
}

/// The identity of the file or folder at a path. File systems without file numbers report 0, and then it is `None`.
pub(super) fn file_id(path: &Path) -> Option<FileId> {
    // Opened without access rights, so that no sharing mode of another process prevents it.
    let file = File::options().access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path).ok()?;
    let mut is = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open as long as `file` lives, and the structure is on this stack frame and ours alone.
    let done = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut is) };
    let number = u64::from(is.nFileIndexHigh) << 32 | u64::from(is.nFileIndexLow);
    let made = file.metadata().ok().and_then(|is| is.created().ok());
    (done != 0 && number != 0).then(|| FileId { volume: is.dwVolumeSerialNumber.into(), number, made })
}

/// Lets the console show control sequences, for standard output and errors.
pub(super) fn show_control_sequences() -> bool {
    let handles = [io::stdout().as_raw_handle(), io::stderr().as_raw_handle()];
    handles.into_iter().all(|handle| {
        let mut mode = 0;
        // SAFETY: the number is on this stack frame and ours alone; a handle that is no console's is refused.
        let is_console = unsafe { GetConsoleMode(handle, &raw mut mode) } != 0;
        // SAFETY: the argument is a plain number.
        !is_console || unsafe { SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) } != 0
    })
}

/// Creates a job that kills the program in it as soon as the returned handle is closed, for whatever reason this process ends.
pub(super) fn tie(child: &Child) -> io::Result<OwnedHandle> {
    // SAFETY: both arguments may be null: default security, no name.
    let job = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
    if job.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was just made and belongs to nobody else.
    let owned = unsafe { OwnedHandle::from_raw_handle(job) };
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    let size = size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32;
    // SAFETY: the job is open, and the structure is of the kind and size that the class asks for.
    let set = unsafe { SetInformationJobObject(job, JobObjectExtendedLimitInformation, (&raw const limits).cast(), size) };
    // SAFETY: both handles are open, as long as their owners live.
    if set == 0 || unsafe { AssignProcessToJobObject(job, child.as_raw_handle()) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(owned)
}

/// Detects Ctrl+C and the end of the console or of the session. From [`Interrupts::watch`] on, they do not end the
/// program at once.
#[derive(Clone, Copy, Debug)]
pub struct Interrupts(());

static HAS_COME: AtomicBool = AtomicBool::new(false);
static IS_CLOSING: AtomicBool = AtomicBool::new(false);

impl Interrupts {
    /// Starts to detect. A program without a console attaches to that of the shell from which it was started.
    pub fn watch() -> Self {
        // SAFETY: both take plain values, and the handler is a function that stays. That there
        // is no console, or one already, is no error: then nobody presses Ctrl+C, or it comes.
        unsafe {
            AttachConsole(ATTACH_PARENT_PROCESS);
            SetConsoleCtrlHandler(Some(on_interrupt), 1);
        }
        Self(())
    }

    /// Whether there was an interrupt.
    pub fn came(self) -> bool {
        HAS_COME.load(Ordering::Relaxed)
    }

    /// Whether the console closes or the session ends: the process has only five seconds left.
    pub fn is_closing(self) -> bool {
        IS_CLOSING.load(Ordering::Relaxed)
    }
}

/// The handler, which the system calls on a thread of its own.
unsafe extern "system" fn on_interrupt(kind: u32) -> i32 {
    let is_closing = !matches!(kind, CTRL_C_EVENT | CTRL_BREAK_EVENT);
    IS_CLOSING.fetch_or(is_closing, Ordering::Relaxed);
    HAS_COME.store(true, Ordering::Relaxed);
    if is_closing {
        // The console closes, or the user logs off: the process ends when this returns or when the system's timeout
        // passes. Until then the work can finish.
        const LONGER_THAN_ANY_PATIENCE: Duration = Duration::from_secs(30);
        std::thread::sleep(LONGER_THAN_ANY_PATIENCE);
    }
    1
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use windows_sys::Win32::Foundation::ERROR_MOD_NOT_FOUND;
    use windows_sys::Win32::System::LibraryLoader::LoadLibraryW;

    use super::*;

    const PLANTED: &str = "HIGHWATER_TEST_PLANTED";
    const SYSTEM_ONLY: &str = "HIGHWATER_TEST_SYSTEM_ONLY";

    #[test]
    fn a_library_beside_the_program_in_the_current_folder_or_in_the_path_is_not_loaded() {
        let elsewhere = tempfile::tempdir().unwrap();
        let program = std::env::current_exe().unwrap();
        // One of the system's own libraries, under a name that does not exist in the system folder.
        let library = format!(r"{}\System32\version.dll", std::env::var("SystemRoot").unwrap());
        for folder in [program.parent().unwrap(), elsewhere.path()] {
            let planted = tempfile::Builder::new().prefix("highwater-test-").suffix(".dll").tempfile_in(folder).unwrap();
            let planted = planted.into_temp_path();
            std::fs::copy(&library, &planted).unwrap();
            for (system_only, is_loaded) in [("no", true), ("yes", false)] {
                let mut child = Command::new(&program);
                child.args(["--exact", "platform::windows::tests::loads_it_when_told_to", "--nocapture"]);
                child.env(PLANTED, planted.file_name().unwrap()).env(SYSTEM_ONLY, system_only);
                child.env("PATH", elsewhere.path()).current_dir(elsewhere.path());
                let told = String::from_utf8(child.output().unwrap().stdout).unwrap();
                assert!(told.contains(&format!("loaded: {is_loaded}")), "{}, {system_only}: {told}", folder.display());
            }
        }
    }

    #[test]
    #[allow(clippy::print_stdout, reason = "this is how it answers the test above")]
    fn loads_it_when_told_to() {
        let (Ok(name), Ok(system_only)) = (std::env::var(PLANTED), std::env::var(SYSTEM_ONLY)) else { return };
        if system_only == "yes" {
            load_libraries_of_the_system_only().unwrap();
        }
        let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
        // SAFETY: the name ends with a zero; the library is one of the system's own.
        let is_loaded = !unsafe { LoadLibraryW(name.as_ptr()) }.is_null();
        assert!(is_loaded || io::Error::last_os_error().raw_os_error() == Some(ERROR_MOD_NOT_FOUND as i32));
        println!("loaded: {is_loaded}");
    }
}
