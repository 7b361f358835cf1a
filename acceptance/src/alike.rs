//! The same requests to two servers: what must be in their answers, and in what the two may differ.
//!
//! The requests are `crates/simulator/exchanges.json`, which says how they are written. Used by
//! `scenarios/simulator.rs`: a real Incus is the one, the simulator the other.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::observer::Observer;

const EXCHANGES: &str = include_str!("../../crates/simulator/exchanges.json");

/// What no two servers have in common: of these only the kind of value is compared.
const VARYING: [&str; 20] = [
    "allocated_time",
    "create_instance_from_image_unpack_progress",
    "created_at",
    "last_used_at",
    "percent",
    "pid",
    "processes",
    "progress",
    "speed",
    "started_at",
    "total",
    "updated_at",
    "uploaded_at",
    "url",
    "usage",
    "usage_peak",
    "volatile.cloud-init.instance-id",
    "volatile.uuid",
    "volatile.uuid.generation",
    "x-incus-modified",
];

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
    pub fn ask(&mut self, exchange: &Exchange) -> Result<(Value, Option<Value>)> {
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

impl Exchange {
    /// What is not as it must be in the answers of one server.
    pub fn missing(&self, (answer, end): &(Value, Option<Value>)) -> Option<String> {
        missing(&self.answer, answer).or_else(|| {
            let wanted = self.end.as_ref()?;
            missing(wanted, end.as_ref().unwrap_or(&Value::Null)).map(|at| format!("end.{at}"))
        })
    }

    /// Where the answers of two servers differ.
    pub fn differences(
        &self,
        (one, one_end): &(Value, Option<Value>),
        (other, other_end): &(Value, Option<Value>),
    ) -> Vec<String> {
        let mut found = Vec::new();
        self.compare("", one, other, &mut found);
        let ends = [one_end, other_end].map(|end| end.as_ref().unwrap_or(&Value::Null));
        self.compare("end", ends[0], ends[1], &mut found);
        found
    }

    fn compare(&self, at: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
        match (one, other) {
            (Value::Object(one), Value::Object(other)) => {
                let keys: std::collections::BTreeSet<&String> =
                    one.keys().chain(other.keys()).collect();
                for key in keys.into_iter().filter(|key| !self.apart.contains(key)) {
                    let at = format!("{at}.{key}");
                    match (one.get(key), other.get(key)) {
                        (Some(one), Some(other)) if VARYING.contains(&key.as_str()) => {
                            if kind(one) != kind(other) {
                                found.push(format!("{at} is {one} and {other}"));
                            }
                        }
                        (Some(one), Some(other)) => self.compare(&at, one, other, found),
                        (one, _) => {
                            let side = if one.is_some() { "first" } else { "second" };
                            found.push(format!("{at} is there of the {side} alone"));
                        }
                    }
                }
            }
            (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
                let (mut one, mut other) = (one.clone(), other.clone());
                // Incus lists where a pool is in any order.
                if at.ends_with(".locations") {
                    for list in [&mut one, &mut other] {
                        list.sort_by_key(Value::to_string);
                    }
                }
                for (index, (one, other)) in one.iter().zip(&other).enumerate() {
                    self.compare(&format!("{at}.{index}"), one, other, found);
                }
            }
            _ if one == other => {}
            _ => found.push(format!("{at} is {one} and {other}")),
        }
    }
}

/// Where the first thing is that is wanted and not given.
fn missing(wanted: &Value, given: &Value) -> Option<String> {
    let below = |name: String, found: Option<String>| found.map(|path| format!("{name}.{path}"));
    match (wanted, given) {
        (Value::Object(wanted), Value::Object(given)) => wanted.iter().find_map(|(key, value)| {
            let given = given.get(key).unwrap_or(&Value::Null);
            below(key.clone(), missing(value, given))
        }),
        (Value::Array(wanted), Value::Array(given)) if wanted.len() == given.len() => {
            let mut pairs = wanted.iter().zip(given).enumerate();
            pairs.find_map(|(index, (wanted, given))| {
                below(index.to_string(), missing(wanted, given))
            })
        }
        _ if wanted == given => None,
        _ => Some(format!("is {given}, not {wanted}")),
    }
}

/// What sort of value it is.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a truth",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(apart: &[&str]) -> Exchange {
        let apart: Vec<String> = apart.iter().map(|key| (*key).to_owned()).collect();
        let text = json!({
            "about": "", "request": "", "answer": { "a": { "b": 1 }, "list": [1, 2] }, "apart": apart,
        });
        serde_json::from_value(text).expect("an exchange")
    }

    #[test]
    fn what_must_be_there_is_looked_for_at_every_depth() {
        let answer = |document: Value| (document, None);
        let exchange = exchange(&[]);
        let good = json!({ "a": { "b": 1, "c": 3 }, "list": [1, 2], "more": true });
        assert_eq!(exchange.missing(&answer(good)), None);
        for (document, at) in [
            (
                json!({ "a": { "b": 2 }, "list": [1, 2] }),
                "a.b.is 2, not 1",
            ),
            (json!({ "a": {}, "list": [1, 2] }), "a.b.is null, not 1"),
            (
                json!({ "a": { "b": 1 }, "list": [1] }),
                "list.is [1], not [1,2]",
            ),
            (
                json!({ "a": { "b": 1 }, "list": [1, 3] }),
                "list.1.is 3, not 2",
            ),
        ] {
            assert_eq!(exchange.missing(&answer(document)).as_deref(), Some(at));
        }
    }

    #[test]
    fn two_answers_differ_in_keys_and_values_but_for_what_varies() {
        let one = json!({ "url": "x", "pid": 7, "status": "Running", "locations": ["m2", "m1"], "own": 1 });
        let differences = |other: Value, apart: &[&str]| {
            exchange(apart).differences(&(one.clone(), None), &(other, None))
        };
        let mut other = json!({ "url": "y", "pid": 9, "status": "Running", "locations": ["m1", "m2"], "own": 1 });
        assert_eq!(differences(other.clone(), &[]), [""; 0]);
        other["pid"] = json!("9");
        assert_eq!(differences(other.clone(), &[]), [".pid is 7 and \"9\""]);
        other["pid"] = json!(9);
        other["own"] = json!(2);
        assert_eq!(differences(other.clone(), &[]), [".own is 1 and 2"]);
        assert_eq!(differences(other.clone(), &["own"]), [""; 0]);
        other["new"] = json!(null);
        assert_eq!(
            differences(other, &["own"]),
            [".new is there of the second alone"]
        );
    }
}
