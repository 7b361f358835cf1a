//! Changes of `homelab_cluster_member`: pass after pass, until the member is as declared or is none any more.
//!
//! Before: an apply. After: `reconcile::member`, which goes as far as it can without waiting. Waiting happens here: it has a
//! deadline, the user can stop it, and a log line says what is awaited. Nothing is decided here about the cluster.

use core::fmt;
use core::time::Duration;

use domain::membership::answer::Refusal;
use domain::membership::declared::NotASpec;
use domain::membership::removal;
use domain::membership::spec::{MemberSpec, OnDestroy, Role};
use reconcile::cluster::Cluster;
use reconcile::error::Error;
use reconcile::member::{self, Attempts, Changes, Passed, Removed, View};
use tfplugin::{
    Applied, Call, CreateRequest, DeleteRequest, Diagnostic, Diagnostics, UpdateRequest, Value, log,
};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::model::{declared, name};
use super::{private, state};
use crate::{diagnose, owner};

/// A cluster that loses its database leader refuses for some seconds; one that does so for longer is not waited for.
const DISTURBANCE: Duration = Duration::from_secs(30);

/// The cluster, and the changes to it that run beside this one.
pub(super) struct Work<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) changes: &'a Changes,
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
    let limit = declared(&request.planned).deadlines().create;
    let bootstrap = spec.role == Role::Bootstrap;
    if bootstrap {
        work.changes.bootstrap_began();
    }
    let end = work.settle(&spec, limit).await;
    let (missing, view) = match work.or_listed(&spec, end).await {
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
    let incomplete = diagnose::incomplete(&spec.name, &missing);
    state.set_attr("missing", state::list(missing));
    let mut applied = finished(state, &spec, &view);
    applied.diagnostics.extend(incomplete);
    applied
}

/// Makes a member as it is declared. With an error the state keeps the old values, so the next plan is not empty.
pub(super) async fn update(work: &Work<'_>, request: UpdateRequest) -> Applied {
    let failed = |diagnostics: Diagnostics| Applied {
        state: request.prior.clone(),
        private: request.private.clone(),
        diagnostics,
    };
    let spec = match spec_of(&request.config) {
        Ok(spec) => spec,
        Err(diagnostics) => return failed(diagnostics),
    };
    let limit = declared(&request.planned).deadlines().update;
    match work.settle(&spec, limit).await {
        Ok((missing, view)) if missing.is_empty() => finished(request.planned, &spec, &view),
        // The plan said that nothing would be.
        Ok((missing, _)) => failed(diagnose::still_missing(&spec.name, &missing).into()),
        Err(trouble) => failed(diagnose::member("Updating", &spec.name, &trouble).into()),
    }
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
    match work.remove(&spec, applied.on_destroy(), limit).await {
        Ok(warnings) => Applied {
            state: Value::Null,
            private: Vec::new(),
            // They are only known now: what they say is true because of this removal.
            diagnostics: warnings
                .iter()
                .map(|warning| diagnose::left_behind(&spec.name, warning))
                .collect(),
        },
        Err(trouble) => failed(diagnose::member("Removing", &spec.name, &trouble).into()),
    }
}

