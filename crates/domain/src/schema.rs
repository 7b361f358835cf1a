//! The JSON Schemas of what the fleet store publishes: for whoever reads or writes it without this code.
//!
//! Before: [`AppSpec`] and [`MemberDocument`], whose shapes they are. After: `docs/schemas`, which a test of the provider
//! keeps true.

use schemars::{Schema, schema_for};

use crate::app::AppSpec;
use crate::membership::document::MemberDocument;

/// Each kind of document and its schema, as it is published.
pub fn published() -> [(&'static str, String); 2] {
    [
        ("app", printed(&schema_for!(AppSpec))),
        ("member", printed(&schema_for!(MemberDocument))),
    ]
}

fn printed(schema: &Schema) -> String {
    // A schema is text, numbers and lists: this cannot fail.
    let mut text = serde_json::to_string_pretty(schema).unwrap_or_default();
    text.push('\n');
    text
}
