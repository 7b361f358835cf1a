//! Observes the machine and the cluster, the machine first: one that has just joined is then in the list.
//!
//! What does not answer is `None` or silent, which is not the same as empty. All that can be asked at once is.

use core::time::Duration;
use std::collections::BTreeMap;

use domain::app::key;
use domain::membership::declared::parse_address;
use domain::membership::document::MemberEntry;
use domain::membership::observation::{
    Candidate, Cluster as Seen, Member, MemberKey, MemberServer, Observation, PendingToken, Pool,
    Server as Machine, Status, System, TrustKind, Trusted, Version, Volume,
};
use domain::membership::spec::{Address, MemberSpec};
use futures_util::future::{join_all, try_join_all};
use incus::certificate_store;
use incus::cluster::{self, group, join, token};
use incus::instance::Instance;
use incus::operation::{self, Progress};
use incus::server::{self, Server};
use incus::storage::{self, volume};
use incus::{Client, Endpoint, Fingerprint, Limits, instance, network, os};

use super::attempts::Attempts;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::store;

/// A single machine answers at once or not at all.
const LIMITS: Limits = Limits {
    next_endpoint: Duration::from_secs(2),
    judgement: Duration::from_secs(10),
    wait_slice: Duration::from_secs(30),
    event_silence: Duration::from_secs(35),
};

/// The extension by which a server can keep its logs in a volume.
const KEEPS_LOGS: &str = "daemon_storage_logs";

/// The applications of IncusOS that are an Incus.
const APPLICATIONS: [&str; 2] = ["incus", "incus-lts-7.0"];

/// A cluster as it was seen, also with what only people want to know.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// For decisions.
    pub seen: Seen,
    /// The members in Incus's words, by name.
    pub members: BTreeMap<String, cluster::Member>,
    /// The certificate of the cluster.
    pub fingerprint: Option<Fingerprint>,
}

/// All members, and what the fleet store says about them.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// The cluster.
    pub view: View,
    /// The entries of the members, by name.
    pub entries: BTreeMap<String, MemberEntry>,
}

/// Everything about one member.
pub(super) async fn all(
    cluster: &Cluster,
    spec: &MemberSpec,
    attempts: &Attempts,
) -> Result<(Observation, Option<View>), Error> {
    let candidate = candidate(cluster, &spec.address).await?;
    let mut view = view(cluster).await?;
    if let Some(view) = &mut view {
        hosted(cluster, &mut view.seen).await?;
        initializing(&cluster.client, &mut view.seen).await?;
        attempts.complete(&mut view.seen, &spec.name);
    }
    let observation = Observation {
        cluster: view.as_ref().map(|view| view.seen.clone()),
        candidate,
    };
    Ok((observation, view))
}

/// A machine that nobody asked.
pub(super) fn not_looked_at() -> Candidate {
    Candidate::Silent("it was not asked".to_owned())
}

// The machine.

/// A client for the machine at an address, which accepts the server with this certificate, or whoever is there.
pub(super) fn machine(
    cluster: &Cluster,
    address: &Address,
    server: Option<Fingerprint>,
) -> Result<Client, Error> {
    let text = format!("https://{address}");
    let endpoint = Endpoint::parse(&text).map_err(|cause| Error::Address {
        address: text.clone(),
        cause,
    })?;
    Ok(cluster.client.beside(endpoint, server, LIMITS))
}

async fn candidate(cluster: &Cluster, address: &Address) -> Result<Candidate, Error> {
    // A client of its own each time: the certificate changes with the join.
    let client = machine(cluster, address, None)?;
    match client.send(server::get()).await {
        Err(error) => Ok(match (error.untrusting(), error.stranded()) {
            (Some(fingerprint), _) => Candidate::Untrusting {
                fingerprint: fingerprint.to_string(),
            },
            (None, Some(fingerprint)) => Candidate::Stranded {
                fingerprint: fingerprint.to_string(),
                why: error.to_string(),
            },
            (None, None) => Candidate::Silent(error.to_string()),
        }),
        Ok(server) => match open(&client, server).await {
            Ok(machine) => Ok(Candidate::Open(Box::new(machine))),
            // It answered a moment ago: while it joins, its daemon starts anew.
            Err(error) => Ok(Candidate::Silent(error.to_string())),
        },
    }
}

async fn open(client: &Client, server: Server) -> Result<Machine, incus::Error> {
    let fingerprint = client.cluster().map(|fingerprint| fingerprint.to_string());
    let operations = client.send(operation::list("default")).await?;
    // The work of making or joining a cluster is the only one that names the cluster as what it works on.
    let busy = operations.iter().any(|one| {
        let runs = one.class == "task" && one.progress() == Progress::Running;
        runs && one.resources.contains_key("cluster")
    });
    let key = |name: &str| {
        server
            .config
            .get(name)
            .filter(|value| !value.is_empty())
            .cloned()
    };
    let machine = Machine {
        fingerprint: fingerprint.unwrap_or_default(),
        name: server.environment.server_name.clone(),
        version: version(&server),
        clustered: server.environment.server_clustered,
        busy,
        cluster_address: key("cluster.https_address"),
        https_address: key("core.https_address"),
        ..Machine::default()
    };
    // What it holds is of interest only until it is a member.
    match machine.clustered || busy {
        true => Ok(machine),
        false => holdings(client, &server, machine).await,
    }
}

