//! Changes of `homelab_app`: publish a revision, let it converge, write down that it did.
//!
//! Before: an apply. After: `reconcile`. Nothing is lost: as soon as the first revision is won there is a state, and an
//! update that fails keeps the old one.

use core::time::Duration;
use std::collections::BTreeMap;

use domain::app::declared::NotASpec;
use domain::app::{AppSpec, AppType};
use domain::entry::{self, Applied as Marks, Entry, Executor, Kind, RevisionName};
use domain::observation::Observation;
use domain::rollout::phase::{self, Phase};
use domain::secret::{self, Before, Secrets, Settled};
use reconcile::cluster::Cluster;
use reconcile::error::Error;
use reconcile::rollout::{self, Converged, Destroy, Rollout};
use reconcile::store::{self, AppRecord, Fleet};
use reconcile::{clock, observe, preflight};
use tfplugin::{
    Applied, Call, CreateRequest, DeleteRequest, Diagnostic, Diagnostics, Path, Timeouts,
    UpdateRequest, Value,
};

use super::import;
use super::model::{declared, secrets};
use super::private::Private;
use super::state;
use crate::{diagnose, owner};

/// How long a create, an update or a destroy may take unless the user says otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Creates an app.
pub(super) async fn create(cluster: &Cluster, request: CreateRequest, call: &Call) -> Applied {
    let name = name_of(&request.planned);
    let fail =
        |error: &Error| Applied::failed(Value::Null, diagnose::app("Creating", &name, error));
    let owner = match owner::new() {
        Ok(owner) => owner,
        Err(diagnostic) => return Applied::failed(Value::Null, diagnostic),
    };
    let published = match publish_new(cluster, &request, &owner).await {
        Ok(published) => published,
        Err(Wrong::Reconcile(error)) => return fail(&error),
        Err(Wrong::Declaration(diagnostics)) => {
            return Applied {
                state: Value::Null,
                private: Vec::new(),
                diagnostics,
            };
        }
    };
    // From here on there is something in the cluster, so there is a state, whatever happens.
    let mut state = request.planned.clone();
    state.set_attr("owner", owner);
    let limit = Timeouts::from(request.planned.attr("timeouts")).create;
    match published.converge(cluster, limit, call, &state).await {
        Ok(end) => published.succeeded(cluster, state, end),
        Err(error) => {
            published
                .created_in_part(cluster, state, &name, &error)
                .await
        }
    }
}

/// Changes an app.
pub(super) async fn update(cluster: &Cluster, request: UpdateRequest, call: &Call) -> Applied {
    let name = name_of(&request.prior);
    let failed = |diagnostics: Diagnostics| Applied {
        state: request.prior.clone(),
        private: request.private.clone(),
        diagnostics,
    };
    let published = match publish_change(cluster, &request).await {
        Ok(published) => published,
        Err(Wrong::Reconcile(error)) => {
            return failed(diagnose::app("Updating", &name, &error).into());
        }
        Err(Wrong::Declaration(diagnostics)) => return failed(diagnostics),
    };
    let limit = Timeouts::from(request.planned.attr("timeouts")).update;
    match published
        .converge(cluster, limit, call, &request.planned)
        .await
    {
        Ok(end) => published.succeeded(cluster, request.planned.clone(), end),
        // The old values stay, so the next plan is not empty.
        Err(error) => failed(diagnose::app("Updating", &name, &error).into()),
    }
}

/// Destroys an app: a tombstone first, so that nobody creates anything any more, then the workloads.
pub(super) async fn delete(cluster: &Cluster, request: DeleteRequest, call: &Call) -> Applied {
    let name = name_of(&request.prior);
    // Without what a Read has noted nobody knows whether this is a part of a replacement: then the data stays.
    let noted = Private::read(&request.private);
    let keeps_volumes = noted.is_none_or(|noted| noted.replaced);
    match remove(cluster, &request.prior, &name, keeps_volumes, call).await {
        Ok(diagnostics) if diagnostics.has_errors() => Applied {
            state: request.prior,
            private: request.private,
            diagnostics,
        },
        Ok(diagnostics) => Applied {
            state: Value::Null,
            private: Vec::new(),
            diagnostics,
        },
        Err(error) => Applied::failed(request.prior, diagnose::app("Destroying", &name, &error))
            .private(request.private),
    }
}

