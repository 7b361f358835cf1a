//! The connection: which Incus it is, who we are there, and whom to expect.
//!
//! Before: `provider.rs` has the block, as far as it is known. After: `reconcile::cluster::Cluster`, which opens nothing
//! before its first use. Attributes win over the environment, and both over what a remote brings along.

use std::ffi::OsString;
use std::path::PathBuf;

use domain::given::Given;
use incus::{Client, Endpoint, Fingerprint, Folders, Identity, Limits, Remote, Trust};
use reconcile::cluster::{Cluster, Settings};
use tfplugin::{Diagnostic, Diagnostics, Path, Value};

use crate::diagnose;
use crate::given::{given, list, text};

const DEFAULT_PROJECT: &str = "default";
const DEFAULT_FLEET_PROJECT: &str = "homelab";
const DEFAULT_STORAGE_POOL: &str = "local";

/// Reads a variable of the environment.
pub(crate) type Variable<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// What the provider block and the environment say.
pub(crate) struct Connection {
    endpoints: Given<Vec<Given<String>>>,
    remote: Given<String>,
    client_certificate: Given<String>,
    client_key: Given<String>,
    server_fingerprints: Given<Vec<Given<String>>>,
    project: Given<String>,
    fleet_project: Given<String>,
    storage_pool: Given<String>,
    shared_pool: Given<String>,
}

impl Connection {
    /// Reads the block; what it leaves out may be in the environment.
    pub(crate) fn read(config: &Value, variable: Variable<'_>) -> Self {
        // Where Incus is, is one choice: a block that makes it is not disturbed by the other variable.
        let is_place = |name: &str| matches!(name, "endpoints" | "remote");
        let place_chosen = ["endpoints", "remote"]
            .iter()
            .any(|name| !config.attr(name).is_null());
        let elsewhere = |name: &str| match is_place(name) && place_chosen {
            true => Given::Absent,
            false => from_environment(name, variable),
        };
        let text = |name: &str| text(config.attr(name)).or(|| elsewhere(name));
        let texts = |name: &str| {
            given(config.attr(name), list).or(|| elsewhere(name).map(|line| split(&line)))
        };
        Self {
            endpoints: texts("endpoints"),
            remote: text("remote"),
            client_certificate: text("client_certificate"),
            client_key: text("client_key"),
            server_fingerprints: texts("server_fingerprints"),
            project: text("project"),
            fleet_project: text("fleet_project"),
            storage_pool: text("storage_pool"),
            shared_pool: text("shared_pool"),
        }
    }

    /// Every issue of what is written, as far as it is known; nothing is opened.
    pub(crate) fn check(&self) -> Diagnostics {
        let mut diagnostics = Diagnostics::new();
        let endpoints = parsed("endpoints", &self.endpoints, endpoint, &mut diagnostics);
        parsed(
            "server_fingerprints",
            &self.server_fingerprints,
            fingerprint,
            &mut diagnostics,
        );
        if self.endpoints.known().is_some() && self.remote.known().is_some() {
            diagnostics.push(
                Diagnostic::error("Endpoints and a remote are both given")
                    .detail("Each says where Incus is. Expected one of the two, also counting `HOMELAB_ENDPOINTS` and `HOMELAB_REMOTE`.")
                    .at("remote"),
            );
        }
        let over_network = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Https { .. });
        let shown = !self.client_certificate.is_unknown() && !self.client_key.is_unknown();
        match self.identity() {
            Err(diagnostic) => diagnostics.push(diagnostic),
            Ok(None) if shown && endpoints.iter().any(over_network) => diagnostics.push(
                Diagnostic::error("An https endpoint needs a client certificate")
                    .detail(
                        "Incus answers over the network only to whom it knows. Expected `client_certificate` and \
                         `client_key`; `incus config trust add-certificate` makes a certificate known to the cluster. On a \
                         member itself `unix:///var/lib/incus/unix.socket` needs none.",
                    )
                    .at("endpoints"),
            ),
            Ok(_) => {}
        }
        diagnostics
    }

    /// The cluster, of a block that is wholly known and was checked.
    ///
    /// # Errors
    /// If the remote is none, which nothing but its use needs to know.
    pub(crate) fn cluster(&self, variable: Variable<'_>) -> Result<Cluster, Diagnostic> {
        let identity = self.identity()?;
        let remote = match self.remote.known() {
            Some(name) => Some(find(name, identity.clone(), variable)?),
            None => None,
        };
        let mut ignored = Diagnostics::new();
        let mut written = parsed("endpoints", &self.endpoints, endpoint, &mut ignored);
        let fingerprints = &self.server_fingerprints;
        let mut trust = Trust {
            identity,
            server_fingerprints: parsed("", fingerprints, fingerprint, &mut ignored),
            expected: None,
        };
        if let Some(remote) = remote {
            written.push(remote.endpoint);
            trust.identity = remote.trust.identity;
            trust.expected = remote.trust.expected;
        } else if self.endpoints.is_set() && written.is_empty() {
            // Never the Incus of this machine instead: it may well be another one.
            return Err(Diagnostic::error("The list of endpoints is empty").detail(
                "Expected at least one endpoint. Leave `endpoints` out for the socket of this machine.",
            ));
        }
        if written.is_empty() {
            written = default_endpoints(variable);
        }
        let or = |given: &Given<String>, default: &str| {
            given.known().cloned().unwrap_or_else(|| default.to_owned())
        };
        let settings = Settings {
            project: or(&self.project, DEFAULT_PROJECT),
            fleet_project: or(&self.fleet_project, DEFAULT_FLEET_PROJECT),
            storage_pool: or(&self.storage_pool, DEFAULT_STORAGE_POOL),
            shared_pool: self.shared_pool.known().cloned(),
        };
        let client = Client::with_trust(written, Limits::default(), trust);
        Ok(Cluster::new(client, settings))
    }

    /// Who we are; nobody in particular as long as one half is not known yet.
    fn identity(&self) -> Result<Option<Identity>, Diagnostic> {
        if self.client_certificate.is_unknown() || self.client_key.is_unknown() {
            return Ok(None);
        }
        let (certificate, key) = (self.client_certificate.known(), self.client_key.known());
        let identity = Identity::from_pem(certificate.map(String::as_str), key.map(String::as_str));
        identity.map_err(|error| diagnose::identity(&error))
    }
}

