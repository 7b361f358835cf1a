//! Making: the next generation of a place, with what has to be there before it.
//!
//! Before: `pass.rs` has found that one is needed. After: [`Step`]s. A volume is made in a pass of its own, so that the
//! workload goes where the volume has really come to be.

use super::{Conflict, Decision, Next, Pass};
use crate::app::{Strategy, Volume};
use crate::observation::{VolumeSeen, Workload};
use crate::place::Place;
use crate::placement::{self, NoMember};
use crate::rollout::step::{Attached, Step};
use crate::work::Made;

impl Pass<'_> {
    /// The next generation of a place, or first what it needs; `before` is what serves there.
    pub(super) fn create(&self, place: &Place, before: Option<&Workload>) -> Decision {
        match self.try_create(place, before) {
            Ok(decision) => decision,
            Err(next) => Decision {
                next,
                ..self.nothing()
            },
        }
    }

    /// What has to be there before anything of this place is stopped; nothing if all of it is.
    pub(super) fn preparation(
        &self,
        place: &Place,
        before: Option<&Workload>,
    ) -> Result<Option<Decision>, Next> {
        let member = self.member_for(place, before).map_err(Next::NoMember)?;
        let steps = self.volume_steps(place, member.as_deref());
        Ok((!steps.is_empty()).then(|| self.recorded(steps)))
    }

    fn try_create(&self, place: &Place, before: Option<&Workload>) -> Result<Decision, Next> {
        let (generation, name) = self.free_name(place).map_err(Next::Conflict)?;
        if let Some(preparation) = self.preparation(place, before)? {
            return Ok(preparation);
        }
        let member = self.member_for(place, before).map_err(Next::NoMember)?;
        let step = Step::Create {
            place: place.clone(),
            generation,
            name: name.clone(),
            member: member.clone(),
            volumes: self.attached(place, member.as_deref()),
        };
        let mut decision = self.recorded(vec![step]);
        let slot = decision.work.slots.entry(place.clone()).or_default();
        slot.generation = generation;
        slot.workloads.push(Made {
            name,
            member,
            generation,
            trial: None,
            doomed: false,
        });
        Ok(decision)
    }

    /// The member for the next workload: where its local volumes are; where the one before is, if that was stopped for it
    /// (it holds its volumes and counts for its ports until it is gone); else the best of all.
    fn member_for(
        &self,
        place: &Place,
        before: Option<&Workload>,
    ) -> Result<Option<String>, NoMember> {
        let here = self.observation.volumes.iter().filter(|seen| {
            let declared = self.spec.volumes.get(&seen.volume);
            seen.place == *place && declared.is_some_and(|declared| is_kept(declared, seen))
        });
        if let Some(member) = here.filter_map(|seen| seen.member.clone()).next() {
            return match self.observation.is_open(&member) {
                true => Ok(Some(member)),
                false => Err(NoMember::Pinned {
                    place: place.clone(),
                    member,
                }),
            };
        }
        let stays = self.spec.r#type.strategy() == Strategy::StopReplace;
        let member = before.and_then(|workload| workload.member.clone());
        let may_stay = |member: &String| {
            let placement = self.spec.placement.as_ref();
            stays && placement::is_open(self.observation, member, placement)
        };
        match member.filter(may_stay) {
            Some(member) => Ok(Some(member)),
            None => placement::choose(self.observation, place, self.spec.placement.as_ref()),
        }
    }

    /// What is missing of the volumes of a place on this member, or is not as large as declared.
    fn volume_steps(&self, place: &Place, member: Option<&str>) -> Vec<Step> {
        let declared = self.spec.volumes.iter();
        let step = |(volume, declared): (&String, &Volume)| {
            let Some(seen) = self.volume_at(place, volume, member) else {
                return Some(Step::CreateVolume {
                    place: place.clone(),
                    volume: volume.clone(),
                    name: self.spec.volume_name(place, volume),
                    declared: declared.clone(),
                    member: member.map(str::to_owned),
                });
            };
            let size = declared.size.filter(|size| Some(*size) != seen.size)?;
            Some(Step::ResizeVolume {
                place: place.clone(),
                volume: volume.clone(),
                name: seen.name.clone(),
                pool: seen.pool.clone(),
                member: seen.member.clone(),
                size,
            })
        };
        declared.filter_map(step).collect()
    }

    /// The volumes that a workload on this member finds.
    fn attached(&self, place: &Place, member: Option<&str>) -> Vec<Attached> {
        let attached = |volume: &String| {
            let seen = self.volume_at(place, volume, member)?;
            Some(Attached {
                volume: volume.clone(),
                source: seen.name.clone(),
                pool: seen.pool.clone(),
            })
        };
        self.spec.volumes.keys().filter_map(attached).collect()
    }

    fn volume_at(&self, place: &Place, volume: &str, member: Option<&str>) -> Option<&VolumeSeen> {
        let declared = self.spec.volumes.get(volume)?;
        self.observation.volumes.iter().find(|seen| {
            let is_there = seen.member.is_none() || seen.member.as_deref() == member;
            seen.place == *place && seen.volume == volume && is_there && is_kept(declared, seen)
        })
    }

    /// The next generation whose name is free, or whose holder is in the way for good.
    pub(super) fn free_name(&self, place: &Place) -> Result<(u64, String), Conflict> {
        let mut generation = self.next_generation(place);
        loop {
            let name = self.spec.workload_name(place, generation);
            if let Some(owner) = self.observation.foreign.get(&name) {
                return Err(Conflict {
                    name,
                    owner: owner.clone(),
                });
            }
            // One of ours can hold it under another place or generation, since keys decide and names do not.
            let mut ours = self.observation.workloads.iter();
            if !ours.any(|workload| workload.name == name)
                && !self.observation.unclear.contains(&name)
            {
                return Ok((generation, name));
            }
            generation = generation.saturating_add(1);
        }
    }

    /// One more than was ever used here, by the record and by what is seen (invariant: it never goes down). If the record
    /// was lost, the names on members that do not answer are all that is left to tell.
    fn next_generation(&self, place: &Place) -> u64 {
        let recorded = self.work.slots.get(place).map(|slot| slot.generation);
        let workloads = self.observation.workloads.iter();
        let here = workloads.filter(|workload| workload.place == *place);
        let seen = here.map(|workload| workload.generation).max();
        let unclear = self.observation.unclear.iter();
        let unclear = unclear.filter_map(|name| self.spec.generation_in(name, place));
        recorded
            .max(seen)
            .max(unclear.max())
            .map_or(0, |highest| highest.saturating_add(1))
    }
}

/// Whether a volume that is there is the declared one: a pool that is not named may be any. Whether there is data in another
/// pool than the declared one is asked before (`preflight/kept.rs`).
fn is_kept(declared: &Volume, seen: &VolumeSeen) -> bool {
    let pool = declared.pool.as_ref();
    pool.is_none_or(|pool| *pool == seen.pool)
}
