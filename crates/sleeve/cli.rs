//! What may be said on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use sleeve_config::{Address, Framing, Framings, Setting};

/// A sealed tunnel for Redis: many connections over a few encrypted ones
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = START)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const START: &str = "\
Two hosts, one key:
  sleeve keygen redis.key        (then copy the file to the other host)
  sleeve server --listen 0.0.0.0:7379 --target 127.0.0.1:6379 --key redis.key
  sleeve client --listen 127.0.0.1:6379 --server db1:7379 --key redis.key

`sleeve help COMMAND` says more. Exit status: 0 done, 1 failed while running,
2 wrong command line, 78 wrong configuration.";

const ADDRESSES: &str = "\
Addresses:
  127.0.0.1:6379  [::1]:6379  host:6379    TCP; port 0 to listen at any free port
  unix:/path  unix:@name                   a Unix socket, an abstract one
  systemd:NAME                             to listen at a socket of systemd, by its name";

const SERVER_HELP: &str = "\
Example, beside a Redis that listens at a Unix socket:
  sleeve server --listen 0.0.0.0:7379 --listen '[::]:7379' \\
      --target unix:/run/redis/redis-server.sock --key /etc/sleeve/redis.key

To replace a key: --key old --key new here, then the new one at the clients, then --key new here.";

const CLIENT_HELP: &str = "\
Example, for applications that connect by TCP or, faster, by a Unix socket:
  sleeve client --listen 127.0.0.1:6379 --listen unix:/run/sleeve/redis.sock \\
      --server db1.example.net:7379 --key /etc/sleeve/redis.key";

const KEYGEN: &str = "\
Examples:
  sleeve keygen /etc/sleeve/redis.key
  sleeve keygen | ssh db1 'umask 077; cat > redis.key'

Whoever has the file can read the traffic and reach Redis. Copy it over a safe way only.";

const AB: &str = "\
Examples:
  sleeve ab
  sleeve ab --clients 1,50,200 --command set --size 1024 --duration 5s --json

Nothing else has to run: both ends, a responder in place of Redis and the load are in this process.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a key file for both ends; never overwrites
    #[command(after_help = KEYGEN)]
    Keygen(KeygenArgs),
    /// Run the end beside Redis: accepts sealed connections, dials Redis
    #[command(after_help = format!("{ADDRESSES}\n\n{SERVER_HELP}"))]
    Server(ServerArgs),
    /// Run the end beside the application: accepts its connections, dials the server
    #[command(after_help = format!("{ADDRESSES}\n\n{CLIENT_HELP}"))]
    Client(ClientArgs),
    /// Measure what the framing modes cost on this machine
    #[command(after_help = AB)]
    Ab(AbArgs),
}

#[derive(Args, Debug)]
pub(crate) struct KeygenArgs {
    /// The file to make, mode 0600; without it 32 bytes go to standard output
    pub(crate) file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct ServerArgs {
    /// Where `sleeve client` connects; may be repeated
    #[arg(long, value_name = "ADDR", required = true)]
    pub(crate) listen: Vec<Address>,
    /// Where Redis listens
    #[arg(long, value_name = "ADDR")]
    pub(crate) target: Address,
    /// Key file that a client may have; may be repeated
    #[arg(long = "key", value_name = "FILE", required = true)]
    pub(crate) keys: Vec<PathBuf>,
    /// Framing modes that a client may choose, with commas between them
    #[arg(long, value_name = "MODES", default_value = "adaptive,padded")]
    pub(crate) framing: Framings,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ClientArgs {
    /// Where the application connects; may be repeated
    #[arg(long, value_name = "ADDR", required = true)]
    pub(crate) listen: Vec<Address>,
    /// Where `sleeve server` listens; may be repeated, or take several with commas
    #[arg(long = "server", value_name = "ADDR", required = true, value_delimiter = ',')]
    pub(crate) servers: Vec<Address>,
    /// Key file; may be repeated, the first one is used to dial
    #[arg(long = "key", value_name = "FILE", required = true)]
    pub(crate) keys: Vec<PathBuf>,
    /// adaptive: few bytes; padded: every record has 1024 bytes
    #[arg(long, value_name = "MODE", default_value = "adaptive", value_parser = sleeve_config::framing)]
    pub(crate) framing: Framing,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CommonArgs {
    /// Time for a dial, from 10ms to 10m
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = Setting::connect_timeout)]
    pub(crate) connect_timeout: Duration,
    /// Time for living connections to end after SIGTERM, from 0s to 60m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = Setting::drain)]
    pub(crate) drain: Duration,
    /// Connections that a session may carry at a time, from 1 to 4096
    #[arg(long, value_name = "N", default_value = "4096", value_parser = Setting::max_streams)]
    pub(crate) max_streams: u32,
    /// Threads, from 1 to 64
    #[arg(long, value_name = "N", default_value = "1", value_parser = Setting::workers)]
    pub(crate) workers: usize,
}

#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LogArgs {
    /// Least weight of what is logged
    #[arg(long = "log-level", value_name = "LEVEL", value_enum, default_value = "info")]
    pub(crate) level: LogLevel,
    /// Form of the log on standard error
    #[arg(long = "log-format", value_name = "FORMAT", value_enum, default_value = "text")]
    pub(crate) format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Args, Debug)]
pub(crate) struct AbArgs {
    /// Numbers of clients, with commas between them
    #[arg(long, value_name = "N", default_value = "1,50", value_parser = sleeve_config::count, value_delimiter = ',')]
    pub(crate) clients: Vec<usize>,
    /// Framing modes, with commas between them
    #[arg(long, value_name = "MODES", default_value = "adaptive,padded")]
    pub(crate) framing: Framings,
    /// Command that the clients send
    #[arg(long, value_enum, default_value = "get")]
    pub(crate) command: AbCommand,
    /// Requests that a client sends before it waits for replies
    #[arg(long, value_name = "N", default_value = "1", value_parser = sleeve_config::count)]
    pub(crate) pipeline: usize,
    /// Bytes of a value
    #[arg(long, value_name = "BYTES", default_value = "3", value_parser = sleeve_config::count)]
    pub(crate) size: usize,
    /// Time for each number of clients, mode and round
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = sleeve_config::duration)]
    pub(crate) duration: Duration,
    /// Rounds in which the modes take turns; the report has the medians
    #[arg(long, value_name = "N", default_value = "3", value_parser = sleeve_config::count)]
    pub(crate) rounds: usize,
    /// Print JSON in place of the table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AbCommand {
    Get,
    Set,
}

#[cfg(test)]
#[path = "cli_tests.rs"]
mod tests;
