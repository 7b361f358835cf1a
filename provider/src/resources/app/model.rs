//! The model of `homelab_app`: what a configuration or a state declares, in `domain`'s words.
//!
//! Before: values as OpenTofu sent them. After: `domain::app::declared` checks and normalises. A configuration and a
//! state declare with the same attributes, so one reading serves both.

use domain::app::declared::{
    Declared, DeclaredCheck, DeclaredExec, DeclaredHealth, DeclaredHeartbeatFile, DeclaredHttp,
    DeclaredImage, DeclaredTcp, DeclaredWorkload,
};
use tfplugin::Value;

use crate::given::{given, list, text, texts, whole};

/// The attributes that a user declares; all others are computed.
pub(super) const DECLARED: [&str; 8] = [
    "name",
    "type",
    "replicas",
    "image",
    "workload",
    "health",
    "on_destroy",
    "timeouts",
];

/// What `object` declares.
pub(super) fn declared(object: &Value) -> Declared {
    Declared {
        name: text(object.attr("name")),
        r#type: text(object.attr("type")),
        replicas: text(object.attr("replicas")),
        image: given(object.attr("image"), |image| DeclaredImage {
            server: text(image.attr("server")),
            protocol: text(image.attr("protocol")),
            alias: text(image.attr("alias")),
            fingerprint: text(image.attr("fingerprint")),
            track: text(image.attr("track")),
        }),
        workload: given(object.attr("workload"), workload),
        health: given(object.attr("health"), |health| DeclaredHealth {
            check: given(health.attr("check"), check),
            min_healthy_time: text(health.attr("min_healthy_time")),
            healthy_deadline: text(health.attr("healthy_deadline")),
        }),
    }
}

fn workload(workload: &Value) -> DeclaredWorkload {
    DeclaredWorkload {
        kind: text(workload.attr("kind")),
        config: given(workload.attr("config"), texts),
        devices: given(workload.attr("devices"), |devices| {
            let device = |(name, device): (&String, &Value)| (name.clone(), given(device, texts));
            devices.as_map().into_iter().flatten().map(device).collect()
        }),
        profiles: given(workload.attr("profiles"), list),
        environment: given(workload.attr("environment"), texts),
    }
}

fn check(check: &Value) -> DeclaredCheck {
    DeclaredCheck {
        running: given(check.attr("running"), |_| ()),
        exec: given(check.attr("exec"), |exec| DeclaredExec {
            command: given(exec.attr("command"), list),
            timeout: text(exec.attr("timeout")),
        }),
        http: given(check.attr("http"), |http| DeclaredHttp {
            port: whole(http.attr("port")),
            path: text(http.attr("path")),
        }),
        tcp: given(check.attr("tcp"), |tcp| DeclaredTcp {
            port: whole(tcp.attr("port")),
        }),
        heartbeat_file: given(check.attr("heartbeat_file"), |file| DeclaredHeartbeatFile {
            path: text(file.attr("path")),
        }),
    }
}
