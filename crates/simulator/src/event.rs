//! What happens: mostly an executor sends its next request, and everything else often enough to meet in the middle.
//!
//! Before: a seed. After: `world.rs` carries each event out. Events carry all their luck, so that a story without some
//! of them still makes sense.

use crate::fleet::{IMAGES, MEMBERS};
use crate::random::{Luck, Random};

/// How many events a story has.
const LONGEST: u64 = 400;

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An executor sends its next request, or stops waiting.
    Advance(usize, Luck),
    /// Somebody applies this, if that executor has nothing to do.
    Apply(usize, &'static str, u32),
    /// From here on the app is declared as one of which only one workload may run at each place.
    Exclusive,
    /// Somebody destroys the app.
    Destroy(usize),
    /// An executor is killed; what it has set going inside of Incus goes on.
    Kill(usize),
    /// A workload ends, or is stopped by hand.
    Stopped(usize),
    /// A workload is started by hand.
    Started(usize),
    /// A workload is deleted by hand.
    Deleted(usize),
    /// Somebody takes the name that the next generation of place 0 would have.
    NameTaken,
    /// And gives it back.
    NamesFreed,
    /// A member does not answer any more.
    MemberSilent(usize),
    /// Incus says that it is offline.
    MemberOffline(usize),
    /// It answers again; its workloads have kept running, or it was rebooted.
    MemberReturns(usize, bool),
    /// A member is evacuated.
    Evacuated(usize),
    /// And restored.
    Restored(usize),
    /// An image is deleted from the cluster.
    ImageGone(usize),
    /// All images are there again.
    ImagesBack,
    /// Somebody deletes the work record.
    RecordLost,
    /// The clock of an executor jumps by so many milliseconds.
    ClockJumps(usize, i64),
    /// Time passes.
    TimePasses(i64),
}

/// The story of a seed.
pub fn story(seed: u64) -> Vec<Event> {
    let mut random = Random::new(seed);
    let length = 20 + random.below(LONGEST);
    // Kinds of trouble after which less can be judged: most stories are without them.
    let records_get_lost = random.below(4) == 0;
    let clocks_jump = random.below(4) == 0;
    let may = |event: &Event| match event {
        Event::RecordLost => records_get_lost,
        Event::ClockJumps(..) => clocks_jump,
        _ => true,
    };
    let exclusive = random.below(3) == 0;
    let first = exclusive.then_some(Event::Exclusive);
    let others = (0..length).map(|_| draw(&mut random)).filter(may);
    first.into_iter().chain(others).collect()
}

fn draw(random: &mut Random) -> Event {
    let who = usize::from(random.below(4) == 0);
    let member = index(random, MEMBERS.len());
    let workload = index(random, 6);
    match random.below(400) {
        0..280 => Event::Advance(who, Luck(random.number() | 1)),
        280..310 => {
            let image = IMAGES[index(random, IMAGES.len())];
            Event::Apply(who, image, 1 + u32::try_from(random.below(3)).unwrap_or(0))
        }
        310..313 => Event::Destroy(who),
        313..325 => Event::Kill(who),
        325..333 => Event::Stopped(workload),
        333..336 => Event::Started(workload),
        336..342 => Event::Deleted(workload),
        342..345 => Event::NameTaken,
        345..350 => Event::NamesFreed,
        350..356 => Event::MemberSilent(member),
        356..361 => Event::MemberOffline(member),
        361..373 => Event::MemberReturns(member, random.below(2) == 0),
        373..377 => Event::Evacuated(member),
        377..383 => Event::Restored(member),
        383..385 => Event::ImageGone(index(random, IMAGES.len())),
        385..388 => Event::ImagesBack,
        388..390 => Event::RecordLost,
        390..392 => {
            let hours = i64::try_from(random.below(5)).unwrap_or(0) - 2;
            Event::ClockJumps(who, hours * 3_600_000)
        }
        _ => Event::TimePasses(i64::try_from(random.below(30_000)).unwrap_or(0)),
    }
}

fn index(random: &mut Random, length: usize) -> usize {
    let limit = u64::try_from(length).unwrap_or(1);
    usize::try_from(random.below(limit)).unwrap_or(0)
}
