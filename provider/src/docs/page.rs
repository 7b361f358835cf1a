//! A page: front matter, title, description, examples, attributes, import.
//!
//! Before: `docs.rs` knows what is registered. After: `attributes.rs` for the attributes; functions have a page of
//! another shape (`function.rs`). The layout is the one that both registries read.

use std::collections::BTreeMap;

use tfplugin::{IdentitySchema, Resource, Schema};

use super::files::Files;
use super::{IMPORTS, Kind, PROVIDER_EXAMPLE, RESOURCE, attributes};

/// Where the guides are.
pub(super) const GUIDES: &str = "docs/guides/";

/// The provider's own page; the guides on it are those that are given.
pub(super) fn index(schema: &Schema, guides: &BTreeMap<String, String>, files: &Files) -> String {
    let mut page = front_matter("homelab Provider", &schema.description);
    page.push_str("# homelab Provider\n\n");
    page.push_str(&schema.description);
    page.push_str("\n\n");
    page.push_str(&example(PROVIDER_EXAMPLE, files));
    page.push_str(&list(guides));
    page.push_str(&attributes::section(&schema.attributes));
    finished(page)
}

/// The page of a resource: like any other, with its import.
pub(super) fn resource(name: &str, resource: &dyn Resource, files: &Files) -> String {
    let mut page = of(RESOURCE, name, &resource.schema(), files);
    page.push_str(&import(name, resource.identity().as_ref(), files));
    finished(page)
}

/// The page of anything that has a schema.
pub(super) fn of(kind: Kind, name: &str, schema: &Schema, files: &Files) -> String {
    let mut page = front_matter(
        &format!("{name} {} - homelab", kind.word),
        &schema.description,
    );
    page.push_str(&format!("# {name} ({})\n\n", kind.word));
    page.push_str(&deprecation(schema.deprecation.as_deref()));
    page.push_str(&schema.description);
    page.push_str("\n\n");
    page.push_str(&example(&kind.example(name, kind.example), files));
    page.push_str(&attributes::section(&schema.attributes));
    finished(page)
}

/// What registries read before they show anything: a title, and one paragraph without Markdown.
pub(super) fn front_matter(title: &str, description: &str) -> String {
    let paragraph = description.split("\n\n").next().unwrap_or_default();
    let plain = paragraph.replace(['`', '*'], "").replace('\n', " ");
    format!(
        "---\npage_title: \"{title}\"\nsubcategory: \"\"\ndescription: |-\n  {plain}\n---\n\n\
         <!-- Generated from the schema and the examples by `make docs`. Change those instead. -->\n\n"
    )
}

/// The note that stands first where something should not be used any more.
pub(super) fn deprecation(instead: Option<&str>) -> String {
    instead.map_or(String::new(), |instead| {
        format!("~> **Deprecated.** {instead}\n\n")
    })
}

/// The example, if there is one; that there is one is a test of its own.
pub(super) fn example(path: &str, files: &Files) -> String {
    let fenced = |text: &str| format!("## Example Usage\n\n{}", fence("terraform", text));
    files.text(path).map_or(String::new(), fenced)
}

/// The guides with what each is about.
fn list(guides: &BTreeMap<String, String>) -> String {
    let link = |(path, text): (&String, &String)| {
        let title = front(text, "page_title").unwrap_or(path);
        let target = path.strip_prefix("docs/").unwrap_or(path);
        let description = front(text, "description").unwrap_or_default();
        format!("- [{title}]({target}): {description}\n")
    };
    let links: String = guides.iter().map(link).collect();
    match links.is_empty() {
        true => String::new(),
        false => format!("## Guides\n\n{links}\n"),
    }
}

/// A value in the front matter of a page, on the line of its key or on the one below.
fn front<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let head = text.strip_prefix("---\n")?.split("\n---\n").next()?;
    let value = head.split(&format!("{key}: ")).nth(1)?;
    let value = value.strip_prefix("|-\n").unwrap_or(value);
    Some(value.lines().next()?.trim().trim_matches('"'))
}

/// How to import, as far as there are examples of it.
fn import(name: &str, identity: Option<&IdentitySchema>, files: &Files) -> String {
    let said = [
        ("shell", "With the command:"),
        ("terraform", "With an `import` block:"),
        (
            "terraform",
            "With an `import` block that gives the identity:",
        ),
    ];
    let mut section = String::new();
    for (file, (language, said)) in IMPORTS.iter().zip(said) {
        if let Some(text) = files.text(&RESOURCE.example(name, file)) {
            section.push_str(&format!("{said}\n\n{}", fence(language, text)));
        }
    }
    if let Some(identity) = identity {
        section.push_str(&attributes::identity(identity));
    }
    match section.is_empty() {
        true => String::new(),
        false => format!("\n## Import\n\n{section}"),
    }
}

fn fence(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```\n\n", text.trim_end())
}

/// A page ends with one line break, whatever its last section was.
pub(super) fn finished(page: String) -> String {
    format!("{}\n", page.trim_end())
}
