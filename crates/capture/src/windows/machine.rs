//! The facts about this machine that a recording needs.
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::System::SystemInformation::{GetTickCount64, OSVERSIONINFOW};
use windows_sys::Win32::System::Threading::{ALL_PROCESSOR_GROUPS, GetActiveProcessorCount};

use super::clock::{self, Pair};
use crate::constants::MILLISECOND;
use crate::{BUFFER_SIZE, Session};

/// The session data for a recording that starts at this moment.
pub(super) fn session(start: Pair) -> Session {
    // SAFETY: the function has no arguments but a plain number.
    let processors = unsafe { GetActiveProcessorCount(ALL_PROCESSOR_GROUPS) };
    let up = up();
    Session {
        frequency: clock::frequency(),
        start_ticks: start.ticks,
        start_time: start.time,
        boot_time: start.time.saturating_sub(i64::try_from(up).unwrap_or(0).saturating_mul(MILLISECOND)),
        processors: processors.clamp(1, 2048),
        os: version(),
        buffer_size: BUFFER_SIZE,
        pointer_size: size_of::<usize>() as u8,
    }
}

/// Milliseconds since the system was started.
pub(super) fn up() -> u64 {
    // SAFETY: the function has no arguments.
    unsafe { GetTickCount64() }
}

/// The real version (major, minor and build), not the one that Windows reports to old programs.
fn version() -> (u8, u8, u32) {
    let mut version = OSVERSIONINFOW { dwOSVersionInfoSize: size_of::<OSVERSIONINFOW>() as u32, ..OSVERSIONINFOW::default() };
    // SAFETY: the structure says its size and is ours.
    unsafe { RtlGetVersion(&raw mut version) };
    (version.dwMajorVersion as u8, version.dwMinorVersion as u8, version.dwBuildNumber)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_version_processors_and_a_start() {
        let session = session(Pair::now());
        assert!(session.os.0 >= 6 && session.os.2 > 1000, "{session:?}");
        assert!(session.processors >= 1 && session.pointer_size == 8);
        assert!(session.boot_time < session.start_time);
    }
}
