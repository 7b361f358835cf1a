//! The image of a declaration: named in exactly one way, on a server that can be asked for it that way.
//!
//! Before: `declared.rs` reads every part. After: [`Image`], with its digest still to be looked up.

use super::DeclaredImage;
use crate::app::image::{OciName, Version};
use crate::app::{Image, ImageReference, ImageServer, Kind, Protocol, Template, Track};
use crate::given::Given;
use crate::issue::{Issue, Step, attribute};

pub(super) fn read(given: &Given<DeclaredImage>, issues: &mut Vec<Issue>) -> Option<Image> {
    let image = given.known()?;
    let protocol = read_protocol(&image.protocol, issues);
    let server = read_server(image, protocol, issues);
    let track = read_track(&image.track, issues);
    let reference = read_reference(image, issues);
    if protocol == Some(Protocol::Oci) {
        check_oci(image, issues);
    }
    if track == Some(Track::Follow) {
        check_follow(image, protocol, issues);
    }
    Some(Image {
        reference: reference?,
        server: server?,
        track: track?,
        digest: None,
    })
}

/// What neither the image nor the workload can tell alone.
pub(super) fn check_kind(
    image: Option<&Image>,
    workload: Option<&Template>,
    issues: &mut Vec<Issue>,
) {
    let server = image.and_then(|image| image.server.as_ref());
    let is_oci = server.is_some_and(|server| server.protocol == Protocol::Oci);
    if is_oci && workload.is_some_and(|workload| workload.kind == Kind::Vm) {
        issues.push(Issue::new(
            vec![Step::Attribute("workload"), Step::Attribute("kind")],
            "An OCI image is no virtual machine",
            "The kind is \"vm\" and the image is from a registry of OCI images, which start as containers only. Expected \
             `kind = \"container\"`, or an image of another protocol.",
        ));
    }
}

fn at(name: &'static str) -> Vec<Step> {
    vec![Step::Attribute("image"), Step::Attribute(name)]
}

fn read_protocol(given: &Given<String>, issues: &mut Vec<Issue>) -> Option<Protocol> {
    let word = given.known()?;
    let protocol = Protocol::parse(word);
    if protocol.is_none() {
        issues.push(Issue::new(
            at("protocol"),
            "A protocol of images is not known",
            format!(
                "The protocol is {word:?}. Expected \"incus\" for a public Incus server, \"simplestreams\" for a server \
                 such as https://images.linuxcontainers.org, or \"oci\" for a registry of OCI images."
            ),
        ));
    }
    protocol
}

/// Outside is whether anything is known, inside whether there is a server.
fn read_server(
    image: &DeclaredImage,
    protocol: Option<Protocol>,
    issues: &mut Vec<Issue>,
) -> Option<Option<ImageServer>> {
    let url = match &image.server {
        Given::Unknown => return None,
        Given::Absent => {
            refuse_protocol_alone(protocol, issues);
            return (!image.protocol.is_unknown()).then_some(None);
        }
        Given::Known(url) => url,
    };
    // Whatever the protocol is: an address is told to be wrong also where it is not known how to speak to it.
    let parsed = ImageServer::parse(protocol.unwrap_or(Protocol::Incus), url);
    if let Err(reason) = &parsed {
        issues.push(Issue::new(
            at("server"),
            "The address of an image server is not valid",
            format!(
                "Of the address, {reason}. Expected an address such as \"https://ghcr.io\" or \"http://10.0.0.5:5000\": a \
                 scheme, a host, and a port or a path where needed, of a server that gives its images to everybody."
            ),
        ));
    }
    if !image.protocol.is_set() {
        issues.push(Issue::new(
            at("protocol"),
            "An image server needs a protocol",
            "`server` is set and `protocol` is not. Expected \"incus\", \"simplestreams\" or \"oci\": how the server is \
             spoken to.",
        ));
    }
    protocol?;
    parsed.ok().map(Some)
}

fn refuse_protocol_alone(protocol: Option<Protocol>, issues: &mut Vec<Issue>) {
    if let Some(protocol @ (Protocol::Simplestreams | Protocol::Oci)) = protocol {
        issues.push(Issue::new(
            at("server"),
            "A protocol of images needs a server",
            format!(
                "`protocol` is {:?} and `server` is not set, which means the cluster's own images. Set `server` to where the \
                 image is, or remove `protocol`.",
                protocol.word()
            ),
        ));
    }
}

