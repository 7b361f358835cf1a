//! What a block of configuration may hold: the only description of an attribute there is.
//!
//! The wire schema (`wire/schema.rs`), the plan's rules (`plan.rs`), validation (`validate.rs`) and the documentation
//! pages of a provider are all derived from it, so everything can be read back. Nested attributes stand for structure;
//! the protocol's older nested blocks are deliberately not here. Whether a schema is sound is `schema_check.rs`'s.

use std::collections::BTreeMap;

use crate::{Diagnostic, Type, Value};

/// The attributes of a provider, a resource or a data source.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The version under which states are stored. It rises when a stored state changes its shape.
    pub version: i64,
    /// What it is, in Markdown.
    pub description: String,
    /// What to use instead; a schema with this text is deprecated.
    pub deprecation: Option<String>,
    /// In the order of the documentation.
    pub attributes: Vec<Attribute>,
}

impl Schema {
    /// A schema without attributes.
    pub fn new(version: i64, description: impl Into<String>) -> Schema {
        Schema {
            version,
            description: description.into(),
            deprecation: None,
            attributes: Vec::new(),
        }
    }

    /// The whole kind should not be used any more, and what should be.
    pub fn deprecated(mut self, instead: impl Into<String>) -> Schema {
        self.deprecation = Some(instead.into());
        self
    }

    /// Adds attributes.
    pub fn attributes(mut self, attributes: impl IntoIterator<Item = Attribute>) -> Schema {
        self.attributes.extend(attributes);
        self
    }

    /// The type of a whole configuration or state.
    pub fn object_type(&self) -> Type {
        object_type(&self.attributes)
    }

    /// An attribute at the top.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes
            .iter()
            .find(|attribute| attribute.name == name)
    }
}

/// How nested attributes repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// One object.
    Single,
    /// A list of objects. Its elements are told apart by position.
    List,
    /// A set of objects. Nothing in it can be computed or write-only, since its elements have no names.
    Set,
    /// A map of objects.
    Map,
}

/// What an attribute holds.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A value of a type.
    Plain(Type),
    /// Attributes of its own.
    Nested(Nesting, Vec<Attribute>),
}

/// Whether a change of the attribute replaces the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// A change is an update.
    Never,
    /// A change replaces the object.
    Always,
    /// A change replaces the object when the attribute had a value before.
    FromKnown,
}

/// Says whether two known values mean the same, such as `10GiB` and `10 GiB`.
pub type SameMeaning = fn(&Value, &Value) -> bool;

/// Judges a known value. The diagnostic gets the attribute's path.
pub type Validator = fn(&Value) -> Result<(), Diagnostic>;

/// One attribute. It is built from its kind outwards:
///
/// ```
/// use tfplugin::{Attribute, Type};
/// let name = Attribute::string("name").required().replace().describe("What it is called.");
/// let labels = Attribute::map("labels", Type::String).optional();
/// ```
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its name in the configuration.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// What it means, in Markdown.
    pub description: String,
    /// What to use instead; an attribute with this text is deprecated.
    pub deprecation: Option<String>,
    /// The configuration has to give it.
    pub required: bool,
    /// The configuration may give it.
    pub optional: bool,
    /// The provider gives it when the configuration does not.
    pub computed: bool,
    /// Never shown to users.
    pub sensitive: bool,
    /// Never stored: only a configuration holds it.
    pub write_only: bool,
    /// Whether a change replaces the object.
    pub replace: Replace,
    /// A computed attribute that keeps its value while others change.
    pub keep_prior: bool,
    /// What the plan holds when the configuration holds nothing.
    pub default: Option<Value>,
    /// When a new spelling of the old meaning keeps the old spelling.
    pub same_meaning: Option<SameMeaning>,
    /// What is checked when the configuration is validated.
    pub validator: Option<Validator>,
}

/// What kinds of attributes there are.
impl Attribute {
    /// An attribute of any type.
    pub fn of(name: impl Into<String>, of: Type) -> Attribute {
        Attribute::new(name.into(), Kind::Plain(of))
    }

    /// A text.
    pub fn string(name: impl Into<String>) -> Attribute {
        Attribute::of(name, Type::String)
    }

    /// A truth.
    pub fn bool(name: impl Into<String>) -> Attribute {
        Attribute::of(name, Type::Bool)
    }

    /// A number.
    pub fn number(name: impl Into<String>) -> Attribute {
        Attribute::of(name, Type::Number)
    }

    /// A list of such elements.
    pub fn list(name: impl Into<String>, element: Type) -> Attribute {
        Attribute::of(name, Type::list(element))
    }

    /// A set of such elements.
    pub fn set(name: impl Into<String>, element: Type) -> Attribute {
        Attribute::of(name, Type::set(element))
    }

    /// A map of such elements.
    pub fn map(name: impl Into<String>, element: Type) -> Attribute {
        Attribute::of(name, Type::map(element))
    }

