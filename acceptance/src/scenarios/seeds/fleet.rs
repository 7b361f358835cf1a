//! A fleet of seeds, and the module that makes one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::process::{run, tool};
use crate::scenario::Context;
use crate::scenarios::machines::changes;
use crate::tofu::repository;
use crate::workspace::Workspace;

/// The state and the plan hold the keys of machines: both are encrypted, as the guides tell to do.
const ENCRYPTION: &str = r#"
terraform {
  encryption {
    key_provider "pbkdf2" "own" {
      passphrase = "correct horse battery staple"
      # The fewest that are allowed, since every command has to go through them.
      iterations = 200000
    }
    method "aes_gcm" "own" {
      keys = key_provider.pbkdf2.own
    }
    state {
      method   = method.aes_gcm.own
      enforced = true
    }
    plan {
      method   = method.aes_gcm.own
      enforced = true
    }
  }
}
"#;

const FLEET: &str = r#"
resource "homelab_network" "lan" {
  name         = "lan"
  cidr         = "192.168.1.0/24"
  gateway      = "192.168.1.1"
  dns          = ["192.168.1.1"]
  static_range = "192.168.1.210-192.168.1.239"
  claims       = { for name, m in var.machines : name => m.pin }
}

resource "homelab_network" "overlay" {
  kind   = "overlay"
  name   = "wg"
  cidr   = "10.100.0.0/24"
  claims = { for name, _ in var.machines : name => null }
}

resource "homelab_instance" "node" {
  for_each     = var.machines
  name         = each.key
  mac          = each.value.mac
  role         = each.value.role
  network      = homelab_network.lan
  address      = homelab_network.lan.assignments[each.key]
  install_disk = { id = each.value.disk, sort_order = "smallest" }
}

resource "homelab_seed" "node" {
  for_each                = homelab_instance.node
  machine                 = each.value
  break_glass_certificate = file("break-glass.crt")
  joiner_certificate      = each.value.role == "join" ? file("joiner.crt") : null
  wireguard = {
    network = homelab_network.overlay
    address = homelab_network.overlay.assignments[each.key]
    hub     = { endpoint = "hub.example.net:51820", public_key = "pRZ2cZ2LkG8cT8b7S9P7m0Z1mN4Q1o3y0l0r1s2t3U4=" }
  }
  output     = { path = "${path.root}/seeds/${each.key}.tar.age", format = "tar" }
  encrypt_to = [trimspace(file("recipient"))]
}

output "hub_peers" {
  value = [for s in homelab_seed.node : s.hub_peer]
}
"#;

/// Three machines as a user writes them, and more.
fn write(workspace: &Workspace, more: &str) -> Result<()> {
    workspace.main(&format!(
        r#"
variable "machines" {{
  type = map(object({{
    mac  = string
    role = optional(string, "join")
    pin  = optional(string)
    disk = optional(string)
  }}))
  default = {{
    a = {{ mac = "52:54:00:00:00:0a", role = "bootstrap", pin = "192.168.1.210" }}
    b = {{ mac = "52-54-00-00-00-0B" }}
    c = {{ mac = "5254.0000.000c", disk = "nvme-eui.0025385b" }}
    {more}
  }}
}}
{ENCRYPTION}{FLEET}"#
    ))
}

/// The operator's certificates, and somebody who can read the seeds.
pub(in crate::scenarios) fn prepare(context: &Context, workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.folder().display().to_string();
    let program = context.programs.homelabctl();
    let mut make = tool(&program.to_string_lossy(), &["cert", "new", "--name"]);
    run(make.args(["homelab", "--output", &folder]))?;
    let identity = workspace.folder().join("identity");
    run(tool("age-keygen", &["-o"]).arg(&identity))?;
    let recipient = run(tool("age-keygen", &["-y"]).arg(&identity))?;
    workspace.write("recipient", &recipient)?;
    Ok(identity)
}

/// One file out of an encrypted tar, by programs that are not ours.
fn sealed(file: &Path, identity: &Path, name: &str) -> Result<String> {
    let script = r#"age --decrypt --identity "$1" "$2" | tar --extract --to-stdout "$3""#;
    let mut command = tool("sh", &["-ec", script, "sh"]);
    run(command.arg(identity).arg(file).arg(name))
}

