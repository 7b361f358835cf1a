//! Changes of `homelab_cluster_member`: pass after pass, until the member is as declared or is none any more.
//!
//! Before: an apply. After: `reconcile::member`, which goes as far as it can without waiting, and publishes what is declared
//! on the way; the last write marks it as done. `wait.rs` waits between two passes. Nothing is decided here about the cluster.

use core::fmt;
use core::time::Duration;

use domain::membership::answer::Refusal;
use domain::membership::declared::NotASpec;
use domain::membership::removal;
use domain::membership::spec::{MemberSpec, OnDestroy, Role};
use reconcile::cluster::Cluster;
use reconcile::error::Error;
use reconcile::member::{self, Attempts, Changes, Grave, Passed, Publication, Removed, View};
use reconcile::rollout::arrival::{Arrivals, Left};
use tfplugin::{
    Applied, Call, CreateRequest, DeleteRequest, Diagnostic, Diagnostics, UpdateRequest, Value,
};

use tokio::time::Instant;

use super::model::{declaration, declared, name, owner as owner_of};
use super::wait::Wait;
use super::{private, state};
use crate::{diagnose, owner};

/// The cluster, and the changes to it that run beside this one.
pub(super) struct Work<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) changes: &'a Changes,
    pub(super) arrivals: &'a Arrivals,
    pub(super) call: &'a Call,
}

/// Why a change did not come to its end.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Something failed.
    Failed(Error),
    /// Nothing will help until somebody else acts.
    Refused(Refusal),
    /// A removal that is not allowed to lose what it would lose.
    Stays(removal::Refusal),
    /// Nobody answers who is in a cluster.
    NoCluster,
    /// Time was over.
    TimedOut { limit: Duration, awaited: String },
    /// The user stopped it.
    Stopped { awaited: String },
}

impl Trouble {
    /// Whether the member turned out to be another configuration's.
    fn is_anothers(&self) -> bool {
        use Error::{OtherOwner, Overtaken};
        matches!(self, Trouble::Failed(OtherOwner { .. } | Overtaken { .. }))
    }
}

/// As a part of a sentence: what kept the change from its end.
impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Failed(error) => error.fmt(formatter),
            Trouble::Refused(refusal) => refusal.fmt(formatter),
            Trouble::Stays(refusal) => refusal.fmt(formatter),
            Trouble::NoCluster => removal::Waiting::Cluster.fmt(formatter),
            Trouble::TimedOut { awaited, .. } | Trouble::Stopped { awaited } => {
                formatter.write_str(awaited)
            }
        }
    }
}

/// Makes a machine a member. As long as the cluster does not list it there is no state; from then on the create succeeds,
/// and what is left to do is `missing`, for the next apply.
pub(super) async fn create(work: &Work<'_>, request: CreateRequest) -> Applied {
    let fail = |diagnostics: Diagnostics| Applied {
        state: Value::Null,
        private: Vec::new(),
        diagnostics,
    };
    let spec = match spec_of(&request.config) {
        Ok(spec) => spec,
        Err(diagnostics) => return fail(diagnostics),
    };
    let owner = match owner::new() {
        Ok(owner) => owner,
        Err(diagnostic) => return fail(diagnostic.into()),
    };
    let began_at = Instant::now();
    let limit = declared(&request.planned).deadlines().create;
    let bootstrap = spec.role == Role::Bootstrap;
    if bootstrap {
        work.changes.bootstrap_began();
    }
    let mut publication = Publication::new(&spec, owner.clone(), true);
    let end = work.settle(&spec, &mut publication, limit).await;
    let end = work.or_listed(&spec, &mut publication, end).await;
    let end = match end {
        Ok(end) => work.created(&publication, &request.planned, end).await,
        Err(trouble) => Err(trouble),
    };
    let (missing, view) = match end {
        Ok(end) => end,
        Err(trouble) => {
            if bootstrap {
                work.changes.bootstrap_failed();
            }
            return fail(diagnose::member("Creating", &spec.name, &trouble).into());
        }
    };
    let mut state = request.planned;
    state.set_attr("owner", owner);
    let is_complete = missing.is_empty();
    let incomplete = diagnose::incomplete(&spec.name, &missing);
    state.set_attr("missing", state::list(missing));
    let mut applied = finished(state, &spec, &view);
    applied.diagnostics.extend(incomplete);
    // What a member lacks its workloads may need; once that is repaired, the plans of the apps show them.
    if is_complete && publication.is_awaited() {
        let limit = limit.saturating_sub(began_at.elapsed());
        let left = work.welcome(&spec.name, limit).await;
        applied.diagnostics.extend(left);
    }
    applied
}

