//! What a cluster bears, and which of its settings act by themselves.

use crate::membership::{Voter, fault_tolerance, rivals};

/// HO-CLUS-03.
#[test]
fn a_cluster_bears_what_leaves_more_than_half_of_the_votes() {
    let voter = Voter {
        votes: true,
        online: true,
    };
    let lost = Voter {
        votes: true,
        online: false,
    };
    let spare = Voter {
        votes: false,
        online: true,
    };
    for (members, expected) in [
        (vec![], 0),
        (vec![voter], 0),
        (vec![voter, spare], 0),
        (vec![voter, voter, voter], 1),
        (vec![voter, voter, voter, spare], 1),
        (vec![voter, voter, lost], 0),
        (vec![voter, lost, lost], 0),
        (vec![voter; 5], 2),
        (vec![voter, voter, voter, voter, lost], 1),
    ] {
        assert_eq!(fault_tolerance(&members), expected, "{members:?}");
    }
}

/// AP-14, AP-33.
#[test]
fn settings_that_act_by_themselves_are_found() {
    let keys = |healing: Option<&'static str>, rebalance: Option<&'static str>| {
        let found = rivals(|key| match key {
            "cluster.healing_threshold" => healing,
            _ => rebalance,
        });
        found
            .iter()
            .map(|(rival, value)| (rival.key, *value))
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(None, None), []);
    assert_eq!(keys(Some("0"), Some("")), []);
    assert_eq!(
        keys(Some("30"), None),
        [("cluster.healing_threshold", "30")]
    );
    assert_eq!(
        keys(None, Some("10")),
        [("cluster.rebalance.interval", "10")]
    );
}
