//! Diagnostics: the only way out for errors.
//!
//! Before: `domain` found issues, or `reconcile` failed. After: OpenTofu shows them. A diagnostic lets the user finish
//! alone: what was seen, what was expected, what to change. The chain of causes is printed once, here.

mod connection;
mod member;

use std::error::Error as _;

use domain::adoption;
use domain::app::{AppSpec, Protocol};
use domain::entry::Refusal;
use domain::issue::{Issue, Step};
use reconcile::error::Error;
use tfplugin::{Diagnostic, Diagnostics, Path};

use crate::names;

pub(crate) use connection::{identity, notice, remote, two_clusters};
pub(crate) use member::{
    foreign_member, forgotten_member, incomplete, left_behind, member, member_nowhere, no_cluster,
    not_brought, nothing_brought, silent_member, still_missing, two_members, unread_member,
};

/// Every issue of a configuration, each at its attribute.
pub(crate) fn issues(issues: &[Issue]) -> Diagnostics {
    let diagnostic = |issue: &Issue| {
        let diagnostic = Diagnostic::error(&issue.summary).detail(&issue.detail);
        match issue.path.is_empty() {
            true => diagnostic,
            false => diagnostic.at(path(&issue.path)),
        }
    };
    issues.iter().map(diagnostic).collect()
}

fn path(steps: &[Step]) -> Path {
    steps.iter().fold(Path::root(), |path, step| match step {
        Step::Attribute(name) => path.attr(*name),
        Step::Key(key) => path.key(key),
        Step::Index(index) => path.index(i64::try_from(*index).unwrap_or(i64::MAX)),
    })
}

/// What went wrong with an app.
pub(crate) fn app(doing: &str, name: &str, error: &Error) -> Diagnostic {
    let summary = match error {
        Error::RolloutFailed { failure, .. } => format!(
            "The rollout of app {name} failed: generation {} is not healthy",
            failure.record.generation
        ),
        Error::Refused {
            refusal: Refusal::OtherOwner,
            ..
        } => {
            format!("App {name} exists already and belongs to another configuration")
        }
        Error::Stopped { .. } => format!("{doing} app {name} was stopped"),
        Error::TimedOut { .. } => format!("{doing} app {name} took too long"),
        _ => format!("{doing} app {name} failed"),
    };
    Diagnostic::error(summary).detail(match hint(name, error) {
        Some(hint) => format!("{}\n\n{hint}", seen(error)),
        None => seen(error),
    })
}

/// An app is not where it was looked for, and nobody has said which of several clusters is meant.
pub(crate) fn nowhere(name: &str) -> Diagnostic {
    Diagnostic::error(format!("App {name} was not found, and may be on another cluster")).detail(
        "The fleet store of the server that answered first does not have it, the provider has several endpoints, and what \
         was known about the app's cluster is lost. Expected `server_fingerprints` in the provider block, so that only the \
         right cluster is asked. If the app is really gone, remove it from the state: `tofu state rm`.",
    )
}

/// The name of an image that is followed could not be looked up: one warning for a server, one for an image that is gone.
pub(crate) fn not_followed(spec: &AppSpec, error: &Error) -> Diagnostic {
    let server = names::server(spec);
    let written = spec.image.reference.written();
    let summary = match names::is_missing(error) {
        true => format!("Image {written} is not at {server} any more"),
        false => format!("The images of {server} could not be looked up"),
    };
    Diagnostic::warning(summary).detail(format!(
        "{} Apps that follow a name there are planned with the images that they have.",
        seen(error)
    ))
}

/// What went wrong while looking at the cluster as a whole.
pub(crate) fn cluster(error: &Error) -> Diagnostic {
    Diagnostic::error("Reading the cluster failed").detail(match hint("", error) {
        Some(hint) => format!("{}\n\n{hint}", seen(error)),
        None => seen(error),
    })
}

/// Why instances are not taken over, each as a sentence.
pub(crate) fn reasons(refused: &[adoption::Refusal]) -> String {
    let sentence = |refusal: &adoption::Refusal| format!("{}.", capitalised(&refusal.to_string()));
    refused.iter().map(sentence).collect::<Vec<_>>().join("\n")
}

/// The message with its causes, as sentences.
fn seen(error: &Error) -> String {
    let text = match error {
        Error::RolloutFailed { failure, .. } => format!(
            "Candidate {} (image {}) failed: {}",
            failure.candidate, failure.record.image, failure.record.error
        ),
        other => capitalised(&other.to_string()),
    };
    sentence(text, error.source())
}

/// An error and its causes as one sentence.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    sentence(capitalised(&error.to_string()), error.source())
}

