//! One question to a server of images, sent and answered over a connection of its own.
//!
//! Before: `oci.rs`, `simplestreams.rs` and `public.rs` say what to ask. After: they read the answer. Bounded in every
//! way: how long it takes, how much is read, how often it is sent elsewhere. The environment's proxies are not asked.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, LOCATION, USER_AGENT};
use http::uri::Authority;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::{Error, roots};
use crate::envelope::Reply;
use crate::error::TransportError;

/// Connecting takes milliseconds; who does not answer by then is not there.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// For everything, redirects included. The list of a large server is some megabytes.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// As often as registries and mirrors need, and no more.
const REDIRECTS: usize = 5;

/// A question to a server of images.
pub(super) struct Question<'a> {
    pub(super) method: Method,
    pub(super) url: &'a str,
    pub(super) headers: HeaderMap,
    /// How much of the answer is read; the rest is cut off, and `Reply::truncated` tells.
    pub(super) most: usize,
}

impl<'a> Question<'a> {
    pub(super) fn get(url: &'a str, most: usize) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            most,
        }
    }
}

/// Asks, and follows redirects. Any status is an answer.
pub(super) async fn ask(question: &Question<'_>) -> Result<Reply, Error> {
    let until = Instant::now() + ANSWER_LIMIT;
    let redirected = || Error::Redirected {
        url: question.url.to_owned(),
    };
    let mut uri = parse(question.url)
        .ok_or_else(|| Error::unusable(question.url, "it is no address of a server"))?;
    let mut headers = question.headers.clone();
    for _ in 0..=REDIRECTS {
        let reply = ask_once(question, &uri, &headers, until).await?;
        let location = reply.headers.get(LOCATION);
        let Some(location) = location.filter(|_| reply.status.is_redirection()) else {
            return Ok(reply);
        };
        let next = location.to_str().ok().and_then(|text| follow(&uri, text));
        let next = next.ok_or_else(redirected)?;
        if next.authority() != uri.authority() {
            headers.remove(AUTHORIZATION);
        }
        uri = next;
    }
    Err(redirected())
}

fn parse(url: &str) -> Option<Uri> {
    let uri: Uri = url.parse().ok()?;
    let scheme = uri.scheme_str()?;
    (matches!(scheme, "https" | "http") && uri.host().is_some()).then_some(uri)
}

/// Where a redirect leads; nowhere if that is less secure than where it comes from.
fn follow(from: &Uri, location: &str) -> Option<Uri> {
    let next = match location.strip_prefix('/') {
        Some(rest) if !rest.starts_with('/') => {
            let (scheme, authority) = (from.scheme_str()?, from.authority()?);
            parse(&format!("{scheme}://{authority}{location}"))?
        }
        _ => parse(location)?,
    };
    let is_downgrade = from.scheme_str() == Some("https") && next.scheme_str() != Some("https");
    (!is_downgrade).then_some(next)
}

async fn ask_once(
    question: &Question<'_>,
    uri: &Uri,
    headers: &HeaderMap,
    until: Instant,
) -> Result<Reply, Error> {
    let unreachable = |cause| Error::Unreachable {
        url: question.url.to_owned(),
        cause,
    };
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = uri.authority().map_or("", Authority::as_str);
    let mut request = Request::builder()
        .method(&question.method)
        .uri(path)
        .header(HOST, authority)
        .header(USER_AGENT, "homelab")
        .body(Empty::<Bytes>::new())
        .map_err(|error| unreachable(TransportError::Unwritable(error)))?;
    request.headers_mut().extend(headers.clone());
    let stream = open(question, uri).await?;
    let answering = async {
        let (mut sender, driver) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(TransportError::Broken)?;
        // The connection ends with this future, whatever the server does.
        let mut drivers = JoinSet::new();
        drivers.spawn(driver);
        let response = sender
            .send_request(request)
            .await
            .map_err(TransportError::Broken)?;
        collect(response, question.most).await
    };
    timeout_at(until, answering)
        .await
        .unwrap_or(Err(TransportError::AnswerTimeout(ANSWER_LIMIT)))
        .map_err(unreachable)
}

/// Whatever carries bytes both ways.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

async fn open(question: &Question<'_>, uri: &Uri) -> Result<Box<dyn Duplex>, Error> {
    let url = question.url.to_owned();
    let host = uri.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let configuration = match is_secure {
        true => Some(roots::configuration().ok_or(Error::NoAuthorities { url: url.clone() })?),
        false => None,
    };
    let connecting = async {
        let stream = TcpStream::connect((host, port))
            .await
            .map_err(TransportError::Connect)?;
        let Some(configuration) = configuration else {
            return Ok(Box::new(stream) as Box<dyn Duplex>);
        };
        let stream = roots::shake_hands(configuration, host, stream).await?;
        Ok(Box::new(stream) as Box<dyn Duplex>)
    };
    timeout_at(Instant::now() + CONNECT_LIMIT, connecting)
        .await
        .unwrap_or(Err(TransportError::ConnectTimeout(CONNECT_LIMIT)))
        .map_err(|cause| Error::Unreachable { url, cause })
}

async fn collect(response: Response<Incoming>, most: usize) -> Result<Reply, TransportError> {
    let (head, mut incoming) = response.into_parts();
    let mut body = Vec::new();
    let mut truncated = false;
    while !truncated && let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(TransportError::Broken)?;
        if let Some(data) = frame.data_ref() {
            let room = most - body.len();
            truncated = data.len() > room;
            body.extend_from_slice(&data[..data.len().min(room)]);
        }
    }
    Ok(Reply {
        status: head.status,
        headers: head.headers,
        body: body.into(),
        truncated,
        peer: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_never_leads_from_https_to_http() {
        let from = |url| parse(url).expect("an address");
        let lead = |url, location| follow(&from(url), location).map(|uri| uri.to_string());
        for (url, location, expected) in [
            ("https://a/x", "https://b/y", Some("https://b/y")),
            ("https://a:5/x", "/y?z=1", Some("https://a:5/y?z=1")),
            ("http://a/x", "https://b/y", Some("https://b/y")),
            ("http://a/x", "http://b/", Some("http://b/")),
            ("https://a/x", "http://a/x", None),
            ("https://a/x", "//b/y", None),
            ("https://a/x", "y", None),
            ("https://a/x", "file:///etc/passwd", None),
            ("https://a/x", "", None),
        ] {
            assert_eq!(lead(url, location).as_deref(), expected, "{location}");
        }
    }
}
