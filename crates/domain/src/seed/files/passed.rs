//! The files that are passed through, spelled anew, and `services.json`, which has a part of ours.

use std::collections::BTreeMap;

use super::{VERSION, given, settled, tailscale, text};
use crate::given::Given;
use crate::seed::declared::Declared;
use crate::seed::extra;
use crate::seed::json::Json;
use crate::seed::release::Release;

pub(super) fn render(seed: &Declared) -> BTreeMap<String, Given<String>> {
    let mut files = BTreeMap::new();
    let extra_files = seed.extra_files.known().into_iter().flatten();
    for (name, declared) in extra_files.filter(|(_, declared)| declared.is_set()) {
        if name != "services" {
            files.insert(format!("{name}.json"), given(passed(seed, name, declared)));
        }
    }
    let services = seed
        .extra_files
        .known()
        .and_then(|files| files.get("services"));
    let services = services.unwrap_or(&Given::Absent);
    if services.is_set() || seed.tailscale.is_set() {
        files.insert("services.json".to_owned(), given(merged(seed, services)));
    }
    files
}

/// One file as the release reads it; what is wrong with it is left as it stands, for `check` refuses it.
fn passed(seed: &Declared, name: &str, declared: &Given<String>) -> Option<String> {
    let declared = settled(declared)??;
    if seed.incusos_release.is_unknown() {
        return None;
    }
    let release = Release::of(&seed.incusos_release).unwrap_or(Release::Oldest);
    match extra::read(name, declared, release) {
        Ok(file) => text(&file),
        Err(_) => Some(declared.clone()),
    }
}

/// The services of the file, and Tailscale at the place of its name.
fn merged(seed: &Declared, services: &Given<String>) -> Option<String> {
    let Some(tailscale) = settled(&seed.tailscale)? else {
        return passed(seed, "services", services);
    };
    let mut all = match settled(services)? {
        None => Vec::new(),
        Some(services) => {
            match extra::read("services", services, Release::of(&seed.incusos_release)?) {
                Ok(Json::Object(fields)) => fields,
                _ => return Some(services.clone()),
            }
        }
    };
    all.retain(|(name, _)| name != "version" && name != "tailscale");
    let place = all
        .iter()
        .position(|(name, _)| name.as_str() > "tailscale")
        .unwrap_or(all.len());
    all.insert(
        place,
        ("tailscale".to_owned(), tailscale::render(tailscale)?),
    );
    all.insert(0, ("version".to_owned(), Json::Text(VERSION.to_owned())));
    text(&Json::Object(all))
}