impl Work<'_> {
    /// Goes on until nothing more can be done: what is still missing, and what was seen last.
    async fn settle(
        &self,
        spec: &MemberSpec,
        limit: Duration,
    ) -> Result<(Vec<String>, View), Trouble> {
        let mut wait = Wait::new(self.call, &spec.name, limit);
        let stop = wait.stop.clone();
        let mut attempts = Attempts::default();
        loop {
            let pass = member::pass(self.cluster, spec, self.changes, &mut attempts, &stop);
            match wait.within(pass).await {
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
        end: Result<(Vec<String>, View), Trouble>,
    ) -> Result<(Vec<String>, View), Trouble> {
        let trouble = match end {
            Ok(end) => return Ok(end),
            // Somebody else may be the member of this name.
            Err(Trouble::Refused(refusal)) => return Err(Trouble::Refused(refusal)),
            Err(trouble) => trouble,
        };
        let Ok(Some(view)) = member::view(self.cluster).await else {
            return Err(trouble);
        };
        if view.seen.member(&spec.name).is_none() {
            return Err(trouble);
        }
        let mut missing = member::missing(spec, &view.seen);
        if missing.is_empty() {
            missing.push(format!("the end of its creation: {trouble}"));
        }
        Ok((missing, view))
    }

    async fn remove(
        &self,
        spec: &MemberSpec,
        applied: OnDestroy,
        limit: Duration,
    ) -> Result<Vec<removal::Warning>, Trouble> {
        let mut wait = Wait::new(self.call, &spec.name, limit);
        let stop = wait.stop.clone();
        let mut attempts = Attempts::default();
        loop {
            let (cluster, changes) = (self.cluster, self.changes);
            let removal = member::remove(cluster, spec, applied, changes, &mut attempts, &stop);
            match wait.within(removal).await {
                Ok(Removed::Gone { warnings }) => return Ok(warnings),
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

/// Waiting for one member: until when, and what was said about it.
struct Wait<'a> {
    call: &'a Call,
    /// What passes are stopped by: the user, or the end of the time.
    stop: CancellationToken,
    member: &'a str,
    limit: Duration,
    ends_at: Option<Instant>,
    said: &'static str,
    disturbed_at: Option<Instant>,
}

impl<'a> Wait<'a> {
    fn new(call: &'a Call, member: &'a str, limit: Duration) -> Self {
        Self {
            call,
            stop: call.stop_token().child_token(),
            member,
            limit,
            // One that no clock can reach does not end.
            ends_at: Instant::now().checked_add(limit),
            said: "",
            disturbed_at: None,
        }
    }

    /// Lets a pass run. When time is over it is told to stop, and does so between two steps.
    async fn within<T>(&self, pass: impl Future<Output = T>) -> T {
        tokio::pin!(pass);
        tokio::select! {
            done = &mut pass => done,
            () = self.over() => {
                self.stop.cancel();
                pass.await
            }
        }
    }

    async fn over(&self) {
        match self.ends_at {
            Some(end) => sleep_until(end).await,
            None => core::future::pending().await,
        }
    }

    /// Waits a moment. What is awaited is logged when it changes; the host shows it under `TF_LOG`.
    async fn for_(
        &mut self,
        awaited: &impl fmt::Display,
        word: &'static str,
        time: Duration,
    ) -> Result<(), Trouble> {
        self.disturbed_at = None;
        self.pause(awaited, word, time).await
    }

    /// Waits a moment after an error that may pass by itself; one that stays, or that will not pass, is handed back.
    async fn for_calm(&mut self, error: Error) -> Result<(), Trouble> {
        if let Error::MemberStopped { before, .. } = &error {
            let awaited = format!("the next step was to {before}");
            return Err(match self.call.stopped() {
                true => Trouble::Stopped { awaited },
                false => Trouble::TimedOut {
                    limit: self.limit,
                    awaited,
                },
            });
        }
        match error.may_pass() && !self.is_disturbed_for_long() {
            true => self.pause(&error, "disturbed", member::PAUSE).await,
            false => Err(Trouble::Failed(error)),
        }
    }

    /// Waits a moment for somebody who answers for the cluster. It may be choosing whose word counts; it may also be gone.
    async fn for_cluster(&mut self) -> Result<(), Trouble> {
        match self.is_disturbed_for_long() {
            true => Err(Trouble::NoCluster),
            false => {
                let waiting = removal::Waiting::Cluster;
                self.pause(&waiting, waiting.word(), member::PAUSE).await
            }
        }
    }

    fn is_disturbed_for_long(&mut self) -> bool {
        let since = *self.disturbed_at.get_or_insert_with(Instant::now);
        since.elapsed() >= DISTURBANCE
    }

    async fn pause(
        &mut self,
        awaited: &impl fmt::Display,
        word: &'static str,
        time: Duration,
    ) -> Result<(), Trouble> {
        if self.said != word {
            self.said = word;
            log::info(
                "a member is awaited",
                &[("member", &self.member), ("state", &word)],
            );
        }
        tokio::select! {
            () = sleep(time) => {}
            () = self.stop.cancelled() => {}
            // The last pass was the last one.
            () = self.over() => {}
        }
        let awaited = awaited.to_string();
        if self.call.stopped() {
            return Err(Trouble::Stopped { awaited });
        }
        if self.ends_at.is_some_and(|end| Instant::now() >= end) {
            return Err(Trouble::TimedOut {
                limit: self.limit,
                awaited,
            });
        }
        Ok(())
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
    Applied::new(state).private(private::of(view))
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