/// Makes a member as it is declared. With an error the state keeps the old values, so the next plan is not empty, but for
/// what concerns the state alone: a member that cannot be changed any more can still be allowed to go.
pub(super) async fn update(work: &Work<'_>, request: UpdateRequest) -> Applied {
    let failed = |diagnostics: Diagnostics| Applied {
        state: unchanged(&request.prior, &request.planned),
        private: request.private.clone(),
        diagnostics,
    };
    let spec = match spec_of(&request.config) {
        Ok(spec) => spec,
        Err(diagnostics) => return failed(diagnostics),
    };
    let mut publication = match publication(&spec, &request.prior) {
        Ok(publication) => publication,
        Err(diagnostic) => return failed(diagnostic.into()),
    };
    let fail = |trouble: &Trouble| failed(diagnose::member("Updating", &spec.name, trouble).into());
    let limit = declared(&request.planned).deadlines().update;
    let view = match work.settle(&spec, &mut publication, limit).await {
        Ok((missing, view)) if missing.is_empty() => view,
        // The plan said that nothing would be.
        Ok((missing, _)) => return failed(diagnose::still_missing(&spec.name, &missing).into()),
        Err(trouble) => return fail(&trouble),
    };
    let declaration = Some(declaration(&request.planned));
    if let Err(error) = publication.finish(work.cluster, declaration).await {
        return fail(&Trouble::Failed(error));
    }
    let mut state = request.planned;
    if state.attr("owner").is_unknown() {
        state.set_attr("owner", publication.owner());
    }
    finished(state, &spec, &view)
}

/// The state after a failed update.
fn unchanged(prior: &Value, planned: &Value) -> Value {
    let mut state = prior.clone();
    for name in ["on_destroy", "timeouts"] {
        state.set_attr(name, planned.attr(name).clone());
    }
    state
}

/// What is declared, for whoever owns the member; one that was imported without an entry is owned from now on.
fn publication(spec: &MemberSpec, prior: &Value) -> Result<Publication, Diagnostic> {
    Ok(match owner_of(prior) {
        Some(owner) => Publication::new(spec, owner, false),
        None => Publication::new(spec, owner::new()?, true),
    })
}

/// Removes a member. What it may lose is what was applied of `on_destroy`.
pub(super) async fn delete(work: &Work<'_>, request: DeleteRequest) -> Applied {
    let failed = |diagnostics: Diagnostics| Applied {
        state: request.prior.clone(),
        private: request.private.clone(),
        diagnostics,
    };
    let spec = match spec_of(&request.prior) {
        Ok(spec) => spec,
        Err(diagnostics) => return failed(diagnostics),
    };
    let applied = declared(&request.prior);
    let limit = applied.deadlines().delete;
    let grave = Grave::new(&spec, owner_of(&request.prior));
    match work.remove(&spec, grave, applied.on_destroy(), limit).await {
        Ok(warnings) => Applied {
            state: Value::Null,
            private: Vec::new(),
            diagnostics: warnings,
        },
        Err(trouble) => failed(diagnose::member("Removing", &spec.name, &trouble).into()),
    }
}

