//! What the load asks and what the answers have to be, byte for byte, worked out in advance.

use crate::Command;
use crate::resp::write_request;

/// Bytes that the requests or the replies of all keys may have together; with large values it
/// limits the number of keys.
const TABLE_MAX: usize = 16 * 1024 * 1024;
/// Most keys. Enough that two requests that meet in one record nearly always want different
/// values, so that an answer that went to the wrong client shows.
const KEYS_MAX: usize = 1000;

/// Requests and the exact replies to them, one of each for every key.
///
/// The value of a key begins with the digits of its number, so that the values differ as far as
/// their size permits.
#[derive(Debug)]
pub(crate) struct Workload {
    requests: Vec<Box<[u8]>>,
    replies: Vec<Box<[u8]>>,
    /// Whether the values have to be there before the load starts.
    preload: bool,
    size: usize,
}

impl Workload {
    pub(crate) fn new(command: Command, size: usize) -> Self {
        let keys = (TABLE_MAX / (size + 64)).clamp(1, KEYS_MAX);
        let mut workload = Self { requests: Vec::new(), replies: Vec::new(), preload: false, size };
        for number in 0..keys {
            let (request, reply) = match command {
                Command::Get => (get(number), bulk(&value(number, size))),
                Command::Set => (set(number, size), b"+OK\r\n".to_vec()),
            };
            workload.requests.push(request.into());
            workload.replies.push(reply.into());
        }
        workload.preload = match command {
            Command::Get => true,
            Command::Set => false,
        };
        workload
    }

    /// What has to be done once before the load starts, if anything.
    pub(crate) fn preparation(&self) -> Option<Self> {
        self.preload.then(|| Self::new(Command::Set, self.size))
    }

    /// How many different requests there are.
    pub(crate) fn keys(&self) -> usize {
        self.requests.len()
    }

    /// The request with this running number.
    pub(crate) fn request(&self, number: u64) -> &[u8] {
        &self.requests[(number % self.requests.len() as u64) as usize]
    }

    /// The reply to the request with this running number.
    pub(crate) fn reply(&self, number: u64) -> &[u8] {
        &self.replies[(number % self.replies.len() as u64) as usize]
    }
}

fn get(number: usize) -> Vec<u8> {
    let mut out = Vec::new();
    write_request(&mut out, &[b"GET", key(number).as_bytes()]);
    out
}

fn set(number: usize, size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    write_request(&mut out, &[b"SET", key(number).as_bytes(), &value(number, size)]);
    out
}

fn bulk(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    crate::resp::write_bulk(&mut out, value);
    out
}

/// Sixteen bytes, as long as the keys that redis-benchmark uses.
fn key(number: usize) -> String {
    format!("key:{number:012}")
}

/// The last digits of the number come first: a value of one byte still tells ten keys apart. What
/// follows them is letters that differ from key to key and repeat nowhere soon, so that bytes
/// that were lost or moved inside a long value show as well.
fn value(number: usize, size: usize) -> Vec<u8> {
    let mut state = number as u32 ^ 0x9e37_79b9;
    let digits = format!("{number:06}");
    let letters = std::iter::repeat_with(|| {
        // Knuth's linear congruence; the high bits are the good ones.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'a' + (state >> 24) as u8 % 26
    });
    digits.bytes().rev().chain(letters).take(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_size_and_differ() {
        for size in [1, 2, 3, 6, 100, 1 << 20] {
            assert_eq!(value(7, size).len(), size);
        }
        let mut values: Vec<_> = (0..KEYS_MAX).map(|number| value(number, 3)).collect();
        values.sort();
        values.dedup();
        assert_eq!(values.len(), KEYS_MAX);
        assert_ne!(value(0, 1), value(9, 1));
        assert_ne!(value(1, 100)[6..], value(2, 100)[6..]);
    }

    #[test]
    fn the_table_stays_in_its_bound() {
        for size in [1, 1 << 10, 1 << 20] {
            for command in [Command::Get, Command::Set] {
                let workload = Workload::new(command, size);
                let bytes: usize = (0..workload.keys() as u64)
                    .map(|number| workload.request(number).len() + workload.reply(number).len())
                    .sum();
                assert!(bytes <= TABLE_MAX + KEYS_MAX * 64, "{command:?} {size}: {bytes}");
            }
        }
    }

    #[test]
    fn a_request_is_what_redis_expects() {
        let workload = Workload::new(Command::Get, 3);
        assert_eq!(workload.request(12), b"*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000012\r\n");
        assert_eq!(workload.reply(12), b"$3\r\n210\r\n");
        let workload = Workload::new(Command::Set, 3);
        let expected = b"*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000012\r\n$3\r\n210\r\n";
        assert_eq!(workload.request(1012), expected);
        assert_eq!(workload.reply(12), b"+OK\r\n");
        assert!(workload.preparation().is_none());
    }
}
