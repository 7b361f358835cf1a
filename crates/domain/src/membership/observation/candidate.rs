//! The machine that is, or is to become, a member, as it is seen at its declared address.
//!
//! Before: `reconcile` asks it, with whatever trust it has in us. After: part of an [`super::Observation`].

use std::collections::BTreeSet;

use super::Version;

/// The machine at the declared address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Candidate {
    /// It does not answer; this is why.
    Silent(String),
    /// It does not know us: nothing is seen but its certificate.
    Untrusting {
        /// SHA-256 of the certificate that it shows.
        fingerprint: String,
    },
    /// It cannot look into its database: it joins just now, it got stuck in a join, or it is in a cluster and the others
    /// have forgotten it, or too few of them are there.
    Stranded {
        /// SHA-256 of the certificate that it shows.
        fingerprint: String,
        /// What it answers.
        why: String,
    },
    /// It lets us in.
    Open(Box<Server>),
}

impl Candidate {
    /// The certificate that it shows, if it answers.
    pub fn fingerprint(&self) -> Option<&str> {
        match self {
            Candidate::Silent(_) => None,
            Candidate::Untrusting { fingerprint } | Candidate::Stranded { fingerprint, .. } => {
                Some(fingerprint)
            }
            Candidate::Open(server) => Some(&server.fingerprint),
        }
    }
}

/// A server that is looked at by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Server {
    /// SHA-256 of the certificate that it shows: its own, or the cluster's once it is in one.
    pub fingerprint: String,
    /// Its name: in a cluster the member's, else the host's.
    pub name: String,
    /// The version of Incus.
    pub version: Version,
    /// What it runs on.
    pub system: System,
    /// Whether it is in a cluster.
    pub clustered: bool,
    /// Whether it is about to make or join one: such an operation runs on it.
    pub busy: bool,
    /// `cluster.https_address`; set outside of a cluster only by a join or an attempt at one, or on purpose.
    pub cluster_address: Option<String>,
    /// `core.https_address`.
    pub https_address: Option<String>,
    /// Its storage pools.
    pub pools: BTreeSet<String>,
    /// Its managed networks.
    pub networks: BTreeSet<String>,
    /// Its custom volumes, as `pool/name`.
    pub volumes: BTreeSet<String>,
    /// Its instances.
    pub instances: BTreeSet<String>,
}

/// What a server runs on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum System {
    /// A Linux that was there already.
    #[default]
    Other,
    /// IncusOS.
    IncusOs {
        /// Whether its seed has been applied to the end (HO-JOIN-07).
        initialized: bool,
    },
}
