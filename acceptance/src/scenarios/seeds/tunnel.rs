//! What a real WireGuard makes of a rendered tunnel: connections through a NAT, in both directions (HO-WG-12).

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::fleet::prepare;
use crate::lab::{Keypair, Tunnel};
use crate::process::{run, tool};
use crate::scenario::Context;
use crate::tofu::repository;

const HUB: Ipv4Addr = Ipv4Addr::new(10, 100, 0, 1);

/// The module gives both ends: seeds for the machines, and a configuration for the hub.
fn fleet(hub: &str, public_key: &str) -> String {
    format!(
        r#"
module "fleet" {{
  source = "./fleet"
  network = {{
    cidr         = "192.168.50.0/24"
    gateway      = "192.168.50.1"
    dns          = ["192.168.50.1"]
    static_range = "192.168.50.10-192.168.50.19"
  }}
  machines = {{
    a = {{ mac = "52:54:00:00:00:0a", role = "bootstrap" }}
    b = {{ mac = "52:54:00:00:00:0b" }}
  }}
  break_glass_certificate = file("break-glass.crt")
  joiner_certificate      = file("joiner.crt")
  overlay = {{ hub = {{ endpoint = "{hub}:51820", public_key = "{public_key}" }} }}
}}

output "hub_config" {{
  value = module.fleet.hub_config
}}

output "seeds" {{
  value     = module.fleet.seeds
  sensitive = true
}}
"#
    )
}

pub(super) fn carries(context: &Context) -> Result<()> {
    let workspace = context.workspace("seeds-tunnel")?;
    prepare(context, &workspace)?;
    let module = repository().join("modules/fleet");
    run(tool("cp", &["-R"]).arg(module).arg(workspace.folder()))?;
    let tunnel = Tunnel::up("seeds")?;
    let (hub, machine) = (&tunnel.hub, &tunnel.machine);
    let of_hub = Keypair::generate()?;
    workspace.main(&fleet(hub.address(), &of_hub.public))?;
    workspace.run(&["get", "-no-color"])?.succeeded()?;
    let applied = workspace.apply()?.succeeded()?;
    applied.says("Machine a finds its hub by an address")?;

    let outputs = run_json(
        &workspace
            .run(&["output", "-no-color", "-json"])?
            .succeeded()?
            .output,
    )?;
    let config = outputs["hub_config"]["value"]
        .as_str()
        .context("the hub's configuration")?;
    let (at_hub, address) = stripped(config, &of_hub.private);
    hub.configure(&at_hub, &address, 1420)?;
    let network = outputs["seeds"]["value"]["b"]["network.json"].as_str();
    let network: Value = serde_json::from_str(network.context("a seed")?)?;
    let rendered = &network["wireguard"][0];
    let address = rendered["addresses"][0].as_str().context("an address")?;
    let mtu = u16::try_from(rendered["mtu"].as_u64().context("an MTU")?)?;
    machine.configure(&as_incusos_would(rendered)?, address, mtu)?;

    let own: Ipv4Addr = address.split('/').next().unwrap_or_default().parse()?;
    for (from, to, at, seen) in [(machine, hub, HUB, own), (hub, machine, own, HUB)] {
        let crossed = tunnel.tcp_exchange(from, to, at, 8443)?;
        ensure!(crossed.seen_from == seen, "{crossed:?}");
    }
    tunnel.down()?;
    workspace.destroy()?.succeeded().map(drop)
}

fn run_json(text: &str) -> Result<Value> {
    serde_json::from_str(text).context("understanding the outputs")
}

/// What `wg-quick` does with its own lines, and the address that it would set.
fn stripped(config: &str, private_key: &str) -> (String, String) {
    let of = |line: &str| line.strip_prefix("Address = ").map(str::to_owned);
    let address = config.lines().find_map(of).unwrap_or_default();
    let own = |line: &&str| !line.starts_with("Address") && !line.starts_with("PostUp");
    let lines: Vec<&str> = config.lines().filter(own).collect();
    let with_key = format!("[Interface]\nPrivateKey = {private_key}");
    (
        lines.join("\n").replace("[Interface]", &with_key) + "\n",
        address,
    )
}

/// A rendered tunnel in the words of `wg setconf`.
fn as_incusos_would(rendered: &Value) -> Result<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned).context("a text");
    let mut config = format!(
        "[Interface]\nPrivateKey = {}\n",
        text(&rendered["private_key"])?
    );
    for peer in rendered["peers"].as_array().context("peers")? {
        write!(
            config,
            "[Peer]\nPublicKey = {}\nEndpoint = {}\nAllowedIPs = {}\nPersistentKeepalive = {}\n",
            text(&peer["public_key"])?,
            text(&peer["endpoint"])?,
            text(&peer["allowed_ips"][0])?,
            peer["persistent_keepalive"]
        )?;
    }
    Ok(config)
}
