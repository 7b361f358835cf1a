//! The address plan of one network: which machine has which address, decided before anything happens.
//!
//! ```text
//! provider/src/resources/network.rs     reads configuration and prior state, prints the answer as the plan
//!   └─ plan (here)
//!        ├─ network/check.rs            text → typed values; what is wrong with the configuration alone
//!        │    ├─ network/subnet.rs      CIDRs and ranges
//!        │    └─ network/model.rs       the typed values
//!        └─ network/assign.rs           typed values + held addresses → addresses; what collides with those held
//! ```
//!
//! The answer is a function of the configuration and of the addresses that machines hold already, so the plan
//! shows final addresses and apply repeats them. Not here: machines, seeds and whatever else uses an address.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use crate::given::Given;
use crate::issue::Issue;

mod assign;
mod check;
mod model;
pub(crate) mod subnet;

/// What the user declares of a network, as text. Nothing of it is checked yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// What the network is called.
    pub name: Given<String>,
    /// `lan` (also when absent) or `overlay`.
    pub kind: Given<String>,
    /// The subnet, `192.168.1.0/24`.
    pub cidr: Given<String>,
    /// The router's address. Of a LAN only, as are the next two.
    pub gateway: Given<String>,
    /// The addresses of the resolvers.
    pub dns: Given<Vec<Given<String>>>,
    /// The addresses that the LAN's DHCP server leaves alone, `first-last`.
    pub static_range: Given<String>,
    /// Machine → pinned address; an absent one is a claim on the next free address.
    pub claims: Given<BTreeMap<String, Given<String>>>,
}

/// The addresses that machines have from the last apply: the record that makes assignments stable.
pub type Held = BTreeMap<String, Ipv4Addr>;

/// The address plan. `None` is whatever depends on an unknown input; nothing is `None` without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignments {
    /// Machine → address. Entirely `None` while the machines are not known.
    pub addresses: Option<BTreeMap<String, Option<Ipv4Addr>>>,
    /// The length of the subnet's prefix, 24 in `192.168.1.0/24`.
    pub prefix_length: Option<u8>,
    /// How many more machines can be given an address.
    pub free: Option<u64>,
}

/// Everything that is wrong with a configuration, whoever holds which address. Unknown inputs are passed over.
pub fn check(config: &Config) -> Vec<Issue> {
    check::check(config).1
}

/// Gives every claiming machine its address.
///
/// # Expected flow
/// 1. Pins get what they name.
/// 2. Machines that hold an address keep it, whether or not others come and go.
/// 3. The remaining machines take the lowest free addresses, in ascending order of their names.
///
/// # Guarantees
/// - The same arguments give the same answer.
/// - No two machines share an address, and every address can be used by a machine: it is in the range, and it
///   is not the network's, broadcast's, gateway's or hub's.
/// - A machine is moved by a pin of its own, and by nothing else.
/// - What is known in the answer stays as it is when unknown inputs become known, or the plan fails then.
/// - Time grows like that of sorting the claims.
///
/// # Errors
/// All issues at once: those of [`check`], pins on addresses that other machines hold, held addresses that the
/// changed network no longer allows, and a range with too few addresses.
pub fn plan(config: &Config, held: &Held) -> Result<Assignments, Vec<Issue>> {
    let (network, mut issues) = check::check(config);
    let assigned = assign::assign(&network, held);
    issues.extend(assigned.issues);
    if issues.is_empty() {
        Ok(assigned.assignments)
    } else {
        Err(issues)
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
