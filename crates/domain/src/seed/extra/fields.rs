//! The fields of the seed files that are passed through, as IncusOS's own types have them. Tables only.
//!
//! In the order in which they are written. Not here: `version`, which every file has, and what holds between fields
//! (`rules.rs`). A field that IncusOS takes over its API only is not among them.

use crate::seed::release::Release;

/// A file that IncusOS looks for.
pub(super) struct File {
    name: &'static str,
    pub(super) since: Release,
    pub(super) fields: &'static [Field],
}

pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) since: Release,
    pub(super) required: bool,
}

/// What may stand in a field.
pub(super) enum Kind {
    Text,
    /// A text that may be a private key.
    Key,
    /// Certificates in PEM form, one or more.
    Certificate,
    OneOf(&'static [&'static str]),
    Flag,
    Whole,
    Port,
    List(&'static Kind),
    Object(&'static [Field]),
}

impl Kind {
    /// What to call it in a message.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Kind::Text | Kind::Key | Kind::Certificate | Kind::OneOf(_) => "a string",
            Kind::Flag => "true or false",
            Kind::Whole | Kind::Port => "a whole number",
            Kind::List(_) => "a list",
            Kind::Object(_) => "an object",
        }
    }
}

const fn field(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        since: Release::Oldest,
        required: false,
    }
}

const fn needed(name: &'static str, kind: Kind) -> Field {
    Field {
        required: true,
        ..field(name, kind)
    }
}

const fn newer(name: &'static str, kind: Kind) -> Field {
    Field {
        since: Release::Newest,
        ..field(name, kind)
    }
}

/// The file of that name.
pub(super) fn file(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name == name)
}

/// All names, as users write them.
pub(super) fn names() -> Vec<&'static str> {
    FILES.iter().map(|file| file.name).collect()
}

const FILES: &[File] = &[
    seed_file("kernel", KERNEL),
    seed_file("migration-manager", MIGRATION_MANAGER),
    seed_file("operations-center", OPERATIONS_CENTER),
    seed_file("provider", PROVIDER),
    seed_file("security", SECURITY),
    seed_file("services", SERVICES),
    File {
        name: "storage",
        since: Release::Newest,
        fields: STORAGE,
    },
];

const fn seed_file(name: &'static str, fields: &'static [Field]) -> File {
    File {
        name,
        since: Release::Oldest,
        fields,
    }
}

const TEXTS: Kind = Kind::List(&Kind::Text);

const KERNEL: &[Field] = &[field("console", Kind::List(&Kind::Object(CONSOLE)))];

const CONSOLE: &[Field] = &[
    needed("device", Kind::Text),
    field("baud_rate", Kind::Whole),
];

const PROVIDER: &[Field] = &[
    needed(
        "name",
        Kind::OneOf(&["images", "operations-center", "debug"]),
    ),
    field("config", Kind::Object(PROVIDER_CONFIG)),
];

/// A map of texts in IncusOS; these are the keys that its providers read.
const PROVIDER_CONFIG: &[Field] = &[
    field("server_url", Kind::Text),
    field("server_token", Kind::Text),
    field("server_certificate", Kind::Certificate),
    field("update_ca", Kind::Certificate),
    field("token", Kind::Text),
    field("authentication_by_query_param", Kind::Text),
];

const SECURITY: &[Field] = &[field("custom_ca_certs", Kind::List(&Kind::Certificate))];

/// Those that a seed may have; ceph and linstor are set up over the API.
const SERVICES: &[Field] = &[
    field("iscsi", Kind::Object(ISCSI)),
    field("lvm", Kind::Object(LVM)),
    field("multipath", Kind::Object(MULTIPATH)),
    field("netbird", Kind::Object(NETBIRD)),
    field("nvme", Kind::Object(NVME)),
    field("ovn", Kind::Object(OVN)),
    field("tailscale", Kind::Object(TAILSCALE)),
    field("usbip", Kind::Object(USBIP)),
];

const ISCSI: &[Field] = &[
    field("enabled", Kind::Flag),
    field(
        "targets",
        Kind::List(&Kind::Object(&[
            needed("target", Kind::Text),
            needed("address", Kind::Text),
            field("port", Kind::Port),
        ])),
    ),
];

const LVM: &[Field] = &[
    field("enabled", Kind::Flag),
    field("system_id", Kind::Whole),
];

const MULTIPATH: &[Field] = &[field("enabled", Kind::Flag), field("wwns", TEXTS)];

const NETBIRD: &[Field] = &[
    field("enabled", Kind::Flag),
    field("setup_key", Kind::Text),
    field("management_url", Kind::Text),
    field("admin_url", Kind::Text),
    field("anonymize", Kind::Flag),
    field("block_inbound", Kind::Flag),
    field("block_lan_access", Kind::Flag),
    field("disable_client_routes", Kind::Flag),
    field("disable_server_routes", Kind::Flag),
    field("disable_dns", Kind::Flag),
    field("disable_firewall", Kind::Flag),
    field("dns_resolver_address", Kind::Text),
    field("external_ip_map", TEXTS),
    field("extra_dns_labels", TEXTS),
];

const NVME: &[Field] = &[
    field("enabled", Kind::Flag),
    field(
        "targets",
        Kind::List(&Kind::Object(&[
            needed("transport", Kind::Text),
            needed("address", Kind::Text),
            field("host_address", Kind::Text),
            field("port", Kind::Port),
            field("nqn", Kind::Text),
        ])),
    ),
];

