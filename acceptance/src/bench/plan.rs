//! How long a plan of unchanged apps takes over as many built-in resources, and how many requests it makes.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::{median, ratio};
use crate::lab::{Lab, VERSION_1};
use crate::scenario::Context;
use crate::scenarios::provider;
use crate::workspace::Workspace;

const ROUNDS: usize = 7;

/// What OpenTofu keeps for an app, as the input of a built-in resource.
pub(super) const AS_LARGE_AS_AN_APP: &str = r#"{
    name = "many-${count.index}", type = "generic-stateless", replicas = "1", image = { alias = "app/v1" }
    health = { check = { running = {} }, min_healthy_time = "0s", healthy_deadline = "2m" }
  }"#;

pub(super) fn run(context: &Context, lab: &Lab) -> Result<()> {
    let proxy = context.proxy("bench-plan", lab)?;
    let apps = context.workspace("bench-plan-apps")?;
    let (small, large) = (
        context.workspace("bench-plan-small")?,
        context.workspace("bench-plan-large")?,
    );
    let block = provider(&[proxy.endpoint()], "bench-plan");
    let mut requests = Vec::new();
    for count in [10, 100] {
        apps.main(&format!("{block}{}", many_apps(count)))?;
        let made = apps.apply()?.succeeded()?;
        small.main(&many_built_in(count, "\"x\""))?;
        large.main(&many_built_in(count, AS_LARGE_AS_AN_APP))?;
        small.apply()?.succeeded()?;
        large.apply()?.succeeded()?;
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            proxy.clear();
            for (times, workspace) in times.iter_mut().zip([&apps, &small, &large]) {
                times.push(timed(workspace)?);
            }
        }
        requests.push(proxy.seen().len());
        let [ours, small, large] = times.map(median);
        println!(
            "plan of {count:>3} apps     {:.0} ms, {:.2} of OpenTofu's own {:.0} ms for {count} built-in resources{}, {:.2} of \
             {:.0} ms for {count} that hold an object as large; {} requests to Incus (creating the apps took {:.0?})",
            ours.as_secs_f64() * 1e3,
            ratio(ours, small),
            small.as_secs_f64() * 1e3,
            if count == 100 {
                " (aim: at most 2.5; the Go peer: 69)"
            } else {
                ""
            },
            ratio(ours, large),
            large.as_secs_f64() * 1e3,
            requests[requests.len() - 1],
            made.took
        );
    }
    println!(
        "requests             {} for 10 apps, {} for 100 (aim: the same)",
        requests[0], requests[1]
    );
    Ok(())
}

pub(super) fn timed(workspace: &Workspace) -> Result<Duration> {
    let plan = workspace.run(&["plan", "-no-color", "-input=false", "-detailed-exitcode"])?;
    ensure!(
        plan.code == Some(0),
        "the plan is not empty: {}",
        plan.told()
    );
    Ok(plan.took)
}

// All resources use `count`: with `for_each` OpenTofu evaluates the whole set again for each instance, which would hide
// what is to be measured.

pub(super) fn many_apps(count: usize) -> String {
    format!(
        r#"
resource "homelab_app" "many" {{
  count    = {count}
  name     = "many-${{count.index}}"
  type     = "generic-stateless"
  replicas = 1
  image    = {{ alias = "{VERSION_1}" }}
  health   = {{ check = {{ running = {{}} }}, min_healthy_time = "0s", healthy_deadline = "2m" }}
}}
"#
    )
}

pub(super) fn many_built_in(count: usize, input: &str) -> String {
    format!("resource \"terraform_data\" \"many\" {{\n  count = {count}\n  input = {input}\n}}\n")
}
