//! Whether a schema is sound: what the host would refuse, and what it would accept and let fail in users' hands.
//!
//! A provider's tests call it for everything it registers; nothing of it runs in production.

use crate::{Attribute, Diagnostic, Kind, Nesting, Path, Replace, Schema, Type, Value};

/// Names with a meaning of their own in every resource block.
const RESERVED: [&str; 7] = [
    "connection",
    "count",
    "depends_on",
    "for_each",
    "lifecycle",
    "provider",
    "provisioner",
];

impl Schema {
    /// Every fault of the schema, each at its attribute; empty when it is sound.
    pub fn check(&self) -> Vec<Diagnostic> {
        let mut faults = Vec::new();
        if self.description.is_empty() {
            faults.push(Diagnostic::error("The schema has no description"));
        }
        if self.version < 0 {
            faults.push(Diagnostic::error("The schema's version is negative"));
        }
        for name in RESERVED
            .iter()
            .filter(|name| self.attribute(name).is_some())
        {
            faults.push(Diagnostic::error(format!("The name {name} is reserved")).at(*name));
        }
        check_attributes(
            &self.attributes,
            &Path::root(),
            &Surroundings::default(),
            &mut faults,
        );
        faults
    }
}

/// What the attributes around one impose on it.
#[derive(Clone, Default)]
struct Surroundings {
    in_set: bool,
    /// The nested attribute around is given by the provider alone.
    computed: bool,
    /// The attribute around is write-only.
    write_only: bool,
}

fn check_attributes(
    attributes: &[Attribute],
    path: &Path,
    around: &Surroundings,
    faults: &mut Vec<Diagnostic>,
) {
    let mut names: Vec<&str> = attributes
        .iter()
        .map(|attribute| attribute.name.as_str())
        .collect();
    names.sort_unstable();
    for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
        faults.push(
            Diagnostic::error("Two attributes have the same name").at(path.clone().attr(pair[0])),
        );
    }
    for attribute in attributes {
        let path = path.clone().attr(&attribute.name);
        for fault in faults_of(attribute, around) {
            faults.push(Diagnostic::error(fault).at(path.clone()));
        }
        if let Kind::Nested(nesting, nested) = &attribute.kind {
            let around = Surroundings {
                in_set: around.in_set || *nesting == Nesting::Set,
                computed: around.computed || (attribute.computed && !attribute.optional),
                write_only: around.write_only || attribute.write_only,
            };
            check_attributes(nested, &path, &around, faults);
        }
    }
}

/// The table of rules: what must not be, and how it is said.
fn faults_of(attribute: &Attribute, around: &Surroundings) -> Vec<&'static str> {
    let Attribute {
        required,
        optional,
        computed,
        write_only,
        ..
    } = *attribute;
    let replaces = attribute.replace != Replace::Never;
    let nested = matches!(attribute.kind, Kind::Nested(..));
    let rules = [
        (
            !is_name(&attribute.name),
            "The name is not made of a-z, 0-9 and _, beginning with a letter or _",
        ),
        (
            !(required || optional || computed),
            "It is none of required, optional and computed",
        ),
        (required && optional, "It is both required and optional"),
        (required && computed, "It is both required and computed"),
        (
            around.computed && !computed,
            "It stands in what the provider alone gives and is not computed",
        ),
        (
            around.computed && (required || optional),
            "It stands in what the provider alone gives and can be configured",
        ),
        (write_only && computed, "It is both write-only and computed"),
        (
            around.write_only && !write_only,
            "It stands in a write-only attribute and is not write-only",
        ),
        (
            write_only && replaces,
            "It is write-only and replaces: every update would replace",
        ),
        (
            around.in_set && computed && !around.computed,
            "It stands in a set and is computed: elements of sets have no names to keep it by",
        ),
        (
            around.in_set && write_only,
            "It stands in a set and is write-only",
        ),
        (
            around.in_set && attribute.same_meaning.is_some(),
            "It stands in a set and keeps a spelling",
        ),
        (
            around.in_set && replaces,
            "It stands in a set and replaces: put the replacement at the set",
        ),
        (
            around.in_set && contains_dynamic(&attribute.value_type()),
            "It stands in a set and is dynamic",
        ),
        (
            attribute.keep_prior && !computed,
            "It keeps its prior value and is not computed",
        ),
        (
            attribute.default.is_some() && !(optional && computed),
            "It has a default and is not optional and computed",
        ),
        (
            attribute.default.is_some() && attribute.keep_prior,
            "It has a default and keeps its prior value",
        ),
        (
            attribute
                .default
                .as_ref()
                .is_some_and(|default| !fits(default, attribute)),
            "Its default is of another type",
        ),
        (
            nested && attribute.same_meaning.is_some(),
            "It has attributes of its own: their spelling is kept, not its",
        ),
        (attribute.description.is_empty(), "It has no description"),
    ];
    rules
        .into_iter()
        .filter(|(broken, _)| *broken)
        .map(|(_, fault)| fault)
        .collect()
}

