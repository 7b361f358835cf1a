//! The schema of `homelab_seed`: every attribute, described once.

use tfplugin::{Attribute, Diagnostic, Schema, Type, Value};

use crate::resources::instance;

/// The computed attributes that are made of the machine's keys.
pub(super) const OF_KEYS: [&str; 4] = [
    "wireguard_public_key",
    "hub_peer",
    "metrics_certificate",
    "metrics_key",
];

pub(super) fn schema() -> Schema {
    Schema::new(
        0,
        "Renders the install seed of a machine: the files by which IncusOS knows at its first start which disk to take, which \
         address it has, whom to trust, and whether it begins a cluster or waits to be joined to one. It works offline; what \
         IncusOS would refuse is refused in the plan.\n\n\
         A seed holds secrets: the machine's private key for the tunnel, and the auth key of a tailnet. They are made once and \
         kept in the state, which is why the state belongs into an encrypted backend. IncusOS takes a \
         whole disk of 50 GiB or more, which must have no partition table. `homelabctl image write` makes the medium.",
    )
    .attributes(inputs().into_iter().chain(options()).chain(outputs()))
}

fn inputs() -> [Attribute; 4] {
    [
        Attribute::single("machine", instance::declared_attributes())
            .required()
            .describe(
                "The machine, usually a whole `homelab_instance`. A machine of another name is another machine: it replaces \
                 the seed, and gets keys of its own.",
            ),
        Attribute::string("break_glass_certificate").required().describe(
            "The operator's own client certificate in PEM form, which every machine of a fleet trusts; `homelabctl cert new` \
             makes one. Only the public half: anything with a private key in it is refused.",
        ),
        Attribute::string("joiner_certificate").optional().describe(
            "The client certificate of whoever joins the machine to the cluster, in PEM form. A machine with the role `join` \
             needs it, no other may have it, and it is another one than the break-glass certificate.",
        ),
        Attribute::single("wireguard", wireguard_attributes())
            .optional()
            .describe(
                "The machine's end of a WireGuard overlay, by which it is managed from elsewhere. Members do not talk to each \
                 other over it.",
            ),
    ]
}

fn wireguard_attributes() -> [Attribute; 4] {
    let network = [Attribute::string("cidr").required().describe(
        "The addresses of the overlay, such as `10.100.0.0/24`. Its first one is the hub's.",
    )];
    let hub = [
        Attribute::string("endpoint").required().describe(
            "Where the hub listens, as `host:port`. It is part of the medium, so a DNS name is better than an address.",
        ),
        Attribute::string("public_key").required().describe(
            "The hub's public key, as `wg pubkey` prints it. Another key later means that every machine must be installed \
             again.",
        ),
    ];
    [
        Attribute::single("network", network)
            .required()
            .describe("The overlay, usually a whole `homelab_network` of the kind `overlay`."),
        Attribute::string("address").required().describe(
            "The machine's address in the overlay, usually `homelab_network.NAME.assignments[each.key]`.",
        ),
        Attribute::single("hub", hub)
            .required()
            .describe("Whom the machine dials. The hub needs `hub_peer` of this seed."),
        Attribute::number("keepalive")
            .optional()
            .validate(validate_whole)
            .describe("Seconds between signs of life, which keep the way through a NAT open; 25 if unset, 0 for none."),
    ]
}

fn options() -> [Attribute; 8] {
    [
        Attribute::list("applications", Type::String).optional().describe(
            "What IncusOS installs at its first start, from the internet; `[\"incus\"]` if unset.",
        ),
        Attribute::single("update", update_attributes())
            .optional()
            .describe("How IncusOS keeps itself up to date; its own defaults if unset."),
        Attribute::single("tailscale", tailscale_attributes())
            .optional()
            .describe("How the machine joins a tailnet."),
        Attribute::map("extra_files", Type::String).optional().sensitive().describe(
            "Further files of the seed: name without extension (`kernel`, `provider`, `security`, `services`, …) → its \
             content as JSON, usually by `jsonencode`. They are checked against the fields that the release knows.",
        ),
        Attribute::string("incusos_release").optional().describe(
            "The release of IncusOS on the medium, such as `202610010000`, if the seed uses what came with it; the oldest \
             supported one if unset.",
        ),
        Attribute::single("output", output_attributes())
            .optional()
            .describe(
                "Where the seed is written, readable by its owner only. A file that is gone is written again with the keys \
                 that the machine has; a destroyed seed takes its file along. Without it the seed is in the state only.",
            ),
        Attribute::list("encrypt_to", Type::String).optional().describe(
            "The age recipients (`age1…`) that can read the output. With them only ciphertext reaches the disk.",
        ),
        Attribute::string("rotate")
            .optional()
            .describe("Any text; a change of it makes new keys. The hub and the collector of metrics need the new ones too."),
    ]
}

