//! The command line from outside: each wrong input gives one clear sentence and its exit status,
//! and leaves nothing behind; what is right starts and ends as it should.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test fails by panicking")]

#[path = "cli/tools.rs"]
mod tools;

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;

use tools::{Daemon, Folder, finish, run, sleeve};

/// It ends with this status, says one sentence that has all of these words, and nothing else.
#[track_caller]
fn refused(args: &[&str], status: i32, words: &[&str]) {
    let output = run(sleeve(args));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "{args:?}");
    let sentence = said.strip_prefix("sleeve: ").and_then(|rest| rest.strip_suffix('\n'));
    let sentence = sentence.unwrap_or_else(|| panic!("{args:?} said {said:?}"));
    assert!(!sentence.contains(['\n', '\x1b']) && !sentence.ends_with('.'), "{said:?}");
    let next_step = sentence.contains(": ") || sentence.contains("; ");
    assert!(next_step, "{args:?} says no next step: {said:?}");
    for word in words {
        assert!(said.contains(word), "{args:?} says nothing of {word:?}: {said:?}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn help_fits_one_screen_and_names_what_there_is() {
    for args in [["help"], ["--help"], ["-h"]] {
        let output = run(sleeve(&args));
        let help = String::from_utf8(output.stdout).unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
        assert!(help.lines().count() <= 24, "{help}");
        for word in ["keygen", "server", "client", "ab", "beside Redis", "beside the application"] {
            assert!(help.contains(word), "{word}");
        }
        for absent in ["sleeve run", "check", "status", "import", "completions"] {
            assert!(!help.contains(&format!("  {absent} ")), "{absent} is not there yet");
        }
    }
    for command in ["keygen", "server", "client", "ab"] {
        let output = run(sleeve(&["help", command]));
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8(output.stdout).unwrap().contains("  sleeve "), "an example");
    }
}

#[test]
fn version() {
    for flag in ["--version", "-V"] {
        let output = run(sleeve(&[flag]));
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(output.stdout, concat!("sleeve ", env!("CARGO_PKG_VERSION"), "\n").as_bytes());
    }
}

#[test]
fn without_a_command_the_help_is_shown_as_an_error() {
    let output = run(sleeve(&[]));
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(String::from_utf8(output.stderr).unwrap().contains("Usage: sleeve <COMMAND>"));
}

#[test]
fn command_lines_that_cannot_be_understood() {
    refused(&["serve"], 2, &["no command \"serve\"", "write server", "sleeve help"]);
    refused(&["--verbose"], 2, &["no flag --verbose"]);
    refused(&["help", "nothing"], 2, &["no command \"nothing\""]);
    refused(&["server"], 2, &["--listen <ADDR>", "--target <ADDR>", "--key <FILE>"]);
    refused(&["client"], 2, &["--listen <ADDR>", "--server <ADDR>", "--key <FILE>"]);
    refused(&["keygen", "a", "b"], 2, &["\"b\" belongs to no flag", "sleeve help keygen"]);
    refused(&["keygen", "--force"], 2, &["no flag --force"]);
    refused(&["ab", "--clients", "0"], 2, &["from 1 to 2000"]);
    refused(&["ab", "--clients", "1,x"], 2, &["--clients", "\"x\"", "whole number"]);
    refused(&["ab", "--duration", "2"], 2, &["--duration", "unit"]);
}

#[test]
fn flags_with_wrong_values() {
    let folder = Folder::new("flags");
    let key = folder.key("key");
    let socket = folder.path("app.sock");
    let listen = format!("unix:{}", socket.display());
    let good = ["client", "--listen", &listen, "--server", "127.0.0.1:9", "--key", text(&key)];
    let table: [(&[&str], &[&str]); 17] = [
        (&["--lisen", "x"], &["no flag --lisen", "write --listen"]),
        (&["--target", "127.0.0.1:1"], &["no flag --target", "sleeve help client"]),
        (&["--listen"], &["--listen has no value"]),
        (&["--key", ""], &["--key has no value"]),
        (&["127.0.0.1:1"], &["\"127.0.0.1:1\" belongs to no flag"]),
        (&["--framing", "tls"], &["--framing", "\"tls\"", "adaptive or padded"]),
        (&["--framing", "adaptive,padded"], &["--framing", "adaptive or padded"]),
        (&["--max-streams", "0"], &["--max-streams", "from 1 to 4096"]),
        (&["--max-streams", "4097"], &["--max-streams", "from 1 to 4096"]),
        (&["--max-streams", "-1"], &["no flag -1"]),
        (&["--workers", "65"], &["--workers", "from 1 to 64"]),
        (&["--connect-timeout", "5"], &["--connect-timeout", "\"5\"", "5s"]),
        (&["--connect-timeout", "0s"], &["--connect-timeout", "from 10ms to 10m"]),
        (&["--drain", "1h"], &["--drain", "unit"]),
        (&["--drain", "1s", "--drain", "2s"], &["--drain can be given once"]),
        (&["--log-level", "loud"], &["--log-level", "error, warn, info, debug, trace"]),
        (&["--log-format", "xml"], &["--log-format", "text, json"]),
    ];
    for (more, words) in table {
        refused(&[&good, more].concat(), 2, words);
        assert!(!socket.exists(), "{more:?} left a socket");
    }
}

