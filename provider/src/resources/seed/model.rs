//! Reads what is declared of a seed.

use domain::given::Given;
use domain::seed::{
    Declared, DeclaredTailscale, DeclaredUpdate, DeclaredWindow, DeclaredWireguard,
};
use tfplugin::Value;

use crate::given::{flag, given, list, text, texts, whole};
use crate::resources::instance;

/// A seed in `domain`'s words.
pub(super) fn declared(config: &Value) -> Declared {
    Declared {
        machine: instance::model(config.attr("machine")),
        break_glass_certificate: text(config.attr("break_glass_certificate")),
        joiner_certificate: text(config.attr("joiner_certificate")),
        wireguard: given(config.attr("wireguard"), wireguard),
        applications: given(config.attr("applications"), list),
        update: given(config.attr("update"), update),
        tailscale: given(config.attr("tailscale"), tailscale),
        extra_files: given(config.attr("extra_files"), texts),
        incusos_release: text(config.attr("incusos_release")),
    }
}

fn wireguard(value: &Value) -> DeclaredWireguard {
    let hub = value.attr("hub");
    DeclaredWireguard {
        cidr: text(value.attr("network").attr("cidr")),
        address: text(value.attr("address")),
        endpoint: text(hub.attr("endpoint")),
        public_key: text(hub.attr("public_key")),
        keepalive: whole(value.attr("keepalive")),
    }
}

fn update(value: &Value) -> DeclaredUpdate {
    let windows = |list: &Value| list.as_list().into_iter().flatten().map(window).collect();
    DeclaredUpdate {
        channel: text(value.attr("channel")),
        auto_reboot: flag(value.attr("auto_reboot")),
        check_frequency: text(value.attr("check_frequency")),
        maintenance_windows: given(value.attr("maintenance_windows"), windows),
    }
}

fn window(value: &Value) -> DeclaredWindow {
    DeclaredWindow {
        start_day_of_week: text(value.attr("start_day_of_week")),
        start_hour: whole(value.attr("start_hour")),
        start_minute: whole(value.attr("start_minute")),
        end_day_of_week: text(value.attr("end_day_of_week")),
        end_hour: whole(value.attr("end_hour")),
        end_minute: whole(value.attr("end_minute")),
    }
}

fn tailscale(value: &Value) -> DeclaredTailscale {
    DeclaredTailscale {
        enabled: flag(value.attr("enabled")),
        login_server: text(value.attr("login_server")),
        auth_key: text(value.attr("auth_key")),
        accept_routes: flag(value.attr("accept_routes")),
        accept_dns: flag(value.attr("accept_dns")),
        advertised_routes: given(value.attr("advertised_routes"), list),
        advertise_exit_node: flag(value.attr("advertise_exit_node")),
        exit_node: text(value.attr("exit_node")),
        exit_node_allow_lan_access: flag(value.attr("exit_node_allow_lan_access")),
        serve_enabled: flag(value.attr("serve_enabled")),
        serve_port: whole(value.attr("serve_port")),
        serve_service: text(value.attr("serve_service")),
        port: whole(value.attr("port")),
    }
}

/// The machine's name, for what is told about it.
pub(super) fn machine_name(config: &Value) -> &str {
    let name = config.attr("machine").attr("name");
    name.as_str().unwrap_or("(not known yet)")
}

/// Whether the seed holds what nobody else should read, as far as it is known.
pub(super) fn holds_secrets(seed: &Declared) -> bool {
    seed.wireguard.is_set()
        || matches!(&seed.tailscale, Given::Known(tailscale) if tailscale.auth_key.is_set())
        || seed.extra_files.is_set()
}
