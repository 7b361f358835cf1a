//! `incus.json`: what Incus does when it starts for the first time. One of three, by what the machine can become:
//!
//! ```text
//! bootstrap, with an address    makes its storage pool, becomes a cluster of one, brings the agents' profile
//! join, with an address         stays empty, because a join throws away what is there; trusts the joiner
//! anything else                 a server of its own, which no cluster will know (HO-SEED-16)
//! ```
//!
//! It is applied once: Incus refuses a certificate that it trusts already, so a file that fails halfway through stays
//! failed. Hence the checks before, and names and certificates that differ.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{VERSION, settled, text};
use crate::certificate;
use crate::seed::declared::{Declared, Keys};

/// The profile through which a workload reaches the Incus of its own member (HO-SEED-25). For containers only: a virtual
/// machine has its own kernel, and Incus refuses it such a device.
pub const SOCKET_PROFILE: &str = "incus-socket";

/// Where that workload finds the socket. `/dev` is there before anything of the image starts and stays as it is, while
/// systemd hides what was in `/run`, and no image must have `/var/lib/incus`.
pub const SOCKET_PATH: &str = "/dev/incus-socket";

/// Where IncusOS has it.
const MEMBER_SOCKET: &str = "/var/lib/incus/unix.socket";

#[derive(Serialize)]
struct File {
    version: &'static str,
    apply_defaults: bool,
    preseed: Preseed,
}

#[derive(Serialize)]
struct Preseed {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    config: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    profiles: Vec<Profile>,
    certificates: Vec<Certificate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<Cluster>,
}

#[derive(Serialize)]
struct Profile {
    name: &'static str,
    project: &'static str,
    description: &'static str,
    devices: BTreeMap<&'static str, BTreeMap<&'static str, String>>,
}

#[derive(Serialize)]
struct Certificate {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    certificate: String,
}

/// Only what makes a cluster; what joins one has no place here (HO-SEED-21).
#[derive(Serialize)]
struct Cluster {
    server_name: String,
    enabled: bool,
}

/// What a machine can become at its first start.
enum Start<'a> {
    Bootstrap { address: &'a str },
    Join { address: &'a str },
    Alone,
}

pub(super) fn render(seed: &Declared, keys: Option<&Keys>) -> Option<String> {
    let machine = &seed.machine;
    let name = settled(&machine.name)?.cloned().unwrap_or_default();
    let role = settled(&machine.role)?.map(String::as_str);
    let start = match (role, settled(&machine.address)?) {
        (Some("bootstrap"), Some(address)) => Start::Bootstrap { address },
        (Some("join"), Some(address)) => Start::Join { address },
        _ => Start::Alone,
    };
    let has_overlay = settled(&seed.wireguard)?.is_some();
    let break_glass = settled(&seed.break_glass_certificate)?;
    let mut certificates = vec![trusted(
        "break-glass".to_owned(),
        "client",
        break_glass.map_or("", String::as_str),
    )];
    if let Start::Join { .. } = start {
        let joiner = settled(&seed.joiner_certificate)?.map_or("", String::as_str);
        certificates.push(trusted(format!("{name}-joiner"), "client", joiner));
    }
    certificates.push(trusted(
        format!("{name}-metrics"),
        "metrics",
        &keys?.metrics_certificate,
    ));
    text(&File {
        version: VERSION,
        // HO-SEED-18: written out, because its absence means another thing for a missing file.
        apply_defaults: !matches!(start, Start::Join { .. }),
        preseed: Preseed {
            config: config(&start, has_overlay),
            profiles: match start {
                Start::Bootstrap { .. } => vec![socket_profile()],
                Start::Join { .. } | Start::Alone => Vec::new(),
            },
            certificates,
            cluster: match start {
                Start::Bootstrap { .. } => Some(Cluster {
                    server_name: name,
                    enabled: true,
                }),
                Start::Join { .. } | Start::Alone => None,
            },
        },
    })
}

/// Where Incus listens (HO-SEED-14, HO-SEED-15, HO-SEED-17). A member needs an address that others can reach. The first
/// one listens on its overlay beside; a joiner is refused with both, and gets the second one when it has joined.
fn config(start: &Start<'_>, has_overlay: bool) -> BTreeMap<&'static str, String> {
    match start {
        Start::Bootstrap { address } if has_overlay => BTreeMap::from([
            ("cluster.https_address", format!("{address}:8443")),
            ("core.https_address", ":8443".to_owned()),
        ]),
        Start::Bootstrap { address } | Start::Join { address } => {
            BTreeMap::from([("core.https_address", format!("{address}:8443"))])
        }
        Start::Alone => BTreeMap::new(),
    }
}

fn trusted(name: String, kind: &'static str, pem: &str) -> Certificate {
    Certificate {
        name,
        kind,
        certificate: certificate::normalised(pem),
    }
}

fn socket_profile() -> Profile {
    let device = BTreeMap::from([
        ("type", "proxy".to_owned()),
        ("bind", "instance".to_owned()),
        ("connect", format!("unix:{MEMBER_SOCKET}")),
        ("listen", format!("unix:{SOCKET_PATH}")),
        // Whoever may write to it can do everything, so only the first user of the workload may.
        ("mode", "0600".to_owned()),
    ]);
    Profile {
        name: SOCKET_PROFILE,
        project: "default",
        description: "The Incus socket of the member that a workload is on",
        devices: BTreeMap::from([(SOCKET_PROFILE, device)]),
    }
}
