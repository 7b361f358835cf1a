//! A fleet that is there already: members are imported, addresses pinned, instances that were made by hand taken over.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{App, endpoint, expect_serving, provider};
use crate::lab::{Lab, POOL, VERSION_1, VERSION_2};
use crate::observer::Observer;
use crate::proxy::{Counted, Deed, Moment, Proxy, Trap};
use crate::scenario::{Context, Scenario};
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "an_existing_cluster_is_adopted_as_it_runs",
        proves: "Members are imported, their addresses pinned, two instances made by hand taken over: the plan says so, the \
                 apply restarts and touches nothing that is not named, the second plan is empty, a later image rolls.",
        group: "adoption",
        needs: &[],
        seconds: 60,
        run: existing_cluster,
    },
    Scenario {
        name: "what_cannot_be_adopted_is_refused",
        proves: "An instance that is missing, stopped, named twice, or carries the keys of an app is refused at the import \
                 with what was seen; more than there are replicas in the plan; nothing is changed.",
        group: "adoption",
        needs: &[],
        seconds: 20,
        run: refused,
    },
    Scenario {
        name: "an_adoption_survives_a_kill_after_every_write",
        proves: "Killed after any of its writes, an adoption is finished by the next apply, also after the state is lost: \
                 the same instances, never restarted, and no other.",
        group: "adoption",
        needs: &[],
        seconds: 90,
        run: killed,
    },
];

/// What a user of an existing cluster writes, but for the endpoint, the range and the image of the lab.
fn program(lab: &Lab) -> Result<String> {
    let address = lab.first().address();
    let (net, _) = address.rsplit_once('.').context("an IPv4 address")?;
    let endpoint = endpoint(&lab.first().socket());
    let names: Vec<&str> = lab.members().iter().map(|member| member.name()).collect();
    Ok(format!(
        r#"
provider "homelab" {{
  endpoints    = ["{endpoint}"]
  storage_pool = "{POOL}"
}}

data "homelab_cluster" "this" {{}}

import {{
  for_each = toset({names:?})
  to       = homelab_cluster_member.node[each.key]
  id       = each.key
}}

resource "homelab_cluster_member" "node" {{
  for_each = {{ for m in data.homelab_cluster.this.members : m.name => m }}
  name     = each.key
  address  = each.value.address
}}

resource "homelab_network" "lan" {{
  name         = "lan"
  cidr         = "{net}.0/24"
  gateway      = "{net}.254"
  dns          = ["{net}.254"]
  static_range = "{net}.1-{net}.239"
  claims       = {{ for m in data.homelab_cluster.this.members : m.name => split(":", m.address)[0] }}
}}

import {{
  to = homelab_app.web
  id = "web=web-1,web-2"
}}

resource "homelab_app" "web" {{
  name     = "web"
  type     = "generic-stateless"
  replicas = 2
  image    = {{ alias = "{VERSION_1}" }}
  health   = {{ check = {{ running = {{}} }}, min_healthy_time = "30s", healthy_deadline = "5m" }}
}}
"#
    ))
}

