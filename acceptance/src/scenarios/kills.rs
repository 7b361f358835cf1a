//! The provider is killed at every single request that changes something, and each time the next apply mends it.
//!
//! [`sweep`] is the whole idea; the scenarios and `soak.rs` call it with different acts and moments. The app that all of
//! it happens to, and what must be true of it, are in `kills/stage.rs`.

mod stage;

use anyhow::{Context as _, Result, bail, ensure};

use self::stage::Stage;
use crate::lab::{VERSION_1, VERSION_2};
use crate::proxy::{Counted, Deed, Moment, Seen, Trap};
use crate::scenario::{Context, Scenario};

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
    Scenario {
        name: "a_replacement_in_place_survives_a_kill_before_every_write",
        proves: "Killed before any of its writes, the update of an app of which only one may run is finished by the next apply: \
                 its data is there, and two never ran at once.",
        group: "kills",
        needs: &[],
        seconds: 60,
        run: |context| {
            sweep(
                context,
                "kx",
                Act::Replace,
                Counted::Mutating,
                Moment::Before,
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
    /// The same where only one workload may run, with a volume.
    Replace,
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
    let stage = Stage::set(context, &lab.observer(), &proxy, (name, act))?;
    let mut steps = Vec::new();
    let mut state = Declared {
        replicas: if act == Act::Replace { 1 } else { 2 },
        image: VERSION_1,
    };
    if act != Act::Create {
        stage.begin(state)?;
    }
    for nth in 1..=MOST_REQUESTS {
        let wanted = act.next(state);
        proxy.arm(Trap {
            counted,
            nth,
            moment,
            deed,
        });
        let interrupted = stage.perform(wanted)?;
        let fired = proxy.fired();
        proxy.clear();
        let Some(at) = fired else {
            interrupted
                .succeeded()
                .context("nothing interfered, and it failed")?;
            stage.check(wanted)?;
            stage.strike()?;
            ensure!(!steps.is_empty(), "{act:?} made no request at all");
            return Ok(steps);
        };
        let told = format!(
            "{act:?} killed {moment:?} request {nth} ({at}), which said:\n{}",
            interrupted.error()
        );
        let imported = stage.mend(wanted).with_context(|| told.clone())?;
        stage.check(wanted).with_context(|| told.clone())?;
        steps.push(Step { at, imported });
        state = stage.reset(wanted)?;
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
            Act::Roll | Act::Replace => Declared {
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
