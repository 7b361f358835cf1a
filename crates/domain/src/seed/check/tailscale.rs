//! The tailnet of a seed. Tailscale only logs what it refuses, when the machine is up and may be out of reach.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::at;
use crate::given::Given;
use crate::issue::{Issue, Step};
use crate::seed::declared::DeclaredTailscale;
use crate::seed::release::Release;
use crate::seed::secret::quoted;

/// The port of Incus itself.
const INCUS_PORT: u64 = 8443;

pub(super) fn check(
    tailscale: &DeclaredTailscale,
    release: Option<Release>,
    issues: &mut Vec<Issue>,
) {
    let mut refuse = |name: &'static str, summary: &str, detail: String| {
        issues.push(Issue::new(at(&["tailscale", name]), summary, detail));
    };
    if let Given::Known(key) = &tailscale.auth_key
        && (key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()))
    {
        refuse(
            "auth_key",
            "The auth key of Tailscale is not valid",
            "The text is empty, or has spaces or line ends in it (it is not repeated here). Expected the key alone, such as \
             trimspace(file(…)) gives."
                .to_owned(),
        );
    }
    if let Given::Known(server) = &tailscale.login_server
        && !is_url(server)
    {
        refuse(
            "login_server",
            "The login server of Tailscale is not valid",
            format!(
                "It is {}. Expected a URL such as \"https://login.example.net\".",
                quoted(server)
            ),
        );
    }
    for (name, given) in [
        ("exit_node", &tailscale.exit_node),
        ("serve_service", &tailscale.serve_service),
    ] {
        if let Given::Known(text) = given
            && (text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            refuse(
                name,
                "A name on the tailnet is not valid",
                format!("{name} is {}. Expected one word.", quoted(text)),
            );
        }
    }
    check_exit(tailscale, &mut refuse);
    check_ports(tailscale, release, &mut refuse);
    check_routes(tailscale, issues);
}

fn is_url(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with(['/', ':'])
            && rest.bytes().all(|byte| byte.is_ascii_graphic())
    })
}

fn check_exit(tailscale: &DeclaredTailscale, refuse: &mut impl FnMut(&'static str, &str, String)) {
    if tailscale.exit_node.known().is_some() && tailscale.advertise_exit_node == Given::Known(true)
    {
        refuse(
            "exit_node",
            "A machine uses an exit node and is one",
            "exit_node is set and advertise_exit_node is true, and Tailscale refuses both at once. Remove one of them."
                .to_owned(),
        );
    }
    if tailscale.exit_node == Given::Absent
        && tailscale.exit_node_allow_lan_access == Given::Known(true)
    {
        refuse(
            "exit_node_allow_lan_access",
            "A machine without an exit node has a rule for one",
            "exit_node_allow_lan_access is true and exit_node is not set, which Tailscale refuses. Set exit_node, or remove \
             this."
                .to_owned(),
        );
    }
}

fn check_ports(
    tailscale: &DeclaredTailscale,
    release: Option<Release>,
    refuse: &mut impl FnMut(&'static str, &str, String),
) {
    for (name, given) in [
        ("serve_port", &tailscale.serve_port),
        ("port", &tailscale.port),
    ] {
        if let Given::Known(port) = given
            && !(1..=65535).contains(port)
        {
            refuse(
                name,
                "A port of Tailscale is not valid",
                format!("It is {port}. Expected 1 to 65535."),
            );
        }
    }
    if tailscale.serve_port == Given::Known(INCUS_PORT) {
        refuse(
            "serve_port",
            "Tailscale would take the port of Incus",
            format!(
                "It is {INCUS_PORT}, where Incus listens on every address. Expected another one, such as 443."
            ),
        );
    }
    if let (Given::Known(_), Some(release)) = (&tailscale.port, release)
        && release < Release::Newest
    {
        refuse(
            "port",
            "The release of IncusOS does not know the port of Tailscale",
            format!(
                "Seeds are rendered for {release}. Expected incusos_release to be {} or later; remove port for an older one.",
                Release::Newest
            ),
        );
    }
}

fn check_routes(tailscale: &DeclaredTailscale, issues: &mut Vec<Issue>) {
    let routes = tailscale.advertised_routes.known().into_iter().flatten();
    for (index, given) in routes.enumerate() {
        let (what, reason) = match given {
            Given::Unknown => continue,
            Given::Absent => ("null".to_owned(), "is nothing"),
            Given::Known(text) => match check_route(text) {
                Ok(()) => continue,
                Err(reason) => (quoted(text), reason),
            },
        };
        let mut path = at(&["tailscale", "advertised_routes"]);
        path.push(Step::Index(index));
        issues.push(Issue::new(
            path,
            "A route for the tailnet is not valid",
            format!(
                "The route is {what}: it {reason}. Expected a CIDR such as \"192.168.1.0/24\"."
            ),
        ));
    }
}

fn check_route(text: &str) -> Result<(), &'static str> {
    let (address, prefix) = text.split_once('/').ok_or("has no prefix length")?;
    let plain = prefix.bytes().all(|byte| byte.is_ascii_digit())
        && (prefix == "0" || !prefix.starts_with('0'));
    let length: u32 = match prefix.parse() {
        Ok(length) if plain => length,
        _ => return Err("has a prefix length that is not a number"),
    };
    let (bits, width) = if let Ok(address) = address.parse::<Ipv4Addr>() {
        (u128::from(address.to_bits()), 32)
    } else if let Ok(address) = address.parse::<Ipv6Addr>() {
        (address.to_bits(), 128)
    } else {
        return Err("has no address before the slash");
    };
    if length > width {
        return Err("has a prefix length that is too long");
    }
    let host = u128::MAX.checked_shr(128 - (width - length)).unwrap_or(0);
    if bits & host != 0 {
        return Err("has host bits set");
    }
    Ok(())
}
