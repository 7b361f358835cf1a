//! Storage pools and their custom volumes.
//!
//! Before: `route.rs`. A pool is local to each member or shared by all; a volume in a shared one is on no member. That
//! shared pools answer so was read in Incus's sources: no lab has one.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Incus;
use super::answer::{Answer, Refusal, Told};
use super::call::{Call, address};
use super::operation::now;
use super::state::{Config, Devices, State};

/// The drivers whose volumes are the same on every member.
const SHARED: [&str; 3] = ["ceph", "cephfs", "lvmcluster"];

pub(super) struct Pool {
    driver: String,
    config: Config,
}

#[derive(Clone)]
pub(super) struct Volume {
    pool: String,
    name: String,
    /// Empty in a shared pool.
    location: String,
    pub(super) project: String,
    content_type: String,
    config: Config,
    created_at: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Post {
    name: String,
    driver: String,
    content_type: String,
    config: Config,
}

impl Pool {
    pub(super) fn new(driver: &str) -> Self {
        Self {
            driver: driver.to_owned(),
            config: Config::new(),
        }
    }

    fn is_shared(&self) -> bool {
        SHARED.contains(&self.driver.as_str())
    }
}

fn shown_pool(state: &State, name: &str, pool: &Pool) -> Value {
    let uses = |devices: &Devices| {
        let mut devices = devices.values();
        devices.any(|device| device.get("pool").is_some_and(|used| used == name))
    };
    let instances = state.instances_of(None);
    let users = instances.filter(|(_, instance)| uses(&instance.expanded.1));
    let users = users.map(|((project, name), _)| address("instances", name, project));
    let locations: Vec<String> = state
        .members
        .iter()
        .map(|member| state.place(&member.name))
        .collect();
    json!({
        "config": pool.config, "description": "", "name": name, "driver": pool.driver,
        "used_by": users.collect::<Vec<_>>(), "status": "Created", "locations": locations,
    })
}

pub(super) fn pools(incus: &Incus, call: &Call) -> Told {
    let state = incus.state();
    let shown = state
        .pools
        .iter()
        .map(|(name, pool)| match call.is_recursive() {
            true => shown_pool(&state, name, pool),
            false => json!(format!("/1.0/storage-pools/{name}")),
        });
    Ok(Answer::sync(&shown.collect::<Vec<_>>()))
}

pub(super) fn pool(incus: &Incus, name: &str) -> Told {
    let state = incus.state();
    let pool = state.pools.get(name).ok_or_else(no_pool)?;
    Ok(Answer::sync(&shown_pool(&state, name, pool)))
}

/// In a cluster this is said once for each member, and then once for all.
pub(super) fn create_pool(incus: &Incus, call: &Call) -> Told {
    let post: Post = call.json()?;
    let mut state = incus.state();
    if call.target().is_none() {
        let pool = Pool {
            driver: post.driver,
            config: post.config,
        };
        state.pools.insert(post.name.clone(), pool);
    }
    Ok(Answer::created(format!("/1.0/storage-pools/{}", post.name)))
}

fn shown_volume(volume: &Volume) -> Value {
    json!({
        "config": volume.config, "description": "", "name": volume.name, "type": "custom", "used_by": [],
        "location": volume.location, "content_type": volume.content_type, "project": volume.project,
        "created_at": volume.created_at,
    })
}

fn address_of(volume: &Volume) -> String {
    let path = format!("storage-pools/{}/volumes/custom", volume.pool);
    let address = address(&path, &volume.name, &volume.project);
    match volume.location.as_str() {
        "" | "none" => address,
        location => {
            let sign = if address.contains('?') { '&' } else { '?' };
            format!("{address}{sign}target={location}")
        }
    }
}

pub(super) fn volumes(incus: &Incus, call: &Call, pool: &str) -> Told {
    let state = incus.state();
    state.pools.get(pool).ok_or_else(no_pool)?;
    let home = state.home(call.project(), "storage.volumes")?;
    let listed =
        |volume: &&Volume| volume.pool == pool && (call.all_projects() || volume.project == home);
    let shown = state.volumes.iter().filter(listed);
    let shown = shown.map(|volume| match call.is_recursive() {
        true => shown_volume(volume),
        false => json!(address_of(volume)),
    });
    Ok(Answer::sync(&shown.collect::<Vec<_>>()))
}

/// The volumes that a request can mean.
fn meant(state: &State, call: &Call, pool: &str, name: &str) -> Result<Vec<usize>, Refusal> {
    state.pools.get(pool).ok_or_else(no_pool)?;
    let home = state.home(call.project(), "storage.volumes")?;
    let is_meant = |volume: &Volume| {
        volume.pool == pool
            && volume.name == name
            && volume.project == home
            && (volume.location.is_empty()
                || call.target().is_none_or(|target| target == volume.location))
    };
    let volumes = state.volumes.iter().enumerate();
    let meant = volumes.filter(|(_, volume)| is_meant(volume));
    Ok(meant.map(|(index, _)| index).collect())
}

pub(super) fn volume(incus: &Incus, call: &Call, pool: &str, name: &str) -> Told {
    let state = incus.state();
    match meant(&state, call, pool, name)?.as_slice() {
        [] => Err(Refusal::new(404, "Storage pool volume not found")),
        [index] => Ok(Answer::sync(&shown_volume(&state.volumes[*index]))),
        _ => Err(more_than_one(name)),
    }
}

pub(super) async fn create_volume(incus: &Incus, call: &Call, pool: &str) -> Told {
    let post: Post = call.json()?;
    incus.work().await;
    let mut state = incus.state();
    let shared = state.pools.get(pool).ok_or_else(no_pool)?.is_shared();
    let member = call.target().unwrap_or(state.first()).to_owned();
    let location = match shared {
        true => String::new(),
        false => state.place(&member),
    };
    let project = state.home(call.project(), "storage.volumes")?.to_owned();
    let is_taken = |volume: &Volume| {
        (
            &volume.pool,
            &volume.name,
            &volume.project,
            &volume.location,
        ) == (&pool.to_owned(), &post.name, &project, &location)
    };
    if state.volumes.iter().any(is_taken) {
        let text = "Volume by that name already exists";
        return Err(Refusal::new(409, text));
    }
    state.volumes.push(Volume {
        pool: pool.to_owned(),
        name: post.name,
        location,
        project,
        content_type: match post.content_type.as_str() {
            "" => "filesystem".to_owned(),
            kind => kind.to_owned(),
        },
        config: post.config,
        created_at: now(),
    });
    Ok(Answer::done())
}

pub(super) async fn delete_volume(incus: &Incus, call: &Call, pool: &str, name: &str) -> Told {
    incus.work().await;
    let mut state = incus.state();
    match meant(&state, call, pool, name)?.as_slice() {
        [] => Err(Refusal::new(404, "Storage volume not found")),
        [index] => {
            state.volumes.remove(*index);
            Ok(Answer::done())
        }
        _ => Err(more_than_one(name)),
    }
}

fn more_than_one(name: &str) -> Refusal {
    let text = format!(
        "More than one cluster member has a volume named \"{name}\". Please target a specific member"
    );
    Refusal::new(500, text)
}

fn no_pool() -> Refusal {
    Refusal::new(404, "Storage pool not found")
}
