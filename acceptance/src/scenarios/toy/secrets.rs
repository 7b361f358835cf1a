//! Secrets: values that no file of the host may hold, and files that nobody else may read.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::Room;
use crate::workspace::{Run, Started};

/// Every key that hung in the world while a command ran, and whether one of them was renewed.
#[derive(Default)]
struct Keys {
    seen: BTreeSet<String>,
    renewed: bool,
}

impl Keys {
    /// Looks until the command ends.
    fn watch(&mut self, room: &Room, command: &Started) -> Result<()> {
        while crate::process::is_alive(command.pid()) {
            for name in room.names()?.iter().filter(|name| name.starts_with('.')) {
                // It may be taken down at any moment.
                let text = fs::read_to_string(room.boxes.join(name)).unwrap_or_default();
                if let Some((key, rest)) = text.split_once('\n') {
                    self.seen.insert(key.to_owned());
                    self.renewed |= rest.contains("renewed");
                }
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

pub(super) fn stored_nowhere(mut room: Room) -> Result<()> {
    let configuration = |version: u32| {
        let folder = room.boxes.display();
        format!(
            r#"
provider "toy" {{
  folder = "{folder}"
  way    = "100ms"
}}
ephemeral "toy_key" "front" {{ lasts = "1s" }}
resource "toy_box" "safe" {{
  name        = "safe"
  note        = "plain-to-see"
  key         = ephemeral.toy_key.front.value
  key_version = {version}
  work_time   = "1500ms"
}}
"#
        )
    };
    let texts = [configuration(1), configuration(2)];
    let trace = room.workspace.folder().join("trace.log");
    room.workspace.set("TF_LOG", "trace");
    room.workspace
        .set("TF_LOG_PATH", &trace.display().to_string());

    let mut keys = Keys::default();
    room.workspace.main(&texts[0])?;
    let planning = room.workspace.start(&["plan", "-no-color", "-out=plan"])?;
    keys.watch(&room, &planning)?;
    planning.wait()?.succeeded()?;
    ensure!(!keys.seen.is_empty(), "the plan opened no key");
    let shown = room.workspace.run(&["show", "-json", "plan"])?;
    let applying = room.workspace.start(&["apply", "-no-color", "plan"])?;
    keys.watch(&room, &applying)?;
    applying.wait()?.succeeded()?;
    ensure!(keys.renewed, "nobody renewed a key that lasted long enough");
    ensure!(
        room.names()?.iter().eq(["safe"]),
        "a key was not closed: {:?}",
        room.names()?
    );

    let lock = room.look("safe")?["lock"].take();
    let first = lock.as_str().context("the safe has no lock")?.to_owned();
    ensure!(keys.seen.contains(&first), "nobody cut the key of the safe");
    ensure!(room.workspace.attributes("toy_box.safe")?["locked"] == true);
    nowhere_in_files(&room, &keys, &shown)?;

    // An ordinary attribute tells that there is a new one to be taken; without it nothing changes.
    room.workspace.expect_empty_plan()?;
    room.workspace.main(&texts[1])?;
    room.workspace.apply()?.succeeded()?;
    ensure!(
        room.look("safe")?["lock"] != first,
        "the lock is the old one"
    );
    room.workspace.expect_empty_plan().map(drop)
}

/// Every file that the host and the provider left, but not the world.
fn nowhere_in_files(room: &Room, keys: &Keys, shown: &Run) -> Result<()> {
    let folder = room.workspace.folder();
    let shown = shown.output.clone().into_bytes();
    // What the provider keeps for itself is stored too, in letters that hide it from a search.
    let private = room.stored_object("toy_box", "safe")?["private"].take();
    let private = BASE64_STANDARD.decode(private.as_str().unwrap_or_default())?;
    let texts = [
        ("the plan as JSON", "plain-to-see", shown),
        (
            "the plan",
            "plain-to-see",
            room.workspace.plan_file()?.into_bytes(),
        ),
        (
            "the state",
            "plain-to-see",
            fs::read(folder.join("terraform.tfstate"))?,
        ),
        ("what the provider keeps", "made", private),
        (
            "the log",
            "terraform-provider-toy",
            fs::read(folder.join("trace.log"))?,
        ),
    ];
    for (what, word, text) in texts {
        let has = |word: &str| memory_has(&text, word);
        ensure!(has(word), "this is no way to look into {what}");
        for key in &keys.seen {
            ensure!(!has(key), "a key is in {what}");
        }
    }
    Ok(())
}

pub(super) fn encrypted(mut room: Room) -> Result<()> {
    let markers = ["marker-in-a-note", "marker-in-a-label", "marker-in-a-set"];
    let boxes = r#"
resource "toy_box" "a" {
  name   = "a"
  note   = "marker-in-a-note"
  labels = { label = "marker-in-a-label" }
  owners = ["marker-in-a-set"]
}
"#;
    room.main(boxes)?;
    room.workspace.write(
        "encryption.tf",
        r#"
variable "passphrase" { type = string }
terraform {
  encryption {
    key_provider "pbkdf2" "key" {
      passphrase = var.passphrase
      # The fewest that are allowed, since every command has to go through them.
      iterations = 200000
    }
    method "aes_gcm" "method" { keys = key_provider.pbkdf2.key }
    state {
      method   = method.aes_gcm.method
      enforced = true
    }
    plan {
      method   = method.aes_gcm.method
      enforced = true
    }
  }
}
"#,
    )?;
    room.workspace
        .set("TF_VAR_passphrase", "correct horse battery staple");
    room.workspace.expect_changes()?;
    let applied = room
        .workspace
        .run(&["apply", "-no-color", "-input=false", "plan"])?;
    applied.succeeded()?;
    ensure!(room.look("a")?["note"] == markers[0], "nothing was applied");

    let folder = room.workspace.folder();
    for file in ["plan", "terraform.tfstate"] {
        let content = fs::read(folder.join(file))?;
        let words = markers.iter().chain(&["toy_box", "passphrase", "battery"]);
        for word in words {
            ensure!(!memory_has(&content, word), "{file} has {word}");
        }
        let json: serde_json::Value = serde_json::from_slice(&content)
            .with_context(|| format!("{file} is not what encryption makes"))?;
        ensure!(
            json["encrypted_data"].is_string(),
            "{file} is not encrypted"
        );
    }
    room.workspace.expect_empty_plan()?;
    room.workspace
        .set("TF_VAR_passphrase", "some other horse and staple");
    room.workspace.plan()?.failed()?.says("decrypt").map(drop)
}

/// Whether some bytes have these among them.
fn memory_has(bytes: &[u8], word: &str) -> bool {
    bytes
        .windows(word.len())
        .any(|window| window == word.as_bytes())
}
