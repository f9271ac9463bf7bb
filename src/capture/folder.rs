//! The folder of a recording, through which its files are made and removed.
//!
//! A user who records for himself names a folder that is his: it is made, and used by its
//! path ([`Folder::make`]). A recorder with rights that its user lacks is told one by somebody
//! who may want it to write or delete elsewhere: there every file is reached by a handle of
//! the folder, never by a path, and links are not followed ([`Folder::given`]; on Windows
//! only, where recorders are: `windows::folder` has the reasons).

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
    /// If it was given by somebody with fewer rights.
    #[cfg(windows)]
    directory: Option<Arc<Directory>>,
}

impl Folder {
    /// One of the user's own, made if need be.
    pub fn make(path: &Path) -> Result<Self, CaptureError> {
        std::fs::create_dir_all(path).map_err(CaptureError::file(path))?;
        Ok(Self {
            path: path.to_owned(),
            #[cfg(windows)]
            directory: None,
        })
    }

    /// One that somebody with fewer rights names, by the path that `canonicalize` tells. It is
    /// there already, on a drive of this machine, belongs to this account, and no part of its path is a link. It can
    /// be neither renamed nor removed while this lives.
    #[cfg(windows)]
    pub fn given(path: &Path, owner: &Sid) -> Result<Self, CaptureError> {
        let directory = Directory::open(path).map_err(CaptureError::file(path))?;
        directory.belongs_to(owner).map_err(CaptureError::file(path))?;
        Ok(Self { path: path.to_owned(), directory: Some(Arc::new(directory)) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a file that is not there yet. Only the name of the path counts.
    pub(super) fn create(&self, file: &Path) -> io::Result<File> {
        let name = name_of(file)?;
        #[cfg(windows)]
        if let Some(directory) = &self.directory {
            return directory.create(name);
        }
        File::options().write(true).create_new(true).open(self.path.join(name))
    }

    /// Removes a file. Only the name of the path counts.
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
