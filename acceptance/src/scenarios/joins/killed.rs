//! The provider is killed around the requests of a join, to the joiner and to the cluster, and the next apply mends it.
//!
//! [`sweep`] is the whole idea; the scenario chooses a few places, `soak.rs` all of them.

use anyhow::{Context as _, Result, bail, ensure};

use super::site::{Declared, Site, expect_daemon_volumes, resource};
use crate::lab::Incus;
use crate::pair::Pair;
use crate::proxy::{Counted, Deed, Moment, Proxy, Seen, Trap};
use crate::scenario::Context;
use crate::scenarios::Step;
use crate::workspace::Run;

/// What the members have: a join then ends with a pool, the daemon's volumes and a metrics certificate.
const COMPLETE: &str = "storage = { pool = \"local\", driver = \"dir\" }";

/// A place in a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// This request, the first being 1.
    Nth(usize),
    /// The first request with this method and the path of this end.
    At(&'static str, &'static str),
}

/// Where the scenario kills: where something is made that must not stay, and after the very last request.
const CHOSEN: [(Moment, Place); 4] = [
    (Moment::After, Place::At("POST", "/1.0/cluster/members")),
    (Moment::Before, Place::At("PUT", "/1.0/cluster")),
    (Moment::After, Place::At("PUT", "/1.0/cluster")),
    (Moment::After, Place::Nth(usize::MAX)),
];

/// HO-JOIN-12, HO-JOIN-19.
pub(super) fn chosen(context: &Context) -> Result<()> {
    let stage = Stage::set(context, "killed", Incus::V6)?;
    for (moment, place) in CHOSEN {
        stage.kill(moment, place, Deed::KillClient)?;
    }
    stage.strike()
}

/// Kills around every request of a join.
pub(crate) fn sweep(
    context: &Context,
    slug: &str,
    incus: Incus,
    moment: Moment,
    deed: Deed,
) -> Result<Vec<Step>> {
    let stage = Stage::set(context, slug, incus)?;
    let mut steps = Vec::new();
    for (index, at) in stage.requests.iter().enumerate() {
        stage.kill(moment, Place::Nth(index + 1), deed)?;
        let at = at.clone();
        steps.push(Step {
            at,
            imported: false,
        });
    }
    stage.strike()?;
    Ok(steps)
}

/// A cluster of one and a joiner, with the proxy before both.
struct Stage {
    site: Site,
    proxy: Proxy,
    metrics: Pair,
    /// What a join consists of that nothing interrupts.
    requests: Vec<Seen>,
}

impl Stage {
    fn set(context: &Context, slug: &str, incus: Incus) -> Result<Stage> {
        let site = Site::clustered(context, slug, &[incus; 2], 1)?;
        let members: Vec<_> = site.lab.members().iter().collect();
        members
            .iter()
            .try_for_each(|member| site.lab.divert(member))?;
        let proxy = Proxy::before(&site.lab, &members, &site.operator)?;
        let metrics = Pair::new(2200)?;
        site.workspace.write("metrics.crt", &metrics.certificate)?;
        let mut stage = Stage {
            site,
            proxy,
            metrics,
            requests: Vec::new(),
        };
        stage.declare(&[])?;
        stage.site.workspace.apply()?.succeeded()?;
        stage.proxy.clear();
        stage.join()?.succeeded()?;
        stage.requests = stage.proxy.mutations();
        ensure!(!stage.requests.is_empty(), "a join makes no request at all");
        stage.check().context("nothing interfered")?;
        stage.reset()?;
        Ok(stage)
    }

    fn declare(&self, more: &[Declared]) -> Result<()> {
        let first = Declared::first("m1").with(COMPLETE);
        self.site.declare(&["m1", "m2"], &[&[first], more].concat())
    }

    fn join(&self) -> Result<Run> {
        let joiner = Declared::join("m2")
            .with(COMPLETE)
            .with("metrics_certificate = file(\"metrics.crt\")");
        self.declare(&[joiner])?;
        self.site.workspace.apply()
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
                    found.with_context(|| format!("no {method} {path} in {:?}", self.requests))?;
                Ok(found + 1)
            }
        }
    }

    /// Kills once, and lets the next apply mend it.
    fn kill(&self, moment: Moment, place: Place, deed: Deed) -> Result<()> {
        let nth = self.number(place)?;
        self.proxy.arm(Trap {
            counted: Counted::Mutating,
            nth,
            moment,
            deed,
        });
        let killed = self.join()?;
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
                "a join killed {moment:?} request {nth} ({at}), which said:\n{}",
                killed.error()
            )
        };
        let again = self.join()?.succeeded().with_context(told)?;
        self.check()
            .with_context(told)
            .with_context(|| again.told())?;
        self.reset()
    }

    /// Online and complete, and nothing is left of what was interrupted.
    fn check(&self) -> Result<()> {
        let site = &self.site;
        site.expect_members(site.lab.first(), &["m1", "m2"])?;
        site.workspace.expect_empty_plan()?;
        let missing = site.workspace.attributes(&resource("m2"))?["missing"].take();
        ensure!(
            missing.as_array().is_some_and(Vec::is_empty),
            "missing: {missing}"
        );
        let observer = site.observer();
        let pools = observer.list("/1.0/storage-pools")?;
        ensure!(pools == ["/1.0/storage-pools/local"], "{pools:?}");
        expect_daemon_volumes(&observer, site.lab.member("m2")?)
    }

    /// The joiner is installed anew, and nobody knows of it.
    fn reset(&self) -> Result<()> {
        let (workspace, observer) = (&self.site.workspace, self.site.observer());
        let joiner = self.site.lab.member("m2")?;
        workspace
            .run(&["state", "rm", &resource("m2")])?
            .succeeded()?;
        let certificates = observer.list("/1.0/certificates?recursion=1")?;
        let metrics = certificates.iter().filter(|one| one["type"] == "metrics");
        for fingerprint in metrics.filter_map(|one| one["fingerprint"].as_str()) {
            observer.finish("DELETE", &format!("/1.0/certificates/{fingerprint}"), None)?;
        }
        self.site.start_over(joiner)?;
        self.site.expect_members(self.site.lab.first(), &["m1"])
    }

    fn strike(self) -> Result<()> {
        drop(self.proxy);
        drop(self.metrics);
        self.site.down()
    }
}
