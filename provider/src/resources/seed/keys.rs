//! The keys of a machine: made once, then found again in the state, until `rotate` changes.
//!
//! The tunnel's private key has its home in the file that holds it, the metrics key in an attribute of its own.

use core::time::Duration;

use domain::seed::{Declared, Keys, tunnel_key};
use incus::certificate::{Wanted, self_signed};
use jiff::Timestamp;
use tfplugin::{Diagnostic, Path, Value};

use super::model::machine_name;
use crate::keys;

/// Ten years, as Incus makes its own: nothing renews it, and it opens nothing but metrics.
const METRICS_VALIDITY: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Both halves of everything. No `Debug`: it holds keys.
#[derive(Clone)]
pub(super) struct Kept {
    /// What goes into the seed.
    pub(super) keys: Keys,
    /// Secret.
    pub(super) metrics_key: String,
}

impl Kept {
    /// The keys in a state, as far as the seed as declared now still has a use for them.
    ///
    /// # Errors
    ///
    /// When the state is damaged: a machine that is installed would not be known by new keys.
    pub(super) fn of(state: &Value, seed: &Declared) -> Result<Option<Kept>, Diagnostic> {
        let text = |name: &str| state.attr(name).as_str().map(str::to_owned);
        let (Some(metrics_certificate), Some(metrics_key)) =
            (text("metrics_certificate"), text("metrics_key"))
        else {
            return Ok(None);
        };
        let network = state.attr("files").attr("network.json");
        let wireguard = tunnel_key(network.as_str().unwrap_or_default());
        let public_key = text("wireguard_public_key");
        if wireguard.as_deref().and_then(public_key_of) != public_key {
            return Err(damaged(machine_name(state)));
        }
        Ok(Some(Kept {
            keys: Keys {
                wireguard: wireguard.filter(|_| seed.wireguard.is_set()),
                metrics_certificate,
            },
            metrics_key,
        }))
    }

    /// New keys for what has none yet.
    pub(super) fn complete(
        kept: Option<Kept>,
        machine: &str,
        tunnel: bool,
    ) -> Result<Kept, Diagnostic> {
        let mut kept = match kept {
            Some(kept) => kept,
            None => metrics(machine)?,
        };
        if tunnel && kept.keys.wireguard.is_none() {
            let pair = keys::wireguard().map_err(|error| not_made(machine, &error))?;
            kept.keys.wireguard = Some(pair.private_key);
        }
        Ok(kept)
    }

    /// The public half of the tunnel's key.
    pub(super) fn public_key(&self) -> Option<String> {
        self.keys.wireguard.as_deref().and_then(public_key_of)
    }
}

fn public_key_of(private_key: &str) -> Option<String> {
    keys::wireguard_public_key(private_key).ok()
}

/// HO-SEED-12.
fn metrics(machine: &str) -> Result<Kept, Diagnostic> {
    let wanted = Wanted {
        common_name: format!("{machine}-metrics"),
        validity: METRICS_VALIDITY,
        now: Timestamp::now().into(),
    };
    let pair = self_signed(&wanted).map_err(|error| not_made(machine, &error))?;
    Ok(Kept {
        keys: Keys {
            wireguard: None,
            metrics_certificate: pair.certificate,
        },
        metrics_key: pair.private_key,
    })
}

fn not_made(machine: &str, error: &dyn core::error::Error) -> Diagnostic {
    Diagnostic::error(format!("The keys of machine {machine} could not be made")).detail(format!(
        "{error}. Expected a machine that gives random numbers. Try again."
    ))
}

fn damaged(machine: &str) -> Diagnostic {
    Diagnostic::error(format!("The state has lost the keys of machine {machine}"))
        .detail(
            "The public key of the tunnel in the state is not that of the private key in its network.json. Expected a pair: \
             with new keys the hub would no longer know a machine that is installed. Restore the state from a backup, or \
             change rotate to make new keys on purpose.",
        )
        .at(Path::new("wireguard_public_key"))
}