/// Why nothing was published.
enum Wrong {
    Declaration(Diagnostics),
    Reconcile(Error),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Wrong::Reconcile(error)
    }
}

/// A revision that was won, on its way.
struct Published {
    entry: Entry,
    spec: AppSpec,
    secrets: Secrets,
    architecture: Option<String>,
    before: AppRecord,
}

/// The end of a successful rollout.
struct End {
    converged: Converged,
    marks: Marks,
}

async fn publish_new(
    cluster: &Cluster,
    request: &CreateRequest,
    owner: &str,
) -> Result<Published, Wrong> {
    let spec = spec_of(&request.config)?;
    let fleet = store::snapshot(cluster).await?;
    let highest = fleet
        .apps
        .get(&spec.name)
        .and_then(|record| record.entry.as_ref());
    let admitted = entry::admit_create(highest);
    let new = Entry {
        revision: admitted.map_err(|refusal| refused(&spec, refusal))?,
        spec: None,
        owner: owner.to_owned(),
        created: None,
        applied: None,
        executor: Executor::Provider,
        deleted: None,
    };
    let given = secrets(&request.config);
    // What a create that was cut off has stored may be another's.
    let settled = secret::settle(&spec, &given, None);
    publish(cluster, fleet, (&spec, settled), None, new).await
}

async fn publish_change(cluster: &Cluster, request: &UpdateRequest) -> Result<Published, Wrong> {
    let mut spec = spec_of(&request.config)?;
    let owner = request.prior.attr("owner").as_str().unwrap_or_default();
    let fleet = store::snapshot(cluster).await?;
    let highest = fleet
        .apps
        .get(&spec.name)
        .and_then(|record| record.entry.as_ref());
    let own = highest.filter(|entry| entry.owner == owner);
    spec.adopts = import::pending(&request.prior, highest);
    let admitted = match spec.adopts.is_empty() {
        true => entry::admit_change(highest, owner),
        false => entry::admit_adoption(highest, owner),
    };
    let next = Entry {
        revision: admitted.map_err(|refusal| refused(&spec, refusal))?,
        spec: None,
        owner: owner.to_owned(),
        created: own.and_then(|entry| entry.created),
        applied: own.and_then(|entry| entry.applied.clone()),
        executor: Executor::Provider,
        deleted: None,
    };
    // What the plan left known is what the image stands for.
    let planned = request
        .planned
        .attr("image_digest")
        .as_str()
        .map(str::to_owned);
    let known = planned.or_else(|| {
        let record = fleet.apps.get(&spec.name)?;
        entry::looked_up(highest?.spec.as_ref(), &record.work, &spec)
    });
    let given = secrets(&request.config);
    let before = fleet.apps.get(&spec.name).and_then(before);
    let settled = secret::settle(&spec, &given, before);
    publish(cluster, fleet, (&spec, settled), known, next).await
}

/// What the highest revision declares, and what is stored for it.
fn before(record: &AppRecord) -> Option<Before<'_>> {
    Some(Before {
        spec: record.entry.as_ref()?.spec.as_ref()?,
        secrets: record.secrets(),
    })
}

/// Publishes `entry` with the declaration, its image pinned and its secrets stored.
async fn publish(
    cluster: &Cluster,
    mut fleet: Fleet,
    (spec, settled): (&AppSpec, Settled),
    known: Option<String>,
    entry: Entry,
) -> Result<Published, Wrong> {
    cluster.server().await?;
    let before = fleet.apps.remove(&spec.name).unwrap_or_default();
    let (mut spec, architecture) = rollout::pin(cluster, spec, known).await?;
    let issues = preflight::check(cluster, &spec, &before.work).await?;
    if !issues.is_empty() {
        return Err(Wrong::Declaration(diagnose::issues(&issues)));
    }
    let (number, secrets) = store_secrets(cluster, &before, entry.revision, settled, &spec).await?;
    spec.secrets_revision = number;
    let entry = Entry {
        spec: Some(spec.clone()),
        ..entry
    };
    store::publish(cluster, &spec.name, &entry).await?;
    // Tombstones of others, and secrets of nobody, are swept in passing; whoever writes next tries again.
    let _ = store::sweep(cluster, &fleet, clock::now()).await;
    let numbers = before.secrets.keys().copied();
    let referred = [
        number,
        self::before(&before).and_then(|one| one.spec.secrets_revision),
    ];
    let old = secret::to_prune(numbers, entry.revision, referred);
    let _ = store::delete_secrets(cluster, &spec.name, &old).await;
    Ok(Published {
        entry,
        spec,
        secrets,
        architecture,
        before,
    })
}

