//! The folder of a recording. All its files are created and removed through it.
//!
//! A user who records with his own rights names a folder of his own: it is created if necessary and used by its path
//! ([`Folder::make`]). An elevated recorder is given a folder by a user with fewer rights, who may want it to write or
//! delete elsewhere. So it accesses every file relative to a handle of the folder, never by a path, and follows no
//! links (`Folder::given`, on Windows only, where recorders run; `windows::folder` has the details).

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(windows)]
use std::sync::Arc;

use super::CaptureError;
#[cfg(windows)]
use super::control::Sid;
#[cfg(windows)]
use super::windows::Directory;

/// A folder for lanes.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// The open handle, if the folder was given by a user with fewer rights.
    #[cfg(windows)]
    directory: Option<Arc<Directory>>,
}

impl Folder {
    /// Opens a folder of the user's own; creates it if necessary.
    pub fn make(path: &Path) -> Result<Self, CaptureError> {
        std::fs::create_dir_all(path).map_err(CaptureError::file(path))?;
        Ok(Self {
            path: path.to_owned(),
            #[cfg(windows)]
            directory: None,
        })
    }

    /// Opens a folder that a user with fewer rights names, by the path that `canonicalize` returns. The folder must
    /// exist already, be on a drive of this machine and belong to this account, and no part of its path may be a link.
    /// It can be neither renamed nor removed while this lives.
    #[cfg(windows)]
    pub fn given(path: &Path, owner: &Sid) -> Result<Self, CaptureError> {
        let directory = Directory::open(path).map_err(CaptureError::file(path))?;
        directory.belongs_to(owner).map_err(CaptureError::file(path))?;
        Ok(Self { path: path.to_owned(), directory: Some(Arc::new(directory)) })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a new file; an error if it exists. Only the file name of the path is used.
    pub(super) fn create(&self, file: &Path) -> io::Result<File> {
        let name = name_of(file)?;
        #[cfg(windows)]
        if let Some(directory) = &self.directory {
            return directory.create(name);
        }
        File::options().write(true).create_new(true).open(self.path.join(name))
    }

    /// Removes a file. Only the file name of the path is used.
    pub(super) fn remove(&self, file: &Path) -> io::Result<()> {
        let name = name_of(file)?;
        #[cfg(windows)]
        if let Some(directory) = &self.directory {
            return directory.remove(name);
        }
        std::fs::remove_file(self.path.join(name))
    }
}

fn name_of(file: &Path) -> io::Result<&str> {
    let name = file.file_name().and_then(|name| name.to_str());
    name.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a file without a name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_made_once_and_removed_whatever_folder_their_path_names() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(&place.path().join("a/b")).unwrap();
        folder.create(Path::new("elsewhere/heap.etl")).unwrap();
        assert!(folder.path().join("heap.etl").exists());
        assert!(folder.create(Path::new("heap.etl")).is_err());
        folder.remove(Path::new("elsewhere/heap.etl")).unwrap();
        assert!(!folder.path().join("heap.etl").exists());
        assert!(folder.remove(Path::new("heap.etl")).is_err());
        assert!(folder.create(Path::new("..")).is_err());
    }
}
