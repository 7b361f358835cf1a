//! HTTP/1.1 as bytes: heads, and bodies that end where their framing says. Below the observer and the proxy.
//!
//! A body is relayed exactly as it came, so the proxy changes nothing that it passes on. No URLs, no JSON and no
//! connections here: who asks brings its own.

use std::io::{self, BufRead, BufReader, Read, Write};

/// The longest head that is accepted; Incus sends well under one kilobyte.
const LONGEST_HEAD: usize = 64 * 1024;

/// The first line and the headers of a request or a response.
#[derive(Clone, Debug)]
pub struct Head {
    first: String,
    headers: Vec<(String, String)>,
    raw: Vec<u8>,
}

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Exactly this many bytes; zero when there is none.
    Length(u64),
    /// Chunks, each with its size, until one of size zero.
    Chunked,
    /// Everything until the peer closes.
    UntilClose,
    /// No body: from here on the connection speaks another protocol (events, exec).
    Upgraded,
}

impl Head {
    /// Reads one head; `None` when the peer closed between two messages.
    pub fn read(from: &mut impl BufRead) -> io::Result<Option<Head>> {
        let mut raw = Vec::new();
        loop {
            let start = raw.len();
            let read = from.read_until(b'\n', &mut raw)?;
            if read == 0 && start == 0 {
                return Ok(None);
            }
            if read == 0 || raw.len() > LONGEST_HEAD {
                return Err(malformed("the head ends early or is too long"));
            }
            if matches!(&raw[start..], b"\r\n" | b"\n") {
                return Head::parse(raw).map(Some);
            }
        }
    }

    fn parse(raw: Vec<u8>) -> io::Result<Head> {
        let text = std::str::from_utf8(&raw).map_err(|_| malformed("the head is not text"))?;
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default().to_owned();
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Ok(Head {
            first,
            headers,
            raw,
        })
    }

    /// The bytes as they came.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// The method of a request.
    pub fn method(&self) -> &str {
        self.first.split(' ').next().unwrap_or_default()
    }

    /// The path and query of a request.
    pub fn target(&self) -> &str {
        self.first.split(' ').nth(1).unwrap_or_default()
    }

    /// The status code of a response; 0 when there is none.
    pub fn status(&self) -> u16 {
        self.first
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .unwrap_or(0)
    }

    /// A header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// How the body of this request ends.
    pub fn request_body(&self) -> Body {
        self.framing().unwrap_or(Body::Length(0))
    }

    /// How the body of this response to a request with `method` ends.
    pub fn response_body(&self, method: &str) -> Body {
        match self.status() {
            101 => Body::Upgraded,
            100..200 | 204 | 304 => Body::Length(0),
            _ if method == "HEAD" => Body::Length(0),
            _ => self.framing().unwrap_or(Body::UntilClose),
        }
    }

    fn framing(&self) -> Option<Body> {
        if self
            .header("transfer-encoding")
            .is_some_and(|value| value.eq_ignore_ascii_case("chunked"))
        {
            return Some(Body::Chunked);
        }
        self.header("content-length")
            .and_then(|value| value.parse().ok())
            .map(Body::Length)
    }
}