fn existing_cluster(context: &Context) -> Result<()> {
    let lab = Lab::up("adopt", 3)?;
    let observer = lab.observer();
    for (name, member) in [("web-1", "m2"), ("web-2", "m1"), ("pet", "m3")] {
        make(&observer, name, Some(member))?;
    }
    let before = Standing::of(&observer, &["web-1", "web-2"])?;
    let pet = observer.get("/1.0/instances/pet")?;
    let workspace = context.workspace("adoption-existing")?;
    let program = program(&lab)?;
    workspace.main(&program)?;
    workspace.expect_changes()?.says("4 to import")?;
    let steps = workspace.planned_change("homelab_app.web")?["after"]["rollout_steps"].take();
    ensure!(
        steps == json!(["replica 0: adopt web-1", "replica 1: adopt web-2"]),
        "the plan says {steps}"
    );
    ensure!(
        observer.workloads("web")?.is_empty(),
        "the plan has written"
    );

    let apply = workspace.apply()?.succeeded()?;
    ensure!(
        apply.took.as_secs() < 25,
        "the apply waited for a trial: {:?}",
        apply.took
    );
    before.is_untouched(&observer)?;
    let adopted = expect_serving(&observer, "web", 2, VERSION_1)?;
    let placed: Vec<(&str, &str)> = adopted
        .iter()
        .map(|workload| (workload.ordinal.as_str(), workload.name.as_str()))
        .collect();
    ensure!(placed == [("0", "web-1"), ("1", "web-2")], "{adopted:#?}");
    ensure!(
        observer.get("/1.0/instances/pet")? == pet,
        "the pet was touched"
    );
    workspace.expect_empty_plan()?;
    workspace.apply()?.succeeded()?;
    before.is_untouched(&observer)?;

    let rolled = program
        .replace(VERSION_1, VERSION_2)
        .replace("\"30s\"", "\"1s\"");
    workspace.main(&rolled)?;
    workspace.apply()?.succeeded()?;
    let names: Vec<String> = expect_serving(&observer, "web", 2, VERSION_2)?
        .into_iter()
        .map(|workload| workload.name)
        .collect();
    ensure!(names == ["web-0-g1", "web-1-g1"], "{names:?}");
    ensure!(
        observer.get("/1.0/instances/pet")? == pet,
        "the pet was touched"
    );
    workspace.expect_empty_plan()?;
    lab.down()
}

fn refused(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("adoption-refused")?;
    let block = provider(&[endpoint(&lab.first().socket())], "validate-unfit");
    let app = |name, replicas| App::new(name, replicas, VERSION_1);
    workspace.main(&format!(
        "{block}{}{}",
        app("unfit", 1).hcl(),
        app("fit", 1).hcl()
    ))?;
    workspace
        .run(&[
            "apply",
            "-auto-approve",
            "-no-color",
            "-target=homelab_app.fit",
        ])?
        .succeeded()?;
    make(&observer, "unfit-a", None)?;
    make(&observer, "unfit-b", None)?;
    make(&observer, "unfit-halted", None)?;
    observer.stop("unfit-halted")?;
    let before = Standing::of(&observer, &["unfit-a", "unfit-b", "fit-g0"])?;
    for (id, parts) in [
        ("unfit=unfit-a,unfit-a", &["unfit-a is named twice"][..]),
        ("unfit=fit-g0", &["carries the keys of app fit"][..]),
        ("fit=unfit-a", &["App fit exists already"][..]),
        (
            "unfit=unfit-none,unfit-halted",
            &["no instance unfit-none", "unfit-halted does not run"][..],
        ),
    ] {
        let mut run = workspace.import("homelab_app.unfit", id)?.failed()?;
        for part in parts {
            run = run.says(part)?;
        }
    }
    workspace
        .import("homelab_app.unfit", "unfit=unfit-a,unfit-b")?
        .succeeded()?;
    let plan = workspace.plan()?;
    ensure!(plan.code == Some(1), "two for one place: {}", plan.told());
    plan.says("no place for unfit-b")?;
    workspace.apply()?.failed()?;
    before.is_untouched(&observer)?;
    ensure!(observer.workloads("unfit")?.is_empty(), "keys were written");
    // A destroy before the first apply forgets them, and leaves them as they are.
    workspace
        .run(&[
            "destroy",
            "-auto-approve",
            "-no-color",
            "-target=homelab_app.unfit",
        ])?
        .succeeded()?;
    before.is_untouched(&observer)?;
    for name in ["unfit-a", "unfit-b", "unfit-halted"] {
        observer.delete(name)?;
    }
    workspace.destroy()?.succeeded().map(drop)
}

fn killed(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let proxy = context.proxy("adoption-killed", &lab)?;
    for loses_state in [false, true] {
        for nth in 1.. {
            ensure!(nth < 40, "an adoption does not end");
            let name = format!("ad{}{nth}", if loses_state { "l" } else { "k" });
            if !kill(context, &observer, &proxy, &name, nth, loses_state)
                .with_context(|| format!("killed at write {nth}, state lost: {loses_state}"))?
            {
                break;
            }
        }
    }
    Ok(())
}

