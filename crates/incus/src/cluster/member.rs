//! One member: read, changed, emptied, filled again, removed: `/1.0/cluster/members/NAME`.
//!
//! A member is changed as a whole: a PATCH merges only its configuration and takes everything else
//! that is left out for empty.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use super::Member;
use crate::envelope;
use crate::operation::Operation;
use crate::request::{Request, path};

/// A graceful removal empties the member's networks and pools, and restarts its daemon, before it
/// answers.
const REMOVAL_LIMIT: Duration = Duration::from_secs(5 * 60);

/// What can be changed of a member; all of it is written at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MemberPut {
    /// Its roles, those included that only the cluster gives and takes.
    pub roles: Vec<String>,
    /// Its failure domain.
    pub failure_domain: String,
    /// What the operator says about it.
    pub description: String,
    /// The configuration.
    pub config: BTreeMap<String, String>,
    /// The groups that it is in, at least one.
    pub groups: Vec<String>,
}

impl From<Member> for MemberPut {
    fn from(member: Member) -> Self {
        Self {
            roles: member.roles,
            failure_domain: member.failure_domain,
            description: member.description,
            config: member.config,
            groups: member.groups,
        }
    }
}

/// How a member is removed. There is a third way, for joins that never ended (`pending=1`): it removes members that
/// take part as well (measured), and is not needed, since the next join replaces what such a one has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is told, and becomes a server of its own. Refused while something is on it.
    Graceful,
    /// The cluster forgets it and whatever is on it. It is not told: if it lives, it goes on running
    /// everything, and reading and writing the cluster's database.
    Forced,
}

/// What keeps a member from being removed gracefully.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StillHas {
    /// `instances`, `containers`, `images` or `custom volumes`.
    pub what: String,
    /// Which; of images, their fingerprints.
    pub names: Vec<String>,
}

/// Reads a member.
pub fn get(name: &str) -> Request<Member> {
    let doing = format!("reading member {name}");
    Request::get(
        path(&["cluster", "members", name]),
        doing,
        envelope::metadata,
    )
}

/// Replaces what can be changed of a member.
pub fn replace(name: &str, content: &MemberPut) -> Request<()> {
    let doing = format!("changing member {name}");
    Request::put(
        path(&["cluster", "members", name]),
        doing,
        envelope::nothing,
    )
    .json(json!(content))
}

/// Moves everything off a member that can be moved, and stops the rest.
pub fn evacuate(name: &str) -> Request<Operation> {
    set_state(name, "evacuate", format!("evacuating member {name}"))
}

/// Brings everything back to a member that was moved off it.
pub fn restore(name: &str) -> Request<Operation> {
    set_state(name, "restore", format!("restoring member {name}"))
}

fn set_state(name: &str, action: &str, doing: String) -> Request<Operation> {
    let path = path(&["cluster", "members", name, "state"]);
    Request::post(path, doing, envelope::operation).json(json!({ "action": action, "mode": "" }))
}

/// Removes a member.
pub fn remove(name: &str, removal: Removal) -> Request<()> {
    let doing = format!("removing member {name}");
    let path = path(&["cluster", "members", name]);
    let request = Request::delete(path, doing, envelope::nothing).answer_within(REMOVAL_LIMIT);
    match removal {
        Removal::Graceful => request,
        Removal::Forced => request.query("force", "1"),
    }
}

/// Reads the refusal of a graceful removal: nothing else tells which images are on one member only.
pub fn still_has(refusal: &str) -> Option<StillHas> {
    let (_, behind) = refusal.split_once("ode still has the following ")?;
    let (what, names) = behind.split_once(": ")?;
    Some(StillHas {
        what: what.to_owned(),
        names: names.split(", ").map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Body;

    #[test]
    fn requests_print() {
        for (request, printed) in [
            (get("m2").to_string(), "GET /1.0/cluster/members/m2"),
            (
                replace("m2", &MemberPut::default()).to_string(),
                "PUT /1.0/cluster/members/m2",
            ),
            (
                evacuate("m2").to_string(),
                "POST /1.0/cluster/members/m2/state",
            ),
            (
                restore("m2").to_string(),
                "POST /1.0/cluster/members/m2/state",
            ),
            (
                remove("m2", Removal::Graceful).to_string(),
                "DELETE /1.0/cluster/members/m2",
            ),
            (
                remove("m2", Removal::Forced).to_string(),
                "DELETE /1.0/cluster/members/m2?force=1",
            ),
        ] {
            assert_eq!(request, printed);
        }
        for (request, action) in [(evacuate("m2"), "evacuate"), (restore("m2"), "restore")] {
            let body = json!({ "action": action, "mode": "" });
            assert_eq!(request.body(), &Body::Json(body));
        }
    }

    #[test]
    fn a_member_is_written_as_a_whole() {
        let member = Member {
            server_name: "m2".to_owned(),
            roles: vec!["database".to_owned()],
            groups: vec!["default".to_owned()],
            failure_domain: "rack-2".to_owned(),
            description: "below the stairs".to_owned(),
            config: BTreeMap::from([("user.x".to_owned(), "1".to_owned())]),
            ..Member::default()
        };
        let body = json!({
            "roles": ["database"],
            "failure_domain": "rack-2",
            "description": "below the stairs",
            "config": { "user.x": "1" },
            "groups": ["default"],
        });
        let request = replace("m2", &MemberPut::from(member));
        assert_eq!(request.body(), &Body::Json(body));
    }

    /// HO-CLUS-08.
    #[test]
    fn the_refusal_of_a_removal_tells_what_is_there() {
        for (text, expected) in [
            (
                "Node still has the following custom volumes: backups, images, logs",
                Some(("custom volumes", vec!["backups", "images", "logs"])),
            ),
            (
                "Failed: node still has the following images: abc",
                Some(("images", vec!["abc"])),
            ),
            ("Node still has the following", None),
            ("Member is offline", None),
            ("", None),
        ] {
            let read = still_has(text);
            let read = read.as_ref().map(|has| {
                let names = has.names.iter().map(String::as_str);
                (has.what.as_str(), names.collect::<Vec<_>>())
            });
            assert_eq!(read, expected, "{text}");
        }
    }
}
