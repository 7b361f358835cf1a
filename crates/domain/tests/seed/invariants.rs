//! Sentences that hold for every accepted seed and what is rendered of it. The judge of the files is `accepted.rs`.

use std::collections::BTreeMap;

use domain::given::Given;
use domain::seed::Declared;
use serde_json::Value;

use crate::fixtures::PRIVATE_KEY;
use crate::{accepted, accepted_network};

pub(crate) type Files = BTreeMap<String, String>;

pub(crate) fn invariant_every_file_is_known(rendered: &BTreeMap<String, Given<String>>) -> Files {
    let known = |(name, text): (&String, &Given<String>)| {
        let text = text
            .known()
            .unwrap_or_else(|| panic!("{name} is not known"));
        assert!(
            text.ends_with("}\n") && !text.starts_with('\u{feff}'),
            "{name}"
        );
        let file: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(file["version"], "1", "{name}");
        (name.clone(), text.clone())
    };
    rendered.iter().map(known).collect()
}

fn value(given: &Given<String>) -> String {
    given.known().cloned().unwrap_or_default()
}

/// HO-CFG-21, HO-SEED-19, HO-SEED-22, HO-SEED-23, HO-WG-05, HO-WG-06.
pub(crate) fn invariant_the_network_says_what_is_declared(seed: &Declared, files: &Files) {
    let network =
        accepted_network::network(&files["network.json"]).expect("a network that IncusOS takes");
    assert_eq!(
        (network.version.as_str(), network.dns.hostname),
        ("1", value(&seed.machine.name))
    );
    let declared = seed.machine.network.known();
    let resolvers = declared
        .and_then(|network| network.dns.known())
        .into_iter()
        .flatten();
    assert!(
        network
            .dns
            .nameservers
            .iter()
            .eq(resolvers.filter_map(Given::known))
    );
    let card = &network.interfaces[0];
    assert_eq!(network.interfaces.len(), 1);
    assert!(
        card.roles.iter().any(|role| role == "cluster"),
        "the LAN carries the cluster"
    );
    assert_eq!(card.hwaddr, card.hwaddr.to_lowercase());
    let digits = |text: &str| text.to_lowercase().replace([':', '-', '.'], "");
    assert_eq!(digits(&card.hwaddr), digits(&value(&seed.machine.mac)));
    let asks = card.addresses.iter().any(|address| address == "dhcp4");
    assert_eq!(
        asks,
        seed.machine.dhcp == Given::Known(true) || seed.machine.address == Given::Absent
    );
    if let Given::Known(address) = &seed.machine.address {
        assert_eq!(
            card.addresses[0].split_once('/').map(|(ip, _)| ip),
            Some(address.as_str())
        );
        let gateway = declared
            .map(|network| value(&network.gateway))
            .unwrap_or_default();
        assert_eq!(card.routes.first().map_or("", |route| &route.via), gateway);
    }
    assert_eq!(
        network.wireguard.len(),
        usize::from(seed.wireguard.is_set())
    );
    for (tunnel, overlay) in network.wireguard.iter().zip(seed.wireguard.known()) {
        assert_eq!((tunnel.routes.len(), tunnel.port, tunnel.mtu), (0, 0, 1420));
        assert_eq!(
            (tunnel.roles.as_slice(), tunnel.private_key.as_str()),
            (&["management".to_owned()][..], PRIVATE_KEY)
        );
        let peer = &tunnel.peers[0];
        assert_eq!(
            (&peer.public_key, &peer.endpoint),
            (&value(&overlay.public_key), &value(&overlay.endpoint))
        );
        assert_eq!(
            i64::try_from(*overlay.keepalive.known().unwrap_or(&25)),
            Ok(peer.persistent_keepalive)
        );
        let (_, prefix) = tunnel.addresses[0].split_once('/').expect("a prefix");
        assert!(value(&overlay.cidr).ends_with(&format!("/{prefix}")));
        assert!(peer.allowed_ips[0].ends_with("/32") && peer.allowed_ips.len() == 1);
        assert_ne!(
            peer.allowed_ips[0],
            format!("{}/32", value(&overlay.address))
        );
    }
}