/// Asks once over a connection, which ends with the answer, and returns the answer's head and content.
pub fn ask(
    mut connection: impl Read + Write,
    (method, target): (&str, &str),
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<(Head, Vec<u8>)> {
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    // In one go: a server that refuses by the head alone closes before a body that comes behind.
    connection.write_all(&[head.as_bytes(), body].concat())?;
    let mut answer = BufReader::new(connection);
    let head = Head::read(&mut answer)?.ok_or_else(|| malformed("no answer came"))?;
    let mut content = Vec::new();
    relay(
        head.response_body(method),
        &mut answer,
        &mut io::sink(),
        &mut content,
    )?;
    Ok((head, content))
}

/// Copies one body: its bytes as they came go to `raw`, as soon as they come, and its content to `content`.
pub fn relay(
    body: Body,
    from: &mut impl BufRead,
    raw: &mut impl Write,
    content: &mut impl Write,
) -> io::Result<()> {
    match body {
        Body::Upgraded => Ok(()),
        Body::Length(length) => relay_exactly(length, from, raw, content),
        Body::UntilClose => loop {
            if relay_some(u64::MAX, from, raw, content)? == 0 {
                return Ok(());
            }
        },
        Body::Chunked => loop {
            let size = relay_line(from, raw)?;
            let digits = size.split(';').next().unwrap_or_default().trim();
            let size =
                u64::from_str_radix(digits, 16).map_err(|_| malformed("a chunk without a size"))?;
            if size == 0 {
                // Trailers, up to the empty line.
                while !relay_line(from, raw)?.trim().is_empty() {}
                return Ok(());
            }
            relay_exactly(size, from, raw, content)?;
            relay_line(from, raw)?;
        },
    }
}

fn relay_exactly(
    length: u64,
    from: &mut impl BufRead,
    raw: &mut impl Write,
    content: &mut impl Write,
) -> io::Result<()> {
    let mut left = length;
    while left > 0 {
        let copied = relay_some(left, from, raw, content)?;
        if copied == 0 {
            return Err(malformed("the body ends early"));
        }
        left -= copied;
    }
    Ok(())
}

fn relay_some(
    most: u64,
    from: &mut impl BufRead,
    raw: &mut impl Write,
    content: &mut impl Write,
) -> io::Result<u64> {
    let ready = from.fill_buf()?;
    let length = ready.len().min(usize::try_from(most).unwrap_or(usize::MAX));
    raw.write_all(&ready[..length])?;
    content.write_all(&ready[..length])?;
    from.consume(length);
    Ok(length as u64)
}

fn relay_line(from: &mut impl BufRead, raw: &mut impl Write) -> io::Result<String> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line)?;
    if !line.ends_with(b"\n") {
        return Err(malformed("a chunked body ends early"));
    }
    raw.write_all(&line)?;
    String::from_utf8(line).map_err(|_| malformed("a chunk size that is not text"))
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("reading HTTP: {what}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn head(text: &str) -> Head {
        Head::read(&mut text.as_bytes())
            .expect("a head")
            .expect("not closed")
    }

    #[test]
    fn a_head_is_read_and_kept_as_it_came() {
        let text =
            "PUT /1.0/instances/a?project=p HTTP/1.1\r\nHost: incus\r\nContent-Length: 12\r\n\r\n";
        let head = head(text);
        assert_eq!(
            (head.method(), head.target()),
            ("PUT", "/1.0/instances/a?project=p")
        );
        assert_eq!(head.request_body(), Body::Length(12));
        assert_eq!(head.raw(), text.as_bytes());
        assert!(
            Head::read(&mut "".as_bytes())
                .expect("closed between messages is no error")
                .is_none()
        );
        assert!(Head::read(&mut "GET / HTTP/1.1\r\nHost".as_bytes()).is_err());
    }

    #[test]
    fn who_asks_sends_one_request_and_gets_head_and_content() {
        let (near, mut far) = UnixStream::pair().expect("a connection");
        let answer = b"HTTP/1.1 202 Accepted\r\nLocation: /there\r\nContent-Length: 2\r\n\r\nok";
        far.write_all(answer).expect("answered before it is asked");
        let (head, content) =
            ask(near, ("PUT", "/here"), &[("Accept", "text")], b"abc").expect("an answer");
        assert_eq!(
            (head.status(), head.header("location")),
            (202, Some("/there"))
        );
        assert_eq!(content, b"ok");
        let mut asked = String::new();
        far.read_to_string(&mut asked).expect("the end of it");
        assert!(asked.starts_with("PUT /here HTTP/1.1\r\n"), "{asked}");
        assert!(asked.contains("\r\nAccept: text\r\n"), "{asked}");
        assert!(
            asked.ends_with("\r\nContent-Length: 3\r\n\r\nabc"),
            "{asked}"
        );
    }

    #[test]
    fn the_end_of_a_response_follows_its_head() {
        for (text, method, body) in [
            (
                "HTTP/1.1 101 Switching Protocols\r\n\r\n",
                "GET",
                Body::Upgraded,
            ),
            ("HTTP/1.1 204 No Content\r\n\r\n", "GET", Body::Length(0)),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
                "GET",
                Body::Length(7),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
                "HEAD",
                Body::Length(0),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                "GET",
                Body::Chunked,
            ),
            ("HTTP/1.1 200 OK\r\n\r\n", "GET", Body::UntilClose),
        ] {
            assert_eq!(head(text).response_body(method), body, "{text}");
        }
    }

    #[test]
    fn a_body_is_relayed_byte_by_byte_and_ends_where_it_ends() {
        for (body, text, content) in [
            (Body::Length(3), "abcNEXT", "abc"),
            (Body::Length(0), "NEXT", ""),
            (
                Body::Chunked,
                "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\nNEXT",
                "abcde",
            ),
            (Body::Chunked, "0\r\nTrailer: x\r\n\r\nNEXT", ""),
        ] {
            let mut from = text.as_bytes();
            let (mut raw, mut plain) = (Vec::new(), Vec::new());
            relay(body, &mut from, &mut raw, &mut plain).expect("relayed");
            assert_eq!(from, b"NEXT", "{text}");
            assert_eq!(raw, text.strip_suffix("NEXT").expect("a suffix").as_bytes());
            assert_eq!(plain, content.as_bytes());
        }
        for (body, text) in [
            (Body::Length(9), "abc"),
            (Body::Chunked, "3\r\nab"),
            (Body::Chunked, "zz\r\n"),
        ] {
            let result = relay(body, &mut text.as_bytes(), &mut io::sink(), &mut io::sink());
            assert!(result.is_err(), "{text}");
        }
    }
}
