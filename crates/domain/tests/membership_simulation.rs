//! Joining, repairing and removing in a world that goes wrong: executors that are killed before and after each step,
//! joins that are refused half-way, machines that come and go. The invariants are checked after every event.
//!
//! Here `decide` and `removal` are driven the way `reconcile` drives them: observe, decide, perform one step.

#[path = "membership_simulation/world.rs"]
mod world;

use std::collections::BTreeSet;

use domain::membership::answer::{Decision, Refusal};
use domain::membership::decide::decide;
use domain::membership::observation::*;
use domain::membership::parity::missing;
use domain::membership::removal::{Removal, removal};
use domain::membership::spec::{OnDestroy, Storage};
use domain::membership::step::Step;
use proptest::prelude::*;

use world::{Fault, NAMES, STAGES, World};

/// What happens to the world.
#[derive(Debug, Clone)]
enum Event {
    /// The executor of a member looks, decides, and does one step.
    Act(usize, Fault),
    /// It is killed while it waits.
    Kill(usize),
    /// A machine appears or disappears.
    Power(usize, bool),
    /// A joiner learns to trust us (0), applies its seed to the end (1), or is updated (2).
    Learn(usize, usize),
    /// The same, undone by an installation from the start, as long as it is no member.
    Reinstall(usize),
    /// Somebody deletes a daemon volume of a member.
    Lose(usize),
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        6 => Just(Fault::None),
        1 => Just(Fault::Before),
        1 => Just(Fault::After),
        1 => Just(Fault::Twice),
        4 => (0..STAGES).prop_map(Fault::Stage),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        20 => (0..3_usize, fault()).prop_map(|(who, fault)| Event::Act(who, fault)),
        1 => (0..3_usize).prop_map(Event::Kill),
        1 => (0..3_usize, any::<bool>()).prop_map(|(who, up)| Event::Power(who, up)),
        4 => (1..3_usize, 0..3_usize).prop_map(|(who, what)| Event::Learn(who, what)),
        1 => (1..3_usize).prop_map(Event::Reinstall),
        1 => (0..3_usize).prop_map(Event::Lose),
    ];
    prop::collection::vec(event, 1..120)
}

fn happen(world: &mut World, event: &Event) {
    match event {
        Event::Act(who, fault) => act(world, NAMES[*who], *fault),
        Event::Kill(who) => {
            world.memory.remove(NAMES[*who]);
        }
        Event::Power(who, up) => world.machine(NAMES[*who]).up = *up,
        Event::Learn(who, what) => {
            let machine = world.machine(NAMES[*who]);
            match what {
                0 => machine.trusts = true,
                1 => machine.server.system = System::IncusOs { initialized: true },
                _ => machine.server.version.extensions = 529,
            }
        }
        Event::Reinstall(who) => {
            let machine = world.machine(NAMES[*who]);
            if !machine.server.clustered {
                machine.trusts = false;
                let server = &mut machine.server;
                server.system = System::IncusOs { initialized: false };
                server.version.extensions = 514;
                server.fingerprint.push('\'');
                server.cluster_address = None;
                server.pools.clear();
                server.networks.clear();
            }
        }
        Event::Lose(who) => {
            if let Some(cluster) = &mut world.cluster {
                let mine =
                    |volume: &Volume| volume.member == NAMES[*who] && volume.name == "images";
                cluster.volumes.retain(|volume| !mine(volume));
            }
        }
    }
}

fn act(world: &mut World, name: &str, fault: Fault) {
    // Nobody answers for the cluster while its first member is away.
    if world.cluster.is_some() && !world.machines["a"].up {
        return;
    }
    let observation = world.observe(name);
    let decision = decide(&world.specs[name], &observation, &world.history(name));
    if let Decision::Do(step) = &decision {
        invariant_a_join_is_decided_only_for_an_empty_machine(&observation, step);
        invariant_a_step_is_about_its_own_member(name, step);
        world.execute(name, step, fault);
    }
}

