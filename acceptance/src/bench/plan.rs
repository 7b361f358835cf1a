//! How long a plan of unchanged apps takes over as many built-in resources, and how many requests it makes.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::{median, ratio};
use crate::lab::{Lab, VERSION_1};
use crate::scenario::Context;
use crate::scenarios::provider;
use crate::workspace::Workspace;

const ROUNDS: usize = 7;

pub(super) fn run(context: &Context, lab: &Lab) -> Result<()> {
    let proxy = context.proxy("bench-plan", lab)?;
    let apps = context.workspace("bench-plan-apps")?;
    let built_in = context.workspace("bench-plan-built-in")?;
    let block = provider(&[proxy.endpoint()], "bench-plan");
    let mut requests = Vec::new();
    for count in [10, 100] {
        apps.main(&format!("{block}{}", many_apps(count)))?;
        let made = apps.apply()?.succeeded()?;
        built_in.main(&many_built_in(count))?;
        built_in.apply()?.succeeded()?;
        let (mut ours, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            proxy.clear();
            ours.push(timed(&apps)?);
            floor.push(timed(&built_in)?);
        }
        requests.push(proxy.seen().len());
        let (ours, floor) = (median(ours), median(floor));
        println!(
            "plan of {count:>3} apps     {:.0} ms, {:.2} of OpenTofu's own {:.0} ms for {count} built-in resources{}; {} \
             requests to Incus (creating the apps took {:.0?})",
            ours.as_secs_f64() * 1e3,
            ratio(ours, floor),
            floor.as_secs_f64() * 1e3,
            if count == 100 {
                " (aim: at most 2.5; the Go peer: 69)"
            } else {
                ""
            },
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

fn timed(workspace: &Workspace) -> Result<Duration> {
    let plan = workspace.run(&["plan", "-no-color", "-input=false", "-detailed-exitcode"])?;
    ensure!(
        plan.code == Some(0),
        "the plan is not empty: {}",
        plan.told()
    );
    Ok(plan.took)
}

fn many_apps(count: usize) -> String {
    format!(
        r#"
resource "homelab_app" "many" {{
  for_each = toset([for number in range({count}) : "many-${{number}}"])
  name     = each.key
  type     = "generic-stateless"
  replicas = 1
  image    = {{ alias = "{VERSION_1}" }}
  health   = {{ check = {{ running = {{}} }}, min_healthy_time = "0s", healthy_deadline = "2m" }}
}}
"#
    )
}

fn many_built_in(count: usize) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "resource \"terraform_data\" \"many\" {{\n  count = {count}\n  input = \"x\"\n}}\n"
    );
    text
}
