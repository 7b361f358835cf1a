//! `examples/apps` on a real cluster: a web app, a database and collectors of one program, from its apply to its destroy.
//!
//! Only what the lab cannot have is another one: the addresses of servers, and times that nobody wants to wait for. The
//! images are made here and play their parts: one answers on a path, one on a port, one tells the files that it found.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpStream;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::endpoint;
use super::secrets::{machines, with_private};
use crate::lab::{Incus, Kind, Lab, Lan, POOL, Registry};
use crate::observer::{Observer, Workload};
use crate::pair::Pair;
use crate::process::inside;
use crate::scenario::{Context, Need, Scenario};
use crate::tofu::repository;
use crate::watch::watch;
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[Scenario {
    name: "the_program_of_apps_works_as_it_is_written",
    proves: "The example with a web app, a database and collectors on three members: applied once it all runs and a second \
             plan is empty; the web app rolls without ever missing one, the database is replaced in place with its data \
             and its port; no secret is in state or plan; a destroy leaves the volume alone, and that only unless asked.",
    group: "app",
    needs: &[Need::Incus7, Need::Registry],
    seconds: 120,
    run: program,
}];

const DATABASE_URL: &str = "postgres://web:correct-horse@db/web";
const TOKEN: &str = "glc_battery-staple";
/// Where the example has its volume, and what is left there.
const LEFT: &str = "/var/lib/postgresql/data/left";
const DATABASE_PORT: u16 = 5432;

/// The lab, the user at the operator's place, and what the program needs beside Incus.
struct Site {
    lab: Lab,
    observer: Observer,
    workspace: Workspace,
    registry: Registry,
    lan: Lan,
    /// What must not be in any file: secrets, and the private key of each machine's metrics.
    secret: Vec<String>,
}

fn program(context: &Context) -> Result<()> {
    let mut site = Site::up(context)?;
    let text = site.example()?;
    let write = |text: &str| site.workspace.write("main.tf", text);
    write(&text)?;
    site.workspace.expect_changes()?;
    site.kept_nowhere()?;
    site.workspace.apply()?.succeeded()?;
    let web = site.expect("web", 2, "acme/web:1.4.2")?;
    site.expect_declared(&web)?;
    let database = site.expect("postgres", 1, "postgres:17")?.remove(0);
    site.leave(&database)?;
    site.expect_port(&database.location, true)?;
    site.expect_collectors()?;
    site.workspace.expect_empty_plan()?;
    site.kept_nowhere()?;

    let text = text.replace("acme/web:1.4.2", "acme/web:1.5.0");
    write(&text)?;
    let (apply, seen) = watch(&site.observer, "web", || site.workspace.apply())?;
    apply.succeeded()?;
    ensure!(seen.fewest_healthy >= 2, "{seen:?}");
    site.expect("web", 2, "acme/web:1.5.0")?;
    site.workspace.expect_empty_plan()?;

    let text = text.replace("postgres:17", "postgres:18");
    write(&text)?;
    let (apply, seen) = watch(&site.observer, "postgres", || site.workspace.apply())?;
    apply.succeeded()?;
    ensure!(seen.most == 1, "{} ran at once", seen.most);
    site.expect_data(&database.location)?;
    site.workspace.expect_empty_plan()?;
    site.kept_nowhere()?;

    site.workspace.destroy()?.succeeded()?;
    site.expect_gone(&database.location, 1)?;
    site.kept_nowhere()?;

    write(&text.replace("delete_volumes = false", "delete_volumes = true"))?;
    site.workspace.apply()?.succeeded()?;
    site.expect_data(&database.location)?;
    site.workspace.expect_empty_plan()?;
    site.workspace.destroy()?.succeeded()?;
    site.expect_gone(&database.location, 0)?;
    let Site {
        lab, lan, registry, ..
    } = site;
    drop((lan, registry));
    lab.down()
}

