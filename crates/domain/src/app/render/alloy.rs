//! Type `alloy`: the configuration of the Grafana Alloy on one machine, and the files beside it.
//!
//! ```text
//! this machine's Incus, /1.0/metrics ──> prometheus.scrape ──────────────> prometheus.remote_write, each destination
//! syslog and Loki pushes that come in ─> loki.source.syslog, .api ───────> loki.write, each destination
//! ```
//!
//! Before: `render.rs`. After: `/etc/alloy/config.alloy`. A password is never written down here: Alloy reads it from its
//! environment. Not here: who sends logs to a collector, which is not set up by it.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use super::river::{block, list, quote, set};
use super::{File, METRICS_FILES, Rendered, Surroundings};
use crate::app::{AppSpec, Destination};
use crate::certificate;
use crate::place::Place;
use crate::secret::{Named, Secret};

/// Where Alloy's own image looks for its configuration.
const CONFIGURATION: &str = "/etc/alloy/config.alloy";

/// What a machine's Incus answers with is checked against this.
const SERVER_CERTIFICATE: &str = "/etc/alloy/incus.crt";

/// The certificate and the key that read metrics, in the order of [`METRICS_FILES`].
const CREDENTIALS: [&str; 2] = ["/etc/alloy/metrics.crt", "/etc/alloy/metrics.key"];

/// For root alone: keys, and who else reads them has no business here.
const MODE: u32 = 0o600;

/// The Incus device that leads to the machine's API, and the name of it inside. A workload need not have a way to its own
/// machine otherwise: on a macvlan it has none.
const DEVICE: &str = "homelab-incus";
const INSIDE: &str = "127.0.0.1:8443";

/// The usual ports of syslog and of Loki.
const SYSLOG: &str = "0.0.0.0:514";
const LOKI_PORT: u16 = 3100;

/// The API of one machine's Incus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    /// Where it listens on the machine: `host:port`.
    pub address: String,
    /// The certificate that it shows, in PEM form.
    pub certificate: String,
    /// A name that this certificate is made out to, if it is not made out to the machine itself.
    pub server_name: Option<String>,
}

impl Api {
    /// The API at `address`, which shows `certificate`.
    pub fn new(address: String, certificate: String) -> Self {
        let server_name = certificate::name_for(&certificate, Ipv4Addr::LOCALHOST);
        Self {
            address,
            certificate,
            server_name,
        }
    }
}

/// Adds what makes an Alloy of a workload.
pub(super) fn collector(
    rendered: &mut Rendered,
    spec: &AppSpec,
    place: &Place,
    around: &Surroundings,
) {
    let named = around.secrets.at(place);
    let machine = place.key();
    let api = around.apis.get(&machine).filter(|_| takes_metrics(spec));
    let credentials: Vec<File> = METRICS_FILES
        .iter()
        .zip(CREDENTIALS)
        .filter_map(|(name, path)| Some(file(path, named.get(*name)?.clone())))
        .collect();
    let has_credentials = credentials.len() == CREDENTIALS.len();
    let text = configuration(spec, &machine, api, has_credentials);
    rendered
        .files
        .0
        .push(file(CONFIGURATION, Secret::new(text)));
    if let Some(api) = api {
        let certificate = Secret::new(api.certificate.clone());
        rendered.files.0.push(file(SERVER_CERTIFICATE, certificate));
        rendered.devices.insert(DEVICE.to_owned(), proxy(api));
        rendered.files.0.extend(credentials);
    }
}

/// What becomes a file does not stand in the environment too.
pub(super) fn variables(mut named: Named) -> Named {
    named.retain(|name, _| !METRICS_FILES.contains(&name.as_str()));
    named
}

fn file(path: &str, content: Secret) -> File {
    File {
        path: path.to_owned(),
        mode: MODE,
        content,
    }
}

