use std::collections::BTreeMap;

use clap::{CommandFactory as _, error::ErrorKind};
use sleeve_config::{Common, Plan};

use super::*;

fn parse(words: &[&str]) -> Result<Command, ErrorKind> {
    let words = std::iter::once(&"sleeve").chain(words);
    Cli::try_parse_from(words).map(|cli| cli.command).map_err(|error| error.kind())
}

fn server(words: &[&str]) -> ServerArgs {
    match parse(words) {
        Ok(Command::Server(args)) => args,
        other => panic!("{words:?} gave {other:?}"),
    }
}

fn client(words: &[&str]) -> ClientArgs {
    match parse(words) {
        Ok(Command::Client(args)) => args,
        other => panic!("{words:?} gave {other:?}"),
    }
}

const SERVER: [&str; 7] =
    ["server", "--listen", "0.0.0.0:7379", "--target", "127.0.0.1:6379", "--key", "k"];
const CLIENT: [&str; 7] =
    ["client", "--listen", "127.0.0.1:6379", "--server", "db1:7379", "--key", "k"];

#[test]
fn the_parser_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn defaults_are_those_of_the_plan() {
    let args = server(&SERVER);
    assert_eq!(crate::plan::common(&args.common), Common::default());
    assert_eq!(args.framing, Framings::default());
    assert_eq!((args.log.level, args.log.format), (LogLevel::Info, LogFormat::Text));
    let args = client(&CLIENT);
    assert_eq!(crate::plan::common(&args.common), Common::default());
    assert_eq!(args.framing, Framing::Adaptive);
}

#[test]
fn what_may_be_repeated_keeps_its_order() {
    let more = ["--server", "db2:1,[::1]:1", "--key", "l", "--listen", "unix:/a,b", "--key", "a"];
    let args = client(&[CLIENT.as_slice(), &more].concat());
    let shown = |list: &[Address]| list.iter().map(Address::to_string).collect::<Vec<_>>();
    assert_eq!(shown(&args.servers), ["db1:7379", "db2:1", "[::1]:1"]);
    assert_eq!(shown(&args.listen), ["127.0.0.1:6379", "unix:/a,b"]);
    assert_eq!(args.keys, ["k", "l", "a"].map(PathBuf::from));
}

#[test]
fn what_may_not_be_repeated_is_refused() {
    for once in [["--target", "db:1"], ["--drain", "1s"], ["--framing", "padded"]] {
        let words = [SERVER.as_slice(), &once, &once].concat();
        assert_eq!(parse(&words).unwrap_err(), ErrorKind::ArgumentConflict, "{once:?}");
    }
}

#[test]
fn each_end_has_its_own_flags() {
    let words = [SERVER.as_slice(), &["--server", "db:1"]].concat();
    assert_eq!(parse(&words).unwrap_err(), ErrorKind::UnknownArgument);
    let words = [CLIENT.as_slice(), &["--target", "db:1"]].concat();
    assert_eq!(parse(&words).unwrap_err(), ErrorKind::UnknownArgument);
}

/// The environment file, as systemd reads one that has neither quotes nor continued lines.
fn environment(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once('=').expect("a setting has an equals sign"))
        .collect()
}

/// The words of a unit's ExecStart=, as systemd expands them: `${NAME}` is one word, `$NAME` as
/// many as its value has.
fn start(unit: &str, environment: &BTreeMap<&str, &str>) -> Vec<String> {
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let mut words = Vec::new();
    for word in line.split_whitespace().skip(1) {
        let name = word.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
        if let Some(name) = name {
            words.push(environment[name].to_owned());
        } else if let Some(name) = word.strip_prefix('$') {
            words.extend(environment[name].split_whitespace().map(str::to_owned));
        } else {
            words.push(word.replace("%d", "/run/credentials/sleeve"));
        }
    }
    words
}

/// The command that a unit gives with its sample, as a plan with another key.
fn plan_of(unit: &str, sample: &str) -> Plan {
    let words = start(unit, &environment(sample));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let key = || sleeve_config::Key::from_file_bytes(&[1; 32]).unwrap();
    match parse(&words).unwrap() {
        Command::Server(args) => crate::plan::of_server(&args, vec![key()]),
        Command::Client(args) => crate::plan::of_client(&args, vec![key()]),
        other @ (Command::Keygen(_) | Command::Ab(_)) => panic!("{other:?}"),
    }
}

#[test]
fn units_and_samples_make_plans_that_stand() {
    let plan = plan_of(
        include_str!("../../systemd/sleeve-server@.service"),
        include_str!("../../config/server.env"),
    );
    assert!(matches!(plan, Plan::Server(_)));
    assert_eq!(plan.check(|_| false), Ok(()));
    let plan = plan_of(
        include_str!("../../systemd/sleeve-client@.service"),
        include_str!("../../config/client.env"),
    );
    assert!(matches!(&plan, Plan::Client(plan) if plan.listen.len() == 2));
    assert_eq!(plan.check(|_| false), Ok(()));
}

/// Every flag has a description, and no name of a command is missing from the help.
#[test]
fn nothing_is_left_unexplained() {
    for command in Cli::command().get_subcommands() {
        assert!(command.get_about().is_some(), "{}", command.get_name());
        for arg in command.get_arguments() {
            assert!(arg.get_help().is_some(), "{} {}", command.get_name(), arg.get_id());
        }
    }
}

/// A screen of old has 24 lines of 80 columns.
#[test]
fn the_first_help_fits_one_screen() {
    let help = Cli::command().term_width(80).render_help().to_string();
    assert!(help.lines().count() <= 23, "one line is the prompt's\n{help}");
    let wide = help.lines().find(|line| line.len() > 80);
    assert_eq!(wide, None);
}

/// The examples of the help can be typed.
#[test]
fn examples_are_understood() {
    let mut understood = 0;
    for text in [START, SERVER_HELP, CLIENT_HELP, KEYGEN, AB] {
        let joined = text.replace("\\\n", " ");
        for line in joined.lines().filter_map(|line| line.strip_prefix("  sleeve ")) {
            let command = line.split(['|', '(']).next().unwrap_or(line).replace('\'', "");
            let words: Vec<&str> = command.split_whitespace().collect();
            assert!(parse(&words).is_ok(), "{line}");
            understood += 1;
        }
    }
    assert_eq!(understood, 9);
}
