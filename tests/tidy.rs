//! House rules that neither the compiler nor clippy knows. Each fault is printed as `file:line`
//! with what to do instead. Nothing is built or run here: it reads files, and is fast.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The reading order: a package may depend on those before it, never on those after it.
const LINE: [&str; 7] = [
    "sleeve-wire",
    "sleeve-seal",
    "sleeve-session",
    "sleeve-config",
    "sleeve-engine",
    "sleeve-lab",
    "sleeve",
];
/// Beside the line: for tests, and so nothing's normal dependency.
const BESIDE: &str = "sleeve-sim";
/// What the pure crates may use from outside. A further name here is a decision, not a repair:
/// it has to have no clock, no sockets, no threads and no randomness of its own.
const PURE: [(&str, &[&str]); 4] = [
    ("wire", &[]),
    (
        "seal",
        &[
            "aes",
            "aes-gcm",
            "aws-lc-rs",
            "hkdf",
            "hmac",
            "sha2",
            "snow",
            "subtle",
            "x25519-dalek",
            "zeroize",
        ],
    ),
    ("session", &["zeroize"]),
    ("config", &["zeroize"]),
];
/// Most lines of a source file.
const FILE_MAX: usize = 600;
/// Most packages in the lock file, this workspace's own included: about what there are, so that
/// a dependency that brings many others is noticed.
const PACKAGES_MAX: usize = 130;
/// The one file that may leave the safe language: system calls that no well-kept crate wraps.
const SYSTEM_CALLS: &str = "crates/engine/src/sys.rs";
/// Lines above a block that leaves the safe language among which its reason has to stand.
const REASON_WITHIN: usize = 8;
/// Fewest lines that say what a crate is.
const CRATE_DOC_MIN: usize = 3;

struct Source {
    /// From the root, with slashes.
    path: String,
    text: String,
}

#[derive(Default)]
struct Faults(String);

impl Faults {
    fn add(&mut self, path: &str, line: usize, what: &str) {
        writeln!(self.0, "{path}:{line}: {what}").expect("a string takes everything");
    }

    fn none(self) {
        assert!(self.0.is_empty(), "house rules are broken:\n{}", self.0);
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> Source {
    let text = fs::read_to_string(root().join(path));
    let text = text.unwrap_or_else(|e| panic!("{path}:1: cannot be read: {e}"));
    Source { path: path.to_owned(), text }
}

/// All files below `dir` with one of these extensions, in the order of their names.
fn sources(dir: &str, extensions: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root().join(dir), extensions, &mut found);
    found.sort();
    let name = |path: &PathBuf| {
        let below = path.strip_prefix(root()).expect("what is below the root begins with it");
        below.to_string_lossy().replace('\\', "/")
    };
    found.iter().map(|path| read(&name(path))).collect()
}

fn collect(dir: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if name != "target" && name != ".git" {
                collect(&path, extensions, found);
            }
        } else if extensions.iter().any(|e| name.ends_with(&format!(".{e}"))) {
            found.push(path);
        }
    }
}

/// Whether `needle` stands in `line` as a word of its own.
fn has_word(line: &str, needle: &str) -> bool {
    let in_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(needle).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + needle.len()..]);
        !in_word(before.chars().next_back()) && !in_word(after.chars().next())
    })
}

/// What of a line is code, as far as it can be told without parsing.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

fn is_test_file(path: &str) -> bool {
    let below_tests = path.split('/').any(|part| part == "tests" || part == "benches");
    below_tests || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

/// Number of lines before the test module at the end of a source file.
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |at: usize| {
        let attribute = |line: &&&str| line.trim_start().starts_with("#[");
        lines[at].trim() == "#[cfg(test)]"
            && lines[at..].iter().find(|line| !attribute(line)).is_some_and(|l| has_word(l, "mod"))
    };
    (0..lines.len()).find(|&at| begins(at)).unwrap_or(lines.len())
}

struct Dependency {
    name: String,
    line: usize,
}

