//! The fleet in memory: members, Incus instances, operations that take time, and a clock, as measured on a real cluster.
//!
//! Before: `executor.rs` sends requests here, `event.rs` disturbs. After: what the next request sees. The fleet store is
//! in `fleet/store.rs`, the requests about instances in `fleet/requests.rs`.

pub mod requests;
pub mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::app::{AppSpec, AppType, Image, ImageReference, Replicas, key};
use domain::moment::Moment;
use domain::observation::{Member, MemberStatus, Observation};
use domain::place::Place;

use requests::Operation;
use store::Store;

/// The app that is rolled out.
pub const APP: &str = "web";
/// The members.
pub const MEMBERS: [&str; 3] = ["m1", "m2", "m3"];
/// Every image: the good ones are healthy while they run, "crash" ends at once, "unstartable" does not start, "never" is
/// never healthy, "flap" is for every other two seconds.
pub const IMAGES: [&str; 6] = ["good/1", "good/2", "crash", "unstartable", "never", "flap"];
/// The key that Incus sets on what it has moved or stopped for an evacuation.
const EVACUATED: &str = "volatile.evacuate.origin";

/// An Incus instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Where it is.
    pub member: String,
    /// Its keys.
    pub config: BTreeMap<String, String>,
    /// Whether it runs.
    pub running: bool,
    /// How often it was started.
    pub starts: u64,
}

impl Instance {
    /// When it was last started, in a word that no other start has; empty if it never was.
    fn started_at(&self) -> String {
        match self.starts {
            0 => String::new(),
            starts => format!("start {starts}"),
        }
    }
}

/// How a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It takes part.
    Online,
    /// It does not answer, and Incus has not noticed yet.
    Silent,
    /// It does not answer, and Incus says so.
    Offline,
    /// It answers, and is evacuated.
    Evacuated,
}

/// The fleet.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// The true time.
    pub now: Moment,
    /// The members.
    pub members: BTreeMap<String, Standing>,
    /// Everything that runs or could, by name.
    pub instances: BTreeMap<String, Instance>,
    /// What of that is not ours, as somebody made it.
    pub foreign: BTreeMap<String, Instance>,
    /// The images that the cluster has.
    pub images: BTreeSet<String>,
    /// The profiles of the fleet project.
    pub store: Store,
    /// What Incus is doing, and what came of what it did.
    pub operations: BTreeMap<u64, Operation>,
}

