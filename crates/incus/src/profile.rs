//! Profiles: `/1.0/profiles`.
//!
//! Two things are measured and worth knowing: of many parallel creations of one name exactly one
//! succeeds, and an `If-Match` does not keep concurrent writers apart, so none is sent.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::envelope;
use crate::lenient::{Devices, KeysOf, null_as_empty, texts};
use crate::request::{Request, path};

/// A set of configuration and devices that instances take over.
///
/// `Debug` prints no values: they may be secrets.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// The name.
    pub name: String,
    /// What the operator says about it.
    pub description: String,
    /// The configuration.
    #[serde(deserialize_with = "texts")]
    pub config: BTreeMap<String, String>,
    /// The devices.
    #[serde(deserialize_with = "null_as_empty")]
    pub devices: Devices,
    /// The addresses of what uses it.
    #[serde(deserialize_with = "null_as_empty")]
    pub used_by: Vec<String>,
}

/// The content of a profile, as it is written. `Debug` prints no values.
#[derive(Clone, Default, PartialEq, Serialize)]
pub struct ProfilePut {
    /// What the operator says about it.
    pub description: String,
    /// The configuration.
    pub config: BTreeMap<String, String>,
    /// The devices.
    pub devices: Devices,
}

/// Lists the names of a project's profiles.
pub fn names(project: &str) -> Request<Vec<String>> {
    let doing = format!("listing the profiles of project {project}");
    Request::get(path(&["profiles"]), doing, envelope::names).project(project)
}

/// Lists a project's profiles with their content.
pub fn list(project: &str) -> Request<Vec<Profile>> {
    let doing = format!("listing the profiles of project {project}");
    Request::get(path(&["profiles"]), doing, envelope::list)
        .project(project)
        .recursive()
}

/// Reads a profile.
pub fn get(project: &str, name: &str) -> Request<Profile> {
    let doing = format!("reading profile {name}");
    Request::get(path(&["profiles", name]), doing, envelope::metadata).project(project)
}

/// Creates a profile. The losers among concurrent creators get an error that
/// `Error::is_conflict` knows.
pub fn create(project: &str, name: &str, content: &ProfilePut) -> Request<()> {
    let doing = format!("creating profile {name}");
    Request::post(path(&["profiles"]), doing, envelope::nothing)
        .project(project)
        .json(json!({
            "name": name,
            "description": content.description,
            "config": content.config,
            "devices": content.devices,
        }))
}

/// Sets these keys of a profile's configuration and leaves the others; an empty value removes one.
pub fn patch(project: &str, name: &str, config: &BTreeMap<String, String>) -> Request<()> {
    let doing = format!("changing profile {name}");
    Request::patch(path(&["profiles", name]), doing, envelope::nothing)
        .project(project)
        .json(json!({ "config": config }))
}

/// Replaces a profile's content.
pub fn replace(project: &str, name: &str, content: &ProfilePut) -> Request<()> {
    let doing = format!("replacing profile {name}");
    Request::put(path(&["profiles", name]), doing, envelope::nothing)
        .project(project)
        .json(json!({
            "description": content.description,
            "config": content.config,
            "devices": content.devices,
        }))
}

/// Deletes a profile.
pub fn delete(project: &str, name: &str) -> Request<()> {
    let doing = format!("deleting profile {name}");
    Request::delete(path(&["profiles", name]), doing, envelope::nothing).project(project)
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile")
            .field("name", &self.name)
            .field("config", &KeysOf(&self.config))
            .field("devices", &KeysOf(&self.devices))
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ProfilePut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProfilePut")
            .field("config", &KeysOf(&self.config))
            .field("devices", &KeysOf(&self.devices))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::tests::reply;
    use crate::request::Body;

    fn content() -> ProfilePut {
        ProfilePut {
            config: BTreeMap::from([("user.key".to_owned(), "hunter2".to_owned())]),
            ..ProfilePut::default()
        }
    }

    #[test]
    fn requests_print() {
        for (request, printed) in [
            (names("p").to_string(), "GET /1.0/profiles?project=p"),
            (
                list("p").to_string(),
                "GET /1.0/profiles?project=p&recursion=1",
            ),
            (
                get("p", "app.web.r7").to_string(),
                "GET /1.0/profiles/app.web.r7?project=p",
            ),
            (
                create("p", "w", &content()).to_string(),
                "POST /1.0/profiles?project=p",
            ),
            (
                patch("p", "w", &content().config).to_string(),
                "PATCH /1.0/profiles/w?project=p",
            ),
            (
                replace("p", "w", &content()).to_string(),
                "PUT /1.0/profiles/w?project=p",
            ),
            (
                delete("p", "w").to_string(),
                "DELETE /1.0/profiles/w?project=p",
            ),
        ] {
            assert_eq!(request, printed);
        }
    }

    #[test]
    fn bodies_carry_what_is_written() {
        let config = json!({ "user.key": "hunter2" });
        assert_eq!(
            create("p", "w", &content()).body(),
            &Body::Json(json!({ "name": "w", "description": "", "config": config, "devices": {} }))
        );
        assert_eq!(
            patch("p", "w", &content().config).body(),
            &Body::Json(json!({ "config": config }))
        );
        assert_eq!(
            replace("p", "w", &content()).body(),
            &Body::Json(json!({ "description": "", "config": config, "devices": {} }))
        );
    }

    #[test]
    fn values_are_not_printed() {
        let body = r#"{"type":"sync","metadata":[{"name":"w","config":{"user.key":"hunter2"},
            "devices":{"root":{"type":"disk"}},"used_by":null}]}"#;
        let profiles = (list("p").read)(&reply(200, body)).expect("profiles");
        assert_eq!(profiles[0].config["user.key"], "hunter2");
        assert_eq!(profiles[0].devices["root"]["type"], "disk");
        let request = create("p", "w", &content());
        let printed = format!(
            "{profiles:?} {:?} {request:?} {:?}",
            content(),
            request.body()
        );
        assert!(printed.contains("user.key") && !printed.contains("hunter2"));
    }
}