/// The normal and build dependencies in a manifest, those of targets too.
fn dependencies(manifest: &Source) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut listed = false;
    for (number, line) in (1..).zip(manifest.text.lines()) {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            let of = |part: &str| part == "dependencies" || part == "build-dependencies";
            let is_workspace = section.starts_with("workspace");
            let parts: Vec<&str> = section.split('.').collect();
            listed = !is_workspace && parts.last().copied().is_some_and(of);
            // The long form: [dependencies.name].
            if let [.., section, name] = parts[..]
                && !is_workspace
                && of(section)
            {
                found.push(Dependency { name: name.to_owned(), line: number });
            }
        } else if listed && !line.is_empty() && !line.starts_with('#') {
            let name: String = line.chars().take_while(|c| !". =".contains(*c)).collect();
            found.push(Dependency { name, line: number });
        }
    }
    found
}

fn manifests() -> Vec<(String, Source)> {
    let all = sources("crates", &["toml"]).into_iter().chain([read("Cargo.toml")]);
    let manifests = all.filter(|source| source.path.ends_with("Cargo.toml"));
    let named = manifests.map(|source| {
        let name = source.text.lines().find_map(|line| line.strip_prefix("name = "));
        (name.expect("a manifest names its package").trim_matches('"').to_owned(), source)
    });
    named.collect()
}

#[test]
fn crates_depend_leftwards_only() {
    let mut faults = Faults::default();
    for (package, manifest) in manifests() {
        let own = match LINE.iter().position(|name| *name == package) {
            Some(place) => place,
            // The simulator drives the pure crates, and knows nothing of what moves bytes.
            None if package == BESIDE => 3,
            None => {
                let what = "no place in the reading order: give it one in LINE and in Cargo.toml";
                faults.add(&manifest.path, 1, &format!("package {package} has {what}"));
                continue;
            }
        };
        for Dependency { name, line } in dependencies(&manifest) {
            if name == BESIDE {
                let what = "sleeve-sim is for tests: put it under [dev-dependencies]";
                faults.add(&manifest.path, line, what);
            } else if LINE.iter().position(|left| *left == name).is_some_and(|place| place >= own) {
                let what = format!(
                    "{package} may not depend on {name}, which stands to its right: move what is \
                     needed to the left, or take it as an argument"
                );
                faults.add(&manifest.path, line, &what);
            } else if name.starts_with("sleeve") && !LINE.contains(&name.as_str()) {
                faults.add(
                    &manifest.path,
                    line,
                    &format!("{name} is no package of this workspace"),
                );
            }
        }
    }
    faults.none();
}

#[test]
fn members_stand_in_reading_order() {
    let manifest = read("Cargo.toml");
    let members: Vec<String> = manifest
        .text
        .lines()
        .skip_while(|line| *line != "members = [")
        .skip(1)
        .take_while(|line| *line != "]")
        .filter_map(|line| Some(line.trim().strip_prefix("\"crates/")?.split('"').next()?.into()))
        .collect();
    let order = LINE.iter().chain([&BESIDE]).filter_map(|name| name.strip_prefix("sleeve-"));
    assert!(
        order.eq(members.iter().map(String::as_str)),
        "Cargo.toml:1: members are {members:?}: list them in the order of LINE in tests/tidy.rs"
    );
}

#[test]
fn pure_crates_use_what_they_may() {
    let mut faults = Faults::default();
    for (name, allowed) in PURE {
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        for dependency in dependencies(&manifest) {
            let outside = !dependency.name.starts_with("sleeve-");
            if outside && !allowed.contains(&dependency.name.as_str()) {
                let what = format!(
                    "{name} may not use {}: take what it gives as an argument, or move the code \
                     to engine; if it is pure, add it to PURE in tests/tidy.rs",
                    dependency.name
                );
                faults.add(&manifest.path, dependency.line, &what);
            }
        }
    }
    faults.none();
}

