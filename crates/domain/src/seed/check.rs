//! Checks a seed. Each attribute is judged as far as it and what it is compared with are known; none hides another.
//!
//! IncusOS finds most of these faults when the machine is up already, without network and far away. So these rules are
//! its own, and stricter where it takes what cannot work: `docs/decisions/0013-what-a-seed-says.md`.
//! Not here: the machine by itself (`machine/check.rs`), and the files that are passed through (`extra.rs`).

mod applications;
mod certificates;
mod machine;
mod tailscale;
mod update;
mod wireguard;

use super::declared::Declared;
use super::release::{OLDEST_SUPPORTED, Release};
use super::{extra, secret};
use crate::given::Given;
use crate::issue::{Issue, Step, attribute};

pub(super) use wireguard::is_by_address;

pub(super) fn check(seed: &Declared) -> Vec<Issue> {
    let mut issues = Vec::new();
    machine::check(&seed.machine, &mut issues);
    certificates::check(seed, &mut issues);
    if let Given::Known(declared) = &seed.wireguard {
        wireguard::check(declared, &seed.machine, &mut issues);
    }
    if let Given::Known(names) = &seed.applications {
        applications::check(names, &seed.machine, &mut issues);
    }
    if let Given::Known(declared) = &seed.update {
        update::check(declared, &mut issues);
    }
    let release = check_release(&seed.incusos_release, &mut issues);
    if let Given::Known(declared) = &seed.tailscale {
        tailscale::check(declared, release, &mut issues);
    }
    extra::check(seed, release, &mut issues);
    // Each check quotes with care; what it took over from another module's message may not have been.
    let hush = |issue: Issue| match secret::looks_secret(&issue.detail) {
        true => secret::hushed(issue),
        false => issue,
    };
    issues.into_iter().map(hush).collect()
}

/// HO-SEED-03: one release for the image and for its seed.
fn check_release(given: &Given<String>, issues: &mut Vec<Issue>) -> Option<Release> {
    if let Given::Known(text) = given
        && let Err(reason) = Release::parse(text)
    {
        issues.push(Issue::new(
            attribute("incusos_release"),
            "The release of IncusOS is not valid",
            format!(
                "The release is {}, which {reason}. Expected {OLDEST_SUPPORTED:?} or a later one, spelled as in the name of \
                 the image, such as \"202609271243\". Leave it out for a seed that every release since then reads.",
                secret::quoted(text)
            ),
        ));
    }
    Release::of(given)
}

/// A path through attributes.
fn at(names: &[&'static str]) -> Vec<Step> {
    names.iter().map(|name| Step::Attribute(name)).collect()
}

/// That something without which there is no seed was left out.
fn missing(names: &[&'static str], what: &str, how: &str) -> Issue {
    let name = names.join(".");
    Issue::new(
        at(names),
        format!("A seed has no {what}"),
        format!("{name} is not set. Expected {how}"),
    )
}
