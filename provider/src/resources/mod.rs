//! The resources, one file each, all in the same order: model, schema, plan, create, read, update, delete, import,
//! tests. Whoever has read one knows where everything is in the next.

mod app;
mod network;

pub(crate) use app::App;
pub(crate) use network::Network;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tfplugin::{Attribute, Provider as _};

    use crate::provider::Homelab;
    use crate::session::Session;

    use super::*;

    /// Every attribute at every depth, with its path.
    fn all(attributes: &[Attribute], under: &str) -> Vec<(String, String)> {
        let one = |attribute: &Attribute| {
            let path = format!("{under}.{}", attribute.name);
            let inner = attribute
                .nested_attributes()
                .map_or(Vec::new(), |(_, inner)| all(inner, &path));
            [vec![(path, attribute.description.clone())], inner].concat()
        };
        attributes.iter().flat_map(one).collect()
    }

    #[test]
    fn schemas_are_sound_and_every_attribute_is_described() {
        let resources: [(&str, Arc<dyn tfplugin::Resource>); 2] = [
            ("homelab_network", Arc::new(Network)),
            (
                "homelab_app",
                Arc::new(App::new(Arc::new(Session::default()))),
            ),
        ];
        let schemas = resources.map(|(name, resource)| (name, resource.schema()));
        for (name, schema) in schemas
            .into_iter()
            .chain([("provider", Homelab::default().schema())])
        {
            assert!(schema.check().is_empty(), "{name}: {:?}", schema.check());
            assert!(!schema.description.is_empty(), "{name}");
            for (path, description) in all(&schema.attributes, name) {
                assert!(
                    description.ends_with('.'),
                    "{path} is not described: {description:?}"
                );
            }
        }
    }
}
