//! What a configuration says of a seed, as text, and the key material that was made for it.
//!
//! Before: `provider/src/resources/seed.rs` fills these. After: `check.rs` judges them, `files.rs` renders them.

use std::collections::BTreeMap;

use crate::given::Given;
use crate::machine;

/// A seed as a configuration has it; defaults are not filled in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// The machine that it is for.
    pub machine: machine::Declared,
    /// The operator's own certificate, in PEM form (HO-SEED-09).
    pub break_glass_certificate: Given<String>,
    /// The certificate of whoever joins the machine, in PEM form (HO-SEED-17).
    pub joiner_certificate: Given<String>,
    /// The machine's end of the overlay (HO-SEED-22).
    pub wireguard: Given<DeclaredWireguard>,
    /// What IncusOS installs beside itself.
    pub applications: Given<Vec<Given<String>>>,
    /// How IncusOS keeps itself up to date.
    pub update: Given<DeclaredUpdate>,
    /// How the machine joins a tailnet.
    pub tailscale: Given<DeclaredTailscale>,
    /// Further files, as JSON by name without extension.
    pub extra_files: Given<BTreeMap<String, Given<String>>>,
    /// The release of IncusOS that reads the seed.
    pub incusos_release: Given<String>,
}

/// The overlay as one machine sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredWireguard {
    /// The addresses of the overlay.
    pub cidr: Given<String>,
    /// The machine's own address there.
    pub address: Given<String>,
    /// Where the hub listens, as `host:port` (HO-WG-07).
    pub endpoint: Given<String>,
    /// Who the hub is.
    pub public_key: Given<String>,
    /// How often the machine makes itself heard, in seconds.
    pub keepalive: Given<u64>,
}

/// How IncusOS updates itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredUpdate {
    /// Which releases are taken.
    pub channel: Given<String>,
    /// Whether it restarts by itself.
    pub auto_reboot: Given<bool>,
    /// How often it looks, or `never`.
    pub check_frequency: Given<String>,
    /// When it may.
    pub maintenance_windows: Given<Vec<DeclaredWindow>>,
}

/// One time of the week.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredWindow {
    /// `Sunday` to `Saturday`.
    pub start_day_of_week: Given<String>,
    /// From 0 to 23.
    pub start_hour: Given<u64>,
    /// From 0 to 59.
    pub start_minute: Given<u64>,
    /// `Sunday` to `Saturday`.
    pub end_day_of_week: Given<String>,
    /// From 0 to 23.
    pub end_hour: Given<u64>,
    /// From 0 to 59.
    pub end_minute: Given<u64>,
}

/// How the machine joins a tailnet. No `Debug`: it holds a key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct DeclaredTailscale {
    /// Whether it does.
    pub enabled: Given<bool>,
    /// Whose tailnet, if not Tailscale's own.
    pub login_server: Given<String>,
    /// What lets it in; secret.
    pub auth_key: Given<String>,
    /// Whether it takes the routes of others.
    pub accept_routes: Given<bool>,
    /// Whether it takes the resolvers of the tailnet.
    pub accept_dns: Given<bool>,
    /// Networks that are reached through it.
    pub advertised_routes: Given<Vec<Given<String>>>,
    /// Whether others may reach the internet through it.
    pub advertise_exit_node: Given<bool>,
    /// Through which node it reaches the internet.
    pub exit_node: Given<String>,
    /// Whether it still reaches its own network then.
    pub exit_node_allow_lan_access: Given<bool>,
    /// Whether Incus is served on the tailnet.
    pub serve_enabled: Given<bool>,
    /// On which port.
    pub serve_port: Given<u64>,
    /// Under which name.
    pub serve_service: Given<String>,
    /// The port that it listens on; release B only.
    pub port: Given<u64>,
}

/// What was made for one machine, once. No `Debug`: it holds a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// The private key of the tunnel, in base64; none without an overlay. Secret.
    pub wireguard: Option<String>,
    /// The certificate that its metrics are read with, in PEM form (HO-SEED-12).
    pub metrics_certificate: String,
}