impl Work<'_> {
    /// Brings the apps that run once on each machine to a machine that is a member now. It is one whatever becomes of them,
    /// so what fails is a warning.
    async fn welcome(&self, member: &str, limit: Duration) -> Vec<Diagnostic> {
        let stop = self.call.stop_token();
        match self.arrivals.welcome(self.cluster, limit, &stop).await {
            Ok(left) => {
                let told = |left: &Left| diagnose::not_brought(&left.app, member, &left.error);
                left.iter().map(told).collect()
            }
            Err(error) => vec![diagnose::nothing_brought(member, &error)],
        }
    }

    /// Goes on until nothing more can be done: what is still missing, and what was seen last.
    async fn settle(
        &self,
        spec: &MemberSpec,
        publication: &mut Publication,
        limit: Duration,
    ) -> Result<(Vec<String>, View), Trouble> {
        let mut wait = Wait::new(self.call, &spec.name, limit);
        let stop = wait.stop.clone();
        let mut attempts = Attempts::default();
        loop {
            let (cluster, changes) = (self.cluster, self.changes);
            let pass = member::pass(cluster, spec, publication, changes, &mut attempts, &stop);
            let passed = wait.within(pass).await;
            wait.came_to(attempts.steps());
            match passed {
                Ok(Passed::Settled { missing, view }) => return Ok((missing, *view)),
                Ok(Passed::Refused(refusal)) => return Err(Trouble::Refused(refusal)),
                Ok(Passed::Waiting(waiting)) => {
                    wait.for_(&waiting, waiting.word(), member::patience(&waiting))
                        .await?;
                }
                Err(error) => wait.for_calm(error).await?,
            }
        }
    }

    /// A create that did not come to its end, of a machine that is a member by now, has come far enough.
    async fn or_listed(
        &self,
        spec: &MemberSpec,
        publication: &mut Publication,
        end: Result<(Vec<String>, View), Trouble>,
    ) -> Result<(Vec<String>, View), Trouble> {
        let trouble = match end {
            Ok(end) => return Ok(end),
            // Somebody else may be the member of this name.
            Err(trouble @ Trouble::Refused(_)) => return Err(trouble),
            Err(trouble) if trouble.is_anothers() => return Err(trouble),
            Err(trouble) => trouble,
        };
        let Ok(Some(view)) = member::view(self.cluster).await else {
            return Err(trouble);
        };
        if view.seen.member(&spec.name).is_none() {
            return Err(trouble);
        }
        // It may have become a member with the last step; if nothing can be written now, its next change does.
        if let Err(error) = publication.keep_up(self.cluster, Some(&view)).await {
            let failed = Trouble::Failed(error);
            if failed.is_anothers() {
                return Err(failed);
            }
        }
        let mut missing = member::missing(spec, &view.seen);
        if missing.is_empty() {
            missing.push(format!("the end of its creation: {trouble}"));
        }
        Ok((missing, view))
    }

    /// The last write of a create. From here on the member has a state, so nobody else may take its entry over, complete or
    /// not.
    async fn created(
        &self,
        publication: &Publication,
        planned: &Value,
        (mut missing, view): (Vec<String>, View),
    ) -> Result<(Vec<String>, View), Trouble> {
        let declaration = missing.is_empty().then(|| declaration(planned));
        if let Err(error) = publication.finish(self.cluster, declaration).await {
            let trouble = Trouble::Failed(error);
            if trouble.is_anothers() {
                return Err(trouble);
            }
            missing.push(format!("the end of its creation: {trouble}"));
        }
        Ok((missing, view))
    }

    /// Goes on until it is no member any more: what the user has to know then. It is only known now, because it is true
    /// because of this removal.
    async fn remove(
        &self,
        spec: &MemberSpec,
        mut grave: Grave,
        applied: OnDestroy,
        limit: Duration,
    ) -> Result<Diagnostics, Trouble> {
        let mut wait = Wait::new(self.call, &spec.name, limit);
        let stop = wait.stop.clone();
        let mut attempts = Attempts::default();
        loop {
            let (cluster, changes) = (self.cluster, self.changes);
            let (grave, attempts) = (&mut grave, &mut attempts);
            let removal = member::remove(cluster, spec, grave, applied, changes, attempts, &stop);
            let removed = wait.within(removal).await;
            wait.came_to(attempts.steps());
            match removed {
                Ok(Removed::Gone { warnings }) => {
                    let told = |warning| diagnose::left_behind(&spec.name, warning);
                    return Ok(warnings.iter().map(told).collect());
                }
                Ok(Removed::Foreign) => return Ok(diagnose::forgotten_member(&spec.name).into()),
                Ok(Removed::Refused(refusal)) => return Err(Trouble::Stays(refusal)),
                Ok(Removed::Waiting(removal::Waiting::Cluster)) => wait.for_cluster().await?,
                Ok(Removed::Waiting(waiting)) => {
                    wait.for_(&waiting, waiting.word(), member::PAUSE).await?;
                }
                Err(error) => wait.for_calm(error).await?,
            }
        }
    }
}

/// The state after a success: as planned, with what was unknown filled in.
fn finished(mut state: Value, spec: &MemberSpec, view: &View) -> Applied {
    let mut seen = state.clone();
    if let Some(member) = view.seen.member(&spec.name) {
        state::observe(&mut seen, member, view);
    }
    let Value::Object(planned) = &state else {
        return Applied::new(state);
    };
    // What was planned as known stays so; the next Read corrects it.
    let unknown: Vec<String> = planned
        .iter()
        .filter(|(_, value)| value.is_unknown())
        .map(|(name, _)| name.clone())
        .collect();
    for name in unknown {
        let value = seen.attr(&name).clone();
        let known = !value.is_unknown();
        state.set_attr(&name, if known { value } else { Value::Null });
    }
    // The last write has settled it, or the next Read sees that it has not.
    Applied::new(state).private(private::of(view, false))
}

/// Everything is known in an apply, and was checked before; it is checked again rather than believed.
fn spec_of(object: &Value) -> Result<MemberSpec, Diagnostics> {
    declared(object).spec().map_err(|error| match error {
        NotASpec::Refused(issues) => diagnose::issues(&issues),
        NotASpec::Unknown => Diagnostic::error(format!(
            "The declaration of member {} is not known at apply",
            name(object)
        ))
        .detail("OpenTofu sent unknown values where it promises known ones. Please report this.")
        .into(),
    })
}

#[cfg(test)]
mod tests;
