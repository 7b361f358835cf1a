//! A fleet of machines with an https server each, and passes against it as the provider makes them.
//!
//! Before: a test says how it begins. After: `listener.rs` and `answers.rs`. A request that is not known is answered with
//! an error, and fails the test at its end whatever else it finds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use domain::membership::declared::parse_address;
use domain::membership::spec::{MemberSpec, Role};
use incus::{Client, Endpoint};
use reconcile::cluster::{Cluster, Settings};
use reconcile::error::Error;
use reconcile::member::{self, Attempts, Changes, Passed, Publication};
use rustls::sign::CertifiedKey;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::answers::{answer, error};
use crate::entries;
use crate::listener::{Call, Host, listen};
use crate::world::{Machine, World};

/// The configuration that everything is declared in.
pub(crate) const OWNER: &str = "me";

/// Machines that run.
pub(crate) struct Fleet {
    shared: Arc<Shared>,
    addresses: BTreeMap<String, String>,
}

struct Shared {
    world: Mutex<World>,
    calls: Mutex<Vec<(String, Call)>>,
    unknown: Mutex<Vec<String>>,
    soon: Mutex<Vec<Soon>>,
}

/// What happens when a request of this beginning was answered.
struct Soon {
    line: &'static str,
    happens: Box<dyn FnOnce(&mut World) + Send>,
}

/// One machine, as its listener knows it.
struct Server {
    name: String,
    shared: Arc<Shared>,
}

impl Fleet {
    /// Machines on IncusOS that are fresh from their seeds, and no cluster.
    pub(crate) async fn fresh(names: &[&str]) -> Self {
        let shared = Arc::new(Shared {
            world: Mutex::new(World::new()),
            calls: Mutex::default(),
            unknown: Mutex::default(),
            soon: Mutex::default(),
        });
        let mut addresses = BTreeMap::new();
        for name in names {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address").to_string();
            let machine = Machine::new(&address);
            addresses.insert((*name).to_owned(), address);
            held(&shared.world)
                .machines
                .insert((*name).to_owned(), machine);
            let server = Server {
                name: (*name).to_owned(),
                shared: Arc::clone(&shared),
            };
            listen(listener, Arc::new(server));
        }
        Self { shared, addresses }
    }

    /// The first of these machines is a cluster, as its seed makes it.
    pub(crate) async fn founded(names: &[&str]) -> Self {
        let fleet = Self::fresh(names).await;
        fleet.world(|world| {
            world.found(names[0]);
            world.apply_defaults(names[0]);
        });
        fleet
    }

    /// Looks at the world, or changes it.
    pub(crate) fn world<T>(&self, what: impl FnOnce(&mut World) -> T) -> T {
        what(&mut held(&self.shared.world))
    }

    /// Lets this happen as soon as a request that begins like this was answered.
    pub(crate) fn after(
        &self,
        line: &'static str,
        happens: impl FnOnce(&mut World) + Send + 'static,
    ) {
        let happens = Box::new(happens);
        held(&self.shared.soon).push(Soon { line, happens });
    }

    /// A joiner with nothing declared but what it needs.
    pub(crate) fn joiner(&self, name: &str) -> MemberSpec {
        MemberSpec {
            name: name.to_owned(),
            address: parse_address(&self.addresses[name]).expect("an address"),
            role: Role::Join,
            server_fingerprint: None,
            groups: None,
            config: BTreeMap::new(),
            failure_domain: None,
            state: None,
            storage: None,
            metrics_certificate: None,
        }
    }

    pub(crate) fn bootstrap(&self, name: &str) -> MemberSpec {
        MemberSpec {
            role: Role::Bootstrap,
            ..self.joiner(name)
        }
    }

    /// The cluster as a process sees it that has just begun; every machine is an endpoint.
    pub(crate) fn cluster(&self) -> Cluster {
        self.cluster_beside(None)
    }

    /// The same, with one endpoint more at this address.
    pub(crate) fn cluster_beside(&self, address: Option<&String>) -> Cluster {
        let endpoint =
            |address| Endpoint::parse(&format!("https://{address}")).expect("an endpoint");
        let addresses = self.addresses.values().chain(address);
        let endpoints = addresses.map(endpoint).collect();
        let settings = Settings {
            fleet_project: entries::PROJECT.to_owned(),
            ..Settings::default()
        };
        Cluster::new(Client::new(endpoints), settings)
    }

    /// One pass of a process that has just begun.
    pub(crate) async fn pass(&self, spec: &MemberSpec) -> Result<Passed, Error> {
        self.pass_after(spec, &mut Attempts::default()).await
    }

    /// The same, of one that has made these attempts.
    pub(crate) async fn pass_after(
        &self,
        spec: &MemberSpec,
        attempts: &mut Attempts,
    ) -> Result<Passed, Error> {
        let (changes, stop) = (Changes::new(), CancellationToken::new());
        member::pass(
            &self.cluster(),
            spec,
            &mut Publication::new(spec, OWNER.to_owned(), true),
            &changes,
            attempts,
            &stop,
        )
        .await
    }

    /// One pass in a line: what is waited for, or why it is refused, or what is missing of a member.
    pub(crate) async fn told(&self, spec: &MemberSpec) -> String {
        match self.pass(spec).await.expect("a pass") {
            Passed::Waiting(waiting) => format!("{}: {waiting}", waiting.word()),
            Passed::Refused(refusal) => format!("refused: {refusal}"),
            Passed::Settled { missing, .. } if missing.is_empty() => "joined".to_owned(),
            Passed::Settled { missing, .. } => format!("joined, without {}", missing.join(", ")),
        }
    }

    /// Everything that was to change something, as `machine: METHOD /path`, beside what is noted in the fleet store.
    pub(crate) fn writes(&self) -> Vec<String> {
        let calls = held(&self.shared.calls);
        let writes = calls
            .iter()
            .filter(|(_, call)| call.method != "GET" && !entries::is_meant(call));
        writes
            .map(|(name, call)| format!("{name}: {call}"))
            .collect()
    }

    /// What the requests of this line carried.
    pub(crate) fn bodies(&self, line: &str) -> Vec<Value> {
        let calls = held(&self.shared.calls);
        let such = calls
            .iter()
            .filter(|(name, call)| format!("{name}: {call}") == line);
        such.map(|(_, call)| call.body.clone()).collect()
    }

    /// What the only one carried.
    pub(crate) fn body(&self, line: &str) -> Value {
        let [body] = self.bodies(line).try_into().expect("one such request");
        body
    }
}

impl Host for Server {
    fn certificate(&self) -> Arc<CertifiedKey> {
        let world = held(&self.shared.world);
        let machine = &world.machines[&self.name];
        let certificate = match machine.clustered {
            true => &world.cluster.certificate,
            false => &machine.certificate,
        };
        Arc::clone(&certificate.shown)
    }

    fn answer(&self, call: Call) -> (u16, Value) {
        let line = format!("{}: {call}", self.name);
        let mut world = held(&self.shared.world);
        let answered = answer(&mut world, &self.name, &call);
        held(&self.shared.calls).push((self.name.clone(), call));
        let mut soon = held(&self.shared.soon);
        if let Some(index) = soon.iter().position(|one| line.starts_with(one.line)) {
            (soon.remove(index).happens)(&mut world);
        }
        answered.unwrap_or_else(|| {
            held(&self.shared.unknown).push(line);
            error(500, "the test knows no such request")
        })
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let unknown = held(&self.shared.unknown);
            assert!(unknown.is_empty(), "unknown requests: {unknown:#?}");
            assert!(
                held(&self.shared.soon).is_empty(),
                "something never happened"
            );
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic")
}
