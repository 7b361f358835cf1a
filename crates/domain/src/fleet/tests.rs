//! Fleets as text, and what is wrong between their parts. What holds for every fleet is in `properties.rs`.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read its own table has to stop"
)]

use super::*;

fn given(text: &str) -> Given<String> {
    match text {
        "?" => Given::Unknown,
        text => Given::Known(text.to_owned()),
    }
}

/// The words of an entry: its key, and `attribute=value` each. A `?` is unknown.
fn words(text: &str) -> (Step, BTreeMap<&str, &str>) {
    let mut words = text.split_whitespace();
    let key = Step::Key(words.next().unwrap().to_owned());
    (
        key,
        words.map(|word| word.split_once('=').unwrap()).collect(),
    )
}

fn network(text: &str) -> (Step, Given<Network>) {
    let (key, words) = words(text);
    let word = |name: &str| words.get(name).map_or(Given::Absent, |text| given(text));
    let network = Network {
        name: word("name"),
        cidr: word("cidr"),
        gateway: word("gateway"),
    };
    (key, Given::Known(network))
}

fn machine(text: &str) -> (Step, Given<Machine>) {
    let (key, words) = words(text);
    let word = |name: &str| words.get(name).map_or(Given::Absent, |text| given(text));
    let network = match words.get("network") {
        None => Given::Absent,
        Some(&"?") => Given::Unknown,
        Some(name) => Given::Known(Network {
            name: given(name),
            cidr: word("cidr"),
            gateway: word("gateway"),
        }),
    };
    let machine = Machine {
        name: word("name"),
        mac: word("mac"),
        role: word("role"),
        address: word("address"),
        network,
    };
    (key, Given::Known(machine))
}

fn app(text: &str) -> (Step, Given<App>) {
    let (key, words) = words(text);
    let word = |name: &str| words.get(name).map_or(Given::Absent, |text| given(text));
    let proxy = |listen: &str| {
        let keys = [
            ("type", given("proxy")),
            ("listen", given(listen)),
            ("bind", word("bind")),
        ];
        let keys = keys
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        BTreeMap::from([("port".to_owned(), Given::Known(keys))])
    };
    let app = App {
        name: word("name"),
        r#type: word("type"),
        replicas: word("replicas"),
        primary: word("primary"),
        group: word("group"),
        devices: words
            .get("listen")
            .map_or(Given::Absent, |listen| Given::Known(proxy(listen))),
    };
    (key, Given::Known(app))
}

pub(super) fn fleet(networks: &[&str], machines: &[&str], apps: &[&str]) -> Fleet {
    let networks = networks.iter().map(|text| network(text)).collect();
    let machines = machines.iter().map(|text| machine(text)).collect();
    let apps = apps.iter().map(|text| app(text)).collect();
    Fleet {
        networks: Given::Known(networks),
        machines: Given::Known(machines),
        apps: Given::Known(apps),
    }
}

/// Each text is a part of the issue at the same place, printed as `path: summary. detail`.
fn expect(fleet: &Fleet, parts: &[&[&str]]) {
    let issues = check(fleet).issues;
    let told: Vec<String> = issues.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), parts.len(), "{told:#?}");
    for (told, parts) in told.iter().zip(parts) {
        for part in *parts {
            assert!(told.contains(part), "{part:?} is not in {told:?}");
        }
    }
}

fn machines(machines: &[&str], parts: &[&[&str]]) {
    expect(&fleet(&[], machines, &[]), parts);
}

fn apps(apps: &[&str], parts: &[&[&str]]) {
    expect(&fleet(&[], &["a name=a", "b name=b"], apps), parts);
}