pub(super) fn grows(context: &Context) -> Result<()> {
    let workspace = context.workspace("seeds-fleet")?;
    let identity = prepare(context, &workspace)?;
    write(&workspace, "")?;
    workspace.expect_changes()?;
    let applied = workspace.apply()?.succeeded()?;
    applied.says_not("must be installed again")?;
    let seed = |name: &str| workspace.folder().join(format!("seeds/{name}.tar.age"));
    for (name, address) in [
        ("a", "192.168.1.210"),
        ("b", "192.168.1.211"),
        ("c", "192.168.1.212"),
    ] {
        let mode = fs::metadata(seed(name))?.permissions().mode() & 0o777;
        ensure!(mode == 0o600, "{name} has mode {mode:o}");
        let network = sealed(&seed(name), &identity, "network.json")?;
        ensure!(
            network.contains(&format!("{address}/24")),
            "{name}: {network}"
        );
    }
    nothing_in_plain_text(&workspace, &seed("b"), &identity)?;
    workspace.expect_empty_plan()?;

    write(&workspace, "d = { mac = \"52:54:00:00:00:0d\" }")?;
    workspace.expect_changes()?;
    let expected = [
        "homelab_instance.node[\"d\"] [\"create\"]",
        "homelab_network.lan [\"update\"]",
        "homelab_network.overlay [\"update\"]",
        "homelab_seed.node[\"d\"] [\"create\"]",
    ];
    let seen = changes(&workspace)?;
    ensure!(seen == expected, "{seen:#?}");
    workspace.apply()?.succeeded()?;

    let before = sealed(&seed("c"), &identity, "network.json")?;
    fs::remove_file(seed("c"))?;
    workspace.expect_changes()?;
    let seen = changes(&workspace)?;
    ensure!(
        seen == ["homelab_seed.node[\"c\"] [\"update\"]"],
        "{seen:#?}"
    );
    workspace.apply()?.succeeded()?;
    let after = sealed(&seed("c"), &identity, "network.json")?;
    ensure!(before == after, "the seed came back with other keys");
    workspace.expect_empty_plan()?;

    workspace.destroy()?.succeeded()?;
    ensure!(
        !seed("a").exists() && !seed("d").exists(),
        "seeds were left behind"
    );
    Ok(())
}

/// HO-SEED-28. The key is taken from the sealed seed; nobody has asked OpenTofu to show its state yet.
fn nothing_in_plain_text(workspace: &Workspace, seed: &Path, identity: &Path) -> Result<()> {
    let network: Value = serde_json::from_str(&sealed(seed, identity, "network.json")?)?;
    let key = network["wireguard"][0]["private_key"].as_str();
    let key = key.context("the tunnel's key")?;
    let found = Path::new("/usr/bin/grep");
    for (text, expected) in [
        (key, &[][..]),
        ("PRIVATE KEY", &["break-glass.key", "joiner.key"]),
    ] {
        let mut search = tool(&found.to_string_lossy(), &["-rlF", "-e", text]);
        let output = search.current_dir(workspace.folder()).arg(".").output()?;
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut files: Vec<&str> = output
            .lines()
            .map(|line| line.trim_start_matches("./"))
            .collect();
        files.sort_unstable();
        ensure!(files == expected, "a private key is in {files:?}");
    }
    Ok(())
}

pub(super) fn faults(context: &Context) -> Result<()> {
    let workspace = context.workspace("seeds-faults")?;
    let identity = prepare(context, &workspace)?;
    let identity = fs::read_to_string(identity)?;
    let secret = identity.lines().last().unwrap_or_default();
    workspace.main(
        r#"
resource "homelab_seed" "wrong" {
  machine = {
    name    = "wrong"
    mac     = "52:54:00:00:00:01"
    role    = "join"
    address = "192.168.1.300"
  }
  break_glass_certificate = file("break-glass.key")
  wireguard = {
    network = { cidr = "10.100.0.0/24" }
    address = "10.100.0.1"
    hub     = { endpoint = "hub.example.net", public_key = "c2hvcnQ=" }
  }
  applications = ["incus", "nextcloud"]
  update       = { check_frequency = "1d" }
  extra_files  = { kernel = jsonencode({ consoles = [] }) }
  output       = { path = "seeds/", format = "zip" }
  # OpenTofu itself would show a secret that is written here.
  encrypt_to   = [element(split("\n", trimspace(file("identity"))), 2)]
}
"#,
    )?;
    let key = fs::read_to_string(workspace.folder().join("break-glass.key"))?;
    let key = key.lines().nth(1).context("a key")?;
    let mut plan = workspace
        .plan()?
        .failed()?
        .says_not(key)?
        .says_not(secret)?;
    for word in [
        "192.168.1.300",
        "private key",
        "joiner_certificate",
        "10.100.0.1",
        "hub.example.net",
        "32 bytes",
        "nextcloud",
        "1d",
        "consoles",
        "seeds/",
        "zip",
        "age1",
    ] {
        plan = plan.says(word)?;
    }
    Ok(())
}

/// The modules as a user gets them: a copy, so that nothing is written into the repository.
pub(super) fn modules(context: &Context) -> Result<()> {
    let workspace = context.workspace("seeds-modules")?;
    let from = repository().join("modules");
    run(tool("cp", &["-R"]).arg(from).arg(workspace.folder()))?;
    prepare(context, &workspace)?;
    for (module, passed) in [("fleet", 4), ("cluster", 3)] {
        let folder = workspace.folder().join("modules").join(module);
        let at = |folder: &Path| format!("-chdir={}", folder.display());
        let tested = workspace.run(&[&at(&folder), "test", "-no-color"])?;
        let counted = format!("{passed} passed, 0 failed");
        tested.succeeded()?.says(&counted)?;

        let example = folder.join("examples/three");
        for file in ["break-glass.crt", "break-glass.key", "joiner.crt"] {
            fs::copy(workspace.folder().join(file), example.join(file))?;
        }
        for word in ["get", "validate"] {
            workspace
                .run(&[&at(&example), word, "-no-color"])?
                .succeeded()?;
        }
    }
    let formatted = workspace.run(&["fmt", "-check", "-recursive", "-no-color"])?;
    formatted.succeeded().map(drop)
}
