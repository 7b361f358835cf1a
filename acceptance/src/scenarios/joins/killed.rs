//! The provider is killed around the requests of a bootstrap, a join and a removal, and the next apply mends it.
//!
//! [`sweep`] is the whole idea; the scenarios choose a few places, `soak.rs` all of them. What each act is, and how one
//! sees that it came to its end, is in `killed/act.rs`.

mod act;

use anyhow::{Context as _, Result, bail, ensure};

use super::site::Site;
use crate::lab::Incus;
use crate::pair::Pair;
use crate::proxy::{Counted, Deed, Moment, Proxy, Seen, Trap};
use crate::scenario::Context;
use crate::scenarios::Step;

pub(crate) use act::Act;

/// A place in an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// This request, the first being 1.
    Nth(usize),
    /// The first request with this method and this path.
    At(&'static str, &'static str),
}

/// After the very last request.
const LAST: (Moment, Place) = (Moment::After, Place::Nth(usize::MAX));

/// HO-JOIN-12, HO-JOIN-19: where something is made that must not stay, and after the very last request.
pub(super) fn join(context: &Context) -> Result<()> {
    let places = [
        (Moment::After, Place::At("POST", "/1.0/cluster/members")),
        (Moment::Before, Place::At("PUT", "/1.0/cluster")),
        (Moment::After, Place::At("PUT", "/1.0/cluster")),
        LAST,
    ];
    chosen(context, "killed", Act::Join, &places)
}

/// HO-CLUS-02: around the moment in which the machine becomes a cluster, and after its end.
pub(super) fn bootstrap(context: &Context) -> Result<()> {
    let places = [
        (Moment::Before, Place::At("PUT", "/1.0/cluster")),
        (Moment::After, Place::At("PUT", "/1.0/cluster")),
        LAST,
    ];
    chosen(context, "kill-first", Act::Bootstrap, &places)
}

/// HO-CLUS-08: while its instances move, and around the request after which nobody knows the member any more.
pub(super) fn removal(context: &Context) -> Result<()> {
    let places = [
        (
            Moment::After,
            Place::At("POST", "/1.0/cluster/members/m2/state"),
        ),
        (
            Moment::After,
            Place::At("DELETE", "/1.0/cluster/members/m2"),
        ),
    ];
    chosen(context, "kill-last", Act::Removal, &places)
}

fn chosen(context: &Context, slug: &str, act: Act, places: &[(Moment, Place)]) -> Result<()> {
    let stage = Stage::set(context, slug, act, Incus::V6)?;
    for (moment, place) in places {
        stage.kill(*moment, *place, Deed::KillClient)?;
    }
    stage.strike()
}

/// Kills around every request of an act.
pub(crate) fn sweep(
    context: &Context,
    slug: &str,
    (act, incus): (Act, Incus),
    moment: Moment,
    deed: Deed,
) -> Result<Vec<Step>> {
    let stage = Stage::set(context, slug, act, incus)?;
    let mut steps = Vec::new();
    for (index, at) in stage.requests.iter().enumerate() {
        let imported = stage.kill(moment, Place::Nth(index + 1), deed)?;
        let at = at.clone();
        steps.push(Step { at, imported });
    }
    stage.strike()?;
    Ok(steps)
}

/// The machines of an act, with the proxy before all of them.
struct Stage {
    act: Act,
    site: Site,
    proxy: Proxy,
    /// What the act consists of when nothing interrupts it.
    requests: Vec<Seen>,
}

impl Stage {
    fn set(context: &Context, slug: &str, act: Act, incus: Incus) -> Result<Stage> {
        let site = act.site(context, slug, incus)?;
        let members: Vec<_> = site.lab.members().iter().collect();
        members
            .iter()
            .try_for_each(|member| site.lab.divert(member))?;
        let proxy = Proxy::before(&site.lab, &members, &site.operator)?;
        let metrics = Pair::new(2200)?.certificate;
        site.workspace.write("metrics.crt", &metrics)?;
        act.prepare(&site)?;
        proxy.clear();
        act.perform(&site)?.succeeded()?;
        let requests = proxy.mutations();
        ensure!(!requests.is_empty(), "{act:?} makes no request at all");
        act.check(&site).context("nothing interfered")?;
        act.reset(&site)?;
        Ok(Stage {
            act,
            site,
            proxy,
            requests,
        })
    }

    fn number(&self, place: Place) -> Result<usize> {
        match place {
            Place::Nth(nth) => Ok(nth.min(self.requests.len())),
            Place::At(method, path) => {
                let is_it = |seen: &Seen| {
                    seen.method == method && seen.target.split('?').next() == Some(path)
                };
                let found = self.requests.iter().position(is_it);
                let found =
                    found.with_context(|| format!("no {method} {path} in {:#?}", self.requests))?;
                Ok(found + 1)
            }
        }
    }

    /// Kills once, and lets the next apply mend it; whether it needed an import, since only the state was missing.
    fn kill(&self, moment: Moment, place: Place, deed: Deed) -> Result<bool> {
        let (act, site) = (self.act, &self.site);
        let nth = self.number(place)?;
        self.proxy.arm(Trap {
            counted: Counted::Mutating,
            nth,
            moment,
            deed,
        });
        let killed = act.perform(site)?;
        let fired = self.proxy.fired();
        self.proxy.clear();
        let Some(at) = fired else {
            bail!(
                "nothing was killed at request {nth} of {:?}: {}",
                self.requests,
                killed.told()
            );
        };
        let told = || {
            format!(
                "{act:?} killed {moment:?} request {nth} ({at}), which said:\n{}",
                killed.error()
            )
        };
        let mut again = act.perform(site)?;
        let imported = again.code != Some(0) && act.import(site, &again).with_context(told)?;
        if imported {
            again = act.perform(site)?;
        }
        let again = again.succeeded().with_context(told)?;
        act.check(site)
            .with_context(told)
            .with_context(|| again.told())?;
        act.reset(site)?;
        Ok(imported)
    }

    fn strike(self) -> Result<()> {
        drop(self.proxy);
        self.site.down()
    }
}
