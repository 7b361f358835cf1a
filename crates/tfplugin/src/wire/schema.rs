//! Schemas on the wire. Defaults, validators and the plan's rules stay behind: the host learns only their effects.

use super::tfplugin6::Schema as WireSchema;
use super::tfplugin6::StringKind;
use super::tfplugin6::schema::object::NestingMode;
use super::tfplugin6::schema::{Attribute as WireAttribute, Block, Object};
use crate::{Attribute, Kind, Nesting, Schema};

/// Encodes a schema.
pub(crate) fn to_wire(schema: &Schema) -> WireSchema {
    WireSchema {
        version: schema.version,
        block: Some(Block {
            version: schema.version,
            attributes: schema.attributes.iter().map(attribute_to_wire).collect(),
            description: schema.description.clone(),
            description_kind: StringKind::Markdown.into(),
            deprecated: schema.deprecation.is_some(),
            deprecation_message: schema.deprecation.clone().unwrap_or_default(),
            ..Block::default()
        }),
    }
}

fn attribute_to_wire(attribute: &Attribute) -> WireAttribute {
    // A host refuses a provider with an attribute that has both kinds of type.
    let (of, nested) = match &attribute.kind {
        Kind::Plain(of) => (of.to_json().to_string().into_bytes(), None),
        Kind::Nested(nesting, attributes) => {
            (Vec::new(), Some(object_to_wire(*nesting, attributes)))
        }
    };
    WireAttribute {
        name: attribute.name.clone(),
        r#type: of,
        nested_type: nested,
        description: attribute.description.clone(),
        description_kind: StringKind::Markdown.into(),
        required: attribute.required,
        optional: attribute.optional,
        computed: attribute.computed,
        sensitive: attribute.sensitive,
        write_only: attribute.write_only,
        deprecated: attribute.deprecation.is_some(),
        deprecation_message: attribute.deprecation.clone().unwrap_or_default(),
    }
}

fn object_to_wire(nesting: Nesting, attributes: &[Attribute]) -> Object {
    let mode = match nesting {
        Nesting::Single => NestingMode::Single,
        Nesting::List => NestingMode::List,
        Nesting::Set => NestingMode::Set,
        Nesting::Map => NestingMode::Map,
    };
    Object {
        attributes: attributes.iter().map(attribute_to_wire).collect(),
        nesting: mode.into(),
        ..Object::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Type;

    #[test]
    fn an_attribute_has_a_type_or_attributes_of_its_own() {
        let schema = Schema::new(3, "A toy.").attributes([
            Attribute::map("labels", Type::String)
                .optional()
                .deprecated("Use tags."),
            Attribute::nested_map("disks", [Attribute::number("size").required().sensitive()])
                .optional(),
        ]);
        let wire = to_wire(&schema);
        let attributes = wire.block.map(|block| block.attributes).unwrap_or_default();
        assert_eq!(wire.version, 3);
        assert_eq!(attributes[0].r#type, br#"["map","string"]"#);
        assert!(attributes[0].nested_type.is_none() && attributes[0].deprecated);
        assert!(attributes[1].r#type.is_empty());
        let nested = attributes[1].nested_type.clone().unwrap_or_default();
        assert_eq!(nested.nesting, i32::from(NestingMode::Map));
        assert!(nested.attributes[0].sensitive && nested.attributes[0].required);
    }
}
