//! The attributes of a page: required, optional, read-only, and sections for what is nested.
//!
//! Before: `page.rs`. The headings and anchors are those that readers of registries know; the order is the schema's.

use std::fmt::Write as _;

use tfplugin::{Attribute, IdentityAttribute, IdentitySchema, Nesting, Replace, Type, Value};

/// The section with everything that a schema has.
pub(super) fn section(attributes: &[Attribute]) -> String {
    let mut text = format!("## Schema\n\n{}", spelling(attributes));
    groups(&mut text, attributes, "", |title| {
        format!("### {title}\n\n")
    });
    nested(&mut text, attributes, "");
    text
}

/// What OpenTofu does not tell: the names that a user gives inside of nested attributes are not checked by it.
fn spelling(attributes: &[Attribute]) -> String {
    let given = |attribute: &&Attribute| attribute.required || attribute.optional;
    let nested: Vec<String> = attributes
        .iter()
        .filter(|attribute| has_section(attribute))
        .filter(given)
        .map(|attribute| format!("`{}`", attribute.name))
        .collect();
    let Some((last, others)) = nested.split_last() else {
        return String::new();
    };
    let names = match others {
        [] => last.clone(),
        others => format!("{} and {last}", others.join(", ")),
    };
    let example = match nested.iter().any(|name| name == "`timeouts`") {
        true => ", as in `timeouts = { creat = \"1h\" }`",
        false => "",
    };
    format!(
        "**Mind the spelling** inside of {names}: OpenTofu drops names there that it does not know, without an error and \
         without a warning{example}.\n\n"
    )
}

/// What names an object for good.
pub(super) fn identity(schema: &IdentitySchema) -> String {
    let mut text = "### Identity\n\n".to_owned();
    for (title, required) in [("Required", true), ("Optional", false)] {
        let of_group = |attribute: &&IdentityAttribute| attribute.required_for_import == required;
        let lines: String = schema
            .attributes
            .iter()
            .filter(of_group)
            .map(|attribute| {
                let IdentityAttribute {
                    name,
                    of,
                    description,
                    ..
                } = attribute;
                format!("- `{name}` ({}) {description}\n", type_words(of))
            })
            .collect();
        if !lines.is_empty() {
            let _ = write!(text, "#### {title}\n\n{lines}\n");
        }
    }
    text
}

/// Lists of attributes by who gives them.
fn groups(
    text: &mut String,
    attributes: &[Attribute],
    under: &str,
    heading: impl Fn(&str) -> String,
) {
    type Belongs = fn(&Attribute) -> bool;
    let groups: [(&str, Belongs); 3] = [
        ("Required", |attribute| attribute.required),
        ("Optional", |attribute| attribute.optional),
        ("Read-Only", |attribute| {
            !attribute.required && !attribute.optional
        }),
    ];
    for (title, belongs) in groups {
        let lines: String = attributes
            .iter()
            .filter(|attribute| belongs(attribute))
            .map(|attribute| line(attribute, under))
            .collect();
        if !lines.is_empty() {
            let _ = writeln!(text, "{}{lines}", heading(title));
        }
    }
}

/// One attribute.
fn line(attribute: &Attribute, under: &str) -> String {
    let mut words = vec![kind_words(attribute)];
    let marks = [
        (attribute.sensitive, "Sensitive"),
        (attribute.write_only, "Write-only"),
        (attribute.deprecation.is_some(), "Deprecated"),
        (attribute.replace != Replace::Never, "Forces replacement"),
    ];
    words.extend(
        marks
            .iter()
            .filter(|(has, _)| *has)
            .map(|(_, mark)| (*mark).to_owned()),
    );
    let mut line = format!(
        "- `{}` ({}) {}",
        attribute.name,
        words.join(", "),
        attribute.description
    );
    if let Some(default) = &attribute.default {
        let _ = write!(line, " Defaults to `{}`.", literal(default));
    }
    if let Some(instead) = &attribute.deprecation {
        let _ = write!(line, " **Deprecated:** {instead}");
    }
    if has_section(attribute) {
        let anchor = anchor(&path(under, &attribute.name));
        let _ = write!(line, " (see [below for nested schema](#{anchor}))");
    }
    // Further paragraphs of a description stay in its list item.
    line.replace('\n', "\n  ").replace("\n  \n", "\n\n") + "\n"
}

