//! Pulls that are cut off: the provider is killed around each request for an image.

use anyhow::{Context as _, Result, bail, ensure};

use super::super::provider;
use super::site::{FLEET, Site, app};
use crate::lab::{Incus, Registry};
use crate::proxy::{Counted, Deed, Moment, Proxy, Trap};
use crate::scenario::Context;

const IMAGES: &str = "/1.0/images";

/// The app, declared through the proxy.
fn declare(site: &Site, proxy: &Proxy, registry: &Registry) -> Result<()> {
    let provider = provider(&[proxy.endpoint()], FLEET);
    let server = registry.server();
    let image = format!(r#"server = "{server}", protocol = "oci", alias = "app:stable""#);
    site.workspace
        .main(&format!("{provider}{}", app("web", 1, &image)))
}

/// The numbers of the requests for images among those that changed something.
fn for_images(proxy: &Proxy) -> Vec<usize> {
    let mutations = proxy.mutations();
    let numbered = (1..).zip(&mutations);
    numbered
        .filter(|(_, seen)| seen.target.starts_with(IMAGES))
        .map(|(number, _)| number)
        .collect()
}

pub(super) fn pull(context: &Context) -> Result<()> {
    let site = Site::up(context, "pulls-killed", Incus::V7)?;
    let registry = site.lab.registry()?;
    let digest = registry.push("app", "stable", "v1", "app v1")?;
    let proxy = context.proxy("pulls-killed", &site.lab)?;
    declare(&site, &proxy, &registry)?;
    let images = site.observer.list(IMAGES)?.len();

    proxy.clear();
    site.workspace.apply()?.succeeded()?;
    let creating = for_images(&proxy);
    proxy.clear();
    site.workspace.destroy()?.succeeded()?;
    let destroying = for_images(&proxy);
    ensure!(
        (creating.len(), destroying.len()) == (2, 1),
        "{creating:?} {destroying:?}"
    );

    let killed = |nth, moment, by: &dyn Fn() -> Result<()>| {
        let counted = Counted::Mutating;
        let deed = Deed::KillClient;
        proxy.arm(Trap {
            counted,
            nth,
            moment,
            deed,
        });
        by()?;
        proxy
            .fired()
            .with_context(|| format!("nobody was killed {moment:?} request {nth}"))
    };
    for moment in [Moment::Before, Moment::After] {
        for nth in &creating {
            let at = killed(*nth, moment, &|| site.workspace.apply().map(drop))?;
            let told = || format!("killed {moment:?} {at}");
            site.workspace.apply()?.succeeded().with_context(told)?;
            site.expect("web", 1, "v1").with_context(told)?;
            site.expect_pulled(&[&format!("app@{digest}")])
                .with_context(told)?;
            site.workspace.destroy()?.succeeded().with_context(told)?;
            let left = site.observer.list(IMAGES)?.len();
            if left != images {
                bail!("{}: {left} images instead of {images}", told());
            }
        }
        for nth in &destroying {
            site.workspace.apply()?.succeeded()?;
            let at = killed(*nth, moment, &|| site.workspace.destroy().map(drop))?;
            let told = || format!("killed {moment:?} {at}");
            site.workspace.destroy()?.succeeded().with_context(told)?;
            let left = site.observer.list(IMAGES)?.len();
            ensure!(
                left == images,
                "{}: {left} images instead of {images}",
                told()
            );
        }
    }
    drop(registry);
    site.lab.down()
}
