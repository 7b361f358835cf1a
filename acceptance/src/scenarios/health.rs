//! Health that is asked over the network, and health that is a file: each kind of check promotes and reverts.
//!
//! Commands are typed on the member itself, from where the workloads' network can be reached; once they are typed where
//! it cannot. What is asked of commands in workloads is in `app.rs`.

use anyhow::{Result, ensure};

use super::{App, endpoint, expect_serving, provider};
use crate::lab::{NETWORK, VERSION_1, VERSION_2};
use crate::scenario::{Context, Scenario};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_web_server_says_whether_it_is_healthy",
        proves: "A candidate that answers over HTTP is promoted; one that answers 404 is removed and the answer is told, and \
                 so is that nobody was met where there is no way to the workloads. What served goes on.",
        group: "rollout",
        needs: &[],
        seconds: 35,
        run: http,
    },
    Scenario {
        name: "a_port_says_whether_it_is_healthy",
        proves: "A candidate that takes connections is promoted; one that refuses them is removed and that is told. What \
                 served goes on.",
        group: "rollout",
        needs: &[],
        seconds: 25,
        run: tcp,
    },
    Scenario {
        name: "a_heartbeat_file_says_whether_it_is_healthy",
        proves: "A candidate that keeps writing its heartbeat is promoted; one whose file is from long ago is removed and \
                 its age is told. What served goes on.",
        group: "rollout",
        needs: &[],
        seconds: 25,
        run: heartbeat_file,
    },
];

/// A kind of check.
struct Kind {
    name: &'static str,
    healthy: &'static str,
    sick: &'static str,
    /// What is told of the sick one.
    told: &'static [&'static str],
    /// Whether it is tried from where there is no way to the workloads, too.
    from_elsewhere: bool,
}

fn http(context: &Context) -> Result<()> {
    promote_and_revert(
        context,
        &Kind {
            name: "hhttp",
            healthy: r#"http = { port = 80, path = "/version" }"#,
            sick: r#"http = { port = 80, path = "/none?x=1" }"#,
            told: &["GET http://10.", ":80/none?x=1 of hhttp-g2 answered 404"],
            from_elsewhere: true,
        },
    )
}

fn tcp(context: &Context) -> Result<()> {
    promote_and_revert(
        context,
        &Kind {
            name: "htcp",
            healthy: "tcp = { port = 80 }",
            sick: "tcp = { port = 81 }",
            told: &["connecting to 10.", ":81 of htcp-g2", "refused"],
            from_elsewhere: false,
        },
    )
}

fn heartbeat_file(context: &Context) -> Result<()> {
    promote_and_revert(
        context,
        &Kind {
            name: "hbeat",
            healthy: r#"heartbeat_file = { path = "/run/heartbeat" }"#,
            // Every file of the image is from 2023.
            sick: r#"heartbeat_file = { path = "/www/version" }"#,
            told: &["the file /www/version of hbeat-g2 was written", "ago"],
            from_elsewhere: false,
        },
    )
}

fn promote_and_revert(context: &Context, kind: &Kind) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let name = kind.name;
    let mut workspace = context.workspace(&format!("health-{name}"))?;
    workspace.inside(lab.first().namespace());
    let block = provider(
        &[endpoint(&lab.first().socket())],
        &format!("validate-{name}"),
    );
    let program = |image, check| {
        let app = App {
            check,
            more: format!(
                "  workload = {{ devices = {{ eth0 = {{ type = \"nic\", network = \"{NETWORK}\" }} }} }}\n"
            ),
            ..App::new(name, 1, image)
        };
        // A candidate has its address after a second or two.
        format!("{block}{}", app.hcl()).replace("\"30s\"", "\"12s\"")
    };
    workspace.main(&program(VERSION_1, kind.healthy))?;
    workspace.apply()?.succeeded()?;
    workspace.main(&program(VERSION_2, kind.healthy))?;
    workspace.apply()?.succeeded()?;
    let serving = expect_serving(&observer, name, 1, VERSION_2)?;
    workspace.expect_empty_plan()?;

    workspace.main(&program(VERSION_2, kind.sick))?;
    let mut failed = workspace.apply()?.failed()?;
    for words in kind.told {
        failed = failed.says(words)?;
    }
    let untouched = |after: &str| {
        let left = expect_serving(&observer, name, 1, VERSION_2)?;
        ensure!(left == serving, "{after}: {serving:#?} {left:#?}");
        Ok(())
    };
    untouched("a sick candidate")?;

    if kind.from_elsewhere {
        workspace.inside(lab.operator()?);
        workspace.main(&program(VERSION_1, kind.healthy))?;
        workspace
            .apply()?
            .failed()?
            .says("may have no way to the workload's network")?;
        untouched("a candidate that nobody could ask")?;
    }
    workspace.destroy()?.succeeded().map(drop)
}