impl Site {
    fn up(context: &Context) -> Result<Site> {
        let lab = Lab::up_with("program", 3, Incus::V7)?;
        let observer = lab.observer();
        let registry = lab.registry()?;
        for (repository, kind, version) in [
            ("acme/web", Kind::On(8080), "1.4.2"),
            ("acme/web", Kind::On(8080), "1.5.0"),
            ("postgres", Kind::On(DATABASE_PORT), "17"),
            ("postgres", Kind::On(DATABASE_PORT), "18"),
            ("grafana/alloy", Kind::Collector, "v1.10.0"),
        ] {
            registry.push_kind(repository, kind, version)?;
        }
        let mut workspace = context.workspace("program")?;
        // From where the workloads are reached, as from a desk on the LAN.
        workspace.inside(lab.operator()?);
        let mut secret = vec![DATABASE_URL.to_owned(), TOKEN.to_owned()];
        let mut metrics = BTreeMap::new();
        for machine in machines(&observer)? {
            let pair = Pair::new(2200)?;
            pair.add_as(&observer, "metrics", &format!("{machine}-metrics"))?;
            // A line from the middle of the key; as JSON writes the whole, its ends of lines would hide it.
            secret.extend(pair.key.lines().nth(1).map(str::to_owned));
            let of_machine =
                json!({ "metrics_key": pair.key, "metrics_certificate": pair.certificate });
            metrics.insert(machine, of_machine);
        }
        workspace.set("TF_VAR_database_url", DATABASE_URL);
        workspace.set("TF_VAR_grafana_token", TOKEN);
        workspace.set("TF_VAR_metrics", &json!(metrics).to_string());
        Ok(Site {
            lan: lab.lan()?,
            lab,
            observer,
            workspace,
            registry,
            secret,
        })
    }

    /// The example with the lab's servers, and shorter times.
    fn example(&mut self) -> Result<String> {
        let path = repository().join("examples/apps/main.tf");
        let mut text = fs::read_to_string(&path).context("reading the example")?;
        let mut replace = |from: &str, to: &str| {
            ensure!(text.contains(from), "the example has no {from}");
            text = text.replace(from, to);
            Ok(())
        };
        for (number, member) in self.lab.members().iter().enumerate() {
            let from = format!("https://10.0.0.{}:8443", 11 + number);
            replace(&from, &endpoint(&member.socket()))?;
        }
        // A socket asks for none.
        for credential in ["client_certificate", "client_key"] {
            replace(&format!("var.{credential}"), "null")?;
            self.workspace.set(&format!("TF_VAR_{credential}"), "none");
        }
        replace("https://registry.example.net", &self.registry.server())?;
        replace("\"30s\"", "\"2s\"")?;
        replace("\"5m\"", "\"40s\"")?;
        replace("\"10m\"", "\"40s\"")?;
        Ok(text)
    }

    /// All replicas run, and what serves is the version of this image.
    fn expect(&self, app: &str, replicas: usize, image: &str) -> Result<Vec<Workload>> {
        let workloads = self.observer.workloads(app)?;
        ensure!(workloads.len() == replicas, "{workloads:#?}");
        let version = image.rsplit(':').next().unwrap_or(image);
        for workload in &workloads {
            ensure!(
                workload.is_running() && workload.image == image,
                "{workload:#?}"
            );
            let answer = self.observer.answer(&workload.name, "/version")?;
            ensure!(answer == version, "{} serves {answer}", workload.name);
        }
        Ok(workloads)
    }

    /// Each is on a member of its own, with everything that the example gives it.
    fn expect_declared(&self, web: &[Workload]) -> Result<()> {
        ensure!(web[0].location != web[1].location, "{web:#?}");
        for workload in web {
            let path = format!("/1.0/instances/{}", workload.name);
            let config = self.observer.get(&path)?["config"].take();
            for (key, value) in [
                ("environment.LOG_LEVEL", "info"),
                ("environment.DATABASE_URL", DATABASE_URL),
                ("limits.memory", "512MiB"),
            ] {
                ensure!(config[key] == value, "{key} is {}", config[key]);
            }
        }
        Ok(())
    }

