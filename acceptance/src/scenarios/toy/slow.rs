//! Work that takes long, and a user who does not wait for it.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::Room;
use crate::process::wait_until;

/// Steps of the toy's work are short; a stop that takes this long was not heard.
const SOON: Duration = Duration::from_secs(10);

fn a_box(work_time: &str) -> String {
    format!(
        "resource \"toy_box\" \"a\" {{\n  name      = \"a\"\n  work_time = \"{work_time}\"\n}}\n"
    )
}

pub(super) fn interrupted(room: &Room) -> Result<()> {
    room.main(&a_box("2m"))?;
    let applying = room.workspace.start_apply()?;
    wait_until("the box is being worked on", SOON, || {
        Ok(room.names()?.contains("a"))
    })?;
    applying.interrupt()?;
    let applied = applying.wait()?.failed()?;
    ensure!(applied.took < 2 * SOON, "{}", applied.told());
    applied.says("The work on the box was stopped")?;
    // Made, but not as it should be: the host notes that, and has it made anew.
    let stored = room.stored_object("toy_box", "a")?;
    ensure!(
        stored["status"] == "tainted" && stored["attributes"]["id"] == "box/a",
        "{stored}"
    );
    room.apply(&a_box("10ms"))?;
    let stored = room.stored_object("toy_box", "a")?;
    ensure!(stored["status"].is_null(), "{stored}");
    room.workspace.expect_empty_plan()?;

    // The same in the middle of an update: the old object stays, and is no worse for it.
    room.main(&a_box("1m"))?;
    let applying = room.workspace.start_apply()?;
    wait_until("the update has begun", SOON, || {
        Ok(room.names()?.contains(".a-is-changed"))
    })?;
    applying.interrupt()?;
    applying.wait()?.failed()?.says("was stopped")?;
    let attributes = room.workspace.attributes("toy_box.a")?;
    ensure!(attributes["work_time"] == "10ms", "{attributes}");
    room.main(&a_box("10ms"))?;
    room.workspace.expect_empty_plan().map(drop)
}
