//! The tests that keep `docs` and `examples` true, and those of the generator itself.
//!
//! The first four look at the repository; `make docs` rewrites what the first one finds stale. The others look at a
//! sample that has one of everything.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tfplugin::{
    Applied, Attribute, Call, CreateRequest, DataSource, DeleteRequest, Diagnostics,
    EphemeralResource, Function, FunctionError, IdentitySchema, Opened, Parameter, Provider,
    ReadRequest, ReadState, Resource, Schema, Signature, Type, UpdateRequest, Value,
};

use super::files::Files;
use super::{page, pages, untold_ephemerals, wrong_examples};
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
        .filter(|path| path.starts_with(page::GUIDES))
        .collect();
    assert!(!guides.is_empty(), "there are no guides");
    for path in guides {
        let text = files.text(path).unwrap_or_default();
        let head = text.split("\n---\n").next().unwrap_or_default();
        for key in ["page_title: \"", "subcategory: \"", "description: |-\n  "] {
            assert!(head.contains(key), "{path} has no {key}");
        }
    }
    assert_eq!(
        untold_ephemerals(&Homelab::default(), &files),
        Vec::<&str>::new()
    );
}

#[test]
fn links_lead_somewhere() {
    assert_none(&dead_links(&Files::read()), "these links lead nowhere:");
}

/// The relative links of all pages in `docs` that name no page there, or no anchor that is written out on it.
fn dead_links(files: &Files) -> Vec<String> {
    let mut dead = Vec::new();
    for path in files.paths().filter(|path| path.starts_with("docs/")) {
        let text = files.text(path).unwrap_or_default();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let page = match target.is_empty() {
                true => Some(path.to_owned()),
                false => joined(path, target),
            };
            // What leads out of docs and examples, or out of the repository, is not ours to follow.
            let Some(page) =
                page.filter(|page| page.starts_with("docs/") || page.starts_with("examples/"))
            else {
                continue;
            };
            let there = files.text(&page);
            let anchored = anchor.is_empty() || there.is_some_and(|text| has_anchor(text, anchor));
            let is_folder = files
                .paths()
                .any(|path| path.starts_with(&format!("{page}/")));
            if !(is_folder || there.is_some() && anchored) {
                dead.push(format!("{path}: {link}"));
            }
        }
    }
    dead
}

fn has_anchor(text: &str, anchor: &str) -> bool {
    let heading = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|letter| letter.is_alphanumeric() || *letter == '-' || *letter == ' ');
        kept.map(|letter| if letter == ' ' { '-' } else { letter })
            .collect::<String>()
            == anchor
    };
    text.contains(&format!("<a id=\"{anchor}\">"))
        || text
            .lines()
            .any(|line| line.starts_with('#') && heading(line))
}