#[test]
fn a_sound_fleet_has_no_issues() {
    let sound = fleet(
        &[
            "lan name=lan cidr=10.0.0.0/24 gateway=10.0.0.1",
            "wg name=wg cidr=10.100.0.0/24",
        ],
        &[
            "a name=a mac=52:54:00:00:00:0a role=bootstrap address=10.0.0.10 network=lan cidr=10.0.0.0/24 gateway=10.0.0.1",
            "b name=b mac=52-54-00-00-00-0B role=join address=10.0.0.11 network=lan cidr=10.0.0.0/24 gateway=10.0.0.1",
        ],
        &[
            "agent name=agent type=agent replicas=per-node primary=a",
            "alloy name=alloy type=alloy replicas=per-node",
            "web name=web type=generic-stateless replicas=3 listen=tcp:0.0.0.0:80",
            "db name=db type=generic-exclusive replicas=1 listen=tcp:0.0.0.0:5432",
        ],
    );
    let (listed, complete) = (true, true);
    assert_eq!(
        check(&sound),
        Verdict {
            issues: Vec::new(),
            listed,
            complete
        }
    );
    assert_eq!(
        check(&Fleet::default()),
        Verdict {
            issues: Vec::new(),
            listed,
            complete
        }
    );
}

/// HO-CFG-09, HO-APP-06: a name is never silently taken by the last one. Without a name the key counts.
#[test]
fn names_are_unique_among_their_kind() {
    let twice = ["a name=x", "b name=x"];
    expect(
        &fleet(&twice, &[], &[]),
        &[&[
            "networks[\"b\"].name",
            "Two networks",
            "networks[\"a\"]",
            "Rename",
        ]],
    );
    expect(
        &fleet(&[], &twice, &[]),
        &[&["machines[\"b\"].name", "Two machines", "machines[\"a\"]"]],
    );
    expect(
        &fleet(&[], &[], &twice),
        &[&["apps[\"b\"].name", "Two apps", "apps[\"a\"]"]],
    );
    expect(
        &fleet(&["x", "b name=x"], &[], &[]),
        &[&["Two networks are called \"x\""]],
    );
    expect(&fleet(&["x name=x"], &["x name=x"], &["x name=x"]), &[]);
}

/// HO-CFG-03: the same card in another spelling is the same machine. What is no MAC address is not judged here.
#[test]
fn mac_addresses_are_unique() {
    machines(
        &[
            "a mac=52:54:00:00:00:0a",
            "b mac=5254.0000.000A",
            "c mac=5254.0000.000b",
            "d mac=x",
            "e mac=x",
        ],
        &[&[
            "machines[\"b\"].mac",
            "machines[\"a\"]",
            "52:54:00:00:00:0a",
            "Correct the one",
        ]],
    );
}

/// HO-IPAM-05.
#[test]
fn addresses_are_unique_within_a_network() {
    machines(
        &[
            "a address=10.0.0.10 network=lan",
            "b address=10.0.0.10 network=dmz",
            "c address=10.0.0.10 network=lan",
            "d address=10.0.0.10 network=?",
            "e address=10.0.0.10",
            "f address=10.0.0.10",
        ],
        &[
            &[
                "machines[\"c\"].address",
                "machines[\"a\"]",
                "Take it from the network",
            ],
            &["machines[\"f\"].address", "machines[\"e\"]"],
        ],
    );
}

/// HO-CFG-22.
#[test]
fn exactly_one_machine_bootstraps() {
    machines(
        &["a role=bootstrap", "b role=join", "c role=bootstrap"],
        &[&[
            "machines[\"c\"].role",
            "machines[\"a\"]",
            "exactly one",
            "role = \"join\"",
        ]],
    );
    machines(
        &["a role=join", "b"],
        &[&["machines[\"a\"].role", "none has the role bootstrap"]],
    );
    machines(&["a role=join", "b role=?"], &[]);
    machines(&["a", "b"], &[]);
}

