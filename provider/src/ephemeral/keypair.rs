//! `homelab_keypair`: a new pair of keys each time it is opened, for a tunnel or for the trust store of Incus.
//!
//! Before: `tfplugin` decoded the configuration. After: `keys.rs` or `incus` makes the pair, OpenTofu hands it on and forgets it.
//! Nothing of it is noted, so there is nothing to renew or to close. Not here: keys that stay (a seed keeps its own).

use core::time::Duration;

use async_trait::async_trait;
use incus::certificate::{self, Wanted};
use jiff::Timestamp;
use tfplugin::{
    Attribute, Call, Diagnostic, Diagnostics, EphemeralResource, Opened, Schema, Value,
    validate_duration,
};

use crate::keys;

/// The ephemeral resource `homelab_keypair`.
pub(crate) struct Keypair;

const WIREGUARD: &str = "wireguard";
const CLIENT_CERTIFICATE: &str = "client-certificate";

const DEFAULT_COMMON_NAME: &str = "homelab";
/// What X.509 allows (ub-common-name of RFC 5280).
const LONGEST_COMMON_NAME: usize = 64;
/// Ten years, as Incus's own client makes them: nothing renews them.
const DEFAULT_VALIDITY: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// What ends while it is being handed over is of no use.
const SHORTEST_VALIDITY: Duration = Duration::from_secs(60);

#[async_trait]
impl EphemeralResource for Keypair {
    // Schema.

    fn schema(&self) -> Schema {
        Schema::new(
            0,
            "Makes a new pair of keys: for a WireGuard tunnel, or a client certificate for the trust store of Incus.\n\n\
             The pair is stored nowhere. It is made anew each time it is opened, and OpenTofu opens it in a plan and again in \
             the apply: the pair of a plan is not the pair of its apply, and no later run sees it again. So hand both halves \
             on in the same apply, to write-only attributes (their names end in `_wo`), such as those of a secret store, \
             and raise the version beside each when new keys are wanted; from there the others read them. An ephemeral \
             value goes nowhere else: OpenTofu refuses it in ordinary attributes and in outputs of the root module.",
        )
        .attributes(inputs().into_iter().chain(outputs()))
    }

    // Validate.

    fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        let kind = config.attr("kind").as_str();
        if let Some(kind) = kind
            && ![WIREGUARD, CLIENT_CERTIFICATE].contains(&kind)
        {
            diagnostics.push(
                Diagnostic::error("The kind of a pair of keys is not known")
                    .detail(format!(
                        "The kind is {kind:?}. Expected \"{WIREGUARD}\" for a tunnel, or \"{CLIENT_CERTIFICATE}\" for the \
                         trust store of Incus."
                    ))
                    .at("kind"),
            );
        }
        if kind == Some(WIREGUARD) {
            diagnostics.extend(["common_name", "validity"].into_iter().filter_map(|name| {
                let detail = format!(
                    "The kind is \"{WIREGUARD}\", and {name} is set. Only certificates have it. Remove {name}, or set kind = \
                     \"{CLIENT_CERTIFICATE}\"."
                );
                let summary = format!("A WireGuard key has no {name}");
                let diagnostic = Diagnostic::error(summary).detail(detail).at(name);
                let value = config.attr(name);
                // What is not known yet may turn out to be null.
                (!value.is_null() && !value.is_unknown()).then_some(diagnostic)
            }));
        }
    }

    // Open.

    async fn open(&self, config: Value, _call: &Call) -> Opened {
        match filled(config) {
            Ok(result) => Opened::new(result),
            Err(failure) => Opened::failed(
                Diagnostic::error("A pair of keys could not be made").detail(format!(
                    "{failure}. Expected a machine that gives random numbers. Try again."
                )),
            ),
        }
    }
}

