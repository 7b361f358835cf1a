//! The toy provider as a process, over its real socket, called as OpenTofu calls it.
//!
//! The toy is in `examples/toy`, the host in `src/testing`. What a resource's answer becomes is tested beside the rules
//! (`src/apply.rs`, `src/planning.rs`); here is only what needs a process: the connection, the ends, the whole walk.

#![allow(
    clippy::expect_used,
    reason = "a test fails where something is not as it should be"
)]

#[path = "socket/ending.rs"]
mod ending;
#[path = "socket/faults.rs"]
mod faults;
#[path = "socket/modern.rs"]
mod modern;
#[path = "socket/moments.rs"]
mod moments;
#[path = "socket/walk.rs"]
mod walk;

use tfplugin::testing::{ApplyRequest, Client, Host, Launch, PlanRequest};
use tfplugin::{Applied, Value};

/// The toy with a folder of its own.
struct Toy {
    host: Host,
    folder: tempfile::TempDir,
}

fn launch() -> Launch {
    // Logs are looked at by some tests.
    Launch::new(env!("CARGO_BIN_EXE_tfplugin-toy")).with("TF_LOG", "info")
}

impl Toy {
    async fn start() -> Toy {
        Toy::start_with(launch()).await
    }

    async fn start_with(launch: Launch) -> Toy {
        let folder = tempfile::tempdir().expect("a folder");
        let host = launch.start().await.expect("a running provider");
        let config = Value::object([("folder", folder.path().to_str().into())]);
        let said = host.client().configure(config).await.expect("an answer");
        assert!(said.is_empty(), "{said:?}");
        Toy { host, folder }
    }

    fn client(&self) -> Client {
        self.host.client()
    }

    fn has_box(&self, name: &str) -> bool {
        self.folder.path().join(name).exists()
    }
}

fn a_box(name: &str) -> Value {
    Value::object([("name", name.into())])
}

/// A box that takes a minute to make.
fn slow_box(name: &str) -> Value {
    box_of_work(name, "1m")
}

fn box_of_work(name: &str, work_time: &str) -> Value {
    Value::object([("name", name.into()), ("work_time", work_time.into())])
}

/// Plans and applies a configuration as a host does: what was computed before is proposed again.
async fn apply(client: &Client, config: Value, prior: &Applied) -> Applied {
    let request = PlanRequest {
        proposed: propose(&config, &prior.state),
        config: config.clone(),
        prior: prior.state.clone(),
        private: prior.private.clone(),
    };
    let planned = client.plan("toy_box", request).await.expect("a plan");
    assert!(
        !planned.diagnostics.has_errors(),
        "{:?}",
        planned.diagnostics
    );
    let prior = prior.state.clone();
    let request = ApplyRequest {
        config,
        prior,
        planned: planned.state,
        private: planned.private,
    };
    client.apply("toy_box", request).await.expect("an answer")
}

/// What a host would propose for the toy's computed attributes.
fn propose(config: &Value, prior: &Value) -> Value {
    let mut proposed = config.clone();
    for computed in ["id", "revision", "colour", "locked"] {
        if !config.is_null() && config.attr(computed).is_null() {
            proposed.set_attr(computed, prior.attr(computed).clone());
        }
    }
    proposed
}

fn nothing() -> Applied {
    Applied::new(Value::Null)
}
