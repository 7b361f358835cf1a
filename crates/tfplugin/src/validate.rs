//! What the schema's own validators say about a configuration, each at the place of the value it judged.
//!
//! The host has checked types and required attributes before; `Resource::validate` comes after. Unknown values are
//! passed over, they are judged again when they are known.

use crate::{Attribute, Diagnostic, Diagnostics, Kind, Path, Schema, Value};

/// Judges a configuration.
pub(crate) fn validate(schema: &Schema, config: &Value) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    judge_attributes(&schema.attributes, config, &Path::root(), &mut diagnostics);
    diagnostics
}

/// Refuses write-only values of a host that does not know them: it would store what it takes for ordinary ones.
pub(crate) fn refuse_write_only(schema: &Schema, config: &Value, diagnostics: &mut Diagnostics) {
    for path in write_only_paths(&schema.attributes, config) {
        let error = Diagnostic::error(format!("The write-only attribute {path} is not supported"));
        let detail = "This version of OpenTofu or Terraform would store its value. Use OpenTofu 1.11 or Terraform 1.11 or later, or leave it out.";
        diagnostics.push(error.detail(detail).at(path));
    }
}

/// The attributes, by their paths, that are write-only and have a value. Elements of sets cannot be write-only.
pub(crate) fn write_only_paths(attributes: &[Attribute], config: &Value) -> Vec<Path> {
    let mut found = Vec::new();
    visit_objects(
        attributes,
        config,
        &Path::root(),
        &mut |attribute, value, path| {
            if attribute.write_only && !value.is_null() {
                found.push(path.clone());
            }
        },
    );
    found
}

/// Calls back for every attribute of every object that has a path.
fn visit_objects(
    attributes: &[Attribute],
    object: &Value,
    path: &Path,
    visit: &mut impl FnMut(&Attribute, &Value, &Path),
) {
    for attribute in attributes {
        let (value, path) = (
            object.attr(&attribute.name),
            path.clone().attr(&attribute.name),
        );
        visit(attribute, value, &path);
        let Kind::Nested(_, nested) = &attribute.kind else {
            continue;
        };
        match value {
            Value::Object(_) => visit_objects(nested, value, &path, visit),
            Value::Map(elements) => elements.iter().for_each(|(key, element)| {
                visit_objects(nested, element, &path.clone().key(key), visit);
            }),
            Value::List(elements) => elements.iter().enumerate().for_each(|(index, element)| {
                visit_objects(nested, element, &path.clone().index(index as i64), visit);
            }),
            _ => {}
        }
    }
}

fn judge_attributes(
    attributes: &[Attribute],
    config: &Value,
    path: &Path,
    diagnostics: &mut Diagnostics,
) {
    for attribute in attributes {
        let value = config.attr(&attribute.name);
        if value.is_null() || value.is_unknown() {
            continue;
        }
        let path = path.clone().attr(&attribute.name);
        if let Some(Err(diagnostic)) = attribute.validator.map(|judge| judge(value)) {
            diagnostics.push(diagnostic.at(path.clone()));
        }
        if let Kind::Nested(_, nested) = &attribute.kind {
            judge_nested(nested, value, &path, diagnostics);
        }
    }
}

fn judge_nested(nested: &[Attribute], value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    match value {
        Value::Object(_) => judge_attributes(nested, value, path, diagnostics),
        Value::Map(elements) => {
            for (key, element) in elements {
                judge_attributes(nested, element, &path.clone().key(key), diagnostics);
            }
        }
        Value::List(elements) => {
            for (index, element) in elements.iter().enumerate() {
                judge_attributes(
                    nested,
                    element,
                    &path.clone().index(index as i64),
                    diagnostics,
                );
            }
        }
        Value::Set(elements) => {
            // Elements of sets have no paths, so what is found in one is said of the set.
            let mut found = Diagnostics::new();
            for element in elements {
                judge_attributes(nested, element, &Path::root(), &mut found);
            }
            diagnostics.extend(
                found
                    .into_iter()
                    .map(|diagnostic| diagnostic.at(path.clone())),
            );
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Type, timeouts_attribute, validate_duration};

    #[test]
    fn every_known_value_is_judged_at_its_place() {
        let check = |name: &str| {
            Attribute::string(name)
                .optional()
                .validate(validate_duration)
        };
        let schema = Schema::new(0, "A schema.").attributes([
            timeouts_attribute(&["create", "delete"]),
            Attribute::nested_map("checks", [check("every")]).optional(),
            Attribute::nested_list("steps", [check("after")]).optional(),
            Attribute::nested_set("rules", [check("for")]).optional(),
            Attribute::map("labels", Type::String).optional(),
        ]);
        let config = Value::object([
            (
                "timeouts",
                Value::object([("create", "soon".into()), ("delete", "5m".into())]),
            ),
            (
                "checks",
                Value::Map([("a b".to_owned(), Value::object([("every", "1d".into())]))].into()),
            ),
            (
                "steps",
                vec![Value::Null, Value::object([("after", "x".into())])].into(),
            ),
            (
                "rules",
                Value::Set(vec![Value::object([("for", "y".into())]), Value::Unknown]),
            ),
            ("labels", Value::Unknown),
        ]);
        let said = validate(&schema, &config);
        let places: Vec<String> = said
            .iter()
            .filter_map(|one| one.path.as_ref().map(Path::to_string))
            .collect();
        assert_eq!(
            places,
            [
                "timeouts.create",
                r#"checks["a b"].every"#,
                "steps[1].after",
                "rules"
            ]
        );
        assert!(said.has_errors());
    }
}
