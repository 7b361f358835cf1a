//! Becoming a cluster, and becoming a member of one: the two steps that change who a server is.
//!
//! Both are sent to the machine itself, whose certificate changes while they run. So an answer that is lost is no failure:
//! the next observation shows what came of it (HO-JOIN-19).

use domain::membership::spec::MemberSpec;
use domain::membership::step::Join;
use incus::cluster::join as request;
use incus::cluster::token::{self, Token};
use incus::{Client, Fingerprint, operation, server};

use super::observe;
use crate::cluster::Cluster;
use crate::error::Error;

/// Makes a cluster of the machine itself.
pub(super) async fn bootstrap(
    cluster: &Cluster,
    spec: &MemberSpec,
    machine: &Client,
    name: &str,
) -> Result<(), Error> {
    let made = machine.finish(request::bootstrap(name)).await;
    settled(made.map(drop), || format!("make a cluster of {name}"))?;
    pin(cluster, &observe::machine(cluster, &spec.address, None)?).await;
    Ok(())
}

/// The cluster that was just made is the right one from here on: nobody has seen its certificate before, and the one that
/// the machine had is gone.
async fn pin(cluster: &Cluster, machine: &Client) {
    let Ok(server) = machine.send(server::get()).await else {
        // It starts to listen anew; the first server of a cluster that answers is then the one.
        return;
    };
    if let (true, Some(fingerprint)) = (server.environment.server_clustered, machine.cluster()) {
        // A cluster that was named before stays the right one, and says so when it is asked.
        let _ = cluster.client.expect_cluster(fingerprint);
    }
}

/// Looks once more whether the machine is the one that was decided about, makes a token, and joins it with that. The token
/// is in memory only (HO-JOIN-09, HO-JOIN-11).
///
/// # Errors
/// [`Error::MemberStep`] if the machine was asked; whatever else happens is from before that, and no try.
pub(super) async fn join(cluster: &Cluster, step: &Join) -> Result<(), Error> {
    let doing = || format!("join {} at {}", step.name, step.address);
    let not_begun = |cause| Error::JoinNotBegun {
        doing: doing(),
        cause: Box::new(cause),
    };
    let pinned = Fingerprint::parse(&step.server_fingerprint).ok();
    let machine = observe::machine(cluster, &step.address, pinned)?;
    // Whoever has its address now may be another one, for which no token is to be outstanding, not even for a moment.
    machine.send(server::get()).await.map_err(not_begun)?;
    let incus = &cluster.client;
    let server = incus.send(server::get()).await.map_err(not_begun)?;
    let certificate = server.environment.certificate;
    let mint = token::mint(&step.name);
    let minted = incus.send(mint).await.map_err(not_begun)?;
    if let Err(error) = expect_same(step, &certificate, &minted) {
        // If it stays all the same, the next apply revokes it.
        let _ = incus.send(operation::cancel(&minted.operation)).await;
        return Err(error);
    }
    let join = request::Join {
        server_name: step.name.clone(),
        server_address: step.address.to_string(),
        cluster_address: through(step, &minted),
        cluster_certificate: certificate,
        token: minted,
        member_config: step.member_config.iter().map(setting).collect(),
    };
    match machine.finish(request::join(&join)).await {
        // Nothing was sent.
        Err(cause @ incus::Error::Unreachable { .. }) => Err(not_begun(cause)),
        done => settled(done.map(drop), doing),
    }
}

/// HO-JOIN-13: the cluster, its token, and what was decided about are one and the same.
fn expect_same(step: &Join, certificate: &str, token: &Token) -> Result<(), Error> {
    let seen = Fingerprint::of_pem(certificate).map(|one| one.to_string());
    let seen = seen.unwrap_or_default();
    if seen == step.cluster_fingerprint && token.fingerprint == step.cluster_fingerprint {
        return Ok(());
    }
    Err(Error::OtherCertificate {
        seen,
        token: token.fingerprint.clone(),
        expected: step.cluster_fingerprint.clone(),
    })
}

/// HO-JOIN-17.
fn through(step: &Join, token: &Token) -> String {
    let wanted = step.through.as_ref().map(ToString::to_string);
    let named = token
        .addresses
        .iter()
        .find(|one| Some(*one) == wanted.as_ref());
    named
        .or(token.addresses.first())
        .cloned()
        .unwrap_or_default()
}

fn setting(setting: &domain::membership::step::MemberSetting) -> request::MemberKey {
    request::MemberKey {
        entity: setting.entity.clone(),
        name: setting.name.clone(),
        key: setting.key.clone(),
        value: setting.value.clone(),
    }
}

/// A lost answer is looked up by the next observation.
fn settled(done: Result<(), incus::Error>, doing: impl Fn() -> String) -> Result<(), Error> {
    match done {
        Err(error) if error.is_interrupted() => Ok(()),
        Err(cause) => Err(Error::MemberStep {
            doing: doing(),
            cause: Box::new(cause),
        }),
        Ok(()) => Ok(()),
    }
}
