//! Names of images: what each stands for now, asked once for all apps of a process.
//!
//! Before: a Read of an app with `track = "follow"`, or whose last rollout failed. After: its private state, from which plans show that a name has
//! moved. A server that does not answer is asked once, and told about once: a hundred apps must not wait for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use domain::app::{AppSpec, Kind};
use reconcile::cluster::Cluster;
use reconcile::error::Error;
use reconcile::image;
use tokio::sync::OnceCell;

/// What names stood for when they were asked for.
#[derive(Default)]
pub(crate) struct Names {
    asked: Mutex<BTreeMap<String, Arc<OnceCell<Answer>>>>,
    silent: Mutex<BTreeSet<String>>,
}

/// What a name stands for.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// This digest.
    Digest(String),
    /// There is no answer, for this reason.
    Failed(Arc<Error>),
    /// Its server has not answered for another name, so that it was not asked.
    NotAsked,
}

impl Names {
    /// What the name of an app's image stands for.
    pub(crate) async fn look_up(&self, cluster: &Cluster, spec: &AppSpec) -> Answer {
        let cell = Arc::clone(
            self.asked
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(key(spec))
                .or_default(),
        );
        cell.get_or_init(|| self.ask(cluster, spec)).await.clone()
    }

    async fn ask(&self, cluster: &Cluster, spec: &AppSpec) -> Answer {
        let server = server(spec);
        let silent = || self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if silent().contains(server) {
            return Answer::NotAsked;
        }
        match image::resolve(cluster, spec).await {
            Ok(resolved) => Answer::Digest(resolved.digest),
            Err(error) => {
                if !is_missing(&error) {
                    silent().insert(server.to_owned());
                }
                Answer::Failed(Arc::new(error))
            }
        }
    }
}

/// Whether the server has answered that there is no such image.
pub(crate) fn is_missing(error: &Error) -> bool {
    match error {
        Error::NoImage { .. } => true,
        Error::ImageServer { cause, .. } => cause.is_not_found(),
        _ => false,
    }
}

/// Where the image of an app is, in the words of a message.
pub(crate) fn server(spec: &AppSpec) -> &str {
    let server = spec.image.server.as_ref();
    server.map_or("the cluster", |server| &server.url)
}

/// Everything that an answer depends on.
fn key(spec: &AppSpec) -> String {
    let server = spec.image.server.as_ref();
    let protocol = server.map_or("", |server| server.protocol.word());
    let kind = match spec.workload.kind {
        Kind::Container => "container",
        Kind::Vm => "vm",
    };
    let name = spec.image.reference.written();
    format!("{protocol} {} {kind} {name}", self::server(spec))
}

#[cfg(test)]
mod tests {
    use domain::app::declared::{Declared, DeclaredImage};
    use domain::given::Given;
    use incus::{Client, Endpoint};
    use reconcile::cluster::Settings;

    use super::*;

    /// An app with an image of a registry.
    fn spec(server: &str, name: &str) -> AppSpec {
        let known = |text: &str| Given::Known(text.to_owned());
        let declared = Declared {
            name: known("web"),
            r#type: known("generic-stateless"),
            replicas: known("1"),
            image: Given::Known(DeclaredImage {
                server: known(server),
                protocol: known("oci"),
                alias: known(name),
                ..DeclaredImage::default()
            }),
            ..Declared::default()
        };
        declared.spec().expect("a sound declaration")
    }

    /// The cluster is asked first which images it can run, and this one answers to nobody.
    #[tokio::test]
    async fn a_server_without_an_answer_is_asked_once() {
        let nowhere = Endpoint::Unix("/nowhere.socket".into());
        let cluster = Cluster::new(Client::new(vec![nowhere]), Settings::default());
        let names = Names::default();
        for (server, name, asked) in [
            ("http://one", "a", true),
            ("http://one", "b", false),
            ("http://one", "a", true),
            ("http://two", "b", true),
        ] {
            let answer = names.look_up(&cluster, &spec(server, name)).await;
            let was_asked = matches!(answer, Answer::Failed(_));
            assert_eq!(was_asked, asked, "{server} {name}: {answer:?}");
        }
    }
}
