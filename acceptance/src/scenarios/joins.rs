//! Machines that become members, stay as they are declared, and leave: on real daemons, reached over the network.
//!
//! `joins/site.rs` is where each begins. What a seed makes of a machine before that is in `seeds/`.

mod nothing;
mod site;

use crate::scenario::{Need, Scenario};

pub(crate) use site::{Declared, Site};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "one_machine_becomes_a_cluster_of_one",
        proves: "One apply makes a cluster of one machine, the second plan is empty, a destroy forgets it with a warning and \
                 leaves the cluster, and the next apply takes it up again (HO-CLUS-01, HO-CLUS-02).",
        group: "joins",
        needs: &[],
        seconds: 15,
        run: nothing::one,
    },
    Scenario {
        name: "three_machines_become_a_cluster_and_one_leaves_and_returns",
        proves: "One apply makes a cluster of three with Incus 7.0, the second plan is empty, a machine that is taken out is \
                 empty and alone, and joins again when it is declared again (HO-CLUS-03, HO-CLUS-08).",
        group: "joins",
        needs: &[Need::Incus7],
        seconds: 45,
        run: nothing::three,
    },
    Scenario {
        name: "five_machines_become_a_cluster_and_leave_it_to_the_last",
        proves: "One apply makes a cluster of five, the second plan is empty, and one destroy empties it down to its last member, \
                 which is forgotten with a warning.",
        group: "joins",
        needs: &[],
        seconds: 60,
        run: nothing::five,
    },
];
