use super::*;

fn parse(text: &str) -> Result<Address, AddressError> {
    text.parse()
}

fn tcp(host: &str, port: u16) -> Address {
    let host = match host.parse() {
        Ok(ip) => Host::Ip(ip),
        Err(_) => Host::Name(host.to_owned()),
    };
    Address::Tcp { host, port }
}

#[test]
fn every_form_is_understood_and_shown_as_it_was_written() {
    let table = [
        ("127.0.0.1:6379", tcp("127.0.0.1", 6379)),
        ("0.0.0.0:0", tcp("0.0.0.0", 0)),
        ("[::1]:6379", tcp("::1", 6379)),
        ("[::]:65535", tcp("::", 65535)),
        ("[2001:db8::7]:1", tcp("2001:db8::7", 1)),
        ("[::ffff:10.0.0.1]:1", tcp("::ffff:10.0.0.1", 1)),
        ("localhost:6379", tcp("localhost", 6379)),
        ("db1.example.net:7379", tcp("db1.example.net", 7379)),
        ("db1.example.net.:7379", tcp("db1.example.net.", 7379)),
        ("redis_master:1", tcp("redis_master", 1)),
        ("7up.example:1", tcp("7up.example", 1)),
        ("1.2.3.4a:1", tcp("1.2.3.4a", 1)),
        ("xn--bcher-kva.example:1", tcp("xn--bcher-kva.example", 1)),
        ("unix:/run/redis/redis.sock", Address::Unix("/run/redis/redis.sock".into())),
        ("unix:/with:colon and space", Address::Unix("/with:colon and space".into())),
        ("unix:/ü", Address::Unix("/ü".into())),
        ("unix:@redis", Address::Abstract("redis".to_owned())),
        ("unix:@/@:", Address::Abstract("/@:".to_owned())),
        ("systemd:redis", Address::Systemd("redis".to_owned())),
        ("systemd:a b-c.socket", Address::Systemd("a b-c.socket".to_owned())),
    ];
    for (text, address) in table {
        assert_eq!(parse(text), Ok(address.clone()), "{text}");
        assert_eq!(address.to_string(), text);
    }
}

#[test]
fn other_spellings_become_one() {
    let table = [
        ("LocalHost:6379", "localhost:6379"),
        ("host:00080", "host:80"),
        ("[0:0:0:0:0:0:0:1]:1", "[::1]:1"),
        ("[2001:DB8::A]:1", "[2001:db8::a]:1"),
    ];
    for (text, shown) in table {
        assert_eq!(parse(text).map(|address| address.to_string()), Ok(shown.to_owned()));
    }
}

#[test]
fn what_is_no_address_is_named() {
    use AddressError as E;
    let table = [
        ("", E::Empty),
        ("/run/redis.sock", E::BarePath),
        ("6379", E::NoPort),
        ("localhost", E::NoPort),
        ("localhost:", E::NoPort),
        ("[::1]", E::NoPort),
        ("[::1]:", E::NoPort),
        ("[::1]6379", E::NoPort),
        (":6379", E::NoHost),
        (":", E::NoHost),
        ("localhost:redis", E::BadPort),
        ("localhost:65536", E::BadPort),
        ("localhost:99999999999999999999", E::BadPort),
        ("localhost:-1", E::BadPort),
        ("localhost:+1", E::BadPort),
        ("localhost: 1", E::BadPort),
        ("localhost:1 ", E::BadPort),
        ("localhost:٣", E::BadPort),
        ("[::1]:x", E::BadPort),
        ("::1:6379", E::NoBrackets),
        ("2001:db8::7:6379", E::NoBrackets),
        ("::1", E::NoBrackets),
        ("a:b:1", E::NoBrackets),
        ("[::1:6379", E::OpenBracket),
        ("[]:1", E::NotIpv6),
        ("[127.0.0.1]:1", E::NotIpv6),
        ("[localhost]:1", E::NotIpv6),
        ("[fe80::1%eth0]:1", E::NotIpv6),
        ("[::1 ]:1", E::NotIpv6),
        ("127.0.0.256:1", E::NotIpv4),
        ("127.1:1", E::NotIpv4),
        ("127.0.0.1.1:1", E::NotIpv4),
        ("127.0.0.01:1", E::NotIpv4),
        ("1:1", E::NotIpv4),
        ("a.7.:1", E::NotIpv4),
        ("redis://localhost:6379", E::BadName),
        ("localhost:6379/0:1", E::BadName),
        ("*:6379", E::BadName),
        ("a b:1", E::BadName),
        (" a:1", E::BadName),
        ("a..b:1", E::BadName),
        (".a:1", E::BadName),
        (".:1", E::BadName),
        ("bücher.example:1", E::BadName),
        ("user@host:1", E::BadName),
        ("UNIX:/a:1", E::BadName),
        ("unix:", E::EmptyPath),
        ("unix:redis.sock", E::RelativePath),
        ("unix:./a", E::RelativePath),
        ("unix:/a\0b", E::ZeroByte),
        ("unix:@", E::EmptyAbstract),
        ("unix:@a\0", E::ZeroByte),
        ("systemd:", E::EmptySystemd),
        ("systemd:a:b", E::SystemdName),
        ("systemd:ü", E::SystemdName),
        ("systemd:a\n", E::SystemdName),
    ];
    for (text, error) in table {
        assert_eq!(parse(text), Err(error), "{text:?}");
    }
}

