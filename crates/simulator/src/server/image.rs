//! Images and the names that lead to them.
//!
//! Before: `route.rs`. After: `archive.rs` reads what an image is. Images come by upload alone: there is no network to get
//! them from.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::answer::{Answer, Refusal, Told};
use super::call::{Call, address, unescape};
use super::operation::{self, Job, now};
use super::state::{Config, Key, NEVER, State, key};
use super::{Incus, archive};

pub(super) struct Image {
    pub(super) fingerprint: String,
    /// `container` or `virtual-machine`.
    pub(super) kind: String,
    pub(super) properties: Config,
    architecture: String,
    filename: String,
    size: usize,
    created_at: String,
    uploaded_at: String,
    project: String,
}

/// Where a name leads.
pub(super) struct Alias {
    description: String,
    target: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PostAlias {
    name: String,
    description: String,
    target: String,
}

fn home(state: &State, call: &Call) -> Result<String, Refusal> {
    state.home(call.project(), "images").map(str::to_owned)
}

fn shown(state: &State, image: &Image) -> Value {
    let aliases = state.aliases.iter();
    let aliases = aliases
        .filter(|((project, _), alias)| {
            *project == image.project && alias.target == image.fingerprint
        })
        .map(|((_, name), alias)| json!({ "name": name, "description": alias.description }));
    json!({
        "auto_update": false, "properties": image.properties, "public": false, "expires_at": NEVER,
        "profiles": ["default"], "aliases": aliases.collect::<Vec<_>>(), "architecture": image.architecture,
        "cached": false, "filename": image.filename, "fingerprint": image.fingerprint, "size": image.size,
        "type": image.kind, "created_at": image.created_at, "last_used_at": NEVER,
        "uploaded_at": image.uploaded_at, "project": image.project,
    })
}

/// The image for an instance, of which one of both is said.
pub(super) fn for_instance<'a>(
    state: &'a State,
    project: &str,
    fingerprint: &str,
    alias: &str,
) -> Result<&'a Image, Refusal> {
    let home = state.home(project, "images")?;
    let target = match (fingerprint, alias) {
        ("", alias) => {
            let found = state.aliases.get(&key(home, alias));
            let none = "No fingerprint prefix specified for the image";
            &found.ok_or_else(|| Refusal::new(500, none))?.target
        }
        (fingerprint, _) => fingerprint,
    };
    find(state, home, target).ok_or_else(|| Refusal::new(404, "Image not found"))
}

/// An image by its fingerprint, or a beginning of it that no other one shares.
fn find<'a>(state: &'a State, home: &str, prefix: &str) -> Option<&'a Image> {
    let mut found = state
        .images
        .range(key(home, prefix)..)
        .take_while(|((project, name), _)| project == home && name.starts_with(prefix));
    let (_, image) = found.next()?;
    found.next().is_none().then_some(image)
}

pub(super) fn list(incus: &Incus, call: &Call) -> Told {
    let state = incus.state();
    let home = home(&state, call)?;
    let images = state
        .images
        .iter()
        .filter(|((project, _), _)| *project == home);
    let shown = images.map(|(_, image)| match call.is_recursive() {
        true => shown(&state, image),
        false => json!(address("images", &image.fingerprint, &home)),
    });
    Ok(Answer::sync(&shown.collect::<Vec<_>>()))
}

pub(super) fn get(incus: &Incus, call: &Call, fingerprint: &str) -> Told {
    let state = incus.state();
    let image = find(&state, &home(&state, call)?, fingerprint);
    let none = || Refusal::new(404, format!("Image \"{fingerprint}\" not found"));
    Ok(Answer::sync(&shown(&state, image.ok_or_else(none)?)))
}

/// Takes the bytes of an archive.
pub(super) fn upload(incus: &Arc<Incus>, call: &Call) -> Told {
    let (project, location) = {
        let state = incus.state();
        (home(&state, call)?, state.first().to_owned())
    };
    let job = Job {
        description: "Downloading image",
        project: project.clone(),
        location,
        resources: json!({}),
        names_project: false,
    };
    let (at, call) = (Arc::clone(incus), call.clone());
    let work = |_| async move {
        at.work().await;
        let image = read(&call, project)?;
        let told = json!({ "fingerprint": image.fingerprint, "size": image.size.to_string() });
        let of = key(&image.project, &image.fingerprint);
        let mut state = at.state();
        if state.images.contains_key(&of) {
            let text = "Image with same fingerprint already exists";
            return Err(Refusal::new(500, text));
        }
        state.images.insert(of, image);
        Ok(told)
    };
    Ok(operation::begin(incus, job, work))
}

