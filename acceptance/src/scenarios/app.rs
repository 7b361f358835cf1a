//! Apps that come up, answer, scale and go away again.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{App, endpoint, expect_serving, provider};
use crate::lab::{Lab, NETWORK, VERSION_1};
use crate::observer::Observer;
use crate::scenario::{Context, Scenario};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "an_app_of_two_replicas_comes_up_and_answers",
        proves: "Two replicas run, carry our keys, answer from inside, and a second plan is empty.",
        group: "app",
        needs: &[],
        seconds: 8,
        run: comes_up,
    },
    Scenario {
        name: "replicas_spread_over_the_members_of_a_cluster",
        proves: "The replicas of an app are on different members, which the product chose itself.",
        group: "app",
        needs: &[],
        seconds: 10,
        run: spreads,
    },
    Scenario {
        name: "scaling_up_and_down_keeps_the_first_replica",
        proves: "From one to three replicas and back, replica 0 is never replaced, and surplus ones go.",
        group: "app",
        needs: &[],
        seconds: 15,
        run: scales,
    },
    Scenario {
        name: "an_exec_check_decides_about_health",
        proves: "A command inside the workload decides whether it is healthy, and leaves no log files behind.",
        group: "app",
        needs: &[],
        seconds: 45,
        run: exec_check,
    },
    Scenario {
        name: "reads_of_many_apps_share_one_list",
        proves: "A plan of several unchanged apps asks for all instances once, and never for the state of each.",
        group: "app",
        needs: &[],
        seconds: 10,
        run: shared_reads,
    },
    Scenario {
        name: "destroy_leaves_nothing_but_a_tombstone",
        proves: "After destroy no workload remains, and of the entry only its tombstone; others are untouched.",
        group: "app",
        needs: &[],
        seconds: 8,
        run: destroy,
    },
    Scenario {
        name: "an_app_is_planned_without_a_reachable_cluster",
        proves: "Without prior state a plan needs no API; the apply then says which endpoint it could not reach.",
        group: "app",
        needs: &[],
        seconds: 3,
        run: unreachable,
    },
];

fn block(lab: &Lab, fleet: &str) -> String {
    provider(&[endpoint(&lab.first().socket())], fleet)
}

