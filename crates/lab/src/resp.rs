//! Requests in Redis' protocol (RESP2, arrays of bulk strings), read out of a buffer.
//!
//! [`parse`] starts at the first byte of a request each time, so that it does not matter how the
//! network cut the bytes: whoever calls it keeps what is not complete and comes back with more.
//! Going over the same start again is cheap, because the lengths let it jump over the payload.

/// Most bytes of one argument: the largest value that a load may use.
pub(crate) const ARGUMENT_MAX: usize = 1024 * 1024;
/// Most arguments of one request. The commands that the responder knows need three; clients that
/// introduce themselves (`CLIENT SETINFO`, `HELLO`) send a few more and get an error reply.
const ARGUMENTS_MAX: usize = 64;
/// Arguments that are kept; what comes after them is checked and skipped.
const ARGUMENTS_KEPT: usize = 4;
/// Most bytes of a length line without its end: a sign and the digits of any permitted number.
const LINE_MAX: usize = 16;
/// Most bytes of a whole request. A connection that has sent so many bytes without completing a
/// request is at fault, so this bounds its buffer.
pub(crate) const REQUEST_MAX: usize = ARGUMENT_MAX + 64 * 1024;

/// The arguments of one request, the command's name first, borrowed out of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    arguments: [&'a [u8]; ARGUMENTS_KEPT],
    count: usize,
}

impl<'a> Request<'a> {
    /// The arguments that were kept; as many as were sent unless these are more than four.
    pub(crate) fn arguments(&self) -> &[&'a [u8]] {
        &self.arguments[..self.count.min(ARGUMENTS_KEPT)]
    }
}

/// What is wrong with the bytes; the connection that sent them cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A request or an argument does not start with the type that has to stand there.
    Type,
    /// A length is no number, or beyond the limits.
    Length,
    /// A line or an argument does not end with carriage return and line feed.
    End,
}

/// The first request in `input` and the number of bytes that it takes, or `None` while bytes of
/// it are missing.
pub(crate) fn parse(input: &[u8]) -> Result<Option<(Request<'_>, usize)>, Fault> {
    let mut rest = Rest { input, at: 0 };
    let Some(count) = rest.length(b'*', ARGUMENTS_MAX)? else { return Ok(None) };
    let mut request = Request { arguments: [&[]; ARGUMENTS_KEPT], count };
    for index in 0..count {
        let Some(length) = rest.length(b'$', ARGUMENT_MAX)? else { return Ok(None) };
        let Some(argument) = rest.argument(length)? else { return Ok(None) };
        if let Some(slot) = request.arguments.get_mut(index) {
            *slot = argument;
        }
        if rest.at > REQUEST_MAX {
            return Err(Fault::Length);
        }
    }
    Ok(Some((request, rest.at)))
}

/// A place in the buffer; everything before it is understood.
struct Rest<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Rest<'a> {
    /// Reads a line that consists of `kind` and a number up to `max`.
    fn length(&mut self, kind: u8, max: usize) -> Result<Option<usize>, Fault> {
        let Some((&first, line)) = self.input[self.at..].split_first() else { return Ok(None) };
        if first != kind {
            return Err(Fault::Type);
        }
        let window = &line[..line.len().min(LINE_MAX + 1)];
        let Some(digits) = window.iter().position(|&byte| byte == b'\r') else {
            return if window.len() > LINE_MAX { Err(Fault::Length) } else { Ok(None) };
        };
        let mut number = 0_usize;
        for &byte in &window[..digits] {
            if !byte.is_ascii_digit() {
                return Err(Fault::Length);
            }
            number = number * 10 + usize::from(byte - b'0');
            if number > max {
                return Err(Fault::Length);
            }
        }
        if digits == 0 {
            return Err(Fault::Length);
        }
        match line.get(digits + 1) {
            None => Ok(None),
            Some(b'\n') => {
                self.at += 1 + digits + 2;
                Ok(Some(number))
            }
            Some(_) => Err(Fault::End),
        }
    }

    /// Takes `length` bytes and the line end behind them.
    fn argument(&mut self, length: usize) -> Result<Option<&'a [u8]>, Fault> {
        let rest = &self.input[self.at..];
        let Some(argument) = rest.get(..length + 2) else { return Ok(None) };
        if !argument.ends_with(b"\r\n") {
            return Err(Fault::End);
        }
        self.at += length + 2;
        Ok(Some(&argument[..length]))
    }
}

