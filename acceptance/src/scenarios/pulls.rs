//! Apps from images that are elsewhere: in a registry of OCI images, on a server of lists, on an Incus server.
//!
//! `pulls/site.rs` is where each begins. What Incus alone makes of OCI images is in `images.rs`.

mod killed;
mod layers;
mod lists;
mod own;
mod public;
mod registry;
mod site;

use crate::scenario::{Need, Scenario};

const OCI: &[Need] = &[Need::Incus7, Need::Registry];

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "an_app_runs_an_oci_image_that_the_cluster_pulls",
        proves: "An app from a registry is pulled once, runs, and a second plan is empty. A tag that moves changes nothing, \
                 also for a replica that is added then and while the registry is down. Without registry and image fewer \
                 replicas are possible, and more are not. The image goes with the app.",
        group: "images",
        needs: OCI,
        seconds: 20,
        run: registry::pinned,
    },
    Scenario {
        name: "a_followed_tag_is_shown_by_the_plan_and_rolled_out_by_its_apply",
        proves: "A tag that moved shows in the plan as the digest that the apply rolls out, also where only the configuration \
                 of the image differs. Images that nobody uses any more are gone. While the registry is down the plan warns \
                 and is empty, and another change is applied.",
        group: "images",
        needs: OCI,
        seconds: 20,
        run: registry::follow,
    },
    Scenario {
        name: "every_member_runs_an_image_that_one_has_pulled",
        proves: "Two apps of one apply on a cluster of three have one image pulled once, and run it on every member.",
        group: "images",
        needs: OCI,
        seconds: 30,
        run: registry::cluster,
    },
    Scenario {
        name: "the_older_incus_is_told_to_be_too_old_for_oci_images",
        proves: "An app with an OCI image on Incus 6.0 is refused before anything is changed, and the error says which Incus \
                 it needs.",
        group: "images",
        needs: &[Need::Registry],
        seconds: 8,
        run: registry::too_old,
    },
    Scenario {
        name: "apps_whose_images_have_the_same_layers_run_each_its_own",
        proves: "Two apps of one apply, whose images Incus takes for one, start each as its own image says; an app added later \
                 with the first one does, too.",
        group: "images",
        needs: OCI,
        seconds: 20,
        run: layers::apart,
    },
    Scenario {
        name: "an_image_of_somebody_else_is_left_alone",
        proves: "Where somebody has an image of the same layers under a name of his own, an app is refused and told so, and the \
                 image stays; without the name it makes way only where Incus keeps it for itself.",
        group: "images",
        needs: OCI,
        seconds: 15,
        run: layers::foreign,
    },
    Scenario {
        name: "an_app_runs_the_newest_image_of_a_list",
        proves: "With Incus 6.0 an app runs the newest image that a server of simplestreams lists under its name, a second plan \
                 is empty, and the image goes with the app. A newer one changes nothing unless it is followed; then the plan \
                 shows it. Where Incus keeps an older list the apply says so and what serves goes on.",
        group: "images",
        needs: &[],
        seconds: 25,
        run: lists::newest,
    },
    Scenario {
        name: "an_app_runs_a_public_image_of_another_incus_server",
        proves: "An app runs what a name stands for on another Incus server, or a fingerprint there; followed, a plan shows that \
                 the name was given to another image. A name that nobody has is told and nothing is changed, and the app \
                 can be destroyed without that server.",
        group: "images",
        needs: &[],
        seconds: 30,
        run: public::incus,
    },
    Scenario {
        name: "a_followed_alias_of_the_cluster_is_rolled_out_when_it_moves",
        proves: "An alias of the cluster's own images that moved shows in the plan and is rolled out where it is followed, and \
                 changes nothing where it is not; images that nobody has pulled for apps stay.",
        group: "images",
        needs: &[],
        seconds: 15,
        run: own::followed,
    },
    Scenario {
        name: "a_pull_survives_a_kill_at_each_of_its_requests",
        proves: "Killed around the pull of an image, its marking or its deletion, the next apply or destroy finishes, and no \
                 image is left that nobody uses.",
        group: "images",
        needs: OCI,
        seconds: 60,
        run: killed::pull,
    },
];