#[test]
fn addresses_that_do_not_parse() {
    let folder = Folder::new("addresses");
    let key = folder.key("key");
    let long = format!("unix:{}/{}", folder.path("").display(), "s".repeat(108));
    let table = [
        ("", "empty"),
        ("6379", "port is missing"),
        ("localhost", "port is missing"),
        (":6379", "host is missing"),
        ("localhost:redis", "0 to 65535"),
        ("localhost:65536", "0 to 65535"),
        ("::1:6379", "write it like [::1]:6379"),
        ("[localhost]:6379", "brackets"),
        ("127.0.0.256:6379", "IPv4"),
        ("redis://localhost:6379", "host name"),
        ("/run/redis.sock", "write unix:/path"),
        ("unix:", "path is missing"),
        ("unix:redis.sock", "in full"),
        ("unix:@", "name is missing"),
        ("systemd:", "name is missing"),
        ("host\nname:1\x1b[31m", "host\\nname:1\\u{1b}[31m"),
        (&long, "107"),
    ];
    for (address, word) in table {
        for [flag, other] in [["--listen", "--target"], ["--target", "--listen"]] {
            let args = ["server", flag, address, other, "127.0.0.1:9", "--key", text(&key)];
            refused(&args, 2, &[flag, word]);
        }
        let args = ["client", "--listen", "127.0.0.1:0", "--server", address, "--key", text(&key)];
        refused(&args, 2, &["--server", word]);
    }
}

#[test]
fn key_files_that_are_no_keys() {
    let folder = Folder::new("keys");
    let socket = folder.path("app.sock");
    let listen = format!("unix:{}", socket.display());
    let good = folder.key("good");
    let fifo = folder.path("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let table = [
        (folder.path("nothing"), "sleeve keygen"),
        (good.join("below"), "cannot read"),
        (folder.path(""), "regular file"),
        (fifo, "regular file"),
        (folder.file("empty", b"", 0o600), "is empty"),
        (folder.file("short", &[7; 31], 0o600), "31 bytes"),
        (folder.file("guess", &[7; 31], 0o600), "guessed offline"),
        (folder.file("long", &[7; 65537], 0o600), "65536"),
        (folder.file("group", &[7; 32], 0o640), "mode 0640"),
        (folder.file("others", &[7; 32], 0o604), "chmod 600"),
        (folder.file("writable", &[7; 32], 0o622), "mode 0622"),
    ];
    for (path, word) in table {
        let path = text(&path);
        for keys in [&["--key", path][..], &["--key", text(&good), "--key", path]] {
            let client = ["client", "--listen", &listen, "--server", "127.0.0.1:9"];
            refused(&[&client, keys].concat(), 78, &[path, word]);
            let server = ["server", "--listen", "127.0.0.1:0", "--target", "127.0.0.1:9"];
            refused(&[&server, keys].concat(), 78, &[path, word]);
        }
        assert!(!socket.exists(), "{path} left a socket");
    }
    let twice = ["--key", text(&good), "--key", text(&good)];
    let server = ["server", "--listen", "127.0.0.1:0", "--target", "127.0.0.1:9"];
    refused(&[&server[..], &twice].concat(), 78, &["the same key"]);
}

#[test]
fn plans_that_cannot_be_carried_out() {
    let folder = Folder::new("plans");
    let key = folder.key("key");
    let own = format!("unix:{}", folder.path("app.sock").display());
    let server = |listen: &str, target: &str, words: &[&str]| {
        let args = ["server", "--listen", listen, "--target", target, "--key", text(&key)];
        refused(&args, 78, words);
    };
    let client = |listen: &str, server: &str, words: &[&str]| {
        let args = ["client", "--listen", listen, "--server", server, "--key", text(&key)];
        refused(&args, 78, words);
    };
    server("127.0.0.1:7379", "127.0.0.1:7379", &["own listener", "--listen 127.0.0.1:7379"]);
    server("0.0.0.0:7379", "127.0.0.1:7379", &["own listener"]);
    server("0.0.0.0:7379", "localhost:7379", &["own listener"]);
    server("[::]:7379", "[::1]:7379", &["own listener"]);
    client("127.0.0.1:6379", "db:7379,127.0.0.1:6379", &["own listener"]);
    server("127.0.0.1:7379", "127.0.0.1:0", &["127.0.0.1:0", "port"]);
    server("127.0.0.1:7379", "systemd:redis", &["systemd:redis", "listened at"]);
    client("127.0.0.1:6379", "systemd:redis", &["systemd:redis"]);
    client("127.0.0.1:6379", &own, &["TCP"]);
    server(&own, "127.0.0.1:6379", &["TCP"]);
    let key = text(&key);
    let args = ["client", "--listen", &own, "--listen", &own, "--server", "db:7379", "--key", key];
    refused(&args, 78, &["given twice"]);
    assert!(!folder.path("app.sock").exists());
}

