//! Judging answers: what must be there, and where two of them differ.
//!
//! Before: `alike.rs` has them, with what is each server's own taken out. Nothing is asked here.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Answers, Exchange};

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

impl Exchange {
    /// What is not as it must be in the answers of one server.
    pub fn missing(&self, (answer, end): &Answers) -> Option<String> {
        missing(&self.answer, answer).or_else(|| {
            let wanted = self.end.as_ref()?;
            missing(wanted, end.as_ref().unwrap_or(&Value::Null)).map(|at| format!("end.{at}"))
        })
    }

    /// Where the answers of two servers differ.
    pub fn differences(
        &self,
        (one, one_end): &Answers,
        (other, other_end): &Answers,
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
                let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
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
    use serde_json::json;

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
