//! Whose an app is: import, two states with one name, and many applies at once.

mod holes;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{App, endpoint, expect_serving, provider};
use crate::lab::{VERSION_1, VERSION_2};
use crate::observer::Observer;
use crate::scenario::{Context, Scenario};
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "an_imported_app_plans_nothing",
        proves: "After its state was lost, an app is imported by name, and the next plan is empty.",
        group: "ownership",
        needs: &[],
        seconds: 8,
        run: import,
    },
    Scenario {
        name: "a_second_state_with_the_same_app_is_refused",
        proves: "Two configurations cannot own one app: the second create fails, says how to import, changes nothing.",
        group: "ownership",
        needs: &[],
        seconds: 8,
        run: two_states,
    },
    Scenario {
        name: "parallel_applies_lose_no_revision",
        proves: "Five applies of two apps each, at the same time through three members, all arrive, twice in a row.",
        group: "ownership",
        needs: &[],
        seconds: 40,
        run: parallel,
    },
    Scenario {
        name: "a_destroy_that_was_cut_off_is_taken_back",
        proves: "Killed after any of its writes, a destroy is taken back by the next apply of the same state.",
        group: "ownership",
        needs: &[],
        seconds: 60,
        run: holes::taken_back,
    },
    Scenario {
        name: "a_destroy_waits_for_what_is_being_made",
        proves: "A create that Incus goes on with after its provider was killed leaves nothing behind a destroy that follows.",
        group: "ownership",
        needs: &[],
        seconds: 120,
        run: holes::destroyed_under_way,
    },
    Scenario {
        name: "of_two_applies_at_once_one_goes_on",
        proves: "Two applies of one state at the same time never stop each other, and the one that stops says what is true.",
        group: "ownership",
        needs: &[],
        seconds: 60,
        run: holes::two_at_once,
    },
    Scenario {
        name: "a_copy_made_by_hand_is_never_taken_for_a_workload",
        proves: "A copy that carries our keys is neither deleted nor taken over, also when the original and the record are gone.",
        group: "ownership",
        needs: &[],
        seconds: 20,
        run: holes::copies_are_theirs,
    },
    Scenario {
        name: "the_status_of_an_app_tells_how_it_is",
        proves: "The status entry tells revision, phase and the last error, and goes with the app.",
        group: "ownership",
        needs: &[],
        seconds: 30,
        run: holes::status,
    },
];

fn import(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let workspace = context.workspace("ownership-import")?;
    let mut app = App::new("known", 2, VERSION_1);
    app.more =
        "  workload = { environment = { A = \"1\" }, config = { \"limits.cpu\" = \"1\" } }\n"
            .to_owned();
    workspace.main(&format!(
        "{}{}",
        provider(&[endpoint(&lab.first().socket())], "validate-known"),
        app.hcl()
    ))?;
    workspace.apply()?.succeeded()?;
    let before = expect_serving(&lab.observer(), "known", 2, VERSION_1)?;
    workspace
        .run(&["state", "rm", &app.address()])?
        .succeeded()?;
    workspace.import(&app.address(), "known")?.succeeded()?;
    workspace.expect_empty_plan()?;
    ensure!(
        expect_serving(&lab.observer(), "known", 2, VERSION_1)? == before,
        "the import changed something"
    );
    workspace
        .import("homelab_app.other", "unheard-of")?
        .failed()?;
    workspace.destroy()?.succeeded().map(drop)
}

fn two_states(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let (first, second) = (
        context.workspace("ownership-first")?,
        context.workspace("ownership-second")?,
    );
    let block = provider(&[endpoint(&lab.first().socket())], "validate-twice");
    first.main(&format!("{block}{}", App::new("twice", 1, VERSION_1).hcl()))?;
    first.apply()?.succeeded()?;
    let before = expect_serving(&observer, "twice", 1, VERSION_1)?;
    second.main(&format!("{block}{}", App::new("twice", 1, VERSION_2).hcl()))?;
    second.apply()?.failed()?.says("import")?;
    ensure!(
        second.state_of("homelab_app.twice")?.is_none(),
        "the refused app is in the second state"
    );
    ensure!(
        expect_serving(&observer, "twice", 1, VERSION_1)? == before,
        "the refused apply changed something"
    );
    first.expect_empty_plan()?;
    // Once imported it is the second one's, and the first one keeps its hands off.
    second.import("homelab_app.twice", "twice")?.succeeded()?;
    second.apply()?.succeeded()?;
    expect_serving(&observer, "twice", 1, VERSION_2)?;
    second.expect_empty_plan()?;
    second.destroy()?.succeeded()?;
    first.destroy()?.succeeded().map(drop)
}

fn parallel(context: &Context) -> Result<()> {
    let lab = context.cluster()?;
    let observer = lab.observer();
    let fleet = "validate-parallel";
    let names: Vec<[String; 2]> = (1..=5)
        .map(|number| [format!("par{number}a"), format!("par{number}b")])
        .collect();
    let workspaces: Vec<Workspace> = (1..=5)
        .map(|number| context.workspace(&format!("ownership-parallel-{number}")))
        .collect::<Result<_>>()?;
    for image in [VERSION_1, VERSION_2] {
        for (index, workspace) in workspaces.iter().enumerate() {
            let socket = lab.members()[index % lab.members().len()].socket();
            let apps = names[index].each_ref().map(|name| {
                App {
                    min_healthy_time: "1s",
                    ..App::new(name, 1, image)
                }
                .hcl()
            });
            workspace.main(&format!(
                "{}{}",
                provider(&[endpoint(&socket)], fleet),
                apps.concat()
            ))?;
        }
        let started: Vec<_> = workspaces
            .iter()
            .map(Workspace::start_apply)
            .collect::<Result<_>>()?;
        let ended: Vec<_> = started
            .into_iter()
            .map(|apply| apply.wait()?.succeeded())
            .collect();
        ended.into_iter().collect::<Result<Vec<_>>>()?;
        for (index, name) in names
            .iter()
            .enumerate()
            .flat_map(|(index, pair)| pair.iter().map(move |name| (index, name)))
        {
            expect_serving(&observer, name, 1, image)?;
            let (revision, entry) = entry(&observer, fleet, name)?;
            let state = workspaces[index].attributes(&format!("homelab_app.{name}"))?;
            ensure!(
                state["revision"] == revision,
                "{name}: state {} and store {revision}",
                state["revision"]
            );
            ensure!(
                entry["user.homelab-ops.spec"].to_string().contains(image),
                "{name}: {entry}"
            );
            ensure!(
                entry["user.homelab-ops.applied"]
                    .to_string()
                    .contains(image),
                "{name}: {entry}"
            );
        }
        for workspace in &workspaces {
            workspace.expect_empty_plan()?;
        }
    }
    for workspace in &workspaces {
        workspace.destroy()?.succeeded()?;
    }
    Ok(())
}

/// The highest revision of an app's entry, and its keys.
fn entry(observer: &Observer, fleet: &str, app: &str) -> Result<(u64, Value)> {
    let prefix = format!("app.{app}.r");
    let names = observer.profile_names(fleet)?;
    let revisions = names
        .iter()
        .filter_map(|name| name.strip_prefix(&prefix)?.parse::<u64>().ok());
    let highest = revisions
        .max()
        .with_context(|| format!("no entry of {app} in {fleet}"))?;
    let mut profile = observer.get(&format!("/1.0/profiles/{prefix}{highest}?project={fleet}"))?;
    Ok((highest, profile["config"].take()))
}
