//! Projects: which kinds of objects each keeps itself, and what is in it.
//!
//! Before: `route.rs`. What a project does not keep itself is in the project `default` (`State::home`).

use serde::Deserialize;
use serde_json::{Value, json};

use super::Incus;
use super::answer::{Answer, Refusal, Told};
use super::call::{Call, address};
use super::state::{Config, Project, State};

#[derive(Deserialize, Default)]
#[serde(default)]
struct Post {
    name: String,
    description: String,
    config: Config,
}

fn shown(state: &State, name: &str, project: &Project) -> Value {
    json!({
        "config": project.config, "description": project.description, "name": name,
        "used_by": used_by(state, name),
    })
}

/// What is in a project, its own default profile included.
fn used_by(state: &State, project: &str) -> Vec<String> {
    let own = |(home, name): &(String, String), kind: &str| {
        (home == project).then(|| address(kind, name, project))
    };
    let instances = state.instances.keys().filter_map(|of| own(of, "instances"));
    let images = state.images.keys().filter_map(|of| own(of, "images"));
    let profiles = state.profiles.keys().filter_map(|of| own(of, "profiles"));
    instances.chain(images).chain(profiles).collect()
}

pub(super) fn list(incus: &Incus, call: &Call) -> Told {
    let state = incus.state();
    let shown = state
        .projects
        .iter()
        .map(|(name, project)| match call.is_recursive() {
            true => shown(&state, name, project),
            false => json!(format!("/1.0/projects/{name}")),
        });
    Ok(Answer::sync(&shown.collect::<Vec<_>>()))
}

pub(super) fn get(incus: &Incus, name: &str) -> Told {
    let state = incus.state();
    let project = state.projects.get(name).ok_or_else(not_found)?;
    Ok(Answer::sync(&shown(&state, name, project)))
}

pub(super) async fn create(incus: &Incus, call: &Call) -> Told {
    let post: Post = call.json()?;
    let name = post.name;
    incus.work().await;
    let mut state = incus.state();
    if state.projects.contains_key(&name) {
        let text = format!(
            "Failed creating project \"{name}\": Failed adding database record: Failed to create \"projects\" entry: \
             UNIQUE constraint failed: projects.name"
        );
        return Err(Refusal::new(500, text));
    }
    let mut config = post.config;
    // What is not said is on for what was there before features were.
    for feature in ["images", "profiles", "storage.buckets", "storage.volumes"] {
        let key = format!("features.{feature}");
        config.entry(key).or_insert_with(|| "true".to_owned());
    }
    state.make_project(&name, &post.description, config);
    let first = state.first().to_owned();
    drop(state);
    let source = format!("/1.0/projects/{name}");
    incus
        .events
        .lifecycle("project-created", &source, (&name, &first), None);
    Ok(Answer::created(source))
}

pub(super) fn delete(incus: &Incus, name: &str) -> Told {
    let mut state = incus.state();
    if name == "default" {
        let text = "The 'default' project cannot be deleted";
        return Err(Refusal::new(403, text));
    }
    if !state.projects.contains_key(name) {
        return Err(not_found());
    }
    let own_profile = address("profiles", "default", name);
    let has_volumes = state.volumes.iter().any(|volume| volume.project == name);
    if has_volumes
        || used_by(&state, name)
            .iter()
            .any(|used| *used != own_profile)
    {
        let text = "Only empty projects can be removed.";
        return Err(Refusal::new(500, text));
    }
    state.projects.remove(name);
    state.profiles.retain(|(project, _), _| project != name);
    Ok(Answer::done())
}

fn not_found() -> Refusal {
    Refusal::new(404, "Project not found")
}
