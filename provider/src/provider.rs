//! The provider block: its schema, and what it configures.
//!
//! Before: `tfplugin` decoded the block. After: `connection.rs` reads it, `session.rs` keeps what came of it. Nothing is
//! opened here, and nothing fails here for what could not be reached: the first use does.

use std::env;
use std::sync::Arc;

use async_trait::async_trait;
use reconcile::member::Changes;
use tfplugin::{
    Attribute, Call, DataSource, Diagnostics, EphemeralResource, Function, Provider, Resource,
    Schema, Type, Value,
};

use crate::connection::Connection;
use crate::data_sources::ClusterSource;
use crate::ephemeral::{JoinToken, Keypair};
use crate::functions;
use crate::resources::{App, ClusterMember, Instance, Network, Outlook, Outputs, Seed};
use crate::session::{NoCluster, Session};

/// The provider.
#[derive(Default)]
pub(crate) struct Homelab {
    session: Arc<Session>,
    outputs: Arc<Outputs>,
    outlook: Arc<Outlook>,
    changes: Arc<Changes>,
}

#[async_trait]
impl Provider for Homelab {
    fn schema(&self) -> Schema {
        Schema::new(
            0,
            "Keeps a fleet of machines and the apps on them: addresses, and health-gated blue-green rollouts on Incus.\n\n\
             Each attribute can also be given by an environment variable, `HOMELAB_` and its name in capitals; lists are \
             separated by commas. A block with `endpoints` or `remote` looks at neither of their variables. Networks, machines, seeds, functions and key pairs need no provider configuration and no cluster. No \
             proxy of the environment is ever used to reach a member.",
        )
        .attributes([
            Attribute::list("endpoints", Type::String).optional().describe(
                "Where Incus answers, as `unix:///path` or `https://host[:8443]`. They are tried in turn, and one that \
                 belongs to another cluster than the one that was seen before is not used. Without any, and without a \
                 `remote`, it is `$INCUS_DIR/unix.socket`, then `/var/lib/incus/unix.socket`. Nothing is opened before it is \
                 needed. Taken from a `homelab_network` of the same provider block they make a cycle: use a second block \
                 with an `alias` for what runs on the cluster.",
            ),
            Attribute::string("remote").optional().describe(
                "The name of a remote in your own Incus client configuration (`incus remote list`), instead of `endpoints`. \
                 Its address, the client's certificate and the server's certificate are used; its project is not.",
            ),
            Attribute::string("client_certificate").optional().describe(
                "The certificate to show to https endpoints, in PEM form. The cluster has to trust it: \
                 `incus config trust add-certificate`.",
            ),
            Attribute::string("client_key").optional().sensitive().describe(
                "The private key of the certificate, in PEM form. It may be ephemeral.",
            ),
            Attribute::list("server_fingerprints", Type::String).optional().describe(
                "The SHA-256 fingerprints of the certificates that an https endpoint may show; any match is accepted, also \
                 of a certificate that has expired. They decide over what was seen before, so this is how a renewed \
                 certificate or a new cluster is accepted. Without them the first server that answers is trusted, with a \
                 warning that prints its fingerprint, and what is in the state is looked for on no other cluster. What is created \
                 is taken by whichever endpoint answers first: with endpoints of more than one owner give fingerprints.",
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
            Attribute::string("shared_pool").optional().describe(
                "The storage pool of replicated volumes. Its driver must be `lvmcluster` or `ceph`. No app of this version has \
                 volumes: the driver is checked, and the pool is not used otherwise.",
            ),
        ])
    }

    fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        diagnostics.extend(Connection::read(config, &|name| env::var_os(name)).check());
    }

    async fn configure(&self, config: Value, _call: &Call) -> Diagnostics {
        self.outputs.forget();
        self.outlook.forget();
        let variable = |name: &str| env::var_os(name);
        let connection = Connection::read(&config, &variable);
        let diagnostics = connection.check();
        self.session.configure(match config.is_wholly_known() {
            _ if diagnostics.has_errors() => Err(NoCluster::NotConfigured),
            false => Err(NoCluster::NotKnownYet),
            true => connection
                .cluster(&variable)
                .map_err(|diagnostic| NoCluster::Unusable(Box::new(diagnostic))),
        });
        diagnostics
    }

    fn resources(&self) -> Vec<(&'static str, Arc<dyn Resource>)> {
        vec![
            ("homelab_network", Arc::new(Network)),
            ("homelab_instance", Arc::new(Instance)),
            (
                "homelab_seed",
                Arc::new(Seed::new(Arc::clone(&self.outputs))),
            ),
            (
                "homelab_cluster_member",
                Arc::new(ClusterMember::new(
                    Arc::clone(&self.session),
                    Arc::clone(&self.outlook),
                    Arc::clone(&self.changes),
                )),
            ),
            ("homelab_app", Arc::new(App::new(Arc::clone(&self.session)))),
        ]
    }

    fn data_sources(&self) -> Vec<(&'static str, Arc<dyn DataSource>)> {
        let session = Arc::clone(&self.session);
        vec![("homelab_cluster", Arc::new(ClusterSource::new(session)))]
    }

    fn ephemeral_resources(&self) -> Vec<(&'static str, Arc<dyn EphemeralResource>)> {
        let session = Arc::clone(&self.session);
        vec![
            ("homelab_join_token", Arc::new(JoinToken::new(session))),
            ("homelab_keypair", Arc::new(Keypair)),
        ]
    }

    fn functions(&self) -> Vec<(&'static str, Arc<dyn Function>)> {
        functions::all()
    }
}

#[cfg(test)]
mod tests {
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
