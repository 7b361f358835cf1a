//! What a user declared about an app, checked as a whole: every issue at once, each at its attribute.
//!
//! Before: `provider/src/resources/app/model.rs` reads the configuration. After: [`AppSpec`], normalised, once
//! everything is known. Unknown values are left alone: the same checks run again when they are known.

mod check;
mod curated;
mod exclusive;
mod health;
mod image;
mod kind;
mod secrets;
mod volume;
mod workload;

use std::collections::{BTreeMap, BTreeSet};

use super::AppSpec;
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
    /// `volumes`
    pub volumes: Given<BTreeMap<String, Given<DeclaredVolume>>>,
    /// `placement`
    pub placement: Given<DeclaredPlacement>,
    /// `live_migration`
    pub live_migration: Given<bool>,
    /// `secrets_wo`: the names alone, since nothing may hold the values.
    pub secrets: Given<BTreeSet<String>>,
    /// `secrets_wo_version`
    pub secrets_version: Given<u64>,
    /// `node_secrets_wo`: the names alone, by machine.
    pub node_secrets: Given<BTreeMap<String, Given<BTreeSet<String>>>>,
    /// `node_secrets_wo_version`
    pub node_secrets_version: Given<u64>,
    /// Which secrets, by machine and name, have a line break or a NUL in them.
    pub of_many_lines: BTreeSet<(Option<String>, String)>,
    /// `params`
    pub params: Given<GivenMap>,
    /// `alloy`
    pub alloy: Given<DeclaredAlloy>,
    /// `primary`
    pub primary: Given<String>,
    /// `joiner_key_wo`: whether there is one.
    pub joiner_key: Given<()>,
    /// `joiner_key_wo_version`
    pub joiner_key_version: Given<u64>,
    /// `wait`
    pub wait: Given<bool>,
}

/// `volumes[…]`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredVolume {
    /// `volumes[…].class`
    pub class: Given<String>,
    /// `volumes[…].pool`
    pub pool: Given<String>,
    /// `volumes[…].path`
    pub path: Given<String>,
    /// `volumes[…].size`
    pub size: Given<String>,
}

/// `placement`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredPlacement {
    /// `placement.group`
    pub group: Given<String>,
}

/// `alloy`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredAlloy {
    /// `alloy.destinations`
    pub destinations: Given<BTreeMap<String, Given<DeclaredDestination>>>,
}

/// `alloy.destinations[…]`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredDestination {
    /// `alloy.destinations[…].loki_url`
    pub loki_url: Given<String>,
    /// `alloy.destinations[…].prometheus_url`
    pub prometheus_url: Given<String>,
    /// `alloy.destinations[…].username`
    pub username: Given<String>,
    /// `alloy.destinations[…].password_secret`
    pub password_secret: Given<String>,
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
        let r#type = kind::read_type(&self.r#type, &mut issues);
        let replicas = kind::read_replicas(self, r#type, &mut issues);
        let image = image::read(&self.image, &mut issues);
        let workload = workload::read(self, &mut issues);
        image::check_kind(image.as_ref(), workload.as_ref(), &mut issues);
        let health = health::read(&self.health, &mut issues);
        let volumes = volume::read(self, r#type, &mut issues);
        exclusive::check(self, r#type, replicas, &mut issues);
        let placement = kind::read_placement(self, &mut issues);
        let live_migration = kind::read_live_migration(self, &mut issues);
        let secrets = secrets::read(self, &mut issues);
        secrets::check_lines(self, r#type, &mut issues);
        secrets::check_metrics(self, r#type, &mut issues);
        curated::check_kind(self, r#type, &mut issues);
        let node_secrets = secrets::read_of_nodes(self, &mut issues);
        let params = curated::read_params(self, r#type, &mut issues);
        let destinations = curated::read_destinations(self, r#type, &mut issues);
        let primary = curated::read_primary(self, r#type, &mut issues);
        kind::check_wait(&self.wait, &mut issues);
        let spec = || {
            Some(AppSpec {
                name: name?,
                r#type: r#type?,
                replicas: replicas?,
                image: image?,
                workload: workload?,
                health: health?,
                volumes: volumes?,
                placement: placement?,
                live_migration: live_migration?,
                secrets: secrets?,
                node_secrets: node_secrets?,
                secrets_revision: None,
                adopts: Vec::new(),
                params: params?,
                destinations: destinations?,
                primary: primary?,
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
