//! A websocket over the same streams as requests: texts that come, until the end or silence.
//!
//! `event.rs` reads the texts. Nothing but answers to pings is sent.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::envelope::Reply;
use crate::error::TransportError;

use super::Link;
use super::connect::{Duplex, connect};

/// Why no websocket came about.
pub(crate) enum NoWebsocket {
    /// The server gave a plain answer instead.
    Answered(Reply),
    /// The connection did not come about, or broke.
    Lost(TransportError),
}

/// The texts that come over a websocket. Pings are answered on the way.
pub(crate) struct Messages {
    socket: WebSocketStream<Box<dyn Duplex>>,
    silence: Duration,
    heard: Instant,
}

impl Link {
    /// Opens a websocket that counts as lost when nothing is heard for so long.
    pub(crate) async fn websocket(
        &self,
        path_and_query: &str,
        silence: Duration,
    ) -> Result<Messages, NoWebsocket> {
        let stream = connect(&self.endpoint, &self.trusted).await;
        let stream = stream.map_err(NoWebsocket::Lost)?.io;
        let address = format!("ws://{}{path_and_query}", self.endpoint.authority());
        let handshake = tokio_tungstenite::client_async(address, stream);
        match timeout(silence, handshake).await {
            Ok(Ok((socket, _))) => Ok(Messages {
                socket,
                silence,
                heard: Instant::now(),
            }),
            Ok(Err(tungstenite::Error::Http(answer))) => {
                Err(NoWebsocket::Answered(refused(*answer)))
            }
            Ok(Err(error)) => Err(NoWebsocket::Lost(websocket(error))),
            Err(_) => Err(NoWebsocket::Lost(TransportError::AnswerTimeout(silence))),
        }
    }
}

impl Messages {
    /// The next text. Safe to drop: nothing is lost.
    pub(crate) async fn next(&mut self) -> Result<String, TransportError> {
        loop {
            // A member that is cut off leaves the connection open and sends not even pings. The
            // time runs on while nobody waits, so that short waits add up.
            let message = timeout_at(self.heard + self.silence, self.socket.next())
                .await
                .map_err(|_| TransportError::Silent(self.silence))?
                .ok_or(TransportError::Closed)?
                .map_err(websocket)?;
            self.heard = Instant::now();
            match message {
                Message::Text(text) => return Ok(text.as_str().to_owned()),
                Message::Close(_) => return Err(TransportError::Closed),
                // A ping is answered by the next read; the rest carries nothing for us.
                Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_) => {}
            }
        }
    }
}

/// The answer of a server that opens no websocket. Only the beginning of its body is here.
fn refused(answer: http::Response<Option<Vec<u8>>>) -> Reply {
    let (head, body) = answer.into_parts();
    Reply {
        status: head.status,
        headers: head.headers,
        body: body.unwrap_or_default().into(),
        truncated: false,
        peer: None,
    }
}

fn websocket(error: tungstenite::Error) -> TransportError {
    TransportError::Websocket(Box::new(error))
}
