//! The same requests to two servers: what must be in their answers, and in what the two may differ.
//!
//! The requests are `crates/simulator/exchanges.json`; how they are written is said where `cargo test` sends them to the
//! simulator alone (`crates/simulator/tests/server/exchanges.rs`). Used by `scenarios/simulator.rs`: a real Incus is the
//! one, the simulator the other. `alike/compare.rs` judges the answers.

mod compare;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::observer::Observer;

const EXCHANGES: &str = include_str!("../../crates/simulator/exchanges.json");

/// What changes while an operation goes on.
const PROGRESS: [&str; 4] = ["err", "metadata", "status", "status_code"];

/// Headers that belong to an answer.
const HEADERS: [&str; 6] = [
    "location",
    "x-incus-gid",
    "x-incus-mode",
    "x-incus-modified",
    "x-incus-type",
    "x-incus-uid",
];

/// A request, and what must be in the answer.
#[derive(Clone, Debug, Deserialize)]
pub struct Exchange {
    /// What it shows, in a sentence.
    pub about: String,
    /// Method, path and query.
    pub request: String,
    /// Further headers.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// A JSON body.
    body: Option<Value>,
    /// Another body.
    content: Option<String>,
    /// What must be in the answer; of maps the rest is free.
    answer: Value,
    /// The same of the end of the operation.
    end: Option<Value>,
    /// Keys in whose values two servers may differ altogether.
    #[serde(default)]
    apart: Vec<String>,
}

/// What a server answered, and the end of the operation that it began.
pub type Answers = (Value, Option<Value>);

/// One of the two servers, with what the requests leave open.
pub struct Side {
    /// Asks it.
    observer: Observer,
    /// The fingerprint of its first image.
    v1: String,
    /// The operation that was begun last.
    operation: String,
}

/// All of them, in their order: each builds on those before.
pub fn exchanges() -> Result<Vec<Exchange>> {
    serde_json::from_str(EXCHANGES).context("reading the exchanges")
}

impl Side {
    /// A server that has the images of the lab.
    pub fn new(observer: Observer) -> Result<Side> {
        let alias = observer.get("/1.0/images/aliases/app%2Fv1")?;
        let v1 = alias["target"].as_str().context("no image app/v1")?;
        Ok(Side {
            v1: v1.to_owned(),
            observer,
            operation: "none".to_owned(),
        })
    }

    /// Sends a request; gives the answer, and the end of the operation that it began. What is the server's own in them is
    /// written as in the requests.
    pub fn ask(&mut self, exchange: &Exchange) -> Result<Answers> {
        let request = self.fill(&exchange.request);
        let (method, path) = request.split_once(' ').context("no request")?;
        let mut headers: Vec<(&str, &str)> = exchange
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let body = match &exchange.body {
            Some(body) => {
                headers.push(("Content-Type", "application/json"));
                self.fill(&body.to_string())
            }
            None => exchange.content.clone().unwrap_or_default(),
        };
        let (head, content) = self.observer.ask(method, path, &headers, body.as_bytes())?;
        let mut answer = document(head.status(), &content);
        for name in HEADERS {
            if let Some(value) = head.header(name) {
                let place = if name == "location" {
                    &mut answer
                } else {
                    &mut answer["headers"]
                };
                place[name] = json!(value);
            }
        }
        let begun = answer["operation"].as_str().unwrap_or_default().to_owned();
        let mut end = None;
        if !begun.is_empty() {
            let (address, query) = begun.split_once('?').unwrap_or((&begun, ""));
            self.operation = address.rsplit('/').next().unwrap_or_default().to_owned();
            let wait = format!("{address}/wait?{query}");
            let (head, content) = self.observer.ask("GET", &wait, &[], &[])?;
            end = Some(document(head.status(), &content));
            // How far it was when it was answered is a matter of chance.
            if let Some(operation) = answer["metadata"].as_object_mut() {
                operation.retain(|key, _| !PROGRESS.contains(&key.as_str()));
            }
        }
        Ok((
            self.common(answer)?,
            end.map(|end| self.common(end)).transpose()?,
        ))
    }

    fn fill(&self, text: &str) -> String {
        text.replace("{v1}", &self.v1)
            .replace("{operation}", &self.operation)
    }

    fn common(&self, answer: Value) -> Result<Value> {
        let text = answer.to_string().replace(&self.v1, "{v1}");
        let text = text.replace(&self.operation, "{operation}");
        serde_json::from_str(&text).context("reading an answer again")
    }
}

/// The envelope with the HTTP status in it, or else what came without one.
fn document(status: u16, content: &[u8]) -> Value {
    let mut document = match serde_json::from_slice::<Value>(content) {
        Ok(envelope) if envelope.is_object() => envelope,
        _ => json!({ "content": String::from_utf8_lossy(content) }),
    };
    document["status"] = json!(status);
    document
}