/// Stores what is new, before anything refers to it, and tells under which number everything is.
async fn store_secrets(
    cluster: &Cluster,
    before: &AppRecord,
    revision: u64,
    settled: Settled,
    spec: &AppSpec,
) -> Result<(Option<u64>, Secrets), Error> {
    match settled {
        Settled::None => Ok((None, Secrets::default())),
        Settled::Stored(number, secrets) => Ok((Some(number), secrets)),
        Settled::Anew(secrets) => {
            // An apply that was cut off may have stored some under this revision already.
            let taken = before
                .secrets
                .last_key_value()
                .map_or(0, |(number, _)| *number);
            let number = revision.max(taken + 1);
            store::store_secrets(cluster, &spec.name, number, &secrets).await?;
            Ok((Some(number), secrets))
        }
    }
}

impl Published {
    /// Lets the revision converge and marks it; `.created` and `.applied` are the last write.
    async fn converge(
        &self,
        cluster: &Cluster,
        limit: Option<Duration>,
        call: &Call,
        planned: &Value,
    ) -> Result<End, Error> {
        let rollout = Rollout {
            cluster,
            spec: &self.spec,
            architecture: self.architecture.clone(),
            revision: self.entry.revision,
            secrets: self.secrets.clone(),
            work: self.before.work.clone(),
            work_revision: self.before.work_revision,
            limit: limit.unwrap_or(DEFAULT_TIMEOUT),
            stop: call.stop_token(),
        };
        let converged = rollout.converge().await?;
        let marks = Marks {
            revision: self.entry.revision,
            declaration: state::declaration(planned),
        };
        let created = self.entry.created.unwrap_or_else(clock::now);
        let name = RevisionName {
            kind: Kind::App,
            name: self.spec.name.clone(),
            revision: marks.revision,
        };
        store::finish(cluster, &name, Some(&marks), created).await?;
        Ok(End { converged, marks })
    }

    /// The state after a success: as planned, with what was unknown filled in.
    fn succeeded(&self, cluster: &Cluster, state: Value, end: End) -> Applied {
        let converged = &end.converged;
        let state = self.completed(
            state,
            &converged.observation,
            &converged.addresses,
            Phase::Serving,
        );
        let record = AppRecord {
            entry: Some(Entry {
                applied: Some(end.marks),
                ..self.entry.clone()
            }),
            work: converged.work.clone(),
            ..AppRecord::default()
        };
        let now = clock::now();
        let (seen, cluster) = (&converged.observation, cluster.client.cluster());
        let private = Private::new(&self.spec.name, &record, seen, now, cluster);
        Applied::new(state).private(private.write())
    }

    /// The state after a create that did not get to its end: an error, with everything that exists.
    async fn created_in_part(
        &self,
        cluster: &Cluster,
        state: Value,
        name: &str,
        error: &Error,
    ) -> Applied {
        let mut record = AppRecord {
            entry: Some(self.entry.clone()),
            work: self.before.work.clone(),
            ..AppRecord::default()
        };
        let mut observation = Observation::default();
        if let Ok(world) = observe::world(cluster).await {
            if let Ok(mut fleet) = store::snapshot(cluster).await {
                record = fleet.apps.remove(name).unwrap_or(record);
            }
            observation = world.of_app(name, &record.work);
        }
        let now = clock::now();
        let phase = phase::of(&self.spec, &observation, &record.work, now);
        let mut state = self.completed(state, &observation, &BTreeMap::new(), phase);
        state.set_attr("last_error", state::last_error(&record.work));
        let private = Private::new(name, &record, &observation, now, cluster.client.cluster());
        Applied::failed(state, diagnose::app("Creating", name, error)).private(private.write())
    }

