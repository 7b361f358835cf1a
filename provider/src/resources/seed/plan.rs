//! The plan of `homelab_seed`: a pure function of configuration and prior state, so that it shows which files change.
//!
//! What is to be made anew, keys and all that holds them, is unknown; everything else is rendered here already.

use std::collections::BTreeMap;

use domain::given::Given;
use domain::hex::hex;
use domain::seed::{Advice, Declared};
use sha2::{Digest as _, Sha256};
use tfplugin::{Diagnostic, Plan, Value};

use super::keys::Kept;
use super::model::{declared, holds_secrets, machine_name};
use super::schema::OF_KEYS;

/// The files of a seed by name, each as far as it is known.
pub(super) type Files = BTreeMap<String, Given<String>>;

/// Completes a plan.
pub(super) fn plan(plan: &mut Plan<'_>) {
    if plan.is_destroy() {
        return;
    }
    let config = plan.config;
    let written = match config.attr("output") {
        Value::Null => Value::Null,
        Value::Unknown => Value::Unknown,
        _ => Value::Bool(true),
    };
    // An output that is gone is a change by itself. Then all is rendered again, as the apply will.
    if plan.changed() || plan.prior.attr("written") != &written {
        match kept(plan) {
            Ok(kept) => complete(plan, &declared(config), kept.as_ref()),
            Err(diagnostic) => plan.diagnostics.push(diagnostic),
        }
        warn_of_plain_text(plan);
    }
    plan.set("written", written);
}

/// The keys that stay.
fn kept(plan: &Plan<'_>) -> Result<Option<Kept>, Diagnostic> {
    if plan.is_create() || plan.attr_changed("rotate") {
        return Ok(None);
    }
    Kept::of(plan.prior, &declared(plan.config))
}

fn complete(plan: &mut Plan<'_>, seed: &Declared, kept: Option<&Kept>) {
    let name = machine_name(plan.config);
    let rendered = files(seed, kept);
    plan.set("files", map(rendered.as_ref(), String::clone));
    plan.set("sha256", map(rendered.as_ref(), |content| sha256(content)));
    for (attribute, value) in OF_KEYS.into_iter().zip(of_keys(seed, kept)) {
        plan.set(attribute, value);
    }
    let advice = seed.advice().into_iter();
    plan.diagnostics
        .extend(advice.map(|one| warning(name, one)));
    if plan.is_update() {
        let changed = changed_files(plan.prior.attr("sha256"), plan.planned.attr("sha256"));
        plan.diagnostics.extend(reinstall(name, &changed));
    }
}

/// What the seed consists of; nothing as long as it is not known which files there are.
pub(super) fn files(seed: &Declared, kept: Option<&Kept>) -> Option<Files> {
    let keys = kept.map(|kept| &kept.keys);
    seed.knows_its_files().then(|| seed.render(keys))
}

/// The values of [`OF_KEYS`].
pub(super) fn of_keys(seed: &Declared, kept: Option<&Kept>) -> [Value; 4] {
    let public_key = match (&seed.wireguard, kept.and_then(Kept::public_key)) {
        (Given::Absent, _) => Given::Absent,
        (Given::Known(_), Some(key)) => Given::Known(key),
        _ => Given::Unknown,
    };
    let hub_peer = match &public_key {
        Given::Known(key) => seed.hub_peer(key),
        Given::Absent => Given::Absent,
        Given::Unknown => Given::Unknown,
    };
    let of_kept =
        |read: fn(&Kept) -> &String| kept.map_or(Value::Unknown, |kept| read(kept).into());
    [
        value(public_key),
        value(hub_peer),
        of_kept(|kept| &kept.keys.metrics_certificate),
        of_kept(|kept| &kept.metrics_key),
    ]
}

fn value(given: Given<String>) -> Value {
    match given {
        Given::Absent => Value::Null,
        Given::Unknown => Value::Unknown,
        Given::Known(text) => text.into(),
    }
}

/// A map of the files, each as far as it is known.
pub(super) fn map(files: Option<&Files>, read: impl Fn(&String) -> String) -> Value {
    let one = |(name, content): (&String, &Given<String>)| {
        let content = content.known().map(&read);
        (name.clone(), content.map_or(Value::Unknown, Value::from))
    };
    match files {
        Some(files) => Value::Map(files.iter().map(one).collect()),
        None => Value::Unknown,
    }
}

pub(super) fn sha256(content: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(content))
}

/// The names of what is different, new or gone.
fn changed_files(before: &Value, after: &Value) -> Vec<String> {
    let (Some(before), Some(after)) = (before.as_map(), after.as_map()) else {
        return Vec::new();
    };
    let names = before
        .keys()
        .chain(after.keys().filter(|name| !before.contains_key(*name)));
    let differs = |name: &&String| before.get(*name) != after.get(*name);
    names.filter(differs).cloned().collect()
}

/// HO-WG-09: what a machine was installed with, it keeps.
fn reinstall(name: &str, changed: &[String]) -> Option<Diagnostic> {
    (!changed.is_empty()).then(|| {
        Diagnostic::warning(format!("Machine {name} must be installed again for its new seed to count")).detail(format!(
            "What changes is {}. IncusOS reads its seed at the first start only: media that were made before, and a machine \
             that was installed from one, keep what they have. Make the medium again and install the machine: IncusOS takes no \
             disk with a partition table, so empty its disk first (`wipefs --all` from any live system). Or change the \
             machine where it runs as well.",
            changed.join(", ")
        ))
    })
}

/// HO-SEED-28.
fn warn_of_plain_text(plan: &mut Plan<'_>) {
    let (output, recipients) = (plan.config.attr("output"), plan.config.attr("encrypt_to"));
    let touched = plan.attr_changed("output") || plan.attr_changed("encrypt_to");
    let plain = !output.is_null() && recipients.is_null();
    if !plain || !touched || !holds_secrets(&declared(plan.config)) {
        return;
    }
    let name = machine_name(plan.config);
    plan.diagnostics.push(
        Diagnostic::warning(format!("The seed of machine {name} is written in plain text"))
            .detail(
                "It holds secrets, and whoever reads the file has them; encrypt_to is not set. Set it to your age recipient \
                 (`age-keygen` makes one), and `homelabctl image write --identity` reads the seed.",
            )
            .at("encrypt_to"),
    );
}

fn warning(name: &str, advice: Advice) -> Diagnostic {
    match advice {
        Advice::PlainServer => {
            Diagnostic::warning(format!("Machine {name} will be a server of its own"))
                .detail(
                    "It has no role, or no address that is known beforehand, so that its seed neither begins a cluster nor \
                     prepares it to join one. Set role, network and address of the machine if it shall be a member.",
                )
                .at("machine")
        }
        Advice::HubByAddress => {
            Diagnostic::warning(format!("Machine {name} finds its hub by an address"))
                .detail(
                    "The endpoint of the hub is an address. It becomes a part of the medium: when the hub moves, every machine \
                     has to be installed again. A DNS name can follow it.",
                )
                .at(tfplugin::Path::new("wireguard").attr("hub").attr("endpoint"))
        }
        Advice::SmallDisk => Diagnostic::warning(format!("Machine {name} may have too small a disk"))
            .detail(
                "IncusOS needs a disk of 50 GiB or more, and takes the whole of it. install_disk allows smaller ones, on which \
                 the installation stops. Raise its sizes.",
            )
            .at(tfplugin::Path::new("machine").attr("install_disk")),
    }
}