fn output_attributes() -> [Attribute; 2] {
    [
        Attribute::string("path")
            .required()
            .describe("The file. Its folder is made if need be."),
        Attribute::string("format").required().describe(
            "`tar`, for `homelabctl image write`; `seed-data-img` or `seed-data-iso` for a volume of its own beside an \
             unchanged install medium.",
        ),
    ]
}

fn update_attributes() -> [Attribute; 4] {
    let day = |name: &str| {
        Attribute::string(name)
            .optional()
            .describe("`Sunday` to `Saturday`; both days or none, which means every day.")
    };
    let number = |name: &str, range: &str| {
        Attribute::number(name)
            .optional()
            .validate(validate_whole)
            .describe(format!("{range}; 0 if unset."))
    };
    let windows = [
        day("start_day_of_week"),
        number("start_hour", "From 0 to 23"),
        number("start_minute", "From 0 to 59"),
        day("end_day_of_week"),
        number("end_hour", "From 0 to 23"),
        number("end_minute", "From 0 to 59"),
    ];
    [
        Attribute::string("channel")
            .optional()
            .describe("Which releases are taken, such as `stable`."),
        Attribute::bool("auto_reboot")
            .optional()
            .describe("Whether the machine restarts by itself after an update."),
        Attribute::string("check_frequency")
            .optional()
            .describe("How often it looks, such as `6h` or `3h30m`, or `never`."),
        Attribute::nested_list("maintenance_windows", windows)
            .optional()
            .describe("When it may update; at any time if unset."),
    ]
}

fn tailscale_attributes() -> [Attribute; 13] {
    [
        Attribute::bool("enabled")
            .optional()
            .describe("Whether it does; true if unset."),
        Attribute::string("login_server")
            .optional()
            .describe("The control server, if it is not Tailscale's own."),
        Attribute::string("auth_key")
            .optional()
            .sensitive()
            .describe("The key that lets the machine in."),
        Attribute::bool("accept_routes")
            .optional()
            .describe("Whether the machine takes routes of other nodes."),
        Attribute::bool("accept_dns")
            .optional()
            .describe("Whether the machine takes the resolvers of the tailnet."),
        Attribute::list("advertised_routes", Type::String)
            .optional()
            .describe("Networks that others reach through the machine."),
        Attribute::bool("advertise_exit_node")
            .optional()
            .describe("Whether others may reach the internet through the machine."),
        Attribute::string("exit_node")
            .optional()
            .describe("The node through which the machine reaches the internet."),
        Attribute::bool("exit_node_allow_lan_access")
            .optional()
            .describe("Whether it still reaches its own network then."),
        Attribute::bool("serve_enabled")
            .optional()
            .describe("Whether Incus is served on the tailnet."),
        Attribute::number("serve_port")
            .optional()
            .validate(validate_whole)
            .describe("The port of that; not 8443, which is Incus's own."),
        Attribute::string("serve_service")
            .optional()
            .describe("The name of the service, such as `svc:incus`."),
        Attribute::number("port")
            .optional()
            .validate(validate_whole)
            .describe("The UDP port that Tailscale listens on."),
    ]
}

fn outputs() -> [Attribute; 7] {
    [
        Attribute::map("files", Type::String)
            .computed()
            .sensitive()
            .describe("The files by name, such as `install.json`."),
        Attribute::map("sha256", Type::String).computed().describe(
            "The SHA-256 of each file in hexadecimal: it shows in a plan which files change. A machine that is installed reads \
             none of them again.",
        ),
        Attribute::bool("written").computed().describe(
            "Whether the output is there; null without one.",
        ),
        Attribute::string("wireguard_public_key")
            .computed()
            .describe("The public key of the machine's end of the overlay."),
        Attribute::string("hub_peer").computed().describe(
            "What the hub needs to know of the machine: a `[Peer]` section of its WireGuard configuration.",
        ),
        Attribute::string("metrics_certificate").computed().describe(
            "The certificate, in PEM form, that the machine's metrics may be read with, and nothing else.",
        ),
        Attribute::string("metrics_key")
            .computed()
            .sensitive()
            .describe("The private key of that, in PEM form, for the collector of the machine."),
    ]
}

/// Numbers of seeds count something.
fn validate_whole(value: &Value) -> Result<(), Diagnostic> {
    match value.as_i64() {
        Some(0..) => Ok(()),
        _ => Err(Diagnostic::error("A number in a seed is not whole")
            .detail("It is negative, or has decimals. Expected a whole number from 0.")),
    }
}
