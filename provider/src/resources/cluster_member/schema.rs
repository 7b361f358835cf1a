//! The schema of `homelab_cluster_member`: every attribute, described once; wire schema and pages come from here.
//!
//! Before and after: `tfplugin`. Texts that mean the same to Incus keep the spelling that they had.

use std::collections::BTreeSet;

use domain::membership::certificate::Certificate;
use domain::membership::declared::parse_address;
use tfplugin::{Attribute, Schema, Type, Value, timeouts_attribute};

/// The schema.
pub(super) fn schema() -> Schema {
    Schema::new(
        0,
        "Manages a machine's membership in the cluster: the first machine becomes the cluster, the others join it, and each is \
         kept as it is declared.\n\n\
         A create waits until the machine answers, trusts this client and has applied its seed, so one apply can begin before \
         the machines are installed. It succeeds as soon as the cluster lists the member; what it then still lacks is in \
         `missing`, and the next apply repairs it. A machine that is complete gets a workload of each app that runs `per-node` \
         before its create returns. Joins and removals run one after the other, the bootstrap first. A destroy \
         loses nothing unless `on_destroy` says so, and that counts only once it was applied; workloads of `per-node` apps \
         go with their machine.",
    )
    .attributes(inputs().into_iter().chain(outputs()))
}

fn inputs() -> Vec<Attribute> {
    vec![
        Attribute::string("name").required().replace().describe(
            "The name of the member, and of its machine: a hostname label of at most 48 characters. Usually `each.key`.",
        ),
        Attribute::string("address").required().same_meaning(same_address).describe(
            "Where the other members reach it, as `host` or `host:port`; without a port it is 8443. Usually \
             `homelab_instance.NAME.address`. It cannot change while the machine is a member.",
        ),
        Attribute::string("role").optional().describe(
            "How the machine becomes a member: `bootstrap` for the one that the cluster is made of, or `join`, which is the \
             default. It is used at creation only: later it changes nothing but the state, and a machine that was installed to \
             begin a cluster has to be installed anew before it can join another.",
        ),
        Attribute::string("server_fingerprint").optional().same_meaning(same_fingerprint).describe(
            "The SHA-256 fingerprint of the certificate that the machine shows before it joins; any other machine is refused. \
             Unset, whoever answers at `address` with the expected name is taken. Of no account once it is a member.",
        ),
        Attribute::list("groups", Type::String).optional().same_meaning(same_groups).describe(
            "All cluster groups that the member is in, at least one; those that do not exist are made. Unset, they are left to \
             others.",
        ),
        Attribute::map("config", Type::String).optional().describe(
            "Configuration keys of the member: `scheduler.instance` (`all`, `group` or `manual`) and `user.*`, of which an empty \
             text says that the key is not set. Keys that are not named here are left to others.",
        ),
        Attribute::string("failure_domain").optional().describe(
            "What the member shares with others that would fail together with it, such as `rack-1`. Unset, it is left to others.",
        ),
        Attribute::string("state").optional().describe(
            "`online`, or `evacuated`: its instances are moved to other members, or stopped where they cannot be. Unset, it \
             is left to others.",
        ),
        storage(),
        Attribute::string("metrics_certificate").optional().same_meaning(same_certificate).describe(
            "The certificate with which metrics are read, in PEM form, such as `homelab_seed.NAME.metrics_certificate`. A join \
             replaces what the machine trusted, so the cluster is made to trust it afterwards; on destroy the trust ends.",
        ),
        Attribute::single("on_destroy", [
            Attribute::bool("evacuate").optional().describe(
                "Whether its instances are moved off it first. Unset, a member that hosts any stays.",
            ),
            Attribute::bool("force").optional().describe(
                "Whether it is removed with everything that is still on it, and also when it does not answer; what is on it is \
                 lost to the cluster then. Unset, nothing is lost.",
            ),
        ])
        .optional()
        .describe(
            "What removing the member may do to what is on it. It counts as it was last applied: change it, apply, and remove \
             the member then.",
        ),
        timeouts_attribute(&["create", "update", "delete"]),
    ]
}

