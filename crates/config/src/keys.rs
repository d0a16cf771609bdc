//! Key files: the only thing that this crate reads.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sleeve_seal::{Key, KeyError};
use zeroize::Zeroizing;

use crate::error::ConfigError;

/// Most bytes of a key file. A key has 32; this leaves room for what other programs made, and keeps
/// a wrong name, such as a disk image's, from filling memory.
pub const KEY_FILE_MAX: usize = 64 * 1024;

/// Most keys of one end. A stranger's first message is tried against each of them, so their number
/// bounds what it costs.
pub const KEYS_MAX: usize = 64;

/// Permissions of group and others, none of which a key file may have.
const NOT_OWNER: u32 = 0o077;
/// The one permission of them that systemd's credentials may show; see [`load_keys`].
const GROUP_READ: u32 = 0o040;

/// Reads the keys of these files, in this order.
///
/// `credentials` is the folder into which the service manager puts credentials, if there is one.
/// Where systemd permits the service's user by an access control list, the list's mask shows as a
/// group permission to read, although no group has it; the folder itself is closed to all others.
///
/// Two files with the same key are refused: it is nearly always a rotation in which one file was
/// forgotten, and it would show only when the old key is removed at the other end.
///
/// # Errors
/// [`ConfigError`] if there are none or too many, if one is unusable, or if two are the same.
pub fn load_keys(paths: &[PathBuf], credentials: Option<&Path>) -> Result<Vec<Key>, ConfigError> {
    check_count(paths.len())?;
    let mut keys: Vec<Key> = Vec::with_capacity(paths.len());
    for path in paths {
        let permitted = match credentials {
            Some(folder) if path.parent() == Some(folder) => GROUP_READ,
            Some(_) | None => 0,
        };
        let key = load(path, permitted)?;
        let same = keys.iter().position(|other| other.fingerprint() == key.fingerprint());
        if let Some(first) = same.and_then(|index| paths.get(index)) {
            return Err(ConfigError::SameKey { first: first.clone(), second: path.clone() });
        }
        keys.push(key);
    }
    Ok(keys)
}

pub(crate) fn check_count(keys: usize) -> Result<(), ConfigError> {
    match keys {
        0 => Err(ConfigError::NoKey),
        1..=KEYS_MAX => Ok(()),
        count => Err(ConfigError::TooManyKeys { count }),
    }
}

fn load(path: &Path, permitted: u32) -> Result<Key, ConfigError> {
    // Asked before it is opened, because to open a FIFO is to wait, and a device may act on it;
    // and asked again of the open file, because the name may stand for another one by then.
    regular(path, std::fs::metadata(path))?;
    let mut file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let mode = regular(path, file.metadata())?.mode() & 0o7777;
    if mode & NOT_OWNER & !permitted != 0 {
        return Err(ConfigError::KeyExposed { path: path.to_owned(), mode });
    }
    let bytes = read(&mut file, path)?;
    Key::from_file_bytes(&bytes).map_err(|error| match error {
        KeyError::Empty => ConfigError::KeyEmpty { path: path.to_owned() },
        KeyError::TooShort { len } => ConfigError::KeyTooShort { path: path.to_owned(), len },
    })
}

fn regular(path: &Path, metadata: io::Result<Metadata>) -> Result<Metadata, ConfigError> {
    match metadata {
        Ok(metadata) if metadata.is_file() => Ok(metadata),
        Ok(_) => Err(ConfigError::KeyNotRegular { path: path.to_owned() }),
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// The whole file, in one buffer that never moves: a growing one would leave copies behind.
fn read(file: &mut File, path: &Path) -> Result<Zeroizing<Vec<u8>>, ConfigError> {
    let mut buffer = Zeroizing::new(vec![0; KEY_FILE_MAX + 1]);
    let mut filled = 0;
    loop {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(path, &error)),
        }
    }
    if filled > KEY_FILE_MAX {
        return Err(ConfigError::KeyTooLong { path: path.to_owned() });
    }
    buffer.truncate(filled);
    Ok(buffer)
}

fn unreadable(path: &Path, error: &io::Error) -> ConfigError {
    let path = path.to_owned();
    match error.kind() == io::ErrorKind::NotFound {
        true => ConfigError::KeyMissing { path },
        false => ConfigError::KeyUnreadable { path, kind: error.kind() },
    }
}

#[cfg(test)]
mod tests;
