//! What grows with the number of resources: the provider's memory at 1,000 of them; and the call that every command
//! begins with, the one for the schemas.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::plan::many_apps;
use super::{median, ratio};
use crate::scenario::Context;
use crate::workspace::Workspace;

const RESOURCES: usize = 1_000;
const ROUNDS: usize = 7;

pub(super) fn run(context: &Context) -> Result<()> {
    let apps = context.workspace("bench-size-apps")?;
    // A plan of what does not exist yet asks nobody.
    let nowhere = "provider \"homelab\" {\n  endpoints = [\"unix:///nowhere/unix.socket\"]\n}\n";
    let few = peak_of_plan(context, &apps, &format!("{nowhere}{}", many_apps(1)))?;
    let many = peak_of_plan(
        context,
        &apps,
        &format!("{nowhere}{}", many_apps(RESOURCES)),
    )?;
    println!(
        "memory of a plan     {many:.1} MiB for {RESOURCES} apps, {:.2} of the {few:.1} MiB for one",
        many / few
    );
    schemas(context)
}

/// The most memory that a provider process of this plan had, in MiB.
fn peak_of_plan(context: &Context, workspace: &Workspace, text: &str) -> Result<f64> {
    workspace.main(text)?;
    let mut started = workspace.start(&["plan", "-no-color", "-input=false"])?;
    let program = context.programs.provider();
    let mut peak = 0.0_f64;
    while !started.has_ended()? {
        peak = processes_of(&program).into_iter().fold(peak, f64::max);
        std::thread::sleep(Duration::from_millis(5));
    }
    started.wait()?.succeeded()?;
    ensure!(peak > 0.0, "no provider was seen");
    Ok(peak)
}

/// The peak memory of every process that runs this program.
fn processes_of(program: &Path) -> Vec<f64> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ours = entries
        .filter(|entry| fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == program));
    let peak = |entry: fs::DirEntry| super::start::peak(&entry.path());
    ours.filter_map(peak).collect()
}

fn schemas(context: &Context) -> Result<()> {
    let (ours, built_in) = (
        context.workspace("bench-schema")?,
        context.workspace("bench-schema-peer")?,
    );
    ours.main("provider \"homelab\" {}\n")?;
    built_in.write("main.tf", "resource \"terraform_data\" \"x\" {}\n")?;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (times, workspace) in times.iter_mut().zip([&ours, &built_in]) {
            let run = workspace
                .run(&["providers", "schema", "-json"])?
                .succeeded()?;
            times.push(run.took);
        }
    }
    let [ours, peer] = times.map(median);
    println!(
        "schema call          {:.0} ms for `providers schema`, {:.2} of {:.0} ms for the built-in provider",
        ours.as_secs_f64() * 1e3,
        ratio(ours, peer),
        peer.as_secs_f64() * 1e3
    );
    Ok(())
}