const OVN: &[Field] = &[
    field("enabled", Kind::Flag),
    field("ic_chassis", Kind::Flag),
    field("database", Kind::Text),
    field("tls_client_certificate", Kind::Certificate),
    field("tls_client_key", Kind::Key),
    field("tls_ca_certificate", Kind::Certificate),
    field("tunnel_address", Kind::Text),
    field("tunnel_protocol", Kind::Text),
];

const TAILSCALE: &[Field] = &[
    field("enabled", Kind::Flag),
    field("login_server", Kind::Text),
    field("auth_key", Kind::Text),
    field("accept_routes", Kind::Flag),
    field("accept_dns", Kind::Flag),
    field("advertised_routes", TEXTS),
    field("advertise_exit_node", Kind::Flag),
    field("exit_node", Kind::Text),
    field("exit_node_allow_lan_access", Kind::Flag),
    field("serve_enabled", Kind::Flag),
    field("serve_port", Kind::Port),
    field("serve_service", Kind::Text),
    newer("port", Kind::Port),
];

const USBIP: &[Field] = &[
    field("enabled", Kind::Flag),
    field(
        "targets",
        Kind::List(&Kind::Object(&[
            needed("address", Kind::Text),
            needed("bus_id", Kind::Text),
        ])),
    ),
];

const STORAGE: &[Field] = &[field("pools", Kind::List(&Kind::Object(POOL)))];

const POOL: &[Field] = &[
    needed("name", Kind::Text),
    needed(
        "type",
        Kind::OneOf(&[
            "zfs-raid0",
            "zfs-raid1",
            "zfs-raid10",
            "zfs-raidz1",
            "zfs-raidz2",
            "zfs-raidz3",
        ]),
    ),
    needed("devices", TEXTS),
    field("cache", TEXTS),
    field("log", TEXTS),
    field(
        "special",
        Kind::Object(&[
            needed("type", Kind::Text),
            field("special_small_blocks_size_in_kb", Kind::Whole),
            needed("devices", TEXTS),
        ]),
    ),
    field("allow_mixed_dev_sizes", Kind::Flag),
    field("alignment", Kind::Whole),
];

const MIGRATION_MANAGER: &[Field] = &[
    field(
        "trusted_client_certificates",
        Kind::List(&Kind::Certificate),
    ),
    field("apply_defaults", Kind::Flag),
    field(
        "preseed",
        Kind::Object(&[
            field(
                "system_certificate",
                Kind::Object(&[
                    field("certificate", Kind::Certificate),
                    field("key", Kind::Key),
                    field("ca", Kind::Certificate),
                ]),
            ),
            field(
                "system_network",
                Kind::Object(&[
                    field("rest_server_address", Kind::Text),
                    field("worker_endpoint", Kind::Text),
                ]),
            ),
            field("system_security", Kind::Object(SYSTEM_SECURITY)),
        ]),
    ),
];

const OPERATIONS_CENTER: &[Field] = &[
    field(
        "trusted_client_certificates",
        Kind::List(&Kind::Certificate),
    ),
    field("apply_defaults", Kind::Flag),
    field(
        "preseed",
        Kind::Object(&[
            field(
                "system_certificate",
                Kind::Object(&[
                    field("certificate", Kind::Certificate),
                    field("key", Kind::Key),
                ]),
            ),
            field(
                "system_network",
                Kind::Object(&[
                    field("address", Kind::Text),
                    field("rest_server_address", Kind::Text),
                ]),
            ),
            field("system_security", Kind::Object(SYSTEM_SECURITY)),
            field("system_updates", Kind::Object(SYSTEM_UPDATES)),
            field(
                "system_settings",
                Kind::Object(&[
                    field("log_level", Kind::Text),
                    field("server_registration_scriptlet", Kind::Text),
                ]),
            ),
        ]),
    ),
];

const SYSTEM_UPDATES: &[Field] = &[
    field("source", Kind::Text),
    field("signature_verification_root_ca", Kind::Certificate),
    field("filter_expression", Kind::Text),
    field("file_filter_expression", Kind::Text),
    field("updates_default_channel", Kind::Text),
    field("server_default_channel", Kind::Text),
    field("image_server_authentication_by_query_param", Kind::Flag),
];

const SYSTEM_SECURITY: &[Field] = &[
    field("trusted_tls_client_cert_fingerprints", TEXTS),
    field("trusted_https_proxies", TEXTS),
    field(
        "oidc",
        Kind::Object(&[
            field("issuer", Kind::Text),
            field("client_id", Kind::Text),
            field("scopes", Kind::Text),
            field("audience", Kind::Text),
            field("claim", Kind::Text),
        ]),
    ),
    field(
        "openfga",
        Kind::Object(&[
            field("api_token", Kind::Text),
            field("api_url", Kind::Text),
            field("store_id", Kind::Text),
        ]),
    ),
    field(
        "acme",
        Kind::Object(&[
            field("agree_tos", Kind::Flag),
            field("ca_url", Kind::Text),
            field("challenge", Kind::Text),
            field("domain", Kind::Text),
            field("email", Kind::Text),
            field("http_challenge_address", Kind::Text),
            field("provider", Kind::Text),
            field("provider_environment", TEXTS),
            field("provider_resolvers", TEXTS),
        ]),
    ),
];
