//! What the plan of an app keeps, and what it leaves to the apply.

use domain::adoption::Found;
use domain::observation::{Status, Workload};
use domain::place::Place;
use tfplugin::testing;

use super::*;
use crate::resources::App;

fn config(image: &str, replicas: &str) -> Value {
    Value::object([
        ("name", "web".into()),
        ("type", "generic-stateless".into()),
        ("replicas", replicas.into()),
        ("image", Value::object([("alias", image.into())])),
    ])
}

/// The state and the private state after an apply of one replica of app/v1.
fn applied() -> (Value, Private) {
    let mut state = config("app/v1", "1");
    for (name, value) in [
        ("owner", Value::from("me")),
        ("update_strategy", "blue-green".into()),
        ("executor", "provider".into()),
        ("revision", 1_i64.into()),
        ("phase", "serving".into()),
        ("image_digest", "d1".into()),
        ("rollout_steps", no_steps()),
        ("workloads", Value::Map(std::collections::BTreeMap::new())),
    ] {
        state.set_attr(name, value);
    }
    let mut spec = declared(&state).spec().expect("a sound declaration");
    spec.image.digest = Some("d1".to_owned());
    let workload = Workload {
        name: "web-g0".to_owned(),
        place: Place::FIRST,
        generation: 0,
        member: None,
        image: "app/v1".to_owned(),
        spec: spec.hash(),
        status: Status::Running,
        healthy_since: Some(Moment(0)),
        started_at: String::new(),
        restarted: false,
        ever_started: true,
        description: String::new(),
    };
    let seen = Private {
        revision: 1,
        applied_revision: 1,
        spec: Some(spec),
        observation: Observation {
            workloads: vec![workload],
            ..Observation::default()
        },
        work: Work::default(),
        at: Moment(1_000_000),
        failed_image: None,
        followed: None,
        adopts: Vec::new(),
        replaced: false,
        cluster: None,
    };
    (state, seen)
}

fn planned(config: Value, state: &Value, private: Vec<u8>) -> Value {
    let app = App::new(std::sync::Arc::default());
    let plan = || {
        testing::plan(&app, config.clone(), state.clone(), private.clone())
            .expect("a configuration of this schema")
    };
    let (first, second) = (plan(), plan());
    assert!(!first.diagnostics.has_errors(), "{:?}", first.diagnostics);
    assert_eq!(
        first.state, second.state,
        "a plan is made twice, and both must agree"
    );
    first.state
}

fn unknown(plan: &Value) -> Vec<&'static str> {
    COMPUTED
        .into_iter()
        .filter(|name| plan.attr(name).is_unknown())
        .collect()
}

#[test]
fn nothing_to_do_keeps_everything() {
    let (state, seen) = applied();
    let plan = planned(config("app/v1", "1"), &state, seen.write());
    assert_eq!(unknown(&plan), [""; 0]);
    assert_eq!(plan.attr("phase"), state.attr("phase"));
}

#[test]
fn a_change_of_timeouts_alone_leaves_the_cluster_alone() {
    let (state, seen) = applied();
    let mut config = config("app/v1", "1");
    config.set_attr("timeouts", Value::object([("update", "7m".into())]));
    assert_eq!(unknown(&planned(config, &state, seen.write())), [""; 0]);
}

#[test]
fn drift_is_something_to_do_and_keeps_the_image() {
    let (state, mut seen) = applied();
    seen.observation.workloads.clear();
    let plan = planned(config("app/v1", "1"), &state, seen.write());
    assert_eq!(
        unknown(&plan),
        ["revision", "phase", "last_error", "workloads"]
    );
    let steps = plan.attr("rollout_steps").as_list().map(<[Value]>::len);
    assert_eq!(steps, Some(1));
}

/// A failed change, and the configuration changed back: the highest revision still is another one.
#[test]
fn a_failed_change_leaves_something_to_do_when_it_is_taken_back() {
    let (state, mut seen) = applied();
    seen.revision = 2;
    if let Some(spec) = &mut seen.spec {
        spec.replicas = domain::app::Replicas::Count(3);
    }
    let plan = planned(config("app/v1", "1"), &state, seen.write());
    assert_eq!(
        unknown(&plan),
        ["revision", "phase", "last_error", "workloads"]
    );
}

/// Without the private state the steps cannot be told, but another image is another digest all the same: a digest
/// that stays known would make the apply run the old image under the new name.
#[test]
fn another_image_is_looked_up_also_when_the_private_state_is_lost() {
    let (state, seen) = applied();
    for private in [seen.write(), Vec::new()] {
        let plan = planned(config("app/v2", "1"), &state, private);
        assert!(plan.attr("image_digest").is_unknown());
    }
}