/// HO-CFG-13.
#[test]
fn a_network_has_one_source() {
    let lan = "lan name=lan cidr=10.0.0.0/24 gateway=10.0.0.1";
    let copied = "a network=lan cidr=10.0.1.0/24 gateway=10.0.0.1";
    let parts = [
        "machines[\"a\"].network",
        "cidr",
        "\"10.0.1.0/24\"",
        "Pass the network itself",
    ];
    expect(&fleet(&[lan], &[copied], &[]), &[&parts]);
    for fine in [
        "a network=dmz cidr=10.0.1.0/24",
        "a network=lan cidr=?",
        "a network=lan",
    ] {
        expect(&fleet(&[lan], &[fine], &[]), &[]);
    }
}

/// HO-APP-16.
#[test]
fn a_type_has_one_per_node_app() {
    apps(
        &[
            "a1 type=agent replicas=per-node",
            "a2 type=agent replicas=per-node",
            "a3 type=agent replicas=3",
            "x type=alloy replicas=per-node",
        ],
        &[&[
            "apps[\"a2\"].replicas",
            "apps[\"a1\"]",
            "at most one",
            "number of replicas",
        ]],
    );
}

/// HO-APP-14, HO-APP-27: ordinals and machines behind a name must not make another app's name of it.
#[test]
fn workloads_of_different_apps_have_different_names() {
    let parts = ["apps[\"web-1\"].name", "web-1-g0", "Rename one"];
    apps(&["web replicas=3", "web-1 replicas=1"], &[&parts]);
    apps(&["web replicas=1", "web-1 replicas=1"], &[]);
    apps(&["web replicas=2", "web-2 replicas=1"], &[]);
    apps(&["web replicas=2", "web-1 replicas=2"], &[]);
    apps(
        &["web replicas=per-node", "web-a replicas=1"],
        &[&["web-a-g0"]],
    );
    apps(&["web replicas=per-node", "web-c replicas=1"], &[]);
    apps(&["web replicas=?", "web-1 replicas=1"], &[]);
    // Many names, one issue.
    let both = &["w replicas=999", "x replicas=999", "w-5 replicas=1"];
    apps(both, &[&["w-5-g0"]]);
}

#[test]
fn a_per_node_app_leaves_room_for_the_names_of_machines() {
    let (long, short) = (format!("a name={}", "m".repeat(48)), "b name=b");
    let fits = format!("x name={} replicas=per-node", "n".repeat(7));
    let is_long = format!("x name={} replicas=per-node", "n".repeat(8));
    let counted = format!("x name={} replicas=2", "n".repeat(48));
    expect(&fleet(&[], &[&long, short], &[&fits]), &[]);
    expect(&fleet(&[], &[&long, short], &[&counted]), &[]);
    let parts = [
        "apps[\"x\"].name",
        "56 characters together",
        "at most 55",
        "Shorten",
    ];
    expect(&fleet(&[], &[&long, short], &[&is_long]), &[&parts]);
}

/// HO-CFG-05.
#[test]
fn the_primary_is_a_declared_machine() {
    apps(
        &["x primary=c"],
        &[&["apps[\"x\"].primary", "\"c\"", "a, b"]],
    );
    apps(&["x primary=b"], &[]);
    expect(&fleet(&[], &["a name=?"], &["x primary=c"]), &[]);
    expect(&fleet(&[], &[], &["x primary=c"]), &[]);
}

