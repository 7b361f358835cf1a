//! What `tfplugin` can do, shown by its toy provider under the real host: each scenario is one ability of the protocol.
//!
//! No lab is needed. The toy's world is a folder in which every box is a file, so that a scenario can look at it, and
//! change it behind the provider's back. What hosts other than OpenTofu can do too is in `toy/terraform.rs` once more.

mod functions;
mod kinds;
mod processes;
mod secrets;
mod slow;
mod states;
mod terraform;
mod unknowns;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::scenario::{Context, Need, Scenario};
use crate::tofu::Programs;
use crate::workspace::{Run, Workspace};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_function_is_called_in_expressions",
        proves: "A provider's function takes null, variadic and unknown arguments, and its error points at the argument.",
        group: "toy",
        needs: &[],
        seconds: 3,
        run: |context| functions::called(&Room::new(context, "functions")?),
    },
    Scenario {
        name: "every_kind_of_attribute_and_nesting_converges",
        proves: "Whatever a schema can hold is created, found unchanged, and changed in exactly the place that was edited.",
        group: "toy",
        needs: &[],
        seconds: 4,
        run: |context| kinds::converge(&Room::new(context, "kinds")?),
    },
    Scenario {
        name: "what_the_world_did_to_an_object_is_planned_back",
        proves: "An edited object is corrected, a lost one made again, a renamed one replaced; a data source sees it.",
        group: "toy",
        needs: &[],
        seconds: 5,
        run: |context| kinds::drift(&Room::new(context, "drift")?),
    },
    Scenario {
        name: "values_that_are_unknown_in_the_plan_are_applied",
        proves: "Every kind and nesting takes values that only the apply knows, and they come out as they were put in.",
        group: "toy",
        needs: &[],
        seconds: 3,
        run: |context| unknowns::applied(&Room::new(context, "unknowns")?),
    },
    Scenario {
        name: "an_ephemeral_value_in_a_write_only_attribute_is_stored_nowhere",
        proves: "A key reaches the world and is in no state, plan file or log; meanwhile it is renewed, and closed at last.",
        group: "toy",
        needs: &[],
        seconds: 8,
        run: |context| secrets::stored_nowhere(Room::new(context, "ephemeral")?),
    },
    Scenario {
        name: "an_encrypted_state_and_plan_tell_nothing",
        proves: "With encryption enforced no attribute is readable in either file, and nothing works without the passphrase.",
        group: "toy",
        needs: &[Need::OpenTofu],
        seconds: 6,
        run: |context| secrets::encrypted(Room::new(context, "encryption")?),
    },
    Scenario {
        name: "an_object_is_imported_by_its_name",
        proves: "The name suffices to take an object over as it is, and an object that does not exist is an error.",
        group: "toy",
        needs: &[],
        seconds: 4,
        run: |context| states::imported_by_name(&Room::new(context, "import")?),
    },
    Scenario {
        name: "an_object_is_imported_by_its_identity",
        proves: "An import block with an identity finds the object, the state has the identity, and the next plan is empty.",
        group: "toy",
        needs: &[Need::OpenTofu],
        seconds: 4,
        run: |context| states::imported_by_identity(&Room::new(context, "identity")?),
    },
    Scenario {
        name: "a_moved_block_takes_an_object_along",
        proves: "A renamed resource keeps its object, also when its type was renamed, and the provider took the state over.",
        group: "toy",
        needs: &[],
        seconds: 5,
        run: |context| states::moved(&Room::new(context, "moved")?),
    },
    Scenario {
        name: "a_state_of_an_older_schema_is_upgraded",
        proves: "A state that an older provider wrote is read with its values, and nothing is planned because of it.",
        group: "toy",
        needs: &[],
        seconds: 3,
        run: |context| states::upgraded(&Room::new(context, "upgrade")?),
    },
    Scenario {
        name: "a_provider_configured_by_unknown_values_is_planned_and_applied",
        proves: "What configures the provider may be unknown until the apply, and the plan goes on without it.",
        group: "toy",
        needs: &[],
        seconds: 3,
        run: |context| processes::configured_late(&Room::new(context, "unknown")?),
    },
    Scenario {
        name: "a_provider_started_by_hand_is_used",
        proves: "A process started with --debug says how to reach it, serves several commands, and ends on Ctrl-C.",
        group: "toy",
        needs: &[],
        seconds: 4,
        run: |context| processes::reattached(Room::new(context, "reattach")?, context),
    },
    Scenario {
        name: "a_panic_or_a_crash_stops_nobody_else",
        proves: "What one object breaks is told, the others are applied and stored, and the next apply goes on from there.",
        group: "toy",
        needs: &[],
        seconds: 6,
        run: |context| processes::broken(&Room::new(context, "broken")?),
    },
    Scenario {
        name: "ctrl_c_in_a_slow_create_keeps_the_object",
        proves: "An interrupted create ends soon with an error, leaves its object in the state, and the next apply goes on.",
        group: "toy",
        needs: &[],
        seconds: 5,
        run: |context| slow::interrupted(&Room::new(context, "slow")?),
    },
    Scenario {
        name: "terraform_hosts_what_it_knows_of_the_protocol",
        proves: "Another host calls functions, ephemeral and write-only values, moves, upgrades and stops just the same.",
        group: "toy",
        needs: &[Need::Terraform],
        seconds: 25,
        run: terraform::hosts,
    },
];

