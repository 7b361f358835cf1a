//! What the generator makes of a provider that has one of everything.

use std::collections::BTreeMap;

use super::super::files::Files;
use super::super::{pages, wrong_examples};
use super::sample::Sample;

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

**Mind the spelling** inside of `outer`: OpenTofu drops names there that it does not know, without an error and without a warning.

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
        "---\npage_title: \"The first\"\ndescription: |-\n  Is first.\n---\n",
    )]);
    let page = &pages(&Sample, &files)["docs/index.md"];
    assert!(
        page.contains("description: |-\n  Shows everything.\n---"),
        "{page}"
    );
    assert!(
        page.contains(
            "## Guides\n\n- [Ephemeral resources](guides/ephemeral-resources.md): What lasts"
        ) && page.contains("\n- [The first](guides/first.md): Is first.\n"),
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
            "docs/guides/ephemeral-resources.md",
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
fn the_guide_repeats_ephemeral_resources() {
    let example = "# A comment.\nephemeral \"homelab_secret\" \"a\" {}\n";
    let files = Files::of([
        (
            "examples/ephemeral-resources/homelab_secret/ephemeral-resource.tf",
            example,
        ),
        ("docs/guides/ephemeral-resources.md", "stale"),
    ]);
    let pages = pages(&Sample, &files);
    let guide = &pages["docs/guides/ephemeral-resources.md"];
    let expected = "## homelab_secret (Ephemeral Resource)\n\n~> **Deprecated.** Use another.\n\nOpens.\n\n### Example Usage\n\n\
                    ```terraform\n# A comment.\nephemeral \"homelab_secret\" \"a\" {}\n```\n\n### Schema\n";
    assert!(guide.ends_with(expected), "{guide}");
    assert!(!pages["docs/index.md"].contains("stale"));
}
