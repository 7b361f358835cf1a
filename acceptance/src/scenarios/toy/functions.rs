//! A function of the provider in a user's expressions.

use anyhow::{Result, ensure};
use serde_json::json;

use super::Room;

pub(super) fn called(room: &Room) -> Result<()> {
    room.main(
        r#"
resource "terraform_data" "room" { input = "cellar" }
resource "toy_box" "a" {
  name = "a"
  note = provider::toy::label(terraform_data.room.output, null, "cups")
}
output "nulls"    { value = provider::toy::label("kitchen", null, "cups", "plates") }
output "dashes"   { value = provider::toy::label("kitchen", " - ", "cups", "plates") }
output "none"     { value = provider::toy::label("attic", null) }
output "expanded" { value = provider::toy::label("hall", null, ["hats", "coats", "shoes"]...) }
"#,
    )?;
    room.workspace.expect_changes()?;
    // An unknown argument makes the result unknown, and the plan goes on.
    let change = room.workspace.planned_change("toy_box.a")?;
    ensure!(change["after_unknown"]["note"] == true, "planned: {change}");
    room.workspace.apply()?.succeeded()?;
    let note = room.workspace.attributes("toy_box.a")?["note"].take();
    ensure!(note == "cellar: cups", "the box says {note}");
    let outputs = room.workspace.state()?["values"]["outputs"].take();
    for (output, expected) in [
        ("nulls", "kitchen: cups, plates"),
        ("dashes", "kitchen: cups - plates"),
        ("none", "attic: "),
        ("expanded", "hall: hats, coats, shoes"),
    ] {
        ensure!(outputs[output]["value"] == json!(expected), "{outputs:#}");
    }
    room.workspace.expect_empty_plan()?;
    refused(room)
}

/// The error names the parameter and shows the expression; a panic is an error like any other.
fn refused(room: &Room) -> Result<()> {
    let long = "x".repeat(80);
    let long = format!(r#""hall", null, "short", "{long}""#);
    for (arguments, parameter, said) in [
        (r#""", null"#, "room", "The room must not be empty."),
        (&long, "things", "longer than 60 characters."),
        (r#"null, null"#, "room", "argument must not be null"),
    ] {
        let text = format!("output \"label\" {{ value = provider::toy::label({arguments}) }}\n");
        room.main(&text)?;
        let plan = room.workspace.plan()?.failed()?;
        plan.says(&format!("\"{parameter}\" parameter"))?
            .says(said)?
            .says("provider::toy::label(")?;
    }
    room.main("output \"label\" { value = provider::toy::label(\"panic\", null) }\n")?;
    room.workspace
        .plan()?
        .failed()?
        .says("the label is cursed")
        .map(drop)
}
