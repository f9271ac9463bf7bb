//! A folder that was given by a user with fewer rights, used so that it cannot redirect accesses to another place.
//!
//! At any moment, this user can replace any part of its path by a junction or a symbolic link, and put files or links
//! of any name into it. Countermeasures:
//!
//! * The folder is opened step by step from the drive's root, each name relative to the handle of the folder before
//!   (`RootDirectory`) and without following links; a link is refused. So no link is ever followed, whenever it was
//!   created. From then on everything is done relative to the folder's handle, so later changes of its path do not
//!   matter.
//! * The final path of the handle, as the system reports it, must equal the given path letter for letter, in case a
//!   redirection does not show as a link. The window passes the path as the same function reports it, so an honest one
//!   agrees.
//! * The folder must belong to the account for which the recorder works: otherwise whoever starts the recorder could
//!   name any other existing folder.
//! * The handle does not share deletion, so the folder can be neither renamed nor removed while it is open.
//! * An empty folder could still be turned into a junction in place. So the final path of each file is checked after it
//!   is created and before it is removed: if it is not in this folder under this name, a new file is deleted again
//!   through its own handle, and an existing one is left alone.
//! * Files are only created new (`FILE_CREATE`): neither a link nor a hard link of that name is written through.
//!   Removing opens the link itself, so at most a name in this folder is removed.
//! * Only drives are accepted: opening a path on another machine would reveal our identity to it.
//!
//! Cost: two calls for each part of the path, once; three for a file, for a few files a minute.
//!
//! Sources: Microsoft's pages of NtCreateFile, GetFinalPathNameByHandle, FILE_DISPOSITION_INFO.
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use std::fs::File;
use std::io;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr;

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_CREATE, FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE, FILE_OPEN, FILE_OPEN_REPARSE_POINT, FILE_SYNCHRONOUS_IO_NONALERT,
    NtCreateFile,
};
use windows_sys::Win32::Foundation::{OBJ_CASE_INSENSITIVE, RtlNtStatusToDosError, UNICODE_STRING};
use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_ATTRIBUTE_NORMAL, FILE_ATTRIBUTE_REPARSE_POINT, FILE_DISPOSITION_INFO, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_GENERIC_WRITE, FILE_LIST_DIRECTORY, FILE_NAME_NORMALIZED, FILE_READ_ATTRIBUTES, FILE_SHARE_DELETE, FILE_SHARE_READ,
    FILE_SHARE_WRITE, FILE_TRAVERSE, FileDispositionInfo, GetFinalPathNameByHandleW, READ_CONTROL, SYNCHRONIZE,
    SetFileInformationByHandle, VOLUME_NAME_DOS,
};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

use super::privilege::owner_of;
use super::wide::narrow;
use crate::control::Sid;

/// The open folder. While this lives, it is neither renamed nor removed.
#[derive(Debug)]
pub(crate) struct Directory {
    handle: File,
    /// Its final path.
    path: String,
}

impl Directory {
    /// Opens the folder at this path; an error if the path leads elsewhere.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let named = path.to_str().and_then(|path| Some((path, parts_on_a_drive(path)?)));
        let Some((path, (drive, parts))) = named else {
            return Err(refused("the recorder writes to drives of this machine only, named by their full path"));
        };
        let mut handle =
            File::options().access_mode(PASS).share_mode(SHARED).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(drive)?;
        for (i, part) in parts.iter().enumerate() {
            let kind = if i + 1 == parts.len() { &FOLDER } else { &FOLDER_ABOVE };
            handle = reach(&handle, part, kind)?;
            if handle.metadata()?.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0 {
                return Err(refused(LINK));
            }
        }
        if final_path(&handle)? != path { Err(refused(LINK)) } else { Ok(Self { handle, path: path.to_owned() }) }
    }

    /// Checks that the account owns the folder.
    pub(crate) fn belongs_to(&self, sid: &Sid) -> io::Result<()> {
        let owner = owner_of(&self.handle).map_err(|refusal| io::Error::from_raw_os_error(refusal.code as i32))?;
        if owner == sid.as_str() { Ok(()) } else { Err(refused("the folder does not belong to the user who records")) }
    }

    /// Creates a new file with this name.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        let file = reach(&self.handle, name, &NEW_FILE)?;
        self.check(&file, name).inspect_err(|_| drop(remove(&file)))?;
        Ok(file)
    }

    /// Removes the file with this name, or the link itself if it is one.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        let file = reach(&self.handle, name, &OLD_FILE)?;
        self.check(&file, name)?;
        remove(&file)
    }

    /// Checks that a file is in this folder under this name.
    fn check(&self, file: &File, name: &str) -> io::Result<()> {
        let is_here = final_path(file)?.strip_prefix(&self.path).and_then(|rest| rest.strip_prefix('\\')) == Some(name);
        if is_here { Ok(()) } else { Err(refused("the folder has become a way to another one")) }
    }
}

