//! The state machine as tables: what is declared, what is there, what is done next.
//!
//! Here is the language of the tables; `tests/*.rs` hold them, a file per question. What happens in between is in
//! `crates/simulator`.

mod cases;
mod exclusive;
mod forecasts;
mod machines;
mod phases;
mod placements;
mod situations;
mod trials;

use super::*;
use crate::app::{AppType, Image, ImageReference, Volume, VolumeClass};
use crate::observation::{Member, MemberStatus, Probe, VolumeSeen};
use crate::rollout::step::Attached;

const NOW: Moment = Moment(100_000);

/// The revision that every record of the tables is of.
const REVISION: u64 = 5;

/// "v2 x3": the image and how many replicas, or "v2 xper-node"; then `alone` if only one may run at each place, and with it
/// the names of its local volumes.
fn spec(words: &str) -> AppSpec {
    let words: Vec<&str> = words.split_whitespace().collect();
    let [image, replicas, rest @ ..] = words.as_slice() else {
        panic!("an image and a count: {words:?}");
    };
    let replicas = replicas.strip_prefix('x').expect("a count");
    let image = Image::own(ImageReference::Alias((*image).to_owned()));
    let replicas = replicas.parse().expect("a count");
    let r#type = match rest {
        [] => AppType::GenericStateless,
        _ => AppType::GenericExclusive,
    };
    let mut spec = AppSpec::new("web", r#type, replicas, image);
    let volumes = rest.iter().skip(1);
    spec.volumes = volumes.map(|name| volume(name)).collect();
    spec
}

fn volume(name: &str) -> (String, Volume) {
    let volume = Volume {
        class: VolumeClass::Local,
        pool: None,
        path: format!("/{name}"),
        size: Some(1 << 30),
    };
    (name.to_owned(), volume)
}

/// What is there, and what is on record.
#[derive(Debug, Default)]
struct There {
    /// What stands behind image and count in the declaration.
    beside: String,
    observation: Observation,
    work: Work,
}

/// Workloads and what else there is, with commas between them.
///
/// `0 g2 v1 running healthy well @m1`: the place, the generation, the image; `running`, `stopped` (after this executor
/// has started it), `never` (stopped and never started), `unfinished` (found stopped, and nobody knows whether its start
/// has ended), `moving` (neither running nor stopped), `evacuated`, `unknown` or `lost`; then `healthy` for long,
/// `soaking` for ten seconds, or stamped an hour `ahead`; `well` or `sick` at this pass; `ended` (seen stopped before, whatever is listed); its
/// output `kept`, or its start `refused`; its member.
///
/// `volume 0 data @m1` (of one GiB), `unmade 0 g1` (Incus refused to make it), `failed 0 g1` (for this revision), `old failed 0
/// g1`; `record 0 g7`, `record 0 serving g1`, `trial 0 g1 10m` (began so long ago), `old trial 0 g1 10m` (for a revision
/// before), `doomed 0 g1` (its deletion was decided), `foreign NAME of OWNER`, `foreign NAME`, `unclear NAME`.
fn there(words: &str) -> There {
    there_with("", words)
}

/// The same for a declaration with this behind image and count.
fn there_with(beside: &str, words: &str) -> There {
    let mut there = There {
        beside: beside.to_owned(),
        ..There::default()
    };
    there.work.revision = REVISION;
    for words in words
        .split(',')
        .map(str::trim)
        .filter(|words| !words.is_empty())
    {
        let words: Vec<&str> = words.split_whitespace().collect();
        match words.as_slice() {
            ["record", place, "serving", generation] => {
                there.slot(place).serving = Some(number(generation));
            }
            ["record", place, generation] => {
                there.slot(place).generation = number(generation);
            }
            ["doomed", place, generation] => {
                there.trial(place, generation, "0s", REVISION);
                let made = there.slot(place).workloads.last_mut();
                made.expect("just made").doomed = true;
            }
            ["volume", place, volume, member] => there.observation.volumes.push(VolumeSeen {
                name: format!("web-{volume}"),
                pool: "local".to_owned(),
                member: Some(member[1..].to_owned()),
                place: place.parse().expect("a place"),
                volume: (*volume).to_owned(),
                size: Some(1 << 30),
            }),
            ["unmade", place, generation] => {
                there.trial(place, generation, "0s", REVISION);
                let name = format!("web-{place}-{generation}");
                let errors = &mut there.observation.create_errors;
                errors.insert(name, "no space".to_owned());
            }
            ["failed", place, generation] => there.failed(place, generation, REVISION),
            ["old", "failed", place, generation] => there.failed(place, generation, REVISION - 1),
            ["trial", place, generation, ago] => there.trial(place, generation, ago, REVISION),
            ["old", "trial", place, generation, ago] => {
                there.trial(place, generation, ago, REVISION - 1);
            }
            ["foreign", name, owner @ ..] => {
                let owner = owner.last().map(|owner| (*owner).to_owned());
                there.observation.foreign.insert((*name).to_owned(), owner);
            }
            ["unclear", name] => {
                there.observation.unclear.insert((*name).to_owned());
            }
            [place, generation, image, status, rest @ ..] => {
                there.workload(place, generation, image, status, rest);
            }
            other => panic!("{other:?}"),
        }
    }
    there
}