#[test]
fn files_are_short_enough_to_be_read() {
    let mut faults = Faults::default();
    for dir in ["crates", "tests", "benches"] {
        for source in sources(dir, &["rs"]) {
            let lines = source.text.lines().count();
            if lines > FILE_MAX {
                let what = format!(
                    "{lines} lines, {FILE_MAX} are allowed: split it at a noun, or move its tests \
                     to a file of their own"
                );
                faults.add(&source.path, FILE_MAX + 1, &what);
            }
        }
    }
    faults.none();
}

/// Words that may stand nowhere, and what to do instead. They are put together here, so that
/// this file may be searched too.
fn banned() -> Vec<(String, &'static str)> {
    let marker = "do it, or file an issue and say what holds without it";
    vec![
        (["TO", "DO"].concat(), marker),
        (["FIX", "ME"].concat(), marker),
        (["X", "XX"].concat(), marker),
        (["HA", "CK"].concat(), "say why it is so, or do it properly"),
    ]
}

fn banned_parts() -> Vec<(String, &'static str)> {
    let outside = "name nothing outside of the project: say here what it says there";
    vec![
        (["#[ig", "nore"].concat(), "a test that does not run proves nothing: mend or delete it"),
        (["/wo", "rk/"].concat(), outside),
        (["../sha", "red"].concat(), outside),
    ]
}

#[test]
fn no_banned_words() {
    let mut faults = Faults::default();
    let (words, parts) = (banned(), banned_parts());
    for source in sources("", &["rs", "md", "toml"]) {
        for (number, line) in (1..).zip(source.text.lines()) {
            for (word, instead) in words.iter().filter(|(word, _)| has_word(line, word)) {
                faults.add(&source.path, number, &format!("{word}: {instead}"));
            }
            for (part, instead) in parts.iter().filter(|(part, _)| line.contains(part)) {
                faults.add(&source.path, number, &format!("{part}: {instead}"));
            }
        }
    }
    faults.none();
}

#[test]
fn nothing_is_unwrapped_outside_of_tests() {
    let mut faults = Faults::default();
    let needle = [".unw", "rap()"].concat();
    for source in sources("crates", &["rs"]) {
        if is_test_file(&source.path) {
            continue;
        }
        let end = lines_before_tests(&source.text);
        for (number, line) in (1..).zip(source.text.lines().take(end)) {
            if code(line).contains(&needle) {
                let what = format!("{needle}: handle it, or say why it cannot fail with expect");
                faults.add(&source.path, number, &what);
            }
        }
    }
    faults.none();
}

#[test]
fn lints_are_silenced_with_a_reason() {
    let mut faults = Faults::default();
    let openings = ["#[", "#!["].into_iter();
    let needles: Vec<String> =
        openings.flat_map(|o| ["allow(", "expect("].map(|word| [o, word].concat())).collect();
    for source in sources("", &["rs"]) {
        let found = needles.iter().flat_map(|needle| source.text.match_indices(needle.as_str()));
        for (at, _) in found {
            let attribute = source.text[at..].split(']').next().unwrap_or_default();
            if !has_word(attribute, "reason") {
                let line = source.text[..=at].lines().count();
                let what = "a lint is silenced without a reason: add `reason = \"...\"`";
                faults.add(&source.path, line, what);
            }
        }
    }
    faults.none();
}

#[test]
fn pure_crates_share_one_clippy_file() {
    let mut faults = Faults::default();
    let path = |name: &str| format!("crates/{name}/.clippy.toml");
    let first = read(&path(PURE[0].0));
    for (name, _) in PURE {
        let other = read(&path(name));
        let lines = first.text.lines().zip(other.text.lines());
        if let Some((number, _)) = (1..).zip(lines).find(|(_, (a, b))| a != b) {
            faults.add(&other.path, number, &format!("differs from {}: copy that", first.path));
        } else if first.text.lines().count() != other.text.lines().count() {
            faults.add(
                &other.path,
                1,
                &format!("differs in length from {}: copy that", first.path),
            );
        }
    }
    // A crate's own file replaces the root's; it is not merged with it.
    for (number, key) in (1..).zip(read(".clippy.toml").text.lines()) {
        if !key.is_empty() && !first.text.lines().any(|line| line == key) {
            let what = format!("`{key}` is missing in {}: repeat it there", first.path);
            faults.add(".clippy.toml", number, &what);
        }
    }
    faults.none();
}

