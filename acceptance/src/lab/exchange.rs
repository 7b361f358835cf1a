//! One TCP connection between two network namespaces: a line there, a line back.
//!
//! `tunnel.rs` says between which ends, and whether it may come about.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use super::peer::Peer;
use crate::process;

/// Far more than an established connection inside one machine needs.
const LONGEST_SILENCE: Duration = Duration::from_secs(5);

/// What the client sends, and what the listener answers.
const QUESTION: &str = "who is there?";
const ANSWER: &str = "the other end";

/// What both ends saw of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// What the listener received.
    pub received: String,
    /// What the client was answered.
    pub answered: String,
    /// The client's address as the listener saw it.
    pub seen_from: IpAddr,
}

/// Listens at one end, before anybody connects.
pub(super) fn listen(peer: &Peer, at: SocketAddr) -> Result<TcpListener> {
    process::inside(&peer.network(), || Ok(TcpListener::bind(at)?))
        .with_context(|| format!("listening on {at} at the {}", peer.name()))
}

/// One connection, which may take this long to come about.
pub(super) fn connect(
    from: &Peer,
    to: &Peer,
    listener: &TcpListener,
    at: SocketAddr,
    longest: Duration,
) -> Result<Exchange> {
    let (served, asked) = thread::scope(|scope| {
        let serving = scope.spawn(|| serve(listener));
        let asked = process::inside(&from.network(), || ask(at, longest));
        if asked.is_err() {
            // Nobody came, so that the listener has to be told not to wait. What it then says does not matter.
            let _ = process::inside(&to.network(), || Ok(TcpStream::connect(at)?));
        }
        (serving.join(), asked)
    });
    let answered = asked?;
    let (received, seen_from) = served.map_err(|_| anyhow!("the listener panicked"))??;
    ensure!(
        received == QUESTION && answered == ANSWER,
        "{received:?} was received and {answered:?} answered"
    );
    Ok(Exchange {
        received,
        answered,
        seen_from,
    })
}

/// Answers one client.
fn serve(listener: &TcpListener) -> Result<(String, IpAddr)> {
    let (mut stream, client) = listener.accept().context("waiting for a client")?;
    stream.set_read_timeout(Some(LONGEST_SILENCE))?;
    let mut received = String::new();
    stream.read_to_string(&mut received).context("listening")?;
    stream.write_all(ANSWER.as_bytes()).context("answering")?;
    Ok((received, client.ip()))
}

/// Asks a listener.
fn ask(at: SocketAddr, longest: Duration) -> Result<String> {
    let mut stream =
        TcpStream::connect_timeout(&at, longest).context("waiting for an answer of the network")?;
    stream.set_read_timeout(Some(LONGEST_SILENCE))?;
    stream.write_all(QUESTION.as_bytes()).context("asking")?;
    stream.shutdown(Shutdown::Write).context("asking")?;
    let mut answered = String::new();
    stream
        .read_to_string(&mut answered)
        .context("waiting for the answer")?;
    Ok(answered)
}
