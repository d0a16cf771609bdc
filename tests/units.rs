//! The units for systemd: it understands every line of them, and they are as closed as their
//! comments say. That their command lines and samples make sound plans is tested beside the parser.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Copies of the units that start the program which was built for this test: systemd-analyze looks
/// for what a unit starts.
struct Units(PathBuf);

impl Units {
    fn new(name: &str) -> Self {
        let id = std::process::id();
        let folder = std::env::temp_dir().join(format!("sleeve-units-{id}-{name}"));
        fs::create_dir(&folder).unwrap();
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd");
        for entry in fs::read_dir(own).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let text = text.replace("/usr/bin/sleeve", env!("CARGO_BIN_EXE_sleeve"));
            fs::write(folder.join(path.file_name().unwrap()), text).unwrap();
        }
        Self(folder)
    }

    fn paths(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }
}

impl Drop for Units {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("{} is left behind: {error}", self.0.display());
        }
    }
}

fn analyze(args: &[&str], path: &Path) -> (bool, String) {
    let output = Command::new("systemd-analyze")
        .args(args)
        .arg(path)
        .env("SYSTEMD_COLORS", "0")
        .output()
        .expect("systemd-analyze is needed: install the package systemd");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn systemd_understands_every_line() {
    let units = Units::new("verify");
    assert_eq!(units.paths().len(), 2);
    for path in units.paths() {
        let (fine, said) = analyze(&["verify", "--man=no"], &path);
        // It ends with success, but not in silence, where it skips a line that it does not know.
        let about_it = path.file_name().and_then(|name| name.to_str()).unwrap();
        assert!(fine && !said.contains(about_it), "{said}");
    }
}

/// The exposure that systemd counts, in tenths: 10 is the network, its addresses and the folder of
/// the system, all of which the program uses.
#[test]
fn the_sandbox_is_closed() {
    let units = Units::new("security");
    for path in units.paths() {
        let (fine, said) =
            analyze(&["security", "--offline=true", "--no-pager", "--threshold=12"], &path);
        assert!(fine, "{said}");
    }
}

#[test]
fn units_tell_where_their_files_are() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    for (unit, side) in [("sleeve-client@.service", "client"), ("sleeve-server@.service", "server")]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd").join(unit);
        let text = fs::read_to_string(path).unwrap();
        let environment = format!("/etc/sleeve/%i-{side}.env");
        assert!(text.contains(&format!("EnvironmentFile={environment}")));
        assert!(text.contains(&format!("AssertPathExists={environment}")));
        assert!(samples.join(format!("{side}.env")).exists());
        assert!(text.contains("LoadCredential=key:/etc/sleeve/%i.key"));
        assert!(text.contains(&format!("sleeve {side} ")) && text.contains("--key %d/key"));
    }
}