/// HF-17.
#[test]
fn a_port_of_the_host_is_one_apps() {
    for (one, other, clash) in [
        ("tcp:0.0.0.0:80", "tcp:0.0.0.0:80", true),
        ("tcp:0.0.0.0:80", "udp:0.0.0.0:80", false),
        ("tcp:0.0.0.0:80", "tcp:0.0.0.0:81", false),
        ("tcp:0.0.0.0:80", "tcp:192.168.1.9:80", true),
        ("tcp:192.168.1.8:80", "tcp:192.168.1.9:80", false),
        ("tcp:[::]:80", "tcp:0.0.0.0:80", true),
        ("tcp:[fd00::1]:80", "tcp:[fd00::1]:80", true),
        ("tcp:0.0.0.0:8000-8010", "tcp:0.0.0.0:80,8010", true),
        ("tcp:0.0.0.0:8000-8010", "tcp:0.0.0.0:80,8011", false),
        ("unix:/run/a", "unix:/run/a", true),
        ("unix:/run/a", "unix:/run/b", false),
        ("unix:/run/a", "tcp:0.0.0.0:80", false),
        ("tcp:host:80", "tcp:host:80", false),
        ("80", "80", false),
        ("tcp:0.0.0.0:99999", "tcp:0.0.0.0:99999", false),
    ] {
        let two = [format!("a listen={one}"), format!("b listen={other}")];
        let found = check(&fleet(&[], &[], &[&two[0], &two[1]])).issues;
        assert_eq!(
            found.len(),
            usize::from(clash),
            "{one} and {other}: {found:#?}"
        );
    }
    let (web, port) = ("listen=tcp:0.0.0.0:80", "tcp:0.0.0.0:80");
    let parts = [
        "apps[\"b\"].workload",
        "\"a\"",
        "\"port\"",
        port,
        "Choose another port",
    ];
    apps(&[&format!("a {web}"), &format!("b {web}")], &[&parts]);
    apps(
        &[&format!("a {web} group=x"), &format!("b {web} group=x")],
        &[&parts],
    );
    for apart in ["group=y", "group=?", "bind=guest", "bind=?"] {
        apps(
            &[
                &format!("a {web} group=x"),
                &format!(
                    "b {web} {apart} {}",
                    if apart.starts_with('g') {
                        ""
                    } else {
                        "group=x"
                    }
                ),
            ],
            &[],
        );
    }
    apps(
        &[&format!("a {web} bind=host group=x"), &format!("b {web}")],
        &[&parts],
    );
}

/// HO-CFG-10: all issues at once, of networks and machines before those of apps.
#[test]
fn all_issues_come_at_once() {
    let all = fleet(
        &["n1 name=lan", "n2 name=lan"],
        &[
            "a mac=525400000001 role=bootstrap",
            "b mac=525400000001 role=bootstrap",
        ],
        &[
            "x type=agent replicas=per-node",
            "y type=agent replicas=per-node",
        ],
    );
    expect(&all, &[&["networks"], &["mac"], &["role"], &["per-node"]]);
}

/// What is unknown is passed over, and it is said that there may be more; what does not matter here may be unknown.
#[test]
fn unknown_parts_leave_the_verdict_open() {
    for (kind, entry) in [
        ("network", "x name=?"),
        ("network", "x cidr=?"),
        ("network", "x gateway=?"),
        ("machine", "x name=?"),
        ("machine", "x mac=?"),
        ("machine", "x role=?"),
        ("machine", "x address=?"),
        ("machine", "x network=?"),
        ("machine", "x network=lan cidr=?"),
        ("app", "x name=?"),
        ("app", "x type=?"),
        ("app", "x replicas=?"),
        ("app", "x primary=?"),
        ("app", "x group=?"),
        ("app", "x listen=?"),
        ("app", "x listen=tcp:0.0.0.0:80 bind=?"),
    ] {
        let open = match kind {
            "network" => fleet(&[entry], &[], &[]),
            "machine" => fleet(&[], &[entry], &[]),
            _ => fleet(&[], &[], &[entry]),
        };
        let verdict = check(&open);
        assert_eq!(
            (verdict.issues, verdict.listed, verdict.complete),
            (Vec::new(), true, false),
            "{kind} {entry}"
        );
    }
    let mut open = Fleet {
        machines: Given::Unknown,
        ..Fleet::default()
    };
    assert!(!check(&open).complete && !check(&open).listed);
    open.machines = Given::Known(vec![(Step::Index(0), Given::Unknown)]);
    assert!(!check(&open).complete && !check(&open).listed);
    assert!(check(&fleet(&[], &[], &["x"])).complete);
}
