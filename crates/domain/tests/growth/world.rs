//! Apps of many replicas, as they are seen and recorded: at rest, or in the middle of a rollout.
//!
//! Used by `tests/growth.rs`, which counts, and by `examples/rollouts.rs`, which measures.

use domain::app::{AppSpec, AppType, Image, ImageReference, Replicas};
use domain::moment::Moment;
use domain::observation::{Member, MemberStatus, Observation, Power, Seen, of_app};
use domain::place::Place;
use domain::work::{Made, Slot, Work};

/// When it is decided.
pub(crate) const NOW: Moment = Moment(1_700_000_000_000);

const MEMBERS: u32 = 5;

/// How far an app is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// All of it is as declared.
    Converged,
    /// One half is, the other is still of the image before.
    Middle,
}

/// An app, what is seen of it and what is recorded.
pub(crate) struct App {
    /// How many replicas it has.
    pub(crate) replicas: u32,
    /// What is declared.
    pub(crate) spec: AppSpec,
    /// As Incus lists it.
    pub(crate) seen: Vec<Seen>,
    /// The members.
    pub(crate) members: Vec<Member>,
    /// What of it concerns the app.
    pub(crate) observation: Observation,
    /// The record.
    pub(crate) work: Work,
}

impl App {
    /// The how many-th app, with so many replicas.
    pub(crate) fn new(number: u32, replicas: u32, stage: Stage) -> App {
        let (old, new) = (spec(number, replicas, "v1"), spec(number, replicas, "v2"));
        let mut work = Work::default();
        let mut seen = Vec::new();
        for ordinal in 0..replicas {
            let is_new = stage == Stage::Converged || ordinal < replicas / 2;
            let (spec, generation) = if is_new { (&new, 1) } else { (&old, 0) };
            let place = Place::Ordinal(ordinal);
            let one = instance(spec, &place, generation, ordinal % MEMBERS);
            work.slots.insert(place, slot(&one, generation));
            seen.push(one);
        }
        let members: Vec<Member> = (0..MEMBERS).map(member).collect();
        App {
            observation: of_app(&new.name, &seen, &members, &work),
            spec: new,
            replicas,
            seen,
            members,
            work,
        }
    }
}

fn spec(number: u32, replicas: u32, alias: &str) -> AppSpec {
    let image = Image {
        digest: Some(alias.to_owned()),
        ..Image::own(ImageReference::Alias(alias.to_owned()))
    };
    let name = format!("app{number}");
    AppSpec::new(
        &name,
        AppType::GenericStateless,
        Replicas::Count(replicas),
        image,
    )
}

fn instance(spec: &AppSpec, place: &Place, generation: u64, member: u32) -> Seen {
    Seen {
        name: spec.workload_name(place, generation),
        member: Some(format!("m{member}")),
        power: Power::Running,
        config: Some(spec.workload_keys(place, generation)),
        healthy_since: Some(Moment(0)),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        ever_started: true,
        description: String::new(),
    }
}

fn slot(instance: &Seen, generation: u64) -> Slot {
    let made = Made {
        name: instance.name.clone(),
        member: instance.member.clone(),
        generation,
        trial: None,
        doomed: false,
    };
    Slot {
        generation,
        workloads: vec![made],
        ..Slot::default()
    }
}

fn member(number: u32) -> Member {
    Member {
        name: format!("m{number}"),
        status: MemberStatus::Online,
        architecture: "x86_64".to_owned(),
        schedulable: true,
        groups: vec!["default".to_owned()],
    }
}
