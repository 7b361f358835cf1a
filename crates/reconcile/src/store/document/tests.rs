//! Profiles of the fleet project, as they are read and written.

use domain::app::{AppSpec, AppType, Image, ImageReference, Replicas};
use domain::membership::document::MemberDocument;
use domain::membership::spec::Role;

use super::*;

fn profile(name: &str, keys: Keys) -> Profile {
    Profile {
        name: name.to_owned(),
        config: keys,
        ..Profile::default()
    }
}

fn member(revision: u64) -> MemberEntry {
    Entry {
        revision,
        spec: Some(MemberDocument {
            address: "10.0.0.2:8443".to_owned(),
            role: Role::Join,
            groups: None,
            config: BTreeMap::new(),
            failure_domain: None,
            state: None,
            storage: None,
            metrics_certificate: None,
        }),
        owner: "a".to_owned(),
        created: Some(Moment(1_000)),
        applied: Some(Applied {
            revision,
            declaration: serde_json::json!({"name": "b"}),
        }),
        executor: Executor::Provider,
        deleted: None,
    }
}

#[test]
fn an_entry_of_a_member_is_read_as_it_was_written() {
    let tombstone = Entry {
        deleted: Some(Moment(2_000)),
        ..member(8)
    };
    for entry in [member(7), tombstone] {
        let keys = write_entry(&entry).expect("keys");
        let name = format!("member.b.r{}", entry.revision);
        let read = fleet(&[profile(&name, keys)]);
        assert_eq!(read.members.get("b"), Some(&entry));
        assert!(read.apps.is_empty());
    }
}

/// One list is the whole fleet: an app and a member of one name are two things, and the highest revision of each counts.
#[test]
fn one_list_shows_apps_and_members() {
    let app: Entry<AppSpec> = Entry {
        revision: 2,
        spec: None,
        owner: "c".to_owned(),
        created: None,
        applied: None,
        executor: Executor::Agent,
        deleted: None,
    };
    let of = |revision| write_entry(&member(revision)).expect("keys");
    let read = fleet(&[
        profile("member.b.r10", of(10)),
        profile("member.b.r9", of(9)),
        profile("app.b.r2", write_entry(&app).expect("keys")),
        profile("default", Keys::new()),
    ]);
    assert_eq!(read.members, BTreeMap::from([("b".to_owned(), member(10))]));
    let entry = read.apps.get("b").and_then(|record| record.entry.as_ref());
    assert_eq!(entry, Some(&app));
}

/// A document of a later version still has an owner, so nobody else takes it over.
#[test]
fn an_unreadable_document_keeps_its_owner() {
    let mut keys = write_entry(&member(7)).expect("keys");
    keys.insert(SPEC.to_owned(), r#"{"later":true}"#.to_owned());
    let read = fleet(&[profile("member.b.r7", keys)]);
    let expected = Entry {
        spec: None,
        ..member(7)
    };
    assert_eq!(read.members.get("b"), Some(&expected));
}

/// What an app's profile holds is read by agents of any version: every key and every byte of it.
#[test]
fn the_keys_of_an_app_are_these() {
    let entry: Entry<AppSpec> = Entry {
        revision: 2,
        spec: None,
        owner: "c".to_owned(),
        created: Some(Moment(0)),
        applied: None,
        executor: Executor::Provider,
        deleted: None,
    };
    let keys = write_entry(&entry).expect("keys");
    let expected = [
        ("user.homelab-ops.created", "1970-01-01T00:00:00Z"),
        ("user.homelab-ops.executor", "provider"),
        ("user.homelab-ops.owner", "c"),
    ];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(keys, Keys::from(expected));
}

/// Secrets belong to the revision that names them; damaged ones are there and cannot be read.
#[test]
fn secrets_are_found_by_the_revision_that_names_them() {
    let named = |value: &str| Secrets {
        shared: BTreeMap::from([("K".to_owned(), domain::secret::Secret::new(value))]),
        ..Secrets::default()
    };
    let damaged = Keys::from([(SECRET.to_owned(), "{".to_owned())]);
    let image = Image {
        digest: None,
        ..Image::own(ImageReference::Alias("v1".to_owned()))
    };
    let spec = |number: u64| {
        let spec = AppSpec {
            secrets_revision: Some(number),
            ..AppSpec::new("web", AppType::Alloy, Replicas::PerNode, image.clone())
        };
        let spec = serde_json::to_string(&spec).expect("text");
        Keys::from([(SPEC.to_owned(), spec)])
    };
    for (number, expected) in [(2, Some(named("two"))), (3, None), (4, None)] {
        let read = fleet(&[
            profile("app.web.r4", spec(number)),
            profile("secret.web.r1", write_secrets(&named("one"))),
            profile("secret.web.r2", write_secrets(&named("two"))),
            profile("secret.web.r3", damaged.clone()),
        ]);
        let record = &read.apps["web"];
        let entry = record.entry.as_ref().expect("an entry");
        assert!(entry.spec.is_some(), "the document can be read");
        assert_eq!(record.secrets(), expected.as_ref(), "{number}");
        assert_eq!(record.secrets.len(), 3);
        assert!(!format!("{record:?}").contains("two"));
    }
}
