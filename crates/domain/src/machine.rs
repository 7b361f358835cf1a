//! Machines: what one is declared to be, checked and completed.
//!
//! Before: `provider/src/resources/instance.rs` reads the configuration. After: the plan shows what is completed; a seed
//! is rendered from it, and a member joins by it. Not here: which address a machine gets (`network`), and what is wrong
//! between machines (`fleet`).

mod check;
pub mod disk;

use crate::given::Given;
use crate::issue::Issue;

/// A machine as a configuration has it; defaults are not filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// The name: the hostname, and the name of the member.
    pub name: Given<String>,
    /// The address of its network card, in any usual spelling (HO-CFG-03).
    pub mac: Given<String>,
    /// The network that it is in.
    pub network: Given<DeclaredNetwork>,
    /// Its address there.
    pub address: Given<String>,
    /// `bootstrap` or `join`; absent for a machine that is in no cluster (HO-CFG-22).
    pub role: Given<String>,
    /// `incusos`, which is the default, or `linux`.
    pub os: Given<String>,
    /// Whether it asks for an address by DHCP (HO-CFG-21).
    pub dhcp: Given<bool>,
    /// What protects its disk (HO-CFG-19).
    pub security: Given<DeclaredSecurity>,
    /// Which disk IncusOS is installed on (HO-CFG-20: one).
    pub install_disk: Given<disk::Declared>,
}

/// The part of a network that a machine needs to know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredNetwork {
    /// Its name.
    pub name: Given<String>,
    /// The addresses in it.
    pub cidr: Given<String>,
    /// The way out.
    pub gateway: Given<String>,
    /// Who resolves names.
    pub dns: Given<Vec<Given<String>>>,
}

/// What protects the disk; each is there unless it is declared not to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredSecurity {
    /// Whether the machine has a TPM.
    pub tpm: Given<bool>,
    /// Whether it starts only signed code.
    pub secure_boot: Given<bool>,
}

/// What a careful operator would want to know of a machine, although nothing is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// It has a role and no address, and so cannot be a member (HO-IPAM-14).
    RoleWithoutAddress,
    /// Its disk is encrypted less well, for want of a TPM (HO-SEED-07).
    NoTpm,
    /// The same, for want of Secure Boot.
    NoSecureBoot,
}

impl Declared {
    /// Everything that is wrong, as far as it is known.
    pub fn check(&self) -> Vec<Issue> {
        check::check(self)
    }

    /// Whether it can become a member at its first start: only a machine whose address is known beforehand can
    /// (HO-IPAM-14). Nothing as long as that is not known.
    pub fn clusterable(&self) -> Option<bool> {
        match (&self.role, &self.address) {
            (Given::Absent, _) | (_, Given::Absent) => Some(false),
            (Given::Unknown, _) | (_, Given::Unknown) => None,
            (Given::Known(_), Given::Known(_)) => Some(true),
        }
    }

    /// What is worth to be told.
    pub fn advice(&self) -> Vec<Advice> {
        let mut advice = Vec::new();
        if self.role.is_set() && self.address == Given::Absent {
            advice.push(Advice::RoleWithoutAddress);
        }
        if let Given::Known(security) = &self.security {
            if security.tpm == Given::Known(false) {
                advice.push(Advice::NoTpm);
            }
            if security.secure_boot == Given::Known(false) {
                advice.push(Advice::NoSecureBoot);
            }
        }
        advice
    }
}

#[cfg(test)]
mod tests;
