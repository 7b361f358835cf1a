//! The tests that keep `docs` and `examples` true; `make docs` rewrites what the first one finds stale.
//!
//! Those of the generator itself are in `tests/generator.rs` and look at a sample.

mod generator;
mod links;
mod sample;

use super::files::Files;
use super::{guide, pages, wrong_examples};
use crate::provider::Homelab;

fn assert_none(found: &[String], hint: &str) {
    assert!(found.is_empty(), "{hint}\n  {}", found.join("\n  "));
}

#[test]
fn pages_are_generated_from_the_schemas() {
    let mut files = Files::read();
    let pages = pages(&Homelab::default(), &files);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        files.update(&pages);
        files = Files::read();
    }
    assert_none(&files.stale(&pages), "`make docs` rewrites these pages:");
}

#[test]
fn every_kind_has_its_example_and_every_example_its_kind() {
    let wrong = wrong_examples(&Homelab::default(), &Files::read());
    assert_none(&wrong, "the examples and the provider differ:");
}

#[test]
fn guides_open_with_what_registries_read() {
    let files = Files::read();
    let guides: Vec<&str> = files
        .paths()
        .filter(|path| guide::is_written(path))
        .collect();
    assert!(!guides.is_empty(), "there are no guides");
    for path in guides {
        let text = files.text(path).unwrap_or_default();
        let head = text.split("\n---\n").next().unwrap_or_default();
        for key in ["page_title: \"", "subcategory: \"", "description: |-\n  "] {
            assert!(head.contains(key), "{path} has no {key}");
        }
    }
}

/// Design 6: the schema of a published spec is published, too.
#[test]
fn schemas_of_the_fleet_store_are_published() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schemas");
    for (kind, schema) in domain::schema::published() {
        let path = format!("{folder}/{kind}.json");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &schema).expect("writing a schema");
        }
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            there == schema,
            "`make docs` rewrites docs/schemas/{kind}.json"
        );
    }
}
