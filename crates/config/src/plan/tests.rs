use super::*;
use crate::setting::SettingError;

fn addresses(texts: &[&str]) -> Vec<Address> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn key(byte: u8) -> Key {
    Key::from_file_bytes(&[byte; 32]).unwrap()
}

fn server(listen: &[&str], target: &str) -> ServerPlan {
    ServerPlan {
        listen: addresses(listen),
        target: target.parse().unwrap(),
        keys: vec![key(1)],
        framings: Framings::default(),
        common: Common::default(),
    }
}

fn client(listen: &[&str], servers: &[&str]) -> ClientPlan {
    ClientPlan {
        listen: addresses(listen),
        servers: addresses(servers),
        keys: vec![key(1), key(2)],
        framing: Framing::Adaptive,
        common: Common::default(),
    }
}

fn check(plan: Plan) -> Result<(), ConfigError> {
    plan.check(|ip| ip == IpAddr::from([10, 1, 2, 3]))
}

fn of_server(listen: &[&str], target: &str) -> Result<(), ConfigError> {
    check(Plan::Server(server(listen, target)))
}

fn of_client(listen: &[&str], servers: &[&str]) -> Result<(), ConfigError> {
    check(Plan::Client(client(listen, servers)))
}

#[test]
fn sound_plans_pass() {
    assert_eq!(of_server(&["0.0.0.0:7379"], "unix:/run/redis.sock"), Ok(()));
    assert_eq!(of_server(&["0.0.0.0:7379", "[::]:7379"], "127.0.0.1:6379"), Ok(()));
    assert_eq!(of_server(&["127.0.0.1:0", "127.0.0.1:0"], "127.0.0.1:6379"), Ok(()));
    assert_eq!(of_client(&["systemd:redis", "unix:@a"], &["db1:7379", "db2:7379"]), Ok(()));
}

#[test]
fn there_has_to_be_something_to_listen_at() {
    assert_eq!(of_server(&[], "127.0.0.1:6379"), Err(ConfigError::NoListen));
    assert_eq!(of_client(&[], &["db:7379"]), Err(ConfigError::NoListen));
    assert_eq!(of_client(&["127.0.0.1:1"], &[]), Err(ConfigError::NoServer));
}

#[test]
fn a_listener_stands_there_once() {
    for twice in ["127.0.0.1:1", "unix:/a", "unix:@a", "systemd:a"] {
        let address = twice.parse().unwrap();
        assert_eq!(
            of_client(&[twice, "127.0.0.1:2", twice], &["127.0.0.1:6379"]),
            Err(ConfigError::ListenTwice { address })
        );
    }
}

#[test]
fn the_sealed_side_is_tcp() {
    let refused = |text: &str| Err(ConfigError::NotTcp { address: text.parse().unwrap() });
    for text in ["unix:/a", "unix:@a"] {
        assert_eq!(of_server(&["127.0.0.1:1", text], "127.0.0.1:6379"), refused(text));
        assert_eq!(of_client(&["127.0.0.1:1"], &["db:1", text]), refused(text));
    }
    assert_eq!(of_server(&["systemd:sealed"], "unix:/a"), Ok(()));
}

#[test]
fn not_everything_can_be_dialled() {
    let systemd = ConfigError::DialsSystemd { address: "systemd:a".parse().unwrap() };
    assert_eq!(of_server(&["127.0.0.1:1"], "systemd:a"), Err(systemd.clone()));
    assert_eq!(of_client(&["127.0.0.1:1"], &["db:1", "systemd:a"]), Err(systemd));
    let zero = ConfigError::DialsPortZero { address: "db:0".parse().unwrap() };
    assert_eq!(of_server(&["127.0.0.1:1"], "db:0"), Err(zero.clone()));
    assert_eq!(of_client(&["127.0.0.1:1"], &["db:0"]), Err(zero));
}

#[test]
fn a_tunnel_does_not_lead_into_itself() {
    let itself = |address: &str, listen: &str| {
        let (address, listen) = (address.parse().unwrap(), listen.parse().unwrap());
        Err(ConfigError::DialsItself { address, listen })
    };
    let listen = ["127.0.0.1:1", "0.0.0.0:7379"];
    for target in ["127.0.0.1:7379", "localhost:7379", "10.1.2.3:7379"] {
        assert_eq!(of_server(&listen, target), itself(target, "0.0.0.0:7379"));
        assert_eq!(of_client(&listen, &["db:7379", target]), itself(target, "0.0.0.0:7379"));
    }
    assert_eq!(of_server(&listen, "10.1.2.4:7379"), Ok(()));
}

#[test]
fn keys_and_framings_are_counted() {
    let with = |keys: Vec<Key>, framings| {
        check(Plan::Server(ServerPlan { keys, framings, ..server(&["127.0.0.1:1"], "db:1") }))
    };
    let many = |count: u8| (0..count).map(key).collect();
    assert_eq!(with(many(0), Framings::default()), Err(ConfigError::NoKey));
    assert_eq!(with(many(64), Framings::default()), Ok(()));
    let too_many = Err(ConfigError::TooManyKeys { count: 65 });
    assert_eq!(with(many(65), Framings::default()), too_many);
    let none = Framings { adaptive: false, padded: false };
    assert_eq!(with(many(1), none), Err(ConfigError::NoFraming));
    let one = Framings { adaptive: false, padded: true };
    assert_eq!(with(many(1), one), Ok(()));
    assert!(one.agrees_to(Framing::Padded) && !one.agrees_to(Framing::Adaptive));
}

#[test]
fn settings_put_in_by_hand_have_the_same_bounds() {
    let with = |change: fn(&mut Common)| {
        let mut plan = server(&["127.0.0.1:1"], "db:1");
        change(&mut plan.common);
        check(Plan::Server(plan))
    };
    let bounds = |setting| Err(ConfigError::Setting(SettingError::Bounds { setting }));
    assert_eq!(with(|c| c.connect_timeout = Duration::ZERO), bounds(Setting::ConnectTimeout));
    assert_eq!(with(|c| c.drain = Duration::MAX), bounds(Setting::Drain));
    assert_eq!(with(|c| c.max_streams = 0), bounds(Setting::MaxStreams));
    assert_eq!(with(|c| c.max_streams = 4097), bounds(Setting::MaxStreams));
    assert_eq!(with(|c| c.workers = 0), bounds(Setting::Workers));
    assert_eq!(with(|c| c.segment_limit = Some(1448)), Ok(()));
}

#[test]
fn a_plan_shows_no_secret() {
    let shown = format!("{:?}", Plan::Client(client(&["127.0.0.1:1"], &["db:1"])));
    assert!(shown.contains(&key(1).fingerprint().to_string()), "{shown}");
    assert!(!shown.contains("psk"), "{shown}");
}