/// Kills an adoption after its nth write; false if it has fewer.
fn kill(
    context: &Context,
    observer: &Observer,
    proxy: &Proxy,
    name: &str,
    nth: usize,
    loses_state: bool,
) -> Result<bool> {
    let names = [format!("{name}-x"), format!("{name}-y")];
    for instance in &names {
        make(observer, instance, None)?;
    }
    let before = Standing::of(observer, &[names[0].as_str(), names[1].as_str()])?;
    let workspace = context.workspace(&format!("adoption-{name}"))?;
    let app = App::new(name, 2, VERSION_1);
    let id = format!("{name}={},{}", names[0], names[1]);
    let block = provider(&[proxy.endpoint()], &format!("validate-{name}"));
    workspace.main(&format!("{block}{}", app.hcl()))?;
    workspace.import(&app.address(), &id)?.succeeded()?;
    proxy.arm(Trap {
        counted: Counted::Mutating,
        nth,
        moment: Moment::After,
        deed: Deed::KillClient,
    });
    let run = workspace.apply()?;
    let fired = proxy.fired();
    proxy.clear();
    match &fired {
        None => drop(run.succeeded()?),
        Some(_) if loses_state => take_up(&workspace, &app, &id)?,
        Some(_) => drop(workspace.apply()?.succeeded()?),
    }
    before.is_untouched(observer)?;
    let adopted = expect_serving(observer, name, 2, VERSION_1)?;
    ensure!(
        adopted.iter().all(|one| names.contains(&one.name)),
        "{adopted:#?}"
    );
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded()?;
    Ok(fired.is_some())
}

/// The state is gone: the same import again takes up what is there, whatever it is.
fn take_up(workspace: &Workspace, app: &App, id: &str) -> Result<()> {
    for file in ["terraform.tfstate", "terraform.tfstate.backup"] {
        remove(&workspace.folder().join(file))?;
    }
    workspace.import(&app.address(), id)?.succeeded()?;
    workspace.apply()?.succeeded().map(drop)
}

fn remove(file: &Path) -> Result<()> {
    match file.exists() {
        true => std::fs::remove_file(file).with_context(|| format!("losing {}", file.display())),
        false => Ok(()),
    }
}

/// What somebody types who has no provider: `incus launch app/v1 NAME`.
fn make(observer: &Observer, name: &str, member: Option<&str>) -> Result<()> {
    let post = json!({
        "name": name, "type": "container", "start": true,
        "source": { "type": "image", "alias": VERSION_1 },
        "devices": { "root": { "type": "disk", "path": "/", "pool": POOL } },
        "config": { "user.note": "made by hand" },
    });
    let target = member.map_or(String::new(), |member| format!("?target={member}"));
    observer
        .finish("POST", &format!("/1.0/instances{target}"), Some(&post))
        .map(drop)
}

/// What must not change: the process of each instance, and everything of it but our keys.
struct Standing(Vec<(String, Value)>);

impl Standing {
    fn of(observer: &Observer, names: &[&str]) -> Result<Standing> {
        let one = |name: &&str| Ok(((*name).to_owned(), look(observer, name)?));
        Ok(Standing(names.iter().map(one).collect::<Result<_>>()?))
    }

    fn is_untouched(&self, observer: &Observer) -> Result<()> {
        for (name, before) in &self.0 {
            let now = look(observer, name)?;
            ensure!(now == *before, "{name} was {before}, and is {now}");
        }
        Ok(())
    }
}

fn look(observer: &Observer, name: &str) -> Result<Value> {
    let mut instance = observer.get(&format!("/1.0/instances/{name}"))?;
    for keys in ["config", "expanded_config"] {
        if let Some(keys) = instance[keys].as_object_mut() {
            keys.retain(|key, _| !key.starts_with("user.homelab-ops."));
        }
    }
    let state = observer.get(&format!("/1.0/instances/{name}/state"))?;
    Ok(json!({ "instance": instance, "pid": state["pid"], "started": state["started_at"] }))
}
