//! `sleeve keygen`.

use std::fmt;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use sleeve_config::{ConfigError, Fingerprint, load_keys};
use zeroize::Zeroizing;

use crate::exit::Failure;

/// Bytes of a new key: as many as the derived secrets have.
const LENGTH: usize = 32;
const MODE: u32 = 0o600;

/// Why no key was made. The text is one sentence for the operator.
#[derive(Debug)]
pub(crate) enum KeygenError {
    /// The system has no randomness.
    Random(getrandom::Error),
    /// Raw bytes would go to a terminal.
    Terminal,
    /// There is something of this name.
    Exists(PathBuf),
    /// The file cannot be made.
    Create(PathBuf, io::Error),
    /// The file cannot be written; it has been removed.
    Write(PathBuf, io::Error),
    /// The file that was made is no good, for instance on a file system without modes; it has been
    /// removed.
    Unusable(ConfigError),
}

impl fmt::Display for KeygenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random(error) => {
                write!(f, "the system gives no random bytes ({error}): try again later")
            }
            Self::Terminal => f.write_str(
                "a key is no text for a terminal: run `sleeve keygen FILE`, or lead standard \
                 output into a pipe",
            ),
            Self::Exists(path) => write!(
                f,
                "{} exists and is not overwritten: choose another name, or move it away if no \
                 tunnel uses it",
                path.display()
            ),
            Self::Create(path, error) => write!(
                f,
                "cannot make {} ({error}): check the folder and its permissions",
                path.display()
            ),
            Self::Write(path, error) => write!(
                f,
                "cannot write {} ({error}), and it has been removed again: check the file system",
                path.display()
            ),
            Self::Unusable(error) => {
                write!(f, "the new file cannot be used and has been removed again: {error}")
            }
        }
    }
}

/// Makes a key: in a new file, or as raw bytes on standard output.
pub(crate) fn run(file: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = file else { return to_output() };
    let fingerprint = to_file(path)?;
    let said = format!(
        "{0}: new key, fingerprint {fingerprint}\n\
         Next: copy it to the other host over a safe way, mode 0600 there too; then give\n\
         --key {0} to `sleeve server` beside Redis and to `sleeve client` beside the application.\n",
        crate::exit::one_line(&path.display().to_string())
    );
    let mut output = io::stdout();
    output.write_all(said.as_bytes()).and_then(|()| output.flush()).map_err(Failure::Output)
}

fn to_output() -> Result<(), Failure> {
    let mut output = io::stdout();
    if output.is_terminal() {
        return Err(KeygenError::Terminal.into());
    }
    output.write_all(random()?.as_slice()).and_then(|()| output.flush()).map_err(Failure::Output)
}

fn random() -> Result<Zeroizing<[u8; LENGTH]>, KeygenError> {
    let mut bytes = Zeroizing::new([0; LENGTH]);
    getrandom::fill(bytes.as_mut_slice()).map_err(KeygenError::Random)?;
    Ok(bytes)
}

fn to_file(path: &Path) -> Result<Fingerprint, KeygenError> {
    let bytes = random()?;
    // create_new takes no existing name, not even a symbolic link's.
    let file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(path);
    let file = file.map_err(|error| match error.kind() == io::ErrorKind::AlreadyExists {
        true => KeygenError::Exists(path.to_owned()),
        false => KeygenError::Create(path.to_owned(), error),
    })?;
    let unfinished = Unfinished { path, done: false };
    fill(file, bytes.as_slice(), path)
        .map_err(|error| KeygenError::Write(path.to_owned(), error))?;
    let fingerprint = load_keys(&[path.to_owned()], None)
        .map_err(KeygenError::Unusable)?
        .first()
        .map(sleeve_config::Key::fingerprint)
        .expect("each path gives a key or an error");
    unfinished.finish();
    Ok(fingerprint)
}

fn fill(mut file: File, bytes: &[u8], path: &Path) -> io::Result<()> {
    // The umask may have taken permissions away from the owner too.
    file.set_permissions(Permissions::from_mode(MODE))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    // The name lasts when the folder is written as well. A folder that may not be read cannot be
    // opened for that; the key is good all the same.
    File::open(folder).and_then(|folder| folder.sync_all()).ok();
    Ok(())
}

/// Removes a file that did not become a key.
struct Unfinished<'a> {
    path: &'a Path,
    done: bool,
}

impl Unfinished<'_> {
    fn finish(mut self) {
        self.done = true;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.done {
            // The error that led here is the one to tell.
            std::fs::remove_file(self.path).ok();
        }
    }
}
