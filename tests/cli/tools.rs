//! How tests start the program: in folders of their own, with a bound on how long it may take.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Far more than anything here takes, on a machine that is busy with other tests.
const BOUND: Duration = Duration::from_secs(60);

/// A folder of one test, removed at its end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sleeve-cli-{}-{name}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn file(&self, name: &str, bytes: &[u8], mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    pub(crate) fn key(&self, name: &str) -> PathBuf {
        self.file(name, &[0x5a; 32], 0o600)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("{} is left behind: {error}", self.0.display());
        }
    }
}

/// The program, with nothing of what the surroundings may tell it.
pub(crate) fn sleeve(args: &[&str]) -> Command {
    clean(env!("CARGO_BIN_EXE_sleeve"), args)
}

/// A line of the shell, with the program as `$0`.
pub(crate) fn shell(line: &str) -> Command {
    clean("sh", &["-c", line, env!("CARGO_BIN_EXE_sleeve")])
}

/// The program on a terminal; what it says on standard error comes out as standard output.
pub(crate) fn terminal(args: &str) -> Command {
    let line = format!("'{}' {args}", env!("CARGO_BIN_EXE_sleeve"));
    clean("script", &["--quiet", "--return", "--command", &line, "/dev/null"])
}

fn clean(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY", "JOURNAL_STREAM", "LISTEN_FDS"] {
        command.env_remove(name);
    }
    command
}

/// Runs a command to its end.
pub(crate) fn run(mut command: Command) -> Output {
    let child = command.spawn().unwrap();
    bounded(&command, child)
}

/// Runs a command to its end, for its status alone.
pub(crate) fn finish(command: Command) -> ExitStatus {
    run(command).status
}

fn bounded(command: &Command, child: Child) -> Output {
    let id = pid(&child);
    let (sender, receiver) = mpsc::channel();
    let waiter = thread::spawn(move || sender.send(child.wait_with_output()).is_ok());
    let Ok(output) = receiver.recv_timeout(BOUND) else {
        kill_process(id, Signal::KILL).unwrap();
        panic!("{command:?} does not end");
    };
    waiter.join().unwrap();
    output.unwrap()
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().try_into().unwrap()).unwrap()
}

/// A daemon that has said that it is ready.
pub(crate) struct Daemon {
    command: Command,
    child: Option<Child>,
    /// What it tells the service manager at its end has to have a receiver.
    notify: UnixDatagram,
}

impl Daemon {
    /// Starts it and waits until it says to its service manager, which is this test, that it is
    /// ready.
    pub(crate) fn start(folder: &Folder, mut command: Command) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let path = folder.path(&format!("notify-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(BOUND)).unwrap();
        command.env("NOTIFY_SOCKET", &path);
        let child = command.spawn().unwrap();
        let mut daemon = Self { command, child: Some(child), notify: socket };
        // Where the daemon ends before it is ready, the wait has to end as well.
        daemon.watch(&path);
        let mut said = [0; 256];
        let length = daemon.notify.recv(&mut said);
        let said = String::from_utf8_lossy(&said[..length.unwrap_or(0)]).into_owned();
        if said != "READY=1\n" && said != "READY=1" {
            let output = daemon.stop(Signal::KILL);
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            panic!("{:?} is not ready: {said:?} {errors}", daemon.command);
        }
        daemon
    }

    /// Sends an empty word into the notify socket when the daemon has ended.
    fn watch(&self, path: &Path) {
        let process = self.child.as_ref().map(pid).unwrap();
        let path = path.to_owned();
        let handle = rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty());
        thread::spawn(move || {
            let Ok(handle) = handle else { return };
            let mut watched = [rustix::event::PollFd::new(&handle, rustix::event::PollFlags::IN)];
            rustix::event::poll(&mut watched, None).ok();
            UnixDatagram::unbound().and_then(|socket| socket.send_to(b"", &path)).ok();
        });
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().map(Child::id).unwrap()
    }

    /// Asks it to end, which has to be in order; what it said on standard error.
    pub(crate) fn end(mut self) -> String {
        let output = self.stop(Signal::TERM);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{:?}: {said}", self.command);
        said
    }

    fn stop(&mut self, signal: Signal) -> Output {
        let child = self.child.take().unwrap();
        kill_process(pid(&child), signal).ok();
        bounded(&self.command, child)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let mut rest = String::new();
            child.kill().ok();
            child.wait().ok();
            if let Some(mut errors) = child.stderr.take() {
                errors.read_to_string(&mut rest).ok();
            }
            eprintln!("{rest}");
        }
    }
}