/// From inside to the machine; nothing of it can be reached from outside.
fn proxy(api: &Api) -> BTreeMap<String, String> {
    [
        ("type", "proxy".to_owned()),
        ("bind", "instance".to_owned()),
        ("listen", format!("tcp:{INSIDE}")),
        ("connect", format!("tcp:{}", api.address)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

fn takes_metrics(spec: &AppSpec) -> bool {
    let mut all = spec.destinations.values();
    all.any(|destination| destination.prometheus_url.is_some())
}

/// The whole file.
fn configuration(
    spec: &AppSpec,
    machine: &str,
    api: Option<&Api>,
    has_credentials: bool,
) -> String {
    let receivers = |kind: &str, takes: fn(&Destination) -> Option<&String>| -> Vec<String> {
        let taking = spec
            .destinations
            .iter()
            .filter(|(_, one)| takes(one).is_some());
        taking
            .map(|(name, _)| format!("{kind}.{}.receiver", label(name)))
            .collect()
    };
    let logs = receivers("loki.write", |one| one.loki_url.as_ref());
    let metrics = receivers("prometheus.remote_write", |one| one.prometheus_url.as_ref());
    let mut blocks =
        vec!["// Made by homelab; the next generation has a file of its own.".to_owned()];
    if !logs.is_empty() {
        blocks.push(block("logging", &[set("write_to", &list(&logs))]));
        blocks.push(syslog(&logs));
        blocks.push(pushes(&logs));
    }
    if let (Some(api), false) = (api, metrics.is_empty()) {
        blocks.push(scrape(machine, api, has_credentials, &metrics));
    }
    for (name, destination) in &spec.destinations {
        if let Some(url) = &destination.loki_url {
            blocks.push(write("loki.write", name, url, destination, machine));
        }
        if let Some(url) = &destination.prometheus_url {
            blocks.push(write(
                "prometheus.remote_write",
                name,
                url,
                destination,
                machine,
            ));
        }
    }
    blocks.join("\n\n") + "\n"
}

/// HO-OBS-03, HO-OBS-04: the metrics of the machine and of its instances, read with a certificate that may do nothing else.
fn scrape(machine: &str, api: &Api, has_credentials: bool, to: &[String]) -> String {
    let target = format!(
        "{{ \"__address__\" = {}, \"instance\" = {} }}",
        quote(INSIDE),
        quote(machine)
    );
    let mut tls = vec![set("ca_file", &quote(SERVER_CERTIFICATE))];
    tls.extend(
        api.server_name
            .iter()
            .map(|name| set("server_name", &quote(name))),
    );
    if has_credentials {
        let [certificate, key] = CREDENTIALS;
        tls.push(set("cert_file", &quote(certificate)));
        tls.push(set("key_file", &quote(key)));
    }
    block(
        "prometheus.scrape \"incus\"",
        &[
            set("job_name", &quote("incus")),
            set("targets", &list(&[target])),
            set("scheme", &quote("https")),
            set("metrics_path", &quote("/1.0/metrics")),
            set("forward_to", &list(to)),
            block("tls_config", &tls),
        ],
    )
}

/// HO-OBS-02: IncusOS can send its journal as syslog.
fn syslog(to: &[String]) -> String {
    let listener = |protocol: &str| {
        let labels = format!("{{ job = {} }}", quote("syslog"));
        block(
            "listener",
            &[
                set("address", &quote(SYSLOG)),
                set("protocol", &quote(protocol)),
                set("labels", &labels),
            ],
        )
    };
    block(
        "loki.source.syslog \"syslog\"",
        &[
            listener("udp"),
            listener("tcp"),
            set("forward_to", &list(to)),
        ],
    )
}

/// Incus can push its own events to a Loki, and this is one.
fn pushes(to: &[String]) -> String {
    let http = [
        set("listen_address", &quote("0.0.0.0")),
        set("listen_port", &LOKI_PORT.to_string()),
    ];
    block(
        "loki.source.api \"loki\"",
        &[block("http", &http), set("forward_to", &list(to))],
    )
}

/// HO-OBS-05, HO-OBS-06: one destination of logs or metrics, as the user declared it.
fn write(kind: &str, name: &str, url: &str, destination: &Destination, machine: &str) -> String {
    let mut endpoint = vec![set("url", &quote(url))];
    if let (Some(username), Some(secret)) = (&destination.username, &destination.password_secret) {
        let password = format!("sys.env({})", quote(secret));
        endpoint.push(block(
            "basic_auth",
            &[
                set("username", &quote(username)),
                set("password", &password),
            ],
        ));
    }
    let labels = format!("{{ machine = {} }}", quote(machine));
    block(
        &format!("{kind} {}", quote(&label(name))),
        &[
            block("endpoint", &endpoint),
            set("external_labels", &labels),
        ],
    )
}

/// A name of the configuration's own language, whatever words that reserves.
fn label(destination: &str) -> String {
    format!("to_{destination}")
}
