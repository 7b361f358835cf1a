//! `homelab_cluster`: the cluster as it is: its members, what it can bear, and what in it works against the rest.
//!
//! Before: a plan, or an apply if something is not known before it. After: two lists of Incus, and each member's version.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::membership::{self, Voter};
use futures_util::future::join_all;
use incus::cluster::{self, Member};
use incus::server::{self, Server};
use reconcile::cluster::Cluster;
use reconcile::error::Error;
use tfplugin::{Attribute, Call, DataSource, Diagnostic, Diagnostics, Schema, Type, Value};

use crate::diagnose;
use crate::session::{NoCluster, Session};

/// A member answers within milliseconds, or was cut off and will soon be listed offline.
const MEMBER_LIMIT: Duration = Duration::from_secs(10);

// Model.

/// The data source `homelab_cluster`.
pub(crate) struct ClusterSource {
    session: Arc<Session>,
}

impl ClusterSource {
    /// The cluster that this session is configured for.
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self { session }
    }
}

/// What Incus says.
struct Seen {
    server: Arc<Server>,
    members: Vec<Member>,
    /// The version of each member, in the same order; none of one that does not answer.
    versions: Vec<Option<String>>,
}

#[async_trait]
impl DataSource for ClusterSource {
    // Schema.

    fn schema(&self) -> Schema {
        Schema::new(
            0,
            "The cluster as it is: its members, how many of them it can lose, and warnings about what endangers it. A server \
             that is not clustered has no members.",
        )
        .attributes([
            Attribute::nested_list("members", member_attributes())
                .computed()
                .describe("The members, by name."),
            Attribute::bool("clustered")
                .computed()
                .describe("Whether the server is part of a cluster."),
            Attribute::number("fault_tolerance").computed().describe(
                "How many more members may fail, whichever they are, before the cluster stops deciding anything. It takes \
                 three members to bear the loss of one; two members bear none.",
            ),
            Attribute::string("server_version")
                .computed()
                .describe("The version of Incus on the member that answered."),
        ])
    }

    // Read.

    async fn read(&self, mut config: Value, _call: &Call) -> (Value, Diagnostics) {
        let cluster = match self.session.cluster() {
            Ok(cluster) => cluster,
            Err(none) => return (Value::Null, NoCluster::diagnostic(none).into()),
        };
        let seen = look(&cluster).await;
        let mut diagnostics: Diagnostics = self.session.notices(&cluster).into_iter().collect();
        match seen {
            Ok(seen) => {
                self.warn(&seen, &mut diagnostics);
                fill(&mut config, &seen);
                (config, diagnostics)
            }
            Err(error) => {
                diagnostics.push(diagnose::cluster(&error));
                (Value::Null, diagnostics)
            }
        }
    }
}

fn member_attributes() -> [Attribute; 8] {
    let text = |name: &str, what: &str| Attribute::string(name).computed().describe(what);
    let texts = |name: &str, what: &str| {
        Attribute::list(name, Type::String)
            .computed()
            .describe(what)
    };
    [
        text("name", "Its name."),
        text(
            "address",
            "Where the other members reach it, as `host:port`.",
        ),
        text(
            "status",
            "`Online`, `Offline`, `Evacuated`, `Blocked`, `Evacuating` or `Restoring`.",
        ),
        texts(
            "roles",
            "What it does for the cluster, such as `database`: it has a vote then.",
        ),
        text(
            "architecture",
            "The architecture of the machine, such as `x86_64`.",
        ),
        text(
            "server_version",
            "The version of Incus on it; null if it does not answer.",
        ),
        texts("groups", "The cluster groups that it is in."),
        text(
            "failure_domain",
            "What it shares with members that would fail together with it.",
        ),
    ]
}

async fn look(cluster: &Cluster) -> Result<Seen, Error> {
    let server = cluster.server().await?;
    let mut members = match server.environment.server_clustered {
        true => cluster.client.send(cluster::members()).await?,
        false => Vec::new(),
    };
    members.sort_by(|one, other| one.server_name.cmp(&other.server_name));
    let versions = join_all(members.iter().map(|member| version(cluster, member))).await;
    Ok(Seen {
        server,
        members,
        versions,
    })
}

/// The version of a member. Only the member itself can tell, and one that is not there cannot.
async fn version(cluster: &Cluster, member: &Member) -> Option<String> {
    if member.status == "Offline" {
        return None;
    }
    let question = server::get()
        .target(&member.server_name)
        .answer_within(MEMBER_LIMIT);
    let server = cluster.client.send(question).await;
    server.ok().map(|server| server.environment.server_version)
}

fn fill(state: &mut Value, seen: &Seen) {
    let members = seen.members.iter().zip(&seen.versions);
    let members = members.map(|(member, version)| {
        let texts =
            |list: &[String]| Value::List(list.iter().map(|text| text.as_str().into()).collect());
        let address = member.url.strip_prefix("https://").unwrap_or(&member.url);
        Value::object([
            ("name", member.server_name.as_str().into()),
            ("address", address.into()),
            ("status", member.status.as_str().into()),
            ("roles", texts(&member.roles)),
            ("architecture", member.architecture.as_str().into()),
            ("server_version", version.as_deref().into()),
            ("groups", texts(&member.groups)),
            ("failure_domain", member.failure_domain.as_str().into()),
        ])
    });
    state.set_attr("members", Value::List(members.collect()));
    state.set_attr("clustered", seen.server.environment.server_clustered);
    state.set_attr("fault_tolerance", tolerance(seen) as u64);
    state.set_attr(
        "server_version",
        seen.server.environment.server_version.as_str(),
    );
}

fn tolerance(seen: &Seen) -> usize {
    let voter = |member: &Member| Voter {
        votes: member.roles.iter().any(|role| role == "database"),
        online: member.status != "Offline",
    };
    let voters: Vec<Voter> = seen.members.iter().map(voter).collect();
    membership::fault_tolerance(&voters)
}

impl ClusterSource {
    fn warn(&self, seen: &Seen, diagnostics: &mut Diagnostics) {
        if let [one, other] = seen.members.as_slice()
            && self.session.first_time("two members")
        {
            diagnostics.push(diagnose::two_members(&one.server_name, &other.server_name));
        }
        let setting = |key: &str| seen.server.config.get(key).map(String::as_str);
        for (rival, value) in membership::rivals(setting) {
            if self.session.first_time(rival.key) {
                diagnostics.push(
                    Diagnostic::warning(format!("The cluster's {} is {value}", rival.key)).detail(format!(
                        "With it Incus {}, against what is declared here. Expected it off: `incus config set {} 0`.",
                        rival.does, rival.key
                    )),
                );
            }
        }
    }
}