#[test]
fn lengths_end_where_the_kernel_ends_them() {
    let path = |bytes: usize| format!("unix:/{}", "p".repeat(bytes - 1));
    assert!(parse(&path(1)).is_ok());
    assert!(parse(&path(107)).is_ok());
    assert_eq!(parse(&path(108)), Err(AddressError::LongPath { bytes: 108 }));
    let text = parse(&path(200)).unwrap_err().to_string();
    assert!(text.contains("200 bytes") && text.contains("107"), "{text}");

    let name = |bytes| format!("unix:@{}", "n".repeat(bytes));
    assert!(parse(&name(107)).is_ok());
    assert_eq!(parse(&name(108)), Err(AddressError::LongAbstract { bytes: 108 }));

    let umlauts = format!("unix:/{}", "ü".repeat(54));
    assert_eq!(parse(&umlauts), Err(AddressError::LongPath { bytes: 109 }));

    let descriptor = |bytes| format!("systemd:{}", "n".repeat(bytes));
    assert!(parse(&descriptor(255)).is_ok());
    assert_eq!(parse(&descriptor(256)), Err(AddressError::SystemdName));

    let label = |bytes| format!("{}:1", "n".repeat(bytes));
    assert!(parse(&label(63)).is_ok());
    assert_eq!(parse(&label(64)), Err(AddressError::BadName));
    let host = |labels| format!("{}abc:1", "a.".repeat(labels));
    assert!(parse(&host(125)).is_ok(), "253 bytes");
    assert_eq!(parse(&host(126)), Err(AddressError::LongName));
}

/// Every text over an alphabet of what has a meaning, up to a length: whatever is understood is
/// shown in a way that is understood as the same, and nothing panics.
#[test]
fn what_is_understood_is_understood_again() {
    let parts = ["unix:", "systemd:", "@", "/", ":", "[", "]", "::1", "127.0.0.1", "a", "1", "."];
    let mut texts = vec![String::new()];
    let mut understood = 0;
    for _ in 0..4 {
        let longer = |text: &String| parts.map(|part| format!("{text}{part}"));
        texts = texts.iter().flat_map(longer).collect();
        for text in &texts {
            let Ok(address) = parse(text) else { continue };
            understood += 1;
            assert_eq!(parse(&address.to_string()), Ok(address), "{text}");
        }
    }
    assert!(understood > 500, "{understood}");
}

#[test]
fn sentences_are_of_one_kind() {
    use AddressError as E;
    let all = [
        E::Empty,
        E::BarePath,
        E::NoPort,
        E::NoHost,
        E::BadPort,
        E::NoBrackets,
        E::OpenBracket,
        E::NotIpv6,
        E::NotIpv4,
        E::BadName,
        E::LongName,
        E::EmptyPath,
        E::RelativePath,
        E::LongPath { bytes: 108 },
        E::EmptyAbstract,
        E::LongAbstract { bytes: 108 },
        E::ZeroByte,
        E::EmptySystemd,
        E::SystemdName,
    ];
    for error in all {
        let text = error.to_string();
        assert!(text.contains(": "), "says no next step: {text}");
        assert!(!text.ends_with('.') && !text.contains('\n'), "{text}");
    }
}
