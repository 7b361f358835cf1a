//! Install seeds: the files that make a machine a member at its first start, checked and rendered.
//!
//! ```text
//! provider/src/resources/seed.rs    reads the configuration, makes the keys, writes the output
//!   ├─ check (seed/check.rs)        everything that is wrong, stricter than IncusOS, which fails in front of the machine
//!   ├─ advice                       what is worth to be told although nothing is wrong
//!   ├─ render (seed/files.rs)       one file of JSON each; what is not known yet is not rendered
//!   └─ hub_peer                     what the other end of the overlay needs to know
//! ```
//!
//! Both know which fields a release has: `seed/release.rs`, and `seed/extra/fields.rs` for the files that are passed
//! through. Not here: how keys are made, how files are packed, and whom the output is encrypted to.

use std::collections::BTreeMap;

use crate::given::Given;
use crate::issue::Issue;
use crate::machine::disk;

mod check;
mod declared;
mod extra;
mod files;
mod json;
mod release;
pub(crate) mod secret;

pub use declared::{
    Declared, DeclaredTailscale, DeclaredUpdate, DeclaredWindow, DeclaredWireguard, Keys,
};
pub use extra::file_names;
pub use files::{SOCKET_PATH, SOCKET_PROFILE, tunnel_key};
pub use release::{NEWEST_FIELDS, OLDEST_SUPPORTED};

/// What a careful operator would want to know of a seed, although nothing is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// The machine has no address or no role: it comes up as a server of its own (HO-SEED-16).
    PlainServer,
    /// The hub is named by an address, which is baked into the medium (HO-WG-07).
    HubByAddress,
    /// The choice may fall on a disk that is smaller than the 50 GiB that IncusOS takes (HO-SEED-32).
    SmallDisk,
}

impl Declared {
    /// Everything that is wrong, as far as it is known; the machine's own issues are at `machine`.
    pub fn check(&self) -> Vec<Issue> {
        check::check(self)
    }

    /// What is worth to be told.
    pub fn advice(&self) -> Vec<Advice> {
        let mut advice = Vec::new();
        if self.machine.clusterable() == Some(false) {
            advice.push(Advice::PlainServer);
        }
        let endpoint = self
            .wireguard
            .known()
            .and_then(|wireguard| wireguard.endpoint.known());
        if endpoint.is_some_and(|endpoint| check::is_by_address(endpoint)) {
            advice.push(Advice::HubByAddress);
        }
        if self
            .machine
            .install_disk
            .known()
            .is_some_and(may_be_too_small)
        {
            advice.push(Advice::SmallDisk);
        }
        advice
    }

    /// The files by name (`install.json`, …), each as far as everything in it is known. `keys` is absent where they are
    /// still to be made. What `check` refuses is rendered as far as it can be, and must not be used.
    ///
    /// A file that may turn out not to be there at all (`update` is not known, say) is among them as unknown; whoever
    /// has to promise the names asks [`Declared::knows_its_files`] first.
    pub fn render(&self, keys: Option<&Keys>) -> BTreeMap<String, Given<String>> {
        files::render(self, keys)
    }

    /// Whether it is known which files there are, be their content known or not.
    pub fn knows_its_files(&self) -> bool {
        let others_are_known = match &self.extra_files {
            Given::Unknown => false,
            Given::Absent => true,
            Given::Known(files) => files.values().all(|text| !text.is_unknown()),
        };
        !self.update.is_unknown() && !self.tailscale.is_unknown() && others_are_known
    }

    /// What the hub needs to know of this machine: a peer of `wg-quick`'s configuration, absent without an overlay. It
    /// has the machine's own address alone (HO-WG-06), and no endpoint: the machine dials (HO-WG-01, HO-WG-11).
    pub fn hub_peer(&self, public_key: &str) -> Given<String> {
        let wireguard = match &self.wireguard {
            Given::Absent => return Given::Absent,
            Given::Unknown => return Given::Unknown,
            Given::Known(wireguard) => wireguard,
        };
        let (Given::Known(name), Given::Known(address)) = (&self.machine.name, &wireguard.address)
        else {
            return Given::Unknown;
        };
        Given::Known(format!(
            "[Peer]\n# {name}\nPublicKey = {public_key}\nAllowedIPs = {address}/32\n"
        ))
    }
}

/// Without a bound of its own the seed has one of 50 GiB.
fn may_be_too_small(disk: &disk::Declared) -> bool {
    let bound = disk.min_size.known();
    let bytes = bound.and_then(|text| disk::parse_size(text));
    bytes.is_some_and(|bytes| bytes < disk::SMALLEST)
}
