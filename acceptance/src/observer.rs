//! Asks an Incus daemon what is true, in plain HTTP and JSON over its unix socket (HO-CI-01).
//!
//! Used by the lab to set daemons up and by scenarios to judge. None of the product's types are used here, and every
//! question opens a connection of its own, so that an answer depends on nothing that came before.

use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::http;
use crate::process;

/// The longest that any answer may take; a dead member makes some answers slow, none this slow.
const LONGEST_ANSWER: Duration = Duration::from_secs(120);

/// The key that names the app on each of its workloads.
pub const APP_KEY: &str = "user.homelab-ops.app";
/// The key that holds the generation of a workload.
pub const GENERATION_KEY: &str = "user.homelab-ops.generation";

/// Someone who looks at one Incus daemon from outside.
#[derive(Clone, Debug)]
pub struct Observer {
    socket: PathBuf,
}

impl Observer {
    /// Looks through this unix socket.
    pub fn new(socket: &Path) -> Observer {
        Observer {
            socket: socket.to_owned(),
        }
    }

    /// The socket that it looks through.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Sends a request with any body and returns status and content of the response.
    pub fn exchange(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<(u16, Vec<u8>)> {
        let (head, content) = self.ask(method, path, headers, body)?;
        Ok((head.status(), content))
    }

    /// Sends a request with any body and returns all of the response.
    pub fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<(http::Head, Vec<u8>)> {
        let asking = || format!("{method} {path} at {}", self.socket.display());
        let stream = UnixStream::connect(&self.socket).with_context(asking)?;
        stream
            .set_read_timeout(Some(LONGEST_ANSWER))
            .with_context(asking)?;
        http::ask(stream, (method, path), headers, body).with_context(asking)
    }

    /// Sends a request with a JSON body and returns the whole envelope; an error envelope is an error.
    pub fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let bytes = body.map(Value::to_string).unwrap_or_default();
        let (_, content) = self.exchange(
            method,
            path,
            &[("Content-Type", "application/json")],
            bytes.as_bytes(),
        )?;
        let envelope: Value = serde_json::from_slice(&content).with_context(|| {
            format!(
                "{method} {path}: reading {}",
                String::from_utf8_lossy(&content)
            )
        })?;
        if envelope["type"] == "error" {
            bail!(
                "{method} {path}: {} ({})",
                envelope["error"].as_str().unwrap_or_default(),
                envelope["error_code"]
            );
        }
        Ok(envelope)
    }

    /// The metadata of a GET.
    pub fn get(&self, path: &str) -> Result<Value> {
        Ok(self.request("GET", path, None)?["metadata"].take())
    }

    /// The elements of a GET that answers with a list; Incus may say null for an empty one.
    pub fn list(&self, path: &str) -> Result<Vec<Value>> {
        match self.get(path)? {
            Value::Null => Ok(Vec::new()),
            Value::Array(items) => Ok(items),
            other => bail!("GET {path}: expected a list, got {other}"),
        }
    }

    /// Sends a request and, when it started an operation, follows that to its end.
    pub fn finish(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let envelope = self.request(method, path, body)?;
        self.follow(envelope)
            .with_context(|| format!("finishing {method} {path}"))
    }

    /// Follows the operation of an envelope to its end and returns its metadata.
    pub fn follow(&self, envelope: Value) -> Result<Value> {
        let Some(operation) = envelope["operation"]
            .as_str()
            .filter(|operation| !operation.is_empty())
        else {
            return Ok(envelope);
        };
        // The query, if there is one, comes after the word.
        let (path, query) = operation
            .split_once('?')
            .map_or((operation, String::new()), |(path, query)| {
                (path, format!("?{query}"))
            });
        let ended = self.get(&format!("{path}/wait{query}"))?;
        ensure!(
            ended["status_code"] == 200,
            "the operation failed: {}",
            ended["err"]
        );
        Ok(ended)
    }

    /// All instances of a project, with their keys.
    pub fn instances(&self, project: &str) -> Result<Vec<Value>> {
        self.list(&format!("/1.0/instances?recursion=1&project={project}"))
    }

    /// The workloads of an app in the default project, in the order of their names.
    pub fn workloads(&self, app: &str) -> Result<Vec<Workload>> {
        let mut workloads: Vec<Workload> = self
            .instances("default")?
            .iter()
            .filter(|instance| instance["config"][APP_KEY] == app)
            .map(Workload::from_instance)
            .collect::<Result<_>>()?;
        workloads.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(workloads)
    }

