//! IncusOS: `/os/1.0`, which Incus passes on to the system below it.
//!
//! Only an unrestricted client is let through. A server on another system says so in two ways: 6.0
//! knows no such address, and 7 refuses it; here both are `None`.

use serde::Deserialize;

use crate::envelope::{self, Unusable};
use crate::lenient::null_as_empty;
use crate::request::{Read, Request, escape};

/// What the system says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// The hostname.
    pub hostname: String,
    /// The name, `IncusOS`.
    pub os_name: String,
    /// The version.
    pub os_version: String,
    /// Whether everything has been started.
    pub system_is_ready: bool,
}

/// An application of the system, such as `incus`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Application {
    /// Whether its seed has been applied to the end (HO-JOIN-07).
    pub initialized: bool,
    /// The version.
    pub version: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Root {
    #[serde(deserialize_with = "null_as_empty")]
    environment: Environment,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Stateful {
    #[serde(deserialize_with = "null_as_empty")]
    state: Application,
}

/// Reads what the system says about itself; `None` if it is not IncusOS.
pub fn environment() -> Request<Option<Environment>> {
    get("", "reading the description of IncusOS", |reply| {
        let root: Option<Root> = unless_another_system(envelope::metadata(reply))?;
        Ok(root.map(|root| root.environment))
    })
}

/// Lists the names of the applications; `None` if the system is not IncusOS.
pub fn applications() -> Request<Option<Vec<String>>> {
    let doing = "listing the applications of IncusOS";
    get("/applications", doing, |reply| {
        unless_another_system(envelope::names(reply))
    })
}

/// Reads an application; `None` if there is none of that name, or the system is not IncusOS.
pub fn application(name: &str) -> Request<Option<Application>> {
    let path = format!("/applications/{}", escape(name));
    let doing = format!("reading application {name} of IncusOS");
    get(&path, &doing, |reply| {
        let read: Option<Stateful> = unless_another_system(envelope::metadata(reply))?;
        Ok(read.map(|read| read.state))
    })
}

fn get<T>(path: &str, doing: &str, read: Read<T>) -> Request<T> {
    Request::get(format!("/os/1.0{path}"), doing, read)
}

fn unless_another_system<T>(read: Result<T, Unusable>) -> Result<Option<T>, Unusable> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Unusable::Refused { code: 404, .. }) => Ok(None),
        // 400 is also what a bad request gets, so the text has to tell.
        Err(Unusable::Refused { code: 400, message }) if message.contains("IncusOS") => Ok(None),
        Err(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::tests::reply;

    /// HO-JOIN-07.
    #[test]
    fn an_application_says_whether_its_seed_was_applied() {
        let request = application("incus");
        assert_eq!(request.to_string(), "GET /os/1.0/applications/incus");
        let initialized = |body: &str| {
            let read = (request.read)(&reply(200, body)).expect("an application");
            read.map(|application| application.initialized)
        };
        let body = r#"{"type":"sync","metadata":{"config":{},"state":{"initialized":true,"version":"7.1"}}}"#;
        assert_eq!(initialized(body), Some(true));
        let early = r#"{"type":"sync","metadata":{"state":{"initialized":false}}}"#;
        assert_eq!(initialized(early), Some(false));
        assert_eq!(
            initialized(r#"{"type":"sync","metadata":{"state":null}}"#),
            Some(false)
        );
    }

    #[test]
    fn another_system_is_no_error() {
        let answer = |code: u16, text: &str| {
            let body = format!(r#"{{"type":"error","error":"{text}","error_code":{code}}}"#);
            reply(code, &body)
        };
        for (code, text) in [(404, "Not Found"), (400, "System isn't running IncusOS")] {
            let reply = answer(code, text);
            assert_eq!((environment().read)(&reply).expect(text), None);
            assert_eq!((application("incus").read)(&reply).expect(text), None);
            assert_eq!((applications().read)(&reply).expect(text), None);
        }
        for (code, text) in [(400, "Bad request"), (403, "not authorized"), (500, "no")] {
            let read = (application("incus").read)(&answer(code, text));
            assert!(matches!(read, Err(Unusable::Refused { .. })), "{text}");
        }
    }

    #[test]
    fn the_system_is_read() {
        assert_eq!(environment().to_string(), "GET /os/1.0");
        assert_eq!(applications().to_string(), "GET /os/1.0/applications");
        let body = r#"{"type":"sync","metadata":{"environment":{"hostname":"m1","os_name":"IncusOS",
            "os_version":"202610","system_is_ready":true}}}"#;
        let system = (environment().read)(&reply(200, body)).expect("a system");
        assert!(system.is_some_and(|system| system.system_is_ready));
        let body = r#"{"type":"sync","metadata":["/1.0/applications/incus"]}"#;
        let names = (applications().read)(&reply(200, body)).expect("applications");
        assert_eq!(names, Some(vec!["incus".to_owned()]));
    }
}