/// HO-JOIN-02, HO-JOIN-07, HO-JOIN-08, HO-JOIN-09.
fn invariant_a_join_is_decided_only_for_an_empty_machine(observation: &Observation, step: &Step) {
    let (Step::Join(join), Some(cluster), Candidate::Open(server)) =
        (step, &observation.cluster, &observation.candidate)
    else {
        return;
    };
    assert!(server.instances.is_empty() && server.volumes.is_empty());
    assert!(server.pools.is_empty() && server.networks.is_empty());
    assert_eq!(server.system, System::IncusOs { initialized: true });
    assert!(cluster.tokens.iter().all(|token| token.member != join.name));
    let same = |member: &Member| {
        member
            .server
            .as_ref()
            .is_none_or(|theirs| theirs.version == server.version)
    };
    assert!(cluster.members.iter().all(same));
}

fn invariant_a_step_is_about_its_own_member(own: &str, step: &Step) {
    match step {
        Step::Bootstrap { name }
        | Step::ChangeMember { name, .. }
        | Step::NotePool { name, .. }
        | Step::CreateVolume { name, .. }
        | Step::SetServer { name, .. }
        | Step::TrustMetrics { name, .. } => assert_eq!(name, own),
        Step::Join(join) => assert_eq!(join.name, own),
        Step::SetAddress { .. }
        | Step::Distrust { .. }
        | Step::RevokeToken { .. }
        | Step::DeleteLeftNetwork { .. }
        | Step::DeleteLeftPool { .. }
        | Step::CreateGroup { .. }
        | Step::MakePool { .. } => {}
        Step::DeleteVolume { .. }
        | Step::DeleteWorkload { .. }
        | Step::Evacuate { .. }
        | Step::Restore { .. }
        | Step::Remove { .. } => {
            panic!("{step} is for those who remove or empty a member")
        }
    }
}

/// HO-JOIN-09: never two tokens for one name; and what is not ours stays.
fn invariant_tokens_are_single_and_others_keep_theirs(world: &World) -> Result<(), TestCaseError> {
    let Some(cluster) = &world.cluster else {
        return Ok(());
    };
    let names: BTreeSet<&String> = cluster.tokens.iter().map(|token| &token.member).collect();
    prop_assert_eq!(
        names.len(),
        cluster.tokens.len(),
        "{}",
        world.trace.join("\n")
    );
    prop_assert!(
        world::foreign_things_are_there(cluster),
        "{}",
        world.trace.join("\n")
    );
    Ok(())
}

/// Everything is up, and every executor starts anew and is left in peace.
fn settle(world: &mut World) -> Result<(), TestCaseError> {
    for who in 0..NAMES.len() {
        happen(world, &Event::Power(who, true));
        happen(world, &Event::Kill(who));
        if who > 0 {
            for what in 0..3 {
                happen(world, &Event::Learn(who, what));
            }
        }
    }
    // One round after another, until nobody has anything to do.
    for _ in 0..120 {
        let done = world.trace.len();
        for name in NAMES {
            act(world, name, Fault::None);
        }
        invariant_tokens_are_single_and_others_keep_theirs(world)?;
        if world.trace.len() == done {
            break;
        }
    }
    Ok(())
}