fn comes_up(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let workspace = context.workspace("app-up")?;
    let mut app = App::new("up", 2, VERSION_1);
    app.more = format!(
        "  workload = {{\n    environment = {{ GREETING = \"hello\" }}\n    \
         devices     = {{ eth0 = {{ type = \"nic\", network = \"{NETWORK}\" }} }}\n  }}\n"
    );
    workspace.main(&format!("{}{}", block(&lab, "validate-up"), app.hcl()))?;
    workspace.expect_changes()?;
    let planned = workspace.planned_change(&app.address())?;
    ensure!(
        planned["after_unknown"]["workloads"] == true,
        "workloads are known before they exist: {planned}"
    );
    let steps = planned["after"]["rollout_steps"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    ensure!(!steps.is_empty(), "the plan shows no steps: {planned}");
    workspace.apply()?.succeeded()?;
    let workloads = expect_serving(&lab.observer(), "up", 2, VERSION_1)?;
    ensure!(
        workloads
            .iter()
            .all(|workload| !workload.healthy_since.is_empty()),
        "{workloads:#?}"
    );
    let state = workspace.attributes(&app.address())?;
    ensure!(
        state["workloads"]
            .as_object()
            .is_some_and(|map| map.len() == 2),
        "{}",
        state["workloads"]
    );
    for workload in &workloads {
        let told = &state["workloads"][&workload.ordinal];
        ensure!(told["instance"] == workload.name.as_str(), "{told}");
        let addresses = told["addresses"].as_array().cloned().unwrap_or_default();
        ensure!(
            addresses.iter().any(|address| address
                .as_str()
                .is_some_and(|text| text.starts_with("10.77."))),
            "{told}"
        );
    }
    let instance = lab
        .observer()
        .get(&format!("/1.0/instances/{}", workloads[0].name))?;
    ensure!(
        instance["config"]["environment.GREETING"] == "hello",
        "{}",
        instance["config"]
    );
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded().map(drop)
}

fn spreads(context: &Context) -> Result<()> {
    let lab = context.cluster()?;
    let workspace = context.workspace("app-spread")?;
    let app = App::new("spread", 3, VERSION_1);
    workspace.main(&format!("{}{}", block(&lab, "validate-spread"), app.hcl()))?;
    workspace.apply()?.succeeded()?;
    let workloads = lab.observer().workloads("spread")?;
    let mut members: Vec<&str> = workloads
        .iter()
        .map(|workload| workload.location.as_str())
        .collect();
    members.sort_unstable();
    ensure!(members == ["m1", "m2", "m3"], "{workloads:#?}");
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded().map(drop)
}

fn scales(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let workspace = context.workspace("app-scale")?;
    let scale = |replicas| {
        workspace.main(&format!(
            "{}{}",
            block(&lab, "validate-scale"),
            App::new("scale", replicas, VERSION_1).hcl()
        ))
    };
    scale(1)?;
    workspace.apply()?.succeeded()?;
    let first = expect_serving(&lab.observer(), "scale", 1, VERSION_1)?.remove(0);
    scale(3)?;
    workspace.apply()?.succeeded()?;
    let three = expect_serving(&lab.observer(), "scale", 3, VERSION_1)?;
    ensure!(
        three.iter().any(|workload| workload.name == first.name),
        "{} was replaced: {three:#?}",
        first.name
    );
    workspace.expect_empty_plan()?;
    scale(1)?;
    workspace.apply()?.succeeded()?;
    let last = expect_serving(&lab.observer(), "scale", 1, VERSION_1)?;
    ensure!(
        last[0].name == first.name,
        "{} did not survive: {last:#?}",
        first.name
    );
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded().map(drop)
}

fn exec_check(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("app-exec")?;
    let mut app = App::new("exec", 1, VERSION_1);
    let write =
        |app: &App| workspace.main(&format!("{}{}", block(&lab, "validate-exec"), app.hcl()));
    app.check = r#"exec = { command = ["sh", "-c", "[ $(cat /www/version) = v1 ]"] }"#;
    write(&app)?;
    workspace.apply()?.succeeded()?;
    let healthy = expect_serving(&observer, "exec", 1, VERSION_1)?.remove(0);
    let logs = observer.list(&format!("/1.0/instances/{}/logs/exec-output", healthy.name))?;
    ensure!(logs.is_empty(), "log files of checks remain: {logs:?}");
    // A check that never succeeds: the candidate goes, the healthy one stays.
    app.check = r#"exec = { command = ["false"], timeout = "1s" }"#;
    app.min_healthy_time = "1s";
    write(&app)?;
    workspace.apply()?.failed()?.says("exec-g1")?;
    let left = expect_serving(&observer, "exec", 1, VERSION_1)?;
    ensure!(left[0].name == healthy.name, "{left:#?}");
    workspace.destroy()?.succeeded().map(drop)
}

fn shared_reads(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let proxy = context.proxy("app-reads", &lab)?;
    let workspace = context.workspace("app-reads")?;
    let apps: String = ["one", "two", "three"]
        .map(|name| App::new(&format!("reads-{name}"), 1, VERSION_1).hcl())
        .concat();
    workspace.main(&format!(
        "{}{apps}",
        provider(&[proxy.endpoint()], "validate-reads")
    ))?;
    workspace.apply()?.succeeded()?;
    proxy.clear();
    workspace.expect_empty_plan()?;
    let seen = proxy.seen();
    let lists = seen
        .iter()
        .filter(|seen| {
            seen.target.starts_with("/1.0/instances?") && seen.target.contains("recursion")
        })
        .count();
    ensure!(lists == 1, "{lists} lists of instances: {seen:#?}");
    ensure!(
        !seen
            .iter()
            .any(|seen| seen.target.contains("recursion=2") || seen.target.ends_with("/state")),
        "{seen:#?}"
    );
    ensure!(
        proxy.mutations().is_empty(),
        "a plan changes something: {seen:#?}"
    );
    workspace.destroy()?.succeeded().map(drop)
}

fn destroy(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("app-destroy")?;
    let fleet = "validate-destroy";
    let (gone, stays) = (
        App::new("gone", 2, VERSION_1),
        App::new("stays", 1, VERSION_1),
    );
    workspace.main(&format!(
        "{}{}{}",
        block(&lab, fleet),
        gone.hcl(),
        stays.hcl()
    ))?;
    workspace.apply()?.succeeded()?;
    let before = expect_serving(&observer, "stays", 1, VERSION_1)?;
    workspace.main(&format!("{}{}", block(&lab, fleet), stays.hcl()))?;
    workspace.apply()?.succeeded()?;
    ensure!(
        observer.workloads("gone")?.is_empty(),
        "{:#?}",
        observer.workloads("gone")?
    );
    ensure!(
        expect_serving(&observer, "stays", 1, VERSION_1)? == before,
        "the other app was touched"
    );
    let entry = tombstone(&observer, fleet, "gone")?;
    ensure!(
        entry["config"]["user.homelab-ops.deleted"].is_string(),
        "{entry}"
    );
    workspace.destroy()?.succeeded()?;
    let profiles = observer.profile_names(fleet)?;
    let works: Vec<&String> = profiles
        .iter()
        .filter(|name| name.starts_with("work."))
        .collect();
    ensure!(works.is_empty(), "entries of executors remain: {works:?}");
    ensure!(observer.workloads("stays")?.is_empty(), "workloads remain");
    // The name is free again, and numbering goes on.
    workspace.main(&format!("{}{}", block(&lab, fleet), gone.hcl()))?;
    workspace.apply()?.succeeded()?;
    expect_serving(&observer, "gone", 2, VERSION_1)?;
    workspace.destroy()?.succeeded().map(drop)
}

/// The one entry that is left of an app.
fn tombstone(observer: &Observer, fleet: &str, app: &str) -> Result<Value> {
    let prefix = format!("app.{app}.r");
    let names: Vec<String> = observer
        .profile_names(fleet)?
        .into_iter()
        .filter(|name| name.starts_with(&prefix))
        .collect();
    let highest = names
        .iter()
        .max_by_key(|name| name[prefix.len()..].parse::<u64>().unwrap_or(0));
    let name = highest.with_context(|| format!("no entry of {app} is left in {fleet}"))?;
    observer.get(&format!("/1.0/profiles/{name}?project={fleet}"))
}

fn unreachable(context: &Context) -> Result<()> {
    let workspace = context.workspace("app-unreachable")?;
    let nowhere = context.file("nowhere.socket");
    let app = App::new("nowhere", 1, VERSION_1);
    workspace.main(&format!(
        "{}{}",
        provider(&[endpoint(&nowhere)], "validate-nowhere"),
        app.hcl()
    ))?;
    workspace.expect_changes()?;
    workspace.apply()?.failed()?.says("nowhere.socket")?;
    ensure!(
        workspace.state_of(&app.address())?.is_none(),
        "a state without an app"
    );
    Ok(())
}
