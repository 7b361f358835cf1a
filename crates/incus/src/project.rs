//! Projects: `/1.0/projects`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use crate::envelope;
use crate::lenient::{null_as_empty, texts};
use crate::request::{Request, path};

/// A name space for other objects.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Project {
    /// The name.
    pub name: String,
    /// What the operator says about it.
    pub description: String,
    /// Which kinds of objects it holds itself, and limits.
    #[serde(deserialize_with = "texts")]
    pub config: BTreeMap<String, String>,
    /// The addresses of the objects in it.
    #[serde(deserialize_with = "null_as_empty")]
    pub used_by: Vec<String>,
}

/// Lists all projects.
pub fn list() -> Request<Vec<Project>> {
    Request::get(path(&["projects"]), "listing projects", envelope::list).recursive()
}

/// Reads a project.
pub fn get(name: &str) -> Request<Project> {
    let doing = format!("reading project {name}");
    Request::get(path(&["projects", name]), doing, envelope::metadata)
}

/// Creates a project. If it exists, servers say 500 with a text: `Error::is_conflict` knows it.
pub fn create(name: &str, description: &str, config: &BTreeMap<String, String>) -> Request<()> {
    let doing = format!("creating project {name}");
    Request::post(path(&["projects"]), doing, envelope::nothing).json(json!({
        "name": name,
        "description": description,
        "config": config,
    }))
}

/// Deletes a project, which must be empty.
pub fn delete(name: &str) -> Request<()> {
    let doing = format!("deleting project {name}");
    Request::delete(path(&["projects", name]), doing, envelope::nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Body;

    #[test]
    fn requests_print() {
        let config = BTreeMap::from([("features.profiles".to_owned(), "true".to_owned())]);
        let create = create("homelab", "The fleet", &config);
        assert_eq!(create.doing(), "creating project homelab");
        assert_eq!(
            create.body(),
            &Body::Json(json!({
                "name": "homelab",
                "description": "The fleet",
                "config": { "features.profiles": "true" },
            }))
        );
        for (request, printed) in [
            (list().to_string(), "GET /1.0/projects?recursion=1"),
            (get("a/b").to_string(), "GET /1.0/projects/a%2Fb"),
            (create.to_string(), "POST /1.0/projects"),
            (
                delete("homelab").to_string(),
                "DELETE /1.0/projects/homelab",
            ),
        ] {
            assert_eq!(request, printed);
        }
    }
}
