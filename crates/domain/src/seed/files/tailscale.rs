//! The part of `services.json` that an attribute makes.

use super::{settled, settled_list};
use crate::given::Given;
use crate::seed::declared::DeclaredTailscale;
use crate::seed::json::Json;

/// The service, in the order of the fields of `extra/fields.rs`. Whoever writes the block wants it, so it is enabled
/// unless it is said not to be.
pub(super) fn render(declared: &DeclaredTailscale) -> Option<Json> {
    let routes = settled_list(&declared.advertised_routes)?;
    let routes: Vec<Json> = routes.into_iter().map(Json::Text).collect();
    let enabled = settled(&declared.enabled)?.copied().unwrap_or(true);
    let fields = [
        ("enabled", Some(Json::Flag(enabled))),
        ("login_server", string(&declared.login_server)?),
        ("auth_key", string(&declared.auth_key)?),
        ("accept_routes", flag(&declared.accept_routes)?),
        ("accept_dns", flag(&declared.accept_dns)?),
        (
            "advertised_routes",
            (!routes.is_empty()).then_some(Json::List(routes)),
        ),
        ("advertise_exit_node", flag(&declared.advertise_exit_node)?),
        ("exit_node", string(&declared.exit_node)?),
        (
            "exit_node_allow_lan_access",
            flag(&declared.exit_node_allow_lan_access)?,
        ),
        ("serve_enabled", flag(&declared.serve_enabled)?),
        ("serve_port", number(&declared.serve_port)?),
        ("serve_service", string(&declared.serve_service)?),
        ("port", number(&declared.port)?),
    ];
    let set = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Some(Json::Object(set.collect()))
}

fn string(given: &Given<String>) -> Option<Option<Json>> {
    Some(settled(given)?.cloned().map(Json::Text))
}

fn flag(given: &Given<bool>) -> Option<Option<Json>> {
    Some(settled(given)?.copied().map(Json::Flag))
}

fn number(given: &Given<u64>) -> Option<Option<Json>> {
    let number = settled(given)?.copied();
    Some(number.and_then(|number| i64::try_from(number).ok().map(Json::Whole)))
}