async fn holdings(
    client: &Client,
    server: &Server,
    machine: Machine,
) -> Result<Machine, incus::Error> {
    let (pools, networks, instances, system) = tokio::try_join!(
        client.send(storage::pools()),
        client.send(network::list("default")),
        client.send(instance::list_everywhere()),
        system(client, server),
    )?;
    let names = pools.into_iter().map(|pool| pool.name);
    let names: Vec<String> = names.collect();
    let volumes = names.iter().map(|pool| client.send(volume::list(pool)));
    let volumes = try_join_all(volumes).await?;
    let paths = names.iter().zip(volumes).flat_map(|(pool, volumes)| {
        let path = move |volume: volume::Volume| format!("{pool}/{}", volume.name);
        volumes.into_iter().map(path)
    });
    Ok(Machine {
        system,
        volumes: paths.collect(),
        pools: names.iter().cloned().collect(),
        networks: managed(networks).collect(),
        instances: instances.into_iter().map(|one| one.name).collect(),
        ..machine
    })
}

async fn system(client: &Client, server: &Server) -> Result<System, incus::Error> {
    let initialized = match initialized(client).await? {
        None if !is_incusos(server) => return Ok(System::Other),
        // One that is not listed yet is taken for one that is not ready: what is done to another system it would not bear.
        initialized => initialized.unwrap_or_default(),
    };
    Ok(System::IncusOs { initialized })
}

/// Whether IncusOS has applied the seed of its Incus to the end; `None` if it has none, or is another system.
async fn initialized(client: &Client) -> Result<Option<bool>, incus::Error> {
    for name in APPLICATIONS {
        if let Some(application) = client.send(os::application(name)).await? {
            return Ok(Some(application.initialized));
        }
    }
    Ok(None)
}

fn is_incusos(server: &Server) -> bool {
    server.environment.os_name == "IncusOS"
}

// The cluster.

