//! The schema of `homelab_app`: every attribute, described once; wire schema and pages come from here.
//!
//! Before and after: `tfplugin`. All structures are nested attributes, keyed things are maps.

mod beside;

use domain::app::{ImageServer, Protocol};
use tfplugin::{Attribute, Schema, Type, Value, same_duration, timeouts_attribute};

/// The schema.
pub(super) fn schema() -> Schema {
    Schema::new(
        0,
        "Manages an app: one or more workloads that run the same image, replaced generation by generation.\n\n\
         A change of the image, the workload or the health check starts a new generation beside the old one. It is \
         promoted when it has been healthy for `min_healthy_time` without a break; the old generation serves until then, \
         and goes on serving if the new one fails. `tofu plan` lists the steps in `rollout_steps`.",
    )
    .attributes(inputs().into_iter().chain(outputs()))
}

fn inputs() -> Vec<Attribute> {
    vec![
        Attribute::string("name").required().replace().describe(
            "The name of the app, unique in the fleet: a hostname label of at most 48 characters.",
        ),
        Attribute::string("type").required().replace_from_known().describe(
            "The type of the app, which decides how a new generation takes over. `generic-stateless`: workloads that keep \
             nothing; the new generation comes up beside the old one. `generic-exclusive`: workloads of which only one may \
             run, since they hold a volume, a port of their host or an address; the old generation is stopped first and is \
             the way back until the new one has proven itself. `alloy`: a Grafana Alloy on each machine that sends its logs \
             and metrics. `agent`: the agent of the fleet, which this version only plans.",
        ),
        Attribute::string("replicas").required().describe(
            "How many workloads run: a whole number from 1 to 999, or `per-node` for one on each machine of the cluster, also \
             on those that join later. There is no default.",
        ),
        image(),
        workload(),
        beside::volumes(),
    ]
    .into_iter()
    .chain(beside::secrets())
    .chain(beside::curated())
    .chain([
        health(),
        beside::placement(),
        beside::live_migration(),
        beside::wait(),
        Attribute::single("on_destroy", [Attribute::bool("delete_volumes").optional().describe(
            "Whether the volumes of the app are deleted with it; otherwise they stay, and an app of the same name takes them \
             up again.",
        )])
        .optional()
        .describe("What happens to data when the app is destroyed. It counts once it has been applied."),
        timeouts_attribute(&["create", "update", "delete"]),
    ])
    .collect()
}

fn image() -> Attribute {
    Attribute::single("image", [
        Attribute::string("alias").optional().describe(
            "The image by name: an alias, or of an OCI image its repository with a tag or a digest, such as `org/web:1.2` or \
             `org/web@sha256:…`. What it stands for is looked up when it is declared, and kept in `image_digest`.",
        ),
        Attribute::string("fingerprint").optional().describe(
            "The image by content: the fingerprint, or its first 12 digits or more. OCI images have none.",
        ),
        Attribute::string("server").optional().same_meaning(same_server).describe(
            "Where the image is: an address such as `https://images.linuxcontainers.org`, without user or password. Names are \
             looked up from where the provider runs, and a member of the cluster pulls the image. Unset, it is one of the \
             cluster's own images. Images that were pulled for apps are deleted with the last of these.",
        ),
        Attribute::string("protocol").optional().describe(
            "How the server is spoken to: `incus` (a public Incus server), `simplestreams` (such as \
             https://images.linuxcontainers.org) or `oci` (a registry of OCI images, such as https://ghcr.io; needs Incus 6.3 \
             or newer). Required with `server`.",
        ),
        Attribute::string("track").optional().describe(
            "What happens when `alias` comes to stand for another image. `pinned` (the default): nothing, until another image \
             is declared. `follow`: every plan looks, shows it as a change of `image_digest`, and the apply rolls out exactly \
             that image.",
        ),
    ])
    .required()
    .describe(
        "What the workloads start from: exactly one of `alias` and `fingerprint`, among the cluster's own images or on a \
         `server`.",
    )
}

/// Whether two texts are the same address of a server of images.
fn same_server(left: &Value, right: &Value) -> bool {
    // How it is spoken to is another attribute.
    let parse = |value: &Value| ImageServer::parse(Protocol::Incus, value.as_str()?).ok();
    parse(left).is_some() && parse(left) == parse(right)
}

fn workload() -> Attribute {
    Attribute::single("workload", [
        Attribute::string("kind").optional().describe("`container` (the default) or `vm`."),
        Attribute::map("config", Type::String).optional().describe(
            "Incus configuration keys, such as `limits.memory`. Reserved are `user.homelab-ops.…`, `environment.…`, `volatile.…` \
             and `image.…`, for a `per-node` app `cluster.evacuate`, which is `stop`, and with `live_migration` \
             `migration.stateful`.",
        ),
        Attribute::map("devices", Type::map(Type::String)).optional().describe(
            "Incus devices by name. A root disk on the provider's `storage_pool` is added if neither this nor a profile \
             brings one.",
        ),
        Attribute::list("profiles", Type::String).optional().describe(
            "Incus profiles in order; unset, it is `default`.",
        ),
        Attribute::map("environment", Type::String).optional().describe(
            "Environment variables of the workload.",
        ),
    ])
    .optional()
    .describe("What the Incus instances look like.")
}