fn inputs() -> [Attribute; 3] {
    [
        Attribute::string("kind").required().describe(
            "`wireguard`: an X25519 pair as `wg genkey` and `wg pubkey` make it. `client-certificate`: an ECDSA P-384 key and \
             a certificate signed with it, as `incus remote generate-certificate` makes them.",
        ),
        Attribute::string("common_name")
            .optional()
            .validate(validate_common_name)
            .describe(
                "The name in the certificate, which Incus shows nowhere but which helps people; `homelab` if unset. Of \
                 `client-certificate` only.",
            ),
        Attribute::string("validity")
            .optional()
            .validate(validate_validity)
            .describe(
                "How long the certificate is valid, such as `720h`; ten years if unset. Of `client-certificate` only. It \
                 begins an hour ago, since clocks differ.",
            ),
    ]
}

fn outputs() -> [Attribute; 4] {
    [
        Attribute::string("private_key").computed().sensitive().describe(
            "The private half: 32 bytes in base64 for WireGuard, PEM (PKCS #8) for a certificate.",
        ),
        Attribute::string("public_key").computed().describe(
            "The public half: 32 bytes in base64 for WireGuard, PEM for a certificate.",
        ),
        Attribute::string("certificate").computed().describe(
            "The certificate in PEM; null for WireGuard.",
        ),
        Attribute::string("fingerprint").computed().describe(
            "The SHA-256 of the certificate in hexadecimal, by which Incus lists it; null for WireGuard.",
        ),
    ]
}

fn validate_common_name(value: &Value) -> Result<(), Diagnostic> {
    let text = value.as_str().unwrap_or_default();
    let length = text.chars().count();
    if (1..=LONGEST_COMMON_NAME).contains(&length) && !text.chars().any(char::is_control) {
        return Ok(());
    }
    let shown: String = text.chars().take(LONGEST_COMMON_NAME).collect();
    Err(
        Diagnostic::error("The common name of a certificate is not valid").detail(format!(
            "The common name {shown:?} has {length} characters. Expected 1 to {LONGEST_COMMON_NAME}, without control \
             characters. Shorten or correct it, or leave it out."
        )),
    )
}

fn validate_validity(value: &Value) -> Result<(), Diagnostic> {
    validate_duration(value)?;
    let text = value.as_str().unwrap_or_default();
    match domain::duration::parse(text) {
        Ok(validity) if validity >= SHORTEST_VALIDITY => Ok(()),
        Ok(_) => Err(
            Diagnostic::error("The validity of a certificate is too short").detail(format!(
                "The validity is {text:?}. Expected at least \"1m\". Set a longer one, or leave it out for ten years."
            )),
        ),
        Err(error) => Err(
            Diagnostic::error("The validity of a certificate is not valid").detail(format!(
                "The duration {text:?} {error}. Expected a duration such as \"720h\"."
            )),
        ),
    }
}

fn client_certificate(config: &Value) -> Wanted {
    let validity = config.attr("validity").as_str();
    let validity = validity.and_then(|text| domain::duration::parse(text).ok());
    let common_name = config.attr("common_name").as_str();
    Wanted {
        common_name: common_name.unwrap_or(DEFAULT_COMMON_NAME).to_owned(),
        validity: validity.unwrap_or(DEFAULT_VALIDITY),
        now: Timestamp::now().into(),
    }
}

/// The configuration with a new pair in it, or which step failed.
fn filled(config: Value) -> Result<Value, String> {
    let mut result = config;
    if result.attr("kind").as_str() == Some(WIREGUARD) {
        let pair = keys::wireguard().map_err(|failure| failure.to_string())?;
        result.set_attr("private_key", pair.private_key);
        result.set_attr("public_key", pair.public_key);
        result.set_attr("certificate", Value::Null);
        result.set_attr("fingerprint", Value::Null);
    } else {
        let pair = certificate::self_signed(&client_certificate(&result))
            .map_err(|failure| failure.to_string())?;
        result.set_attr("private_key", pair.private_key);
        result.set_attr("public_key", pair.public_key);
        result.set_attr("certificate", pair.certificate);
        result.set_attr("fingerprint", pair.fingerprint.to_string());
    }
    Ok(result)
}

#[cfg(test)]
mod tests;
