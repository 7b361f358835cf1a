//! Values that nobody knows before the apply, in every kind of attribute and nesting.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::Room;

/// `parts` and `layers` are given as a whole and by their members; what a set holds is unknown in one of two elements.
const LATER: &str = r#"
resource "terraform_data" "later" {
  input = {
    text   = "told late"
    number = 7
    list   = ["one", "two"]
    map    = { a = "1", b = "2" }
    parts  = { left = { size = 1 }, right = { size = 2 } }
    any    = { deep = [true, null] }
  }
}
locals { later = terraform_data.later.output }
resource "toy_box" "members" {
  name     = "members"
  note     = local.later.text
  weight   = local.later.number
  colour   = local.later.text
  labels   = { known = "yes", later = local.later.text }
  stickers = ["known", local.later.text]
  owners   = ["known", local.later.text]
  content  = { known = 1, later = local.later.any }
  lid      = { kind = local.later.text, period = "1h" }
  parts    = { known = { size = 1 }, later = { size = local.later.number } }
  layers   = [{ material = "felt" }, { material = local.later.text }]
  stamps   = [{ country = "PE" }, { country = local.later.text, year = local.later.number }]
  size     = { width = local.later.number, height = 2 }
  key      = local.later.text
}
resource "toy_box" "wholes" {
  name     = local.later.text
  labels   = local.later.map
  stickers = local.later.list
  owners   = toset(local.later.list)
  content  = local.later.any
  parts    = local.later.parts
  layers   = [for material in local.later.list : { material = material }]
  stamps   = [for country in local.later.list : { country = country }]
  size     = { for side in ["width", "height"] : side => local.later.number }
}
"#;

pub(super) fn applied(room: &Room) -> Result<()> {
    room.main(LATER)?;
    room.workspace.expect_changes()?;
    let planned = room.workspace.planned_change("toy_box.members")?;
    for pointer in ["/parts/known/size", "/layers/0/material", "/lid/period"] {
        let after = planned["after"].pointer(pointer);
        ensure!(
            after.is_some_and(|value| !value.is_null()),
            "{pointer} is known: {planned:#}"
        );
    }
    for pointer in ["/parts/later/size", "/layers/1/material", "/lid/kind"] {
        let unknown = planned["after_unknown"].pointer(pointer);
        ensure!(unknown == Some(&json!(true)), "{pointer}: {planned:#}");
    }
    let wholes = room.workspace.planned_change("toy_box.wholes")?;
    ensure!(wholes["after_unknown"]["id"] == true, "{wholes:#}");
    room.workspace.apply()?.succeeded()?;

    let members = room.workspace.attributes("toy_box.members")?;
    let wholes = room.workspace.attributes("toy_box.wholes")?;
    for (of, pointer, expected) in [
        (&members, "/note", json!("told late")),
        (&members, "/weight", json!(7)),
        (&members, "/stickers", json!(["known", "told late"])),
        (&members, "/content/later/deep", json!([true, null])),
        (&members, "/parts/later/serial", json!("members-later")),
        (&members, "/layers/1/soft", json!(false)),
        (&members, "/size", json!({ "width": 7, "height": 2 })),
        (&members, "/locked", json!(true)),
        (&members, "/key", Value::Null),
        (&wholes, "/id", json!("box/told late")),
        (&wholes, "/owners", json!(["one", "two"])),
        (&wholes, "/parts/right/serial", json!("told late-right")),
        (&wholes, "/layers/0/material", json!("one")),
        (&wholes, "/colour", json!("brown")),
    ] {
        let found = of.pointer(pointer).unwrap_or(&Value::Null);
        ensure!(*found == expected, "{pointer} is {found}, not {expected}");
    }
    room.workspace.expect_empty_plan()?;
    // Known values become unknown ones again, in an update.
    room.main(&LATER.replace("number = 7", "number = 8"))?;
    room.workspace.expect_changes()?;
    room.workspace.apply()?.succeeded()?;
    let weight = room.workspace.attributes("toy_box.members")?["weight"].take();
    ensure!(weight == 8, "the weight is {weight}");
    room.workspace.expect_empty_plan()?;
    room.workspace.destroy()?.succeeded().map(drop)
}
