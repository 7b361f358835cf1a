//! Collectors: apps of type `alloy` find their configuration and their keys when they start, and a way to their machine.
//!
//! The image is no Alloy: it tells what it found. What is in the configuration is compared in `domain`.

use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::secrets::machines;
use super::{endpoint, provider};
use crate::http;
use crate::lab::COLLECTOR;
use crate::observer::Observer;
use crate::pair::Pair;
use crate::process::inside;
use crate::proxy::{Counted, Deed, Moment, Trap};
use crate::scenario::{Context, Scenario};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_collector_runs_on_each_machine_and_reads_its_metrics",
        proves: "On each of three members a collector starts with its configuration and with its own machine's certificate \
                 as files for root alone; the password is in no file; with what it has, the metrics of its own machine are \
                 read from inside. Another destination is a new generation (HO-OBS-01, HO-OBS-03…05).",
        group: "secrets",
        needs: &[],
        seconds: 40,
        run: reads_metrics,
    },
    Scenario {
        name: "a_collector_has_its_files_whenever_its_create_is_killed",
        proves: "Killed after any of its writes, the create of a collector is finished by the next apply, and the collector \
                 has found its whole configuration when it started.",
        group: "secrets",
        needs: &[],
        seconds: 100,
        run: killed,
    },
    Scenario {
        name: "an_agent_is_planned_and_not_run_yet",
        proves: "An app of type `agent` is checked and planned; its apply is refused at `type` before anything is made.",
        group: "app",
        needs: &[],
        seconds: 3,
        run: no_agent,
    },
];

const PASSWORD: &str = "correct-horse-battery";
/// Most writes of a create.
const MOST_WRITES: usize = 60;

/// A collector with a certificate for each machine, and these further destinations.
fn collector(name: &str, pairs: &[(String, Pair)], destinations: &str) -> String {
    let pair = |(machine, pair): &(String, Pair)| {
        let (certificate, key) = (&pair.certificate, &pair.key);
        format!(
            "    {machine} = {{\n      metrics_crt = <<EOT\n{certificate}EOT\n      metrics_key = <<EOT\n{key}EOT\n    }}\n"
        )
    };
    let of_machines: String = pairs.iter().map(pair).collect();
    format!(
        r#"
resource "homelab_app" "{name}" {{
  name     = "{name}"
  type     = "alloy"
  replicas = "per-node"
  image    = {{ alias = "{COLLECTOR}" }}
  alloy = {{ destinations = {{
    local = {{ loki_url = "http://10.99.0.254:3100/push", prometheus_url = "http://10.99.0.254:9090/write" }}
    {destinations}
  }} }}
  secrets_wo              = {{ cloud = "{PASSWORD}" }}
  secrets_wo_version      = 1
  node_secrets_wo = {{
{of_machines}  }}
  node_secrets_wo_version = 1
  health = {{ check = {{ running = {{}} }}, min_healthy_time = "1s", healthy_deadline = "30s" }}
}}
"#
    )
}

const CLOUD: &str = r#"cloud = { loki_url = "https://logs.example.net/push", username = "1\"2\n", password_secret = "cloud" }"#;

fn reads_metrics(context: &Context) -> Result<()> {
    let lab = context.cluster()?;
    let observer = lab.observer();
    let workspace = context.workspace("collector")?;
    let block = provider(&[endpoint(&lab.first().socket())], "validate-collector");
    let mut pairs = Vec::new();
    for machine in machines(&observer)? {
        let pair = Pair::new(2200)?;
        pair.add_as(&observer, "metrics", &format!("{machine}-metrics"))?;
        pairs.push((machine, pair));
    }
    workspace.main(&(block.clone() + &collector("collector", &pairs, CLOUD)))?;
    workspace.apply()?.succeeded()?;
    for (machine, pair) in &pairs {
        let workload = format!("collector-{machine}-g0");
        let config = observer.answer(&workload, "/config")?;
        for expected in [
            "prometheus.scrape \"incus\"",
            "username = \"1\\\"2\\u000A\"",
            "password = sys.env(\"cloud\")",
            &format!("external_labels = {{ machine = \"{machine}\" }}"),
        ] {
            ensure!(config.contains(expected), "{expected} is not in {config}");
        }
        ensure!(!config.contains(PASSWORD), "the password is in {config}");
        let files = observer.answer(&workload, "/files")?;
        let found: Vec<&str> = files
            .lines()
            .filter_map(|line| line.strip_prefix("-rw-------")?.split_whitespace().last())
            .collect();
        let expected = ["config.alloy", "incus.crt", "metrics.crt", "metrics.key"];
        ensure!(found == expected, "{workload} has {files}");
        ensure!(
            files
                .lines()
                .all(|line| !line.starts_with('-') || line.contains(" 0        0 ")),
            "{files}"
        );
        let keys = observer.get(&format!("/1.0/instances/{workload}"))?["config"].take();
        ensure!(keys["environment.cloud"] == PASSWORD, "{keys}");
        ensure!(
            !keys.to_string().contains("PRIVATE KEY"),
            "a key is a variable"
        );
        let metrics = metrics(&observer, &workload)?;
        ensure!(metrics.contains("incus_"), "{metrics}");
        ensure!(
            metrics.contains(&workload),
            "they are of another machine than {machine}"
        );
        let key = file(&observer, &workload, "/etc/alloy/metrics.key")?;
        ensure!(key == pair.key, "the key of another machine");
    }
    workspace.expect_empty_plan()?;

    workspace.main(&(block + &collector("collector", &pairs, "")))?;
    workspace.apply()?.succeeded()?;
    for (machine, _) in &pairs {
        let config = observer.answer(&format!("collector-{machine}-g1"), "/config")?;
        ensure!(!config.contains("cloud"), "{config}");
    }
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded().map(drop)
}