fn storage() -> Attribute {
    Attribute::single("storage", [
        // Both are required by a check, whose message says what IncusOS has.
        Attribute::string("pool").optional().describe("The name of the pool; required."),
        Attribute::string("driver").optional().describe("Its driver: `btrfs`, `dir`, `lvm` or `zfs`; required."),
        Attribute::string("source").optional().describe("Where it is on the machine; unset, Incus chooses."),
    ])
    .optional()
    .describe(
        "The storage pool that every member has, and that holds the daemon's own volumes `backups`, `images` and `logs`. Unset, \
         it is what IncusOS makes (`local`, `zfs`, `local/incus`), and on any other system none is made and none expected.",
    )
}

fn outputs() -> Vec<Attribute> {
    let computed = |attribute: Attribute| attribute.computed().keep_prior();
    vec![
        computed(Attribute::list("missing", Type::String)).describe(
            "What the member lacks of what it is declared to be, and no other attribute shows: a pool, a volume, a setting, the \
             trust in a certificate. The next apply repairs it.",
        ),
        computed(Attribute::string("owner")).describe(
            "The id under which this configuration owns the member. Null after the import of one that no configuration has made, \
             until its first change.",
        ),
        computed(Attribute::string("status")).describe(
            "`Online`, `Offline`, `Evacuated`, `Blocked`, `Evacuating` or `Restoring`.",
        ),
        computed(Attribute::list("roles", Type::String)).describe(
            "What it does for the cluster, such as `database`: it has a vote then.",
        ),
        computed(Attribute::string("server_version")).describe("The version of Incus on it."),
        computed(Attribute::string("architecture")).describe(
            "The architecture of the machine, such as `x86_64`.",
        ),
        computed(Attribute::string("location")).describe(
            "Where the cluster reaches it, as `host:port`.",
        ),
    ]
}

fn texts<'a>(one: &'a Value, other: &'a Value) -> Option<(&'a str, &'a str)> {
    Some((one.as_str()?, other.as_str()?))
}

fn same_address(one: &Value, other: &Value) -> bool {
    texts(one, other).is_some_and(|(one, other)| {
        let address = parse_address(one);
        address.is_ok() && address == parse_address(other)
    })
}

fn same_fingerprint(one: &Value, other: &Value) -> bool {
    let digits = |text: &str| text.replace(':', "").to_lowercase();
    texts(one, other).is_some_and(|(one, other)| digits(one) == digits(other))
}

fn same_groups(one: &Value, other: &Value) -> bool {
    let set = |list: &Value| -> Option<BTreeSet<String>> {
        let names = list.as_list()?.iter();
        names.map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let length = |list: &Value| list.as_list().map(<[Value]>::len);
    // A group that is named twice is a mistake, and the check has to see it.
    length(one) == length(other) && set(one).is_some() && set(one) == set(other)
}

fn same_certificate(one: &Value, other: &Value) -> bool {
    let fingerprint = |text| Certificate::parse(text).ok().map(|one| one.fingerprint);
    texts(one, other).is_some_and(|(one, other)| {
        fingerprint(one).is_some() && fingerprint(one) == fingerprint(other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Value {
        Value::List(names.iter().map(|name| Value::from(*name)).collect())
    }

    #[test]
    fn other_spellings_of_the_same_are_no_change() {
        let pem = include_str!("../seed/tests/break-glass.crt");
        let crlf = pem.replace('\n', "\r\n");
        type Same = fn(&Value, &Value) -> bool;
        let cases: [(Same, Value, Value, bool); 9] = [
            (
                same_address,
                "10.0.0.2".into(),
                "10.0.0.2:8443".into(),
                true,
            ),
            (
                same_address,
                "10.0.0.2".into(),
                "10.0.0.2:443".into(),
                false,
            ),
            (same_address, "".into(), "".into(), false),
            (same_fingerprint, "AB:cd".into(), "abcd".into(), true),
            (same_fingerprint, "abcd".into(), "abce".into(), false),
            (same_groups, list(&["a", "b"]), list(&["b", "a"]), true),
            (same_groups, list(&["a"]), list(&["a", "a"]), false),
            (same_certificate, pem.into(), crlf.as_str().into(), true),
            (same_certificate, "x".into(), "x".into(), false),
        ];
        for (same, one, other, expected) in cases {
            assert_eq!(same(&one, &other), expected, "{one:?} {other:?}");
        }
    }
}
