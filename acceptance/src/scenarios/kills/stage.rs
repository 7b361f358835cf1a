//! The app that is interrupted, behind a proxy: what a user does to it, and what must be true of it afterwards.
//!
//! `kills.rs` decides when it is interrupted.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::super::{App, exclusive, expect_serving, provider};
use super::{Act, Declared};
use crate::lab::POOL;
use crate::observer::Observer;
use crate::proxy::Proxy;
use crate::scenario::Context;
use crate::watch::watch;
use crate::workspace::{Run, Workspace};

/// One app behind a proxy, beside things that are somebody else's.
pub(super) struct Stage<'a> {
    workspace: Workspace,
    observer: Observer,
    proxy: &'a Proxy,
    name: String,
    act: Act,
    foreign: Value,
}

impl<'a> Stage<'a> {
    pub(super) fn set(
        context: &Context,
        observer: &Observer,
        proxy: &'a Proxy,
        (name, act): (&str, Act),
    ) -> Result<Stage<'a>> {
        let foreign = json!({
            "name": format!("{name}-foreign"), "type": "container", "source": { "type": "none" },
            "devices": { "root": { "type": "disk", "path": "/", "pool": POOL } },
        });
        observer.finish("POST", "/1.0/instances", Some(&foreign))?;
        let mut stage = Stage {
            workspace: context.workspace(name)?,
            observer: observer.clone(),
            proxy,
            name: name.to_owned(),
            act,
            foreign: Value::Null,
        };
        stage.foreign = stage.foreign_now()?;
        Ok(stage)
    }

    pub(super) fn strike(&self) -> Result<()> {
        self.workspace.destroy()?.succeeded()?;
        self.observer.delete(&format!("{}-foreign", self.name))
    }

    fn foreign_now(&self) -> Result<Value> {
        self.observer
            .get(&format!("/1.0/instances/{}-foreign", self.name))
    }

    /// The app as it is before anything is interrupted.
    pub(super) fn begin(&self, declared: Declared) -> Result<()> {
        self.apply(declared)?.succeeded()?;
        if self.act == Act::Replace {
            let serving = self.observer.workloads(&self.name)?;
            let serving = serving.first().context("a workload")?;
            exclusive::leave(&self.observer, &serving.name, "kept")?;
        }
        Ok(())
    }

    /// What was left in the volume before all interruptions is still there.
    fn expect_left(&self) -> Result<()> {
        for workload in self.observer.workloads(&self.name)? {
            let left = self.observer.answer(&workload.name, "/data/left")?;
            ensure!(left == "kept", "{} has {left:?}", workload.name);
        }
        Ok(())
    }

    fn declare(&self, declared: Declared) -> Result<()> {
        let app = if self.act == Act::Replace {
            let with_it = "  on_destroy = { delete_volumes = true }\n";
            exclusive::app(&self.name, declared.replicas, declared.image, with_it)
                .replace("\"2s\"", "\"0s\"")
        } else {
            App {
                min_healthy_time: "1s",
                ..App::new(&self.name, declared.replicas, declared.image)
            }
            .hcl()
        };
        let fleet = format!("validate-{}", self.name);
        let block = provider(&[self.proxy.endpoint()], &fleet);
        self.workspace.main(&format!("{block}{app}"))
    }

    fn apply(&self, declared: Declared) -> Result<Run> {
        self.declare(declared)?;
        self.workspace.apply()
    }

    pub(super) fn perform(&self, wanted: Declared) -> Result<Run> {
        match self.act {
            Act::Destroy => self.workspace.destroy(),
            Act::Create | Act::Roll | Act::Scale => self.apply(wanted),
            Act::Replace => {
                let (run, seen) = watch(&self.observer, &self.name, || self.apply(wanted))?;
                ensure!(seen.most <= 1, "{} ran at once", seen.most);
                Ok(run)
            }
        }
    }

    /// Does again what was interrupted, as a user would; says whether it took an import.
    pub(super) fn mend(&self, wanted: Declared) -> Result<bool> {
        let again = self.perform(wanted)?;
        if self.act == Act::Create && again.code == Some(1) && again.output.contains("import") {
            self.workspace
                .import(&format!("homelab_app.{}", self.name), &self.name)?
                .succeeded()?;
            return Ok(true);
        }
        again.succeeded()?;
        Ok(false)
    }

    pub(super) fn check(&self, wanted: Declared) -> Result<()> {
        if self.act == Act::Destroy {
            let left = self.observer.workloads(&self.name)?;
            ensure!(left.is_empty(), "workloads are left: {left:#?}");
        } else {
            expect_serving(
                &self.observer,
                &self.name,
                wanted.replicas as usize,
                wanted.image,
            )?;
            self.workspace.expect_empty_plan()?;
        }
        if self.act == Act::Replace {
            self.expect_left()?;
        }
        let foreign = self.foreign_now()?;
        ensure!(
            foreign == self.foreign,
            "something foreign was touched: {foreign}"
        );
        Ok(())
    }

    /// Makes the stage ready for the next interruption and returns what is declared then.
    pub(super) fn reset(&self, declared: Declared) -> Result<Declared> {
        match self.act {
            Act::Create => self.workspace.destroy()?.succeeded().map(drop)?,
            Act::Destroy => self.apply(declared)?.succeeded().map(drop)?,
            Act::Roll | Act::Replace | Act::Scale => {}
        }
        Ok(declared)
    }
}