    /// One object with attributes of its own.
    pub fn single(
        name: impl Into<String>,
        attributes: impl IntoIterator<Item = Attribute>,
    ) -> Attribute {
        Attribute::nested(name.into(), Nesting::Single, attributes)
    }

    /// A map of objects with attributes of their own.
    pub fn nested_map(
        name: impl Into<String>,
        attributes: impl IntoIterator<Item = Attribute>,
    ) -> Attribute {
        Attribute::nested(name.into(), Nesting::Map, attributes)
    }

    /// A list of objects with attributes of their own.
    pub fn nested_list(
        name: impl Into<String>,
        attributes: impl IntoIterator<Item = Attribute>,
    ) -> Attribute {
        Attribute::nested(name.into(), Nesting::List, attributes)
    }

    /// A set of objects with attributes of their own.
    pub fn nested_set(
        name: impl Into<String>,
        attributes: impl IntoIterator<Item = Attribute>,
    ) -> Attribute {
        Attribute::nested(name.into(), Nesting::Set, attributes)
    }

    fn nested(
        name: String,
        nesting: Nesting,
        attributes: impl IntoIterator<Item = Attribute>,
    ) -> Attribute {
        Attribute::new(
            name,
            Kind::Nested(nesting, attributes.into_iter().collect()),
        )
    }

    fn new(name: String, kind: Kind) -> Attribute {
        Attribute {
            name,
            kind,
            description: String::new(),
            deprecation: None,
            required: false,
            optional: false,
            computed: false,
            sensitive: false,
            write_only: false,
            replace: Replace::Never,
            keep_prior: false,
            default: None,
            same_meaning: None,
            validator: None,
        }
    }

    /// The type of its value.
    pub fn value_type(&self) -> Type {
        match &self.kind {
            Kind::Plain(of) => of.clone(),
            Kind::Nested(nesting, attributes) => {
                let object = object_type(attributes);
                match nesting {
                    Nesting::Single => object,
                    Nesting::List => Type::list(object),
                    Nesting::Set => Type::set(object),
                    Nesting::Map => Type::map(object),
                }
            }
        }
    }

    /// Its own attributes, when it is a nested one.
    pub fn nested_attributes(&self) -> Option<(Nesting, &[Attribute])> {
        match &self.kind {
            Kind::Plain(_) => None,
            Kind::Nested(nesting, attributes) => Some((*nesting, attributes)),
        }
    }
}

/// What an attribute is like.
impl Attribute {
    /// The configuration has to give it.
    pub fn required(mut self) -> Attribute {
        self.required = true;
        self
    }

    /// The configuration may give it.
    pub fn optional(mut self) -> Attribute {
        self.optional = true;
        self
    }

    /// Only the provider gives it.
    pub fn computed(mut self) -> Attribute {
        self.computed = true;
        self
    }

    /// The configuration may give it, else the provider does.
    pub fn optional_computed(self) -> Attribute {
        self.optional().computed()
    }

    /// It is never shown to users.
    pub fn sensitive(mut self) -> Attribute {
        self.sensitive = true;
        self
    }

    /// It is never stored; create and update find it in their `config`.
    pub fn write_only(mut self) -> Attribute {
        self.write_only = true;
        self
    }

    /// A change replaces the object.
    pub fn replace(mut self) -> Attribute {
        self.replace = Replace::Always;
        self
    }

    /// A change replaces the object when the attribute had a value before.
    pub fn replace_from_known(mut self) -> Attribute {
        self.replace = Replace::FromKnown;
        self
    }

    /// A computed attribute that keeps its value, once it has one, while others change.
    pub fn keep_prior(mut self) -> Attribute {
        self.keep_prior = true;
        self
    }

    /// What the plan holds when the configuration holds nothing. The host accepts it from computed attributes only.
    pub fn default(mut self, value: impl Into<Value>) -> Attribute {
        self.default = Some(value.into());
        self
    }

    /// A new value that means the same as the prior one is no change: the prior spelling stays.
    pub fn same_meaning(mut self, same_meaning: SameMeaning) -> Attribute {
        self.same_meaning = Some(same_meaning);
        self
    }

    /// Judges each known value that the configuration gives.
    pub fn validate(mut self, validator: Validator) -> Attribute {
        self.validator = Some(validator);
        self
    }

    /// What it means, in Markdown.
    pub fn describe(mut self, description: impl Into<String>) -> Attribute {
        self.description = description.into();
        self
    }

    /// It should not be used any more, and what should be.
    pub fn deprecated(mut self, instead: impl Into<String>) -> Attribute {
        self.deprecation = Some(instead.into());
        self
    }
}

fn object_type(attributes: &[Attribute]) -> Type {
    let attributes: BTreeMap<_, _> = attributes
        .iter()
        .map(|attribute| (attribute.name.clone(), attribute.value_type()))
        .collect();
    Type::Object(attributes)
}