/// What Alloy would do: ask at the address of its configuration, with the files beside it.
fn metrics(observer: &Observer, workload: &str) -> Result<String> {
    let state = observer.get(&format!("/1.0/instances/{workload}/state"))?;
    let network = PathBuf::from(format!("/proc/{}/ns/net", state["pid"]));
    let read = |name: &str| file(observer, workload, &format!("/etc/alloy/{name}"));
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(
        read("incus.crt")?.as_bytes(),
    )?)?;
    let certificate = CertificateDer::from_pem_slice(read("metrics.crt")?.as_bytes())?;
    let key = PrivateKeyDer::from_pem_slice(read("metrics.key")?.as_bytes())?;
    let backend = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(backend)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![certificate], key)?;
    let name = ServerName::IpAddress(Ipv4Addr::LOCALHOST.into());
    let connection = ClientConnection::new(Arc::new(config), name)?;
    inside(&network, || {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, 8443)).context("connecting")?;
        let stream = StreamOwned::new(connection, stream);
        let (head, content) = http::ask(stream, ("GET", "/1.0/metrics"), &[], &[])?;
        let content = String::from_utf8_lossy(&content).into_owned();
        ensure!(head.status() == 200, "{}: {content}", head.status());
        Ok(content)
    })
    .with_context(|| format!("reading metrics from {workload}"))
}

fn file(observer: &Observer, workload: &str, path: &str) -> Result<String> {
    let path = format!("/1.0/instances/{workload}/files?path={path}");
    let (status, content) = observer.exchange("GET", &path, &[], &[])?;
    ensure!(status == 200, "{path}: {status}");
    Ok(String::from_utf8(content)?)
}

fn killed(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let proxy = context.proxy("collector-kills", &lab)?;
    let workspace = context.workspace("collector-kills")?;
    let machine = machines(&observer)?.remove(0);
    let pairs = [(machine, Pair::new(2200)?)];
    let text =
        provider(&[proxy.endpoint()], "validate-collector-kills") + &collector("ck", &pairs, CLOUD);
    workspace.main(&text)?;
    for nth in 1..=MOST_WRITES {
        proxy.arm(Trap {
            counted: Counted::Mutating,
            nth,
            moment: Moment::After,
            deed: Deed::KillClient,
        });
        let killed = workspace.apply()?;
        let fired = proxy.fired();
        proxy.clear();
        let Some(at) = fired else {
            killed.succeeded()?;
            ensure!(nth > 5, "it wrote nothing");
            return workspace.destroy()?.succeeded().map(drop);
        };
        let again = workspace.apply()?;
        // After its last write a create is finished, and only the state is missing.
        if again.code == Some(1) && again.output.contains("import") {
            workspace.import("homelab_app.ck", "ck")?.succeeded()?;
        } else {
            again
                .succeeded()
                .with_context(|| format!("killed after {at}"))?;
        }
        let workloads = observer.workloads("ck")?;
        ensure!(workloads.len() == 1, "killed after {at}: {workloads:#?}");
        let config = observer.answer(&workloads[0].name, "/config");
        let config = config.with_context(|| format!("killed after {at}"))?;
        ensure!(config.ends_with('}'), "killed after {at}: {config}");
        workspace.destroy()?.succeeded()?;
    }
    bail!("a create does not end within {MOST_WRITES} writes")
}

fn no_agent(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("no-agent")?;
    let machine = machines(&observer)?.remove(0);
    let before = observer.instances("default")?.len();
    workspace.main(&format!(
        r#"{}
resource "homelab_app" "agent" {{
  name     = "agent"
  type     = "agent"
  replicas = "per-node"
  primary  = "{machine}"
  image    = {{ alias = "{COLLECTOR}" }}
}}
"#,
        provider(&[endpoint(&lab.first().socket())], "validate-no-agent")
    ))?;
    workspace.expect_changes()?;
    workspace
        .apply()?
        .failed()?
        .says("App agent is an agent, and this version runs none")?
        .says("type = \"agent\"")?;
    ensure!(workspace.state_of("homelab_app.agent")?.is_none());
    let project = observer.get("/1.0/projects/validate-no-agent");
    ensure!(project.is_err(), "something was published");
    ensure!(observer.instances("default")?.len() == before);
    Ok(())
}
