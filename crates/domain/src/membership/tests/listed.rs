//! The first member, and members that the cluster lists: is it the machine at the declared address?

use crate::membership::fixtures::*;
use crate::membership::observation::*;
use crate::membership::spec::Role;

/// HO-CLUS-02, HO-CLUS-05.
#[test]
fn the_first_member_is_made_by_its_seed_or_on_linux_by_us() {
    let linux = |change: fn(&mut Server)| {
        alone(|server| {
            server.system = System::Other;
            change(server);
        })
    };
    check_joins(vec![
        (
            "silent",
            bootstrap(),
            Observation {
                cluster: None,
                candidate: silent(),
            },
            "waiting-for-host",
        ),
        (
            "unknown to it",
            bootstrap(),
            Observation {
                cluster: None,
                candidate: untrusting(OWN),
            },
            "initializing",
        ),
        (
            "its seed is at work",
            bootstrap(),
            alone(|server| server.system = System::IncusOs { initialized: false }),
            "initializing: the machine is still applying its seed",
        ),
        (
            "seeded to join",
            bootstrap(),
            alone(|_| {}),
            "refused: the machine has applied its seed and made no cluster",
        ),
        (
            "its cluster does not answer yet",
            bootstrap(),
            alone(|server| server.clustered = true),
            "waiting-for-cluster",
        ),
        (
            "the same, and the pin was for the time before",
            with(|spec| {
                spec.role = Role::Bootstrap;
                spec.server_fingerprint = Some("ff".to_owned());
            }),
            alone(|server| server.clustered = true),
            "waiting-for-cluster",
        ),
        (
            "Linux",
            bootstrap(),
            linux(|_| {}),
            "joining: set cluster.https_address to 10.0.0.2:8443",
        ),
        (
            "Linux with another address",
            bootstrap(),
            linux(|server| server.cluster_address = Some("10.0.0.9:8443".to_owned())),
            "joining: set cluster.https_address",
        ),
        (
            "Linux with its address, and something on it",
            bootstrap(),
            linux(|server| {
                server.cluster_address = Some("10.0.0.2:8443".to_owned());
                server.instances = set(&["web"]);
                server.pools = set(&["default"]);
            }),
            "joining: make a cluster of b",
        ),
        (
            "Linux at work",
            bootstrap(),
            linux(|server| server.busy = true),
            "joining: the machine is about to",
        ),
        (
            "there is a cluster",
            bootstrap(),
            before(),
            "refused: there is a cluster already",
        ),
        (
            "there is a cluster, and it is silent",
            bootstrap(),
            seen(silent()),
            "refused: there is a cluster already",
        ),
        (
            "there is a cluster, and it is about to be in it",
            bootstrap(),
            machine(|server| server.busy = true),
            "joining: the machine is about to",
        ),
        (
            "it was removed by force",
            bootstrap(),
            seen(open(joined())),
            "refused: the machine shows this cluster's certificate",
        ),
        ("it is there", bootstrap(), complete(), "joined"),
    ]);
}

/// HO-JOIN-20, HO-JOIN-24.
#[test]
fn a_listed_member_must_be_the_machine_at_the_declared_address() {
    let meets = |candidate| Observation {
        candidate,
        ..complete()
    };
    let moved = || with(|spec| spec.address = address("10.0.0.7"));
    check_joins(vec![
        ("it is", spec(), complete(), "joined"),
        ("nobody answers there", spec(), meets(silent()), "joined"),
        (
            "it does not know us",
            spec(),
            meets(untrusting(CLUSTER)),
            "joined",
        ),
        (
            "the pin was for the time before",
            with(|spec| spec.server_fingerprint = Some(OWN.to_owned())),
            complete(),
            "joined",
        ),
        (
            "it cannot reach the database at the moment",
            spec(),
            meets(stranded(CLUSTER)),
            "joined",
        ),
        (
            "it is in another cluster",
            spec(),
            meets(stranded("c2")),
            "suspect: the cluster has a member of this name",
        ),
        (
            "an unjoined machine",
            spec(),
            meets(open(fresh())),
            "suspect: the cluster has a member of this name",
        ),
        ("a stranger", spec(), meets(untrusting("ff")), "suspect:"),
        (
            "it is joining",
            spec(),
            meets(open(Server {
                busy: true,
                ..fresh()
            })),
            "joining:",
        ),
        (
            "another member",
            spec(),
            meets(open(Server {
                name: "a".to_owned(),
                ..joined()
            })),
            "refused: the machine at the declared address is the member \"a\"",
        ),
        (
            "declared by name",
            with(|spec| spec.address = address("node-b.lan")),
            complete(),
            "joined",
        ),
        (
            "declared by name, with another port",
            with(|spec| spec.address = address("node-b.lan:9443")),
            complete(),
            "refused: the cluster reaches this member at 10.0.0.2:8443",
        ),
        (
            "listed elsewhere",
            moved(),
            complete(),
            "refused: the cluster reaches this member at 10.0.0.2:8443",
        ),
        (
            "listed elsewhere, and nobody answers here",
            moved(),
            meets(silent()),
            "refused: the cluster reaches this member at 10.0.0.2:8443",
        ),
        (
            "listed elsewhere, and another machine is here",
            moved(),
            meets(open(fresh())),
            "suspect: the name is taken: the cluster has a member of this name at 10.0.0.2:8443, and the machine at \
             10.0.0.7:8443 is another one",
        ),
        (
            "listed elsewhere, and a stranger is here",
            moved(),
            meets(untrusting("ff")),
            "suspect: the name is taken",
        ),
        (
            "listed elsewhere, and another member is here",
            moved(),
            meets(open(Server {
                name: "a".to_owned(),
                ..joined()
            })),
            "refused: the machine at the declared address is the member \"a\"",
        ),
        (
            "its token is still good",
            spec(),
            changed(complete(), |cluster| cluster.tokens.push(token("b"))),
            "joining: revoke a join token",
        ),
        (
            "offline",
            spec(),
            as_member(|member| member.status = Status::Offline),
            "waiting-for-host: member b is offline",
        ),
        (
            "cut off",
            spec(),
            as_member(|member| member.server = None),
            "waiting-for-host: member b does not answer",
        ),
        (
            "of a newer version",
            spec(),
            as_member(|member| member.status = Status::Blocked),
            "version-mismatch:",
        ),
        (
            "on the move",
            spec(),
            as_member(|member| member.status = Status::Restoring),
            "fixing-up:",
        ),
    ]);
}