    fn completed(
        &self,
        mut state: Value,
        observation: &Observation,
        addresses: &BTreeMap<String, Vec<String>>,
        phase: Phase,
    ) -> Value {
        let workloads = state::workloads(observation, addresses, &Value::Null);
        state.set_attr("workloads", workloads);
        state.set_attr("phase", phase.word());
        state.set_attr("revision", self.entry.revision);
        state.set_attr("last_error", Value::Null);
        state.set_attr("update_strategy", self.spec.r#type.update_strategy());
        state.set_attr(
            "image_digest",
            Value::from(self.spec.image.digest.as_deref()),
        );
        if state.attr("rollout_steps").is_unknown() {
            state.set_attr("rollout_steps", super::schema::no_steps());
        }
        state
    }
}

async fn remove(
    cluster: &Cluster,
    prior: &Value,
    name: &str,
    keeps_volumes: bool,
    call: &Call,
) -> Result<Diagnostics, Error> {
    cluster.server().await?;
    let mut fleet = store::snapshot(cluster).await?;
    let record = fleet.apps.remove(name).unwrap_or_default();
    let Some(entry) = &record.entry else {
        return match cluster.client.is_ambiguous() {
            true => Ok(diagnose::nowhere(name).into()),
            false => Ok(Diagnostics::new()),
        };
    };
    if Some(entry.owner.as_str()) != prior.attr("owner").as_str() {
        return Ok(forgotten(name).into());
    }
    let limit = Timeouts::from(prior.attr("timeouts"))
        .delete
        .unwrap_or(DEFAULT_TIMEOUT);
    // Also where one stands already: a destroy that was cut off may still be at it, and is overtaken by this one.
    let tombstone = bury(cluster, name, entry).await?;
    // What was recorded in between tells of workloads, too.
    let record = store::snapshot(cluster).await?.apps.remove(name);
    let record = record.unwrap_or_default();
    // What was never applied does not count, so the state says whether the data goes, too.
    let on_destroy = prior.attr("on_destroy").attr("delete_volumes");
    let delete_volumes = on_destroy.as_bool().unwrap_or_default() && !keeps_volumes;
    let destroy = Destroy {
        app: name,
        tombstone,
        work: (record.work_revision, record.work),
        with_volumes: delete_volumes,
        limit,
    };
    rollout::remove(cluster, destroy, &call.stop_token()).await?;
    let _ = store::sweep(cluster, &fleet, clock::now()).await;
    Ok(Diagnostics::new())
}

async fn bury(cluster: &Cluster, name: &str, entry: &Entry) -> Result<u64, Error> {
    let tombstone = Entry {
        revision: entry.revision + 1,
        deleted: entry.deleted.or_else(|| Some(clock::now())),
        ..entry.clone()
    };
    store::publish(cluster, name, &tombstone).await?;
    Ok(tombstone.revision)
}

fn forgotten(name: &str) -> Diagnostic {
    Diagnostic::warning(format!("App {name} was not destroyed, because it belongs to another configuration"))
        .detail("It was made again or taken over since this state was written. It is forgotten here and left alone there.")
}

/// What can be applied. Everything is known in an apply, and was checked before; it is checked again rather than believed.
fn spec_of(config: &Value) -> Result<AppSpec, Wrong> {
    let spec = declared(config).spec();
    if let Ok(spec) = &spec
        && spec.r#type == AppType::Agent
    {
        return Err(Wrong::Declaration(not_yet(&spec.name).into()));
    }
    spec.map_err(|error| {
        Wrong::Declaration(match error {
            NotASpec::Refused(issues) => diagnose::issues(&issues),
            NotASpec::Unknown => Diagnostic::error(
                "The declaration of an app is not known at apply",
            )
            .detail(
                "OpenTofu sent unknown values where it promises known ones. Please report this.",
            )
            .into(),
        })
    })
}

fn not_yet(name: &str) -> Diagnostic {
    Diagnostic::error(format!("App {name} is an agent, and this version runs none"))
        .detail(
            "Apps of type \"agent\" are checked and planned, and not run yet. Nothing was changed. Leave the app out: while \
             the fleet has no agent, the provider itself does in each apply what an agent would do in between.",
        )
        .at(Path::root().attr("type"))
}

fn refused(spec: &AppSpec, refusal: entry::Refusal) -> Error {
    Error::Refused {
        app: spec.name.clone(),
        refusal,
    }
}

fn name_of(object: &Value) -> String {
    object.attr("name").as_str().unwrap_or_default().to_owned()
}