/// Where a relative link from a page leads; `None` for an address.
fn joined(page: &str, target: &str) -> Option<String> {
    if target.contains("://") {
        return None;
    }
    let mut parts: Vec<&str> = Path::new(page).parent()?.to_str()?.split('/').collect();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// One of everything.
struct Sample;

#[async_trait]
impl Provider for Sample {
    fn schema(&self) -> Schema {
        Schema::new(0, "Shows `everything`.\n\nTwice.")
    }

    async fn configure(&self, _config: Value, _call: &Call) -> Diagnostics {
        Diagnostics::new()
    }

    fn resources(&self) -> Vec<(&'static str, Arc<dyn Resource>)> {
        vec![("homelab_thing", Arc::new(Sample))]
    }

    fn data_sources(&self) -> Vec<(&'static str, Arc<dyn DataSource>)> {
        vec![("homelab_view", Arc::new(Sample))]
    }

    fn ephemeral_resources(&self) -> Vec<(&'static str, Arc<dyn EphemeralResource>)> {
        vec![("homelab_secret", Arc::new(Sample))]
    }

    fn functions(&self) -> Vec<(&'static str, Arc<dyn Function>)> {
        vec![("join", Arc::new(Sample))]
    }
}

#[async_trait]
impl Resource for Sample {
    fn schema(&self) -> Schema {
        let inner = [
            Attribute::single("empty", [])
                .optional()
                .describe("Nothing inside."),
            Attribute::nested_map(
                "deep",
                [Attribute::list("leaf", Type::map(Type::Number))
                    .computed()
                    .describe("A leaf.")],
            )
            .computed()
            .describe("Deep."),
        ];
        Schema::new(0, "Manages a thing.").attributes([
            Attribute::string("name")
                .required()
                .replace()
                .describe("Its name."),
            Attribute::single("outer", inner)
                .optional()
                .describe("Outer."),
            Attribute::number("size")
                .optional_computed()
                .default(3_u64)
                .describe("Its size."),
            Attribute::string("key")
                .optional()
                .sensitive()
                .write_only()
                .describe("A key.\n\nKept secret."),
            Attribute::bool("old")
                .optional()
                .deprecated("Use `size`.")
                .describe("Old."),
            Attribute::of("shape", Type::object([("a", Type::set(Type::Bool))]))
                .computed()
                .describe("A shape."),
        ])
    }

    fn identity(&self) -> Option<IdentitySchema> {
        Some(IdentitySchema::new(0).required("name", Type::String, "Its name."))
    }

    async fn create(&self, request: CreateRequest, _call: &Call) -> Applied {
        Applied::new(request.planned)
    }

    async fn read(&self, request: ReadRequest, _call: &Call) -> ReadState {
        ReadState {
            state: request.current,
            private: request.private,
            diagnostics: Diagnostics::new(),
        }
    }

    async fn update(&self, request: UpdateRequest, _call: &Call) -> Applied {
        Applied::new(request.planned)
    }

    async fn delete(&self, _request: DeleteRequest, _call: &Call) -> Applied {
        Applied::new(Value::Null)
    }
}

#[async_trait]
impl DataSource for Sample {
    fn schema(&self) -> Schema {
        Schema::new(0, "Looks.")
    }

    async fn read(&self, config: Value, _call: &Call) -> (Value, Diagnostics) {
        (config, Diagnostics::new())
    }
}

#[async_trait]
impl EphemeralResource for Sample {
    fn schema(&self) -> Schema {
        Schema::new(0, "Opens.").deprecated("Use another.")
    }

    async fn open(&self, config: Value, _call: &Call) -> Opened {
        Opened::new(config)
    }
}

impl Function for Sample {
    fn signature(&self) -> Signature {
        Signature::new("Joins words.", Type::String)
            .describe("Joins words with a separator.")
            .parameter(Parameter::new("separator", Type::String, "What is between.").allow_null())
            .variadic(Parameter::new(
                "words",
                Type::list(Type::String),
                "The words.",
            ))
    }

    fn call(&self, _arguments: Vec<Value>) -> Result<Value, FunctionError> {
        Ok(Value::Null)
    }
}

const FRONT: &str = "subcategory: \"\"\ndescription: |-\n  ";
const NOTE: &str = "\n---\n\n<!-- Generated from the schema and the examples by `make docs`. Change those instead. -->\n\n";

#[test]
fn a_resource_shows_all_that_its_schema_says() {
    let files = Files::of([
        (
            "examples/resources/homelab_thing/resource.tf",
            "resource \"homelab_thing\" \"a\" {}\n",
        ),
        (
            "examples/resources/homelab_thing/import.sh",
            "tofu import homelab_thing.a a\n",
        ),
    ]);
    let page = &pages(&Sample, &files)["docs/resources/thing.md"];
    let expected = format!(
        r#"---
page_title: "homelab_thing Resource - homelab"
{FRONT}Manages a thing.{NOTE}# homelab_thing (Resource)

Manages a thing.

## Example Usage

```terraform
resource "homelab_thing" "a" {{}}
```

## Schema

### Required

- `name` (String, Forces replacement) Its name.

### Optional

- `outer` (Attributes) Outer. (see [below for nested schema](#nestedatt--outer))
- `size` (Number) Its size. Defaults to `3`.
- `key` (String, Sensitive, Write-only) A key.

  Kept secret.
- `old` (Boolean, Deprecated) Old. **Deprecated:** Use `size`.

### Read-Only

- `shape` (`object({{ a = set(bool) }})`) A shape.

<a id="nestedatt--outer"></a>
### Nested Schema for `outer`

Optional:

- `empty` (Attributes) Nothing inside.

Read-Only:

- `deep` (Attributes Map) Deep. (see [below for nested schema](#nestedatt--outer--deep))

<a id="nestedatt--outer--deep"></a>
### Nested Schema for `outer.deep`

Read-Only:

- `leaf` (List of Map of Number) A leaf.

## Import

With the command:

```shell
tofu import homelab_thing.a a
```

### Identity

#### Required

- `name` (String) Its name.
"#
    );
    assert_eq!(*page, expected);
}

#[test]
fn a_function_shows_its_signature() {
    let files = Files::of([("examples/functions/join/function.tf", "output \"a\" {}\n")]);
    let page = &pages(&Sample, &files)["docs/functions/join.md"];
    let expected = format!(
        "---\npage_title: \"join Function - homelab\"\n{FRONT}Joins words.{NOTE}# join (Function)\n\nJoins words with a \
         separator.\n\n## Example Usage\n\n```terraform\noutput \"a\" {{}}\n```\n\n## Signature\n\n```text\n\
         join(separator string, words list(string)...) string\n```\n\n## Arguments\n\n\
         1. `separator` (String, Nullable) What is between.\n1. `words` (Variadic, List of String) The words.\n\n\
         ## Return Type\n\n`string`\n"
    );
    assert_eq!(*page, expected);
}

#[test]
fn the_index_shows_the_guides() {
    let files = Files::of([(
        "docs/guides/first.md",
        "---\npage_title: \"The first\"\n---\n",
    )]);
    let page = &pages(&Sample, &files)["docs/index.md"];
    assert!(
        page.contains("description: |-\n  Shows everything.\n---"),
        "{page}"
    );
    assert!(
        page.contains("## Guides\n\n- [The first](guides/first.md)\n"),
        "{page}"
    );
}

#[test]
fn everything_registered_has_a_page_and_an_example() {
    let pages: Vec<String> = pages(&Sample, &Files::default()).into_keys().collect();
    assert_eq!(
        pages,
        [
            "docs/data-sources/view.md",
            "docs/ephemeral-resources/secret.md",
            "docs/functions/join.md",
            "docs/index.md",
            "docs/resources/thing.md",
        ]
    );
    let files = Files::of([
        ("examples/provider/provider.tf", ""),
        ("examples/quickstart/main.tf", ""),
        ("examples/resources/homelab_gone/resource.tf", ""),
        ("examples/resources/homelab_thing/import.sh", ""),
        ("examples/resources/homelab_thing/resource.tf", ""),
        ("examples/functions/join/function.tf", ""),
    ]);
    assert_eq!(
        wrong_examples(&Sample, &files),
        [
            "examples/data-sources/homelab_view/data-source.tf is missing",
            "examples/ephemeral-resources/homelab_secret/ephemeral-resource.tf is missing",
            "examples/resources/homelab_thing/import-by-identity.tf is missing",
            "examples/resources/homelab_gone/resource.tf belongs to nothing that the provider has",
        ]
    );
}

#[test]
fn what_is_stale_is_told() {
    let pages = BTreeMap::from([
        ("docs/index.md".to_owned(), "one\ntwo\n".to_owned()),
        ("docs/resources/new.md".to_owned(), String::new()),
    ]);
    let files = Files::of([
        ("docs/architecture.md", ""),
        ("docs/index.md", "one\n2\n"),
        ("docs/functions/gone.md", ""),
    ]);
    assert_eq!(
        files.stale(&pages),
        [
            "docs/index.md is stale, line 2:\n    is        2\n    should be two",
            "docs/resources/new.md is missing",
            "docs/functions/gone.md is about nothing that the provider has",
        ]
    );
}

#[test]
fn dead_links_and_untold_ephemerals_are_found() {
    let files = Files::of([
        (
            "docs/index.md",
            "[a](guides/a.md) [b](guides/b.md) [c](https://example.org)",
        ),
        (
            "docs/guides/a.md",
            "# One two\n[d](../index.md) [e](#one-two) [f](#three) [g](../../README.md)",
        ),
    ]);
    assert_eq!(
        dead_links(&files),
        ["docs/guides/a.md: #three", "docs/index.md: guides/b.md"]
    );
    assert_eq!(untold_ephemerals(&Sample, &files), ["homelab_secret"]);
    let files = Files::of([("docs/guides/a.md", "`homelab_secret`")]);
    assert_eq!(untold_ephemerals(&Sample, &files), Vec::<&str>::new());
}
