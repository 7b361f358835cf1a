//! What the cluster keeps for a member that goes, and what is said of one that was not told.
//!
//! What keeps a member, and what is taken from it before, is in `removing.rs`.

use core::time::Duration;

use super::removing::{FORCE, NOTHING, b, check, no_volumes, said, said_after, three};
use crate::membership::fixtures::{
    CLUSTER, changed, cluster_of, fresh, joined, metrics, open, silent, spec, stranded, token, with,
};
use crate::membership::history::History;
use crate::membership::observation::*;

/// HO-JOIN-20 from the other side: a removed daemon that was never told.
#[test]
fn what_is_left_of_a_removed_member_is_taken_away_and_said() {
    let without_b = |candidate| Observation {
        cluster: Some(cluster_of(&["a", "c"])),
        candidate,
    };
    let other = Server {
        name: "c".to_owned(),
        ..joined()
    };
    let token = changed(without_b(open(fresh())), |cluster| {
        cluster.tokens.push(PendingToken {
            operation: "t".to_owned(),
            member: "b".to_owned(),
        });
    });
    check(vec![
        ("it has left", without_b(open(fresh())), NOTHING, "gone"),
        (
            "it was forced out, and lives",
            without_b(open(joined())),
            NOTHING,
            "goneb was removed without being told, and still runs",
        ),
        ("its token", token, NOTHING, "do: revoke a join token"),
    ]);
    for candidate in [
        open(fresh()),
        open(other),
        Candidate::Silent("off".to_owned()),
    ] {
        assert_eq!(said(&spec(), &without_b(candidate), NOTHING), "gone");
    }
    let with_metrics = with(|spec| spec.metrics_certificate = Some(metrics()));
    for (kind, expected) in [
        (TrustKind::Metrics, "do: end the trust in certificate"),
        (TrustKind::Client, "gone"),
    ] {
        let trusted = Trusted {
            name: "b".to_owned(),
            kind,
            fingerprint: metrics().fingerprint,
        };
        for names in [&["a", "c"][..], &["b"][..]] {
            let mut observation = without_b(open(fresh()));
            observation.cluster = Some(cluster_of(names));
            let observation = changed(observation, |cluster| cluster.trusted.push(trusted.clone()));
            assert!(
                said(&with_metrics, &observation, NOTHING).starts_with(expected),
                "{names:?}"
            );
        }
    }
}

/// A member that dies of a removal, or was cut off while it was removed by force, goes on as one.
#[test]
fn a_member_that_was_not_told_is_named() {
    let without_b = |candidate| Observation {
        cluster: Some(cluster_of(&["a", "c"])),
        candidate,
    };
    let history = |forced_out, seconds| History {
        forced_out,
        outside_for: Duration::from_secs(seconds),
        ..History::default()
    };
    let alive = "goneb was removed without being told, and still runs";
    for (case, candidate, history, expected) in [
        (
            "forced out, and silent",
            silent(),
            history(true, 0),
            "goneb did not answer, so it was removed without being told. Should it still run",
        ),
        (
            "forced out, and open",
            open(joined()),
            history(true, 0),
            alive,
        ),
        (
            "forced out, and without the database",
            stranded(CLUSTER),
            history(true, 0),
            alive,
        ),
        (
            "forced out, and installed anew",
            open(fresh()),
            history(true, 0),
            "gone",
        ),
        (
            "it left, and starts anew",
            silent(),
            history(false, 0),
            "gone",
        ),
        (
            "it leaves",
            stranded(CLUSTER),
            history(false, 29),
            "wait: the machine is about to leave the cluster",
        ),
        (
            "it does not leave",
            stranded(CLUSTER),
            history(false, 30),
            alive,
        ),
        (
            "it is in another cluster",
            stranded("c2"),
            history(false, 0),
            "gone",
        ),
    ] {
        let said = said_after(&spec(), &without_b(candidate), FORCE, &history);
        let matches = match expected {
            "gone" => said == expected,
            _ => said.starts_with(expected),
        };
        assert!(matches, "{case}: {said}");
    }
}

/// Whoever is killed between two steps finds no member any more, and with it nothing that leads to the rest.
#[test]
fn what_the_cluster_keeps_for_a_member_goes_before_the_member() {
    let with_metrics = with(|spec| spec.metrics_certificate = Some(metrics()));
    let keeps = |observation| {
        changed(observation, |cluster| {
            cluster.trusted.push(Trusted {
                name: "b-metrics".to_owned(),
                kind: TrustKind::Metrics,
                fingerprint: metrics().fingerprint,
            });
        })
    };
    let dead = || b(|member| member.status = Status::Offline);
    let leaves = |observation: Observation| {
        changed(observation, |cluster| {
            cluster.trusted.retain(|one| one.kind != TrustKind::Metrics);
        })
    };
    for (case, observation, applied, last) in [
        ("empty", no_volumes(three()), NOTHING, "do: remove b"),
        ("dead", dead(), FORCE, "do: remove b by force"),
    ] {
        let observation = keeps(observation);
        let first = said(&with_metrics, &observation, applied);
        assert!(first.starts_with("do: end the trust in"), "{case}: {first}");
        let then = said(&with_metrics, &leaves(observation), applied);
        assert_eq!(then, last, "{case}");
    }
    // As long as something else comes first, it stays.
    let whole = said(&with_metrics, &keeps(three()), NOTHING);
    assert!(whole.starts_with("do: set storage"), "{whole}");
    let token = changed(no_volumes(three()), |cluster| {
        cluster.tokens.push(token("b"))
    });
    assert_eq!(said(&spec(), &token, NOTHING), "do: revoke a join token");
}