/// HO-SEED-12 to HO-SEED-18, HO-SEED-20, HO-SEED-21, HO-SEED-25.
pub(crate) fn invariant_incus_becomes_what_its_role_says(seed: &Declared, files: &Files) {
    let incus = accepted::incus(&files["incus.json"]).expect("a preseed that Incus takes");
    assert_eq!(incus.version, "1");
    let address = seed.machine.address.known();
    let role = seed
        .machine
        .role
        .known()
        .map(String::as_str)
        .filter(|_| address.is_some());
    assert_eq!(incus.apply_defaults, role != Some("join"));
    let preseed = incus.preseed;
    let kinds: Vec<&str> = preseed
        .certificates
        .iter()
        .map(|certificate| certificate.kind.as_str())
        .collect();
    let joiners = preseed
        .certificates
        .iter()
        .filter(|certificate| certificate.name.ends_with("-joiner"));
    match role {
        Some("join") => assert_eq!(
            (kinds.as_slice(), joiners.count()),
            (&["client", "client", "metrics"][..], 1)
        ),
        _ => assert_eq!(
            (kinds.as_slice(), joiners.count()),
            (&["client", "metrics"][..], 0)
        ),
    }
    let is_first = role == Some("bootstrap");
    assert_eq!(
        preseed.cluster.map(|cluster| cluster.server_name),
        is_first.then(|| value(&seed.machine.name))
    );
    assert_eq!(preseed.profiles.len(), usize::from(is_first));
    for profile in &preseed.profiles {
        assert_eq!(
            (profile.name.as_str(), profile.project.as_str()),
            ("incus-socket", "default")
        );
        assert_eq!(profile.devices["incus-socket"]["type"], "proxy");
    }
    let wide = is_first && seed.wireguard.is_set();
    let own = address.map(|address| format!("{address}:8443"));
    let expected = if wide {
        Some(":8443".to_owned())
    } else {
        own.clone().filter(|_| role.is_some())
    };
    assert_eq!(preseed.config.get("core.https_address"), expected.as_ref());
    assert_eq!(
        preseed.config.get("cluster.https_address"),
        own.filter(|_| wide).as_ref()
    );
}

pub(crate) fn invariant_the_other_files_say_what_is_declared(seed: &Declared, files: &Files) {
    let install = accepted::install(&files["install.json"]).expect("an install that IncusOS takes");
    assert_eq!(install.version, "1");
    let security = seed.machine.security.known().cloned().unwrap_or_default();
    assert_eq!(
        install.security.missing_tpm,
        security.tpm == Given::Known(false)
    );
    assert_eq!(
        install.security.missing_secure_boot,
        security.secure_boot == Given::Known(false)
    );
    let disk = seed
        .machine
        .install_disk
        .known()
        .cloned()
        .unwrap_or_default();
    // HO-SEED-32: a choice has a bound, the user's own or that of IncusOS.
    let target = install.target.expect("a target");
    let bound = disk.min_size.known().map(String::as_str);
    assert_eq!(target.min_size, bound.unwrap_or("50GiB"));
    for (rendered, declared) in [
        (target.id, &disk.id),
        (target.bus, &disk.bus),
        (target.max_size, &disk.max_size),
        (target.sort_order, &disk.sort_order),
    ] {
        assert_eq!(rendered, value(declared));
    }
    let names = accepted::applications(&files["applications.json"])
        .expect("applications that IncusOS takes");
    let declared = seed
        .applications
        .known()
        .map(|names| names.iter().map(value).collect());
    assert_eq!(names, declared.unwrap_or_else(|| vec!["incus".to_owned()]));
    if let Given::Known(declared) = &seed.update {
        let update = accepted::update(&files["update.json"]).expect("an update that IncusOS takes");
        let channel = update.get("channel").and_then(Value::as_str);
        assert_eq!(channel, declared.channel.known().map(String::as_str));
    }
    if let Given::Known(declared) = &seed.tailscale {
        let services = [
            "version",
            "iscsi",
            "lvm",
            "multipath",
            "netbird",
            "nvme",
            "ovn",
            "tailscale",
            "usbip",
        ];
        let services = accepted::object(&files["services.json"], &services)
            .expect("services that IncusOS knows");
        let tailscale = &services["tailscale"];
        assert_eq!(
            tailscale.get("auth_key").and_then(Value::as_str),
            declared.auth_key.known().map(String::as_str)
        );
        assert_eq!(
            tailscale.get("serve_port").and_then(Value::as_u64),
            declared.serve_port.known().copied()
        );
    }
}

/// Equal, but for the version and for what is null: a file that is passed through says what it said.
pub(crate) fn invariant_passed_files_say_what_they_said(seed: &Declared, files: &Files) {
    for (name, text) in seed.extra_files.known().into_iter().flatten() {
        let Given::Known(text) = text else {
            continue;
        };
        let mut declared: Value = serde_json::from_str(text).expect("JSON");
        let mut rendered: Value =
            serde_json::from_str(&files[&format!("{name}.json")]).expect("JSON");
        // The service that an attribute adds.
        let is_merged = name == "services" && seed.tailscale.is_set();
        for file in [&mut declared, &mut rendered] {
            let fields = file.as_object_mut().expect("an object");
            fields.remove("version");
            if is_merged {
                fields.remove("tailscale");
            }
            drop_nulls(file);
        }
        assert_eq!(declared, rendered, "{name}");
    }
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
