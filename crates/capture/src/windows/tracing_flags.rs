//! Heap tracing for programs that start later, by the file name of their image: bit 0 of `TracingFlags` under *Image
//! File Execution Options* (64-bit view).
//!
//! The value applies to every start of such a program, for all users, until it is restored. So the previous value is
//! saved first, in a key of our own, and restored when recording stops, or by the next recording if this one could not
//! ([`restore_leftovers`]). Only bit 0 is changed: changes that others make in the meantime stay.
//!
//! Sources: xperf's documentation ("Enable heap data capture"), PerfView's implementation.

use std::io;

use winreg::RegKey;
use winreg::enums::{HKEY_LOCAL_MACHINE, KEY_ALL_ACCESS, KEY_READ, KEY_WOW64_64KEY};

use super::processes;
use super::refusal::Refusal;
use crate::constants::TRACE_HEAPS as HEAP;

const OPTIONS: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Image File Execution Options";
const VALUE: &str = "TracingFlags";

/// Our notes, one key for each image: the values before our change.
const OURS: &str = r"SOFTWARE\highwater\TracingFlags";
const PREVIOUS: &str = "Previous";
const HAD_KEY: &str = "HadKey";
const OWNER: &str = "Owner";
const OWNER_NAME: &str = "OwnerName";

/// Heap tracing of an image name, enabled until this is dropped.
#[derive(Debug)]
pub(super) struct Traced {
    image: Option<String>,
}

impl Traced {
    /// Enables heap tracing for this image name.
    pub(super) fn set(image: &str) -> Result<Self, Refusal> {
        set(image).map_err(|error| Refusal::from_io("TracingFlags", &error))?;
        Ok(Self { image: Some(image.to_owned()) })
    }

    /// Restores the previous value.
    pub(super) fn restore(mut self) -> Result<(), Refusal> {
        let image = self.image.take();
        image.map_or(Ok(()), |image| restore(&image).map_err(|error| Refusal::from_io("TracingFlags", &error)))
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        if let Some(image) = self.image.take() {
            let _ = restore(&image);
        }
    }
}

/// Restores the values that recordings have left that no longer run. Returns the image names.
pub(super) fn restore_leftovers() -> io::Result<Vec<String>> {
    leftovers()?.into_iter().map(|image| restore(&image).map(|()| image)).collect()
}

/// Image names whose values were left by recordings that no longer run.
pub(super) fn leftovers() -> io::Result<Vec<String>> {
    let ours = match machine().open_subkey_with_flags(OURS, KEY_READ | KEY_WOW64_64KEY) {
        Ok(key) => key,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let images: Vec<String> = ours.enum_keys().collect::<io::Result<_>>()?;
    Ok(images.into_iter().filter(|image| ours.open_subkey(image).map_or(true, |note| !is_owned(&note))).collect())
}

/// Whether the recording that made this note still runs.
fn is_owned(note: &RegKey) -> bool {
    let owner = note.get_value::<u32, _>(OWNER).ok().zip(note.get_value::<String, _>(OWNER_NAME).ok());
    owner.is_some_and(|(pid, name)| processes::runs(pid, &name))
}

fn set(image: &str) -> io::Result<()> {
    let options = machine().open_subkey_with_flags(OPTIONS, KEY_READ | KEY_WOW64_64KEY)?;
    let key = options.open_subkey(image).ok();
    let previous = key.as_ref().and_then(|key| key.get_value::<u32, _>(VALUE).ok());
    let (note, _) = machine().create_subkey_with_flags(format!(r"{OURS}\{image}"), KEY_ALL_ACCESS | KEY_WOW64_64KEY)?;
    // An existing note, by a recording of the same image, has the value from before both recordings.
    if note.get_value::<u32, _>(OWNER).is_err() {
        if let Some(previous) = previous {
            note.set_value(PREVIOUS, &previous)?;
        }
        note.set_value(HAD_KEY, &u32::from(key.is_some()))?;
    }
    note.set_value(OWNER_NAME, &own_name())?;
    note.set_value(OWNER, &std::process::id())?;
    let (key, _) = machine().create_subkey_with_flags(format!(r"{OPTIONS}\{image}"), KEY_ALL_ACCESS | KEY_WOW64_64KEY)?;
    key.set_value(VALUE, &(previous.unwrap_or(0) | HEAP))
}

fn restore(image: &str) -> io::Result<()> {
    let note_path = format!(r"{OURS}\{image}");
    let note = machine().open_subkey_with_flags(&note_path, KEY_READ | KEY_WOW64_64KEY)?;
    let previous = note.get_value::<u32, _>(PREVIOUS).ok();
    let had_key = note.get_value::<u32, _>(HAD_KEY).unwrap_or(1) != 0;
    let path = format!(r"{OPTIONS}\{image}");
    match machine().open_subkey_with_flags(&path, KEY_ALL_ACCESS | KEY_WOW64_64KEY) {
        Ok(key) => {
            let now = key.get_value::<u32, _>(VALUE).unwrap_or(0);
            let wanted = now & !HEAP | previous.unwrap_or(0) & HEAP;
            if previous.is_some() || wanted != 0 {
                key.set_value(VALUE, &wanted)?;
            } else {
                gone(key.delete_value(VALUE))?;
            }
            let info = key.query_info()?;
            if !had_key && info.values == 0 && info.sub_keys == 0 {
                gone(machine().delete_subkey_with_flags(&path, KEY_WOW64_64KEY))?;
            }
        }
        Err(error) => gone(Err(error))?,
    }
    gone(machine().delete_subkey_with_flags(&note_path, KEY_WOW64_64KEY))
}

/// Treats a missing key or value as removed.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn machine() -> RegKey {
    RegKey::predef(HKEY_LOCAL_MACHINE)
}

