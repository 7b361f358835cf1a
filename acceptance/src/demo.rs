//! `examples/quickstart` as a user would run it, on a lab of its own, with the outcome of each step in a line.
//!
//! The example is applied as it is written; only the image and the place of Incus are given from outside. A step that
//! does not come out as promised ends the demo with an error.
#![allow(clippy::print_stdout, reason = "a demo is there to be read")]

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::interrupt;
use crate::lab::{self, BROKEN, Lab, VERSION_1, VERSION_2};
use crate::tofu::{self, Programs};
use crate::watch::watch;
use crate::workspace::{Run, Workspace};

/// The app that the example declares.
const APP: &str = "web";

/// Runs the demo.
pub fn run() -> Result<()> {
    interrupt::listen()?;
    lab::check_machine()?;
    let programs = Programs::find()?;
    println!("Host      {}", programs.told);
    let since = Instant::now();
    let lab = Lab::up("demo", 1)?;
    println!(
        "Incus     a real daemon with a pool, a network and three images is up after {:.1?}",
        since.elapsed()
    );
    let mut workspace = Workspace::new(&programs, "quickstart")?;
    workspace.set(
        "HOMELAB_ENDPOINTS",
        &format!("unix://{}", lab.first().socket().display()),
    );
    fs::copy(
        tofu::repository().join("examples/quickstart/main.tf"),
        workspace.folder().join("main.tf"),
    )
    .context("copying examples/quickstart/main.tf")?;
    let demo = Demo {
        lab: &lab,
        workspace,
    };
    demo.first_apply()?;
    demo.second_image()?;
    demo.broken_image()?;
    demo.destroy()?;
    lab.down()?;
    println!("Done      everything is taken down again");
    Ok(())
}

struct Demo<'a> {
    lab: &'a Lab,
    workspace: Workspace,
}

impl Demo<'_> {
    fn first_apply(&self) -> Result<()> {
        let plan = self.tofu("plan", VERSION_1, &["-out=plan"])?.succeeded()?;
        let planned =
            self.workspace.planned_change("homelab_network.lan")?["after"]["assignments"].take();
        ensure!(
            planned["attic"].is_string(),
            "the plan does not show the addresses: {}",
            plan.told()
        );
        println!(
            "plan      shows the final addresses: {}",
            addresses(&planned)
        );
        let apply = self
            .tofu("apply", VERSION_1, &["-auto-approve"])?
            .succeeded()?;
        self.answers("v1", 2)?;
        println!(
            "apply     {:.1?}: two replicas of {APP} run and answer v1",
            apply.took
        );
        self.plans_nothing(VERSION_1)
    }

    fn second_image(&self) -> Result<()> {
        let apply = || {
            self.tofu("apply", VERSION_2, &["-auto-approve"])?
                .succeeded()
        };
        let (apply, watched) = watch(&self.lab.observer(), APP, apply)?;
        self.answers("v2", 2)?;
        ensure!(
            watched.fewest >= 2,
            "at one moment only {} workloads ran",
            watched.fewest
        );
        println!(
            "apply     {:.1?}: {VERSION_2} is rolled out, both replicas answer v2; {} looks from outside never saw fewer \
             than {} running workloads",
            apply.took, watched.looks, watched.fewest
        );
        Ok(())
    }

    fn broken_image(&self) -> Result<()> {
        let apply = self
            .tofu("apply", BROKEN, &["-auto-approve"])?
            .failed()?
            .says("cannot open /etc/app.conf")?;
        self.answers("v2", 2)?;
        let error = apply
            .output
            .lines()
            .find_map(|line| line.split_once("Error: "))
            .map_or("", |(_, error)| error);
        println!(
            "apply     {:.1?}: {BROKEN} is refused as it should be, and both replicas still answer v2",
            apply.took
        );
        println!("          \"{error}\", with the last output \"cannot open /etc/app.conf\"");
        let plan = self.tofu("plan", BROKEN, &["-detailed-exitcode"])?;
        ensure!(
            plan.code == Some(2),
            "the failure is forgotten: {}",
            plan.told()
        );
        println!("plan      is not empty: what failed is still to be done");
        self.tofu("apply", VERSION_2, &["-auto-approve"])?
            .succeeded()?;
        println!("apply     back to {VERSION_2}: nothing had to be rolled");
        self.plans_nothing(VERSION_2)
    }

    fn destroy(&self) -> Result<()> {
        let destroy = self
            .tofu("destroy", VERSION_2, &["-auto-approve"])?
            .succeeded()?;
        let left = self.lab.observer().instances("default")?;
        ensure!(left.is_empty(), "instances are left: {left:?}");
        println!("destroy   {:.1?}: no instance is left", destroy.took);
        Ok(())
    }

    fn plans_nothing(&self, image: &str) -> Result<()> {
        let plan = self.tofu("plan", image, &["-detailed-exitcode"])?;
        ensure!(
            plan.code == Some(0),
            "the plan is not empty: {}",
            plan.told()
        );
        println!("plan      is empty");
        Ok(())
    }

    fn tofu(&self, verb: &str, image: &str, more: &[&str]) -> Result<Run> {
        let image = format!("-var=image={image}");
        self.workspace
            .run(&[&[verb, "-no-color", "-input=false", &image], more].concat())
    }

    fn answers(&self, version: &str, replicas: usize) -> Result<()> {
        let observer = self.lab.observer();
        let workloads = observer.workloads(APP)?;
        ensure!(workloads.len() == replicas, "{workloads:#?}");
        for workload in workloads {
            let answer = observer.answer(&workload.name, "/version")?;
            ensure!(
                answer == version,
                "{} answers {answer}, not {version}",
                workload.name
            );
        }
        Ok(())
    }
}

fn addresses(assignments: &Value) -> String {
    let pairs = assignments.as_object().into_iter().flatten();
    pairs
        .map(|(name, address)| format!("{name} {}", address.as_str().unwrap_or_default()))
        .collect::<Vec<_>>()
        .join(", ")
}