/// The cluster as it is now; `None` while there is none, as far as can be told.
///
/// # Errors
/// If a server of a cluster answers, and not to the end, or has lost the database of its cluster. If the cluster is known,
/// and an endpoint is silent: that may be a member of it.
pub async fn view(cluster: &Cluster) -> Result<Option<View>, Error> {
    let client = &cluster.of_members().client;
    let members = match client.send(cluster::members()).await {
        Ok(members) => members,
        Err(error) if error.is_no_cluster() => return Ok(None),
        // Machines that are not installed yet do not answer, and are no cluster.
        Err(error) if error.may_be_no_cluster() && client.cluster().is_none() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let (servers, seen) = tokio::join!(servers(client, &members), shared(client));
    let mut seen = seen?;
    let listed = members.iter();
    seen.members = listed
        .map(|listed| member(listed, servers.get(&listed.server_name)))
        .collect();
    seen.fingerprint = client
        .cluster()
        .map(|one| one.to_string())
        .unwrap_or_default();
    Ok(Some(View {
        seen,
        fingerprint: client.cluster(),
        members: members
            .into_iter()
            .map(|one| (one.server_name.clone(), one))
            .collect(),
    }))
}

/// The cluster with the entries of its members, in one request more; `None` as of [`view`].
///
/// # Errors
/// As of [`view`].
pub async fn survey(cluster: &Cluster) -> Result<Option<Survey>, Error> {
    let Some(view) = view(cluster).await? else {
        return Ok(None);
    };
    let fleet = store::snapshot(&cluster.of_members()).await?;
    Ok(Some(Survey {
        view,
        entries: fleet.members,
    }))
}

/// Who hosts what. Only changes need it: this list waits for a member that is silently cut off.
async fn hosted(cluster: &Cluster, seen: &mut Seen) -> Result<(), Error> {
    let instances = cluster.client.send(instance::list_everywhere()).await?;
    for member in &mut seen.members {
        let here = instances.iter().filter(|one| one.location == member.name);
        let (workloads, others): (Vec<_>, Vec<_>) =
            here.partition(|one| belongs_to(one, &cluster.project, &member.name));
        let names = |set: Vec<&Instance>| set.iter().map(|one| one.name.clone()).collect();
        (member.workloads, member.instances) = (names(workloads), names(others));
    }
    Ok(())
}

/// Whether an instance is a workload of an app that runs once on each machine, and this is its machine.
fn belongs_to(instance: &Instance, project: &str, member: &str) -> bool {
    let key = |name: &str| instance.config.as_ref()?.get(name).map(String::as_str);
    instance.project == project && key(key::APP).is_some() && key(key::NODE) == Some(member)
}

/// Whether the seed of a first machine is still being applied. Only changes need it, and only of a member that is alone:
/// all others have joined after theirs was.
async fn initializing(client: &Client, seen: &mut Seen) -> Result<(), Error> {
    if let [
        Member {
            server: Some(server),
            ..
        },
    ] = seen.members.as_mut_slice()
        && server.incusos
    {
        server.initializing = initialized(client).await? != Some(true);
    }
    Ok(())
}

/// What each member that answers says about itself; a dead one would be waited for.
async fn servers(client: &Client, members: &[cluster::Member]) -> BTreeMap<String, Server> {
    let answers = |member: &&cluster::Member| status(&member.status) != Status::Offline;
    let ask = |member: &cluster::Member| {
        let name = member.server_name.clone();
        async move {
            let server = client.send(server::get().target(&name)).await;
            Some((name, server.ok()?))
        }
    };
    let asked = members.iter().filter(answers).map(ask);
    join_all(asked).await.into_iter().flatten().collect()
}

/// Everything that is the cluster's.
async fn shared(client: &Client) -> Result<Seen, incus::Error> {
    let (pools, networks, groups, trusted, tokens, own) = tokio::try_join!(
        client.send(storage::pools()),
        client.send(network::list("default")),
        client.send(group::list()),
        client.send(certificate_store::list()),
        client.send(token::pending()),
        client.send(join::get()),
    )?;
    let local = pools.iter().filter(|pool| pool.status == "Created");
    let volumes = local.map(|pool| async move {
        let volumes = client.send(volume::list(&pool.name)).await?;
        Ok::<_, incus::Error>(
            volumes
                .into_iter()
                .map(|one| volume_of(&pool.name, one))
                .collect::<Vec<_>>(),
        )
    });
    let volumes = try_join_all(volumes).await?;
    Ok(Seen {
        groups: groups.into_iter().map(|group| group.name).collect(),
        pools: pools.into_iter().map(pool_of).collect(),
        networks: managed(networks).collect(),
        // Those of shared pools are on no member.
        volumes: volumes
            .into_iter()
            .flatten()
            .filter(|one| !one.member.is_empty())
            .collect(),
        trusted: trusted.into_iter().filter_map(trusted_of).collect(),
        tokens: tokens.into_iter().map(token_of).collect(),
        member_keys: own.member_config.into_iter().map(key_of).collect(),
        ..Seen::default()
    })
}

fn member(listed: &cluster::Member, server: Option<&Server>) -> Member {
    let address = listed.url.strip_prefix("https://").unwrap_or(&listed.url);
    Member {
        name: listed.server_name.clone(),
        address: parse_address(address).ok(),
        status: status(&listed.status),
        votes: listed
            .roles
            .iter()
            .any(|role| role == "database" || role == "database-leader"),
        groups: listed.groups.iter().cloned().collect(),
        config: listed.config.clone(),
        failure_domain: listed.failure_domain.clone(),
        server: server.map(|server| MemberServer {
            version: version(server),
            incusos: is_incusos(server),
            initializing: false,
            keeps_logs: server.api_extensions.iter().any(|one| one == KEEPS_LOGS),
            config: server.config.clone(),
        }),
        ..Member::default()
    }
}

fn status(word: &str) -> Status {
    match word {
        "Evacuated" => Status::Evacuated,
        "Evacuating" => Status::Evacuating,
        "Restoring" => Status::Restoring,
        "Blocked" => Status::Blocked,
        word if word.eq_ignore_ascii_case("offline") => Status::Offline,
        _ => Status::Online,
    }
}

fn version(server: &Server) -> Version {
    Version {
        text: server.environment.server_version.clone(),
        extensions: server.api_extensions.len(),
    }
}

fn managed(networks: Vec<network::Network>) -> impl Iterator<Item = String> {
    let managed = networks.into_iter().filter(|network| network.managed);
    managed.map(|network| network.name)
}

fn pool_of(pool: storage::Pool) -> Pool {
    Pool {
        created: pool.status == "Created",
        name: pool.name,
        driver: pool.driver,
        members: pool.locations.into_iter().collect(),
    }
}

fn volume_of(pool: &str, volume: volume::Volume) -> Volume {
    Volume {
        pool: pool.to_owned(),
        project: volume.project,
        name: volume.name,
        member: volume.location,
    }
}

fn trusted_of(one: certificate_store::Trusted) -> Option<Trusted> {
    let kind = match one.r#type.as_str() {
        "client" => TrustKind::Client,
        "server" => TrustKind::Server,
        "metrics" => TrustKind::Metrics,
        _ => return None,
    };
    Some(Trusted {
        name: one.name,
        kind,
        fingerprint: one.fingerprint,
    })
}

fn token_of(pending: token::Pending) -> PendingToken {
    PendingToken {
        operation: pending.operation.id,
        member: pending.server_name,
    }
}

fn key_of(key: join::MemberKey) -> MemberKey {
    MemberKey {
        entity: key.entity,
        name: key.name,
        key: key.key,
    }
}
