//! `homelab_app`: an app, its workloads, and its rollouts.
//!
//! ```text
//! app.rs ──┬─> app/model.rs    what is declared            ─> domain::app::declared
//!          ├─> app/schema.rs   every attribute, once
//!          ├─> app/plan.rs     pure, from app/private.rs   ─> domain::rollout::forecast
//!          ├─> app/import.rs   of an app, or of instances made by hand ─> domain::adoption
//!          ├─> app/change.rs   publish, converge, finish   ─> reconcile
//!          └─> app/state.rs    what OpenTofu keeps
//! ```
//!
//! Not here: any decision about workloads (`domain::rollout`), any request (`incus`).

mod change;
mod import;
mod model;
mod plan;
mod private;
mod schema;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use domain::app::Track;
use domain::entry;
use domain::observation::{self, MemberStatus, Observation, Workload};
use domain::rollout::phase::{self, Phase};
use reconcile::cluster::Cluster;
use reconcile::store::AppRecord;
use tfplugin::{
    Applied, Call, CreateRequest, DeleteRequest, Diagnostic, Diagnostics, ImportRequest, Imported,
    Plan, ReadRequest, ReadState, Resource, Schema, UpdateRequest, Value,
};

use crate::diagnose;
use crate::names::Answer;
use crate::session::{NoCluster, Session, Snapshot};
use private::Private;

// Model.

/// The resource `homelab_app`.
pub(crate) struct App {
    session: Arc<Session>,
}

impl App {
    /// Apps of the cluster that this session is configured for.
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self { session }
    }
}

#[async_trait]
impl Resource for App {
    // Schema.

    fn schema(&self) -> Schema {
        schema::schema()
    }

    fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        diagnostics.extend(diagnose::issues(&model::declared(config).check()));
    }

    // Plan.

    fn plan(&self, plan: &mut Plan<'_>) {
        plan::plan(plan);
    }

    // Create.

    async fn create(&self, request: CreateRequest, call: &Call) -> Applied {
        match self.session.cluster() {
            Ok(cluster) => {
                self.session.about_to_write().await;
                let mut applied = change::create(&cluster, request, call).await;
                // The only warning that comes from an apply: there was no plan before it that could have seen the server.
                applied.diagnostics.extend(self.session.notices(&cluster));
                applied
            }
            Err(none) => Applied::failed(Value::Null, none.diagnostic()),
        }
    }

    // Read.

    async fn read(&self, request: ReadRequest, _call: &Call) -> ReadState {
        let mut read = ReadState {
            state: request.current,
            private: request.private,
            diagnostics: Diagnostics::new(),
        };
        let cluster = match self.session.same_cluster(private::cluster(&read.private)) {
            Ok(cluster) => cluster,
            Err(NoCluster::NotKnownYet) => {
                self.tell_unrefreshed(&mut read.diagnostics);
                return read;
            }
            Err(none) => {
                read.diagnostics.push(none.diagnostic());
                return read;
            }
        };
        let name = read
            .state
            .attr("name")
            .as_str()
            .unwrap_or_default()
            .to_owned();
        match self.session.snapshot(&cluster).await {
            Ok(snapshot) => {
                let ambiguous = cluster.client.is_ambiguous();
                let looked_up = LookedUp {
                    failed: self
                        .failed_image(&cluster, snapshot.fleet.apps.get(&name))
                        .await,
                    followed: self.followed(&cluster, &mut read).await,
                };
                self.observe(&name, &snapshot, ambiguous, looked_up, &mut read);
            }
            Err(error) => read
                .diagnostics
                .push(diagnose::app("Reading", &name, &error)),
        }
        read.diagnostics.extend(self.session.notices(&cluster));
        read
    }

    // Update.

    async fn update(&self, request: UpdateRequest, call: &Call) -> Applied {
        // A plan that left the revision known has nothing for the cluster: only the state changes.
        if !request.planned.attr("revision").is_unknown() {
            return Applied::new(request.planned).private(request.private);
        }
        match self
            .session
            .same_cluster(private::cluster(&request.private))
        {
            Ok(cluster) => {
                self.session.about_to_write().await;
                change::update(&cluster, request, call).await
            }
            Err(none) => Applied::failed(request.prior, none.diagnostic()).private(request.private),
        }
    }

    // Delete.

    async fn delete(&self, request: DeleteRequest, call: &Call) -> Applied {
        match self
            .session
            .same_cluster(private::cluster(&request.private))
        {
            Ok(cluster) => {
                self.session.about_to_write().await;
                change::delete(&cluster, request, call).await
            }
            Err(none) => Applied::failed(request.prior, none.diagnostic()).private(request.private),
        }
    }

    // Import.

    async fn import(&self, request: ImportRequest, _call: &Call) -> Imported {
        match self.import_entry(&request.id).await {
            Ok(state) => Imported {
                state,
                private: Vec::new(),
                diagnostics: Diagnostics::new(),
            },
            Err(diagnostic) => Imported {
                state: Value::Null,
                private: Vec::new(),
                diagnostics: diagnostic.into(),
            },
        }
    }
}

