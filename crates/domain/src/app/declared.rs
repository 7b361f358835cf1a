//! What a user declared about an app, checked as a whole: every issue at once, each at its attribute.
//!
//! Before: `provider/src/resources/app/model.rs` reads the configuration. After: [`AppSpec`], normalised, once
//! everything is known. Unknown values are left alone: the same checks run again when they are known.

mod check;
mod health;
mod image;
mod workload;

use std::collections::BTreeMap;

use super::{AppSpec, AppType};
use crate::given::Given;
use crate::issue::{Issue, attribute};
use crate::name;

#[cfg(test)]
mod tests;

/// A map of texts, each with its own answer.
pub type GivenMap = BTreeMap<String, Given<String>>;

/// Most workloads of one app: the ordinal and the generation must fit into an Incus instance name beside a name
/// of 48 characters.
pub const MOST_REPLICAS: u32 = 999;

/// An app as it stands in a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// `name`
    pub name: Given<String>,
    /// `type`
    pub r#type: Given<String>,
    /// `replicas`
    pub replicas: Given<String>,
    /// `image`
    pub image: Given<DeclaredImage>,
    /// `workload`
    pub workload: Given<DeclaredWorkload>,
    /// `health`
    pub health: Given<DeclaredHealth>,
}

/// `image`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredImage {
    /// `image.server`
    pub server: Given<String>,
    /// `image.protocol`
    pub protocol: Given<String>,
    /// `image.alias`
    pub alias: Given<String>,
    /// `image.fingerprint`
    pub fingerprint: Given<String>,
    /// `image.track`
    pub track: Given<String>,
}

/// `workload`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredWorkload {
    /// `workload.kind`
    pub kind: Given<String>,
    /// `workload.config`
    pub config: Given<GivenMap>,
    /// `workload.devices`
    pub devices: Given<BTreeMap<String, Given<GivenMap>>>,
    /// `workload.profiles`
    pub profiles: Given<Vec<Given<String>>>,
    /// `workload.environment`
    pub environment: Given<GivenMap>,
}

/// `health`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredHealth {
    /// `health.check`
    pub check: Given<DeclaredCheck>,
    /// `health.min_healthy_time`
    pub min_healthy_time: Given<String>,
    /// `health.healthy_deadline`
    pub healthy_deadline: Given<String>,
}

/// `health.check`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredCheck {
    /// `health.check.running`
    pub running: Given<()>,
    /// `health.check.exec`
    pub exec: Given<DeclaredExec>,
    /// `health.check.http`
    pub http: Given<DeclaredHttp>,
    /// `health.check.tcp`
    pub tcp: Given<DeclaredTcp>,
    /// `health.check.heartbeat_file`
    pub heartbeat_file: Given<DeclaredHeartbeatFile>,
}

/// `health.check.exec`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredExec {
    /// `health.check.exec.command`
    pub command: Given<Vec<Given<String>>>,
    /// `health.check.exec.timeout`
    pub timeout: Given<String>,
}

/// `health.check.http`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredHttp {
    /// `health.check.http.port`
    pub port: Given<u64>,
    /// `health.check.http.path`
    pub path: Given<String>,
}

/// `health.check.tcp`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredTcp {
    /// `health.check.tcp.port`
    pub port: Given<u64>,
}

/// `health.check.heartbeat_file`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredHeartbeatFile {
    /// `health.check.heartbeat_file.path`
    pub path: Given<String>,
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
    /// Everything that is wrong with what is known (HO-APP-06…09, HO-CFG-10).
    pub fn check(&self) -> Vec<Issue> {
        self.read().1
    }

    /// The normalised declaration.
    ///
    /// # Errors
    /// If something is wrong, or not known yet.
    pub fn spec(&self) -> Result<AppSpec, NotASpec> {
        match self.read() {
            (_, issues) if !issues.is_empty() => Err(NotASpec::Refused(issues)),
            (Some(spec), _) => Ok(spec),
            (None, _) => Err(NotASpec::Unknown),
        }
    }

    /// Reads every part, so that no issue hides another; a part that is not known gives `None` and no issue.
    fn read(&self) -> (Option<AppSpec>, Vec<Issue>) {
        let mut issues = Vec::new();
        let name = self.read_name(&mut issues);
        let r#type = read_type(&self.r#type, &mut issues);
        let replicas = read_replicas(&self.replicas, &mut issues);
        let image = image::read(&self.image, &mut issues);
        let workload = workload::read(&self.workload, &mut issues);
        image::check_kind(image.as_ref(), workload.as_ref(), &mut issues);
        let health = health::read(&self.health, &mut issues);
        let spec = || {
            Some(AppSpec {
                name: name?,
                r#type: r#type?,
                replicas: replicas?,
                image: image?,
                workload: workload?,
                health: health?,
            })
        };
        (spec(), issues)
    }

    fn read_name(&self, issues: &mut Vec<Issue>) -> Option<String> {
        let text = self.name.known()?;
        issues.extend(name::issue(attribute("name"), "app", text));
        Some(text.clone())
    }
}

fn read_type(given: &Given<String>, issues: &mut Vec<Issue>) -> Option<AppType> {
    let text = given.known()?;
    if text == AppType::GenericStateless.name() {
        return Some(AppType::GenericStateless);
    }
    issues.push(Issue::new(
        attribute("type"),
        "An app type is not known",
        format!(
            "The type is {text:?}. This version of the provider runs apps of type \"generic-stateless\": \
             workloads that keep nothing and can be replaced at any time."
        ),
    ));
    None
}

/// HO-APP-07: a missing count and 0 are the same mistake; there is no default.
fn read_replicas(given: &Given<String>, issues: &mut Vec<Issue>) -> Option<u32> {
    let text = given.known()?;
    let canonical = |count: &u32| count.to_string() == *text;
    match text.parse::<u32>() {
        Ok(count) if canonical(&count) && (1..=MOST_REPLICAS).contains(&count) => {
            return Some(count);
        }
        _ => {}
    }
    let seen = match text.as_str() {
        "per-node" => {
            "\"per-node\", which this version of the provider does not run yet".to_owned()
        }
        other => format!("{other:?}"),
    };
    issues.push(Issue::new(
        attribute("replicas"),
        "The number of replicas is not valid",
        format!(
            "Replicas are {seen}. Expected how many workloads run: a whole number from 1 to {MOST_REPLICAS} \
             without leading zeros. To run none, remove the app."
        ),
    ));
    None
}