/// A message and its causes as one sentence.
fn sentence(mut text: String, mut cause: Option<&(dyn std::error::Error + 'static)>) -> String {
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    match text.ends_with(['.', '!', '?', '\n']) {
        true => text,
        false => text + ".",
    }
}

/// What to do about it.
fn hint(name: &str, error: &Error) -> Option<String> {
    Some(match error {
        Error::RolloutFailed { failure, .. } => match &failure.serving {
            Some(serving) => format!(
                "The candidate was removed, and {serving} goes on serving. Correct the image, the workload or the health \
                 check and apply again, or declare what serves now to go back. An alias is looked up again after a failure."
            ),
            None => "The candidate was removed, and nothing serves in its place. Correct the image, the workload or the \
                     health check and apply again."
                .to_owned(),
        },
        Error::Refused { refusal: Refusal::OtherOwner, .. } => format!(
            "Nothing was changed. Choose another name; or, if this configuration is to take the app over, import it \
             (with the address of this resource in place of ADDRESS) and apply again:\n\n  tofu import ADDRESS {name}"
        ),
        Error::Refused { refusal: Refusal::Gone, .. } => {
            "It was removed outside of this configuration. Run `tofu plan` again to see it created.".to_owned()
        }
        Error::Overtaken { .. } => {
            "Two applies of one app ran at the same time, and this one has stopped before its next step; the other one \
             counts. Make sure that they share one state with locking, then apply again."
                .to_owned()
        }
        Error::RecordTaken { .. } => {
            "This one has stopped before its next step. Wait until the other one is done, then apply again."
                .to_owned()
        }
        Error::Adoption { refused, .. } => {
            format!("{}\n\nNothing was changed.", reasons(refused))
        }
        Error::NoImage { written, .. } => format!(
            "Expected an image of that alias or fingerprint. `incus image list` shows what is there; \
             `incus image copy` brings one, with `--alias {written}` where it is to have that name. Nothing was changed."
        ),
        Error::ImageServer { cause, .. } if cause.is_not_found() => {
            "Expected a public image of that name. Check `image`: the server, the spelling, and that the image is there for \
             the kind and the architecture of the workloads. Nothing was changed."
                .to_owned()
        }
        Error::ImageServer { .. } => {
            "The server of the image was asked from where the provider runs. Check `image.server` and the way there, and \
             apply again. Nothing was changed."
                .to_owned()
        }
        Error::NoOci { .. } => {
            "OCI images need Incus 6.3 or newer, with `skopeo` and `umoci` on its members. Upgrade Incus, or use an image of \
             another protocol. Nothing was changed."
                .to_owned()
        }
        Error::Pull { protocol: Protocol::Simplestreams, .. } => {
            "The members pull images themselves. Check that they reach the server of the image. Incus keeps the lists of such \
             a server for an hour: if the image is newer than that, apply again later. What serves was left alone."
                .to_owned()
        }
        Error::Pull { .. } => {
            "The members pull images themselves. Check that they reach the server of the image, and apply again. What serves \
             was left alone."
                .to_owned()
        }
        Error::SameLayers { fingerprint, .. } => format!(
            "Incus knows OCI images by their layers alone, so that it cannot keep both. The one that is there was brought by \
             somebody else and is left alone. Delete it (`incus image delete {}`; what runs does not need it), or declare it \
             by its fingerprint. What serves was left alone.",
            fingerprint.get(..12).unwrap_or(fingerprint)
        ),
        Error::Conflict { conflict, .. } => match &conflict.owner {
            Some(owner) => format!(
                "The instance belongs to app {owner:?}. It was left alone. Rename one of the two apps."
            ),
            None => "The instance was not made by this provider. It was left alone. Rename it, or rename the app."
                .to_owned(),
        },
        Error::NoMember { .. } => {
            "`incus cluster list` shows the members. Bring one back, or restore one that is evacuated, and apply again."
                .to_owned()
        }
        Error::Stopped { .. } => "What was reached is kept. Apply again to go on from there.".to_owned(),
        Error::TimedOut { .. } => {
            "What was reached is kept, and the next apply goes on from there. To allow more time, raise the limit \
             in `timeouts`."
                .to_owned()
        }
        Error::Irreplaceable { .. } => {
            "Only one of them may run at a time, so nothing takes their place while they may be running, and no other \
             one was touched meanwhile. Bring the members back and apply again; or make sure that the machines are off, remove them for good with \
             `incus cluster remove --force NAME`, and apply again."
                .to_owned()
        }
        Error::LostSecrets { .. } => {
            "Somebody has deleted them there. Apply the app itself with the next version of its secrets, which stores them anew."
                .to_owned()
        }
        Error::Unmade(_) => "Nothing was changed. Apply again.".to_owned(),
        Error::OutOfReach { .. } => {
            "Everything else of the app was removed. Bring the members back and run `tofu destroy` again, or remove \
             dead ones for good with `incus cluster remove --force NAME`."
                .to_owned()
        }
        Error::Version { .. } => {
            "This version of the provider works with Incus 6 and 7. Nothing was changed. Upgrade whichever of the two is \
             older."
                .to_owned()
        }
        Error::NotShared { .. } => {
            "The provider's `shared_pool` is for replicated volumes. Expected a pool with the driver `lvmcluster` or \
             `ceph`: `incus storage list` shows them. Nothing was changed."
                .to_owned()
        }
        Error::Incus(error) => return connection::hint(error),
        _ => return None,
    })
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