/// The file name of this program.
pub(super) fn own_name() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// The registry value for an image.
    fn value(image: &str) -> Option<u32> {
        machine().open_subkey_with_flags(format!(r"{OPTIONS}\{image}"), KEY_READ | KEY_WOW64_64KEY).ok()?.get_value(VALUE).ok()
    }

    fn put(image: &str, value: u32) {
        let (key, _) =
            machine().create_subkey_with_flags(format!(r"{OPTIONS}\{image}"), KEY_ALL_ACCESS | KEY_WOW64_64KEY).unwrap();
        key.set_value(VALUE, &value).unwrap();
    }

    fn has(path: &str) -> bool {
        machine().open_subkey_with_flags(path, KEY_READ | KEY_WOW64_64KEY).is_ok()
    }

    fn remove(image: &str) {
        gone(machine().delete_subkey_with_flags(format!(r"{OPTIONS}\{image}"), KEY_WOW64_64KEY)).unwrap();
    }

    #[test]
    fn it_is_set_while_it_is_wanted_and_nothing_is_left_then() {
        let image = "highwater-test-new.exe";
        let traced = Traced::set(image).unwrap();
        assert_eq!(value(image), Some(1));
        assert!(has(&format!(r"{OURS}\{image}")));
        traced.restore().unwrap();
        assert!(!has(&format!(r"{OPTIONS}\{image}")), "the key was ours");
        assert!(!has(&format!(r"{OURS}\{image}")));
    }

    #[test]
    fn what_was_there_before_is_there_again_also_when_it_is_only_dropped() {
        let image = "highwater-test-before.exe";
        for before in [0, 2, 3] {
            put(image, before);
            drop(Traced::set(image).unwrap());
            assert_eq!(value(image), Some(before));
        }
        remove(image);
    }

    #[test]
    fn what_others_change_meanwhile_stays() {
        let image = "highwater-test-others.exe";
        let traced = Traced::set(image).unwrap();
        put(image, 3);
        traced.restore().unwrap();
        assert_eq!(value(image), Some(2));
        remove(image);
    }

    #[test]
    fn what_a_killed_recording_left_is_put_back_by_the_next() {
        let image = "highwater-test-killed.exe";
        put(image, 2);
        let (_, room) = module_path!().split_once("::").unwrap();
        let test = format!("{room}::sets_it_and_waits_when_told_to");
        let mut killed = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &test])
            .env(IMAGE, image)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while value(image) != Some(3) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(value(image), Some(3));
        assert!(!restore_leftovers().unwrap().contains(&image.to_owned()), "its recording runs");
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert!(restore_leftovers().unwrap().contains(&image.to_owned()));
        assert_eq!(value(image), Some(2));
        remove(image);
    }

    const IMAGE: &str = "HIGHWATER_TEST_IMAGE";

    #[test]
    fn sets_it_and_waits_when_told_to() {
        if let Ok(image) = std::env::var(IMAGE) {
            let _traced = Traced::set(&image).unwrap();
            std::thread::sleep(Duration::from_secs(60));
        }
    }
}