/// Parameters for opening a file or folder.
struct What {
    access: u32,
    share: u32,
    disposition: u32,
    /// The option for a file or for a folder.
    kind: u32,
}

const SHARED: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
/// Access for opening the content of a folder.
const PASS: u32 = FILE_TRAVERSE | FILE_READ_ATTRIBUTES | SYNCHRONIZE;
const FOLDER_ABOVE: What = What { access: PASS, share: SHARED, disposition: FILE_OPEN, kind: FILE_DIRECTORY_FILE };
const FOLDER: What =
    What { access: PASS | FILE_LIST_DIRECTORY | READ_CONTROL, share: FILE_SHARE_READ | FILE_SHARE_WRITE, ..FOLDER_ABOVE };
/// Includes the right to delete: a file that turns out to be elsewhere is removed again.
const NEW_FILE: What =
    What { access: FILE_GENERIC_WRITE | DELETE, share: SHARED, disposition: FILE_CREATE, kind: FILE_NON_DIRECTORY_FILE };
const OLD_FILE: What = What { access: DELETE | FILE_READ_ATTRIBUTES | SYNCHRONIZE, disposition: FILE_OPEN, ..NEW_FILE };

const LINK: &str = "a link or junction is in the path of this folder; the recorder follows none";

/// Opens or creates the file or folder of this name, relative to the handle of a folder; a link is opened itself.
fn reach(folder: &File, name: &str, what: &What) -> io::Result<File> {
    if ["", ".", ".."].contains(&name) || name.contains(['\\', '/', ':', '\0']) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut units: Vec<u16> = name.encode_utf16().collect();
    let bytes = u16::try_from(size_of_val(units.as_slice())).map_err(|_| io::ErrorKind::InvalidInput)?;
    let name = UNICODE_STRING { Length: bytes, MaximumLength: bytes, Buffer: units.as_mut_ptr() };
    let attributes = OBJECT_ATTRIBUTES {
        Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
        RootDirectory: folder.as_raw_handle(),
        ObjectName: &raw const name,
        Attributes: OBJ_CASE_INSENSITIVE,
        SecurityDescriptor: ptr::null(),
        SecurityQualityOfService: ptr::null(),
    };
    let (mut file, mut status) = (ptr::null_mut(), IO_STATUS_BLOCK::default());
    // SAFETY: the structures say their sizes and live until the call returns, as do the name
    // and the folder's handle; nothing is asked for that would need more.
    let code = unsafe {
        NtCreateFile(
            &raw mut file,
            what.access,
            &raw const attributes,
            &raw mut status,
            ptr::null(),
            FILE_ATTRIBUTE_NORMAL,
            what.share,
            what.disposition,
            FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_REPARSE_POINT | what.kind,
            ptr::null(),
            0,
        )
    };
    if code < 0 {
        // SAFETY: the argument is a plain number.
        return Err(io::Error::from_raw_os_error(unsafe { RtlNtStatusToDosError(code) } as i32));
    }
    // SAFETY: the handle was just made and belongs to nobody else.
    Ok(unsafe { OwnedHandle::from_raw_handle(file) }.into())
}

