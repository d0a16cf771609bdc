use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// A folder of one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("sleeve-keys-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn file(&self, name: &str, bytes: &[u8], mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn one(path: &Path) -> Result<(), ConfigError> {
    load_keys(&[path.to_owned()], None).map(|_| ())
}

#[test]
fn keys_come_in_the_order_of_their_files() {
    let folder = Folder::new();
    let first = folder.file("first", &[1; 32], 0o600);
    let second = folder.file("second", &[2; 64], 0o400);
    let keys = load_keys(&[first, second], None).unwrap();
    let expected = [Key::from_file_bytes(&[1; 32]), Key::from_file_bytes(&[2; 64])];
    let fingerprints = expected.map(|key| key.unwrap().fingerprint());
    assert_eq!(keys.iter().map(Key::fingerprint).collect::<Vec<_>>(), fingerprints);
}

#[test]
fn lengths_have_bounds() {
    let folder = Folder::new();
    let empty = folder.file("empty", b"", 0o600);
    assert_eq!(one(&empty), Err(ConfigError::KeyEmpty { path: empty.clone() }));
    let short = folder.file("short", &[1; 31], 0o600);
    assert_eq!(one(&short), Err(ConfigError::KeyTooShort { path: short.clone(), len: 31 }));
    assert_eq!(one(&folder.file("longest", &[1; KEY_FILE_MAX], 0o600)), Ok(()));
    let long = folder.file("long", &[1; KEY_FILE_MAX + 1], 0o600);
    assert_eq!(one(&long), Err(ConfigError::KeyTooLong { path: long.clone() }));
}

#[test]
fn every_permission_of_group_and_others_is_refused() {
    let folder = Folder::new();
    for bit in 0..6 {
        let mode = 0o600 | 1 << bit;
        let path = folder.file("key", &[1; 32], mode);
        assert_eq!(one(&path), Err(ConfigError::KeyExposed { path: path.clone(), mode }));
    }
    assert_eq!(one(&folder.file("key", &[1; 32], 0o700)), Ok(()));
}

#[test]
fn a_credential_may_show_the_mask_of_its_access_list() {
    let folder = Folder::new();
    let below =
        |mode| load_keys(&[folder.file("key", &[1; 32], mode)], Some(&folder.0)).map(|_| ());
    assert_eq!(below(0o400), Ok(()));
    assert_eq!(below(0o440), Ok(()));
    for mode in [0o460, 0o450, 0o444, 0o402, 0o401] {
        assert_eq!(below(mode), Err(ConfigError::KeyExposed { path: folder.path("key"), mode }));
    }
    let elsewhere = [folder.file("key", &[1; 32], 0o440)];
    assert!(load_keys(&elsewhere, Some(Path::new("/run/credentials"))).is_err());
}

#[test]
fn only_regular_files_are_read() {
    let folder = Folder::new();
    let refused = |path: PathBuf| {
        assert_eq!(one(&path), Err(ConfigError::KeyNotRegular { path: path.clone() }));
    };
    refused(folder.0.clone());
    refused(PathBuf::from("/dev/null"));
    let fifo = folder.path("fifo");
    assert!(Command::new("mkfifo").args(["-m", "600"]).arg(&fifo).status().unwrap().success());
    refused(fifo);
    let socket = folder.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    refused(socket);
}

#[test]
fn symbolic_links_are_followed_to_the_file_that_counts() {
    let folder = Folder::new();
    folder.file("target", &[1; 32], 0o600);
    let link = folder.path("link");
    symlink("target", &link).unwrap();
    assert_eq!(one(&link), Ok(()));
    folder.file("target", &[1; 32], 0o644);
    assert_eq!(one(&link), Err(ConfigError::KeyExposed { path: link.clone(), mode: 0o644 }));
    let dangling = folder.path("dangling");
    symlink("nowhere", &dangling).unwrap();
    assert_eq!(one(&dangling), Err(ConfigError::KeyMissing { path: dangling.clone() }));
    let circle = folder.path("circle");
    symlink("circle", &circle).unwrap();
    assert!(matches!(one(&circle), Err(ConfigError::KeyUnreadable { .. })));
}

#[test]
fn what_is_not_there_is_missing() {
    let folder = Folder::new();
    let file = folder.file("file", &[1; 32], 0o600);
    for path in [folder.path("nothing"), PathBuf::new()] {
        assert_eq!(one(&path), Err(ConfigError::KeyMissing { path: path.clone() }));
    }
    let below = file.join("below");
    let kind = io::ErrorKind::NotADirectory;
    assert_eq!(one(&below), Err(ConfigError::KeyUnreadable { path: below.clone(), kind }));
}

#[test]
fn the_same_key_twice_is_refused() {
    let folder = Folder::new();
    let first = folder.file("first", &[1; 32], 0o600);
    let other = folder.file("other", &[2; 32], 0o600);
    let second = folder.file("second", &[1; 32], 0o600);
    let same = ConfigError::SameKey { first: first.clone(), second: second.clone() };
    assert_eq!(load_keys(&[first, other, second], None).map(|_| ()), Err(same));
}

#[test]
fn the_number_of_keys_has_bounds() {
    let folder = Folder::new();
    let path = |number: u8| folder.file(&format!("{number}"), &[number; 32], 0o600);
    let paths: Vec<PathBuf> = (0..65).map(path).collect();
    assert_eq!(load_keys(&[], None).map(|_| ()), Err(ConfigError::NoKey));
    assert_eq!(load_keys(&paths[..64], None).map(|keys| keys.len()), Ok(64));
    let too_many = ConfigError::TooManyKeys { count: 65 };
    assert_eq!(load_keys(&paths, None).map(|_| ()), Err(too_many));
}