/// A rollout of `app/v2` that failed.
fn failed(place: u32, generation: u64) -> domain::work::FailureRecord {
    domain::work::FailureRecord {
        place: Place::Ordinal(place),
        revision: 0,
        candidate: String::new(),
        generation,
        image: "app/v2".to_owned(),
        error: "it ended".to_owned(),
        at: Moment(999_000),
    }
}

/// The same with a candidate of app/v2 that is well, and an apply that has not come to its end.
fn with_candidate() -> (Value, Private) {
    let (state, mut seen) = applied();
    let mut spec = declared(&config("app/v2", "1"))
        .spec()
        .expect("a sound declaration");
    spec.image.digest = Some("d2".to_owned());
    let candidate = Workload {
        name: "web-g1".to_owned(),
        generation: 1,
        image: "app/v2".to_owned(),
        spec: spec.hash(),
        ..seen.observation.workloads[0].clone()
    };
    seen.observation.workloads.push(candidate);
    seen.spec = Some(spec);
    (state, seen)
}

/// An apply of another image was cut off: the plan of the next knows the candidate for what it is.
#[test]
fn a_candidate_of_a_cut_off_apply_is_kept_by_the_next_plan() {
    let (state, seen) = with_candidate();
    let plan = planned(config("app/v2", "1"), &state, seen.write());
    let steps = plan.attr("rollout_steps").as_list().unwrap_or_default();
    assert_eq!(
        steps,
        [Value::from(
            "replica 0: promote generation 1, remove generation 0"
        )]
    );
}

/// The image may have been made anew under its name since: what failed is not taken up as if it had been cut off.
#[test]
fn a_candidate_that_failed_is_not_taken_up_again() {
    let (state, mut seen) = with_candidate();
    seen.work.failure = Some(failed(0, 1));
    let plan = planned(config("app/v2", "1"), &state, seen.write());
    let steps = plan.attr("rollout_steps").as_list().unwrap_or_default();
    let taken_up = Value::from("replica 0: promote generation 1, remove generation 0");
    assert!(!steps.contains(&taken_up), "{steps:?}");
    // What failed before was another image: this one was only cut off.
    if let Some(failure) = &mut seen.work.failure {
        failure.image = "app/v0".to_owned();
    }
    let plan = planned(config("app/v2", "1"), &state, seen.write());
    let steps = plan.attr("rollout_steps").as_list().unwrap_or_default();
    assert_eq!(steps, [taken_up]);
}

/// It was looked up by the Read: what has that image already is known again, what has another one of that name is not.
#[test]
fn a_retry_of_a_failed_image_is_told_by_what_the_name_stands_for_now() {
    let (state, mut seen) = with_candidate();
    seen.work.failure = Some(failed(1, 0));
    let told = |stands_for: &str, image: &str| -> Vec<String> {
        let failed_image = Some(stands_for.to_owned());
        let seen = Private {
            failed_image,
            ..seen.clone()
        };
        let plan = planned(config(image, "1"), &state, seen.write());
        let steps = plan.attr("rollout_steps").as_list().unwrap_or_default();
        let text = |step: &Value| step.as_str().unwrap_or_default().to_owned();
        steps.iter().map(text).collect()
    };
    let promoted = "replica 0: promote generation 1, remove generation 0";
    assert_eq!(told("d2", "app/v2"), [promoted]);
    assert_ne!(told("d3", "app/v2"), [promoted]);
    assert_ne!(told("d2", "app/v3"), [promoted]);
}

#[test]
fn unknown_inputs_leave_everything_that_follows_unknown() {
    let (state, seen) = applied();
    let mut config = config("app/v1", "1");
    config.set_attr("replicas", Value::Unknown);
    let plan = planned(config, &state, seen.write());
    assert!(plan.attr("rollout_steps").is_unknown() && plan.attr("image_digest").is_unknown());
}

/// The same app, whose name is followed or not, and what that stood for at the last Read.
fn tracked(track: &str, followed: Option<&str>) -> Value {
    let with_track = |object: &mut Value| {
        let image = Value::object([("alias", "app/v1".into()), ("track", track.into())]);
        object.set_attr("image", image);
    };
    let (mut state, mut seen) = applied();
    let mut config = config("app/v1", "1");
    with_track(&mut state);
    with_track(&mut config);
    if let (Some(spec), Ok(declared)) = (&mut seen.spec, declared(&state).spec()) {
        spec.image.track = declared.image.track;
    }
    seen.followed = followed.map(str::to_owned);
    planned(config, &state, seen.write())
}

