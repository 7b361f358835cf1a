//! Every kind of attribute and nesting that a schema can have, and what happens to objects behind the host's back.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::Room;

/// A box with everything. Some values are there because they are awkward: a number that is no binary fraction, one that
/// no double can hold, a duration that can be written otherwise, an object in a value of any type.
const EVERYTHING: &str = r#"
  note     = "grüß \"dich\"\n${"$"}{x}"
  weight   = 0.1
  colour   = "blue"
  labels   = { one = "1", two = "" }
  stickers = ["b", "a", "b"]
  owners   = ["eve", "adam"]
  content  = { list = [1, "two", null], deep = { yes = true } }
  key_version = 9007199254740993
  work_time   = "10ms"
  lid    = { kind = "slide", period = "90m" }
  parts  = { left = { size = 1 }, right = { size = 2 } }
  layers = [{ material = "felt", soft = true }, { material = "tin" }]
  stamps = [{ country = "PE", year = 1999 }, { country = "NO" }]
  size   = { width = 3, height = 4 }
  timeouts = { create = "5m" }
"#;

/// What is edited, into what, and the only leaves that then change. A box with `revision` is changed at all.
const EDITS: &[(&str, &str, &str, &[&str])] = &[
    ("string", "\\\"dich\\\"", "euch", &["note"]),
    ("number", "weight   = 0.1", "weight   = 0.2", &["weight"]),
    (
        "large-number",
        "9007199254740993",
        "9007199254740995",
        &["key_version"],
    ),
    ("default", "colour   = \"blue\"", "", &["colour"]),
    ("map", "two = \"\"", "two = \"2\"", &["labels.two"]),
    ("map-key", ", two = \"\"", "", &["labels.two"]),
    (
        "list",
        "[\"b\", \"a\", \"b\"]",
        "[\"b\", \"c\", \"b\"]",
        &["stickers.1"],
    ),
    ("set", "\"adam\"", "\"abel\"", &["owners{}"]),
    (
        "set-order",
        "[\"eve\", \"adam\"]",
        "[\"adam\", \"eve\"]",
        &[],
    ),
    ("any", "yes = true", "yes = false", &["content.deep.yes"]),
    (
        "any-type",
        "{ yes = true }",
        "\"shallow\"",
        &["content.deep"],
    ),
    ("same-meaning", "\"90m\"", "\"1h30m\"", &[]),
    ("single", "\"slide\"", "\"screw\"", &["lid.kind"]),
    ("single-gone", "lid    = {", "#", &["lid"]),
    ("nested-map", "size = 2", "size = 3", &["parts.right.size"]),
    (
        "nested-map-key",
        ", right = { size = 2 }",
        "",
        &["parts.right"],
    ),
    ("nested-list", "\"tin\"", "\"zinc\"", &["layers.1.material"]),
    (
        "nested-list-default",
        ", soft = true",
        "",
        &["layers.0.soft"],
    ),
    ("nested-set", "\"NO\"", "\"IS\"", &["stamps{}"]),
    ("object", "width = 3", "width = 5", &["size.width"]),
    (
        "write-only",
        "timeouts = {",
        "key = \"fits\"\n  timeouts = {",
        &["locked"],
    ),
    ("timeouts", "\"5m\"", "\"6m\"", &["timeouts.create"]),
];

fn a_box(name: &str, content: &str) -> String {
    format!("resource \"toy_box\" \"{name}\" {{\n  name = \"{name}\"\n{content}\n}}\n")
}

pub(super) fn converge(room: &Room) -> Result<()> {
    let (mut before, mut after) = (String::new(), String::new());
    for (name, from, to, _) in EDITS {
        ensure!(EVERYTHING.contains(from), "{name} edits nothing");
        let _ = write!(before, "{}", a_box(name, EVERYTHING));
        let _ = write!(after, "{}", a_box(name, &EVERYTHING.replace(from, to)));
    }
    room.apply(&before)?;
    room.workspace.expect_empty_plan()?;
    as_written(&room.workspace.attributes("toy_box.string")?)?;

    room.main(&after)?;
    room.workspace.expect_changes()?;
    let plan = room.workspace.planned()?;
    for (name, _, _, leaves) in EDITS {
        let changes = plan["resource_changes"].as_array();
        let change = changes.and_then(|changes| {
            changes
                .iter()
                .find(|change| change["address"] == format!("toy_box.{name}"))
        });
        let change = change.map_or(&Value::Null, |change| &change["change"]);
        let mut expected: BTreeSet<String> = leaves.iter().map(|leaf| (*leaf).to_owned()).collect();
        let action = if leaves.is_empty() { "no-op" } else { "update" };
        if !leaves.is_empty() {
            expected.insert("revision".to_owned());
        }
        let found = differences(&change["before"], &change["after"]);
        ensure!(
            change["actions"] == json!([action]) && found == expected,
            "{name}: expected {expected:?}, found {found:?} in {change:#}"
        );
    }
    room.workspace.apply()?.succeeded()?;
    room.workspace.expect_empty_plan()?;
    room.workspace.destroy()?.succeeded()?;
    ensure!(room.names()?.is_empty(), "the world: {:?}", room.names()?);
    Ok(())
}

