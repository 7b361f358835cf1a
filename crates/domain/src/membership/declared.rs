//! What a user declared about a member, checked as a whole: every issue at once, each at its attribute.
//!
//! Before: `provider/src/resources/cluster_member.rs` reads the configuration. After: [`MemberSpec`], once everything
//! is known. Unknown values are left alone: the same checks run again when they are known.

mod address;
mod settings;

use std::collections::BTreeMap;

use super::certificate::{self, Certificate};
use super::spec::{MemberSpec, OnDestroy, Role, State, Storage};
use crate::given::Given;
use crate::issue::{Issue, attribute};
use crate::name;

pub use address::parse as parse_address;

#[cfg(test)]
mod tests;

/// The port of Incus, where an address names none.
pub const PORT: u16 = 8443;

/// A member as a configuration has it; defaults are not filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// `name`
    pub name: Given<String>,
    /// `address`
    pub address: Given<String>,
    /// `role`: `bootstrap`, or `join`, which is the default.
    pub role: Given<String>,
    /// `server_fingerprint`
    pub server_fingerprint: Given<String>,
    /// `groups`
    pub groups: Given<Vec<Given<String>>>,
    /// `config`
    pub config: Given<BTreeMap<String, Given<String>>>,
    /// `failure_domain`
    pub failure_domain: Given<String>,
    /// `state`: `online` or `evacuated`.
    pub state: Given<String>,
    /// `storage`
    pub storage: Given<DeclaredStorage>,
    /// `metrics_certificate`
    pub metrics_certificate: Given<String>,
    /// `on_destroy`
    pub on_destroy: Given<DeclaredOnDestroy>,
    /// `timeouts`, by name.
    pub timeouts: DeclaredTimeouts,
}

/// `storage`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredStorage {
    /// `storage.pool`
    pub pool: Given<String>,
    /// `storage.driver`
    pub driver: Given<String>,
    /// `storage.source`
    pub source: Given<String>,
}

/// `on_destroy`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredOnDestroy {
    /// `on_destroy.evacuate`
    pub evacuate: Given<bool>,
    /// `on_destroy.force`
    pub force: Given<bool>,
}

/// `timeouts`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredTimeouts {
    /// `timeouts.create`
    pub create: Given<String>,
    /// `timeouts.update`
    pub update: Given<String>,
    /// `timeouts.delete`
    pub delete: Given<String>,
}

/// Why a declaration is not a spec yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotASpec {
    /// It is wrong, in all these ways.
    Refused(Vec<Issue>),
    /// A part of it will only be known later.
    Unknown,
}

impl Declared {
    /// Everything that is wrong with what is known.
    pub fn check(&self) -> Vec<Issue> {
        self.read().1
    }

    /// The normalised declaration.
    ///
    /// # Errors
    /// If something is wrong, or not known yet.
    pub fn spec(&self) -> Result<MemberSpec, NotASpec> {
        match self.read() {
            (_, issues) if !issues.is_empty() => Err(NotASpec::Refused(issues)),
            (Some(spec), _) => Ok(spec),
            (None, _) => Err(NotASpec::Unknown),
        }
    }

    /// What a removal may do, as far as it is known; what is not may not be done.
    pub fn on_destroy(&self) -> OnDestroy {
        let given = self.on_destroy.known();
        let is = |given: Option<&Given<bool>>| given.and_then(Given::known) == Some(&true);
        OnDestroy {
            evacuate: is(given.map(|given| &given.evacuate)),
            force: is(given.map(|given| &given.force)),
        }
    }

