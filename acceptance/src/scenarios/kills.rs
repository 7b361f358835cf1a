//! The provider is killed at every single request that changes something, and each time the next apply mends it.
//!
//! [`sweep`] is the whole idea; the scenarios and `soak.rs` call it with different acts and moments.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::{App, expect_serving, provider};
use crate::lab::{POOL, VERSION_1, VERSION_2};
use crate::observer::Observer;
use crate::proxy::{Counted, Deed, Moment, Proxy, Seen, Trap};
use crate::scenario::{Context, Scenario};
use crate::workspace::{Run, Workspace};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_create_survives_a_kill_after_every_write",
        proves: "Killed after any of its writes, a create is finished by the next apply, with one workload per \
                 replica; after its very last write it is refused and the import that is named gives an empty plan.",
        group: "kills",
        needs: &[],
        seconds: 120,
        run: |context| {
            sweep(
                context,
                "kc",
                Act::Create,
                Counted::Mutating,
                Moment::After,
                Deed::KillClient,
            )
            .map(drop)
        },
    },
    Scenario {
        name: "a_rollout_survives_a_kill_after_every_write",
        proves: "Killed after any of its writes, a blue-green rollout is finished by the next apply, with one workload \
                 per replica and nothing foreign touched.",
        group: "kills",
        needs: &[],
        seconds: 150,
        run: |context| {
            sweep(
                context,
                "kr",
                Act::Roll,
                Counted::Mutating,
                Moment::After,
                Deed::KillClient,
            )
            .map(drop)
        },
    },
];

/// More requests than any act makes; without a bound an act that never ends would look like a long one.
const MOST_REQUESTS: usize = 400;

/// What is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// An app with two replicas is made.
    Create,
    /// Its image changes.
    Roll,
    /// It gets a third replica, or loses it again.
    Scale,
    /// It is destroyed.
    Destroy,
}

/// One interruption and what came of it.
#[derive(Clone, Debug)]
pub struct Step {
    /// At which request.
    pub at: Seen,
    /// Whether an import was needed, because the create was finished except for the state.
    pub imported: bool,
}

/// Performs an act again and again, interrupting it at its first request, its second, and so on until one runs through.
/// After each interruption an ordinary apply must set everything right.
pub fn sweep(
    context: &Context,
    name: &str,
    act: Act,
    counted: Counted,
    moment: Moment,
    deed: Deed,
) -> Result<Vec<Step>> {
    let lab = context.single()?;
    let proxy = context.proxy(name, &lab)?;
    let stage = Stage::set(context, &lab.observer(), &proxy, name)?;
    let mut steps = Vec::new();
    let mut state = Declared {
        replicas: 2,
        image: VERSION_1,
    };
    if act != Act::Create {
        stage.apply(state)?.succeeded()?;
    }
    for nth in 1..=MOST_REQUESTS {
        let wanted = act.next(state);
        proxy.arm(Trap {
            counted,
            nth,
            moment,
            deed,
        });
        let interrupted = stage.perform(act, wanted)?;
        let fired = proxy.fired();
        proxy.clear();
        let Some(at) = fired else {
            interrupted
                .succeeded()
                .context("nothing interfered, and it failed")?;
            stage.check(act, wanted)?;
            stage.strike()?;
            ensure!(!steps.is_empty(), "{act:?} made no request at all");
            return Ok(steps);
        };
        let told = format!(
            "{act:?} killed {moment:?} request {nth} ({at}), which said:\n{}",
            interrupted.error()
        );
        let imported = stage.mend(act, wanted).with_context(|| told.clone())?;
        stage.check(act, wanted).with_context(|| told.clone())?;
        steps.push(Step { at, imported });
        state = stage.reset(act, wanted)?;
    }
    bail!("{act:?} does not end within {MOST_REQUESTS} requests")
}

#[derive(Clone, Copy, Debug)]
struct Declared {
    replicas: u32,
    image: &'static str,
}

impl Act {
    fn next(self, now: Declared) -> Declared {
        match self {
            Act::Create | Act::Destroy => now,
            Act::Roll => Declared {
                image: if now.image == VERSION_1 {
                    VERSION_2
                } else {
                    VERSION_1
                },
                ..now
            },
            Act::Scale => Declared {
                replicas: if now.replicas == 2 { 3 } else { 2 },
                ..now
            },
        }
    }
}

/// One app behind a proxy, beside things that are somebody else's.
struct Stage<'a> {
    workspace: Workspace,
    observer: Observer,
    proxy: &'a Proxy,
    name: String,
    foreign: Value,
}

impl<'a> Stage<'a> {
    fn set(
        context: &Context,
        observer: &Observer,
        proxy: &'a Proxy,
        name: &str,
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
            foreign: Value::Null,
        };
        stage.foreign = stage.foreign_now()?;
        Ok(stage)
    }

    fn strike(&self) -> Result<()> {
        self.workspace.destroy()?.succeeded()?;
        self.observer.delete(&format!("{}-foreign", self.name))
    }

    fn foreign_now(&self) -> Result<Value> {
        self.observer
            .get(&format!("/1.0/instances/{}-foreign", self.name))
    }

    fn declare(&self, declared: Declared) -> Result<()> {
        let app = App {
            min_healthy_time: "1s",
            ..App::new(&self.name, declared.replicas, declared.image)
        };
        let fleet = format!("validate-{}", self.name);
        self.workspace.main(&format!(
            "{}{}",
            provider(&[self.proxy.endpoint()], &fleet),
            app.hcl()
        ))
    }

    fn apply(&self, declared: Declared) -> Result<Run> {
        self.declare(declared)?;
        self.workspace.apply()
    }

    fn perform(&self, act: Act, wanted: Declared) -> Result<Run> {
        match act {
            Act::Destroy => self.workspace.destroy(),
            Act::Create | Act::Roll | Act::Scale => self.apply(wanted),
        }
    }

    /// Does again what was interrupted, as a user would; says whether it took an import.
    fn mend(&self, act: Act, wanted: Declared) -> Result<bool> {
        let again = self.perform(act, wanted)?;
        if act == Act::Create && again.code == Some(1) && again.output.contains("import") {
            self.workspace
                .import(&format!("homelab_app.{}", self.name), &self.name)?
                .succeeded()?;
            return Ok(true);
        }
        again.succeeded()?;
        Ok(false)
    }

    fn check(&self, act: Act, wanted: Declared) -> Result<()> {
        if act == Act::Destroy {
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
        let foreign = self.foreign_now()?;
        ensure!(
            foreign == self.foreign,
            "something foreign was touched: {foreign}"
        );
        Ok(())
    }

    /// Makes the stage ready for the next interruption and returns what is declared then.
    fn reset(&self, act: Act, declared: Declared) -> Result<Declared> {
        match act {
            Act::Create => self.workspace.destroy()?.succeeded().map(drop)?,
            Act::Destroy => self.apply(declared)?.succeeded().map(drop)?,
            Act::Roll | Act::Scale => {}
        }
        Ok(declared)
    }
}
