//! The model of `homelab_cluster_member`: what a configuration or a state declares, in `domain`'s words.
//!
//! Before: values as OpenTofu sent them. After: `domain::membership::declared` checks and normalises. A configuration and a
//! state declare with the same attributes, so one reading serves both.

use domain::membership::declared::{
    Declared, DeclaredOnDestroy, DeclaredStorage, DeclaredTimeouts,
};
use domain::membership::spec::{MemberSpec, Role};
use serde_json::Value as Json;
use tfplugin::Value;

use crate::given::{flag, given, list, spelled, text, texts};

/// Everything that a configuration can declare: what the fleet store keeps as the last converged declaration.
const DECLARED: [&str; 12] = [
    "name",
    "address",
    "role",
    "server_fingerprint",
    "groups",
    "config",
    "failure_domain",
    "state",
    "storage",
    "metrics_certificate",
    "on_destroy",
    "timeouts",
];

/// What `object` declares, as its attributes spell it.
pub(super) fn declaration(object: &Value) -> Json {
    spelled(object, &DECLARED)
}

/// What `object` declares.
pub(super) fn declared(object: &Value) -> Declared {
    let timeouts = object.attr("timeouts");
    Declared {
        name: text(object.attr("name")),
        address: text(object.attr("address")),
        role: text(object.attr("role")),
        server_fingerprint: text(object.attr("server_fingerprint")),
        groups: given(object.attr("groups"), list),
        config: given(object.attr("config"), texts),
        failure_domain: text(object.attr("failure_domain")),
        state: text(object.attr("state")),
        storage: given(object.attr("storage"), |storage| DeclaredStorage {
            pool: text(storage.attr("pool")),
            driver: text(storage.attr("driver")),
            source: text(storage.attr("source")),
        }),
        metrics_certificate: text(object.attr("metrics_certificate")),
        on_destroy: given(object.attr("on_destroy"), |on_destroy| DeclaredOnDestroy {
            evacuate: flag(on_destroy.attr("evacuate")),
            force: flag(on_destroy.attr("force")),
        }),
        timeouts: DeclaredTimeouts {
            create: text(timeouts.attr("create")),
            update: text(timeouts.attr("update")),
            delete: text(timeouts.attr("delete")),
        },
    }
}

/// The name of a member; it is required, but may be unknown.
pub(super) fn name(object: &Value) -> &str {
    object.attr("name").as_str().unwrap_or("(not known yet)")
}

/// The configuration that owns a member; none of one that was imported without an entry.
pub(super) fn owner(object: &Value) -> Option<String> {
    let owner = object.attr("owner").as_str()?;
    (!owner.is_empty()).then(|| owner.to_owned())
}

/// Whether two declarations ask the same of a machine that is a member: how it became one is of no account any more
/// (HO-CLUS-05), nor is the certificate that it had before.
pub(super) fn asks_the_same(one: &MemberSpec, other: &MemberSpec) -> bool {
    let of_a_member = |spec: &MemberSpec| {
        let mut spec = spec.clone();
        spec.role = Role::Join;
        spec.server_fingerprint = None;
        if let Some(certificate) = &mut spec.metrics_certificate {
            // Two spellings of one certificate.
            certificate.pem.clear();
        }
        spec
    };
    of_a_member(one) == of_a_member(other)
}
