//! `applications.json`: what IncusOS downloads at its first start.

use serde::Serialize;

use super::{VERSION, settled, settled_list, text};
use crate::seed::declared::Declared;

#[derive(Serialize)]
struct File {
    version: &'static str,
    applications: Vec<Application>,
}

#[derive(Serialize)]
struct Application {
    name: String,
}

/// HO-SEED-08: Incus, if nothing else is said.
pub(super) fn render(seed: &Declared) -> Option<String> {
    let names = match settled(&seed.applications)? {
        None => vec!["incus".to_owned()],
        Some(_) => settled_list(&seed.applications)?,
    };
    text(&File {
        version: VERSION,
        applications: names.into_iter().map(|name| Application { name }).collect(),
    })
}