#[test]
fn the_safe_language_is_left_in_one_file_with_reasons() {
    let mut faults = Faults::default();
    let forbidden = ["#![forbid(uns", "afe_code)]"].concat();
    for (name, _) in PURE {
        let root = read(&format!("crates/{name}/src/lib.rs"));
        if !root.text.lines().any(|line| line == forbidden) {
            faults.add(&root.path, 1, &format!("a pure crate says {forbidden}: add it"));
        }
    }
    let word = ["uns", "afe"].concat();
    for source in sources("", &["rs"]) {
        let lines: Vec<&str> = source.text.lines().collect();
        for at in (0..lines.len()).filter(|&at| has_word(code(lines[at]), &word)) {
            let above = &lines[at.saturating_sub(REASON_WITHIN)..at];
            if source.path != SYSTEM_CALLS {
                let what = format!("{word} code: it belongs to {SYSTEM_CALLS}, if anywhere");
                faults.add(&source.path, at + 1, &what);
            } else if !above.iter().any(|line| line.contains("SAFETY:")) {
                let what = format!("{word} without a SAFETY comment above it: say why it is sound");
                faults.add(&source.path, at + 1, &what);
            }
        }
    }
    faults.none();
}

#[test]
fn the_lock_file_stays_within_its_budget() {
    let lock = read("Cargo.lock");
    let packages = lock.text.lines().filter(|line| *line == "[[package]]").count();
    println!("packages in Cargo.lock: {packages} of {PACKAGES_MAX}");
    assert!(
        packages <= PACKAGES_MAX,
        "Cargo.lock:1: {packages} packages, {PACKAGES_MAX} are allowed: find out with `cargo tree` \
         what brought the new ones, switch features off, or write the few lines yourself"
    );
}

#[test]
fn every_crate_says_what_it_is() {
    let mut faults = Faults::default();
    let libraries = LINE.iter().chain([&BESIDE]).filter_map(|name| name.strip_prefix("sleeve-"));
    let roots = libraries.map(|name| format!("crates/{name}/src/lib.rs"));
    for path in roots.chain(["crates/sleeve/main.rs".to_owned()]) {
        let root = read(&path);
        let doc = root.text.lines().take_while(|line| line.starts_with("//!")).count();
        if doc < CRATE_DOC_MIN {
            let what = format!(
                "a crate doc of {doc} lines: say what the crate is, what it deliberately is not, \
                 and in which order to read it"
            );
            faults.add(&path, 1, &what);
        }
    }
    faults.none();
}

#[test]
fn cited_sections_of_the_protocol_exist() {
    let protocol = read("crates/wire/PROTOCOL.md");
    let headings = protocol.text.lines().filter(|line| line.starts_with('#'));
    let sections: Vec<&str> = headings
        .filter_map(|line| line.trim_start_matches('#').split_whitespace().next())
        .collect();
    // A duty is cited by its number, which is written in bold where it is laid down.
    let is_duty = |id: &str| protocol.text.contains(&format!("**{id}**"));
    let mut faults = Faults::default();
    let word = ["PROTO", "COL "].concat();
    for source in sources("", &["rs"]) {
        for (number, line) in (1..).zip(source.text.lines()) {
            for (at, _) in line.match_indices(&word) {
                let rest = line[at + word.len()..].chars();
                let id: String = rest.take_while(|c| c.is_ascii_digit() || *c == '.').collect();
                let id = id.trim_end_matches('.');
                if !id.is_empty() && !sections.contains(&id) && !is_duty(id) {
                    let what = format!("PROTOCOL.md has no {id}: cite the section that says it");
                    faults.add(&source.path, number, &what);
                }
            }
        }
    }
    faults.none();
}
