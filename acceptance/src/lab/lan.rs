//! Workloads on the network of the lab itself, as on the LAN of a house: each has an address there that everybody reaches.
//!
//! The managed network of `cluster.rs` is another one on each member, which only that member knows. Here workloads get
//! a card beside their member's own, and an address from a DHCP server at the operator's place. One thing is as it is
//! with such cards everywhere: a member does not reach its own workloads.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use anyhow::{Context, Result};
use serde_json::json;

use super::Lab;
use super::image::BUSYBOX;
use crate::process::{self, tool};

/// The DHCP server; dropping it ends it.
#[derive(Debug)]
pub struct Lan {
    server: Child,
}

impl Lab {
    /// From now on workloads without a network card of their own are on the network of the lab.
    pub fn lan(&self) -> Result<Lan> {
        let place = self.operators_place()?;
        fs::create_dir_all(&place.directory)?;
        let folder = place.directory.display();
        let config = format!(
            "start 10.99.0.100\nend 10.99.0.199\ninterface eth0\nlease_file {folder}/leases\npidfile {folder}/pid\n\
             opt subnet 255.255.255.0\nopt lease 3600\n"
        );
        let file = place.directory.join("udhcpd.conf");
        fs::write(&file, config)?;
        fs::write(place.directory.join("leases"), "")?;
        let namespace = format!("--net=/run/netns/{}", place.namespace);
        let mut command = tool("nsenter", &[&namespace, BUSYBOX, "udhcpd", "-f"]);
        let server = command
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in the terminal is for the runner alone.
            .process_group(0)
            .spawn()
            .context("starting a DHCP server")?;
        let lan = Lan { server };
        let card = json!({ "type": "nic", "nictype": "macvlan", "parent": "eth0", "name": "eth0" });
        let profile = json!({ "devices": { "eth0": card } });
        self.observer()
            .request("PATCH", "/1.0/profiles/default", Some(&profile))?;
        Ok(lan)
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        if let Err(error) = process::end(&[self.server.id()]) {
            eprintln!("{error:#}");
        }
        // It was killed; only its exit code remains to be collected.
        let _ = self.server.wait();
    }
}
