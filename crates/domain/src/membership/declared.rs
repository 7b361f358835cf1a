//! What a user declared about a member, checked as a whole: every issue at once, each at its attribute.
//!
//! Before: `provider/src/resources/cluster_member.rs` reads the configuration. After: [`MemberSpec`], once everything
//! is known. Unknown values are left alone: the same checks run again when they are known.

mod address;
mod identity;
mod settings;

use core::time::Duration;
use std::collections::BTreeMap;

use super::spec::{MemberSpec, OnDestroy, Role, State, Storage};
use crate::duration;
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

/// How long may be waited: what is declared, or the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// For a machine to be installed, to answer, and to become a complete member; an hour, because installing it is
    /// part of that.
    pub create: Duration,
    /// For a member to be as declared again; half an hour, because evacuations take their time.
    pub update: Duration,
    /// For a member to be emptied and removed; half an hour.
    pub delete: Duration,
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

    /// How long may be waited, as far as it is known; else the defaults.
    pub fn deadlines(&self) -> Deadlines {
        let read = |given: &Given<String>, default: u64| {
            let declared = given.known().and_then(|text| duration::parse(text).ok());
            declared.unwrap_or(Duration::from_secs(default))
        };
        Deadlines {
            create: read(&self.timeouts.create, 60 * 60),
            update: read(&self.timeouts.update, 30 * 60),
            delete: read(&self.timeouts.delete, 30 * 60),
        }
    }

    /// Reads every part, so that no issue hides another; a part that is not known gives `None` and no issue.
    fn read(&self) -> (Option<MemberSpec>, Vec<Issue>) {
        let mut issues = Vec::new();
        let name = read_name(&self.name, &mut issues);
        let address = address::read(&self.address, &mut issues);
        let role = read_word(&self.role, "role", &ROLES, &mut issues);
        let server_fingerprint = identity::read_fingerprint(&self.server_fingerprint, &mut issues);
        let groups = settings::read_groups(&self.groups, &mut issues);
        let config = settings::read_config(&self.config, &mut issues);
        let failure_domain = settings::read_failure_domain(&self.failure_domain, &mut issues);
        let state = read_word(&self.state, "state", &STATES, &mut issues);
        let storage = settings::read_storage(&self.storage, &mut issues);
        let metrics_certificate =
            identity::read_certificate(&self.metrics_certificate, &mut issues);
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

/// Reads `storage` where everything in it is known.
fn storage(declared: &DeclaredStorage) -> Optional<Storage> {
    let source = optional(&declared.source, |text| Some(text.clone()))?;
    Some(Some(Storage {
        pool: declared.pool.known()?.clone(),
        driver: declared.driver.known()?.clone(),
        source,
    }))
}
