//! Renders the files of a seed: JSON, because IncusOS reads it the same in every case, with fields in one order.
//!
//! Before: `check.rs` found nothing wrong. After: the files as text, each known as soon as everything in it is.
//! Every file is a type of its own here, so that what must not be rendered cannot be: `network.rs` has no place for a
//! route of the overlay (HO-SEED-23), `incus.rs` none for a join token or the address of a cluster (HO-SEED-21).

use std::collections::BTreeMap;

use serde::Serialize;

use super::declared::{Declared, Keys};
use crate::given::Given;

mod applications;
mod incus;
mod install;
mod network;
mod passed;
mod tailscale;
mod update;

pub use incus::{SOCKET_PATH, SOCKET_PROFILE};
pub use network::tunnel_key;

/// Every seed file has it; IncusOS does not look at it yet.
const VERSION: &str = "1";

pub(super) fn render(seed: &Declared, keys: Option<&Keys>) -> BTreeMap<String, Given<String>> {
    let mut files = BTreeMap::from([
        ("install.json".to_owned(), given(install::render(seed))),
        (
            "network.json".to_owned(),
            given(network::render(seed, keys)),
        ),
        (
            "applications.json".to_owned(),
            given(applications::render(seed)),
        ),
        ("incus.json".to_owned(), given(incus::render(seed, keys))),
    ]);
    match &seed.update {
        Given::Absent => {}
        Given::Unknown => {
            files.insert("update.json".to_owned(), Given::Unknown);
        }
        Given::Known(declared) => {
            files.insert("update.json".to_owned(), given(update::render(declared)));
        }
    }
    files.extend(passed::render(seed));
    files
}

fn given(file: Option<String>) -> Given<String> {
    file.map_or(Given::Unknown, Given::Known)
}

/// One file as text.
fn text(file: &impl Serialize) -> Option<String> {
    // Only texts, numbers, lists and objects with texts as keys are rendered, and of those there is always a text.
    let text = serde_json::to_string_pretty(file).ok()?;
    Some(text + "\n")
}

/// What is set, as soon as it is known: nothing yet, or the value if there is one. The outer option ends the rendering of
/// a file with `?`.
fn settled<T>(given: &Given<T>) -> Option<Option<&T>> {
    match given {
        Given::Unknown => None,
        Given::Absent => Some(None),
        Given::Known(value) => Some(Some(value)),
    }
}

/// The elements that are set, as soon as all are known.
fn settled_list(given: &Given<Vec<Given<String>>>) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for element in settled(given)?.into_iter().flatten() {
        all.extend(settled(element)?.cloned());
    }
    Some(all)
}
