//! A private folder for sockets that goes away with the run.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Names that are tried before giving up; only leftovers of killed runs can be in the way.
const TRIES: u32 = 1000;

/// A folder that only this user can enter; removed with what is in it when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn create() -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let parent = std::env::temp_dir();
        for _ in 0..TRIES {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("sleeve-ab.{}.{number}", std::process::id()));
            // Creating fails on a name that exists, whoever made it, so nobody can prepare one.
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        Path::join(&self.0, name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be done about a folder that does not go; it holds sockets only.
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_is_private_and_goes_away() {
        let (first, second) = (Folder::create().unwrap(), Folder::create().unwrap());
        let path = first.0.clone();
        assert_ne!(path, second.0);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::write(first.join("file"), b"x").unwrap();
        drop(first);
        assert!(!path.exists());
    }
}