    /// Reads every part, so that no issue hides another; a part that is not known gives `None` and no issue.
    fn read(&self) -> (Option<MemberSpec>, Vec<Issue>) {
        let mut issues = Vec::new();
        let name = read_name(&self.name, &mut issues);
        let address = address::read(&self.address, &mut issues);
        let role = read_word(&self.role, "role", &ROLES, &mut issues);
        let server_fingerprint = read_fingerprint(&self.server_fingerprint, &mut issues);
        let groups = settings::read_groups(&self.groups, &mut issues);
        let config = settings::read_config(&self.config, &mut issues);
        let failure_domain = settings::read_failure_domain(&self.failure_domain, &mut issues);
        let state = read_word(&self.state, "state", &STATES, &mut issues);
        let storage = settings::read_storage(&self.storage, &mut issues);
        let metrics_certificate = read_certificate(&self.metrics_certificate, &mut issues);
        settings::check_timeouts(&self.timeouts, &mut issues);
        let spec = || {
            Some(MemberSpec {
                name: name?,
                address: address?,
                role: role?.unwrap_or(Role::Join),
                server_fingerprint: server_fingerprint?,
                groups: groups?,
                config: config?,
                failure_domain: failure_domain?,
                state: state?,
                storage: storage?,
                metrics_certificate: metrics_certificate?,
            })
        };
        (spec(), issues)
    }
}

const ROLES: [(&str, Role); 2] = [("bootstrap", Role::Bootstrap), ("join", Role::Join)];
const STATES: [(&str, State); 2] = [("online", State::Online), ("evacuated", State::Evacuated)];

/// What an optional attribute says: `None` as long as it is unknown, `Some(None)` if it is absent.
type Optional<T> = Option<Option<T>>;

/// Reads an optional attribute with `read`, which gives `None` for what is refused.
fn optional<T, U>(given: &Given<T>, read: impl FnOnce(&T) -> Option<U>) -> Optional<U> {
    match given {
        Given::Absent => Some(None),
        Given::Unknown => None,
        Given::Known(value) => read(value).map(Some),
    }
}

fn read_name(given: &Given<String>, issues: &mut Vec<Issue>) -> Option<String> {
    let text = given.known()?;
    issues.extend(name::issue(attribute("name"), "member", text));
    Some(text.clone())
}

fn read_word<T: Copy>(
    given: &Given<String>,
    name: &'static str,
    words: &[(&str, T); 2],
    issues: &mut Vec<Issue>,
) -> Optional<T> {
    optional(given, |text| {
        let known = words.iter().find(|(word, _)| word == text);
        if known.is_none() {
            issues.push(Issue::new(
                attribute(name),
                format!("The {name} of a member is not known"),
                format!(
                    "It is {text:?}. Expected {:?} or {:?}.",
                    words[0].0, words[1].0
                ),
            ));
        }
        known.map(|(_, meaning)| *meaning)
    })
}

fn read_fingerprint(given: &Given<String>, issues: &mut Vec<Issue>) -> Optional<String> {
    optional(given, |text| {
        let digits: String = text.chars().filter(|one| *one != ':').collect();
        let is_one = digits.len() == 64 && digits.chars().all(|one| one.is_ascii_hexdigit());
        if !is_one {
            issues.push(Issue::new(
                attribute("server_fingerprint"),
                "The fingerprint of a machine is not valid",
                format!(
                    "It has {} characters. Expected the SHA-256 of the certificate that the machine shows before it \
                     joins: 64 hexadecimal digits, with or without colons between the bytes.",
                    text.chars().count()
                ),
            ));
        }
        is_one.then(|| digits.to_lowercase())
    })
}

fn read_certificate(given: &Given<String>, issues: &mut Vec<Issue>) -> Optional<Certificate> {
    optional(given, |text| {
        let refuse = |error: certificate::Error| {
            let remedy = match error {
                certificate::Error::PrivateKey => {
                    " Remove the key from it: it belongs to whoever reads the metrics, and should not be in a \
                     configuration at all."
                }
                _ => "",
            };
            Issue::new(
                attribute("metrics_certificate"),
                "The metrics certificate of a member is not valid",
                format!(
                    "The text {error}. Expected one public certificate in PEM form, such as \
                     homelab_seed.NAME.metrics_certificate.{remedy}"
                ),
            )
        };
        Certificate::parse(text)
            .map_err(|error| issues.push(refuse(error)))
            .ok()
    })
}

/// Reads `storage` where everything in it is known.
fn storage(declared: &DeclaredStorage) -> Optional<Storage> {
    let source = optional(&declared.source, |text| Some(text.clone()))?;
    Some(Some(Storage {
        pool: declared.pool.known()?.clone(),
        driver: declared.driver.known()?.clone(),
        source,
    }))
}
