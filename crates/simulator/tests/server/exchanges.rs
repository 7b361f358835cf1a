//! `exchanges.json`, sent to the server: what a real Incus answers, field by field.
//!
//! An exchange names what must be in the answer; of maps the rest is free. `{v1}` stands for the fingerprint of the image
//! `app/v1`, and `{operation}` for the operation that was begun last. What is the same in a real Incus, and what only has
//! to be of the same kind, is judged by the acceptance suite, which has both.

use serde::Deserialize;
use serde_json::{Value, json};
use simulator::server::Options;

use crate::asking::{Answered, Served, serve};

#[derive(Deserialize)]
struct Exchange {
    about: String,
    request: String,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
    body: Option<Value>,
    content: Option<String>,
    answer: Value,
    end: Option<Value>,
}

#[test]
fn it_answers_as_incus_does() {
    let served = serve(&Options::default());
    let v1 = served.image("app/v1", &[("description", "app v1")], "rootfs/");
    let exchanges = include_str!("../../exchanges.json").replace("{v1}", &v1);
    let exchanges: Vec<Exchange> = serde_json::from_str(&exchanges).expect("exchanges");
    let mut operation = String::new();
    let mut wrong = Vec::new();
    for exchange in &exchanges {
        let fill = |text: &str| text.replace("{operation}", &operation);
        let request = fill(&exchange.request);
        let answer = send(&served, exchange, &request);
        let document = document(&answer);
        let end = exchange.end.as_ref().map(|end| {
            let ended = served.end_of(&answer);
            (end, ended)
        });
        if let Some(begun) = document["operation"]
            .as_str()
            .filter(|text| !text.is_empty())
        {
            let begun = begun.trim_start_matches("/1.0/operations/");
            operation = begun.split('?').next().unwrap_or(begun).to_owned();
        }
        let mut judge = |wanted: &Value, given: &Value| {
            let wanted = wanted.to_string().replace("{operation}", &operation);
            let wanted: Value = serde_json::from_str(&wanted).expect("still JSON");
            if let Some(path) = difference(&wanted, given) {
                wrong.push(format!("{} {request}\n  {path}\n  {given}", exchange.about));
            }
        };
        judge(&exchange.answer, &document);
        if let Some((wanted, mut given)) = end {
            given["status"] = json!(200);
            judge(wanted, &given);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn send(served: &Served, exchange: &Exchange, request: &str) -> Answered {
    match (&exchange.body, &exchange.content) {
        (Some(body), _) => served.json(request, body),
        (None, content) => {
            let headers: Vec<_> = exchange.headers.clone().into_iter().collect();
            let content = content.clone().unwrap_or_default();
            served.ask(request, &headers, content.as_bytes())
        }
    }
}

/// The answer as a document: the envelope with the HTTP status, the address of what was made, and the headers; or else
/// what came without an envelope.
fn document(answer: &Answered) -> Value {
    let mut document = match serde_json::from_str::<Value>(&answer.content) {
        Ok(envelope) if envelope.is_object() => envelope,
        _ => json!({ "content": answer.content }),
    };
    document["status"] = json!(answer.status);
    if answer.status == 201 {
        document["location"] = json!(answer.header("location"));
    }
    for name in ["x-incus-type", "x-incus-mode", "x-incus-uid"] {
        document["headers"][name] = json!(answer.header(name));
    }
    document
}

/// Where the first thing is that is wanted and not given.
fn difference(wanted: &Value, given: &Value) -> Option<String> {
    let below = |name: String, found: Option<String>| found.map(|path| format!("{name}.{path}"));
    match (wanted, given) {
        (Value::Object(wanted), Value::Object(given)) => wanted.iter().find_map(|(key, value)| {
            let given = given.get(key).unwrap_or(&Value::Null);
            below(key.clone(), difference(value, given))
        }),
        (Value::Array(wanted), Value::Array(given)) if wanted.len() == given.len() => {
            let mut pairs = wanted.iter().zip(given).enumerate();
            pairs.find_map(|(index, (wanted, given))| {
                below(index.to_string(), difference(wanted, given))
            })
        }
        _ if wanted == given => None,
        _ => Some(format!("is {given}, not {wanted}")),
    }
}