#[test]
fn ports_in_use() {
    let folder = Folder::new("ports");
    let key = folder.key("key");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let first = folder.path("first.sock");
    let listen = format!("unix:{}", first.display());
    let args = ["--listen", &listen, "--listen", &address, "--server", "db:1", "--key", text(&key)];
    refused(&[&["client"], &args[..]].concat(), 1, &[&address, "another process listens"]);
    assert!(!first.exists(), "the first listener was left behind");
}

#[test]
fn files_in_the_way_of_a_unix_socket_are_kept() {
    let folder = Folder::new("in-the-way");
    let key = folder.key("key");
    let living = folder.path("living.sock");
    let listener = UnixListener::bind(&living).unwrap();
    let plain = folder.file("plain", b"precious", 0o644);
    for (path, word) in [(&living, "living process"), (&plain, "not a socket")] {
        let listen = format!("unix:{}", path.display());
        let args = ["client", "--listen", &listen, "--server", "db:1", "--key", text(&key)];
        refused(&args, 1, &[&listen, word]);
    }
    assert_eq!(fs::read(&plain).unwrap(), b"precious");
    std::os::unix::net::UnixStream::connect(&living).unwrap();
    drop(listener);
}

#[test]
fn keygen_makes_a_file_for_its_owner_only() {
    let folder = Folder::new("keygen");
    for umask in ["000", "022", "077", "777"] {
        let path = folder.path(umask);
        let line = format!("umask {umask}; exec \"$0\" keygen \"$1\"");
        let mut command = tools::shell(&line);
        command.arg(&path);
        let output = run(command);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{said}");
        let meta = fs::metadata(&path).unwrap();
        assert_eq!((meta.mode() & 0o7777, meta.len()), (0o600, 32), "umask {umask}");
        assert!(said.contains(text(&path)) && said.contains("fingerprint "), "{said}");
        assert!(said.contains("sleeve server") && said.contains("sleeve client"), "{said}");
    }
    assert_ne!(fs::read(folder.path("000")).unwrap(), fs::read(folder.path("022")).unwrap());
}

#[test]
fn keygen_never_overwrites() {
    let folder = Folder::new("overwrite");
    let file = folder.file("file", b"precious", 0o600);
    let dangling = folder.path("dangling");
    symlink(folder.path("elsewhere"), &dangling).unwrap();
    for path in [file.as_path(), &dangling, file.parent().unwrap()] {
        refused(&["keygen", text(path)], 1, &["exists", text(path)]);
    }
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    assert!(!folder.path("elsewhere").exists(), "the link was followed");
    let nowhere = folder.path("no/where");
    refused(&["keygen", text(&nowhere)], 1, &["cannot make", text(&nowhere)]);
}

#[test]
fn keygen_removes_what_it_could_not_write() {
    let folder = Folder::new("full");
    let path = folder.path("key");
    // A limit on the length of files stands for a full disk.
    let mut command = tools::shell("trap '' XFSZ; ulimit -f 0; exec \"$0\" keygen \"$1\"");
    command.arg(&path);
    let output = run(command);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write") && said.contains("removed"), "{said}");
    assert!(!path.exists());
}

#[test]
fn keygen_without_a_file_writes_raw_bytes_but_not_to_a_terminal() {
    let keys: Vec<Vec<u8>> = (0..2).map(|_| run(sleeve(&["keygen"])).stdout).collect();
    assert_eq!([keys[0].len(), keys[1].len()], [32, 32]);
    assert_ne!(keys[0], keys[1]);

    let mut command = tools::terminal("keygen");
    command.env_remove("NO_COLOR");
    let output = run(command);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("sleeve keygen FILE"), "{said}");
    assert!(said.contains("\x1b["), "a terminal has colours: {said:?}");
    let mut command = tools::terminal("keygen");
    command.env("NO_COLOR", "1");
    let said = String::from_utf8(run(command).stdout).unwrap();
    assert!(!said.contains("\x1b["), "unless they are not wanted: {said:?}");
}