/// The sections of nested attributes, each followed by those inside of it.
fn nested(text: &mut String, attributes: &[Attribute], under: &str) {
    for attribute in attributes.iter().filter(|attribute| has_section(attribute)) {
        let path = path(under, &attribute.name);
        let inner = attribute
            .nested_attributes()
            .map_or(&[][..], |(_, inner)| inner);
        let _ = write!(
            text,
            "<a id=\"{}\"></a>\n### Nested Schema for `{path}`\n\n",
            anchor(&path)
        );
        groups(text, inner, &path, |title| format!("{title}:\n\n"));
        nested(text, inner, &path);
    }
}

/// An object without attributes has nothing to show.
fn has_section(attribute: &Attribute) -> bool {
    attribute
        .nested_attributes()
        .is_some_and(|(_, inner)| !inner.is_empty())
}

fn path(under: &str, name: &str) -> String {
    match under.is_empty() {
        true => name.to_owned(),
        false => format!("{under}.{name}"),
    }
}

fn anchor(path: &str) -> String {
    format!("nestedatt--{}", path.replace('.', "--"))
}

fn kind_words(attribute: &Attribute) -> String {
    match attribute.nested_attributes() {
        None => type_words(&attribute.value_type()),
        Some((Nesting::Single, _)) => "Attributes".to_owned(),
        Some((Nesting::List, _)) => "Attributes List".to_owned(),
        Some((Nesting::Set, _)) => "Attributes Set".to_owned(),
        Some((Nesting::Map, _)) => "Attributes Map".to_owned(),
    }
}

/// A type as readers of registries know it.
pub(super) fn type_words(of: &Type) -> String {
    match of {
        Type::Bool => "Boolean".to_owned(),
        Type::Number => "Number".to_owned(),
        Type::String => "String".to_owned(),
        Type::Dynamic => "Dynamic".to_owned(),
        Type::List(element) => format!("List of {}", type_words(element)),
        Type::Set(element) => format!("Set of {}", type_words(element)),
        Type::Map(element) => format!("Map of {}", type_words(element)),
        Type::Object(_) | Type::Tuple(_) => format!("`{}`", constraint(of)),
    }
}

/// A type as it is written in a configuration.
pub(super) fn constraint(of: &Type) -> String {
    match of {
        Type::Bool => "bool".to_owned(),
        Type::Number => "number".to_owned(),
        Type::String => "string".to_owned(),
        Type::Dynamic => "any".to_owned(),
        Type::List(element) => format!("list({})", constraint(element)),
        Type::Set(element) => format!("set({})", constraint(element)),
        Type::Map(element) => format!("map({})", constraint(element)),
        Type::Object(attributes) => {
            let attribute = |(name, of): (&String, &Type)| format!("{name} = {}", constraint(of));
            let attributes: Vec<String> = attributes.iter().map(attribute).collect();
            format!("object({{ {} }})", attributes.join(", "))
        }
        Type::Tuple(elements) => {
            let elements: Vec<String> = elements.iter().map(constraint).collect();
            format!("tuple([{}])", elements.join(", "))
        }
    }
}

/// A default as it is written in a configuration.
fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{text}\""),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::List(elements) | Value::Set(elements) => {
            let elements: Vec<String> = elements.iter().map(literal).collect();
            format!("[{}]", elements.join(", "))
        }
        Value::Map(entries) | Value::Object(entries) => {
            let entry = |(name, value): (&String, &Value)| format!("{name} = {}", literal(value));
            let entries: Vec<String> = entries.iter().map(entry).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Dynamic(_, value) => literal(value),
        Value::Null | Value::Unknown => "null".to_owned(),
    }
}
