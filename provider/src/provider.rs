//! The provider block: its schema, and what it configures.
//!
//! Before: `tfplugin` decoded the block. After: `session.rs`. Nothing is opened here, and nothing fails here for what
//! could not be reached: the first use does.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use incus::{Client, Endpoint};
use reconcile::cluster::Cluster;
use tfplugin::{
    Attribute, Call, Diagnostic, Diagnostics, EphemeralResource, Function, Path, Provider,
    Resource, Schema, Type, Value,
};

use crate::ephemeral::Keypair;
use crate::functions;
use crate::resources::{App, Network};
use crate::session::{Configured, Session};

/// Where Incus listens unless told otherwise.
const DEFAULT_FOLDER: &str = "/var/lib/incus";
const DEFAULT_PROJECT: &str = "default";
const DEFAULT_FLEET_PROJECT: &str = "homelab";
const DEFAULT_STORAGE_POOL: &str = "local";

/// The provider.
#[derive(Default)]
pub(crate) struct Homelab {
    session: Arc<Session>,
}

#[async_trait]
impl Provider for Homelab {
    fn schema(&self) -> Schema {
        Schema::new(
            0,
            "Keeps a fleet of machines and the apps on them: addresses, and health-gated blue-green rollouts on Incus.\n\n\
             Each attribute can also be given by an environment variable, `HOMELAB_` and its name in capitals; lists are \
             separated by commas. Networks need no provider configuration and no cluster.",
        )
        .attributes([
            Attribute::list("endpoints", Type::String).optional().describe(
                "Where Incus answers, as `unix:///path`. They are tried in turn. Without any it is `$INCUS_DIR/unix.socket`, \
                 then `/var/lib/incus/unix.socket`. Nothing is opened before an app needs it.",
            ),
            Attribute::string("project").optional().describe(
                "The Incus project that workloads live in; `default` if unset.",
            ),
            Attribute::string("fleet_project").optional().describe(
                "The Incus project that the desired state lives in; `homelab` if unset. It is made by the first write, and \
                 stays.",
            ),
            Attribute::string("storage_pool").optional().describe(
                "The storage pool of root disks, where no profile brings one; `local` if unset.",
            ),
        ])
    }

    fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        for (index, endpoint) in config
            .attr("endpoints")
            .as_list()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let Some(text) = endpoint.as_str() else {
                continue;
            };
            let index = i64::try_from(index).unwrap_or(i64::MAX);
            if let Err(diagnostic) = endpoint_of(text) {
                diagnostics.push(diagnostic.at(Path::new("endpoints").index(index)));
            }
        }
    }

    async fn configure(&self, config: Value, _call: &Call) -> Diagnostics {
        let mut diagnostics = Diagnostics::new();
        self.session
            .configure(configured(&config, &mut diagnostics));
        diagnostics
    }

    fn resources(&self) -> Vec<(&'static str, Arc<dyn Resource>)> {
        vec![
            ("homelab_network", Arc::new(Network)),
            ("homelab_app", Arc::new(App::new(Arc::clone(&self.session)))),
        ]
    }

    fn ephemeral_resources(&self) -> Vec<(&'static str, Arc<dyn EphemeralResource>)> {
        vec![("homelab_keypair", Arc::new(Keypair))]
    }

    fn functions(&self) -> Vec<(&'static str, Arc<dyn Function>)> {
        functions::all()
    }
}

fn configured(config: &Value, diagnostics: &mut Diagnostics) -> Configured {
    if !config.is_wholly_known() {
        return Configured::Unknown;
    }
    let setting = |name: &str, default: &str| {
        let written = config.attr(name).as_str().map(str::to_owned);
        written
            .or_else(|| variable(name))
            .unwrap_or_else(|| default.to_owned())
    };
    let endpoints = endpoints(config, diagnostics);
    Configured::Yes(Cluster::new(
        Client::new(endpoints),
        setting("project", DEFAULT_PROJECT),
        setting("fleet_project", DEFAULT_FLEET_PROJECT),
        setting("storage_pool", DEFAULT_STORAGE_POOL),
    ))
}