/// HO-CLUS-06: three members, each with everything, and nothing left over of anything that failed.
fn invariant_settled_means_complete(world: &World) -> Result<(), TestCaseError> {
    let trace = || world.trace.join("\n");
    for name in NAMES {
        let observation = world.observe(name);
        let decision = decide(&world.specs[name], &observation, &world.history(name));
        prop_assert_eq!(
            decision,
            Decision::Done { missing: vec![] },
            "{}: {}",
            name,
            trace()
        );
        prop_assert_eq!(
            missing(&world.specs[name], &observation),
            Vec::<String>::new()
        );
    }
    let cluster = world.cluster.as_ref().expect("a cluster");
    let servers = cluster
        .trusted
        .iter()
        .filter(|one| one.kind == TrustKind::Server);
    let names: Vec<&str> = servers.map(|one| one.name.as_str()).collect();
    prop_assert_eq!(
        names.len(),
        4,
        "stray certificates {:?}: {}",
        names,
        trace()
    );
    prop_assert_eq!(cluster.tokens.len(), 1, "stray tokens: {}", trace());
    prop_assert!(world.half_joined.is_empty(), "half joined: {}", trace());
    for member in &cluster.members {
        let volumes: BTreeSet<&str> = cluster
            .volumes_on(&member.name)
            .map(|one| one.name.as_str())
            .collect();
        prop_assert!(
            ["backups", "images", "logs"]
                .iter()
                .all(|name| volumes.contains(name)),
            "{}",
            trace()
        );
        let config = member
            .server
            .as_ref()
            .map(|server| server.config.clone())
            .unwrap_or_default();
        let expected = [
            ("core.https_address", ":8443"),
            ("storage.backups_volume", "local/backups"),
            ("storage.images_volume", "local/images"),
            ("storage.logs_volume", "local/logs"),
        ];
        let found: Vec<(&str, &str)> = config
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        prop_assert_eq!(found, expected, "{}: {}", &member.name, trace());
        prop_assert_eq!(&member.failure_domain, &format!("rack-{}", member.name));
        prop_assert!(member.groups.contains("lab"));
    }
    Ok(())
}

fn three_members() -> World {
    let mut world = World::new();
    settle(&mut world).expect("an undisturbed world settles");
    world
}

/// What removing b may meet.
#[derive(Debug, Clone)]
struct Burden {
    instances: bool,
    workloads: bool,
    pinned: bool,
    volume: bool,
    busy: bool,
    dead: bool,
    applied: OnDestroy,
}

fn burden() -> impl Strategy<Value = Burden> {
    let flags = any::<(bool, bool, bool, bool, bool, bool, bool, bool)>();
    flags.prop_map(
        |(instances, workloads, pinned, volume, busy, dead, evacuate, force)| Burden {
            instances,
            workloads,
            pinned,
            volume,
            busy,
            dead,
            applied: OnDestroy { evacuate, force },
        },
    )
}