/// Splits `\\?\C:\…` into the root and the parts of the path.
fn parts_on_a_drive(path: &str) -> Option<(&str, Vec<&str>)> {
    const ROOT: usize = r"\\?\C:\".len();
    let (root, rest) = path.split_at_checked(ROOT)?;
    let is_drive = matches!(root.strip_prefix(r"\\?\")?.as_bytes(), [letter, b':', b'\\'] if letter.is_ascii_alphabetic());
    (is_drive && !rest.is_empty()).then(|| (root, rest.split('\\').collect()))
}

/// The final path of a handle.
fn final_path(file: &File) -> io::Result<String> {
    /// More units than any path has.
    const MOST: usize = 1 << 15;
    let mut path = vec![0; MOST];
    // SAFETY: the handle is open; the text is ours and as long as is said.
    let units = unsafe {
        GetFinalPathNameByHandleW(file.as_raw_handle(), path.as_mut_ptr(), MOST as u32, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS)
    };
    match units as usize {
        0 => Err(io::Error::last_os_error()),
        1..MOST => Ok(narrow(&path)),
        _ => Err(io::ErrorKind::InvalidFilename.into()),
    }
}

/// Marks the file for deletion; it is removed when its last handle is closed.
fn remove(file: &File) -> io::Result<()> {
    let goes = FILE_DISPOSITION_INFO { DeleteFile: true };
    let size = size_of::<FILE_DISPOSITION_INFO>() as u32;
    // SAFETY: the handle is open; the structure is of the kind and size that the class asks for.
    let done = unsafe { SetFileInformationByHandle(file.as_raw_handle(), FileDispositionInfo, (&raw const goes).cast(), size) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn refused(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, reason)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    /// A folder of the user's, and one next to it that is not.
    struct Place {
        _temporary: tempfile::TempDir,
        root: PathBuf,
        users: PathBuf,
        outside: PathBuf,
    }

    impl Place {
        fn new() -> Self {
            let temporary = tempfile::tempdir().unwrap();
            let root = temporary.path().canonicalize().unwrap();
            let (users, outside) = (root.join("users").join("a.recording"), root.join("outside"));
            std::fs::create_dir_all(&users).unwrap();
            std::fs::create_dir_all(outside.join("a.recording")).unwrap();
            Self { _temporary: temporary, root, users, outside }
        }

        /// File names in the folder outside.
        fn left_outside(&self) -> Vec<String> {
            let names = std::fs::read_dir(&self.outside).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name != "a.recording").collect()
        }
    }

    /// Creates a junction. Wine has none: there it is a symbolic link, created by the host system.
    fn junction(link: &Path, target: &Path) {
        let plain = |path: &Path| path.to_str().unwrap().trim_start_matches(r"\\?\").to_owned();
        let _ = Command::new("cmd").args(["/c", "mklink", "/J", &plain(link), &plain(target)]).output();
        let is_made = link.exists() || unix("ln", &["-s", &below(target), &below(link)], || link.exists());
        assert!(is_made, "no junction can be made here");
    }

    /// Runs a program of Wine's host system. Wine reports neither its process nor its end, so this waits for `is_done`.
    /// Returns whether the program exists and `is_done` came true.
    fn unix(program: &str, words: &[&str], is_done: impl Fn() -> bool) -> bool {
        let program = format!(r"Z:\bin\{program}");
        if !Path::new(&program).exists() {
            return false;
        }
        let _ = Command::new(program).args(words).spawn();
        let end = Instant::now() + Duration::from_secs(20);
        while !is_done() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        is_done()
    }

    /// The path on Wine's host system.
    fn below(path: &Path) -> String {
        let output = Command::new("winepath").arg("-u").arg(path.to_str().unwrap().trim_start_matches(r"\\?\")).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn files_are_made_once_written_and_removed() {
        let place = Place::new();
        let directory = Directory::open(&place.users).unwrap();
        directory.create("heap-0001.etl").unwrap().write_all(b"events").unwrap();
        assert_eq!(std::fs::read(place.users.join("heap-0001.etl")).unwrap(), b"events");
        assert_eq!(directory.create("heap-0001.etl").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        directory.remove("heap-0001.etl").unwrap();
        assert!(!place.users.join("heap-0001.etl").exists());
        assert_eq!(directory.remove("heap-0001.etl").unwrap_err().kind(), io::ErrorKind::NotFound);
        for name in ["", "..", r"..\x.etl", "a/b", "x.etl:stream", r"\x"] {
            assert!(directory.create(name).is_err(), "{name:?}");
            assert!(directory.remove(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_folder_belongs_to_who_made_it_and_to_nobody_else() {
        let place = Place::new();
        let directory = Directory::open(&place.users).unwrap();
        let own = super::super::privilege::own_sid().unwrap();
        directory.belongs_to(&own).unwrap();
        let other = directory.belongs_to(&Sid::new("S-1-5-21-11-22-33-4444").unwrap()).unwrap_err();
        assert_eq!(other.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_folder_behind_a_junction_is_refused() {
        let place = Place::new();
        let (folder, above) = (place.root.join("folder"), place.root.join("above"));
        junction(&folder, &place.outside);
        junction(&above, &place.outside);
        for path in [folder, above.join("a.recording")] {
            let error = Directory::open(&path).unwrap_err();
            assert!(error.to_string().contains("junction"), "{}: {error}", path.display());
        }
    }

    #[test]
    fn a_folder_is_named_by_its_full_path_on_a_drive() {
        let place = Place::new();
        let full = place.users.to_str().unwrap();
        assert!(Directory::open(&place.users).is_ok());
        let others = [
            full.trim_start_matches(r"\\?\").to_owned(),
            r"\\server\share\folder".to_owned(),
            r"\\?\UNC\server\share\folder".to_owned(),
            r"\\.\pipe\folder".to_owned(),
            format!("{full}:stream"),
            r"\\?\C:\".to_owned(),
            "folder".to_owned(),
        ];
        for path in others {
            assert!(Directory::open(Path::new(&path)).is_err(), "{path}");
        }
        assert!(Directory::open(&place.users.join("nobody")).is_err());
        std::fs::write(place.users.join("file"), []).unwrap();
        assert!(Directory::open(&place.users.join("file")).is_err());
    }

    #[test]
    fn what_takes_the_folders_place_gets_and_loses_nothing() {
        let place = Place::new();
        let directory = Directory::open(&place.users).unwrap();
        directory.create("heap-0001.etl").unwrap();
        std::fs::write(place.outside.join("heap-0001.etl"), b"somebody's").unwrap();
        let aside = place.root.join("users").join("aside");
        assert!(std::fs::rename(&place.users, &aside).is_err(), "it can be renamed while it is open");
        // If the host system can rename it nevertheless, the handle still refers to the original folder.
        if unix("mv", &[&below(&place.users), &below(&aside)], || aside.exists() && !place.users.exists()) {
            junction(&place.users, &place.outside);
            let _ = directory.create("heap-0002.etl");
            let _ = directory.remove("heap-0001.etl");
            assert_eq!(place.left_outside(), ["heap-0001.etl"], "made or removed outside");
        }
    }

    #[test]
    fn a_link_of_a_lanes_name_is_not_written_through() {
        let place = Place::new();
        let directory = Directory::open(&place.users).unwrap();
        let target = place.outside.join("target");
        std::fs::write(&target, b"somebody's").unwrap();
        std::fs::hard_link(&target, place.users.join("heap-0001.etl")).unwrap();
        let symbolic = place.users.join("heap-0002.etl");
        if std::os::windows::fs::symlink_file(&target, &symbolic).is_err() {
            unix("ln", &["-s", &below(&target), &below(&symbolic)], || symbolic.exists());
        }
        for name in ["heap-0001.etl", "heap-0002.etl"] {
            // Only some users may create symbolic links on Windows.
            if place.users.join(name).exists() {
                assert!(directory.create(name).is_err(), "{name}");
                let _ = directory.remove(name);
            }
        }
        assert_eq!(std::fs::read(&target).unwrap(), b"somebody's");
    }
}