/// Reads the elements of a list; each that cannot be read is told at its place.
fn parsed<T>(
    name: &str,
    list: &Given<Vec<Given<String>>>,
    parse: fn(&str) -> Result<T, Diagnostic>,
    diagnostics: &mut Diagnostics,
) -> Vec<T> {
    let mut all = Vec::new();
    for (index, element) in list.known().into_iter().flatten().enumerate() {
        let at = Path::new(name).index(i64::try_from(index).unwrap_or(i64::MAX));
        match element.known().map(|text| parse(text)) {
            Some(Ok(one)) => all.push(one),
            Some(Err(diagnostic)) => diagnostics.push(diagnostic.at(at)),
            None if element.is_unknown() => {}
            // Left out, a fingerprint that should have been there would let anybody in.
            None => diagnostics.push(
                Diagnostic::error(format!("An element of {name} is null"))
                    .detail("Expected a text. Leave the element out, or give it its value.")
                    .at(at),
            ),
        }
    }
    all
}

fn endpoint(text: &str) -> Result<Endpoint, Diagnostic> {
    Endpoint::parse(text)
        .map_err(|error| Diagnostic::error("An endpoint is not valid").detail(format!("{error}.")))
}

fn fingerprint(text: &str) -> Result<Fingerprint, Diagnostic> {
    Fingerprint::parse(text).map_err(|error| {
        Diagnostic::error("A server fingerprint is not valid").detail(format!(
            "{error}. `incus info | grep certificate_fingerprint` shows it on a member of the cluster."
        ))
    })
}

fn find(name: &str, given: Option<Identity>, variable: Variable<'_>) -> Result<Remote, Diagnostic> {
    let Some(folders) = Folders::of(variable) else {
        return Err(
            Diagnostic::error(format!("The remote {name:?} cannot be looked up")).detail(
                "Neither INCUS_CONF nor HOME is set, so there is no Incus client configuration.",
            ),
        );
    };
    folders
        .remote(name, given)
        .map_err(|error| diagnose::remote(name, &error))
}

fn default_endpoints(variable: Variable<'_>) -> Vec<Endpoint> {
    let own = variable("INCUS_DIR").filter(|folder| !folder.is_empty());
    own.into_iter()
        .map(PathBuf::from)
        .chain([PathBuf::from(incus::endpoint::DEFAULT_FOLDER)])
        .map(|folder| Endpoint::Unix(folder.join("unix.socket")))
        .collect()
}

/// The environment variable of an attribute; an empty one counts as unset.
fn from_environment(attribute: &str, variable: Variable<'_>) -> Given<String> {
    let value = variable(&format!("HOMELAB_{}", attribute.to_uppercase()));
    match value.and_then(|value| value.into_string().ok()) {
        Some(value) if !value.is_empty() => Given::Known(value),
        _ => Given::Absent,
    }
}

fn split(line: &str) -> Vec<Given<String>> {
    let parts = line
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts.map(|part| Given::Known(part.to_owned())).collect()
}

#[cfg(test)]
mod tests;