impl App {
    /// Refreshes what is computed from one snapshot; what is declared stays as it was.
    ///
    /// Where it is a matter of chance which cluster has answered, what is not there is not gone (docs/decisions/0012).
    fn observe(
        &self,
        name: &str,
        snapshot: &Snapshot,
        ambiguous: bool,
        looked_up: LookedUp,
        read: &mut ReadState,
    ) {
        let nothing = AppRecord::default();
        let record = snapshot.fleet.apps.get(name).unwrap_or(&nothing);
        let world = &snapshot.world;
        let mut observation = world.of_app(name, &record.work);
        observation.volumes = snapshot.volumes.get(name).cloned().unwrap_or_default();
        self.tell_of_dead_members(&observation, &mut read.diagnostics);
        let adopts = import::pending(&read.state, record.entry.as_ref());
        if !adopts.is_empty() {
            return observe_pending(name, &adopts, snapshot, &observation, read);
        }
        let Some(entry) = &record.entry else {
            match observation.workloads.is_empty() {
                true if ambiguous => read.diagnostics.push(diagnose::nowhere(name)),
                true => read.state = Value::Null,
                false => read.diagnostics.push(lost_entry(name, &observation)),
            }
            return;
        };
        // The record goes last: until then something of it may be left, such as a volume that is to go, too.
        let is_gone = observation.workloads.is_empty() && record.work_revision == 0;
        if entry.deleted.is_some() && is_gone {
            read.state = Value::Null;
            return;
        }
        let owner = read.state.attr("owner").as_str().unwrap_or_default();
        if !owner.is_empty() && owner != entry.owner {
            read.diagnostics.push(other_owner(name));
            return;
        }
        let phase = match (&entry.deleted, &entry.spec) {
            (Some(_), _) => Phase::Deleting,
            (None, Some(spec)) => phase::of(spec, &observation, &record.work, snapshot.at),
            (None, None) => Phase::Unknown,
        };
        let before = read.state.attr("workloads").clone();
        let workloads = state::workloads(&observation, &BTreeMap::new(), &before);
        read.state.set_attr("workloads", workloads);
        read.state.set_attr("phase", phase.word());
        read.state.set_attr("revision", entry.revision);
        read.state.set_attr("executor", entry.executor.word());
        read.state
            .set_attr("last_error", state::last_error(&record.work));
        let private = Private {
            failed_image: looked_up.failed,
            followed: looked_up.followed,
            ..Private::new(name, record, &observation, snapshot.at, snapshot.cluster)
        };
        read.private = private.write();
    }

    /// What the image of a rollout that failed stands for now; without an answer the plan takes it for a new one.
    async fn failed_image(&self, cluster: &Cluster, record: Option<&AppRecord>) -> Option<String> {
        let record = record?;
        let published = record.entry.as_ref()?.spec.as_ref()?;
        record.work.failure.as_ref()?;
        if entry::looked_up(Some(published), &record.work, published).is_some() {
            return None;
        }
        match self.session.names.look_up(cluster, published).await {
            Answer::Digest(digest) => Some(digest),
            Answer::Failed(_) | Answer::NotAsked => None,
        }
    }

    /// What the image of the state stands for now, if its name is followed; without an answer it keeps its digest.
    async fn followed(&self, cluster: &Cluster, read: &mut ReadState) -> Option<String> {
        let spec = model::declared(&read.state).spec().ok()?;
        if spec.image.track != Track::Follow {
            return None;
        }
        let error = match self.session.names.look_up(cluster, &spec).await {
            Answer::Digest(digest) => return Some(digest),
            Answer::NotAsked => return None,
            Answer::Failed(error) => error,
        };
        let warning = diagnose::not_followed(&spec, &error);
        if self.session.first_time(&warning.summary) {
            read.diagnostics.push(warning);
        }
        None
    }

