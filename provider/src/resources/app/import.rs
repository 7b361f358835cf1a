//! The import of `homelab_app`: of an app of ours, whole; or of instances that were made by hand, which the first apply
//! takes over (docs/decisions/0022).
//!
//! Before: the id that the user typed. After: a Read, then a plan that shows what is declared. An import writes nothing:
//! until the first apply the names of the instances are in the state, under `workloads`, while `revision` is null.

use domain::adoption::{self, Found, Id, Refusal};
use domain::entry::Entry;
use domain::observation::{Observation, Workload};
use reconcile::cluster::Cluster;
use reconcile::store::Fleet;
use tfplugin::{Diagnostic, Value};

use super::{schema, state};
use crate::session::Snapshot;
use crate::{diagnose, owner};

/// The object that an id stands for.
pub(super) fn object(
    id: &str,
    cluster: &Cluster,
    snapshot: &Snapshot,
) -> Result<Value, Diagnostic> {
    let refused =
        |detail: String| Diagnostic::error(format!("App {id} cannot be imported")).detail(detail);
    let Id { app, adopts } = adoption::parse(id).map_err(|error| refused(format!("{error}.")))?;
    let record = snapshot.fleet.apps.get(&app);
    let entry = record.and_then(|record| record.entry.as_ref());
    let entry = entry.filter(|entry| entry.deleted.is_none());
    if adopts.is_empty() {
        return whole(&app, cluster, entry).map_err(refused);
    }
    match entry.filter(|entry| entry.created.is_some()) {
        // The same import once more, after an apply whose state was lost.
        Some(entry)
            if entry
                .spec
                .as_ref()
                .is_some_and(|spec| spec.adopts == adopts) =>
        {
            whole(&app, cluster, Some(entry)).map_err(refused)
        }
        Some(_) => Err(refused(format!(
            "App {app} exists already, so it can take over no instances. Expected the name of an app that does not exist \
             yet. To import the app as it is:\n\n  tofu import ADDRESS {app}"
        ))),
        None => {
            let found = found(&app, &adopts, snapshot)
                .map_err(|reasons| refused(diagnose::reasons(&reasons)))?;
            fresh(&app, &found)
        }
    }
}

/// The whole object, as it was when it last converged.
fn whole(app: &str, cluster: &Cluster, entry: Option<&Entry>) -> Result<Value, String> {
    let Some(entry) = entry else {
        return Err(format!(
            "The fleet project {:?} has no app of this name. Expected the `name` of an app; or NAME=INSTANCE,INSTANCE,… to \
             take over instances that were made by hand.",
            cluster.fleet_project
        ));
    };
    let Some(applied) = &entry.applied else {
        return Err(format!(
            "The first apply of app {app} never finished. Nothing needs to be imported: apply the configuration, which takes \
             up what is there."
        ));
    };
    let mut object = state::from_declaration(&schema::schema(), &applied.declaration);
    object.set_attr("owner", entry.owner.as_str());
    object.set_attr("rollout_steps", schema::no_steps());
    if let Some(spec) = &entry.spec {
        object.set_attr("update_strategy", spec.r#type.update_strategy());
        // Of a later revision that failed it would be another image's.
        let digest = spec.image.digest.as_deref();
        let digest = digest.filter(|_| applied.revision == entry.revision);
        object.set_attr("image_digest", Value::from(digest));
    }
    Ok(object)
}

/// An app that is yet to be published, with what it will take over.
fn fresh(app: &str, found: &[Found]) -> Result<Value, Diagnostic> {
    let mut object = state::from_declaration(&schema::schema(), &serde_json::Value::Null);
    object.set_attr("name", app);
    object.set_attr("owner", owner::new()?);
    object.set_attr("rollout_steps", schema::no_steps());
    object.set_attr("workloads", workloads(found, Vec::new()));
    Ok(object)
}

/// Looks at the instances, also with an eye on what other apps are about to take.
pub(super) fn found(
    app: &str,
    adopts: &[String],
    snapshot: &Snapshot,
) -> Result<Vec<Found>, Vec<Refusal>> {
    let found = adoption::look(app, adopts, &snapshot.world.seen);
    let promised = promised(app, adopts, &snapshot.fleet);
    match (found, promised.is_empty()) {
        (Ok(found), true) => Ok(found),
        (Ok(_), false) => Err(promised),
        (Err(refused), _) => Err(refused.into_iter().chain(promised).collect()),
    }
}

fn promised(app: &str, adopts: &[String], fleet: &Fleet) -> Vec<Refusal> {
    let unfinished = |(name, entry): &(&String, &Entry)| {
        *name != app && entry.created.is_none() && entry.deleted.is_none()
    };
    let apps = fleet.apps.iter();
    let entries = apps.filter_map(|(name, record)| Some((name, record.entry.as_ref()?)));
    let promises = entries.filter(unfinished).flat_map(|(app, entry)| {
        let names = entry.spec.iter().flat_map(|spec| &spec.adopts);
        names.map(move |name| (app, name))
    });
    promises
        .filter(|(_, name)| adopts.contains(name))
        .map(|(app, name)| Refusal::Promised {
            name: name.clone(),
            app: app.clone(),
        })
        .collect()
}

/// The instances that the next apply takes over, if there are any: as the import named them, or as a first apply that
/// was cut off has published them.
pub(super) fn pending(object: &Value, entry: Option<&Entry>) -> Vec<String> {
    let own = entry.filter(|entry| object.attr("owner").as_str() == Some(&entry.owner));
    match own {
        Some(entry) if entry.created.is_some() => Vec::new(),
        Some(entry) => entry
            .spec
            .iter()
            .flat_map(|spec| spec.adopts.clone())
            .collect(),
        None if !object.attr("revision").is_null() => Vec::new(),
        None => named(object.attr("workloads")),
    }
}

/// The instances in the order of their ordinals: as texts, 10 would come before 9.
fn named(workloads: &Value) -> Vec<String> {
    let mut named: Vec<(u32, String)> = workloads
        .as_map()
        .into_iter()
        .flatten()
        .filter_map(|(ordinal, workload)| {
            let name = workload.attr("instance").as_str()?;
            Some((ordinal.parse().ok()?, name.to_owned()))
        })
        .collect();
    named.sort();
    named.into_iter().map(|(_, name)| name).collect()
}

/// What the state shows until they are taken over, beside workloads that are the app's already.
pub(super) fn workloads(found: &[Found], others: Vec<Workload>) -> Value {
    let others = others
        .into_iter()
        .filter(|workload| found.iter().all(|one| one.name != workload.name));
    let observation = Observation {
        workloads: others.chain(adoption::shown(found)).collect(),
        ..Observation::default()
    };
    state::workloads(
        &observation,
        &std::collections::BTreeMap::new(),
        &Value::Null,
    )
}

/// What an import named has changed since, so the apply could not take it over.
pub(super) fn spoilt(app: &str, refused: &[Refusal]) -> Diagnostic {
    Diagnostic::error(format!("App {app} cannot take over what was imported for it")).detail(format!(
        "{}\n\nSet that right; or remove the app from the state (`tofu state rm`) and import it again with other \
         instances.",
        diagnose::reasons(refused)
    ))
}