#[test]
fn a_reader_that_went_away_is_success_and_a_full_disk_is_not() {
    let folder = Folder::new("output");
    let key = folder.path("key");
    for args in [&["help"][..], &["--version"], &["keygen", text(&key)], &["keygen"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = sleeve(args);
        command.stdout(writer);
        let output = run(command);
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{args:?}");
    }
    assert!(key.exists());
    let mut command = sleeve(&["help"]);
    command.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
    let output = run(command);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("standard output"));
}

/// Both ends start without peers and without name servers, say so when they listen, and end with
/// 0; the key shows nowhere, whatever is logged.
#[test]
fn both_ends_start_alone_and_end_in_order() {
    let folder = Folder::new("start");
    let secret = b"an-open-secret-that-is-32-bytes-long-at-least";
    let key = folder.file("key", secret, 0o600);
    let socket = folder.path("app.sock");
    let listen = format!("unix:{}", socket.display());
    let client =
        ["client", "--listen", &listen, "--server", "nobody.invalid:7379", "--key", text(&key)];
    let server =
        ["server", "--listen", "127.0.0.1:0", "--target", "127.0.0.1:9", "--key", text(&key)];
    for args in [client, server] {
        let args = [&args[..], &["--log-level", "trace", "--drain", "0s"]].concat();
        let daemon = Daemon::start(&folder, sleeve(&args));
        let state = fs::read_to_string(format!("/proc/{}/cmdline", daemon.id())).unwrap();
        let said = daemon.end();
        assert!(said.contains("listening"), "{said}");
        assert!(!said.contains('\x1b'), "{said}");
        assert!(!said.contains("open-secret") && !state.contains("open-secret"));
        assert!(!socket.exists(), "the socket was left behind");
    }
}

#[test]
fn dead_unix_sockets_are_replaced() {
    let folder = Folder::new("dead");
    let key = folder.key("key");
    let socket = folder.path("app.sock");
    drop(UnixListener::bind(&socket).unwrap());
    assert!(socket.exists());
    let listen = format!("unix:{}", socket.display());
    let args = ["client", "--listen", &listen, "--server", "127.0.0.1:9", "--key", text(&key)];
    let daemon = Daemon::start(&folder, sleeve(&args));
    std::os::unix::net::UnixStream::connect(&socket).unwrap();
    daemon.end();
    assert!(!socket.exists());
}

#[test]
fn logs_are_text_or_json_and_leave_time_to_the_journal() {
    let folder = Folder::new("logs");
    let key = folder.key("key");
    let args =
        ["server", "--listen", "127.0.0.1:0", "--target", "127.0.0.1:9", "--key", text(&key)];

    let json = Daemon::start(&folder, sleeve(&[&args[..], &["--log-format", "json"]].concat()));
    for line in json.end().lines() {
        assert!(line.starts_with("{\"timestamp\":\"") && line.ends_with('}'), "{line}");
    }

    let quiet = Daemon::start(&folder, sleeve(&[&args[..], &["--log-level", "error"]].concat()));
    assert_eq!(quiet.end(), "");

    // systemd names the file that leads to the journal by its device and its number.
    let path = folder.file("journal", b"", 0o600);
    let file = fs::File::options().append(true).open(&path).unwrap();
    let meta = file.metadata().unwrap();
    for (name, journal) in [(format!("{}:{}", meta.dev(), meta.ino()), true), ("1:2".into(), false)]
    {
        let mut command = sleeve(&args);
        command.env("JOURNAL_STREAM", &name).stderr(Stdio::from(file.try_clone().unwrap()));
        Daemon::start(&folder, command).end();
        let mut said = String::new();
        fs::File::open(&path).unwrap().read_to_string(&mut said).unwrap();
        fs::File::options().write(true).truncate(true).open(&path).unwrap();
        assert!(said.contains("listening"), "{said}");
        for line in said.lines() {
            assert_eq!(line.starts_with("<6>"), journal, "{line}");
            assert_eq!(line.starts_with("20"), !journal, "{line}");
        }
    }
}

#[test]
fn credentials_of_systemd_may_show_the_mask_of_their_access_list() {
    let folder = Folder::new("credentials");
    let key = folder.file("key", &[7; 32], 0o440);
    let args =
        ["server", "--listen", "127.0.0.1:0", "--target", "127.0.0.1:9", "--key", text(&key)];
    refused(&args, 78, &["mode 0440"]);
    let mut command = sleeve(&args);
    command.env("CREDENTIALS_DIRECTORY", key.parent().unwrap());
    Daemon::start(&folder, command).end();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o444)).unwrap();
    let mut command = sleeve(&args);
    command.env("CREDENTIALS_DIRECTORY", key.parent().unwrap());
    assert_eq!(finish(command).code(), Some(78));
}