/// Values come back as they were written, and what the provider adds is there.
fn as_written(attributes: &Value) -> Result<()> {
    for (pointer, expected) in [
        ("/note", json!("grüß \"dich\"\n${x}")),
        ("/weight", json!(0.1)),
        ("/key_version", json!(9_007_199_254_740_993_u64)),
        ("/stickers", json!(["b", "a", "b"])),
        ("/owners", json!(["adam", "eve"])),
        ("/content/list", json!([1, "two", null])),
        ("/lid/period", json!("90m")),
        ("/parts/left/serial", json!("string-left")),
        ("/layers/1/soft", json!(false)),
        ("/id", json!("box/string")),
        ("/revision", json!(1)),
        ("/locked", json!(false)),
        ("/key", Value::Null),
    ] {
        let found = attributes.pointer(pointer).unwrap_or(&Value::Null);
        ensure!(*found == expected, "{pointer} is {found}, not {expected}");
    }
    Ok(())
}

/// The paths of the leaves in which two values differ; the elements of a set have no paths.
fn differences(before: &Value, after: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    compare(before, after, "", &mut found);
    found
}

fn compare(before: &Value, after: &Value, path: &str, found: &mut BTreeSet<String>) {
    let below = |key: &str| {
        if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        }
    };
    match (before, after) {
        _ if before == after => {}
        _ if ["owners", "stamps"].contains(&path) => {
            found.insert(format!("{path}{{}}"));
        }
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let (left, right) = (left.get(key), right.get(key));
                let of = |side: Option<&Value>| side.cloned().unwrap_or_default();
                compare(&of(left), &of(right), &below(key), found);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                compare(left, right, &below(&index.to_string()), found);
            }
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

pub(super) fn drift(room: &Room) -> Result<()> {
    let boxes = |renamed: &str| {
        let count = "data \"toy_count\" \"all\" { prefix = \"\" }\noutput \"boxes\" { value = data.toy_count.all.count_of_boxes }\n";
        let renamed = format!("resource \"toy_box\" \"renamed\" {{ name = \"{renamed}\" }}\n");
        let edited = a_box("edited", EVERYTHING);
        let lost = a_box("lost", "");
        format!("{edited}{lost}{renamed}{count}")
    };
    room.apply(&boxes("old"))?;
    // The data source was read before there was a box.
    room.workspace
        .run(&["apply", "-auto-approve", "-no-color"])?
        .succeeded()?;
    room.workspace.expect_empty_plan()?;
    let outputs = room.workspace.state()?["values"]["outputs"].take();
    ensure!(outputs["boxes"]["value"] == 3, "{outputs}");

    room.meddle("edited", |found| found["lid"]["kind"] = json!("jammed"))?;
    fs::remove_file(room.boxes.join("lost"))?;
    room.main(&boxes("new"))?;
    room.workspace.expect_changes()?;
    let edited = room.workspace.planned_change("toy_box.edited")?;
    let found = differences(&edited["before"], &edited["after"]);
    ensure!(
        edited["actions"] == json!(["update"])
            && found
                .into_iter()
                .eq(["lid.kind".to_owned(), "revision".to_owned()]),
        "planned: {edited:#}"
    );
    let lost = room.workspace.planned_change("toy_box.lost")?;
    ensure!(lost["actions"] == json!(["create"]), "planned: {lost}");
    let renamed = room.workspace.planned_change("toy_box.renamed")?;
    ensure!(
        renamed["actions"] == json!(["delete", "create"])
            && renamed["replace_paths"] == json!([["name"]]),
        "planned: {renamed}"
    );
    let plan = room.workspace.planned()?;
    let drifted: BTreeSet<&str> = plan["resource_drift"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|change| change["address"].as_str())
        .collect();
    ensure!(
        drifted.contains("toy_box.edited") && drifted.contains("toy_box.lost"),
        "drift was seen in {drifted:?}"
    );
    room.workspace.apply()?.succeeded()?;
    ensure!(
        room.names()?.iter().eq(["edited", "lost", "new"]),
        "the world: {:?}",
        room.names()?
    );
    ensure!(room.look("edited")?["lid"]["kind"] == "slide");
    Ok(())
}
