//! What passes learn, and in which order they take steps.

use domain::observation::Status;

use super::*;

fn busy() -> Error {
    Error::NoImage {
        written: "any error will do".to_owned(),
        project: String::new(),
    }
}

/// HO-APP-36: what this rollout started and saw stopped has ended, also when it is listed as running once more.
#[test]
fn what_was_seen_to_end_has_ended() {
    let at = |status| Workload {
        name: "web-g0".to_owned(),
        place: domain::place::Place::FIRST,
        generation: 0,
        member: None,
        image: "v1".to_owned(),
        spec: String::new(),
        status,
        healthy_since: None,
        ever_started: true,
    };
    let look = |learned: &mut Learned, status| {
        let workloads = vec![at(status)];
        let mut observation = Observation {
            workloads,
            ..Observation::default()
        };
        learned
            .apply(&mut observation)
            .expect("nothing failed to be made");
        (observation.unfinished.len(), observation.ended.len())
    };
    let mut learned = Learned::default();
    assert_eq!(
        look(&mut learned, Status::Stopped),
        (1, 0),
        "whoever began its start may be at it"
    );
    learned.started.insert("web-g0".to_owned());
    assert_eq!(look(&mut learned, Status::Running), (0, 0));
    assert_eq!(look(&mut learned, Status::Stopped), (0, 1));
    assert_eq!(look(&mut learned, Status::Running), (0, 1));
}

/// HO-APP-36: what cannot be read for a moment is read again, and never told as "printed nothing".
#[test]
fn an_output_that_cannot_be_read_yet_is_not_an_empty_one() {
    let keep = Step::KeepOutput {
        name: "web-g0".to_owned(),
        never_ran: false,
    };
    let mut learned = Learned::default();
    for _ in 0..DISTURBANCES {
        assert!(learned.disturbed_by(&keep, busy()).is_ok());
        assert!(learned.outputs.is_empty(), "it is tried again");
        learned.disturbed += 1;
    }
    assert!(
        learned.disturbed_by(&keep, busy()).is_ok(),
        "the failure itself must still be told"
    );
    assert!(learned.outputs["web-g0"].starts_with("(it cannot be read: "));
}

/// What goes on failing is an error in the end, whatever the step.
#[test]
fn a_disturbance_without_end_is_an_error() {
    let stamp = Step::ClearHealthy {
        name: "web-g0".to_owned(),
    };
    let mut learned = Learned::default();
    for _ in 0..DISTURBANCES {
        assert!(learned.disturbed_by(&stamp, busy()).is_ok());
        learned.disturbed += 1;
    }
    assert!(learned.disturbed_by(&stamp, busy()).is_err());
}

/// HO-APP-25, HO-APP-30: the steps of one machine stay in order, and wait for no other machine's; those of replicas all
/// stay in order.
#[test]
fn machines_have_lanes_of_their_own() {
    let create = |place: &str| Step::Create {
        place: place.parse().expect("a place"),
        generation: 1,
        name: format!("web-{place}-g1"),
        member: None,
    };
    let counts = |steps: &[Step]| {
        let lanes = lanes(steps, &Observation::default());
        lanes.iter().map(Vec::len).collect::<Vec<usize>>()
    };
    assert_eq!(counts(&[create("0"), create("1")]), [2]);
    assert_eq!(counts(&[create("@a"), create("@b"), create("@a")]), [2, 1]);
}

/// HO-APP-25: a machine on which nothing could be made is given up, and nobody else; of replicas any member would do, so
/// that is an error at once.
#[test]
fn a_machine_that_takes_nothing_is_given_up_alone() {
    let create = |place: &str| Step::Create {
        place: place.parse().expect("a place"),
        generation: 0,
        name: "web-0".to_owned(),
        member: None,
    };
    let refused = || {
        Error::Incus(incus::Error::Unreachable {
            doing: "making it".to_owned(),
            attempts: Vec::new(),
        })
    };
    let mut learned = Learned::default();
    let failed = learned.disturbed_by(&create("@a"), refused());
    assert!(failed.is_ok(), "it shows in the next list");
    let mut observation = Observation::default();
    assert!(learned.apply(&mut observation).is_ok());
    let place = "@a".parse().expect("a place");
    assert_eq!(observation.given_up, BTreeSet::from([place]));

    let mut learned = Learned::default();
    assert!(learned.disturbed_by(&create("0"), refused()).is_ok());
    assert!(learned.apply(&mut Observation::default()).is_err());
}