/// The environment variable of an attribute; an empty one counts as unset.
fn variable(attribute: &str) -> Option<String> {
    let name = format!("HOMELAB_{}", attribute.to_uppercase());
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn endpoints(config: &Value, diagnostics: &mut Diagnostics) -> Vec<Endpoint> {
    let written: Vec<String> = match config.attr("endpoints").as_list() {
        Some(list) => list
            .iter()
            .filter_map(|text| text.as_str().map(str::to_owned))
            .collect(),
        None => variable("endpoints")
            .map(|list| list.split(',').map(|text| text.trim().to_owned()).collect())
            .unwrap_or_default(),
    };
    if written.is_empty() {
        return default_endpoints();
    }
    let mut endpoints = Vec::new();
    for text in written {
        match endpoint_of(&text) {
            Ok(endpoint) => endpoints.push(endpoint),
            Err(diagnostic) => diagnostics.push(diagnostic.at(Path::new("endpoints"))),
        }
    }
    endpoints
}

/// Reads an endpoint. Network endpoints are refused as long as there are no attributes to say whom to trust there: the
/// environment of every workload would go to whoever answers.
fn endpoint_of(text: &str) -> Result<Endpoint, Diagnostic> {
    match Endpoint::parse(text) {
        Ok(endpoint @ Endpoint::Unix(_)) => Ok(endpoint),
        Ok(Endpoint::Https { .. }) => Err(Diagnostic::error("An endpoint is not supported yet").detail(format!(
            "The endpoint is {text:?}. This version of the provider reaches Incus over its unix socket. Expected \
             `unix:///path`, on a member of the cluster."
        ))),
        Err(error) => Err(Diagnostic::error("An endpoint is not valid").detail(format!("{error}."))),
    }
}

fn default_endpoints() -> Vec<Endpoint> {
    let own = env::var_os("INCUS_DIR").map(PathBuf::from);
    own.into_iter()
        .chain([PathBuf::from(DEFAULT_FOLDER)])
        .map(|folder| Endpoint::Unix(folder.join("unix.socket")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(endpoints: &[&str]) -> Vec<(String, String)> {
        let list = endpoints.iter().map(|text| Value::from(*text)).collect();
        let config = Value::object([("endpoints", Value::List(list))]);
        let mut diagnostics = Diagnostics::new();
        Homelab::default().validate(&config, &mut diagnostics);
        let told = |one: &Diagnostic| {
            let path = one
                .path
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            (path, one.summary.clone())
        };
        diagnostics.iter().map(told).collect()
    }

    #[test]
    fn endpoints_are_judged_one_by_one() {
        assert_eq!(refused(&["unix:///var/lib/incus/unix.socket"]), []);
        let told = refused(&["unix:///a", "http://m1", "https://m1"]);
        let expected = [
            ("endpoints[1]", "An endpoint is not valid"),
            ("endpoints[2]", "An endpoint is not supported yet"),
        ];
        assert_eq!(
            told,
            expected.map(|(path, said)| (path.to_owned(), said.to_owned()))
        );
    }

    /// tfplugin may import nothing of ours and has a reader of its own for `timeouts`: both must read alike.
    #[test]
    fn durations_are_read_alike_everywhere() {
        for text in [
            "0", "30s", "1h30m", "1.5h", "100ms", "3us", "3\u{b5}s", "1d", "-1s", "", "s", "1",
            "1 s", " 1s", ".5s", "1.s", "+1s", "1h-1m", "9999999h", "soon", "1.2.3s",
        ] {
            let ours = domain::duration::parse(text).ok();
            assert_eq!(tfplugin::parse_duration(text).ok(), ours, "{text:?}");
        }
    }
}