/// The apply rolls out what its plan has shown, and nothing that came later.
#[test]
fn a_followed_name_that_has_moved_is_planned_as_what_it_stands_for() {
    let plan = tracked("follow", Some("d2"));
    assert_eq!(
        unknown(&plan),
        ["revision", "phase", "last_error", "workloads"]
    );
    assert_eq!(plan.attr("image_digest").as_str(), Some("d2"));
    let steps = plan.attr("rollout_steps").as_list().map(<[Value]>::len);
    assert!(steps > Some(1), "{steps:?}");
}

#[test]
fn a_name_that_stays_or_is_not_answered_for_or_not_followed_changes_nothing() {
    for (track, followed) in [
        ("follow", Some("d1")),
        ("follow", None),
        ("pinned", Some("d2")),
    ] {
        let plan = tracked(track, followed);
        assert_eq!(unknown(&plan), [""; 0], "{track} {followed:?}");
        assert_eq!(plan.attr("image_digest").as_str(), Some("d1"));
    }
}

#[test]
fn another_spelling_of_a_server_changes_nothing() {
    let with_server = |mut object: Value, server: &str| {
        let image = [("server", server), ("protocol", "oci"), ("alias", "web:1")];
        let image = image.map(|(name, value)| (name, Value::from(value)));
        object.set_attr("image", Value::object(image));
        object
    };
    let (state, mut seen) = applied();
    let state = with_server(state, "https://ghcr.io");
    let mut spec = declared(&state).spec().expect("a sound declaration");
    spec.image.digest = Some("d1".to_owned());
    seen.observation.workloads[0].spec = spec.hash();
    seen.spec = Some(spec);
    let config = with_server(config("app/v1", "1"), "https://GHCR.io/");
    let plan = planned(config, &state, seen.write());
    assert_eq!(unknown(&plan), [""; 0]);
    let server = |object: &Value| object.attr("image").attr("server").clone();
    assert_eq!(server(&plan), server(&state));
}

/// What an import of instances made by hand leaves in the state, and what the Read after it has found.
fn imported(instances: &[&str]) -> (Value, Private) {
    let found = |name: &&str| Found {
        description: String::new(),
        name: (*name).to_owned(),
        member: None,
        base_image: "abc".to_owned(),
    };
    let found: Vec<Found> = instances.iter().map(found).collect();
    let schema = super::super::schema::schema();
    let mut state = super::super::state::from_declaration(&schema, &serde_json::Value::Null);
    state.set_attr("name", "web");
    state.set_attr("owner", "me");
    state.set_attr("rollout_steps", no_steps());
    state.set_attr("workloads", import::workloads(&found, Vec::new()));
    let seen = Private {
        adopts: found,
        at: Moment(1_000_000),
        ..Private::default()
    };
    (state, seen)
}

/// The plan after an import shows what is declared, what is taken over, and what is made beside it.
#[test]
fn an_adoption_is_told_in_the_steps() {
    let (state, seen) = imported(&["web-1", "web-2"]);
    let plan = planned(config("app/v1", "3"), &state, seen.write());
    assert_eq!(
        unknown(&plan),
        [
            "revision",
            "phase",
            "last_error",
            "image_digest",
            "workloads"
        ]
    );
    assert_eq!(plan.attr("update_strategy").as_str(), Some("blue-green"));
    assert_eq!(plan.attr("executor").as_str(), Some("provider"));
    assert_eq!(plan.attr("owner").as_str(), Some("me"));
    let steps = plan.attr("rollout_steps").as_list().unwrap_or_default();
    let steps: Vec<_> = steps.iter().filter_map(Value::as_str).collect();
    assert_eq!(
        steps,
        [
            "replica 0: adopt web-1",
            "replica 1: adopt web-2",
            "replica 2: create generation 0 from app/v1",
        ]
    );
}

/// Private state is a cache: without it the state alone says what is to be taken over, in the order of the replicas.
#[test]
fn the_state_alone_knows_what_is_to_be_taken_over() {
    let names: Vec<String> = (0..12)
        .map(|number| format!("old-{}", 50 - number))
        .collect();
    let named: Vec<&str> = names.iter().map(String::as_str).collect();
    let (mut state, _) = imported(&named);
    assert_eq!(import::pending(&state, None), names);
    let plan = planned(config("app/v1", "12"), &state, Vec::new());
    assert!(plan.attr("rollout_steps").is_unknown());
    // Once it has been applied, its workloads are what was seen last, and no longer what is to be taken over.
    state.set_attr("revision", 1_i64);
    assert_eq!(import::pending(&state, None), [""; 0]);
}