    /// What an id stands for.
    async fn import_entry(&self, id: &str) -> Result<Value, Diagnostic> {
        let cluster = self.session.cluster().map_err(NoCluster::diagnostic)?;
        let snapshot = self.session.snapshot(&cluster).await;
        let snapshot = snapshot.map_err(|error| diagnose::app("Importing", id, &error))?;
        import::object(id, &cluster, &snapshot)
    }

    fn tell_unrefreshed(&self, diagnostics: &mut Diagnostics) {
        if self.session.first_time("unrefreshed") {
            diagnostics.push(
                Diagnostic::warning("Apps are shown as they were last seen").detail(
                    "The provider's endpoints are not known before the apply, so nothing could be read from the cluster.",
                ),
            );
        }
    }

    /// A single dead member is a warning: its workloads keep their last known values, and everything else is planned.
    fn tell_of_dead_members(&self, observation: &Observation, diagnostics: &mut Diagnostics) {
        for member in &observation.members {
            let offline = member.status == MemberStatus::Offline;
            if offline && self.session.first_time(&format!("offline {}", member.name)) {
                diagnostics.push(
                    Diagnostic::warning(format!("Member {} is offline", member.name)).detail(
                        "Stateless replicas on it come up on other members with the next apply; workloads that belong to the \
                         machine wait for it. Check the machine, or remove it for good with `incus cluster remove --force` if \
                         it will not come back.",
                    ),
                );
            }
        }
        let unknown = observation
            .workloads
            .iter()
            .filter(|workload| workload.status == observation::Status::Unknown);
        for member in unknown.filter_map(|workload| workload.member.as_ref()) {
            if self.session.first_time(&format!("silent {member}")) {
                diagnostics.push(
                    Diagnostic::warning(format!("Member {member} does not answer")).detail(
                        "Its workloads are shown as they were last seen. Incus will say within seconds whether it is offline; \
                         plan again then.",
                    ),
                );
            }
        }
    }
}

/// What was looked up while reading.
struct LookedUp {
    /// What the image of a rollout that failed stands for.
    failed: Option<String>,
    /// What an image stands for whose name is followed.
    followed: Option<String>,
}

/// Between an import and the end of the first apply: the instances carry no keys yet, or only some of them do.
fn observe_pending(
    name: &str,
    adopts: &[String],
    snapshot: &Snapshot,
    observation: &Observation,
    read: &mut ReadState,
) {
    let nothing = AppRecord::default();
    let record = snapshot.fleet.apps.get(name).unwrap_or(&nothing);
    let stranger = |workload: &Workload| !adopts.contains(&workload.name);
    if record.entry.is_none() && observation.workloads.iter().any(stranger) {
        read.diagnostics.push(lost_entry(name, observation));
        return;
    }
    let found = match import::found(name, adopts, snapshot) {
        Ok(found) => found,
        Err(refused) => return read.diagnostics.push(import::spoilt(name, &refused)),
    };
    let workloads = import::workloads(&found, observation.workloads.clone());
    read.state.set_attr("workloads", workloads);
    let private = Private {
        adopts: found,
        ..Private::new(name, record, observation, snapshot.at, snapshot.cluster)
    };
    read.private = private.write();
}

fn lost_entry(name: &str, observation: &Observation) -> Diagnostic {
    let workloads: Vec<&str> = observation
        .workloads
        .iter()
        .map(|workload| workload.name.as_str())
        .collect();
    Diagnostic::error(format!("The fleet store has lost app {name}")).detail(format!(
        "There is no entry `app.{name}.r…` in the fleet project, but these workloads carry its keys: {}. Expected both or \
         none. Restore the profiles of the fleet project, or delete these instances to have the app created anew.",
        workloads.join(", ")
    ))
}

fn other_owner(name: &str) -> Diagnostic {
    Diagnostic::warning(format!("App {name} belongs to another configuration")).detail(format!(
        "It was destroyed and made again, or taken over. This configuration can neither change nor destroy it: remove it \
         from this state (`tofu state rm`), or import it again as {name}."
    ))
}
