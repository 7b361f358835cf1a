//! IncusOS's own rules for a seed, written down a second time: what its parser and its validators take.
//!
//! They judge rendered files only, from the bytes, and share nothing with the product: a mistake there shows here. The
//! parser takes more (names in any case, repeated names), which nothing that is rendered may need.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) type Verdict = Result<(), String>;

pub(crate) fn expect(holds: bool, what: impl Into<String>) -> Verdict {
    if holds { Ok(()) } else { Err(what.into()) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Install {
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) security: Security,
    pub(crate) target: Option<Target>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Security {
    pub(crate) missing_tpm: bool,
    pub(crate) missing_secure_boot: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Target {
    pub(crate) id: String,
    pub(crate) bus: String,
    pub(crate) min_size: String,
    pub(crate) max_size: String,
    pub(crate) sort_order: String,
}

pub(crate) fn install(text: &str) -> Result<Install, String> {
    let install: Install = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let security = &install.security;
    expect(
        !(security.missing_tpm && security.missing_secure_boot),
        "nothing is left",
    )?;
    if let Some(target) = &install.target {
        let order = target.sort_order.to_lowercase();
        expect(
            ["", "smallest", "largest"].contains(&order.as_str()),
            "sort_order",
        )?;
        for size in [&target.min_size, &target.max_size] {
            let unit = size.trim_start_matches(|character: char| character.is_ascii_digit());
            let units = [
                "", "B", " bytes", "kB", "MB", "GB", "TB", "PB", "EB", "KiB", "MiB", "GiB", "TiB",
                "PiB", "EiB",
            ];
            expect(
                size.is_empty() || unit.len() < size.len() && units.contains(&unit),
                format!("size {size}"),
            )?;
        }
    }
    Ok(install)
}

pub(crate) fn applications(text: &str) -> Result<Vec<String>, String> {
    let file = object(text, &["version", "applications"])?;
    let list = file
        .get("applications")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let names: Vec<String> = list
        .iter()
        .filter_map(|entry| entry.get("name")?.as_str().map(str::to_owned))
        .collect();
    expect(
        !names.is_empty() && names.len() == list.len(),
        "an application without a name",
    )?;
    let primary = [
        "incus",
        "incus-lts-7.0",
        "migration-manager",
        "operations-center",
    ];
    let others = [
        "debug",
        "gpu-support",
        "incus-ceph",
        "incus-linstor",
        "openfga",
    ];
    for name in &names {
        expect(
            primary.contains(&name.as_str()) || others.contains(&name.as_str()),
            format!("application {name}"),
        )?;
    }
    let primaries = names.iter().filter(|name| primary.contains(&name.as_str()));
    expect(primaries.count() <= 1, "two primary applications")?;
    Ok(names)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Incus {
    pub(crate) version: String,
    pub(crate) apply_defaults: bool,
    pub(crate) preseed: Preseed,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Preseed {
    pub(crate) config: BTreeMap<String, String>,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) certificates: Vec<Certificate>,
    pub(crate) cluster: Option<Cluster>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) name: String,
    pub(crate) project: String,
    #[serde(rename = "description")]
    _description: String,
    pub(crate) devices: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Certificate {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) certificate: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cluster {
    pub(crate) server_name: String,
    pub(crate) enabled: bool,
}

/// What Incus refuses of a preseed, and what it refuses when it becomes a cluster.
pub(crate) fn incus(text: &str) -> Result<Incus, String> {
    let incus: Incus = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let preseed = &incus.preseed;
    let (mut names, mut trusted) = (BTreeSet::new(), BTreeSet::new());
    for certificate in &preseed.certificates {
        expect(
            ["client", "metrics"].contains(&certificate.kind.as_str()),
            "type",
        )?;
        expect(names.insert(&certificate.name), "a name twice")?;
        expect(
            trusted.insert(&certificate.certificate),
            "a certificate twice",
        )?;
        let blocks = certificate
            .certificate
            .matches("-----BEGIN CERTIFICATE-----\n")
            .count();
        expect(
            blocks == 1
                && certificate
                    .certificate
                    .ends_with("-----END CERTIFICATE-----\n"),
            "PEM",
        )?;
    }
    let core = preseed.config.get("core.https_address");
    let cluster = preseed.config.get("cluster.https_address");
    for address in [core, cluster]
        .into_iter()
        .flatten()
        .filter(|address| *address != ":8443")
    {
        expect(
            address.parse::<SocketAddr>().is_ok(),
            format!("address {address}"),
        )?;
    }
    let advertised = cluster.or(core);
    if let Some(cluster) = &preseed.cluster {
        expect(
            cluster.enabled && !cluster.server_name.is_empty(),
            "cluster",
        )?;
        expect(
            advertised.is_some_and(|address| !address.starts_with(':')),
            "wildcard",
        )?;
    }
    Ok(incus)
}

pub(crate) fn update(text: &str) -> Result<Map<String, Value>, String> {
    let file = object(
        text,
        &[
            "version",
            "auto_reboot",
            "channel",
            "check_frequency",
            "maintenance_windows",
        ],
    )?;
    for window in file
        .get("maintenance_windows")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let day = |name: &str| {
            window
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let minute = |side: &str| {
            let number = |part: &str| {
                window
                    .get(format!("{side}_{part}"))
                    .and_then(Value::as_u64)
                    .unwrap_or(0)
            };
            (number("hour"), number("minute"))
        };
        let (start, end) = (day("start_day_of_week"), day("end_day_of_week"));
        expect(start.is_empty() == end.is_empty(), "one day")?;
        expect(start != end || minute("end") >= minute("start"), "order")?;
    }
    Ok(file)
}

/// An object with fields of these names only.
pub(crate) fn object(text: &str, known: &[&str]) -> Result<Map<String, Value>, String> {
    let file: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match file.keys().find(|name| !known.contains(&name.as_str())) {
        Some(stranger) => Err(format!("unknown field {stranger}")),
        None => Ok(file),
    }
}