fn read(call: &Call, project: String) -> Result<Image, Refusal> {
    let unsupported = || Refusal::new(500, "Unsupported compression");
    let metadata = archive::read(&call.body).ok_or_else(unsupported)?;
    let mut properties = metadata.properties;
    let more = call.header("x-incus-properties").split('&');
    let more = more.filter_map(|pair| pair.split_once('='));
    properties.extend(more.map(|(name, value)| (unescape(name), unescape(value))));
    let fingerprint = Sha256::digest(&call.body);
    let created_at = Timestamp::from_second(metadata.created_at);
    Ok(Image {
        fingerprint: fingerprint
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
        kind: match metadata.is_disk {
            true => "virtual-machine",
            false => "container",
        }
        .to_owned(),
        properties,
        architecture: metadata.architecture,
        filename: call.header("x-incus-filename").to_owned(),
        size: call.body.len(),
        created_at: created_at.map_or_else(|_| NEVER.to_owned(), |at| at.to_string()),
        uploaded_at: now(),
        project,
    })
}

/// Deletes an image with its aliases.
pub(super) fn delete(incus: &Arc<Incus>, call: &Call, fingerprint: &str) -> Told {
    let (of, location) = {
        let state = incus.state();
        let image = find(&state, &home(&state, call)?, fingerprint);
        let image = image.ok_or_else(|| Refusal::new(404, "Image not found"))?;
        let of: Key = key(&image.project, &image.fingerprint);
        (of, state.first().to_owned())
    };
    let job = Job {
        description: "Deleting image",
        project: of.0.clone(),
        location,
        resources: json!({ "images": [address("images", &of.1, &of.0)] }),
        names_project: false,
    };
    let at = Arc::clone(incus);
    let work = |_| async move {
        at.work().await;
        let mut state = at.state();
        state.images.remove(&of);
        state
            .aliases
            .retain(|(project, _), alias| *project != of.0 || alias.target != of.1);
        Ok(Value::Null)
    };
    Ok(operation::begin(incus, job, work))
}

fn shown_alias(state: &State, of: &Key, alias: &Alias) -> Value {
    let image = state.images.get(&key(&of.0, &alias.target));
    let kind = image.map_or("container", |image| &image.kind);
    json!({
        "description": alias.description, "target": alias.target, "name": of.1, "type": kind,
    })
}

pub(super) fn aliases(incus: &Incus, call: &Call) -> Told {
    let state = incus.state();
    let home = home(&state, call)?;
    let aliases = state
        .aliases
        .iter()
        .filter(|((project, _), _)| *project == home);
    let shown = aliases.map(|(of, alias)| match call.is_recursive() {
        true => shown_alias(&state, of, alias),
        false => json!(address("images/aliases", &of.1, &home)),
    });
    Ok(Answer::sync(&shown.collect::<Vec<_>>()))
}

pub(super) fn alias(incus: &Incus, call: &Call, name: &str) -> Told {
    let state = incus.state();
    let of = key(&home(&state, call)?, name);
    let alias = state.aliases.get(&of).ok_or_else(no_alias)?;
    Ok(Answer::sync(&shown_alias(&state, &of, alias)))
}

pub(super) fn create_alias(incus: &Incus, call: &Call) -> Told {
    let post: PostAlias = call.json()?;
    let mut state = incus.state();
    let of = key(&home(&state, call)?, &post.name);
    if state.aliases.contains_key(&of) {
        let text = format!("Alias \"{}\" already exists", post.name);
        return Err(Refusal::new(409, text));
    }
    let image = find(&state, &of.0, &post.target);
    let image = image.ok_or_else(|| Refusal::new(404, "Image not found"))?;
    let alias = Alias {
        description: post.description,
        target: image.fingerprint.clone(),
    };
    let address = address("images/aliases", &of.1, &of.0);
    state.aliases.insert(of, alias);
    Ok(Answer::created(address))
}

pub(super) fn delete_alias(incus: &Incus, call: &Call, name: &str) -> Told {
    let mut state = incus.state();
    let of = key(&home(&state, call)?, name);
    let found = state.aliases.remove(&of);
    found.map(|_| Answer::done()).ok_or_else(no_alias)
}

fn no_alias() -> Refusal {
    Refusal::new(404, "Image alias not found")
}
