//! The provider's process: configured late, started by hand, broken by one of its objects, killed.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::Room;
use crate::interrupt::Running;
use crate::process::{self, tool, wait_until};
use crate::scenario::Context;

/// How long a process has for what it does at once.
const SOON: Duration = Duration::from_secs(10);

/// What the configuration of the toy is, when nobody knows it before the apply.
pub(super) fn configured_late(room: &Room) -> Result<()> {
    let folder = room.boxes.display();
    room.workspace.main(&format!(
        r#"
resource "terraform_data" "folder" {{ input = "{folder}" }}
provider "toy" {{ folder = terraform_data.folder.output }}
resource "toy_box" "a" {{ name = "a" }}
data "toy_count" "all" {{
  prefix     = ""
  depends_on = [toy_box.a]
}}
output "boxes" {{ value = data.toy_count.all.count_of_boxes }}
"#
    ))?;
    room.workspace.expect_changes()?;
    let change = room.workspace.planned_change("toy_box.a")?;
    ensure!(
        change["actions"] == json!(["create"]) && change["after"]["id"] == "box/a",
        "planned: {change}"
    );
    room.workspace.apply()?.succeeded()?;
    ensure!(room.names()?.contains("a"), "the world is empty");
    let boxes = room.workspace.state()?["values"]["outputs"]["boxes"]["value"].take();
    ensure!(boxes == 1, "the data source saw {boxes} boxes");
    room.workspace.expect_empty_plan()?;
    // What needs the folder at once cannot have it, and says so.
    room.workspace.write(
        "now.tf",
        "resource \"terraform_data\" \"later\" {}\n\
         provider \"toy\" {\n  alias  = \"late\"\n  folder = terraform_data.later.id\n}\n\
         data \"toy_count\" \"now\" { provider = toy.late }\n",
    )?;
    room.workspace
        .plan()?
        .failed()?
        .says("The folder of the boxes is not known")
        .map(drop)
}

/// A toy that runs already; one that is still there at the end is killed.
struct ByHand {
    child: Child,
    output: BufReader<ChildStdout>,
    _running: Running,
}

impl ByHand {
    fn start(context: &Context, log: File) -> Result<ByHand> {
        let program = context.programs.toy()?;
        let mut command = tool(&program.to_string_lossy(), &["--debug"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut child = command.spawn().context("starting the toy")?;
        let running = Running::note(child.id());
        let output = child.stdout.take().context("its output")?;
        Ok(ByHand {
            child,
            output: BufReader::new(output),
            _running: running,
        })
    }

    /// The variable that it asks hosts to have.
    fn variable(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).context("its first line")?;
        let value = line.trim_end().strip_prefix("TF_REATTACH_PROVIDERS='");
        let value = value.and_then(|rest| rest.strip_suffix('\''));
        Ok(value
            .with_context(|| format!("not what a shell can read: {line}"))?
            .to_owned())
    }
}

impl Drop for ByHand {
    fn drop(&mut self) {
        let _ = process::end(&[self.child.id()]);
        let _ = self.child.wait();
    }
}

pub(super) fn reattached(mut room: Room, context: &Context) -> Result<()> {
    room.main("resource \"toy_box\" \"a\" { name = \"a\" }\n")?;
    // Without any way to find a provider by itself the host can only use the running one.
    room.workspace.write("home/tofu.rc", "")?;
    room.workspace.plan()?.failed()?;
    let log = room.workspace.folder().join("toy.log");
    let mut toy = ByHand::start(context, File::create(&log)?)?;
    let variable = toy.variable()?;
    let told: Value = serde_json::from_str(&variable).context("understanding the line")?;
    let socket = &told["registry.opentofu.org/example/toy"]["Addr"]["String"];
    let socket = socket.as_str().context("a socket")?.to_owned();
    room.workspace.set("TF_REATTACH_PROVIDERS", &variable);
    room.workspace.expect_changes()?;
    room.workspace.apply()?.succeeded()?;
    ensure!(room.names()?.contains("a"), "the world is empty");
    room.workspace.expect_empty_plan()?;
    room.workspace.destroy()?.succeeded()?;
    ensure!(room.names()?.is_empty(), "the world: {:?}", room.names()?);

    let pid = toy.child.id();
    ensure!(process::is_alive(pid), "it ended with one of its hosts");
    process::signal(pid, Signal::INT);
    let mut status = None;
    wait_until("the toy ends on Ctrl-C", SOON, || {
        status = toy.child.try_wait()?;
        Ok(status.is_some())
    })?;
    let log = fs::read_to_string(log)?;
    ensure!(
        status.is_some_and(|status| status.success()),
        "it failed: {log}"
    );
    ensure!(!fs::exists(&socket)?, "its socket is still there");
    // Whoever still has the variable is told that nobody is there.
    room.workspace.plan()?.failed().map(drop)
}

pub(super) fn broken(room: &Room) -> Result<()> {
    let boxes = |note: &str, work_time: &str| {
        format!(
            r#"
resource "toy_box" "well" {{
  count = 3
  name  = "well-${{count.index}}"
}}
resource "toy_box" "bad" {{
  name       = "bad"
  note       = "{note}"
  work_time  = "{work_time}"
  depends_on = [terraform_data.begin]
}}
resource "terraform_data" "begin" {{}}
resource "toy_box" "after" {{
  name       = "after"
  depends_on = [toy_box.bad]
}}
"#
        )
    };
    let has_well = || -> Result<()> {
        for index in 0..3 {
            room.workspace
                .attributes(&format!("toy_box.well[{index}]"))?;
        }
        Ok(())
    };
    room.main(&boxes("panic", "10ms"))?;
    let applied = room.workspace.apply()?.failed()?;
    // The panic is told as what it is, at the object that it concerns, and the process goes on.
    applied
        .says("the box is cursed")?
        .says("with toy_box.bad")?
        .says_not("Plugin did not respond")?;
    has_well()?;
    ensure!(room.workspace.state_of("toy_box.after")?.is_none());
    room.apply(&boxes("fine", "10ms"))?;
    room.workspace.expect_empty_plan()?;

    // A process that is killed cannot tell anything; the host does, and stores what it knows.
    room.main(&boxes("slow now", "1m"))?;
    let applying = room.workspace.start_apply()?;
    wait_until("the work has begun", SOON, || {
        Ok(applying.printed().contains("toy_box.bad: Modifying..."))
    })?;
    let is_provider = |pid: &u32| {
        fs::read_link(format!("/proc/{pid}/exe"))
            .is_ok_and(|program| program.ends_with("terraform-provider-toy"))
    };
    let mut providers = process::with_descendants(&[applying.pid()]);
    providers.retain(is_provider);
    ensure!(!providers.is_empty(), "there is nobody to be killed");
    process::end(&providers)?;
    applying.wait()?.failed()?.says("did not respond")?;
    has_well()?;
    let attributes = room.workspace.attributes("toy_box.bad")?;
    ensure!(attributes["note"] == "fine", "{attributes}");
    room.apply(&boxes("fine again", "10ms"))?;
    room.workspace.expect_empty_plan().map(drop)
}
