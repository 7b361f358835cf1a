//! The document of a member: what the fleet store says about it, for whoever keeps it so without a configuration.
//!
//! Before: `spec.rs`, everything known and normalised, so that equal meaning gives equal text. After: `claim.rs` compares
//! it with what is published. Not here: the certificate that the machine had before it joined, and what a removal may
//! lose; the one is of no account any more, and the other counts only as it was applied.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::{MemberSpec, Role, State, Storage};
use crate::entry::{Document, Entry, Kind};

/// What is declared of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberDocument {
    /// Where the other members reach it, as `host:port`.
    pub address: String,
    /// How it became a member.
    pub role: Role,
    /// All groups that it is in; `None` leaves that to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<BTreeSet<String>>,
    /// The configuration keys that are declared; an empty value says that the key is not set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    /// The failure domain; `None` leaves that to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// Whether it hosts workloads; `None` leaves that to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The pool that every member has; `None` is what the system brings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// The certificate with which metrics are read, in PEM form. It is public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics_certificate: Option<String>,
}

/// One revision of a member.
pub type MemberEntry = Entry<MemberDocument>;

impl Document for MemberDocument {
    const KIND: Kind = Kind::Member;
}

impl From<&MemberSpec> for MemberDocument {
    fn from(spec: &MemberSpec) -> Self {
        let certificate = spec.metrics_certificate.as_ref();
        Self {
            address: spec.address.to_string(),
            role: spec.role,
            groups: spec.groups.clone(),
            config: spec.config.clone(),
            failure_domain: spec.failure_domain.clone(),
            state: spec.state,
            storage: spec.storage.clone(),
            metrics_certificate: certificate.map(|certificate| certificate.pem.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::certificate::tests::PEM;
    use super::super::fixtures::{metrics, spec, with};
    use super::*;

    fn text(spec: &MemberSpec) -> String {
        serde_json::to_string(&MemberDocument::from(spec)).expect("JSON")
    }

    /// The text is what other versions read, so it must not change by chance.
    #[test]
    fn a_document_says_what_is_declared_and_nothing_else() {
        let bare = r#"{"address":"10.0.0.2:8443","role":"join"}"#;
        assert_eq!(text(&spec()), bare);
        let full = with(|spec| {
            spec.role = Role::Bootstrap;
            spec.server_fingerprint = Some("ab".repeat(32));
            spec.groups = Some(["ssd".to_owned(), "default".to_owned()].into());
            spec.config = [("user.x".to_owned(), String::new())].into();
            spec.failure_domain = Some("rack-1".to_owned());
            spec.state = Some(State::Evacuated);
            spec.storage = Some(Storage::incusos());
            spec.metrics_certificate = Some(metrics());
        });
        let expected = serde_json::json!({
            "address": "10.0.0.2:8443",
            "role": "bootstrap",
            "groups": ["default", "ssd"],
            "config": {"user.x": ""},
            "failure_domain": "rack-1",
            "state": "evacuated",
            "storage": {"pool": "local", "driver": "zfs", "source": "local/incus"},
            "metrics_certificate": PEM.trim_start(),
        });
        let written: serde_json::Value = serde_json::from_str(&text(&full)).expect("JSON");
        assert_eq!(written, expected);
    }

    #[test]
    fn a_document_is_read_as_it_was_written_and_one_of_a_later_version_is_not_guessed_at() {
        for spec in [spec(), with(|spec| spec.storage = Some(Storage::incusos()))] {
            let read: MemberDocument = serde_json::from_str(&text(&spec)).expect("a document");
            assert_eq!(read, MemberDocument::from(&spec));
        }
        for other in [
            r#"{"address":"10.0.0.2:8443","role":"join","later":1}"#,
            r#"{"address":"10.0.0.2:8443","role":"witness"}"#,
            r#"{"role":"join"}"#,
        ] {
            let read: Result<MemberDocument, _> = serde_json::from_str(other);
            assert!(read.is_err(), "{other}");
        }
    }
}
