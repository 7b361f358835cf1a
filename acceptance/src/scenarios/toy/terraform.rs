//! What another host of providers knows of the protocol, each in a room of its own.

use anyhow::{Context as _, Result};

use super::{Room, functions, kinds, processes, secrets, slow, states, unknowns};
use crate::scenario::Context;
use crate::tofu;

pub(super) fn hosts(context: &Context) -> Result<()> {
    let terraform = tofu::on_path("terraform").context("terraform has gone from the PATH")?;
    let programs = context.programs.with_host(&terraform)?;
    let room = |name: &str| Room::under(&programs, name);
    functions::called(&room("functions")?).context("functions")?;
    kinds::converge(&room("kinds")?).context("kinds of attributes")?;
    secrets::stored_nowhere(room("ephemeral")?).context("ephemeral values")?;
    unknowns::applied(&room("unknowns")?).context("unknown values in attributes")?;
    states::imported_by_name(&room("import")?).context("import")?;
    states::moved(&room("moved")?).context("moved")?;
    states::upgraded(&room("upgrade")?).context("upgrade")?;
    processes::configured_late(&room("late")?).context("a provider configured late")?;
    slow::interrupted(&room("slow")?).context("Ctrl-C")
}
