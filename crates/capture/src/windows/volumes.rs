//! The drives and the kernel's names of their volumes, for image paths.
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use windows_sys::Win32::Storage::FileSystem::QueryDosDeviceW;

use super::wide::{narrow, wide};

/// Pairs like `\Device\HarddiskVolume3` and `C:`.
pub fn volumes() -> Vec<(String, String)> {
    let drives = ('A'..='Z').map(|letter| format!("{letter}:"));
    drives.filter_map(|drive| Some((device(&drive)?, drive))).collect()
}

/// The device that a drive letter maps to.
fn device(drive: &str) -> Option<String> {
    let name = wide(drive);
    let mut target = [0; 1024];
    // SAFETY: the name ends with a zero; the text is ours and as long as is said.
    let units = unsafe { QueryDosDeviceW(name.as_ptr(), target.as_mut_ptr(), target.len() as u32) };
    // There can be several names in sequence; the first is the current one.
    (units != 0).then(|| narrow(&target)).filter(|device| !device.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_drive_has_a_device() {
        let system = std::env::var("SystemDrive").unwrap();
        let all = volumes();
        assert!(all.iter().any(|(device, drive)| *drive == system && device.starts_with('\\')), "{all:?}");
    }
}
