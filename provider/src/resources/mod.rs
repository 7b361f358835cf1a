//! The resources, one file each, all in the same order: model, schema, plan, create, read, update, delete, import,
//! tests. Whoever has read one knows where everything is in the next.

mod app;
mod cluster_member;
mod instance;
mod network;
mod seed;

pub(crate) use app::App;
pub(crate) use cluster_member::{ClusterMember, Outlook, Trouble};
pub(crate) use instance::Instance;
pub(crate) use network::Network;
pub(crate) use seed::{Outputs, Seed};

#[cfg(test)]
mod tests {
    use tfplugin::{Attribute, Provider as _};

    use crate::provider::Homelab;

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
        let provider = Homelab::default();
        assert_eq!(tfplugin::testing::check(&provider), []);
        let resources = provider.resources().into_iter();
        let data_sources = provider.data_sources().into_iter();
        let ephemeral = provider.ephemeral_resources().into_iter();
        let schemas = resources
            .map(|(name, kind)| (name, kind.schema()))
            .chain(data_sources.map(|(name, kind)| (name, kind.schema())))
            .chain(ephemeral.map(|(name, kind)| (name, kind.schema())));
        for (name, schema) in schemas.chain([("provider", provider.schema())]) {
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