    /// Whether the first process of an instance exists.
    pub fn has_process(&self, instance: &str) -> bool {
        let state = self.get(&format!("/1.0/instances/{instance}/state"));
        let pid = state.ok().and_then(|state| state["pid"].as_u64());
        pid.is_some_and(|pid| pid > 0 && Path::new(&format!("/proc/{pid}")).exists())
    }

    /// What the web server inside a running workload answers on a path, asked from inside its network.
    pub fn answer(&self, workload: &str, path: &str) -> Result<String> {
        let state = self.get(&format!("/1.0/instances/{workload}/state"))?;
        let pid = state["pid"]
            .as_u64()
            .filter(|pid| *pid > 0)
            .with_context(|| format!("{workload} does not run"))?;
        let network = PathBuf::from(format!("/proc/{pid}/ns/net"));
        let text = process::inside(&network, || ask_here(path))
            .with_context(|| format!("asking {workload}"))?;
        // An empty answer is what a failed extraction looks like, so it is never accepted (HO-CI-16).
        ensure!(!text.is_empty(), "{workload} does not answer on {path}");
        Ok(text)
    }

    /// The names of the profiles of a project.
    pub fn profile_names(&self, project: &str) -> Result<Vec<String>> {
        let urls = self.list(&format!("/1.0/profiles?project={project}"))?;
        Ok(urls
            .iter()
            .filter_map(|url| last_segment(url.as_str()?))
            .collect())
    }

    /// Sets keys of an instance; an empty value removes one.
    pub fn set_instance_keys(&self, name: &str, keys: &Value) -> Result<()> {
        self.finish(
            "PATCH",
            &format!("/1.0/instances/{name}"),
            Some(&json!({ "config": keys })),
        )
        .map(drop)
    }

    /// Stops an instance the hard way.
    pub fn stop(&self, name: &str) -> Result<()> {
        let body = json!({ "action": "stop", "force": true, "timeout": 30 });
        self.finish("PUT", &format!("/1.0/instances/{name}/state"), Some(&body))
            .map(drop)
    }

    /// Stops and deletes an instance.
    pub fn delete(&self, name: &str) -> Result<()> {
        if self.get(&format!("/1.0/instances/{name}"))?["status"] != "Stopped" {
            self.stop(name)?;
        }
        self.finish("DELETE", &format!("/1.0/instances/{name}"), None)
            .map(drop)
    }
}

/// One workload as Incus tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The name of the instance.
    pub name: String,
    /// `Running`, `Stopped`, …
    pub status: String,
    /// The member that it is on; `none` where there is no cluster.
    pub location: String,
    /// The generation in its keys.
    pub generation: u64,
    /// The ordinal in its keys; 0 for an app with one replica.
    pub ordinal: String,
    /// The machine in its keys; empty for an app with a count.
    pub machine: String,
    /// The image in its keys, as the user wrote it.
    pub image: String,
    /// When it was found healthy; empty until then.
    pub healthy_since: String,
}

impl Workload {
    fn from_instance(instance: &Value) -> Result<Workload> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let key = |key: &str| text(&instance["config"][format!("user.homelab-ops.{key}")]);
        let name = text(&instance["name"]);
        let generation = key("generation")
            .parse()
            .with_context(|| format!("the generation of {name}"))?;
        // An app with one replica has no ordinal in its keys: it is the first.
        let ordinal = Some(key("member")).filter(|ordinal| !ordinal.is_empty());
        Ok(Workload {
            status: text(&instance["status"]),
            location: text(&instance["location"]),
            generation,
            ordinal: ordinal.unwrap_or_else(|| "0".to_owned()),
            machine: key("node"),
            image: key("image"),
            healthy_since: key("healthy-since"),
            name,
        })
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.status == "Running"
    }
}

/// Asks the web server on port 80 of this thread's network.
fn ask_here(path: &str) -> Result<String> {
    let stream =
        TcpStream::connect((Ipv4Addr::LOCALHOST, 80)).context("connecting to its server")?;
    stream.set_read_timeout(Some(LONGEST_ANSWER))?;
    let (head, content) = http::ask(stream, ("GET", path), &[], &[])?;
    ensure!(
        head.status() == 200,
        "it answers with status {}",
        head.status()
    );
    Ok(String::from_utf8_lossy(&content).trim().to_owned())
}

fn last_segment(url: &str) -> Option<String> {
    url.split('?').next()?.rsplit('/').next().map(str::to_owned)
}
