//! Compares a value with the fields that may stand there. Faults name the place as `console[0].device`, never a value.

use super::fields::{Field, File, Kind};
use crate::certificate;
use crate::seed::json::Json;
use crate::seed::release::Release;
use crate::seed::secret;

/// What is the same everywhere on the way through one file.
struct Walk<'a> {
    release: Release,
    faults: &'a mut Vec<String>,
}

/// The file in its own order, with the version that every seed file has.
pub(super) fn walk(file: &File, json: Json, release: Release, faults: &mut Vec<String>) -> Json {
    let mut walk = Walk { release, faults };
    let mut fields = match json {
        Json::Object(fields) => fields,
        _ => Vec::new(),
    };
    fields.retain(|(name, value)| {
        if name == "version" && *value != Json::Text("1".to_owned()) {
            walk.faults.push(
                "version is not the string \"1\", which is the only one there is. Remove it, it is written by itself."
                    .to_owned(),
            );
        }
        name != "version"
    });
    let mut all = vec![("version".to_owned(), Json::Text("1".to_owned()))];
    all.extend(walk.object(file.fields, fields, ""));
    Json::Object(all)
}

impl Walk<'_> {
    /// One value; nothing where it is null, which means the same as leaving it out.
    fn value(&mut self, kind: &Kind, value: Json, at: &str) -> Option<Json> {
        match (kind, value) {
            (_, Json::Null) => None,
            (Kind::Text, Json::Text(text)) => {
                if secret::is_private_key(&text) {
                    self.fault(at, "holds a private key, and none is expected in this field (it is not repeated here)");
                }
                Some(Json::Text(text))
            }
            (Kind::Key, Json::Text(text)) => Some(Json::Text(text)),
            (Kind::Certificate, Json::Text(text)) => {
                if let Err(error) = certificate::all(&text) {
                    self.fault(
                        at,
                        &format!("{error}, and certificates in PEM form were expected"),
                    );
                }
                Some(Json::Text(text))
            }
            (Kind::OneOf(words), Json::Text(text)) => {
                if !words.contains(&text.as_str()) {
                    let seen = secret::quoted(&text);
                    self.fault(
                        at,
                        &format!("is {seen}, and one of {} was expected", words.join(", ")),
                    );
                }
                Some(Json::Text(text))
            }
            (Kind::Flag, value @ Json::Flag(_)) => Some(value),
            (Kind::Whole, Json::Whole(number)) => {
                if number < 0 {
                    self.fault(at, "is less than 0. Expected 0 or more");
                }
                Some(Json::Whole(number))
            }
            (Kind::Port, Json::Whole(number)) => {
                if !(1..=65535).contains(&number) {
                    self.fault(at, "is not a port. Expected 1 to 65535");
                }
                Some(Json::Whole(number))
            }
            (Kind::List(kind), Json::List(items)) => Some(self.list(kind, items, at)),
            (Kind::Object(fields), Json::Object(given)) => {
                Some(Json::Object(self.object(fields, given, at)))
            }
            (kind, value) => {
                let seen = value.kind();
                self.fault(at, &format!("is {seen}, and {} was expected", kind.name()));
                None
            }
        }
    }

    fn list(&mut self, kind: &Kind, items: Vec<Json>, at: &str) -> Json {
        let mut all = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            let at = format!("{at}[{index}]");
            if item == Json::Null {
                self.fault(&at, "is null. Remove the element");
            }
            all.extend(self.value(kind, item, &at));
        }
        Json::List(all)
    }

    fn object(
        &mut self,
        fields: &[Field],
        mut given: Vec<(String, Json)>,
        at: &str,
    ) -> Vec<(String, Json)> {
        self.names(fields, &given, at);
        let mut all = Vec::new();
        for field in fields {
            let at = below(at, field.name);
            let position = given.iter().position(|(name, _)| name == field.name);
            let value = position.map(|position| given.remove(position).1);
            // IncusOS takes an empty text, or none, as it is, and stumbles over it in front of the machine.
            let is_missing = match &value {
                None | Some(Json::Null) => true,
                Some(Json::Text(text)) => text.is_empty(),
                Some(_) => false,
            };
            if value.as_ref().is_some_and(|value| *value != Json::Null)
                && field.since > self.release
            {
                let (release, since) = (self.release, field.since);
                self.fault(
                    &at,
                    &format!("is a field that the release {release} does not know. Set incusos_release to {since} or later"),
                );
            }
            let value = value.and_then(|value| self.value(&field.kind, value, &at));
            all.extend(value.map(|value| (field.name.to_owned(), value)));
            if field.required && is_missing {
                self.fault(&at, "is missing. Set it");
            }
        }
        all
    }

    /// Names that are not known, stand twice, or are refused for a reason of their own.
    fn names(&mut self, fields: &[Field], given: &[(String, Json)], at: &str) {
        for (index, (name, _)) in given.iter().enumerate() {
            if given[..index].iter().any(|(before, _)| before == name) {
                self.fault(
                    &below(at, &shown(name)),
                    "stands there twice. Remove one of the two",
                );
            } else if name == "encryption_recovery_keys" {
                self.fault(
                    &below(at, name),
                    "is refused by IncusOS in a seed: it makes the recovery keys itself. Remove the field",
                );
            } else if let Some(field) = fields
                .iter()
                .find(|field| field.name != name && field.name.eq_ignore_ascii_case(name))
            {
                self.fault(
                    &below(at, &shown(name)),
                    &format!("is a misspelled name. Expected {:?}", field.name),
                );
            } else if !fields.iter().any(|field| field.name == name) {
                let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
                self.fault(
                    &below(at, &shown(name)),
                    &format!(
                        "is a field that IncusOS does not know there. Expected one of {}",
                        known.join(", ")
                    ),
                );
            }
        }
    }

    fn fault(&mut self, at: &str, what: &str) {
        self.faults.push(format!("{at} {what}."));
    }
}

fn below(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}

/// A name that somebody else chose, which may be anything.
fn shown(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    if name.chars().all(is_plain) && name.len() <= 40 && !name.is_empty() {
        name.to_owned()
    } else {
        format!("(a field whose name is {})", secret::quoted(name))
    }
}
