//! What stands in the way of a join, and is ours to take away or to set first.

use crate::membership::fixtures::*;
use crate::membership::observation::*;

/// HO-JOIN-09, HO-JOIN-12, HO-JOIN-17: one thing at a time, the token last.
#[test]
fn what_a_failed_join_has_left_is_cleaned_up_first() {
    let tried = |change: fn(&mut Server)| {
        machine(|server| {
            server.cluster_address = Some("10.0.0.2:8443".to_owned());
            change(server);
        })
    };
    let trusts = |name: &str, fingerprint: &str| {
        cluster(|cluster| cluster.trusted.push(server_certificate(name, fingerprint)))
    };
    check_joins(vec![
        (
            "its certificate",
            spec(),
            trusts("b", OWN),
            "joining: end the trust in certificate b2",
        ),
        (
            "that of an earlier installation",
            spec(),
            trusts("b", "old"),
            "joining: end the trust in certificate old",
        ),
        (
            "its certificate under another name",
            spec(),
            trusts("x", OWN),
            "joining: end the trust in certificate b2",
        ),
        (
            "that of somebody else",
            spec(),
            trusts("x", "other"),
            "joining: join b",
        ),
        (
            "a client of that name",
            spec(),
            cluster(|cluster| {
                cluster.trusted.push(Trusted {
                    kind: TrustKind::Client,
                    ..server_certificate("b", "other")
                });
            }),
            "joining: join b",
        ),
        (
            "its network",
            spec(),
            tried(|server| server.networks = set(&["incusbr0"])),
            "joining: delete network incusbr0 of the joiner",
        ),
        (
            "its pool",
            spec(),
            tried(|server| server.pools = set(&["local"])),
            "joining: delete pool local of the joiner",
        ),
        (
            "an address that is not declared any more",
            spec(),
            machine(|server| server.cluster_address = Some("10.0.0.9:8443".to_owned())),
            "joining: set cluster.https_address to 10.0.0.2:8443",
        ),
        (
            "the declared address",
            spec(),
            tried(|_| {}),
            "joining: join b",
        ),
        (
            "its token",
            spec(),
            cluster(|cluster| cluster.tokens.push(token("b"))),
            "joining: revoke a join token",
        ),
        (
            "the token of another",
            spec(),
            cluster(|cluster| cluster.tokens.push(token("x"))),
            "joining: join b",
        ),
    ]);
}

/// HO-JOIN-23: whoever has a token could use it while we wait.
#[test]
fn a_token_that_is_outstanding_is_revoked_before_anything_is_waited_for() {
    let with_token = |observation| changed(observation, |cluster| cluster.tokens.push(token("b")));
    let version = |server: &mut Server| server.version = server_version("7.0.0", 514);
    let revoke = "joining: revoke a join token";
    check_joins(vec![
        ("silent", spec(), with_token(seen(silent())), revoke),
        (
            "unknown to it",
            spec(),
            with_token(seen(untrusting(OWN))),
            revoke,
        ),
        ("older", spec(), with_token(machine(version)), revoke),
        (
            "in another cluster",
            spec(),
            with_token(machine(|server| server.clustered = true)),
            revoke,
        ),
        (
            "it uses the token now",
            spec(),
            with_token(machine(|server| server.busy = true)),
            "joining: the machine is about to",
        ),
    ]);
}

/// 6.0.4 refuses a joiner that listens on every address.
#[test]
fn a_joiner_of_an_old_version_is_told_one_address_first() {
    for (version, address, expected) in [
        (
            "6.0.4",
            ":8443",
            "joining: set core.https_address to 10.0.0.2:8443",
        ),
        ("6.0.5", "[::]:8443", "joining: set core.https_address"),
        ("6.0.4", "0.0.0.0:8443", "joining: set core.https_address"),
        ("6.0.4", "10.0.0.2:8443", "joining: join b"),
        ("6.0.4", "", "joining: join b"),
        ("6.0.6", ":8443", "joining: join b"),
        ("6.23", ":8443", "joining: join b"),
        ("6.0", ":8443", "joining: set core.https_address"),
    ] {
        let same = Version {
            text: version.to_owned(),
            extensions: 450,
        };
        let observation = machine(|server| {
            server.version = same.clone();
            server.https_address = Some(address.to_owned());
        });
        let observation = changed(observation, |cluster| {
            if let Some(server) = &mut cluster.members[0].server {
                server.version = same;
            }
        });
        let said = said(&spec(), &observation);
        assert!(said.starts_with(expected), "{version} at {address}: {said}");
    }
}
