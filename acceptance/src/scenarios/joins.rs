//! Machines that become members, stay as they are declared, and leave: on real daemons, reached over the network.
//!
//! `joins/site.rs` is where each begins. What a seed makes of a machine before that is in `seeds/`.

mod dead;
mod existing;
mod forced;
mod guide;
mod killed;
mod leader;
mod nothing;
mod owners;
mod parity;
mod quorum;
mod refusals;
mod site;
mod steps;

use crate::scenario::{Need, Scenario};

pub(crate) use killed::{Act, sweep};
pub(crate) use site::{Declared, Site, resource};

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
    Scenario {
        name: "a_join_survives_a_kill_at_its_decisive_requests",
        proves: "Killed around the making of the token, the join itself and the last request, a join is finished by the next apply: Online and complete, with no stray certificate, token or pool (HO-JOIN-12, HO-JOIN-19).",
        group: "joins",
        needs: &[],
        seconds: 75,
        run: killed::join,
    },
    Scenario {
        name: "a_bootstrap_survives_a_kill_at_its_decisive_requests",
        proves: "Killed around the request that makes a cluster of a machine, and after the last one, a bootstrap is finished by the next apply: one member, complete, with nothing made twice (HO-CLUS-02, HO-CLUS-06).",
        group: "joins",
        needs: &[],
        seconds: 30,
        run: killed::bootstrap,
    },
    Scenario {
        name: "a_removal_survives_a_kill_at_its_decisive_requests",
        proves: "Killed while its instances move, and right after the request that removes it, a member is gone after the next apply: from the state and the cluster, with its volumes, keys and certificates, and the machine is empty (HO-CLUS-08).",
        group: "joins",
        needs: &[],
        seconds: 35,
        run: killed::removal,
    },
    Scenario {
        name: "a_machine_that_does_not_fit_is_refused_untouched",
        proves: "Another major version, a name that is taken, a wrong pin, a second beginning, leftovers, another cluster and silence each end in an error that names them, and nothing was touched; the right pin lets it in (HO-JOIN-02, -08, -20, -23, -24).",
        group: "joins",
        needs: &[Need::Incus7],
        seconds: 50,
        run: refusals::all,
    },
    Scenario {
        name: "a_joiner_of_another_version_waits_until_it_fits",
        proves: "A joiner whose API differs is waited for, joins when it is the same, and is an error when time is over (HO-CLUS-09, HO-JOIN-08).",
        group: "joins",
        needs: &[],
        seconds: 35,
        run: refusals::waits_for_the_version,
    },
    Scenario {
        name: "a_silent_member_is_a_warning_and_a_dead_one_goes_by_force",
        proves: "A member that is cut off holds up no plan for long; a dead one is a warning while others change; it stays without force, and goes when force was applied before (HO-CLUS-08, HO-CLUS-11).",
        group: "joins",
        needs: &[],
        seconds: 75,
        run: dead::goes,
    },
    Scenario {
        name: "a_join_outlives_the_member_that_it_goes_through",
        proves: "The contacted member dies in the middle of a join, and one more apply makes the joiner a member, with nothing left over.",
        group: "joins",
        needs: &[],
        seconds: 60,
        run: dead::contacted,
    },
    Scenario {
        name: "changes_outlive_the_leader_of_the_database",
        proves: "The member that leads the cluster's database dies in the middle of a removal, then of a join, that go through another one, and one more apply ends each, with nothing left over.",
        group: "joins",
        needs: &[],
        seconds: 90,
        run: leader::dies,
    },
    Scenario {
        name: "a_member_that_was_not_told_is_named_as_a_danger",
        proves: "A member that was only cut off is removed by force with a warning that it may still act, as it does once it is back; declared again, it is refused as a danger until it is installed anew (HO-CLUS-08, HO-JOIN-20).",
        group: "joins",
        needs: &[],
        seconds: 50,
        run: forced::not_told,
    },
    Scenario {
        name: "lost_quorum_is_recovered_as_the_guide_says",
        proves: "With two of three voters dead for good a plan ends with an error in bounded time; the commands of the guide, taken from its text, bring the living back, the dead are removed by force, and a new machine joins, with both releases of Incus.",
        group: "joins",
        needs: &[Need::Incus7],
        seconds: 90,
        run: quorum::recovered,
    },
    Scenario {
        name: "a_fleet_in_two_steps_survives_being_stopped",
        proves: "As the guide says, an apply without the members ends while no machine is up, and the next one makes the cluster; stopped in the middle of a join it says how far it came, and one more apply ends it.",
        group: "joins",
        needs: &[],
        seconds: 35,
        run: steps::two_and_stopped,
    },
    Scenario {
        name: "what_a_member_lacks_is_shown_and_repaired",
        proves: "A pool, the daemon's volumes, groups, a failure domain, keys and a metrics certificate come with an apply; what is broken by hand shows in the plan, and an apply repairs it (HO-CLUS-06, HO-JOIN-18, HO-JOIN-19).",
        group: "joins",
        needs: &[Need::Incus7],
        seconds: 35,
        run: parity::restored,
    },
    Scenario {
        name: "a_member_has_one_owner",
        proves: "A member of another configuration is not made again, but imported; one that was removed and made again is the \
                 other's: the first configuration is told so, may not change it, and forgets it without touching it.",
        group: "joins",
        needs: &[],
        seconds: 40,
        run: owners::one,
    },
    Scenario {
        name: "an_existing_cluster_is_adopted_emptied_and_filled_again",
        proves: "The members of a cluster that was made by hand are imported without a change; one is \
                 evacuated and restored, and the app on it is moved and not replaced; it leaves only when it may be emptied (HO-CLUS-08).",
        group: "joins",
        needs: &[],
        seconds: 60,
        run: existing::adopted_and_evacuated,
    },
];