/// The app with one of the images of this fleet.
pub fn spec(r#type: AppType, image: &str, replicas: u32) -> AppSpec {
    let image = Image {
        digest: Some(digest(image)),
        ..Image::own(ImageReference::Alias(image.to_owned()))
    };
    let mut spec = AppSpec::new(APP, r#type, Replicas::Count(replicas), image);
    spec.health.min_healthy_time = Duration::from_secs(2);
    spec.health.healthy_deadline = Duration::from_secs(20);
    spec
}

/// The places that a declaration has.
pub fn places(spec: &AppSpec) -> impl Iterator<Item = Place> + use<> {
    Observation::default()
        .places(spec.replicas)
        .collect::<Vec<_>>()
        .into_iter()
}

fn digest(image: &str) -> String {
    format!("digest of {image}")
}

impl Default for Fleet {
    fn default() -> Self {
        let mut fleet = Self {
            now: Moment(1_000_000),
            members: MEMBERS
                .map(|name| (name.to_owned(), Standing::Online))
                .into(),
            instances: BTreeMap::new(),
            foreign: BTreeMap::new(),
            images: IMAGES.map(digest).into(),
            store: Store::default(),
            operations: BTreeMap::new(),
        };
        fleet.make_by_hand("web-by-hand");
        fleet
    }
}

impl Fleet {
    /// Somebody makes an instance that has none of our keys.
    pub fn make_by_hand(&mut self, name: &str) {
        let instance = Instance {
            member: MEMBERS[0].to_owned(),
            config: BTreeMap::new(),
            running: true,
            starts: 1,
        };
        self.instances.insert(name.to_owned(), instance.clone());
        self.foreign.insert(name.to_owned(), instance);
    }

    /// The members as their list shows them.
    pub fn list_members(&self) -> Vec<Member> {
        let shown = |(name, standing): (&String, &Standing)| Member {
            groups: vec!["default".to_owned()],
            name: name.clone(),
            status: match standing {
                Standing::Online | Standing::Silent => MemberStatus::Online,
                Standing::Offline => MemberStatus::Offline,
                Standing::Evacuated => MemberStatus::Other,
            },
            architecture: "x86_64".to_owned(),
            schedulable: true,
        };
        self.members.iter().map(shown).collect()
    }

    /// Whether a member can do anything.
    pub fn member_answers(&self, member: &str) -> bool {
        match self.members.get(member) {
            Some(Standing::Online | Standing::Evacuated) => true,
            Some(Standing::Silent | Standing::Offline) | None => false,
        }
    }

    /// Whether the member of an instance can do anything with it.
    pub fn answers(&self, name: &str) -> bool {
        self.instances
            .get(name)
            .is_some_and(|instance| self.member_answers(&instance.member))
    }

    /// The truth about a workload, which an executor only gets to know by asking.
    pub fn is_healthy(&self, instance: &Instance) -> bool {
        let healthy = match instance.config.get(key::IMAGE).map(String::as_str) {
            Some("never" | "crash" | "unstartable") => false,
            Some("flap") => self.now.0 / 2_000 % 2 == 0,
            _ => true,
        };
        instance.running && healthy
    }

    /// Time passes; what Incus is doing comes to its end, in the order in which it is due.
    pub fn pass_time(&mut self, until: Moment) {
        loop {
            let due = self.operations.iter().filter(|(_, one)| one.is_due(until));
            let Some((id, due)) = due
                .map(|(id, one)| (*id, one.due))
                .min_by_key(|(id, due)| (*due, *id))
            else {
                break;
            };
            self.now = self.now.max(due);
            self.land(id);
        }
        self.now = self.now.max(until);
    }

    /// The names of all workloads that carry our keys.
    pub fn ours(&self) -> Vec<String> {
        let ours = |(_, instance): &(&String, &Instance)| instance.config.contains_key(key::APP);
        let names = self.instances.iter().filter(ours);
        names.map(|(name, _)| name.clone()).collect()
    }

    /// A member stops what runs there, so that it can be worked on.
    pub fn evacuate(&mut self, member: &str) {
        self.members.insert(member.to_owned(), Standing::Evacuated);
        self.change_ours_on(member, |instance| {
            if instance.running {
                instance.running = false;
                let origin = instance.member.clone();
                instance.config.insert(EVACUATED.to_owned(), origin);
            }
        });
    }

    /// A member takes part again, and starts what the evacuation has stopped; `rebooted`: all that ran there has ended, and
    /// Incus has started it again.
    pub fn restore(&mut self, member: &str, rebooted: bool) {
        self.members.insert(member.to_owned(), Standing::Online);
        self.change_ours_on(member, |instance| {
            if rebooted && instance.running {
                instance.starts += 1;
            }
            if instance.config.remove(EVACUATED).is_some() {
                instance.running = true;
                instance.starts += 1;
            }
        });
    }

    fn change_ours_on(&mut self, member: &str, change: impl FnMut(&mut Instance)) {
        let ours = |instance: &&mut Instance| {
            instance.member == member && instance.config.contains_key(key::APP)
        };
        self.instances.values_mut().filter(ours).for_each(change);
    }
}

/// The place and the generation of an instance of ours, by its keys.
pub fn stands_at(instance: &Instance) -> Option<(Place, u64)> {
    let number = |name: &str| {
        instance
            .config
            .get(name)
            .and_then(|text| text.parse::<u64>().ok())
    };
    let ordinal = number(key::MEMBER).unwrap_or(0);
    Some((
        Place::Ordinal(u32::try_from(ordinal).ok()?),
        number(key::GENERATION)?,
    ))
}