fn load(world: &mut World, burden: &Burden) {
    let member = world.member("b");
    if burden.instances {
        member.instances.insert("web".to_owned());
    }
    if burden.workloads {
        member.workloads.insert("agent-b-g0".to_owned());
    }
    if burden.pinned {
        member.instances.insert("db".to_owned());
        world.pinned.insert("db".to_owned());
    }
    if burden.volume {
        let volume = Volume {
            pool: "local".to_owned(),
            project: "default".to_owned(),
            name: "data".to_owned(),
            member: "b".to_owned(),
        };
        world
            .cluster
            .as_mut()
            .expect("a cluster")
            .volumes
            .push(volume);
    }
    world.logs_stay = burden.busy;
    world.machine("b").up = !burden.dead;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// HO-JOIN-12, HO-JOIN-18, HO-JOIN-19: whatever failed, an undisturbed executor ends with complete members.
    #[test]
    fn every_disturbance_of_a_join_is_survived(events in events()) {
        let mut world = World::new();
        for event in &events {
            happen(&mut world, event);
            invariant_tokens_are_single_and_others_keep_theirs(&world)?;
        }
        settle(&mut world)?;
        invariant_settled_means_complete(&world)?;
    }

    /// HO-JOIN-02: what a machine holds that no join has left is never touched, whatever was tried before.
    #[test]
    fn what_a_machine_holds_is_never_touched(
        kind in 0..4_usize,
        tried in prop::collection::vec(fault(), 0..12),
    ) {
        let mut world = World::new();
        for _ in 0..20 {
            act(&mut world, "a", Fault::None);
        }
        for fault in tried {
            if !world.machines["b"].server.clustered && fault != Fault::None && fault != Fault::Twice && fault != Fault::After {
                act(&mut world, "b", fault);
            }
        }
        let server = &mut world.machine("b").server;
        let (set, name) = match kind {
            0 => (&mut server.instances, "web"),
            1 => (&mut server.volumes, "local/data"),
            2 => (&mut server.pools, "tank"),
            _ => (&mut server.networks, "mybr0"),
        };
        set.insert(name.to_owned());
        world.memory.clear();
        let before = world.machines["b"].clone();
        for _ in 0..20 {
            act(&mut world, "b", Fault::None);
        }
        prop_assert_eq!(&world.machines["b"], &before, "{}", world.trace.join("\n"));
        let decision = decide(&world.specs["b"], &world.observe("b"), &world.history("b"));
        prop_assert!(matches!(decision, Decision::Refuse(Refusal::NotEmpty { .. })), "{:?}", decision);
    }

    /// HO-CLUS-08: a removal ends; without force nothing is lost, and the machine can join again.
    #[test]
    fn a_removal_ends_and_loses_nothing_without_force(
        burden in burden(),
        faults in prop::collection::vec(fault(), 0..12),
    ) {
        let mut world = three_members();
        load(&mut world, &burden);
        let mut faults = faults.into_iter();
        let mut end = None;
        for _ in 0..60 {
            let observation = world.observe("b");
            match removal(&world.specs["b"], &observation, burden.applied, &world.history("b")) {
                Removal::Do(step) => {
                    let fault = faults.next().unwrap_or(Fault::None);
                    world.execute("b", &step, fault);
                }
                other => {
                    end = Some(other);
                    break;
                }
            }
        }
        let trace = world.trace.join("\n");
        let end = end.ok_or_else(|| TestCaseError::fail(trace.clone()))?;
        let cluster = world.cluster.as_ref().expect("a cluster");
        prop_assert!(world::foreign_things_are_there(cluster));
        let gone = cluster.member("b").is_none();
        prop_assert_eq!(gone, matches!(end, Removal::Gone { .. }), "{:?}: {}", end, trace);
        let Burden { instances, pinned, volume, busy, dead, applied, .. } = burden;
        let harmless = !pinned && !volume && !busy && !dead && (!instances || applied.evacuate);
        prop_assert_eq!(gone, harmless || applied.force, "{:?}: {}", end, trace);
        if !applied.force {
            let has = |name: &str| cluster.members.iter().any(|member| member.instances.contains(name));
            prop_assert!(!instances || has("web"), "{}", trace);
            prop_assert!(!pinned || has("db"), "{}", trace);
            prop_assert!(!volume || cluster.volumes_on("b").any(|one| one.name == "data"), "{}", trace);
        }
    }
}

/// A removal that nothing stands in the way of leaves a machine that joins again, as Incus leaves it.
#[test]
fn a_removed_machine_joins_again() {
    let mut world = three_members();
    let applied = OnDestroy::default();
    world.logs_stay = true;
    for _ in 0..20 {
        let restarted = |world: &mut World| {
            // The operator restarts the daemon, which lets go of its logs.
            world.busy.clear();
            let cluster = world.cluster.as_mut().expect("a cluster");
            cluster
                .volumes
                .retain(|volume| volume.member != "b" || volume.name != "logs");
        };
        match removal(
            &world.specs["b"],
            &world.observe("b"),
            applied,
            &world.history("b"),
        ) {
            Removal::Do(step) => world.execute("b", &step, Fault::None),
            Removal::Refuse(_) => restarted(&mut world),
            Removal::Gone { warnings } => {
                assert_eq!(warnings, []);
                break;
            }
            Removal::Wait(waiting) => panic!("{waiting}"),
        }
    }
    assert_eq!(
        world.cluster.as_ref().map(|cluster| cluster.members.len()),
        Some(2)
    );
    settle(&mut world).expect("it settles");
    invariant_settled_means_complete(&world).expect("it is complete");
    assert_eq!(world.specs["b"].storage, None::<Storage>);
}
