//! Seeds: from HCL to files that independent programs read, and what changes in a plan when a fleet grows.
//!
//! What real Incus servers and real WireGuards make of seeds is shown last; media are in `media.rs`.

mod fleet;
mod formats;
mod incus;
mod tunnel;

pub(super) use fleet::prepare;

use crate::scenario::{Need, Scenario};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_fleet_of_seeds_from_one_apply",
        proves: "Three encrypted seeds come out of one apply, no private key is on the disk, the second plan is empty, a fourth \
                 machine is one new machine, one new seed and the networks' own updates, and a seed that was deleted comes back \
                 with its keys (HO-SEED-24, HO-SEED-28, HO-WG-04).",
        group: "seeds",
        needs: &[Need::OpenTofu],
        seconds: 20,
        run: fleet::grows,
    },
    Scenario {
        name: "everything_wrong_with_a_seed_is_told_at_once",
        proves: "A plan names each fault of a seed at its attribute, repeats no private key, and warns of what is only unwise.",
        group: "seeds",
        needs: &[],
        seconds: 4,
        run: fleet::faults,
    },
    Scenario {
        name: "independent_programs_read_every_format",
        proves: "tar, mtools, isoinfo and age read from each format what the state has, under the label that IncusOS looks for \
                 (HO-SEED-29).",
        group: "seeds",
        needs: &[],
        seconds: 8,
        run: formats::all,
    },
    Scenario {
        name: "every_module_passes_its_own_tests",
        proves: "`tofu test` passes in each module's folder, and its example is valid.",
        group: "seeds",
        needs: &[Need::OpenTofu],
        seconds: 8,
        run: fleet::modules,
    },
    Scenario {
        name: "rendered_preseeds_make_a_cluster_and_a_joiner",
        proves: "Incus 7.0 takes both preseeds: the first machine is a cluster of one that answers on the overlay too, the second                  is empty, listens on its own address and trusts who will join it (HO-SEED-14 to HO-SEED-18, HO-SEED-20, -25).",
        group: "seeds",
        needs: &[Need::Incus7],
        seconds: 10,
        run: incus::preseeds,
    },
    Scenario {
        name: "a_rendered_tunnel_carries_tcp_both_ways_through_a_nat",
        proves: "With the hub's configuration from the module and a machine's from its seed, connections cross in both directions                  (HO-WG-01, HO-WG-05, HO-WG-06, HO-WG-10 to HO-WG-12).",
        group: "seeds",
        needs: &[Need::WireGuard],
        seconds: 12,
        run: tunnel::carries,
    },
];