/// A user of the toy: a folder with a configuration, and a world with boxes.
struct Room {
    workspace: Workspace,
    boxes: PathBuf,
}

impl Room {
    fn new(context: &Context, name: &str) -> Result<Room> {
        Room::under(&context.programs, name)
    }

    /// A room of which some host takes care.
    fn under(programs: &Programs, name: &str) -> Result<Room> {
        let workspace = Workspace::with_toy(programs, &format!("toy-{name}"))?;
        let boxes = workspace.folder().join("boxes");
        fs::create_dir(&boxes).context("making a world")?;
        Ok(Room { workspace, boxes })
    }

    /// Writes the configuration: the provider, and this.
    fn main(&self, text: &str) -> Result<()> {
        let folder = self.boxes.display();
        let provider = format!("provider \"toy\" {{\n  folder = \"{folder}\"\n}}\n");
        self.workspace.main(&format!("{provider}{text}"))
    }

    /// Writes the configuration and applies it.
    fn apply(&self, text: &str) -> Result<()> {
        self.main(text)?;
        self.workspace.apply()?.succeeded().map(drop)
    }

    /// Plans, whether there is something to do or not.
    fn plan(&self) -> Result<Run> {
        let plan = self.workspace.plan()?;
        ensure!(plan.code != Some(1), "{}", plan.told());
        Ok(plan)
    }

    /// The same without a look at the world, which would put right what is wrong in the state.
    fn plan_from_state(&self) -> Result<Run> {
        let options = ["-no-color", "-detailed-exitcode", "-refresh=false"];
        let arguments = [&["plan", "-out=plan"], &options[..]].concat();
        let plan = self.workspace.run(&arguments)?;
        ensure!(plan.code != Some(1), "{}", plan.told());
        Ok(plan)
    }

    /// What is in the world.
    fn names(&self) -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&self.boxes).context("looking at the world")? {
            names.insert(entry?.file_name().to_string_lossy().into_owned());
        }
        Ok(names)
    }

    /// A box of the world.
    fn look(&self, name: &str) -> Result<Value> {
        let text = fs::read(self.boxes.join(name)).with_context(|| format!("looking at {name}"))?;
        serde_json::from_slice(&text).with_context(|| format!("understanding {name}"))
    }

    /// Changes a box behind the provider's back.
    fn meddle(&self, name: &str, change: impl FnOnce(&mut Value)) -> Result<()> {
        let mut found = self.look(name)?;
        change(&mut found);
        fs::write(self.boxes.join(name), found.to_string())
            .with_context(|| format!("changing {name}"))
    }

    /// The state file as it is, which shows what `show` leaves out.
    fn stored(&self) -> Result<Value> {
        let text = fs::read(self.workspace.folder().join("terraform.tfstate"));
        serde_json::from_slice(&text.context("reading the state")?)
            .context("understanding the state")
    }

    /// The only stored object of a resource, with what the host keeps beside its attributes.
    fn stored_object(&self, kind: &str, name: &str) -> Result<Value> {
        let mut state = self.stored()?;
        let resources = state["resources"].as_array_mut();
        let found = resources.and_then(|resources| {
            resources
                .iter_mut()
                .find(|resource| resource["type"] == kind && resource["name"] == name)
        });
        Ok(
            found.with_context(|| format!("the state has no {kind}.{name}"))?["instances"][0]
                .take(),
        )
    }
}