/// "g12" as 12.
fn number(generation: &str) -> u64 {
    generation[1..].parse().expect("a generation")
}

impl There {
    /// Of the same app with this image.
    fn hash_of(&self, image: &str) -> String {
        let rest = match self.beside.is_empty() {
            true => String::new(),
            false => format!(" {}", self.beside),
        };
        spec(&format!("{image} x1{rest}")).hash()
    }

    fn slot(&mut self, place: &str) -> &mut crate::work::Slot {
        let place = place.parse().expect("a place");
        self.work.slots.entry(place).or_default()
    }

    fn failed(&mut self, place: &str, generation: &str, revision: u64) {
        self.work.fail(FailureRecord {
            place: place.parse().expect("a place"),
            generation: number(generation),
            revision,
            candidate: format!("web-{place}-{generation}"),
            image: "v".to_owned(),
            error: "it ended by itself".to_owned(),
            at: NOW,
        });
    }

    fn trial(&mut self, place: &str, generation: &str, ago: &str, revision: u64) {
        let ago = crate::duration::parse(ago).expect("a duration");
        let made = crate::work::Made {
            name: format!("web-{place}-{generation}"),
            member: None,
            generation: number(generation),
            trial: Some(crate::work::Clock {
                began_at: Moment(NOW.0 - i64::try_from(ago.as_millis()).expect("a short time")),
                revision,
            }),
            doomed: false,
        };
        let slot = self.slot(place);
        slot.generation = slot.generation.max(made.generation);
        slot.workloads.push(made);
    }

    fn workload(
        &mut self,
        place: &str,
        generation: &str,
        image: &str,
        status: &str,
        rest: &[&str],
    ) {
        let name = format!("web-{place}-{generation}");
        let hash = self.hash_of(image);
        let observation = &mut self.observation;
        match status {
            "unfinished" => drop(observation.unfinished.insert(name.clone())),
            "stopped" => drop(observation.ended.insert(name.clone())),
            _ => {}
        }
        let mut workload = Workload {
            name: name.clone(),
            place: place.parse().expect("a place"),
            generation: number(generation),
            member: None,
            image: image.to_owned(),
            spec: hash,
            status: match status {
                "running" => Status::Running,
                "stopped" | "never" | "unfinished" => Status::Stopped,
                "moving" => Status::Other,
                "evacuated" => Status::Evacuated,
                "unknown" => Status::Unknown,
                "lost" => Status::Lost,
                other => panic!("{other}"),
            },
            healthy_since: None,
            started_at: String::new(),
            restarted: false,
            ever_started: status != "never",
            description: String::new(),
        };
        for word in rest {
            let (name, text) = (name.clone(), (*word).to_owned());
            match *word {
                "healthy" => workload.healthy_since = Some(Moment(0)),
                "soaking" => workload.healthy_since = Some(Moment(NOW.0 - 10_000)),
                "ahead" => workload.healthy_since = Some(Moment(NOW.0 + 3_600_000)),
                "well" => drop(observation.probes.insert(name, Probe::Healthy)),
                "sick" => drop(observation.probes.insert(name, Probe::Unhealthy(text))),
                "ended" => drop(observation.ended.insert(name)),
                "restarted" => workload.restarted = true,
                "kept" => drop(observation.outputs.insert(name, text)),
                "refused" => drop(observation.start_errors.insert(name, text)),
                member => workload.member = Some(member[1..].to_owned()),
            }
        }
        observation.workloads.push(workload);
    }
}

/// The steps and what follows, as words.
fn told(decision: &Decision) -> String {
    let mut words: Vec<String> = decision.steps.iter().map(ToString::to_string).collect();
    words.push(match &decision.next {
        Next::Again => "again".to_owned(),
        Next::Wait(time) => format!("wait {}", crate::duration::format(*time)),
        Next::Converged => "converged".to_owned(),
        Next::Failed(failure) => match &failure.serving {
            Some(serving) => format!("failed, {serving} serves"),
            None => "failed".to_owned(),
        },
        Next::Conflict(conflict) => match &conflict.owner {
            Some(owner) => format!("{} is {owner}'s", conflict.name),
            None => format!("{} is somebody's", conflict.name),
        },
        Next::NoMember(_) => "no member".to_owned(),
        Next::OutOfReach(workloads) => format!("{} is out of reach", workloads[0].name),
    });
    words.join("; ")
}

fn decide_on(declared: &str, there: &There) -> Decision {
    decide(&spec(declared), &there.observation, &there.work, NOW)
}

/// Checks a table: lines of `declared | what is there | what is done`; lines with a # say why.
fn check(table: &str) {
    let lines = table.lines().map(str::trim);
    let mut checked = 0;
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [declared, is_there, expected] = columns.as_slice() else {
            panic!("three columns: {line}");
        };
        let beside = declared.splitn(3, ' ').nth(2).unwrap_or_default();
        let decision = decide_on(declared, &there_with(beside, is_there));
        assert_eq!(told(&decision), *expected, "{line}");
        checked += 1;
    }
    assert!(checked > 0, "an empty table");
}
