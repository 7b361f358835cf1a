//! States that come from elsewhere: by import, from another name or type, from an older schema.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::Room;

/// A box that shows whether its values were kept.
fn a_box(label: &str) -> String {
    format!(
        r#"
resource "toy_box" "{label}" {{
  name   = "kept"
  note   = "written long ago"
  weight = 12.5
  labels = {{ room = "attic" }}
}}
"#
    )
}

pub(super) fn imported_by_name(room: &Room) -> Result<()> {
    room.apply(&a_box("first"))?;
    let forgotten = ["state", "rm", "-no-color", "toy_box.first"];
    room.workspace.run(&forgotten)?.succeeded()?;
    room.main(&a_box("found"))?;
    room.workspace
        .import("toy_box.found", "kept")?
        .succeeded()?;
    kept(room, "found")?;
    room.workspace.expect_empty_plan()?;
    room.workspace
        .run(&["state", "rm", "-no-color", "toy_box.found"])?
        .succeeded()?;
    room.workspace
        .import("toy_box.found", "lost")?
        .failed()?
        .says("Cannot import non-existent remote object")
        .map(drop)
}

pub(super) fn imported_by_identity(room: &Room) -> Result<()> {
    room.apply(&a_box("first"))?;
    let forgotten = ["state", "rm", "-no-color", "toy_box.first"];
    room.workspace.run(&forgotten)?.succeeded()?;
    let import = "import {\n  to       = toy_box.found\n  identity = { name = \"kept\" }\n}\n";
    room.main(&format!("{import}{}", a_box("found")))?;
    room.plan()?;
    let change = room.workspace.planned_change("toy_box.found")?;
    ensure!(change["actions"] == json!(["no-op"]), "planned: {change}");
    ensure!(
        change["importing"]["identity"] == json!({ "name": "kept" }),
        "planned: {change}"
    );
    room.workspace.apply()?.succeeded()?;
    let stored = room.stored_object("toy_box", "found")?;
    ensure!(stored["identity"] == json!({ "name": "kept" }), "{stored}");
    ensure!(stored["attributes"]["weight"] == json!(12.5), "{stored}");
    room.workspace.expect_empty_plan()?;
    // An identity that nothing has is an error of the import, not a box to be made.
    room.main(&format!(
        "import {{\n  to       = toy_box.lost\n  identity = {{ name = \"lost\" }}\n}}\n{}resource \"toy_box\" \"lost\" {{ name = \"lost\" }}\n",
        a_box("found")
    ))?;
    room.workspace
        .plan()?
        .failed()?
        .says("Cannot import non-existent remote object")
        .map(drop)
}

pub(super) fn moved(room: &Room) -> Result<()> {
    room.apply(&a_box("first"))?;
    let moved = |from: &str, to: &str| {
        let moved = format!("moved {{\n  from = {from}\n  to   = toy_box.{to}\n}}\n");
        room.main(&format!("{moved}{}", a_box(to)))?;
        let address = format!("toy_box.{to}");
        // What the state alone says: a look at the world would make good what was lost on the way.
        room.plan_from_state()?;
        let change = room.workspace.planned_change(&address)?;
        ensure!(
            change["before"]["note"] == "written long ago" && change["before"] == change["after"],
            "planned: {change:#}"
        );
        room.plan()?;
        let plan = room.workspace.planned()?;
        let change = &plan["resource_changes"][0];
        ensure!(
            change["address"] == address
                && change["previous_address"] == from
                && change["change"]["actions"] == json!(["no-op"]),
            "planned: {change:#}"
        );
        room.workspace.apply()?.succeeded()?;
        room.workspace.expect_empty_plan()?;
        kept(room, to)
    };
    moved("toy_box.first", "second")?;
    // Now the state is one of the time when boxes were crates, and had nails.
    rewrite(room, |resource| {
        resource["type"] = json!("toy_crate");
        make_old(&mut resource["instances"][0]);
        resource["instances"][0]["attributes"]["nails"] = json!(24);
    })?;
    moved("toy_crate.second", "third")?;
    ensure!(room.names()?.len() == 1, "the world: {:?}", room.names()?);
    Ok(())
}

pub(super) fn upgraded(room: &Room) -> Result<()> {
    room.apply(&a_box("first"))?;
    rewrite(room, |resource| make_old(&mut resource["instances"][0]))?;
    let stored = room.stored_object("toy_box", "first")?;
    ensure!(stored["attributes"]["note"].is_null(), "{stored}");
    let plan = room.plan_from_state()?;
    ensure!(plan.code == Some(0), "{}", plan.told());
    // Any change writes the state anew.
    room.apply(&format!(
        "{}output \"anew\" {{ value = 1 }}\n",
        a_box("first")
    ))?;
    let stored = room.stored_object("toy_box", "first")?;
    ensure!(stored["schema_version"] == 1, "{stored}");
    kept(room, "first")?;
    room.workspace.expect_empty_plan()?;
    // Somebody else has a newer provider; ours must not touch what it does not understand.
    rewrite(room, |resource| {
        resource["instances"][0]["schema_version"] = json!(7);
    })?;
    room.workspace.plan()?.failed()?.says("newer").map(drop)
}

/// What version 0 wrote: the note was a text, and neither identities nor private state were known.
fn make_old(object: &mut Value) {
    object["schema_version"] = json!(0);
    let note = object["attributes"]["note"].take();
    object["attributes"]["text"] = note;
    if let Some(attributes) = object["attributes"].as_object_mut() {
        attributes.remove("note");
    }
    if let Some(object) = object.as_object_mut() {
        object.retain(|key, _| {
            !["private", "identity", "identity_schema_version"].contains(&key.as_str())
        });
    }
}

/// Edits the only resource of the state file.
fn rewrite(room: &Room, change: impl FnOnce(&mut Value)) -> Result<()> {
    let mut state = room.stored()?;
    let serial = state["serial"].as_u64().context("a serial")?;
    state["serial"] = json!(serial + 1);
    change(&mut state["resources"][0]);
    let file = room.workspace.folder().join("terraform.tfstate");
    fs::write(file, state.to_string()).context("writing the state")
}

fn kept(room: &Room, label: &str) -> Result<()> {
    let attributes = room.workspace.attributes(&format!("toy_box.{label}"))?;
    ensure!(
        attributes["note"] == "written long ago"
            && attributes["weight"] == json!(12.5)
            && attributes["labels"] == json!({ "room": "attic" })
            && attributes["revision"] == 1,
        "{attributes:#}"
    );
    Ok(())
}