fn health() -> Attribute {
    Attribute::single("health", [
        Attribute::single("check", checks()).optional().describe(
            "How to tell whether a workload is healthy: exactly one; `running = {}` if unset. `http` and `tcp` are asked from \
             where the provider runs, so that machine needs a way to the workloads' network; the others work from everywhere.",
        ),
        duration("min_healthy_time").describe(
            "How long a new generation must stay healthy without a break before it is promoted; `30s` if unset.",
        ),
        duration("healthy_deadline").describe(
            "How long that may take; a generation that does not make it is removed. `10m` if unset.",
        ),
    ])
    .optional()
    .describe("When a new generation is good.")
}

fn checks() -> [Attribute; 5] {
    let port = || Attribute::number("port").required();
    [
        Attribute::single("running", [])
            .optional()
            .describe("Healthy while the instance runs: `{}`."),
        Attribute::single("exec", [
            Attribute::list("command", Type::String).required().describe(
                "Program and arguments, run inside of the workload; ending with 0 is healthy.",
            ),
            duration("timeout").describe("How long it may run; longer is unhealthy. `5s` if unset."),
        ])
        .optional()
        .describe("Healthy when a command says so. It needs `timeout` inside of the workload."),
        Attribute::single("http", [
            port().describe("The port, from 1 to 65535."),
            Attribute::string("path").optional().describe(
                "What is asked for, with the query if there is one, such as `/health?full=1`; `/` if unset.",
            ),
        ])
        .optional()
        .describe(
            "Healthy when a web server at the workload's address answers a GET within 5 seconds with a status from 200 to \
             399. Plain HTTP; redirects are not followed.",
        ),
        Attribute::single("tcp", [port().describe("The port, from 1 to 65535.")])
            .optional()
            .describe("Healthy when something at the workload's address takes a connection within 5 seconds."),
        Attribute::single("heartbeat_file", [Attribute::string("path").required().describe(
            "The path of the file inside of the workload, such as `/run/heartbeat`. It must not be a link.",
        )])
        .optional()
        .describe(
            "Healthy while the workload keeps writing a file: it was written within the last 90 seconds by the clock of its \
             member. Write it every 30 seconds.",
        ),
    ]
}

fn duration(name: &str) -> Attribute {
    Attribute::string(name)
        .optional()
        .same_meaning(same_duration)
}

fn outputs() -> Vec<Attribute> {
    let computed = |attribute: Attribute| attribute.computed().keep_prior();
    vec![
        computed(Attribute::string("owner")).describe(
            "The id under which this configuration owns the app in the fleet.",
        ),
        computed(Attribute::string("update_strategy")).describe(
            "How a new generation takes over, given by the type: `blue-green` or `stop-replace`.",
        ),
        computed(Attribute::string("executor")).describe("Who takes the steps: `provider`."),
        computed(Attribute::number("revision")).describe("The revision of the app in the fleet store."),
        computed(Attribute::string("phase")).describe(
            "Where the rollout is: `serving`, `starting`, `soaking`, `promoting`, `draining`, `reverting`, `reverted` (the last rollout failed), `degraded`, \
             `unknown` or `deleting`.",
        ),
        computed(Attribute::string("last_error")).describe(
            "Why the last rollout failed, with the last output of the candidate; null after a success.",
        ),
        computed(Attribute::string("image_digest")).describe(
            "What `image` stood for when it was declared, or last followed: the full fingerprint, or of an OCI image the \
             digest of its manifest, `sha256:…`.",
        ),
        computed(Attribute::list("rollout_steps", Type::String)).describe(
            "The steps of the last change, as its plan showed them.",
        ),
        computed(Attribute::nested_map("workloads", [
            Attribute::string("instance").computed().describe("The name of the Incus instance."),
            Attribute::number("generation").computed().describe("Its generation."),
            Attribute::string("member").computed().describe(
                "The cluster member that it is on; null where Incus is not clustered.",
            ),
            Attribute::string("image").computed().describe("Its image as it was declared."),
            Attribute::string("status").computed().describe(
                "`running`, `stopped`, `other`, `evacuated`, `unknown` (its member does not answer) or `lost` (its member \
                 is offline).",
            ),
            Attribute::list("addresses", Type::String).computed().describe(
                "Its addresses at the end of the last apply.",
            ),
        ]))
        .describe("What serves, by ordinal or machine."),
    ]
}

/// The value of an unset list of steps.
pub(super) fn no_steps() -> Value {
    Value::List(Vec::new())
}
