//! Diagnostics about the way to a cluster: who we are, who answered, and why it was not used.
//!
//! Before: `incus` refused something, or noticed something. After: `diagnose.rs` and `session.rs` pass it on.

use std::error::Error as _;

use incus::error::TransportError;
use incus::{Distrust, Error, IdentityError, Notice, RemoteError};
use tfplugin::Diagnostic;

use super::{capitalised, sentence};

/// Certificate and key of the provider block make no identity. Nothing of either is repeated.
pub(crate) fn identity(error: &IdentityError) -> Diagnostic {
    let (attribute, expected) = match error {
        IdentityError::KeyMissing { .. } => (
            "client_key",
            "Expected its private key in `client_key` or `HOMELAB_CLIENT_KEY`.",
        ),
        IdentityError::CertificateMissing => (
            "client_certificate",
            "Expected the key's certificate in `client_certificate` or `HOMELAB_CLIENT_CERTIFICATE`.",
        ),
        IdentityError::KeyInCertificate => (
            "client_certificate",
            "Expected only the certificate here: what stands here is shown in plans. If the key was shown somewhere by now, \
             make a new one.",
        ),
        IdentityError::UnreadableCertificate => (
            "client_certificate",
            "Expected a text that begins with `-----BEGIN CERTIFICATE-----`, such as `file(\"client.crt\")`.",
        ),
        IdentityError::KeyDoesNotFit { .. } => (
            "client_key",
            "Expected the private key that was made together with the certificate.",
        ),
        _ => (
            "client_key",
            "Expected a text that begins with `-----BEGIN PRIVATE KEY-----` or the like, such as `file(\"client.key\")`.",
        ),
    };
    Diagnostic::error("The client certificate and its key cannot be used")
        .detail(format!(
            "{} {expected}",
            sentence(capitalised(&error.to_string()), None)
        ))
        .at(attribute)
}

/// The remote of the provider block leads nowhere.
pub(crate) fn remote(name: &str, error: &RemoteError) -> Diagnostic {
    let expected = match error {
        RemoteError::Unknown { .. } => {
            "Expected the name of a remote: `incus remote list` shows them, `incus remote add` adds one."
        }
        RemoteError::ImageServer { .. } | RemoteError::LogIn { .. } => {
            "Expected an Incus server that was added with a certificate (`incus remote add NAME ADDRESS`), or `endpoints` \
             with `client_certificate` and `client_key`."
        }
        RemoteError::NoCertificate { .. } => "`incus remote generate-certificate` makes one.",
        _ => {
            "Expected what `incus remote add` has written. Add the remote again, or use `endpoints`."
        }
    };
    Diagnostic::error(format!(
        "The remote {name:?} of the provider cannot be used"
    ))
    .detail(format!(
        "{} {expected}",
        sentence(capitalised(&error.to_string()), error.source())
    ))
}

/// What an operator should know about a server that is used.
pub(crate) fn notice(notice: &Notice) -> Diagnostic {
    match notice {
        Notice::TrustedOnFirstUse {
            endpoint,
            fingerprint,
        } => Diagnostic::warning(format!("{endpoint} was trusted on first use")).detail(format!(
            "Nothing was known about the server before, and its certificate is {fingerprint}. Compare it with \
             `incus info | grep certificate_fingerprint` on a member. To have it checked from now on, write it into the \
             provider's `server_fingerprints`."
        )),
        Notice::Lapsed {
            endpoint, lapse, ..
        } => Diagnostic::warning(format!("The certificate of {endpoint} {lapse}")).detail(
            "It is accepted because its fingerprint is one of `server_fingerprints`. Renew it with \
             `incus cluster update-certificate`, and write the new fingerprint beside the old one before that.",
        ),
        other => Diagnostic::warning(capitalised(&other.to_string())),
    }
}

/// Two objects of one provider block were last seen on two clusters.
pub(crate) fn two_clusters(error: &Error) -> Diagnostic {
    Diagnostic::error("Two clusters are named for one provider").detail(format!(
        "{} Expected that everything of one provider block lives on one cluster. If the cluster's certificate was \
         renewed, or the cluster was really replaced, write the new fingerprint into `server_fingerprints`. If `remote` is \
         another cluster than the one in the state, choose the right one; what lives elsewhere needs a provider block of \
         its own.",
        sentence(capitalised(&error.to_string()), error.source())
    ))
}

/// What to do about a request that did not get through, as far as something can be said.
pub(super) fn hint(error: &Error) -> Option<String> {
    if !error.is_unreachable() {
        return None;
    }
    let attempts = match error {
        Error::Unreachable { attempts, .. } => attempts.as_slice(),
        _ => &[],
    };
    let advice = attempts.iter().find_map(|attempt| advice(&attempt.cause));
    let advice = advice.unwrap_or(
        "Expected an Incus server at one of the provider's `endpoints`, which in the order of trying are `endpoints` or \
         `remote`, `HOMELAB_ENDPOINTS` or `HOMELAB_REMOTE`, and the socket of this machine.",
    );
    Some(format!("{advice} Nothing in the state was changed."))
}

fn advice(cause: &TransportError) -> Option<&'static str> {
    match cause {
        TransportError::Distrusted(distrust) => Some(match **distrust {
            Distrust::NotPinned { .. } => {
                "If the server is the right one and its certificate is a new one, write its fingerprint into \
                 `server_fingerprints`."
            }
            Distrust::Lapsed { .. } => {
                "Renew the certificate with `incus cluster update-certificate`, or accept it by writing its fingerprint \
                 into `server_fingerprints`."
            }
            _ => {
                "A server of another cluster is never used, since everything would look deleted there. If its certificate \
                 was renewed, or the cluster was really replaced, write the new fingerprint into `server_fingerprints`."
            }
        }),
        TransportError::Untrusted { .. } => Some(
            "Make the client known to the cluster with `incus config trust add-certificate`, or check that \
             `client_certificate` is the one that is known there (`incus config trust list`).",
        ),
        TransportError::ClientCertificate { .. } => Some(
            "Make a new certificate and key, add the certificate with `incus config trust add-certificate`, and give both \
             to the provider.",
        ),
        TransportError::NoDatabase {
            clustered: true, ..
        } => Some(
            "A member answers, and the cluster can decide nothing at the moment: most of the members that vote do not answer, \
             or they are just choosing one to lead. Try again in a minute, and bring the members back. Where they are dead \
             for good, the guide \"Making and keeping a cluster\" says how a member that lives goes on without them.",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use incus::error::Attempt;
    use incus::{Endpoint, Fingerprint};

    use super::*;

    /// A wrong endpoint is not what an operator should look for when the cluster has lost its majority.
    #[test]
    fn a_cluster_that_can_decide_nothing_is_told_from_a_wrong_endpoint() {
        for (clustered, part) in [(true, "bring the members back"), (false, "`endpoints`")] {
            let server = Fingerprint::parse(&"ab".repeat(32)).expect("a fingerprint");
            let late = TransportError::AnswerTimeout(core::time::Duration::from_secs(45));
            let cause = TransportError::NoDatabase {
                server: Box::new(server),
                clustered,
                cause: Box::new(late),
            };
            let error = Error::Unreachable {
                doing: "listing the cluster's members".to_owned(),
                attempts: vec![Attempt {
                    endpoint: Endpoint::parse("https://m1").expect("an endpoint"),
                    cause,
                }],
            };
            let hint = hint(&error).expect("a hint");
            assert!(hint.contains(part), "{clustered}: {hint}");
        }
    }
}
