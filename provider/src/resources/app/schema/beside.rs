//! What stands beside image, workload and health: volumes, secrets, what only curated types know, and where.

use domain::machine::disk::parse_size;
use tfplugin::{Attribute, Type, Value};

pub(super) fn volumes() -> Attribute {
    Attribute::nested_map("volumes", [
        Attribute::string("class").required().describe(
            "`local`: on the disk of one member, which its workload is tied to. `replicated`: on a pool that all members \
             share.",
        ),
        Attribute::string("pool").optional().describe(
            "The storage pool; the provider's `storage_pool` if unset, or its `shared_pool` for a replicated volume.",
        ),
        Attribute::string("path").required().describe("Where the workload sees it, such as `/var/lib/data`."),
        Attribute::string("size").optional().same_meaning(same_size).describe(
            "How large it is, such as `50GiB`; as large as its pool allows if unset.",
        ),
    ])
    .optional()
    .describe(
        "What stays when generations come and go, by name: a storage volume for each workload. Type `generic-exclusive` only.",
    )
}

pub(super) fn secrets() -> [Attribute; 4] {
    [
        Attribute::map("secrets_wo", Type::String).optional().write_only().describe(
            "Secrets, by name: environment variables of every workload, of one line each. They are in no state and no log, and \
             in a plan file only if the variable that they come from is not `ephemeral`. Whoever may read the fleet project or \
             the workload in Incus reads them there.",
        ),
        Attribute::number("secrets_wo_version").optional().describe(
            "The version of `secrets_wo`: raise it when they change, which starts a new generation. While it is the same, the \
             values that were stored with it are used, whatever `secrets_wo` says.",
        ),
        Attribute::map("node_secrets_wo", Type::map(Type::String)).optional().write_only().describe(
            "The same for each machine's own workload, by machine and name; `per-node` apps only. They outrank `secrets_wo`. \
             Type `alloy` gets `metrics_crt` and `metrics_key` as files instead: the certificate and the key by which it reads \
             the metrics of its machine's Incus.",
        ),
        Attribute::number("node_secrets_wo_version").optional().describe(
            "The version of `node_secrets_wo`: raise it when they change. A machine that is added needs no new version.",
        ),
    ]
}

pub(super) fn curated() -> [Attribute; 5] {
    [
        Attribute::single(
            "alloy",
            [Attribute::nested_map(
                "destinations",
                [
                    Attribute::string("loki_url")
                        .optional()
                        .describe("Where logs go: the push address of a Loki."),
                    Attribute::string("prometheus_url").optional().describe(
                        "Where metrics go: an address that takes Prometheus remote writes.",
                    ),
                    Attribute::string("username")
                        .optional()
                        .describe("The user who sends them."),
                    Attribute::string("password_secret").optional().describe(
                        "The name of the secret in `secrets_wo` that is the user's password.",
                    ),
                ],
            )
            .required()
            .describe("Where logs and metrics go, by name; each gets all of them.")],
        )
        .optional()
        .describe(
            "What the collector does; type `alloy` only. Its configuration is written to `/etc/alloy/config.alloy` before it \
             starts, for which the image must run Grafana Alloy as root, 1.5 or later, as `grafana/alloy` does.",
        ),
        Attribute::map("params", Type::String)
            .optional()
            .describe("Parameters of a curated type. The types of this version take none."),
        Attribute::string("primary")
            .optional()
            .describe("The machine whose agent acts for the fleet; type `agent` only."),
        Attribute::string("joiner_key_wo")
            .optional()
            .write_only()
            .describe("The private key by which the agent lets machines join; type `agent` only."),
        Attribute::number("joiner_key_wo_version")
            .optional()
            .describe("The version of `joiner_key_wo`: raise it when it changes."),
    ]
}

pub(super) fn placement() -> Attribute {
    Attribute::single(
        "placement",
        [Attribute::string("group")
            .optional()
            .describe("The cluster group on whose members workloads may be.")],
    )
    .optional()
    .describe("Where workloads may be; not with `per-node`.")
}

pub(super) fn live_migration() -> Attribute {
    Attribute::bool("live_migration").optional().describe(
        "Whether the workloads, virtual machines without local volumes, may move to another member while they run.",
    )
}

pub(super) fn wait() -> Attribute {
    Attribute::bool("wait").optional().describe(
        "Whether an apply waits for the rollout; it always does while no agent runs in the fleet.",
    )
}

/// "1GiB" is "1024MiB".
fn same_size(one: &Value, other: &Value) -> bool {
    let bytes = |value: &Value| value.as_str().and_then(parse_size);
    bytes(one).is_some() && bytes(one) == bytes(other)
}
