//! What a member is declared to be, normalised: everything is known, and every default that does not depend on the
//! machine is filled in.
//!
//! Before: `declared.rs` has checked the configuration. After: `decide.rs` and `removal.rs` compare it with what is
//! observed. Not here: deadlines; whoever waits keeps them.

use core::fmt;
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::certificate::Certificate;

/// A member as it is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberSpec {
    /// The name: of the member, and of its machine (HO-CLUS-04).
    pub name: String,
    /// Where the other members reach it (HO-CLUS-13).
    pub address: Address,
    /// How it becomes a member; of no account any more once it is one (HO-CLUS-05).
    pub role: Role,
    /// SHA-256 of the certificate that the machine shows before it joins, in lower-case hexadecimal (HO-JOIN-23).
    pub server_fingerprint: Option<String>,
    /// All groups that it is in; `None` leaves that to others.
    pub groups: Option<BTreeSet<String>>,
    /// The configuration keys that are declared; an empty value says that the key is not set.
    pub config: BTreeMap<String, String>,
    /// The failure domain; `None` leaves that to others.
    pub failure_domain: Option<String>,
    /// Whether it hosts workloads; `None` leaves that to others.
    pub state: Option<State>,
    /// The pool that every member has. `None`: on IncusOS [`Storage::incusos`], elsewhere none is expected.
    pub storage: Option<Storage>,
    /// The certificate with which metrics are read.
    pub metrics_certificate: Option<Certificate>,
}

/// How a machine becomes a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It is the first one: the cluster is made of it.
    Bootstrap,
    /// It joins the cluster that is there.
    Join,
}

/// Whether a member hosts workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It does.
    Online,
    /// Its workloads were moved off it.
    Evacuated,
}

/// The pool that every member has, and that holds what the daemon keeps (HO-CLUS-06).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// Its name.
    pub pool: String,
    /// What keeps the data, such as `zfs`.
    pub driver: String,
    /// Where it is on each member; `None` leaves that to Incus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Storage {
    /// What every machine with IncusOS has (HO-CLUS-06, HO-JOIN-14).
    pub fn incusos() -> Self {
        Self {
            pool: "local".to_owned(),
            driver: "zfs".to_owned(),
            source: Some("local/incus".to_owned()),
        }
    }
}

/// The names of the volumes in which the daemon keeps what is its own (HO-CLUS-06).
pub const DAEMON_VOLUMES: [&str; 3] = ["backups", "images", "logs"];

/// The key of the server's configuration that points at one of [`DAEMON_VOLUMES`].
pub fn daemon_key(volume: &str) -> String {
    format!("storage.{volume}_volume")
}

/// An address with its port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// An IP address, or a name.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Address {
    /// Whether the two cannot be the same place. A name may stand for any address.
    pub fn contradicts(&self, other: &Address) -> bool {
        let is_ip = |address: &Address| address.host.parse::<IpAddr>().is_ok();
        self.port != other.port || self.host != other.host && is_ip(self) == is_ip(other)
    }
}

/// As Incus writes it: an IPv6 address in brackets.
impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(formatter, "[{}]:{}", self.host, self.port),
            false => write!(formatter, "{}:{}", self.host, self.port),
        }
    }
}

/// What removing a member may do to what is on it. It counts as it was last applied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OnDestroy {
    /// Its workloads may be moved off it.
    pub evacuate: bool,
    /// What is on it may be lost.
    pub force: bool,
}
