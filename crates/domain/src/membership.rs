//! Membership: what the members of a cluster say about how much it can bear.
//!
//! Before: the list of members. After: the data source `homelab_cluster` shows it and warns.

/// What one member does for the cluster's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Voter {
    /// Whether it has a vote.
    pub votes: bool,
    /// Whether it answers.
    pub online: bool,
}

/// How many more members may fail, whichever they are, before nothing can be decided any more (HO-CLUS-03).
///
/// More than half of all votes have to be there. Two members have one vote between them, so their answer is none.
pub fn fault_tolerance(members: &[Voter]) -> usize {
    let votes = members.iter().filter(|member| member.votes).count();
    let present = members
        .iter()
        .filter(|member| member.votes && member.online)
        .count();
    present.saturating_sub(votes / 2 + 1)
}

/// A setting of the cluster with which Incus acts by itself on what is declared here (AP-14, AP-33).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rival {
    /// Its key in the server's configuration.
    pub key: &'static str,
    /// What it makes Incus do.
    pub does: &'static str,
}

/// Such settings.
const RIVALS: [Rival; 2] = [
    Rival {
        key: "cluster.healing_threshold",
        does: "evacuates a member that does not answer, and leaves it evacuated when it comes back",
    },
    Rival {
        key: "cluster.rebalance.interval",
        does: "moves instances between members by itself",
    },
];

/// The settings that are on, with their values; `setting` gives the value of a key.
pub fn rivals<'a>(setting: impl Fn(&str) -> Option<&'a str>) -> Vec<(Rival, &'a str)> {
    let on = |rival: Rival| {
        let value = setting(rival.key)?;
        (!matches!(value, "" | "0")).then_some((rival, value))
    };
    RIVALS.into_iter().filter_map(on).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