    /// On each machine one runs that found its configuration and its own machine's key.
    fn expect_collectors(&self) -> Result<()> {
        for machine in machines(&self.observer)? {
            let name = format!("alloy-{machine}-g0");
            let config = self.observer.answer(&name, "/config")?;
            for expected in [
                "https://prom.example.net/write",
                "http://10.0.0.5:9090/api/v1/write",
                "password = sys.env(\"cloud\")",
                &format!("machine = \"{machine}\""),
            ] {
                ensure!(
                    config.contains(expected),
                    "{name} lacks {expected}: {config}"
                );
            }
            let files = self.observer.answer(&name, "/files")?;
            ensure!(files.contains("metrics.key"), "{name} has {files}");
            let path = format!("/1.0/instances/{name}");
            let keys = self.observer.get(&path)?["config"].take();
            ensure!(keys["environment.cloud"] == TOKEN, "{name} has no token");
        }
        Ok(())
    }

    /// Writes something into the volume of the database.
    fn leave(&self, database: &Workload) -> Result<()> {
        let command = format!("echo kept >{LEFT}");
        let body = json!({
            "command": ["sh", "-c", command],
            "wait-for-websocket": false,
            "interactive": false,
        });
        let path = format!("/1.0/instances/{}/exec", database.name);
        self.observer.finish("POST", &path, Some(&body)).map(drop)
    }

    /// The new database is where the old one was, with what was left there, and on its port.
    fn expect_data(&self, location: &str) -> Result<()> {
        let database = self.expect("postgres", 1, "postgres:18")?.remove(0);
        ensure!(database.location == location, "{database:#?}");
        let path = format!("/1.0/instances/{}/files?path={LEFT}", database.name);
        let (status, content) = self.observer.exchange("GET", &path, &[], &[])?;
        ensure!(
            status == 200 && content == b"kept\n",
            "the data is gone: {status} {}",
            String::from_utf8_lossy(&content)
        );
        self.expect_port(location, true)
    }

    /// Whether somebody takes connections at the port of the database, on this member.
    fn expect_port(&self, member: &str, taken: bool) -> Result<()> {
        let address = self.lab.member(member)?.address().to_owned();
        let network = Path::new("/run/netns").join(self.lab.operator()?);
        let connected = inside(&network, || {
            Ok(TcpStream::connect((&*address, DATABASE_PORT)).is_ok())
        })?;
        ensure!(
            connected == taken,
            "{member}:{DATABASE_PORT} takes: {connected}"
        );
        Ok(())
    }

    /// Nothing is left but so many volumes.
    fn expect_gone(&self, location: &str, volumes: usize) -> Result<()> {
        let instances = self.observer.instances("default")?;
        ensure!(instances.is_empty(), "{instances:#?}");
        let path = format!("/1.0/storage-pools/{POOL}/volumes/custom?recursion=1");
        let left = self.observer.list(&path)?;
        ensure!(left.len() == volumes, "{left:#?}");
        let images = self.observer.list("/1.0/images?recursion=1")?;
        let pulled = |image: &&Value| image["properties"]["type"] == "oci";
        let pulled: Vec<&Value> = images.iter().filter(pulled).collect();
        ensure!(pulled.is_empty(), "{pulled:#?}");
        self.expect_port(location, false)
    }

    /// No secret is in the state, its backup or the last saved plan.
    fn kept_nowhere(&self) -> Result<()> {
        let folder = self.workspace.folder();
        let mut texts = vec![("the plan", self.workspace.plan_file()?)];
        for name in ["terraform.tfstate", "terraform.tfstate.backup"] {
            let bytes = fs::read(folder.join(name)).unwrap_or_default();
            texts.push((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
        texts.push(("the plan as JSON", self.workspace.planned()?.to_string()));
        for (name, text) in texts {
            for text in with_private(&text) {
                let found = self.secret.iter().any(|secret| text.contains(&**secret));
                ensure!(!found, "{name} holds a secret");
            }
        }
        Ok(())
    }
}