/// Appends a request with these arguments.
pub(crate) fn write_request(out: &mut Vec<u8>, arguments: &[&[u8]]) {
    out.extend_from_slice(format!("*{}\r\n", arguments.len()).as_bytes());
    for argument in arguments {
        write_bulk(out, argument);
    }
}

/// Appends a bulk string: an argument of a request, or a value as a reply.
pub(crate) fn write_bulk(out: &mut Vec<u8>, value: &[u8]) {
    out.push(b'$');
    write_number(out, value.len());
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Appends a number in decimal digits, without the allocation that `format!` would make for each
/// reply.
fn write_number(out: &mut Vec<u8>, number: usize) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut left = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_of_a_request_is_incomplete_and_the_whole_is_not() {
        let mut bytes = Vec::new();
        write_request(&mut bytes, &[b"SET", b"a key", b"", b"binary \r\n$3\r\n*1\r\n"]);
        let whole = bytes.len();
        bytes.extend_from_slice(b"*1");
        for cut in 0..whole {
            assert_eq!(parse(&bytes[..cut]), Ok(None), "cut at {cut}");
        }
        for cut in whole..=bytes.len() {
            let (request, taken) = parse(&bytes[..cut]).unwrap().unwrap();
            assert_eq!(taken, whole);
            let expected: [&[u8]; 4] = [b"SET", b"a key", b"", b"binary \r\n$3\r\n*1\r\n"];
            assert_eq!(request.arguments(), expected);
        }
    }

    #[test]
    fn arguments_beyond_the_fourth_are_skipped() {
        let mut bytes = Vec::new();
        write_request(&mut bytes, &[b"x".as_slice(); ARGUMENTS_MAX]);
        let (request, taken) = parse(&bytes).unwrap().unwrap();
        assert_eq!((request.arguments().len(), taken), (ARGUMENTS_KEPT, bytes.len()));
    }

    #[test]
    fn an_empty_array_is_a_request_without_a_name() {
        let (request, taken) = parse(b"*0\r\n").unwrap().unwrap();
        assert_eq!((request.arguments().len(), taken), (0, 4));
    }

    #[test]
    fn what_is_no_request_is_refused_as_soon_as_it_shows() {
        let cases: [(&[u8], Fault); 12] = [
            (b"P", Fault::Type),
            (b"*1\r\n+", Fault::Type),
            (b"*-1\r\n", Fault::Length),
            (b"*\r", Fault::Length),
            (b"*65\r", Fault::Length),
            (b"*1\r\n$1048577\r", Fault::Length),
            (b"*00000000000000001", Fault::Length),
            (b"*99999999999999999999\r\n", Fault::Length),
            (b"*1\rx", Fault::End),
            (b"*1\r\n$1\r\nab\r\n", Fault::End),
            (b"*1\r\n$1\r\na\r\r", Fault::End),
            (b"*1 \r\n", Fault::Length),
        ];
        for (bytes, fault) in cases {
            assert_eq!(parse(bytes), Err(fault), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn two_large_arguments_are_more_than_a_request_may_have() {
        let large = vec![b'v'; ARGUMENT_MAX];
        let mut bytes = Vec::new();
        write_request(&mut bytes, &[b"SET", b"key", &large]);
        assert!(bytes.len() <= REQUEST_MAX && parse(&bytes).unwrap().is_some());
        bytes.clear();
        write_request(&mut bytes, &[b"SET", &large, &large]);
        assert_eq!(parse(&bytes), Err(Fault::Length));
    }

    #[test]
    fn numbers_are_written_as_everybody_writes_them() {
        for number in [0, 1, 9, 10, 99, 100, 65_535, usize::MAX] {
            let mut out = Vec::new();
            write_number(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }
}
