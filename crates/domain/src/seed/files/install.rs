//! `install.json`: which disk, and what the machine lacks. That the file is there is what starts the installation.
//!
//! The installation is never forced: a disk that holds something else is a question to the operator, not to a file.

use serde::Serialize;

use super::{VERSION, settled, text};
use crate::machine::{DeclaredSecurity, disk};
use crate::seed::declared::Declared;

/// `disk::SMALLEST` as IncusOS reads it.
const SMALLEST: &str = "50GiB";

#[derive(Serialize)]
struct File {
    version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    security: Option<Security>,
    target: Target,
}

#[derive(Serialize)]
struct Security {
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_tpm: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_secure_boot: Option<bool>,
}

#[derive(Serialize)]
struct Target {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bus: Option<String>,
    min_size: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_size: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sort_order: Option<String>,
}

pub(super) fn render(seed: &Declared) -> Option<String> {
    let security = match settled(&seed.machine.security)? {
        None => None,
        Some(declared) => security(declared)?,
    };
    let target = match settled(&seed.machine.install_disk)? {
        None => target(&disk::Declared::default())?,
        Some(declared) => target(declared)?,
    };
    text(&File {
        version: VERSION,
        security,
        target,
    })
}

/// HO-SEED-07: said only of what is missing, because IncusOS refuses to be told that a working TPM is not there.
fn security(declared: &DeclaredSecurity) -> Option<Option<Security>> {
    let missing = |present: Option<&bool>| (present == Some(&false)).then_some(true);
    let missing_tpm = missing(settled(&declared.tpm)?);
    let missing_secure_boot = missing(settled(&declared.secure_boot)?);
    let is_any = missing_tpm.is_some() || missing_secure_boot.is_some();
    Some(is_any.then_some(Security {
        missing_tpm,
        missing_secure_boot,
    }))
}

/// HO-SEED-06, HO-SEED-32: one disk, and always with a bound. IncusOS chooses first and measures afterwards, so that a card
/// or a second stick would make the only disk one of two, or be the smallest.
fn target(declared: &disk::Declared) -> Option<Target> {
    let min_size = settled(&declared.min_size)?.cloned();
    Some(Target {
        id: settled(&declared.id)?.cloned(),
        bus: settled(&declared.bus)?.cloned(),
        min_size: min_size.unwrap_or_else(|| SMALLEST.to_owned()),
        max_size: settled(&declared.max_size)?.cloned(),
        sort_order: settled(&declared.sort_order)?.cloned(),
    })
}
