//! Listens to the events of an Incus, over a websocket that is read byte by byte.
//!
//! Used by scenarios beside `observer.rs`, and like it with none of the product's types. Nothing is ever sent after the
//! request: a server that is not answered for half a minute would end it, and nobody listens that long.

use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::http::Head;

/// Longer than anything that is listened for may take.
const LONGEST_SILENCE: Duration = Duration::from_secs(20);

/// What a frame carries.
const TEXT: u8 = 1;

/// A stream of events.
#[derive(Debug)]
pub struct Listener {
    stream: BufReader<UnixStream>,
}

impl Listener {
    /// Begins to listen; nothing that happens from here on is missed.
    pub fn start(socket: &Path, path: &str) -> Result<Listener> {
        let listening = || format!("listening to {path} at {}", socket.display());
        let mut stream = UnixStream::connect(socket).with_context(listening)?;
        stream.set_read_timeout(Some(LONGEST_SILENCE))?;
        // The key is for proxies that keep answers, of which there are none here.
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: lab\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream
            .write_all(request.as_bytes())
            .with_context(listening)?;
        let mut stream = BufReader::new(stream);
        let head = Head::read(&mut stream).with_context(listening)?;
        let head = head.context("no answer came").with_context(listening)?;
        ensure!(head.status() == 101, "{}: {}", listening(), head.status());
        ensure!(
            head.header("sec-websocket-accept") == Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
            "{}: the key was not answered",
            listening()
        );
        Ok(Listener { stream })
    }

    /// Waits for the next event.
    pub fn hear(&mut self) -> Result<Value> {
        loop {
            let (kind, content) = self.frame().context("waiting for an event")?;
            if kind == TEXT {
                return serde_json::from_slice(&content).context("reading an event");
            }
        }
    }

    /// A frame is its kind, its length in one of three forms, and its content.
    fn frame(&mut self) -> Result<(u8, Vec<u8>)> {
        let [first, length] = self.bytes()?;
        let length = match length {
            126 => u64::from(u16::from_be_bytes(self.bytes()?)),
            127 => u64::from_be_bytes(self.bytes()?),
            short => u64::from(short),
        };
        ensure!(length < 1 << 20, "a frame of {length} bytes");
        let mut content = Vec::new();
        (&mut self.stream).take(length).read_to_end(&mut content)?;
        ensure!(content.len() as u64 == length, "the stream ended");
        Ok((first & 0x0f, content))
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}
