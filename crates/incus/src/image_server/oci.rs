//! What a tag names in a registry of OCI images: the digest of a manifest, or of a list of manifests.
//!
//! A registry that wants one gives a token to whoever asks for it, and nobody's name is told for it. Nothing is
//! downloaded but, where a registry tells no digest, the manifest itself.

use http::header::{ACCEPT, AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use http::{HeaderMap, Method, StatusCode};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::Error;
use super::fetch::{Question, ask};
use crate::envelope::Reply;
use crate::request::escape;

/// What a name may stand for.
const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, \
     application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json";

/// Registries take manifests of up to four megabytes.
const LARGEST_MANIFEST: usize = 4 << 20;

/// Tokens have some kilobytes.
const LARGEST_TOKEN: usize = 256 << 10;

/// The digest that a tag names now, as `sha256:…`.
///
/// # Errors
/// [`Error::NotFound`] if the registry has no such tag, [`Error::Login`] if it does not say.
pub async fn look_up(server: &str, repository: &str, tag: &str) -> Result<String, Error> {
    let (server, repository) = address(server, repository);
    let url = format!("{server}/v2/{repository}/manifests/{}", escape(tag));
    let wanted = || format!("{repository}:{tag}");
    let mut question = Question {
        method: Method::HEAD,
        url: &url,
        headers: HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(MANIFESTS))]),
        most: LARGEST_MANIFEST,
    };
    let mut reply = ask(&question).await?;
    if reply.status == StatusCode::UNAUTHORIZED
        && let Some(token) = token(&server, &repository, &reply).await?
    {
        question.headers.insert(AUTHORIZATION, token);
        reply = ask(&question).await?;
    }
    if reply.status.is_success()
        && let Some(digest) = told_digest(&reply)
    {
        return Ok(digest);
    }
    // A few registries tell the digest of what they send alone, or know no HEAD.
    if reply.status.is_success() || reply.status == StatusCode::METHOD_NOT_ALLOWED {
        question.method = Method::GET;
        reply = ask(&question).await?;
    }
    match reply.status {
        StatusCode::NOT_FOUND => Err(Error::NotFound {
            wanted: format!("{:?}", wanted()),
        }),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(Error::Login { wanted: wanted() }),
        status if !status.is_success() => Err(Error::Refused {
            url,
            status: status.as_u16(),
        }),
        _ if reply.truncated => Err(Error::unusable(&url, "the manifest is too long")),
        _ => Ok(told_digest(&reply).unwrap_or_else(|| digest_of(&reply.body))),
    }
}

/// Where a registry answers, and what a repository is called there.
///
/// Docker Hub's name is not where it is, and its own images are in a folder that nobody writes. A path behind the host is
/// a part of every repository.
fn address(server: &str, repository: &str) -> (String, String) {
    let (scheme, rest) = server.split_once("://").unwrap_or(("https", server));
    let (host, folder) = rest.split_once('/').unwrap_or((rest, ""));
    let repository = match folder {
        "" => repository.to_owned(),
        folder => format!("{folder}/{repository}"),
    };
    if !["docker.io", "index.docker.io", "registry-1.docker.io"].contains(&host) {
        return (format!("{scheme}://{host}"), repository);
    }
    let repository = match repository.contains('/') {
        true => repository,
        false => format!("library/{repository}"),
    };
    ("https://registry-1.docker.io".to_owned(), repository)
}

fn told_digest(reply: &Reply) -> Option<String> {
    let digest = reply.headers.get("docker-content-digest")?.to_str().ok()?;
    let digits = digest.strip_prefix("sha256:")?;
    let hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (digits.len() == 64 && digits.bytes().all(hexadecimal)).then(|| digest.to_owned())
}