fn fits(default: &Value, attribute: &Attribute) -> bool {
    !default.is_null()
        && default.is_wholly_known()
        && default.clone().conform(&attribute.value_type()).is_ok()
}

pub(crate) fn is_name(name: &str) -> bool {
    let part_of_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    !name.is_empty()
        && name.bytes().all(part_of_name)
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

fn contains_dynamic(of: &Type) -> bool {
    match of {
        Type::Dynamic => true,
        Type::Bool | Type::Number | Type::String => false,
        Type::List(element) | Type::Set(element) | Type::Map(element) => contains_dynamic(element),
        Type::Object(attributes) => attributes.values().any(contains_dynamic),
        Type::Tuple(elements) => elements.iter().any(contains_dynamic),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The faults of a schema with this one attribute, without those about descriptions.
    fn faults(attribute: Attribute) -> Vec<String> {
        let schema = Schema::new(0, "A schema.").attributes([attribute]);
        let said =
            |fault: Diagnostic| format!("{}: {}", fault.path.unwrap_or_default(), fault.summary);
        schema
            .check()
            .into_iter()
            .map(said)
            .filter(|fault| !fault.ends_with("no description"))
            .collect()
    }

    #[test]
    fn a_sound_attribute_has_no_faults() {
        let nested = [
            Attribute::string("alias").optional(),
            Attribute::string("digest").computed().keep_prior(),
        ];
        assert_eq!(
            faults(Attribute::single("image", nested).required()),
            Vec::<String>::new()
        );
        assert_eq!(
            faults(Attribute::string("kind").optional_computed().default("lan")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_set_may_be_the_providers_alone() {
        let set = Attribute::nested_set("seals", [Attribute::string("maker").computed()]);
        assert_eq!(faults(set.clone().computed()), Vec::<String>::new());
        assert!(!faults(set.optional()).is_empty());
    }

    #[test]
    fn each_fault_is_named_at_its_attribute() {
        for (attribute, fault) in [
            (
                Attribute::string("Name").required(),
                "Name: The name is not",
            ),
            (Attribute::string("9a").required(), "9a: The name is not"),
            (
                Attribute::string("count").required(),
                "count: The name count is reserved",
            ),
            (Attribute::string("a"), "a: It is none of"),
            (
                Attribute::string("a").required().optional(),
                "a: It is both required and optional",
            ),
            (
                Attribute::string("a").required().computed(),
                "a: It is both required and computed",
            ),
            (
                Attribute::string("a").optional().write_only().replace(),
                "a: It is write-only and replaces",
            ),
            (
                Attribute::string("a").optional().keep_prior(),
                "a: It keeps its prior value",
            ),
            (
                Attribute::string("a").optional().default("x"),
                "a: It has a default",
            ),
            (
                Attribute::string("a").optional_computed().default(1i64),
                "a: Its default is of another type",
            ),
            (
                Attribute::single("a", [Attribute::string("b").optional()]).computed(),
                "a.b: It stands in what",
            ),
            (
                Attribute::nested_set("a", [Attribute::string("b").computed()]).optional(),
                "a.b: It stands in a set",
            ),
            (
                Attribute::single("a", [Attribute::string("B").optional()]).optional(),
                "a.B: The name is not",
            ),
        ] {
            let faults = faults(attribute);
            assert!(
                faults.first().is_some_and(|first| first.starts_with(fault)),
                "{fault}: {faults:?}"
            );
        }
        let twice = [
            Attribute::string("a").required(),
            Attribute::bool("a").required(),
        ];
        assert!(
            !Schema::new(0, "A schema.")
                .attributes(twice)
                .check()
                .is_empty()
        );
    }
}