fn read_track(given: &Given<String>, issues: &mut Vec<Issue>) -> Option<Track> {
    match given {
        Given::Absent => Some(Track::Pinned),
        Given::Unknown => None,
        Given::Known(word) => match word.as_str() {
            "pinned" => Some(Track::Pinned),
            "follow" => Some(Track::Follow),
            other => {
                issues.push(Issue::new(
                    at("track"),
                    "How an image is tracked is not known",
                    format!(
                        "`track` is {other:?}. Expected \"pinned\": a name that moves changes nothing until another image is \
                         declared; or \"follow\": the next plan shows that it has moved."
                    ),
                ));
                None
            }
        },
    }
}

fn read_reference(image: &DeclaredImage, issues: &mut Vec<Issue>) -> Option<ImageReference> {
    match (&image.alias, &image.fingerprint) {
        (Given::Unknown, _) | (_, Given::Unknown) => None,
        (Given::Known(alias), Given::Absent) if !alias.is_empty() => {
            Some(ImageReference::Alias(alias.clone()))
        }
        (Given::Absent, Given::Known(fingerprint)) => read_fingerprint(fingerprint, issues),
        (alias, fingerprint) => {
            let seen = match (alias.is_set(), fingerprint.is_set()) {
                (true, true) => "Both `alias` and `fingerprint` are set",
                (true, false) => "`alias` is empty",
                _ => "Neither `alias` nor `fingerprint` is set",
            };
            issues.push(Issue::new(
                attribute("image"),
                "An image must be named in exactly one way",
                format!(
                    "{seen}. Expected one of them: `alias` for an image by name, `fingerprint` for an image by \
                     content."
                ),
            ));
            None
        }
    }
}

fn read_fingerprint(text: &str, issues: &mut Vec<Issue>) -> Option<ImageReference> {
    let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    if (12..=64).contains(&text.len()) && text.chars().all(hexadecimal) {
        return Some(ImageReference::Fingerprint(text.to_owned()));
    }
    issues.push(Issue::new(
        at("fingerprint"),
        "An image fingerprint is not valid",
        format!(
            "The fingerprint is {text:?}. Expected 12 to 64 of the lower-case hexadecimal digits that `incus image \
             list` shows."
        ),
    ));
    None
}

/// Registries know names and digests, and no fingerprints of Incus.
fn check_oci(image: &DeclaredImage, issues: &mut Vec<Issue>) {
    if image.fingerprint.is_set() {
        issues.push(Issue::new(
            at("fingerprint"),
            "An OCI image has no fingerprint",
            "`fingerprint` is set and the protocol is \"oci\". To name an image by content, set `alias` to its repository and \
             digest: `alias = \"web@sha256:…\"`.",
        ));
    }
    if let Given::Known(alias) = &image.alias
        && !alias.is_empty()
        && OciName::parse(alias).is_none()
    {
        issues.push(Issue::new(
            at("alias"),
            "The name of an OCI image is not valid",
            format!(
                "The alias is {alias:?}. Expected a repository in lower case with a tag or a digest, without the server: \
                 \"web\", \"org/web:1.2\" or \"org/web@sha256:…\" with 64 hexadecimal digits."
            ),
        ));
    }
}

/// Only a name can move.
fn check_follow(image: &DeclaredImage, protocol: Option<Protocol>, issues: &mut Vec<Issue>) {
    let is_oci = protocol == Some(Protocol::Oci);
    let name = image.alias.known().and_then(|alias| OciName::parse(alias));
    let is_digest = name.is_some_and(|name| matches!(name.version, Version::Digest(_)));
    let seen = match is_oci {
        true if is_digest => "the alias holds a digest",
        false if image.fingerprint.is_set() => "the image is named by its `fingerprint`",
        // That an OCI image has no fingerprint is told already.
        _ => return,
    };
    issues.push(Issue::new(
        at("track"),
        "An image that is named by content cannot be followed",
        format!(
            "`track` is \"follow\" and {seen}, which stands for the same image for ever. Name the image by an alias that \
             can move, or remove `track`."
        ),
    ));
}