fn digest_of(manifest: &[u8]) -> String {
    let digest = Sha256::digest(manifest);
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

/// The header that a registry wants to see, if it gives one to everybody.
async fn token(
    server: &str,
    repository: &str,
    refusal: &Reply,
) -> Result<Option<HeaderValue>, Error> {
    let challenges = refusal.headers.get_all(WWW_AUTHENTICATE);
    let challenge = challenges
        .iter()
        .find_map(|value| Challenge::parse(value.to_str().ok()?));
    let Some(challenge) = challenge else {
        return Ok(None);
    };
    // Over an insecure way a token would be anybody's; where the registry itself is asked that way, so it is anyhow.
    if !challenge.realm.starts_with("https://") && server.starts_with("https://") {
        return Ok(None);
    }
    let url = challenge.url(repository);
    let reply = ask(&Question::get(&url, LARGEST_TOKEN)).await?;
    if !reply.status.is_success() {
        return Ok(None);
    }
    #[derive(Deserialize)]
    struct Answer {
        token: Option<String>,
        access_token: Option<String>,
    }
    // What is wrong with it is not told: it may be a token all the same.
    let answer: Option<Answer> = serde_json::from_slice(&reply.body).ok();
    let token = answer.and_then(|answer| answer.token.or(answer.access_token));
    let header = token.and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
    Ok(header.map(|mut header| {
        header.set_sensitive(true);
        header
    }))
}

/// Where a token is to be had.
#[derive(Debug, PartialEq, Eq)]
struct Challenge {
    realm: String,
    service: Option<String>,
}

impl Challenge {
    /// Reads `Bearer realm="…",service="…",scope="…"`.
    fn parse(text: &str) -> Option<Self> {
        let (scheme, mut rest) = text.trim_start().split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service) = (None, None);
        while let Some((name, behind)) = rest.split_once('=') {
            let (value, next) = match behind.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"')?,
                None => behind.split_once(',').unwrap_or((behind, "")),
            };
            match name.trim_matches([' ', ',']).to_ascii_lowercase().as_str() {
                "realm" => realm = Some(value.to_owned()),
                "service" => service = Some(value.to_owned()),
                _ => {}
            }
            rest = next;
        }
        realm.map(|realm| Self { realm, service })
    }

    /// Asks to read one repository.
    fn url(&self, repository: &str) -> String {
        let scope = escape(&format!("repository:{repository}:pull"));
        let separator = if self.realm.contains('?') { '&' } else { '?' };
        let service = self.service.iter();
        let service: String = service
            .map(|name| format!("&service={}", escape(name)))
            .collect();
        format!("{}{separator}scope={scope}{service}", self.realm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_says_where_a_token_is() {
        let challenge = |realm: &str, service: Option<&str>| Challenge {
            realm: realm.to_owned(),
            service: service.map(str::to_owned),
        };
        for (text, expected) in [
            (
                r#"Bearer realm="https://a/t",service="r,s",scope="repository:x:pull""#,
                Some(challenge("https://a/t", Some("r,s"))),
            ),
            (
                r#"bearer service=s, realm="https://a/t?x=1""#,
                Some(challenge("https://a/t?x=1", Some("s"))),
            ),
            (r#"Bearer realm="https://a"#, None),
            (r#"Bearer service="s""#, None),
            (r#"Basic realm="https://a""#, None),
            ("Bearer", None),
            ("", None),
        ] {
            assert_eq!(Challenge::parse(text), expected, "{text}");
        }
        let url = challenge("https://a/t?x=1", Some("r s")).url("org/web");
        assert_eq!(
            url,
            "https://a/t?x=1&scope=repository%3Aorg%2Fweb%3Apull&service=r%20s"
        );
    }

    #[test]
    fn docker_hub_is_not_where_its_name_says() {
        for (server, repository, expected) in [
            ("https://ghcr.io", "org/web", ("https://ghcr.io", "org/web")),
            ("http://h:5000", "web", ("http://h:5000", "web")),
            ("https://h/group/x", "web", ("https://h", "group/x/web")),
            (
                "https://docker.io",
                "nginx",
                ("https://registry-1.docker.io", "library/nginx"),
            ),
            (
                "https://docker.io",
                "org/web",
                ("https://registry-1.docker.io", "org/web"),
            ),
        ] {
            let (found, name) = address(server, repository);
            assert_eq!((found.as_str(), name.as_str()), expected);
        }
    }
}
