//! What is refused of the overlay and the tailnet, and beside each kind of fault what is accepted.

use domain::given::Given;

use crate::fixtures::*;
use crate::refused::check_table;

/// HO-WG-03, HO-WG-05 to HO-WG-09.
#[test]
fn an_overlay_that_could_not_work_is_refused() {
    let overlay = || with_overlay(join());
    let (cidr, address) = ("wireguard.network.cidr", "wireguard.address");
    let (endpoint, key) = ("wireguard.hub.endpoint", "wireguard.hub.public_key");
    let mut table = vec![
        (without(overlay(), cidr), cidr, "no CIDR"),
        (
            without(overlay(), address),
            address,
            "no address in its overlay",
        ),
        (without(overlay(), endpoint), endpoint, "no hub endpoint"),
        (without(overlay(), key), key, "no public key of its hub"),
        (set(overlay(), cidr, "10.100.0.2/24"), cidr, "not valid"),
        (set(overlay(), cidr, "fd00::/64"), cidr, "not valid"),
        (
            set(
                set(overlay(), cidr, "192.168.0.0/16"),
                address,
                "192.168.9.9",
            ),
            cidr,
            "overlap",
        ),
        (
            set(
                set(overlay(), cidr, "192.168.1.128/25"),
                address,
                "192.168.1.130",
            ),
            cidr,
            "overlap",
        ),
        (set(overlay(), address, "10.100.1.2"), address, "outside"),
        (
            set(overlay(), address, "10.100.0.2/24"),
            address,
            "not valid",
        ),
        (set(overlay(), address, "999.1.1.1"), address, "not valid"),
        (set(overlay(), address, "10.100.0.0"), address, "not free"),
        (set(overlay(), address, "10.100.0.1"), address, "not free"),
        (set(overlay(), address, "10.100.0.254"), address, "not free"),
        (set(overlay(), address, "10.100.0.255"), address, "not free"),
        (
            set(overlay(), endpoint, "10.100.0.1:51820"),
            endpoint,
            "inside of the overlay",
        ),
        (
            changed(overlay(), |seed| {
                inside(&mut seed.wireguard).keepalive = Given::Known(65536)
            }),
            "wireguard.keepalive",
            "too long",
        ),
    ];
    for text in [
        "",
        ":",
        ":51820",
        "hub.example.net",
        "hub.example.net:",
        "hub.example.net:0",
        "hub.example.net:65536",
        "hub.example.net:+51",
        "hub.example.net:051820",
        "hub_x.example.net:1",
        "-hub:1",
        "hub..net:1",
        "1.2.3:1",
        "999.1.1.1:1",
        "fd00::1:51820",
        "[fd00::1]",
        "[hub]:51820",
        "[::]:51820",
        "0.0.0.0:51820",
        "127.0.0.1:51820",
        "https://hub:51820",
        "hub:51820 ",
    ] {
        table.push((
            set(overlay(), endpoint, text),
            endpoint,
            "endpoint of the hub is not valid",
        ));
    }
    for text in [
        "",
        "c2hvcnQ=",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        &HUB_KEY.replace("U4=", "U5="),
        &HUB_KEY.replace('=', ""),
    ] {
        table.push((
            set(overlay(), key, text),
            key,
            "public key of the hub is not valid",
        ));
    }
    check_table(table);
    for text in [
        "hub:1",
        "hub.example.net.:65535",
        "203.0.113.9:51820",
        "[2001:db8::1]:51820",
        "xn--hb-hia.example:51820",
    ] {
        assert_eq!(set(overlay(), endpoint, text).check(), [], "{text}");
    }
    for keepalive in [0, 25, 65535] {
        let seed = changed(overlay(), |seed| {
            inside(&mut seed.wireguard).keepalive = Given::Known(keepalive)
        });
        assert_eq!(seed.check(), [], "{keepalive}");
    }
}

/// What Tailscale or Incus would only log.
#[test]
fn a_tailnet_that_would_not_be_joined_is_refused() {
    let with = |change: fn(&mut domain::seed::DeclaredTailscale)| {
        changed(join(), |seed| {
            let mut tailscale = tailscale();
            change(&mut tailscale);
            seed.tailscale = Given::Known(tailscale);
        })
    };
    let mut table = vec![
        (
            with(|tailscale| tailscale.auth_key = known("tskey-auth-x y")),
            "tailscale.auth_key",
            "auth key",
        ),
        (
            with(|tailscale| tailscale.auth_key = known("tskey-auth-x\n")),
            "tailscale.auth_key",
            "auth key",
        ),
        (
            with(|tailscale| tailscale.auth_key = known("")),
            "tailscale.auth_key",
            "auth key",
        ),
        (
            with(|tailscale| tailscale.login_server = known("login.example.net")),
            "tailscale.login_server",
            "login server",
        ),
        (
            with(|tailscale| tailscale.login_server = known("https://")),
            "tailscale.login_server",
            "login server",
        ),
        (
            with(|tailscale| tailscale.exit_node = known("a b")),
            "tailscale.exit_node",
            "name on the tailnet",
        ),
        (
            with(|tailscale| {
                (tailscale.exit_node, tailscale.advertise_exit_node) =
                    (known("a"), Given::Known(true))
            }),
            "tailscale.exit_node",
            "is one",
        ),
        (
            with(|tailscale| tailscale.exit_node_allow_lan_access = Given::Known(true)),
            "tailscale.exit_node_allow_lan_access",
            "without an exit node",
        ),
        (
            with(|tailscale| tailscale.serve_port = Given::Known(8443)),
            "tailscale.serve_port",
            "port of Incus",
        ),
        (
            with(|tailscale| tailscale.serve_port = Given::Known(65536)),
            "tailscale.serve_port",
            "not valid",
        ),
        (
            with(|tailscale| tailscale.port = Given::Known(41641)),
            "tailscale.port",
            "release of IncusOS does not know",
        ),
    ];
    let routes = [
        "192.168.1.0",
        "192.168.1.1/24",
        "192.168.1.0/33",
        "192.168.1.0/024",
        "lan/24",
        "fd00::1/64",
        "fd00::/129",
        "",
    ];
    for text in routes {
        let seed = changed(with(|_| {}), |seed| {
            inside(&mut seed.tailscale).advertised_routes = list(&[text])
        });
        table.push((
            seed,
            "tailscale.advertised_routes[0]",
            "route for the tailnet",
        ));
    }
    check_table(table);
    for text in ["0.0.0.0/0", "::/0", "10.0.0.9/32", "fd00::1/128"] {
        let seed = changed(with(|_| {}), |seed| {
            inside(&mut seed.tailscale).advertised_routes = list(&[text])
        });
        assert_eq!(seed.check(), [], "{text}");
    }
}
